//! The bytes of a file of records, and the offsets at which they lie. [`cache`](super::cache) describes the form.

use std::path::Path;

use md5::{Digest as _, Md5};
use serde::Serialize;

use super::resize::ResizeSpec;
use crate::data::files::digest::hex;

/// The first bytes, with the number of the format. It is raised when the form of files changes, or the way in which pictures
/// are decoded and resized: files of other formats have other names, so that they are not read.
const MAGIC: &str = "SIMILE05";
/// Entries of a block, and records of one.
pub(super) const BLOCK_RECORDS: u32 = 4096;
const KEY_BYTES: usize = 16;
pub(super) const CRC_BYTES: usize = 4;
pub(super) const ENTRY_BYTES: usize = KEY_BYTES + size_of::<f32>() + CRC_BYTES;
/// The stretch of a picture that cannot be read.
pub(super) const BROKEN_STRETCH: f32 = 0.0;

/// The digest that tells a picture file from others and from its earlier versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    /// The key of a file, from its path below the folder, its size in bytes and its date in nanoseconds since 1970.
    pub(super) fn of(file: &str, bytes: u64, date: u128) -> Self {
        Self(Md5::digest(format!("{file}\n{bytes} {date}")).into())
    }

    /// The checksum of the record of the picture. It covers the key too, so that the record of another picture does not pass.
    pub(super) fn checksum_of(self, pixels: &[u8]) -> [u8; CRC_BYTES] {
        crc32c::crc32c_append(crc32c::crc32c(&self.0), pixels).to_le_bytes()
    }
}

/// An entry: the picture in the record of the same number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// The width of the picture over its height, divided by that of the record; [`BROKEN_STRETCH`] if it cannot be read.
    pub(super) stretch: f32,
}

impl Entry {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = [&self.key.0[..], &self.stretch.to_le_bytes()].concat();
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// An entry of [`ENTRY_BYTES`] bytes; none if its checksum differs.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (content, sum) = bytes.split_at_checked(ENTRY_BYTES - CRC_BYTES)?;
        if crc32c::crc32c(content).to_le_bytes() != sum {
            return None;
        }
        let (key, stretch) = content.split_first_chunk::<KEY_BYTES>()?;
        Some(Self { key: Key(*key), stretch: f32::from_le_bytes(stretch.try_into().ok()?) })
    }
}

/// The header of a file, and the offsets of its entries and records, which follow from the folder of the pictures and their size.
/// Records are numbered over all blocks, from 0.
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
    pub(super) fn file_name(&self) -> String {
        format!("{}.records", hex(&Md5::digest(&self.header)))
    }

    /// Bytes of a record: its pixels and its checksum.
    pub(super) fn record_bytes(&self) -> u64 {
        (self.resize.bytes() + CRC_BYTES) as u64
    }

    /// The offset of the block that has a record.
    fn block_offset(&self, record: u32) -> u64 {
        let block_bytes = u64::from(BLOCK_RECORDS) * (ENTRY_BYTES as u64 + self.record_bytes());
        self.header.len() as u64 + u64::from(record / BLOCK_RECORDS) * block_bytes
    }

    /// The offset of the entry of a record.
    pub(super) fn entry_offset(&self, record: u32) -> u64 {
        self.block_offset(record) + u64::from(record % BLOCK_RECORDS) * ENTRY_BYTES as u64
    }

    /// The offset of a record, which lies after all entries of its block.
    pub(super) fn record_offset(&self, record: u32) -> u64 {
        let entries_bytes = u64::from(BLOCK_RECORDS) * ENTRY_BYTES as u64;
        self.block_offset(record) + entries_bytes + u64::from(record % BLOCK_RECORDS) * self.record_bytes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::keys::values::Fit;

    const RESIZE: ResizeSpec = ResizeSpec { side: 2, channels: 1, fit: Fit::Middle };

    #[test]
    fn a_file_is_named_by_folder_size_and_fit_alone() {
        let folder = tempfile::tempdir().unwrap();
        let name = |resize| Layout::new(folder.path(), resize).file_name();
        let first = name(RESIZE);
        assert_eq!(name(RESIZE), first);
        assert_ne!(name(ResizeSpec { side: 3, ..RESIZE }), first);
        assert_ne!(name(ResizeSpec { channels: 3, ..RESIZE }), first);
        assert_ne!(name(ResizeSpec { fit: Fit::Whole, ..RESIZE }), first);
        assert_ne!(Layout::new(Path::new("/elsewhere"), RESIZE).file_name(), first);
        let header = String::from_utf8(Layout::new(Path::new("/elsewhere"), RESIZE).header).unwrap();
        let described = "SIMILE05 {\"root\":\"/elsewhere\",\"side\":2,\"channels\":1,\"fit\":\"middle\"}\n";
        assert_eq!(header, described, "files of earlier programs of this format are found by it");
    }

    #[test]
    fn entries_and_records_fill_blocks_without_a_gap() {
        let layout = Layout::new(Path::new("/x"), RESIZE);
        let mut end = layout.header.len() as u64;
        for block in 0..3 {
            for (place, size) in [
                (Layout::entry_offset as fn(&Layout, u32) -> u64, ENTRY_BYTES as u64),
                (Layout::record_offset, 8),
            ] {
                for record in block * BLOCK_RECORDS..(block + 1) * BLOCK_RECORDS {
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
        assert_eq!((bytes.len(), Entry::parse(&bytes)), (ENTRY_BYTES, Some(entry)));
        for at in 0..ENTRY_BYTES {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            assert_eq!(Entry::parse(&bytes), None);
        }
        assert_eq!(Entry::parse(&[0; ENTRY_BYTES]), None, "a place that was never written is free");
    }
}
