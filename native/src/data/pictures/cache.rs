//! The cache of decoded and resized pictures on the disk.
//!
//! An entry is one file, named by a digest of everything that determines its content: the folder, the path, size and
//! date of every picture, the requested size, and the version of this program. Its last 16 bytes are the MD5 of all
//! before them.
//!
//! ```text
//! SIMILE01 | length of header (u64, little-endian) | header (JSON) | pixels | MD5
//! ```

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use md5::{Digest as _, Md5};
use serde::{Deserialize, Serialize};

use super::resize::ResizeSpec;
use crate::data::files::digest::hex;

const MAGIC: &[u8; 8] = b"SIMILE01";
const DIGEST: usize = 16;
/// Fewest pictures of an entry: decoding fewer is as quick as looking them up.
const FEWEST: usize = 256;

/// A folder of entries.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

/// The pictures of an entry.
#[derive(Debug, PartialEq)]
pub(super) struct Stored {
    /// Pixels of all readable pictures, in order.
    pub(super) pixels: Vec<u8>,
    /// The indices of unreadable pictures, with the reasons.
    pub(super) broken: Vec<(usize, String)>,
}

/// The result of a look-up.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    Stored(Stored),
    Nothing,
    /// A damaged entry: its MD5 differs.
    Damaged,
}

#[derive(Serialize, Deserialize)]
struct Header {
    files: usize,
    #[serde(rename = "framing")]
    resize: ResizeSpec,
    broken: Vec<(usize, String)>,
}

impl Cache {
    /// The cache in a folder, which is created with the first entry.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder named by `SIMILE_CACHE`, none if that is `off`, or `simile` in the user's cache folder.
    pub(crate) fn of_user() -> Option<Self> {
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

    /// The file of an entry; none for fewer pictures than [`FEWEST`].
    pub(super) fn entry(&self, root: &Path, files: &[String], resize: ResizeSpec) -> Option<PathBuf> {
        if files.len() < FEWEST {
            return None;
        }
        let mut digest = Md5::new();
        let root = root.canonicalize().unwrap_or_else(|_| root.into());
        let ResizeSpec { side, channels, fit } = resize;
        // The names of the keys in earlier entries.
        let size = format!("Framing {{ side: {side}, channels: {channels}, fit: {fit:?} }}");
        digest.update(format!("{} {} {size}\n", env!("CARGO_PKG_VERSION"), root.display()));
        for file in files {
            let known = fs::metadata(root.join(file)).ok();
            let size = known.as_ref().map_or(0, fs::Metadata::len);
            let date = known.and_then(|known| known.modified().ok()?.duration_since(UNIX_EPOCH).ok());
            digest.update(format!("{file}\n{size} {}\n", date.map_or(0, |date| date.as_nanos())));
        }
        Some(self.folder.join(format!("{}.pictures", hex(&digest.finalize()))))
    }

    /// Reads an entry.
    pub(super) fn load(entry: &Path, files: usize, resize: ResizeSpec) -> Found {
        let Ok(bytes) = fs::read(entry) else { return Found::Nothing };
        parse(bytes, files, resize).map_or(Found::Damaged, Found::Stored)
    }

    /// Writes an entry beside its name and renames it, so that no incomplete entry exists.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub(super) fn store(
        &self,
        entry: &Path,
        files: usize,
        resize: ResizeSpec,
        stored: &Stored,
    ) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let header = serde_json::to_vec(&Header { files, resize, broken: stored.broken.clone() })?;
        let length = (header.len() as u64).to_le_bytes();
        let mut digest = Md5::new();
        let mut file = BufWriter::new(tempfile::NamedTempFile::new_in(&self.folder)?);
        for part in [&MAGIC[..], &length, &header, &stored.pixels] {
            digest.update(part);
            file.write_all(part)?;
        }
        file.write_all(&digest.finalize())?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.persist(entry)?;
        Ok(())
    }
}

/// `None` if the bytes are not a whole entry for so many pictures of this size.
fn parse(mut bytes: Vec<u8>, files: usize, resize: ResizeSpec) -> Option<Stored> {
    let content = bytes.len().checked_sub(DIGEST)?;
    let (body, digest) = bytes.split_at(content);
    if Md5::digest(body).as_slice() != digest {
        return None;
    }
    let (length, rest) = body.strip_prefix(MAGIC)?.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let header: Header = serde_json::from_slice(rest.get(..length)?).ok()?;
    let start = MAGIC.len() + 8 + length;
    let expected = (files - header.broken.len().min(files)) * resize.bytes();
    if header.files != files || header.resize != resize || content - start != expected {
        return None;
    }
    bytes.truncate(content);
    bytes.drain(..start);
    Some(Stored { pixels: bytes, broken: header.broken })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::settings::Fit;

    const RESIZE: ResizeSpec = ResizeSpec { side: 2, channels: 1, fit: Fit::Middle };

    #[test]
    fn an_entry_comes_back_and_a_damaged_one_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("deep/cache"));
        let entry = cache.folder.join("a.pictures");
        assert_eq!(Cache::load(&entry, 3, RESIZE), Found::Nothing);
        let broken = vec![(1, "no picture".to_owned())];
        let stored = Stored { pixels: vec![1, 2, 3, 4, 5, 6, 7, 8], broken };
        cache.store(&entry, 3, RESIZE, &stored).unwrap();
        assert_eq!(Cache::load(&entry, 3, RESIZE), Found::Stored(stored));
        assert_eq!(Cache::load(&entry, 4, RESIZE), Found::Damaged);
        let good = fs::read(&entry).unwrap();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            fs::write(&entry, &bytes).unwrap();
            assert_eq!(Cache::load(&entry, 3, RESIZE), Found::Damaged, "byte {at}");
            fs::write(&entry, &good[..at]).unwrap();
            assert_eq!(Cache::load(&entry, 3, RESIZE), Found::Damaged, "{at} bytes");
        }
    }

    #[test]
    fn an_entry_is_named_by_all_that_decides_it() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<String> = (0..FEWEST).map(|i| format!("{i}.png")).collect();
        for file in &files {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        let cache = Cache::new(folder.path().join("cache"));
        let entry = |files: &[String], resize| cache.entry(folder.path(), files, resize).unwrap();
        let first = entry(&files, RESIZE);
        assert_eq!(entry(&files, RESIZE), first);
        assert_ne!(entry(&files, ResizeSpec { side: 3, ..RESIZE }), first);
        assert_ne!(entry(&files, ResizeSpec { fit: Fit::Whole, ..RESIZE }), first);
        fs::write(folder.path().join("7.png"), "longer").unwrap();
        assert_ne!(entry(&files, RESIZE), first);
        assert!(cache.entry(folder.path(), &files[1..], RESIZE).is_none());
    }
}
