//! Features of another network in a file of the data folder.

use std::fs;
use std::path::Path;

use simile_core::data::formats::features::Listed;
use simile_core::data::formats::lines::Text;

use crate::data::error::{DataError, Result};
use crate::data::files::{content, is_gzip};
use crate::data::settings::FeaturesSection;

/// Reads the two files of `[data.features]`.
///
/// # Errors
/// If one is missing, damaged or of another form, or they do not belong together.
pub(crate) fn read_features(section: &FeaturesSection, folder: &Path) -> Result<Listed> {
    let (file, list) = (folder.join(&section.file), folder.join(&section.paths));
    let (bytes, paths) = (whole(&file)?, whole(&list)?);
    let (origin, name) = (file.display().to_string(), list.display().to_string());
    Ok(Listed::parse(&bytes, &origin, &Text::new(&String::from_utf8_lossy(&paths), &name))?)
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
