//! Many picture files in the size that an encoder takes: from the cache, after those that it lacks are decoded into it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use simile_core::data::ImageSet;

use super::batches::{BATCH, DecodedCount, Stop, decode};
use super::cache::{Cache, keys_and_sizes};
use super::index::{FileState, Index};
use super::layout::{Key, Layout};
use super::list::PictureList;
use super::records::{KeyedFiles, RecordFile, Unread};
use super::resize::ResizeSpec;
use super::space;
use super::uncached::{MOST_IN_MEMORY, in_memory};
use super::writer::{Decoded, Fault, Writer};
use crate::console::line;
use crate::data::error::{DataError, Result};
use crate::data::keys::values::Broken;
use crate::interrupt;

/// The readable pictures.
#[derive(Debug)]
pub(crate) struct Pictures {
    pub(crate) images: ImageSet,
    /// Their places in the list of files, ascending.
    pub(crate) places: Vec<usize>,
    /// The errors of the other pictures.
    pub(crate) broken: Vec<DataError>,
}

/// Fewest pictures that are looked up in the cache: decoding fewer is as quick.
const FEWEST: usize = 256;
/// Number of pictures that a run decodes into the cache before a waiting run may go on, and the pause that it then makes.
const TURN: usize = 16 * BATCH;
const PAUSE: Duration = Duration::from_millis(20);

/// The pictures of a list, in their order: from the cache, where those that it lacks are decoded into it. Without a cache they
/// are decoded into memory.
///
/// # Errors
/// Names the first unreadable picture, unless such are to be skipped; fails if there is room for the pictures neither on the
/// disk nor in memory. [`DataError::Stopped`] if a stop is requested: the cache keeps what is decoded.
pub(crate) fn read_pictures(
    list: PictureList<'_>,
    resize: ResizeSpec,
    rule: Broken,
    cache: Option<&Cache>,
) -> Result<Pictures> {
    let total = (list.files.len() as u64).saturating_mul(resize.bytes() as u64);
    let records = match cache.filter(|_| list.files.len() >= FEWEST) {
        Some(cache) => match records(cache, list, resize, &interrupt::is_requested) {
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
            let broken = records.broken();
            (ImageSet::new(Arc::new(records))?, broken)
        }
        None => in_memory(list, resize, total, &interrupt::is_requested)?,
    };
    if let (Broken::Refuse, [(at, reason), others @ ..]) = (rule, broken.as_slice()) {
        return Err(DataError::Broken { path: list.path(*at), reason: reason.clone(), others: others.len() });
    }
    let places: Vec<usize> =
        (0..list.files.len()).filter(|at| broken.binary_search_by_key(at, |(at, _)| *at).is_err()).collect();
    let images = if broken.is_empty() { images } else { images.select(&places) };
    let unreadable = |(at, reason): &(usize, String)| DataError::Unreadable {
        path: list.path(*at),
        reason: reason.clone(),
    };
    let broken = broken.iter().map(unreadable).collect();
    Ok(Pictures { images, places, broken })
}

/// The pictures in their file of the cache, after those that it lacks are decoded into it. A picture that the system does not
/// read is among those that cannot be read, and the next run tries it again.
fn records(cache: &Cache, list: PictureList<'_>, resize: ResizeSpec, stop: Stop<'_>) -> Result<RecordFile> {
    let layout = Layout::new(list.root, resize);
    let (keys, sizes): (Vec<Key>, Vec<u64>) = keys_and_sizes(list).into_iter().unzip();
    let path = cache.record_file(&layout);
    let failed = |source| DataError::Cache { path: path.clone(), source };
    let whole = |unread: &Unread| -> Result<Option<RecordFile>> {
        match Index::open(&path, &layout).map_err(failed)? {
            FileState::Whole(index) => {
                let keyed = KeyedFiles { keys: &keys, sizes: &sizes, unread };
                Ok(RecordFile::of(index, &path, &layout, list, &keyed))
            }
            FileState::Nothing | FileState::Damaged => Ok(None),
        }
    };
    if let Some(records) = whole(&Unread::new())? {
        return Ok(records);
    }
    let unread = fill(&path, &layout, list, &keys, stop)?;
    whole(&unread)?.ok_or_else(|| failed(io::Error::other("pictures are not there after they were written")))
}

