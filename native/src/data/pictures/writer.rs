//! Adds pictures to a file of records. [`cache`](super::cache) describes the file, its lock, and the order in which its parts are
//! written.
//!
//! A [`Writer`] takes the lock when it is opened. Its `append` writes records and keeps their entries in memory; its `commit`
//! writes these entries, after the records lie safely on the disk.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use super::index::{FileState, Index};
use super::layout::{BLOCK_RECORDS, BROKEN_STRETCH, Entry, Key, Layout};
use crate::console::line;

/// Time between two commits: an interruption costs about that much work at most.
const COMMIT_INTERVAL: Duration = Duration::from_secs(10);

/// Bytes of records that are collected before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// The stretch of a decoded picture, or the reason for which there is none.
pub(super) type Decoded = Result<f32, Fault>;

/// The reason for which a picture cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// The file is missing or no picture: it has a record, which says so as long as the file stays the same.
    Broken(String),
    /// The system does not read the file, which may be over the next time: it has no record.
    Unread(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Broken(reason) | Self::Unread(reason)) = self;
        f.write_str(reason)
    }
}

/// A file of records that this run alone writes.
pub(super) struct Writer<'a> {
    layout: &'a Layout,
    file: File,
    /// The pictures that were there when it was opened.
    pub(super) index: Index,
    /// The number of the next record.
    next_record: u32,
    /// The entries of the last records before that one, which are not written yet.
    uncommitted: Vec<Entry>,
    last_commit: Instant,
    /// The system releases the lock when this file is closed.
    _lock: File,
}

impl<'a> Writer<'a> {
    /// Opens the file at `path`, or begins it. Waits while another run writes it, and says so unless it `has_announced` that.
    ///
    /// # Errors
    /// If its folder cannot be written to.
    pub(super) fn open(path: &Path, layout: &'a Layout, has_announced: &mut bool) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let lock = options.open(path.with_extension("lock"))?;
        take_lock(&lock, has_announced);
        let mut index = Index::open(path, layout)?;
        if let FileState::Damaged = index {
            line(format_args!("{} is damaged; its pictures are decoded again", path.display()));
            fs::remove_file(path)?;
        }
        let mut file = options.open(path)?;
        if !matches!(index, FileState::Whole(_)) {
            file.write_all(&layout.header)?;
            index = Index::open(path, layout)?;
        }
        let FileState::Whole(index) = index else {
            return Err(io::Error::other("it is damaged as soon as it is written; check the disk"));
        };
        let (next_record, last_commit) = (index.next_record, Instant::now());
        Ok(Self { layout, file, index, next_record, uncommitted: Vec::new(), last_commit, _lock: lock })
    }

    /// Writes the records of further pictures, except for those that the system did not read, and commits them if that is due.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(super) fn append(&mut self, pixels: &[u8], pictures: Vec<(Key, Decoded)>) -> io::Result<()> {
        let size = self.layout.resize.bytes().max(1);
        let mut bytes = Vec::new();
        for (pixels, (key, decoded)) in pixels.chunks_exact(size).zip(pictures) {
            // Entries lie between the records of two blocks, so that one write has records of one block only.
            if bytes.len() >= WRITE_BYTES || self.next_record.is_multiple_of(BLOCK_RECORDS) {
                self.write_records(&mut bytes)?;
            }
            let start = bytes.len();
            let Some(stretch) = add_content(&mut bytes, pixels, decoded) else { continue };
            let checksum = key.checksum_of(bytes.get(start..).unwrap_or_default());
            bytes.extend(checksum);
            self.uncommitted.push(Entry { key, stretch });
            self.next_record =
                self.next_record.checked_add(1).ok_or_else(|| io::Error::other("it holds 2^32 pictures"))?;
        }
        self.write_records(&mut bytes)?;
        if self.last_commit.elapsed() >= COMMIT_INTERVAL { self.commit() } else { Ok(()) }
    }

    /// Writes the last records before the next one, which lie in one block, and empties `bytes`.
    fn write_records(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let records = bytes.len() as u64 / self.layout.record_bytes();
        let Some(first) = self.next_record.checked_sub(records as u32).filter(|_| records > 0) else {
            return Ok(());
        };
        self.file.seek(SeekFrom::Start(self.layout.record_offset(first)))?;
        self.file.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }

    /// Writes the entries of the records since the last commit, after these records lie on the disk.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        let first = self.next_record - self.uncommitted.len() as u32;
        let numbered: Vec<(u32, Entry)> = (first..).zip(self.uncommitted.drain(..)).collect();
        for block in numbered.chunk_by(|(a, _), (b, _)| a / BLOCK_RECORDS == b / BLOCK_RECORDS) {
            let bytes: Vec<u8> = block.iter().flat_map(|(_, entry)| entry.to_bytes()).collect();
            let first_of_block = block.first().map_or(first, |(record, _)| *record);
            self.file.seek(SeekFrom::Start(self.layout.entry_offset(first_of_block)))?;
            self.file.write_all(&bytes)?;
        }
        self.file.sync_data()?;
        self.last_commit = Instant::now();
        Ok(())
    }
}

/// Takes the lock that lies on a file. Waits while another run has it, and says so unless it `has_announced` that.
fn take_lock(lock: &File, has_announced: &mut bool) {
    // Where files cannot be locked, runs may write over records of others, which these then decode again.
    if let Err(TryLockError::WouldBlock) = lock.try_lock() {
        if !*has_announced {
            line("another run decodes pictures of the same folder; waiting for it");
            *has_announced = true;
        }
        let _ = lock.lock();
    }
}

