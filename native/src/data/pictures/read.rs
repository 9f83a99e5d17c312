//! Many picture files, decoded on all processors into the size that an encoder takes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};
use rayon::slice::ParallelSliceMut as _;
use simile_core::data::{ImageSet, Images};

use super::cache::Cache;
use super::decode::read_into;
use super::records::{Found, RecordFile};
use super::resize::ResizeSpec;
use super::space;
use super::writer::{Decoded, Writer};
use crate::console::{Progress, line};
use crate::data::error::{DataError, Result};
use crate::data::settings::{Broken, Fit};

/// The readable pictures.
#[derive(Debug)]
pub(crate) struct Pictures {
    pub(crate) images: ImageSet,
    /// Their places in the list of files, ascending.
    pub(crate) kept: Vec<usize>,
    /// The errors of the other pictures.
    pub(crate) broken: Vec<DataError>,
}

/// Most pictures, and about most bytes, that are decoded at a time.
const PART: usize = 1024;
const PART_BYTES: usize = 64 << 20;
/// Most bytes of pictures that are kept in memory, where they cannot be kept on the disk.
const MOST_IN_MEMORY: u64 = 4 << 30;

/// The files below `root`, in their order: from the cache, where those that it lacks are decoded into it. Without a cache they
/// are decoded into memory.
///
/// # Errors
/// Names the first unreadable picture, unless such are to be skipped; fails if there is room for the pictures neither on the
/// disk nor in memory.
pub(crate) fn read_pictures(
    root: &Path,
    files: &[String],
    resize: ResizeSpec,
    rule: Broken,
    cache: Option<&Cache>,
) -> Result<Pictures> {
    let total = (files.len() as u64).saturating_mul(resize.bytes() as u64);
    let entry = cache.and_then(|cache| cache.entry(root, files, resize));
    let records = match &entry {
        Some(entry) => match records(entry, root, files, resize) {
            Err(error @ (DataError::Cache { .. } | DataError::Disk { .. })) if total <= MOST_IN_MEMORY => {
                line(format_args!("{error}; they stay in memory"));
                None
            }
            records => Some(records?),
        },
        None => None,
    };
    let (images, broken) = match records {
        Some(records) => {
            let (broken, stretches) = (records.broken().to_vec(), records.stretches());
            let images = ImageSet::new(Arc::new(records))?;
            (stretches.map(|stretches| images.stretched(stretches)).transpose()?.unwrap_or(images), broken)
        }
        None => in_memory(root, files, resize, total)?,
    };
    if let (Broken::Refuse, [(at, reason), others @ ..]) = (rule, broken.as_slice()) {
        let path = path_of(root, files, *at);
        return Err(DataError::Broken { path, reason: reason.clone(), others: others.len() });
    }
    let kept: Vec<usize> =
        (0..files.len()).filter(|at| broken.binary_search_by_key(at, |(at, _)| *at).is_err()).collect();
    let images = if broken.is_empty() { images } else { images.select(&kept) };
    let unreadable = |(at, reason): &(usize, String)| DataError::Unreadable {
        path: path_of(root, files, *at),
        reason: reason.clone(),
    };
    let broken = broken.iter().map(unreadable).collect();
    Ok(Pictures { images, kept, broken })
}

fn path_of(root: &Path, files: &[String], at: usize) -> PathBuf {
    root.join(files.get(at).map_or("", String::as_str))
}

/// The file of records of an entry, written first if it is missing or damaged.
fn records(entry: &Path, root: &Path, files: &[String], resize: ResizeSpec) -> Result<RecordFile> {
    let failed = |source| DataError::Cache { path: entry.into(), source };
    match RecordFile::open(entry, root, files, resize) {
        Found::Whole(records) => return Ok(records),
        Found::Nothing => {}
        Found::Damaged => {
            line(format_args!("{} is damaged; the pictures are decoded again", entry.display()));
            fs::remove_file(entry).map_err(failed)?;
        }
    }
    if let Some(mut writer) = Writer::resume(entry, files.len(), resize).map_err(failed)? {
        let folder = entry.parent().unwrap_or_else(|| Path::new("."));
        match space::free(folder) {
            Some(free) if free < writer.missing() => {
                let (pictures, bytes, folder) = (files.len(), writer.missing(), PathBuf::from(folder));
                return Err(DataError::Disk { pictures, bytes, folder, free });
            }
            _ => {}
        }
        if writer.records() > 0 {
            line(format_args!("{} of {} pictures are decoded already", writer.records(), files.len()));
        }
        let first = writer.records();
        decode(root, files, first, resize, |pixels, found| writer.append(pixels, found)).map_err(failed)?;
        writer.finish(entry).map_err(failed)?;
    }
    match RecordFile::open(entry, root, files, resize) {
        Found::Whole(records) => Ok(records),
        Found::Nothing | Found::Damaged => {
            Err(failed(std::io::Error::other("it is damaged as soon as it is written; check the disk")))
        }
    }
}

