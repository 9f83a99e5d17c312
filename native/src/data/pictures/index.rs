//! The pictures that a file of records holds: reads its header and its entries, and no record. [`cache`](super::cache) describes
//! the file.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use super::layout::{BLOCK_RECORDS, ENTRY_BYTES, Entry, Key, Layout};
use crate::positioned::read_at;

/// An open file of records, with its entries.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) file: File,
    locations: HashMap<Key, RecordLocation>,
    /// The number of the next record to write: no entry from this one on is in use.
    pub(super) next_record: u32,
}

/// The number of the record of a picture, and the rest of its entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RecordLocation {
    pub(super) record: u32,
    /// As in its [`Entry`].
    pub(super) stretch: f32,
}

/// The file at a path.
#[derive(Debug)]
pub(super) enum FileState {
    /// A file with the whole header of its layout.
    Whole(Index),
    /// No file, or one that ends within its header, as a run that was killed may leave it.
    Nothing,
    /// A file with another header.
    Damaged,
}

impl Index {
    /// Reads the header and the entries of a file.
    ///
    /// # Errors
    /// If the header cannot be read.
    pub(super) fn open(path: &Path, layout: &Layout) -> io::Result<FileState> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FileState::Nothing),
            file => file?,
        };
        let length = file.metadata()?.len();
        let mut header = Vec::new();
        file.by_ref().take(layout.header.len() as u64).read_to_end(&mut header)?;
        if header != layout.header {
            let is_begun = layout.header.starts_with(&header);
            return Ok(if is_begun { FileState::Nothing } else { FileState::Damaged });
        }
        let (locations, next_record) = read_entries(&file, length, layout);
        Ok(FileState::Whole(Self { file, locations, next_record }))
    }

    /// The location of the record of a picture; none if the file does not hold it.
    pub(super) fn location(&self, key: &Key) -> Option<RecordLocation> {
        self.locations.get(key).copied()
    }

    /// The places in `keys` of the pictures that the file does not hold; of equal pictures the first one alone.
    pub(super) fn missing(&self, keys: &[Key]) -> Vec<usize> {
        let mut listed = HashSet::new();
        let mut is_missing = |key: Key| !self.locations.contains_key(&key) && listed.insert(key);
        (0..).zip(keys).filter(|(_, key)| is_missing(**key)).map(|(at, _)| at).collect()
    }
}

/// The locations of the pictures whose records lie within the file, and the number of the record after the last of them.
fn read_entries(file: &File, length: u64, layout: &Layout) -> (HashMap<Key, RecordLocation>, u32) {
    let (mut locations, mut next_record) = (HashMap::new(), 0);
    let blocks = (0..=u32::MAX / BLOCK_RECORDS).map(|block| block * BLOCK_RECORDS);
    for first in blocks.take_while(|&first| layout.entry_offset(first) < length) {
        let rest = length - layout.entry_offset(first);
        let mut bytes = vec![0; rest.min(u64::from(BLOCK_RECORDS) * ENTRY_BYTES as u64) as usize];
        if read_at(file, &mut bytes, layout.entry_offset(first)).is_err() {
            // The pictures of this block are decoded again, into records after all others.
            next_record = first.saturating_add(BLOCK_RECORDS);
            continue;
        }
        for (record, entry) in (first..).zip(bytes.chunks_exact(ENTRY_BYTES)) {
            // An entry that is free, or damaged.
            let Some(Entry { key, stretch }) = Entry::parse(entry) else { continue };
            // A file that was cut may lack records that have an entry.
            if layout.record_offset(record) + layout.record_bytes() <= length {
                locations.insert(key, RecordLocation { record, stretch });
                next_record = record.saturating_add(1);
            }
        }
    }
    (locations, next_record)
}
