//! Checks that a file is the one that was written.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// Length and CRC-32C of some bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest {
    pub(crate) bytes: u64,
    pub(crate) crc32c: u32,
}

impl Digest {
    /// The digest of some bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::default().followed_by(bytes)
    }

    /// The digest of the same bytes followed by further ones.
    pub(crate) fn followed_by(self, bytes: &[u8]) -> Self {
        Self { bytes: self.bytes + bytes.len() as u64, crc32c: crc32c::crc32c_append(self.crc32c, bytes) }
    }

    /// The digest of several things from those of each.
    pub(crate) fn followed_by_that_of(self, other: Self) -> Self {
        self.followed_by(&other.bytes.to_le_bytes()).followed_by(&other.crc32c.to_le_bytes())
    }

    /// Reads a file with this digest.
    ///
    /// # Errors
    /// If the file is missing, cannot be read, or has another digest.
    pub(crate) fn read(self, path: &Path) -> Result<Vec<u8>> {
        let file = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                anyhow::bail!("{} is missing; {REMEDY}", path.display())
            }
            metadata => metadata.with_context(|| format!("cannot read {}", path.display()))?,
        };
        anyhow::ensure!(file.is_file(), "cannot read {}: it is not a file", path.display());
        // A file of another length is not read, because it may not fit into memory.
        let has_length = file.len() == self.bytes;
        let read = if has_length { fs::read(path) } else { Ok(Vec::new()) };
        let bytes = read.with_context(|| format!("cannot read {}", path.display()))?;
        anyhow::ensure!(
            has_length && Self::of(&bytes) == self,
            "{} is damaged: it is not the file that the run wrote; {REMEDY}",
            path.display()
        );
        Ok(bytes)
    }
}

/// The remedy for a missing or damaged file without which a run cannot resume.
pub(crate) const REMEDY: &str = "put it back from a copy, or begin the run again in another folder";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_grows_with_its_file_and_sees_one_bit() {
        let whole = Digest::of(b"one two");
        assert_eq!(Digest::of(b"one").followed_by(b" two"), whole);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        assert!(whole.read(&path).unwrap_err().to_string().contains("missing"));
        fs::write(&path, b"one two").unwrap();
        assert_eq!(whole.read(&path).unwrap(), b"one two");
        fs::write(&path, b"one twp").unwrap();
        assert!(whole.read(&path).unwrap_err().to_string().contains("damaged"));
    }
}
