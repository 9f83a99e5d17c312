//! Decodes picture files on all processors, batch by batch.

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;

use super::decode::read_into;
use super::list::PictureList;
use super::resize::ResizeSpec;
use super::writer::Decoded;
use crate::console::Progress;
use crate::data::error::{DataError, Result};

/// True once decoding is to end.
pub(super) type Stop<'a> = &'a dyn Fn() -> bool;

/// Most pictures, and about most bytes, that are decoded at a time.
pub(super) const BATCH: usize = 1024;
const BATCH_BYTES: usize = 64 << 20;

/// The count of decoded pictures, which is shown if more than one batch of them is decoded.
#[derive(Default)]
pub(super) struct DecodedCount {
    shown: Option<Progress>,
    pub(super) done: usize,
}

impl DecodedCount {
    /// Begins with so many pictures done, and so many to decode.
    pub(super) fn new(done: usize, missing: usize) -> Self {
        let shown =
            (missing > BATCH).then(|| Progress::new("decoding", done as u64, (done + missing) as u64));
        Self { shown, done }
    }

    fn add(&mut self, pictures: usize) {
        self.done += pictures;
        if let Some(shown) = &mut self.shown {
            shown.at(self.done as u64, "");
        }
    }

    pub(super) fn finish(self) {
        if let Some(shown) = self.shown {
            shown.finish();
        }
    }
}

/// Decodes the pictures `numbers` of a list, batch by batch, and counts them: `take` gets the pixels of each batch, zero where a
/// picture is broken.
///
/// # Errors
/// An error of `take`; [`DataError::Stopped`] if it is to end, after `take` got the decoded pictures.
pub(super) fn decode(
    list: PictureList<'_>,
    numbers: &[usize],
    resize: ResizeSpec,
    count: &mut DecodedCount,
    stop: Stop<'_>,
    mut take: impl FnMut(&[u8], Vec<Decoded>) -> Result<()> + Send,
) -> Result<()> {
    let batch = (BATCH_BYTES / resize.bytes().max(1)).clamp(1, BATCH);
    let mut whole = DecodedBatch::default();
    let mut next = DecodedBatch::default();
    for numbers in numbers.chunks(batch) {
        if stop() {
            whole.hand_over(&mut take)?;
            return Err(DataError::Stopped);
        }
        // One thread takes a batch while the others decode the next one.
        let ((), pictures) =
            rayon::join(|| next.decode(list, numbers, resize), || whole.hand_over(&mut take));
        count.add(pictures?);
        std::mem::swap(&mut whole, &mut next);
    }
    whole.hand_over(&mut take)?;
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
    fn decode(&mut self, list: PictureList<'_>, numbers: &[usize], resize: ResizeSpec) {
        let size = resize.bytes().max(1);
        let bytes = numbers.len() * size;
        if self.pixels.len() < bytes {
            // Memory that is new to the program is zero, so that nothing is written here.
            self.pixels = vec![0; bytes];
        }
        self.pixels.truncate(bytes);
        let pictures = numbers.par_iter().zip(self.pixels.par_chunks_exact_mut(size));
        let read = |(&at, pixels): (&usize, &mut [u8])| {
            let decoded = read_into(&list.path(at), resize, pixels);
            if decoded.is_err() {
                pixels.fill(0);
            }
            decoded
        };
        self.decoded = pictures.map(read).collect();
    }

    /// Hands the pictures over; returns their number.
    fn hand_over(&mut self, take: &mut impl FnMut(&[u8], Vec<Decoded>) -> Result<()>) -> Result<usize> {
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
        let list = PictureList { root: folder.path(), files: &files };
        let mut batch = DecodedBatch::default();
        for (numbers, expected) in [(&[8, 9][..], &[8, 9][..]), (&[7, 3], &[7, 0]), (&[6], &[6])] {
            batch.decode(list, numbers, RESIZE);
            let pixels: Vec<u8> = expected.iter().flat_map(|&grey| vec![grey; RESIZE.bytes()]).collect();
            assert_eq!(batch.pixels, pixels, "{numbers:?}");
        }
    }
}
