//! Many picture files, decoded on all processors into the size that an encoder takes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;
use simile_core::data::Images;

use super::cache::{Cache, Found, Stored};
use super::decode::read_picture;
use super::resize::ResizeSpec;
use crate::console::{Progress, line};
use crate::data::error::{DataError, Result};
use crate::data::settings::Broken;

/// The readable pictures.
#[derive(Debug)]
pub(crate) struct Pictures {
    pub(crate) images: Images,
    /// Their places in the list of files, ascending.
    pub(crate) kept: Vec<usize>,
    /// The errors of the other pictures.
    pub(crate) broken: Vec<DataError>,
}

/// Pictures between two updates of the progress.
const PART: usize = 1024;

/// Reads the files below `root`, in their order, from the cache; files that are not cached are decoded and stored in
/// it.
///
/// # Errors
/// Names the first unreadable picture, unless such are to be skipped; fails if all are unreadable, or if they do not
/// fit into memory.
pub(crate) fn read_pictures(
    root: &Path,
    files: &[String],
    resize: ResizeSpec,
    rule: Broken,
    cache: Option<&Cache>,
) -> Result<Pictures> {
    let entry = cache.and_then(|cache| Some((cache, cache.entry(root, files, resize)?)));
    let found = entry.as_ref().map_or(Found::Nothing, |(_, entry)| Cache::load(entry, files.len(), resize));
    if let (Found::Damaged, Some((_, entry))) = (&found, &entry) {
        line(format_args!("{} is damaged; the pictures are decoded again", entry.display()));
    }
    let Stored { pixels, broken } = match found {
        Found::Stored(stored) => stored,
        Found::Nothing | Found::Damaged => {
            let read = decode(root, files, resize)?;
            // If the run ends with an error here, the next one has to decode again, so that nothing is stored.
            if let Some((cache, entry)) = &entry
                && (read.broken.is_empty() || rule == Broken::Skip)
                && let Err(error) = cache.store(entry, files.len(), resize, &read)
            {
                line(format_args!("cannot keep the pictures in {}: {error}", entry.display()));
            }
            read
        }
    };
    if let (Broken::Refuse, [(at, reason), others @ ..]) = (rule, broken.as_slice()) {
        return Err(unreadable(root, files, *at, reason, others.len()));
    }
    let kept =
        (0..files.len()).filter(|at| broken.binary_search_by_key(at, |(at, _)| *at).is_err()).collect();
    let broken = broken.iter().map(|(at, reason)| unreadable(root, files, *at, reason, 0)).collect();
    Ok(Pictures { images: Images::new(resize.side, resize.side, resize.channels, pixels)?, kept, broken })
}

fn unreadable(root: &Path, files: &[String], at: usize, reason: &str, others: usize) -> DataError {
    let path = root.join(files.get(at).map_or("", String::as_str));
    DataError::Broken { path, reason: reason.into(), others }
}

/// Pixels of all readable pictures, and the unreadable ones with the reasons.
fn decode(root: &Path, files: &[String], resize: ResizeSpec) -> Result<Stored> {
    let size = resize.bytes();
    let total = files.len().saturating_mul(size);
    let mut pixels: Vec<u8> = Vec::new();
    pixels.try_reserve_exact(total).map_err(|_| DataError::Memory { pictures: files.len(), bytes: total })?;
    pixels.resize(total, 0);
    let mut broken = Vec::new();
    let mut progress = (files.len() > PART).then(|| Progress::new("decoding", 0, files.len() as u64));
    for (part, (files, pixels)) in files.chunks(PART).zip(pixels.chunks_mut((PART * size).max(1))).enumerate()
    {
        let failures: Vec<Option<String>> = files
            .par_iter()
            .zip(pixels.par_chunks_exact_mut(size.max(1)))
            .map(|(file, pixels)| one(&root.join(file), resize, pixels).err())
            .collect();
        let failures =
            failures.into_iter().enumerate().filter_map(|(at, failure)| Some((part * PART + at, failure?)));
        broken.extend(failures);
        if let Some(progress) = &mut progress {
            progress.at((part * PART + files.len()) as u64, "");
        }
    }
    if let Some(progress) = progress {
        progress.finish();
    }
    if !broken.is_empty() {
        let mut failed = broken.iter().map(|(at, _)| *at).peekable();
        let mut end = 0;
        for at in 0..files.len() {
            if failed.next_if_eq(&at).is_none() {
                pixels.copy_within(at * size..(at + 1) * size, end);
                end += size;
            }
        }
        pixels.truncate(end);
    }
    Ok(Stored { pixels, broken })
}