/// All pictures in memory, zero where they cannot be read, and the unreadable ones with the reasons.
fn in_memory(
    root: &Path,
    files: &[String],
    resize: ResizeSpec,
    total: u64,
) -> Result<(ImageSet, Vec<(usize, String)>)> {
    let mut pixels: Vec<u8> = Vec::new();
    let reserved = usize::try_from(total).ok().filter(|_| total <= MOST_IN_MEMORY);
    if reserved.is_none_or(|total| pixels.try_reserve_exact(total).is_err()) {
        return Err(DataError::NeedsCache { pictures: files.len(), bytes: total, most: MOST_IN_MEMORY });
    }
    let mut found = Vec::new();
    let gathered: Result<(), std::convert::Infallible> = decode(root, files, 0, resize, |part, of_part| {
        pixels.extend_from_slice(part);
        found.extend(of_part);
        Ok(())
    });
    let Ok(()) = gathered;
    let images = ImageSet::from(Images::new(resize.side, resize.side, resize.channels, pixels)?)
        .with_files(files.iter().map(|file| root.join(file).display().to_string()).collect())?;
    let images = if resize.fit == Fit::Aspect {
        images.stretched(
            found.iter().map(|picture| (*picture.as_ref().unwrap_or(&None)).unwrap_or(1.0)).collect(),
        )?
    } else {
        images
    };
    let broken = found.into_iter().enumerate().filter_map(|(at, picture)| Some((at, picture.err()?)));
    Ok((images, broken.collect()))
}

/// Decodes the pictures from `first` on, part by part: `take` gets the pixels of each part, zero where a picture cannot be
/// read.
fn decode<E: Send>(
    root: &Path,
    files: &[String],
    first: usize,
    resize: ResizeSpec,
    mut take: impl FnMut(&[u8], Vec<Decoded>) -> Result<(), E> + Send,
) -> Result<(), E> {
    let part = (PART_BYTES / resize.bytes().max(1)).clamp(1, PART);
    let mut progress =
        (files.len() - first > PART).then(|| Progress::new("decoding", first as u64, files.len() as u64));
    let mut done = first;
    let mut whole = Part::default();
    let mut next = Part::default();
    for files in files.get(first..).unwrap_or_default().chunks(part) {
        // One thread takes a part while the others decode the next one.
        let ((), taken) = rayon::join(|| next.decode(root, files, resize), || whole.give(&mut take));
        done += taken?;
        if let Some(progress) = &mut progress {
            progress.at(done as u64, "");
        }
        std::mem::swap(&mut whole, &mut next);
    }
    whole.give(&mut take)?;
    if let Some(progress) = progress {
        progress.finish();
    }
    Ok(())
}

/// Some decoded pictures.
#[derive(Default)]
struct Part {
    pixels: Vec<u8>,
    found: Vec<Decoded>,
}

impl Part {
    /// Replaces them by the pictures of other files.
    fn decode(&mut self, root: &Path, files: &[String], resize: ResizeSpec) {
        let size = resize.bytes().max(1);
        self.pixels.clear();
        self.pixels.resize(files.len() * size, 0);
        let pictures = files.par_iter().zip(self.pixels.par_chunks_exact_mut(size));
        self.found = pictures.map(|(file, pixels)| read_into(&root.join(file), resize, pixels)).collect();
    }

    /// Hands the pictures over; returns their number.
    fn give<E>(&mut self, take: &mut impl FnMut(&[u8], Vec<Decoded>) -> Result<(), E>) -> Result<usize, E> {
        let found = std::mem::take(&mut self.found);
        let pictures = found.len();
        if pictures > 0 {
            take(&self.pixels, found)?;
        }
        Ok(pictures)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
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
        for (image, &at) in pictures.images.in_memory().unwrap().iter().zip(&pictures.kept) {
            assert_eq!(image, [(at % 256) as u8; 48]);
        }
    }

