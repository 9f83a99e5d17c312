//! The memory that a file of numbers takes while it is read as a whole.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use simile_core::data::formats::features;

use crate::data::error::{DataError, Result};

/// Bytes at the beginning of a file that hold its header.
const BEGINNING: u64 = 4096;

/// Checks that a `.npy` or `.safetensors` file can be read in `free` bytes of memory, before it is. The error gives the `remedy` if it
/// cannot. A file of another kind, or one that cannot be opened, is left to its reader.
///
/// # Errors
/// [`DataError::Memory`] if the file takes more.
pub(crate) fn check_memory(path: &Path, free: u64, remedy: &'static str) -> Result<()> {
    match needed(path) {
        Ok(Some(bytes)) if bytes > free => Err(DataError::Memory { path: path.into(), bytes, free, remedy }),
        _ => Ok(()),
    }
}

/// The bytes of memory that a file takes while it is read: its own, and those of its numbers in `f64`.
fn needed(path: &Path) -> io::Result<Option<u64>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning)?;
    let in_memory = |count: u64| length.saturating_add(count.saturating_mul(size_of::<f64>() as u64));
    Ok(features::count(&beginning).map(in_memory))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_fit_is_named_with_what_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clip.npy");
        let check = |head: &[u8], free: u64| {
            std::fs::write(&path, [head, &vec![0; 8_000_000 - head.len()]].concat()).unwrap();
            check_memory(&path, free, "take fewer").map_err(|error| error.to_string())
        };
        let npy = |kind: &str, rows: u64| {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, 1), }}");
            [b"\x93NUMPY\x01\x00\x4c\x00".as_slice(), format!("{header:75}\n").as_bytes()].concat()
        };
        let tensor = br#"{"clip":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4000000]}}"#;
        let tensor = [&(tensor.len() as u64).to_le_bytes(), tensor.as_slice()].concat();
        for (head, bytes) in [
            (npy("<f4", 2_000_000), 24_000_000),
            (npy("<f8", 1_000_000), 16_000_000),
            (npy("|u1", 8_000_000), 72_000_000),
            (tensor, 16_000_000),
        ] {
            assert_eq!(check(&head, bytes), Ok(()));
            let error = check(&head, bytes - 1).unwrap_err();
            assert!(error.contains("clip.npy needs") && error.contains("; take fewer"), "{error}");
        }
        let error = check(&npy("<f4", 2_000_000), 5_000_000).unwrap_err();
        assert!(error.contains("needs 24 MB of memory") && error.contains("5.0 MB are free"), "{error}");
        assert_eq!(check(b"no header", 0), Ok(()), "its reader refuses it");
        assert!(check_memory(&folder.path().join("none.npy"), 0, "").is_ok());
    }
}
