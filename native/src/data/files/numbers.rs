//! The memory that a file of numbers takes while it is read as a whole.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::data::error::{DataError, Result};

/// Bytes at the beginning of a file in which the type of its numbers stands.
const BEGINNING: u64 = 4096;
/// Types of numbers as `.npy` and `.safetensors` write them, with the bytes of a number; two for `uint8`, of which readers of vectors
/// hold half as much.
const TYPES: [(&str, u64); 12] = [
    ("'|u1'", 2),
    ("'|i1'", 1),
    ("'<f2'", 2),
    ("'<i2'", 2),
    ("'<u2'", 2),
    ("'<f4'", 4),
    ("'<i4'", 4),
    ("'<u4'", 4),
    ("\"F16\"", 2),
    ("\"BF16\"", 2),
    ("\"F32\"", 4),
    ("\"F64\"", 8),
];
/// Bytes of a number of any other type: most of them, so that no file is refused that fits.
const WIDEST: u64 = 8;
/// Bytes of a number in memory: all readers hold it twice in `f64`, and some the bytes of the file as well.
const HELD: u64 = 2 * size_of::<f64>() as u64;

/// Checks that a `.npy` or `.safetensors` file can be read in `free` bytes of memory, before it is. `remedy` says what to do if it
/// cannot. The estimate is a lower bound. A file that cannot be opened is left to its reader.
///
/// # Errors
/// [`DataError::Memory`] if the file takes more.
pub(crate) fn check_memory(path: &Path, free: u64, remedy: &'static str) -> Result<()> {
    match needed(path) {
        Ok(bytes) if bytes > free => Err(DataError::Memory { path: path.into(), bytes, free, remedy }),
        _ => Ok(()),
    }
}

/// The bytes of memory that a file takes while it is read.
fn needed(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut beginning = Vec::new();
    file.take(BEGINNING).read_to_end(&mut beginning)?;
    let beginning = String::from_utf8_lossy(&beginning);
    let width = TYPES.iter().find(|(name, _)| beginning.contains(name)).map_or(WIDEST, |(_, width)| *width);
    Ok((length / width).saturating_mul(HELD))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_fit_is_named_with_what_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clip.npy");
        let check = |head: &str, free: u64| {
            let numbers = vec![0; 8_000_000 - head.len()];
            std::fs::write(&path, [head.as_bytes(), &numbers].concat()).unwrap();
            check_memory(&path, free, "take fewer").map_err(|error| error.to_string())
        };
        let head = |kind: &str| format!("\u{93}NUMPY {{'descr': '{kind}', 'shape': (2000000, 1)}}");
        for (head, bytes) in [
            (head("<f4"), 32_000_000),
            (head("<f8"), 16_000_000),
            (head("<f2"), 64_000_000),
            ("{\"clip\":{\"dtype\":\"F32\",\"shape\":[2000000,1]}}".to_owned(), 32_000_000),
        ] {
            assert_eq!(check(&head, bytes), Ok(()), "{head}");
            let error = check(&head, bytes - 1).unwrap_err();
            assert!(error.contains("clip.npy takes") && error.contains("; take fewer"), "{error}");
        }
        let error = check(&head("<f4"), 5_000_000).unwrap_err();
        assert!(error.contains("takes 32 MB of memory") && error.contains("5 MB are free"), "{error}");
        assert!(check_memory(&folder.path().join("none.npy"), 0, "").is_ok());
    }
}