    #[test]
    fn the_second_time_they_come_from_the_cache() {
        let (folder, files) = folder();
        let cache = Cache::new(folder.path().join("cache"));
        let read = |rule| read_pictures(folder.path(), &files, RESIZE, rule, Some(&cache)).unwrap();
        let pixels = |pictures: Pictures| pictures.images.in_memory().unwrap().pixels.clone();
        let entries = || {
            fs::read_dir(folder.path().join("cache")).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>()
        };
        let first = pixels(read(Broken::Refuse));
        assert_eq!(entries().len(), 1);
        let without = read_pictures(folder.path(), &files, RESIZE, Broken::Refuse, None).unwrap();
        assert_eq!(pixels(without), first);
        // The pixels are those of the changed entry, so that it was read.
        let entry = cache.entry(folder.path(), &files, RESIZE).unwrap();
        let mut changed = first.clone();
        changed[0] = 99;
        fs::remove_file(&entry).unwrap();
        let mut writer = Writer::resume(&entry, files.len(), RESIZE).unwrap().unwrap();
        writer.append(&changed, vec![Ok(None); files.len()]).unwrap();
        writer.finish(&entry).unwrap();
        assert_eq!(pixels(read(Broken::Refuse)), changed);
        // A damaged record is decoded again by itself, a file without its end as a whole.
        let mut bytes = fs::read(&entry).unwrap();
        bytes[20] ^= 1;
        fs::write(&entry, &bytes).unwrap();
        assert_eq!(pixels(read(Broken::Refuse)), first);
        fs::write(&entry, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(pixels(read(Broken::Refuse)), first);

        spoil(folder.path());
        let refused = || {
            let refused = read_pictures(folder.path(), &files, RESIZE, Broken::Refuse, Some(&cache));
            refused.unwrap_err().to_string()
        };
        assert!(refused().contains("3.png"));
        let skipped = [read(Broken::Skip), read(Broken::Skip)].map(|pictures| {
            assert_eq!((pictures.broken.len(), pictures.kept[3]), (2, 4));
            pixels(pictures)
        });
        assert!(skipped[0] == skipped[1] && skipped[0].len() == 298 * 48);
        assert_eq!(skipped[0][3 * 48..4 * 48], [4; 48]);
        assert!(refused().contains("3.png"));
        assert_eq!(entries().len(), 2);
    }

    #[test]
    fn decoding_goes_on_where_it_was_interrupted() {
        let (folder, files) = folder();
        let cache = Cache::new(folder.path().join("cache"));
        let entry = cache.entry(folder.path(), &files, RESIZE).unwrap();
        let mut writer = Writer::resume(&entry, files.len(), RESIZE).unwrap().unwrap();
        // Not the pixels of the pictures, so that they are known again.
        writer.append(&[77; 2 * 48], vec![Ok(None), Err("lost".into())]).unwrap();
        writer.keep().unwrap();
        drop(writer);
        let pictures = read_pictures(folder.path(), &files, RESIZE, Broken::Skip, Some(&cache)).unwrap();
        assert_eq!((pictures.kept.len(), pictures.kept[..2].to_vec()), (299, vec![0, 2]));
        let images = pictures.images.read(&[0, 1, 298]).unwrap();
        assert_eq!([images.image(0)[0], images.image(1)[0], images.image(2)[0]], [77, 2, 43]);
    }

    #[test]
    fn whole_pictures_keep_their_shapes_on_the_disk_and_in_memory() {
        let (folder, files) = folder();
        image::RgbImage::new(30, 10).save(folder.path().join("1.png")).unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        let resize = ResizeSpec { fit: Fit::Aspect, ..RESIZE };
        fs::write(folder.path().join("2.png"), b"broken").unwrap();
        for cache in [Some(&cache), Some(&cache), None] {
            let pictures = read_pictures(folder.path(), &files, resize, Broken::Skip, cache).unwrap();
            let stretches = pictures.images.stretches(&[0, 1, 2]).unwrap();
            assert!(
                stretches.iter().zip([1.2, 3.0, 1.2]).all(|(a, b)| (a - b).abs() < 1e-6),
                "{stretches:?}"
            );
        }
        let squeezed = read_pictures(folder.path(), &files, RESIZE, Broken::Skip, Some(&cache)).unwrap();
        assert_eq!(squeezed.images.stretches(&[0]), None);
    }

    #[test]
    fn a_set_beyond_memory_needs_the_cache_and_says_so() {
        let files: Vec<String> = (0..30_000).map(|i| format!("{i}.png")).collect();
        let resize = ResizeSpec { side: 256, ..RESIZE };
        let error =
            read_pictures(Path::new("."), &files, resize, Broken::Refuse, None).unwrap_err().to_string();
        assert!(error.contains("5.9 GB") && error.contains("SIMILE_CACHE"), "{error}");
        let nowhere = Cache::new("/proc/none".into());
        let error = read_pictures(Path::new("."), &files, resize, Broken::Refuse, Some(&nowhere));
        assert!(error.unwrap_err().to_string().contains("/proc/none"));
    }
}