/// Decodes the pictures that a file of records lacks into it, except for those that the system does not read, which it returns.
/// Runs that lack the same ones take turns, and share the work.
fn fill(path: &Path, layout: &Layout, list: PictureList<'_>, keys: &[Key], stop: Stop<'_>) -> Result<Unread> {
    let failed = |source| DataError::Cache { path: path.into(), source };
    let (mut count, mut has_announced, mut missing_before) = (DecodedCount::default(), false, None);
    let mut unread = Unread::new();
    loop {
        let mut writer = Writer::open(path, layout, &mut has_announced).map_err(failed)?;
        let mut missing = writer.index.missing(keys);
        missing.retain(|&at| keys.get(at).is_none_or(|key| !unread.contains_key(key)));
        let done = keys.iter().filter(|key| writer.index.location(key).is_some()).count();
        match missing_before {
            None => {
                check_room(path, layout, missing.len())?;
                if done > 0 && !missing.is_empty() {
                    let total = done + missing.len();
                    line(format_args!("{done} of {total} pictures are decoded already"));
                }
                count = DecodedCount::new(done, missing.len());
            }
            Some(before) if missing.len() >= before => {
                return Err(failed(io::Error::other(
                    "another program changes it, and files cannot be locked there",
                )));
            }
            Some(_) => {}
        }
        missing_before = Some(missing.len());
        count.done = done;
        let turn = missing.get(..TURN).unwrap_or(&missing);
        let mut at = turn.iter();
        let all = decode(list, turn, layout.resize, &mut count, stop, |pixels, decoded| {
            let keys = at.by_ref().filter_map(|&at| keys.get(at).copied());
            // The pictures first: keys would be taken for one picture more than there are.
            let pictures: Vec<(Key, Decoded)> =
                decoded.into_iter().zip(keys).map(|(decoded, key)| (key, decoded)).collect();
            unread.extend(pictures.iter().filter_map(|(key, decoded)| match decoded {
                Err(Fault::Unread(reason)) => Some((*key, reason.clone())),
                _ => None,
            }));
            writer.append(pixels, pictures).map_err(failed)
        });
        writer.commit().map_err(failed)?;
        all?;
        if turn.len() == missing.len() {
            break;
        }
        drop(writer);
        sleep(PAUSE);
    }
    count.finish();
    Ok(unread)
}

