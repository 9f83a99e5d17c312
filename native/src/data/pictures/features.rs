//! Features of another network in a file of the data folder.

use std::fs;
use std::path::Path;

use simile_core::data::formats::features::ListedFeatures;
use simile_core::data::formats::lines::Text;

use crate::data::error::{DataError, Result};
use crate::data::files::numbers::check_memory;
use crate::data::files::{content, is_gzip};
use crate::data::keys::values::FeaturesSection;

/// The remedy where features take more memory than is free.
const REMEDY: &str = "keep fewer columns in it, such as those of a principal component analysis, or the rows of fewer pictures";

/// Reads the two files of `[data.features]` in `free` bytes of memory.
///
/// # Errors
/// If one is missing, damaged or of another form, they do not belong together, or the features take more memory.
pub(crate) fn read_features(section: &FeaturesSection, folder: &Path, free: u64) -> Result<ListedFeatures> {
    let (file, list) = (folder.join(&section.file), folder.join(&section.paths));
    check_memory(&file, free, REMEDY)?;
    let (bytes, paths) = (whole(&file)?, whole(&list)?);
    let (origin, name) = (file.display().to_string(), list.display().to_string());
    Ok(ListedFeatures::parse(&bytes, &origin, &Text::new(&String::from_utf8_lossy(&paths), &name))?)
}

/// The content of a file of any size, unless it is packed: features of many pictures are larger than any file of a known data set.
fn whole(path: &Path) -> Result<Vec<u8>> {
    if !is_gzip(path) {
        return fs::read(path).map_err(|source| DataError::Read { path: path.into(), source });
    }
    content(path).map_err(|error| match error {
        DataError::TooLarge { path, limit } => DataError::LargeFeatures { path, limit },
        error => error,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn features_that_memory_cannot_hold_are_refused_before_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        // It would be refused for the number of its bytes, if it were read.
        let header =
            b"\x93NUMPY\x01\x00\x40\x00{'descr': '<f4', 'fortran_order': False, 'shape': (200, 1), }";
        let mut file = header.to_vec();
        file.resize(1000, 0);
        fs::write(folder.path().join("clip.npy"), file).unwrap();
        fs::write(folder.path().join("paths.txt"), "a/0.png\n").unwrap();
        let section =
            FeaturesSection { file: "clip.npy".into(), paths: "paths.txt".into(), name: "clip".into() };
        let error = |free| read_features(&section, folder.path(), free).unwrap_err().to_string();
        assert!(error(2599).contains("clip.npy needs 3 kB of memory"), "{}", error(2599));
        assert!(error(2599).contains("keep fewer columns"), "{}", error(2599));
        assert!(!error(2600).contains("of memory"), "{}", error(2600));
    }

    #[test]
    fn a_list_may_begin_with_a_byte_order_mark() {
        let folder = tempfile::tempdir().unwrap();
        let array =
            b"\x93NUMPY\x01\x00\x3c\x00{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }\n\x07\x09";
        fs::write(folder.path().join("clip.npy"), array).unwrap();
        fs::write(folder.path().join("paths.txt"), "\u{feff}0.png\r\n").unwrap();
        let section =
            FeaturesSection { file: "clip.npy".into(), paths: "paths.txt".into(), name: "clip".into() };
        let files = ["0.png".to_owned()];
        let features = read_features(&section, folder.path(), u64::MAX).unwrap().among(&files).unwrap();
        assert_eq!(features.of(&files).unwrap().unwrap().data(), [7.0, 9.0]);
    }

    #[test]
    fn packed_features_that_are_too_large_are_to_be_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clip.npy.gz");
        // A member of the archive is a mebibyte of zeros; 257 are more than the 256 that are unpacked.
        let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        member.write_all(&vec![0; 1 << 20]).unwrap();
        fs::write(&path, member.finish().unwrap().repeat(257)).unwrap();
        let error = whole(&path).unwrap_err().to_string();
        assert!(error.contains("clip.npy.gz") && error.contains("unpack it"), "{error}");
    }
}
