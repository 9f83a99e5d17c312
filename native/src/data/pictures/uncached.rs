//! Picture files that are decoded without the cache: into memory, or one after the other, of which none is kept.

use simile_core::data::{ImageFile, ImageSet, Images};

use super::batches::{DecodedCount, Stop, decode};
use super::cache::keys_and_sizes;
use super::list::PictureList;
use super::resize::ResizeSpec;
use crate::data::error::{DataError, Result};
use crate::interrupt;

/// Most bytes of pictures that are kept in memory, where they cannot be kept on the disk.
pub(super) const MOST_IN_MEMORY: u64 = 4 << 30;

/// All pictures in memory, zero where they cannot be read, and the unreadable ones with the reasons.
pub(super) fn in_memory(
    list: PictureList<'_>,
    resize: ResizeSpec,
    total: u64,
    stop: Stop<'_>,
) -> Result<(ImageSet, Vec<(usize, String)>)> {
    let mut pixels: Vec<u8> = Vec::new();
    let reserved = usize::try_from(total).ok().filter(|_| total <= MOST_IN_MEMORY);
    if reserved.is_none_or(|total| pixels.try_reserve_exact(total).is_err()) {
        return Err(DataError::NeedsCache { pictures: list.files.len(), bytes: total, most: MOST_IN_MEMORY });
    }
    let mut decoded = Vec::new();
    let all: Vec<usize> = (0..list.files.len()).collect();
    let mut count = DecodedCount::new(0, all.len());
    decode(list, &all, resize, &mut count, stop, |batch, decoded_batch| {
        pixels.extend_from_slice(batch);
        decoded.extend(decoded_batch);
        Ok(())
    })?;
    count.finish();
    let file = |(file, (_, bytes)): (&String, _)| ImageFile {
        path: list.root.join(file).display().to_string(),
        bytes,
    };
    let images = ImageSet::from(Images::new(resize.side, resize.side, resize.channels, pixels)?)
        .with_files(list.files.iter().zip(keys_and_sizes(list)).map(file).collect())?;
    let images = if resize.fit.keeps_shape() {
        images.stretched(decoded.iter().map(|picture| *picture.as_ref().unwrap_or(&1.0)).collect())?
    } else {
        images
    };
    let broken =
        decoded.into_iter().enumerate().filter_map(|(at, picture)| Some((at, picture.err()?.to_string())));
    Ok((images, broken.collect()))
}

/// Decodes the pictures of a list and keeps none: `take` gets the place of each picture in the list, in order, with its pixels.
/// Returns the errors of those that cannot be read.
///
/// # Errors
/// [`DataError::Stopped`] if a stop is requested.
pub(in crate::data) fn each_picture(
    list: PictureList<'_>,
    resize: ResizeSpec,
    mut take: impl FnMut(usize, &[u8]) + Send,
) -> Result<Vec<DataError>> {
    let all: Vec<usize> = (0..list.files.len()).collect();
    let mut count = DecodedCount::new(0, all.len());
    let (mut places, mut broken) = (0.., Vec::new());
    let stop = &interrupt::is_requested;
    decode(list, &all, resize, &mut count, stop, |pixels, decoded| {
        let pictures = pixels.chunks_exact(resize.bytes().max(1)).zip(decoded);
        for ((pixels, decoded), at) in pictures.zip(places.by_ref()) {
            match decoded {
                Ok(_) => take(at, pixels),
                Err(fault) => {
                    broken.push(DataError::Unreadable { path: list.path(at), reason: fault.to_string() });
                }
            }
        }
        Ok(())
    })?;
    count.finish();
    Ok(broken)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::data::keys::values::Broken;
    use crate::data::pictures::cache::Cache;
    use crate::data::pictures::read::read_pictures;
    use crate::data::pictures::testing::{RESIZE, folder, spoil};

    #[test]
    fn pictures_of_which_none_is_kept_come_in_order_and_may_be_more_than_memory_holds() {
        let (folder, files) = folder();
        spoil(folder.path());
        let mut seen = Vec::new();
        let take = |at: usize, pixels: &[u8]| seen.push((at, pixels.to_vec()));
        let list = PictureList { root: folder.path(), files: &files };
        let broken = each_picture(list, RESIZE, take).unwrap();
        let expected: Vec<(usize, Vec<u8>)> =
            (0..299).filter(|&at| at != 3).map(|at| (at, vec![(at % 256) as u8; 48])).collect();
        assert_eq!(seen, expected);
        let named: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(named.len() == 2 && named[0].contains("3.png") && named[1].contains("299.png"), "{named:?}");
        let large = ResizeSpec { side: 2300, ..RESIZE };
        let nowhere = folder.path().join("none");
        let absent = PictureList { root: &nowhere, files: &files };
        let in_memory = read_pictures(absent, large, Broken::Skip, None);
        assert!(matches!(in_memory, Err(DataError::NeedsCache { .. })));
        assert_eq!(each_picture(absent, large, |_, _| ()).unwrap().len(), 300);
    }

    #[test]
    fn a_set_beyond_memory_needs_the_cache_and_says_so() {
        let files: Vec<String> = (0..30_000).map(|i| format!("{i}.png")).collect();
        let resize = ResizeSpec { side: 256, ..RESIZE };
        let list = PictureList { root: Path::new("."), files: &files };
        let error = read_pictures(list, resize, Broken::Refuse, None).unwrap_err().to_string();
        assert!(error.contains("5.9 GB") && error.contains("SIMILE_CACHE"), "{error}");
        let nowhere = Cache::new("/proc/none".into());
        let error = read_pictures(list, resize, Broken::Refuse, Some(&nowhere));
        assert!(error.unwrap_err().to_string().contains("/proc/none"));
    }
}
