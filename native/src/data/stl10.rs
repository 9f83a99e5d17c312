//! STL-10 in its binary version: the official archive, or what unpacks from it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use simile_core::data::Dataset;
use simile_core::data::formats::stl10;

use super::archive::members;
use super::cifar::names_of;
use super::file::{LARGEST, content, find, folders};
use super::{DataError, Result};

/// The files that are read; the unlabelled images are not.
pub(super) const FILES: [&str; 5] =
    ["train_X.bin", "train_y.bin", "test_X.bin", "test_y.bin", "class_names.txt"];
const CLASSES: usize = 10;
const ARCHIVE: &str = "stl10_binary.tar.gz";

/// Reads the 5,000 labelled training images and the 8,000 test images.
///
/// # Errors
/// Names every file that is missing, or the first that is unreadable or corrupt.
pub(crate) fn load_stl10(folder: &Path) -> Result<(Dataset, Dataset)> {
    let places = places(folder)?;
    let mut files: HashMap<String, (PathBuf, Vec<u8>)> = HashMap::new();
    for name in FILES {
        if let Some(path) = find(&places, &[name.into()]) {
            let bytes = content(&path)?;
            files.insert(name.into(), (path, bytes));
        }
    }
    let archive = places.iter().map(|place| place.join(ARCHIVE)).find(|path| path.is_file());
    if files.is_empty()
        && let Some(archive) = archive
    {
        let members = members(&archive, &FILES, LARGEST)?.into_iter();
        files = members.map(|(name, bytes)| (name.clone(), (archive.join(name), bytes))).collect();
    }
    let missing: Vec<String> =
        FILES.iter().filter(|name| !files.contains_key(**name)).map(|n| String::from(*n)).collect();
    if !missing.is_empty() {
        return Err(DataError::Missing { folder: folder.into(), missing });
    }
    let empty = (PathBuf::new(), Vec::new());
    let file = |name: &str| files.get(name).unwrap_or(&empty);
    let (path, bytes) = file("class_names.txt");
    let classes = names_of(path, bytes, CLASSES)?;
    let split = |images: &str, labels: &str| {
        let ((of_images, pixels), (of_labels, numbers)) = (file(images), file(labels));
        let origins = [of_images, of_labels].map(|path| path.display().to_string());
        stl10::parse((pixels, &origins[0]), (numbers, &origins[1]), classes.clone())
    };
    Ok((split("train_X.bin", "train_y.bin")?, split("test_X.bin", "test_y.bin")?))
}

/// Whether the archive is there, or its files.
///
/// # Errors
/// Names every file that is missing.
pub(super) fn are_there(folder: &Path) -> Result<()> {
    let places = places(folder)?;
    let absent = |name: &&str| find(&places, &[String::from(*name)]).is_none();
    let missing: Vec<String> = FILES.iter().copied().filter(absent).map(String::from).collect();
    if missing.is_empty() || places.iter().any(|place| place.join(ARCHIVE).is_file()) {
        return Ok(());
    }
    Err(DataError::Missing { folder: folder.into(), missing })
}

fn places(folder: &Path) -> Result<Vec<PathBuf>> {
    folders(folder, &["stl10_binary", "stl-10/stl10_binary", "stl-10"])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::archive::tests::{gzip, tar_of};
    use super::*;
    use std::fs;

    #[test]
    fn files_and_archive_hold_the_same() {
        let (loose, packed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let images = vec![9; 2 * 96 * 96 * 3];
        let contents: [&[u8]; 5] = [&images, &[1, 10], &images, &[3, 3], b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"];
        fs::create_dir(loose.path().join("stl10_binary")).unwrap();
        let named: Vec<String> = FILES.iter().map(|name| format!("stl10_binary/{name}")).collect();
        let mut entries = Vec::new();
        for (name, content) in named.iter().zip(contents) {
            fs::write(loose.path().join(name), content).unwrap();
            entries.push((name.as_str(), tar::EntryType::Regular, content));
        }
        fs::write(packed.path().join(ARCHIVE), gzip(&tar_of(&entries))).unwrap();
        let read = load_stl10(loose.path()).unwrap();
        assert_eq!(read, load_stl10(packed.path()).unwrap());
        assert_eq!((read.0.labels, read.1.labels), (vec![0, 9], vec![2, 2]));
        fs::write(loose.path().join("stl10_binary/test_y.bin"), [3, 11]).unwrap();
        let error = load_stl10(loose.path()).unwrap_err().to_string();
        assert!(error.contains("stl10_binary/test_y.bin: label 11"), "{error}");
        fs::remove_file(loose.path().join("stl10_binary/test_y.bin")).unwrap();
        let error = load_stl10(loose.path()).unwrap_err().to_string();
        assert!(error.contains("lacks test_y.bin"), "{error}");
    }
}
