//! The cache of decoded and resized pictures on the disk: its folder, and the keys of picture files. This text describes the whole
//! cache; the modules beside it refer to it.
//!
//! # Files of the folder
//!
//! ```text
//! DIGEST.records   pictures of one folder, in one size and fit; DIGEST is the MD5 of the header of the file
//! DIGEST.lock      an empty file; the run that adds pictures has the system's lock on it
//! ```
//!
//! Splits, subsets and choices of classes share a file of records. It holds those pictures of the folder that runs have asked for,
//! in that order, and a picture is decoded once.
//!
//! # Form of a file of records
//!
//! ```text
//! SIMILE05 {"root":FOLDER,"side":256,...}\n | block | block | ...
//! block     4096 entries | 4096 records
//! entry     key of a picture (16 bytes) | stretch (f32) | CRC-32C of both
//! record    pixels | CRC-32C of key and pixels
//! ```
//!
//! The line at the beginning is the header; its first word has the number of the format (`MAGIC` of [`layout`](super::layout)).
//! Numbers are little-endian; a CRC-32C is a u32. The first entry of a block belongs to its first record, and so on. An entry
//! without a valid checksum is free.
//!
//! The key of a picture is a digest of its path, size and date, so that a picture that is changed is another one. A picture that is
//! broken has the stretch 0, and the reason in the place of its pixels, with zeros after it. A picture that the system does not read
//! has no record, so that the next run tries it again.
//!
//! # Life of a file of records
//!
//! No file is renamed. The program removes only a file of records that begins with another header than its name demands.
//!
//! 1. A run computes the keys of its picture files ([`keys_and_sizes`]), and reads the header and the entries
//!    ([`index`](super::index)). If there is an entry for each key, it needs no lock and goes on with step 5.
//! 2. Otherwise the run takes the lock ([`writer`](super::writer)), and reads the entries again, because another run may have added
//!    pictures meanwhile. If the file is new, or has only a part of its header, the run writes the header.
//! 3. The run writes the records of the pictures that are missing, after the last record that has an entry. Every ten seconds and
//!    at the end it waits until the records lie on the disk, and only then writes their entries. A run that is killed leaves
//!    records without entries, and the next run writes over them.
//! 4. If more pictures are missing than a run decodes in one turn, it releases the lock for a moment, so that a run that waits can
//!    take its turn, and goes on with step 2.
//! 5. Any number of runs read records ([`records`](super::records)), while another one adds some. If the checksum of a record
//!    differs, the reader decodes the picture again and writes the record in its place.
//!
//! Records of pictures that were changed or removed stay in the file, and nobody reads them.
//!
//! [`layout`](super::layout) knows the bytes of headers, entries and records, and their offsets; [`read`](super::read) takes the
//! steps.

use std::fs;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use rayon::ThreadPoolBuilder;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::layout::{Key, Layout};
use super::list::PictureList;

/// Files that are asked for at once. On a network file system every request waits as long, whatever the number of processors
/// here: at half a millisecond, the files of ImageNet would take minutes on two.
const AT_ONCE: usize = 64;

/// A folder of files of records.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in a folder, which is created with the first file.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder named by `SIMILE_CACHE`, none if that is `off`, or `simile` in the user's cache folder.
    pub(crate) fn for_user() -> Option<Self> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        match variable("SIMILE_CACHE") {
            Some(folder) if folder.as_os_str() == "off" => None,
            Some(folder) => Some(Self::new(folder)),
            None => variable("XDG_CACHE_HOME")
                .or_else(|| variable("LOCALAPPDATA"))
                .or_else(|| variable("HOME").map(|home| home.join(".cache")))
                .map(|folder| Self::new(folder.join("simile"))),
        }
    }

    /// The path of the file of records of a layout.
    pub(super) fn record_file(&self, layout: &Layout) -> PathBuf {
        self.folder.join(layout.file_name())
    }
}

/// The keys and sizes in bytes of picture files as they are now. A file that the system does not describe has a key too, with the
/// size and the date 0; an attempt to decode it gives the reason.
pub(super) fn keys_and_sizes(list: PictureList<'_>) -> Vec<(Key, u64)> {
    ask_each(list.files, |file| {
        let metadata = fs::metadata(list.root.join(file)).ok();
        let size = metadata.as_ref().map_or(0, fs::Metadata::len);
        let date = metadata.and_then(|metadata| metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        (Key::of(file, size, date.map_or(0, |date| date.as_nanos())), size)
    })
}

/// An answer of the file system on each file, in their order.
fn ask_each<T: Send>(files: &[String], ask: impl Fn(&String) -> T + Sync + Send) -> Vec<T> {
    let all = || files.par_iter().map(ask).collect();
    match ThreadPoolBuilder::new().num_threads(AT_ONCE).build() {
        Ok(waiting) => waiting.install(all),
        Err(_) => all(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_picture_that_is_changed_has_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["0.png", "1.png", "none.png"].map(String::from);
        for file in &files[..2] {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        let list = PictureList { root: folder.path(), files: &files };
        let first = keys_and_sizes(list);
        assert_eq!(keys_and_sizes(list), first);
        assert!(first[0] != first[1] && first[1] != first[2]);
        fs::write(folder.path().join("1.png"), "longer").unwrap();
        let second = keys_and_sizes(list);
        assert_eq!([0, 1, 2].map(|at| first[at] == second[at]), [true, false, true]);
    }

    #[test]
    fn files_that_answer_late_are_asked_for_together() {
        let files: Vec<String> = (0..4 * AT_ONCE).map(|i| i.to_string()).collect();
        let (waiting, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ask = |file: &String| {
            most.fetch_max(waiting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            sleep(Duration::from_millis(20));
            waiting.fetch_sub(1, Ordering::SeqCst);
            file.clone()
        };
        assert_eq!(ask_each(&files, ask), files);
        let most = most.into_inner();
        assert!(most > AT_ONCE / 2, "{most} at once");
    }
}
