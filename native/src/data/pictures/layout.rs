//! The form of a file of decoded pictures.
//!
//! ```text
//! SIMILE05 {"root":FOLDER,"side":256,...}\n | block | block | ...
//! block     4096 entries | 4096 records
//! entry     key of a picture (16 bytes) | stretch (f32) | CRC-32C of both
//! record    pixels | CRC-32C of key and pixels
//! ```
//!
//! Numbers are little-endian; a CRC-32C is a u32. A file belongs to a folder, a size and a fit, and holds those pictures of
//! the folder that runs have asked for, in that order: splits, subsets and choices of classes share it, and a picture is
//! decoded once. The key of a picture is a digest of its path, size and date, so that a picture that is changed is another
//! one. The place of an entry without a valid checksum is free. A picture that is broken has the stretch 0 and the reason in
//! the place of its pixels, with zeros after it; one that the system does not read has no record.

use std::path::Path;

use md5::{Digest as _, Md5};
use serde::Serialize;

use super::resize::ResizeSpec;
use crate::data::files::digest::hex;

/// The first bytes, with the number of the format. It is raised when the form of files changes, or the way in which pictures
/// are decoded and resized: files of other formats have other names, so that they are not read.
const MAGIC: &str = "SIMILE05";
/// Bytes of a CRC-32C.
pub(super) const CRC: usize = 4;
/// Bytes of an entry.
pub(super) const ENTRY: usize = KEY + size_of::<f32>() + CRC;
/// Entries, and records, of a block.
pub(super) const BLOCK: u32 = 4096;
const KEY: usize = 16;

/// The digest that tells a picture file from others and from its earlier versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; KEY]);

impl Key {
    /// The key of a file, from its path below the folder, its size in bytes and its date in nanoseconds since 1970.
    pub(super) fn of(file: &str, bytes: u64, date: u128) -> Self {
        Self(Md5::digest(format!("{file}\n{bytes} {date}")).into())
    }

    /// The checksum of the record of the picture.
    pub(super) fn sum(self, pixels: &[u8]) -> [u8; CRC] {
        crc32c::crc32c_append(crc32c::crc32c(&self.0), pixels).to_le_bytes()
    }
}

/// An entry: the picture of the record in the same place of the block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// The width of the picture over its height, divided by that of the record; 0 if it cannot be read.
    pub(super) stretch: f32,
}

impl Entry {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = [&self.key.0[..], &self.stretch.to_le_bytes()].concat();
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// An entry of [`ENTRY`] bytes; none if its checksum differs.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (content, sum) = bytes.split_at_checked(ENTRY - CRC)?;
        if crc32c::crc32c(content).to_le_bytes() != sum {
            return None;
        }
        let (key, stretch) = content.split_first_chunk::<KEY>()?;
        Some(Self { key: Key(*key), stretch: f32::from_le_bytes(stretch.try_into().ok()?) })
    }
}

/// The places in a file, which follow from the folder of the pictures and their size.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) header: Vec<u8>,
    pub(super) resize: ResizeSpec,
}

impl Layout {
    pub(super) fn new(root: &Path, resize: ResizeSpec) -> Self {
        #[derive(Serialize)]
        struct Description {
            root: String,
            #[serde(flatten)]
            resize: ResizeSpec,
        }
        let root = root.canonicalize().unwrap_or_else(|_| root.into()).display().to_string();
        let description = serde_json::to_string(&Description { root, resize }).unwrap_or_default();
        Self { header: format!("{MAGIC} {description}\n").into_bytes(), resize }
    }

    /// The name of the file.
    pub(super) fn name(&self) -> String {
        format!("{}.records", hex(&Md5::digest(&self.header)))
    }

    /// Bytes of a record.
    pub(super) fn stride(&self) -> u64 {
        (self.resize.bytes() + CRC) as u64
    }

    /// The place of the block of a record.
    fn block(&self, record: u32) -> u64 {
        let block = u64::from(BLOCK) * (ENTRY as u64 + self.stride());
        self.header.len() as u64 + u64::from(record / BLOCK) * block
    }

    /// The place of an entry.
    pub(super) fn entry(&self, record: u32) -> u64 {
        self.block(record) + u64::from(record % BLOCK) * ENTRY as u64
    }

    /// The place of a record.
    pub(super) fn record(&self, record: u32) -> u64 {
        self.block(record) + u64::from(BLOCK) * ENTRY as u64 + u64::from(record % BLOCK) * self.stride()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::settings::Fit;

    const RESIZE: ResizeSpec = ResizeSpec { side: 2, channels: 1, fit: Fit::Middle };

    #[test]
    fn a_file_is_named_by_folder_size_and_fit_alone() {
        let folder = tempfile::tempdir().unwrap();
        let name = |resize| Layout::new(folder.path(), resize).name();
        let first = name(RESIZE);
        assert_eq!(name(RESIZE), first);
        assert_ne!(name(ResizeSpec { side: 3, ..RESIZE }), first);
        assert_ne!(name(ResizeSpec { channels: 3, ..RESIZE }), first);
        assert_ne!(name(ResizeSpec { fit: Fit::Whole, ..RESIZE }), first);
        assert_ne!(Layout::new(Path::new("/elsewhere"), RESIZE).name(), first);
        let header = String::from_utf8(Layout::new(Path::new("/elsewhere"), RESIZE).header).unwrap();
        let described = "SIMILE05 {\"root\":\"/elsewhere\",\"side\":2,\"channels\":1,\"fit\":\"middle\"}\n";
        assert_eq!(header, described, "files of earlier programs of this format are found by it");
    }

    #[test]
    fn entries_and_records_fill_blocks_without_a_gap() {
        let layout = Layout::new(Path::new("/x"), RESIZE);
        let mut end = layout.header.len() as u64;
        for block in 0..3 {
            for (place, size) in
                [(Layout::entry as fn(&Layout, u32) -> u64, ENTRY as u64), (Layout::record, 8)]
            {
                for record in block * BLOCK..(block + 1) * BLOCK {
                    assert_eq!(place(&layout, record), end);
                    end += size;
                }
            }
        }
    }

    #[test]
    fn an_entry_comes_back_and_damage_to_it_is_noticed() {
        let entry = Entry { key: Key::of("a.png", 3, 4), stretch: 1.5 };
        let bytes = entry.to_bytes();
        assert_eq!((bytes.len(), Entry::parse(&bytes)), (ENTRY, Some(entry)));
        for at in 0..ENTRY {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            assert_eq!(Entry::parse(&bytes), None);
        }
        assert_eq!(Entry::parse(&[0; ENTRY]), None, "a place that was never written is free");
    }
}
