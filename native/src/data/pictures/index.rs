//! The pictures that a file of records holds.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use super::layout::{BLOCK, ENTRY, Entry, Key, Layout};
use crate::positioned::read_at;

/// A file with its entries.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) file: File,
    places: HashMap<Key, Place>,
    /// The record after the last one.
    pub(super) end: u32,
}

/// The record of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub(super) record: u32,
    /// As in its [`Entry`].
    pub(super) stretch: f32,
}

/// The result of a look-up.
#[derive(Debug)]
pub(super) enum Found {
    Whole(Index),
    Nothing,
    /// A file with another header.
    Damaged,
}

impl Index {
    /// Reads the entries of a file, and no record.
    ///
    /// # Errors
    /// If its beginning cannot be read.
    pub(super) fn open(path: &Path, layout: &Layout) -> io::Result<Found> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            file => file?,
        };
        let length = file.metadata()?.len();
        let mut header = Vec::new();
        file.by_ref().take(layout.header.len() as u64).read_to_end(&mut header)?;
        if header != layout.header {
            // A run that was killed may have written a part of it.
            let is_begun = layout.header.starts_with(&header);
            return Ok(if is_begun { Found::Nothing } else { Found::Damaged });
        }
        let (places, end) = entries(&file, length, layout);
        Ok(Found::Whole(Self { file, places, end }))
    }

    /// The record of a picture.
    pub(super) fn place(&self, key: &Key) -> Option<Place> {
        self.places.get(key).copied()
    }

    /// The numbers of the pictures that it does not hold; of equal ones the first.
    pub(super) fn missing(&self, keys: &[Key]) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut is_missing = |key: Key| !self.places.contains_key(&key) && seen.insert(key);
        (0..).zip(keys).filter(|(_, key)| is_missing(**key)).map(|(at, _)| at).collect()
    }
}

/// The entries whose records lie within the file, and the record after the last of them.
fn entries(file: &File, length: u64, layout: &Layout) -> (HashMap<Key, Place>, u32) {
    let (mut places, mut end) = (HashMap::new(), 0);
    let blocks = (0..=u32::MAX / BLOCK).map(|block| block * BLOCK);
    for first in blocks.take_while(|&first| layout.entry(first) < length) {
        let most = (length - layout.entry(first)).min(u64::from(BLOCK) * ENTRY as u64) as usize;
        let mut bytes = vec![0; most];
        if read_at(file, &mut bytes, layout.entry(first)).is_err() {
            // Its pictures are decoded again, into records after all others.
            end = first.saturating_add(BLOCK);
            continue;
        }
        for (record, entry) in (first..).zip(bytes.chunks_exact(ENTRY)) {
            let Some(Entry { key, stretch }) = Entry::parse(entry) else { continue };
            if layout.record(record) + layout.stride() <= length {
                places.insert(key, Place { record, stretch });
                end = record.saturating_add(1);
            }
        }
    }
    (places, end)
}