/// Reads one picture into its slice of the pixels.
fn one(path: &Path, resize: ResizeSpec, pixels: &mut [u8]) -> Result<(), String> {
    // A panic of a decoder affects only its own picture.
    let read = catch_unwind(AssertUnwindSafe(|| read_picture(path, resize)));
    let picture = match read {
        Ok(Ok(picture)) => picture,
        Ok(Err(DataError::Image { source, .. })) => return Err(source.to_string()),
        Ok(Err(DataError::LargePicture { reason, .. })) => return Err(reason),
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("its decoder failed".into()),
    };
    if picture.pixels.len() != pixels.len() {
        return Err("it has another size than asked for".into());
    }
    pixels.copy_from_slice(&picture.pixels);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::settings::Fit;
    use std::fs;

    const RESIZE: ResizeSpec = ResizeSpec { side: 4, channels: 3, fit: Fit::Middle };

    /// 300 small pictures of different greys, of which some are broken.
    fn folder() -> (tempfile::TempDir, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<String> = (0..300).map(|i| format!("{i}.png")).collect();
        for (i, file) in files.iter().enumerate() {
            let grey = image::Rgb([(i % 256) as u8; 3]);
            image::RgbImage::from_pixel(6, 5, grey).save(folder.path().join(file)).unwrap();
        }
        (folder, files)
    }

    fn spoil(folder: &Path) {
        fs::write(folder.join("3.png"), b"\x89PNG\r\n\x1a\nbroken").unwrap();
        fs::remove_file(folder.join("299.png")).unwrap();
    }

    #[test]
    fn what_is_broken_is_named_and_the_rest_stays_in_order() {
        let (folder, files) = folder();
        spoil(folder.path());
        let read = |rule| read_pictures(folder.path(), &files, RESIZE, rule, None);
        let error = read(Broken::Refuse).unwrap_err().to_string();
        assert!(error.contains("3.png") && error.contains("1 other"), "{error}");
        let pictures = read(Broken::Skip).unwrap();
        assert_eq!((pictures.images.len(), pictures.kept.len(), pictures.broken.len()), (298, 298, 2));
        assert_eq!(pictures.kept[..5], [0, 1, 2, 4, 5]);
        for (image, &at) in pictures.images.iter().zip(&pictures.kept) {
            assert_eq!(image, [(at % 256) as u8; 48]);
        }
    }

    #[test]
    fn the_second_time_they_come_from_the_cache() {
        let (folder, files) = folder();
        let cache = Cache::new(folder.path().join("cache"));
        let read = |rule| read_pictures(folder.path(), &files, RESIZE, rule, Some(&cache)).unwrap();
        let first = read(Broken::Refuse);
        let entries = || {
            fs::read_dir(folder.path().join("cache")).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>()
        };
        assert_eq!(entries().len(), 1);
        // The pixels are those of the changed entry, so that it was read.
        let entry = cache.entry(folder.path(), &files, RESIZE).unwrap();
        let mut changed = first.images.pixels.clone();
        changed[0] = 99;
        let stored = Stored { pixels: changed.clone(), broken: vec![] };
        cache.store(&entry, files.len(), RESIZE, &stored).unwrap();
        assert_eq!(read(Broken::Refuse).images.pixels, changed);
        let mut bytes = fs::read(&entry).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&entry, bytes).unwrap();
        assert_eq!(read(Broken::Refuse).images, first.images);

        spoil(folder.path());
        let refused = read_pictures(folder.path(), &files, RESIZE, Broken::Refuse, Some(&cache));
        assert!(refused.unwrap_err().to_string().contains("3.png"));
        assert_eq!(entries().len(), 1);
        assert_eq!(
            (read(Broken::Skip).broken.len(), read(Broken::Skip).broken.len(), entries().len()),
            (2, 2, 2)
        );
        let refused = read_pictures(folder.path(), &files, RESIZE, Broken::Refuse, Some(&cache));
        assert!(refused.unwrap_err().to_string().contains("3.png"));
    }
}