/// Checks that the disk has room for `pictures` more records.
fn check_room(path: &Path, layout: &Layout, pictures: usize) -> Result<()> {
    let bytes = (pictures as u64).saturating_mul(layout.record_bytes());
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    match space::free(folder) {
        Some(free) if free < bytes => Err(DataError::Disk { pictures, bytes, folder: folder.into(), free }),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::PathBuf;

    use simile_core::data::ImageFile;

    use super::*;
    use crate::data::keys::values::Fit;
    use crate::data::pictures::testing::{RESIZE, folder, spoil};

    /// A signal was obeyed after all pictures were decoded.
    #[test]
    fn a_stop_ends_decoding_and_the_next_run_goes_on_from_there() {
        let (folder, _) = folder();
        let cache = Cache::new(folder.path().join("cache"));
        // One batch, and one picture more.
        let files: Vec<String> = (0..=BATCH).map(|at| format!("{at}.png")).collect();
        let picture = fs::read(folder.path().join("0.png")).unwrap();
        for file in &files {
            fs::write(folder.path().join(file), &picture).unwrap();
        }
        let list = PictureList { root: folder.path(), files: &files };
        let read = |batches: usize| {
            let remaining = Cell::new(batches);
            let stop = || remaining.replace(remaining.get().saturating_sub(1)) == 0;
            let outcome = records(&cache, list, RESIZE, &stop);
            let layout = Layout::new(folder.path(), RESIZE);
            let kept = match Index::open(&cache.record_file(&layout), &layout).unwrap() {
                FileState::Whole(index) => index.next_record as usize,
                _ => 0,
            };
            (outcome.map(|records| records.broken().len()), kept)
        };
        let (outcome, kept) = read(1);
        assert!(matches!(outcome, Err(DataError::Stopped)) && kept == BATCH, "{outcome:?} {kept}");
        let (outcome, kept) = read(1);
        assert!(matches!(outcome, Ok(0)) && kept == BATCH + 1, "{outcome:?} {kept}");
        let in_memory = in_memory(list, RESIZE, 0, &|| true);
        assert!(matches!(in_memory, Err(DataError::Stopped)));
    }

    #[test]
    fn a_file_that_the_system_does_not_read_is_named_and_tried_again() {
        let (folder, files) = folder();
        let path = folder.path().join("7.png");
        let picture = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        let list = PictureList { root: folder.path(), files: &files };
        let read = |rule, cache| read_pictures(list, RESIZE, rule, cache);
        for cache in [None, Some(&cache), Some(&cache)] {
            let error = read(Broken::Refuse, cache).unwrap_err().to_string();
            assert!(error.contains("cannot read") && error.contains("7.png"), "{error}");
            let skipped = read(Broken::Skip, cache).unwrap();
            assert_eq!((skipped.images.len(), skipped.broken.len(), skipped.places[7]), (299, 1, 8));
            assert_eq!(pixels(&skipped)[7 * 48..8 * 48], [8; 48]);
            let reason = skipped.broken[0].to_string();
            assert!(reason.contains("7.png: ") && !reason.contains("could not be read"), "{reason}");
        }
        let layout = Layout::new(folder.path(), RESIZE);
        let FileState::Whole(index) = Index::open(&cache.record_file(&layout), &layout).unwrap() else {
            unreachable!()
        };
        let keys: Vec<Key> = keys_and_sizes(list).into_iter().map(|(key, _)| key).collect();
        assert_eq!(index.missing(&keys), [7], "nothing is kept of it");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, picture).unwrap();
        let all = read(Broken::Skip, Some(&cache)).unwrap();
        assert_eq!((all.images.len(), &pixels(&all)[7 * 48..8 * 48]), (300, &[7; 48][..]));
    }

    #[test]
    fn what_is_broken_is_named_and_the_rest_stays_in_order() {
        let (folder, files) = folder();
        spoil(folder.path());
        let list = PictureList { root: folder.path(), files: &files };
        let read = |rule| read_pictures(list, RESIZE, rule, None);
        let error = read(Broken::Refuse).unwrap_err().to_string();
        assert!(error.contains("3.png") && error.contains("1 other"), "{error}");
        let pictures = read(Broken::Skip).unwrap();
        assert_eq!((pictures.images.len(), pictures.places.len(), pictures.broken.len()), (298, 298, 2));
        assert_eq!(pictures.places[..5], [0, 1, 2, 4, 5]);
        for (image, &at) in pictures.images.in_memory().unwrap().iter().zip(&pictures.places) {
            assert_eq!(image, [(at % 256) as u8; 48]);
        }
    }

    /// The pixels of all readable pictures.
    fn pixels(pictures: &Pictures) -> Vec<u8> {
        pictures.images.in_memory().unwrap().pixels.clone()
    }

    fn names(cache: &Path) -> Vec<String> {
        let entries = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Writes other pixels than theirs for some pictures into the cache, so that they are known again.
    fn mark(cache: &Cache, list: PictureList<'_>, value: u8) -> (PathBuf, Layout) {
        let layout = Layout::new(list.root, RESIZE);
        let path = cache.record_file(&layout);
        let mut writer = Writer::open(&path, &layout, &mut false).unwrap();
        let pictures = keys_and_sizes(list).into_iter().map(|(key, _)| (key, Ok(1.0))).collect();
        writer.append(&vec![value; list.files.len() * RESIZE.bytes()], pictures).unwrap();
        writer.commit().unwrap();
        (path, layout)
    }

    #[test]
    fn the_second_time_they_come_from_the_cache() {
        let (folder, files) = folder();
        let cache = Cache::new(folder.path().join("cache"));
        let list = PictureList { root: folder.path(), files: &files };
        let read = |rule| read_pictures(list, RESIZE, rule, Some(&cache)).unwrap();
        let without = read_pictures(list, RESIZE, Broken::Refuse, None).unwrap();
        let first = pixels(&without);
        let (path, layout) = mark(&cache, PictureList { files: &files[..2], ..list }, 99);
        let second = pixels(&read(Broken::Refuse));
        assert_eq!((&second[..96], &second[96..]), (&[99; 96][..], &first[96..]));
        // A damaged record is decoded again by itself, and so are those that are lost with the end of the file.
        let mut bytes = fs::read(&path).unwrap();
        bytes[layout.record_offset(0) as usize] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let third = pixels(&read(Broken::Refuse));
        assert_eq!((&third[..48], &third[48..]), (&first[..48], &second[48..]));
        fs::write(&path, &bytes[..layout.record_offset(1) as usize]).unwrap();
        assert_eq!(pixels(&read(Broken::Refuse)), first);

        spoil(folder.path());
        let refused = || {
            let refused = read_pictures(list, RESIZE, Broken::Refuse, Some(&cache));
            refused.unwrap_err().to_string()
        };
        assert!(refused().contains("3.png"));
        let skipped = [read(Broken::Skip), read(Broken::Skip)].map(|pictures| {
            assert_eq!((pictures.broken.len(), pictures.places[3]), (2, 4));
            let reasons: Vec<String> = pictures.broken.iter().map(ToString::to_string).collect();
            (pixels(&pictures), reasons)
        });
        assert_eq!(skipped[0], skipped[1]);
        assert!(skipped[0].0.len() == 298 * 48 && skipped[0].1[1].contains("299.png"), "{:?}", skipped[0].1);
        assert_eq!(skipped[0].0[3 * 48..4 * 48], [4; 48]);
        assert!(refused().contains("3.png"));
        assert_eq!(names(&folder.path().join("cache")).len(), 2, "the file and its lock");
    }

    #[test]
    fn parts_and_subsets_of_a_folder_share_a_file_and_no_picture_is_decoded_twice() {
        let (folder, files) = folder();
        let cache = Cache::new(folder.path().join("cache"));
        // A part that the cache has, whose pixels are known again.
        let half: Vec<String> = files.iter().step_by(2).cloned().collect();
        let (path, _) = mark(&cache, PictureList { root: folder.path(), files: &half }, 77);
        let length = || fs::metadata(&path).unwrap().len();
        let of = |files: &[String]| {
            let list = PictureList { root: folder.path(), files };
            let pictures = read_pictures(list, RESIZE, Broken::Refuse, Some(&cache)).unwrap();
            pictures.images.in_memory().unwrap().iter().map(|image| image[0]).collect::<Vec<u8>>()
        };
        let expected = |at: usize| if at.is_multiple_of(2) { 77 } else { (at % 256) as u8 };
        let last: Vec<usize> = (30..300).collect();
        let subset: Vec<String> = last.iter().map(|&at| files[at].clone()).collect();
        assert_eq!(of(&subset), last.iter().map(|&at| expected(at)).collect::<Vec<u8>>());
        let after_subset = length();
        assert_eq!(of(&files), (0..300).map(expected).collect::<Vec<u8>>());
        assert_eq!(length() - after_subset, 15 * 52, "the fifteen that neither part had");
        let backwards: Vec<String> = files.iter().rev().chain(&files[..9]).cloned().collect();
        assert_eq!(of(&backwards), (0..300).rev().chain(0..9).map(expected).collect::<Vec<u8>>());
        assert_eq!(length() - after_subset, 15 * 52);
        let other = ResizeSpec { side: 5, ..RESIZE };
        let list = PictureList { root: folder.path(), files: &files };
        read_pictures(list, other, Broken::Refuse, Some(&cache)).unwrap();
        assert_eq!(names(&folder.path().join("cache")).len(), 4, "a file for another side, and their locks");
    }

    #[test]
    fn runs_that_decode_at_the_same_time_share_the_work() {
        let (folder, files) = folder();
        let cache = Cache::new(folder.path().join("cache"));
        let (early, late) = (&files[..280], &files[20..]);
        std::thread::scope(|scope| {
            for files in [early, late, early, late] {
                let (cache, list) = (&cache, PictureList { root: folder.path(), files });
                scope.spawn(move || {
                    let pictures = read_pictures(list, RESIZE, Broken::Refuse, Some(cache)).unwrap();
                    let first = files[0].trim_end_matches(".png").parse::<usize>().unwrap();
                    for (at, image) in pictures.images.in_memory().unwrap().iter().enumerate() {
                        assert_eq!(image, [((first + at) % 256) as u8; 48]);
                    }
                });
            }
        });
        let layout = Layout::new(folder.path(), RESIZE);
        let length = fs::metadata(cache.record_file(&layout)).unwrap().len();
        assert_eq!(length, layout.record_offset(300), "each picture is there once");
    }

    #[test]
    fn the_files_of_other_formats_are_left_alone() {
        let (folder, files) = folder();
        let place = folder.path().join("cache");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("0123456789abcdef0123456789abcdef.records"), b"SIMILE02 of another program")
            .unwrap();
        let list = PictureList { root: folder.path(), files: &files };
        let read = || read_pictures(list, RESIZE, Broken::Refuse, Some(&Cache::new(place.clone())));
        assert_eq!(pixels(&read().unwrap())[48], 1);
        assert_eq!(names(&place).len(), 3);
        assert!(names(&place).contains(&"0123456789abcdef0123456789abcdef.records".into()));
    }

    #[test]
    fn whole_pictures_keep_their_shapes_and_files_on_the_disk_and_in_memory() {
        let (folder, files) = folder();
        image::RgbImage::new(30, 10).save(folder.path().join("1.png")).unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        let list = PictureList { root: folder.path(), files: &files };
        let resize = ResizeSpec { fit: Fit::Aspect, ..RESIZE };
        fs::write(folder.path().join("2.png"), b"broken").unwrap();
        for cache in [Some(&cache), Some(&cache), None] {
            let pictures = read_pictures(list, resize, Broken::Skip, cache).unwrap();
            let stretches = pictures.images.stretches(&[0, 1, 2]).unwrap();
            assert!(
                stretches.iter().zip([1.2, 3.0, 1.2]).all(|(a, b)| (a - b).abs() < 1e-6),
                "{stretches:?}"
            );
            for (at, name) in [(1, "1.png"), (2, "3.png")] {
                let path = folder.path().join(name);
                let bytes = fs::metadata(&path).unwrap().len();
                let file = ImageFile { path: path.display().to_string(), bytes };
                assert_eq!(pictures.images.file(at), Some(file));
            }
        }
        let squeezed = read_pictures(list, RESIZE, Broken::Skip, Some(&cache)).unwrap();
        assert_eq!(squeezed.images.stretches(&[0]), None);
    }
}