/// Adds the content of the record of a picture, as many bytes as it has pixels: these, or the reason for which it is broken. Gives
/// the stretch of its entry; none, and adds nothing, if the picture gets no record.
fn add_content(bytes: &mut Vec<u8>, pixels: &[u8], decoded: Decoded) -> Option<f32> {
    match decoded {
        Ok(stretch) => {
            bytes.extend_from_slice(pixels);
            Some(stretch)
        }
        Err(Fault::Broken(reason)) => {
            bytes.extend(reason.bytes().chain(std::iter::repeat(0)).take(pixels.len()));
            Some(BROKEN_STRETCH)
        }
        Err(Fault::Unread(_)) => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;
    use crate::data::keys::values::Fit;
    use crate::data::pictures::resize::ResizeSpec;

    const RESIZE: ResizeSpec = ResizeSpec { side: 1, channels: 2, fit: Fit::Middle };

    fn key(number: u32) -> Key {
        Key::of(&number.to_string(), 1, 2)
    }

    /// Adds pictures whose pixels are their numbers.
    fn append(writer: &mut Writer<'_>, numbers: std::ops::Range<u32>) {
        let pixels: Vec<u8> = numbers.clone().flat_map(|number| (number as u16).to_le_bytes()).collect();
        writer.append(&pixels, numbers.map(|number| (key(number), Ok(1.0))).collect()).unwrap();
    }

    /// The records of these pictures, if the file has them.
    fn records(path: &Path, layout: &Layout, numbers: std::ops::Range<u32>) -> Vec<Option<u32>> {
        let FileState::Whole(index) = Index::open(path, layout).unwrap() else { return Vec::new() };
        numbers.map(|number| index.location(&key(number)).map(|location| location.record)).collect()
    }

    #[test]
    fn an_interrupted_run_leaves_what_it_has_kept_and_the_next_goes_on_after_it() {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path(), RESIZE);
        let path = place.path().join("a.records");
        let mut writer = Writer::open(&path, &layout, &mut false).unwrap();
        append(&mut writer, 0..3);
        writer.commit().unwrap();
        // Their records are written, but not their entries.
        append(&mut writer, 3..5);
        drop(writer);
        assert_eq!(records(&path, &layout, 0..5), [Some(0), Some(1), Some(2), None, None]);
        let mut writer = Writer::open(&path, &layout, &mut false).unwrap();
        assert_eq!(writer.index.missing(&[4, 2, 4, 9].map(key)), [0, 3]);
        append(&mut writer, 9..10);
        writer.commit().unwrap();
        assert_eq!(records(&path, &layout, 9..10), [Some(3)]);
    }

    #[test]
    fn records_go_over_several_blocks() {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path(), RESIZE);
        let path = place.path().join("a.records");
        for numbers in [0..5000, 5000..8192, 8192..8193, 8193..20_000] {
            let mut writer = Writer::open(&path, &layout, &mut false).unwrap();
            append(&mut writer, numbers);
            writer.commit().unwrap();
        }
        assert_eq!(records(&path, &layout, 0..20_000), (0..20_000).map(Some).collect::<Vec<_>>());
        let bytes = fs::read(&path).unwrap();
        for number in [0, 4095, 4096, 8191, 8192, 19_999_u32] {
            let at = layout.record_offset(number) as usize;
            assert_eq!(bytes[at..at + 2], (number as u16).to_le_bytes());
        }
    }

    #[test]
    fn a_file_that_begins_otherwise_begins_anew_and_one_that_ends_early_keeps_the_rest() {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path(), RESIZE);
        let path = place.path().join("a.records");
        let mut writer = Writer::open(&path, &layout, &mut false).unwrap();
        append(&mut writer, 0..3);
        writer.commit().unwrap();
        drop(writer);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(records(&path, &layout, 0..3), [Some(0), Some(1), None]);
        for begun in [&b"SIM"[..], b"other"] {
            fs::write(&path, begun).unwrap();
            let mut writer = Writer::open(&path, &layout, &mut false).unwrap();
            append(&mut writer, 7..8);
            writer.commit().unwrap();
            assert_eq!(records(&path, &layout, 7..8), [Some(0)]);
        }
    }

    #[test]
    fn a_second_writer_waits_and_readers_do_not() {
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path(), RESIZE);
        let path = place.path().join("a.records");
        let mut first = Writer::open(&path, &layout, &mut false).unwrap();
        append(&mut first, 0..1);
        first.commit().unwrap();
        let (sender, receiver) = channel();
        thread::scope(|scope| {
            let (layout, path) = (&layout, &path);
            scope.spawn(move || {
                let mut second = Writer::open(path, layout, &mut false).unwrap();
                sender.send(()).unwrap();
                append(&mut second, 2..3);
                second.commit().unwrap();
            });
            assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err(), "it does not wait");
            assert_eq!(records(path, layout, 0..1), [Some(0)]);
            append(&mut first, 1..2);
            first.commit().unwrap();
            drop(first);
            receiver.recv().unwrap();
        });
        assert_eq!(records(&path, &layout, 0..3), [Some(0), Some(1), Some(2)]);
    }
}
