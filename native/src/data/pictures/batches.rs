//! Decodes picture files on all processors, batch by batch.

use std::path::{Path, PathBuf};

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;

use super::decode::read_into;
use super::resize::ResizeSpec;
use super::writer::Decoded;
use crate::console::Progress;
use crate::data::error::{DataError, Result};

/// True once decoding is to end.
pub(super) type Stop<'a> = &'a dyn Fn() -> bool;

/// Most pictures, and about most bytes, that are decoded at a time.
pub(super) const BATCH: usize = 1024;
const BATCH_BYTES: usize = 64 << 20;

pub(super) fn path_of(root: &Path, files: &[String], at: usize) -> PathBuf {
    root.join(files.get(at).map_or("", String::as_str))
}

/// Decodes the pictures `numbers` of a list, batch by batch: `take` gets the pixels of each batch, zero where a picture is broken.
/// The progress says how many are done, with those that were before.
///
/// # Errors
/// Those of `take`; [`DataError::Stopped`] if it is to end, after `take` got what is decoded.
pub(super) fn decode(
    (root, files): (&Path, &[String]),
    numbers: &[usize],
    resize: ResizeSpec,
    (progress, before): (&mut Option<Progress>, usize),
    stop: Stop<'_>,
    mut take: impl FnMut(&[u8], Vec<Decoded>) -> Result<()> + Send,
) -> Result<()> {
    let batch = (BATCH_BYTES / resize.bytes().max(1)).clamp(1, BATCH);
    let mut done = before;
    let mut whole = DecodedBatch::default();
    let mut next = DecodedBatch::default();
    for numbers in numbers.chunks(batch) {
        if stop() {
            whole.give(&mut take)?;
            return Err(DataError::Stopped);
        }
        // One thread takes a batch while the others decode the next one.
        let ((), taken) = rayon::join(|| next.decode(root, files, numbers, resize), || whole.give(&mut take));
        done += taken?;
        if let Some(progress) = progress {
            progress.at(done as u64, "");
        }
        std::mem::swap(&mut whole, &mut next);
    }
    whole.give(&mut take)?;
    Ok(())
}

/// Some decoded pictures.
#[derive(Default)]
struct DecodedBatch {
    pixels: Vec<u8>,
    decoded: Vec<Decoded>,
}

impl DecodedBatch {
    /// Replaces them by other pictures of a list.
    fn decode(&mut self, root: &Path, files: &[String], numbers: &[usize], resize: ResizeSpec) {
        let size = resize.bytes().max(1);
        let bytes = numbers.len() * size;
        if self.pixels.len() < bytes {
            // Memory that is new to the program is zero, so that nothing is written here.
            self.pixels = vec![0; bytes];
        }
        self.pixels.truncate(bytes);
        let pictures = numbers.par_iter().zip(self.pixels.par_chunks_exact_mut(size));
        let read = |(&at, pixels): (&usize, &mut [u8])| {
            let decoded = read_into(&path_of(root, files, at), resize, pixels);
            if decoded.is_err() {
                pixels.fill(0);
            }
            decoded
        };
        self.decoded = pictures.map(read).collect();
    }

    /// Hands the pictures over; returns their number.
    fn give(&mut self, take: &mut impl FnMut(&[u8], Vec<Decoded>) -> Result<()>) -> Result<usize> {
        let decoded = std::mem::take(&mut self.decoded);
        let pictures = decoded.len();
        if pictures > 0 {
            take(&self.pixels, decoded)?;
        }
        Ok(pictures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::pictures::testing::{RESIZE, folder, spoil};

    #[test]
    fn a_broken_picture_has_no_pixels_of_an_earlier_part() {
        let (folder, files) = folder();
        spoil(folder.path());
        let mut batch = DecodedBatch::default();
        for (numbers, expected) in [(&[8, 9][..], &[8, 9][..]), (&[7, 3], &[7, 0]), (&[6], &[6])] {
            batch.decode(folder.path(), &files, numbers, RESIZE);
            let pixels: Vec<u8> = expected.iter().flat_map(|&grey| vec![grey; RESIZE.bytes()]).collect();
            assert_eq!(batch.pixels, pixels, "{numbers:?}");
        }
    }
}
