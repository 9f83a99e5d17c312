//! MNIST's four files: official names with a dash or a dot, plain or gzipped.

use std::path::{Path, PathBuf};

use simile_core::data::Dataset;
use simile_core::data::formats::idx;

use crate::data::check_report::{FileCheck, FileReport};
use crate::data::error::{DataError, Result};
use crate::data::files::digest::md5;
use crate::data::files::{self, content, folders, is_gzip, unpack};
use crate::data::source::{About, Arrays, Download};

/// The published files.
pub(in crate::data) const ABOUT: About = About {
    files: "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte; each \
            plain or .gz",
    classes: "10 digits; 60,000 images to train on, 10,000 to test",
    attributes: "",
    home: "http://yann.lecun.com/exdb/mnist/",
    licence: "CC BY-SA 3.0",
    get: "fetched from PyTorch's mirror, as the authors' own server no longer answers",
    downloads: &[
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz",
            OFFICIAL[0].archive,
            "mnist",
        ),
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/train-labels-idx1-ubyte.gz",
            OFFICIAL[1].archive,
            "mnist",
        ),
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz",
            OFFICIAL[2].archive,
            "mnist",
        ),
        Download::packed(
            "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-labels-idx1-ubyte.gz",
            OFFICIAL[3].archive,
            "mnist",
        ),
    ],
    ..About::NOTHING
};

/// An official file: its name, and the MD5 of the archive and of its content.
pub(in crate::data) struct OfficialFile {
    pub(in crate::data) name: &'static str,
    pub(in crate::data) archive: &'static str,
    pub(in crate::data) content: &'static str,
}

/// Training images, training labels, test images, test labels.
pub(in crate::data) const OFFICIAL: [OfficialFile; 4] = [
    OfficialFile {
        name: "train-images-idx3-ubyte",
        archive: "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        content: "6bbc9ace898e44ae57da46a324031adb",
    },
    OfficialFile {
        name: "train-labels-idx1-ubyte",
        archive: "d53e105ee54ea40749a09fcbcd1e9432",
        content: "a25bea736e30d166cdddb491f175f624",
    },
    OfficialFile {
        name: "t10k-images-idx3-ubyte",
        archive: "9fb629c4189551a2d022fa330f9573f3",
        content: "2646ac647ad5339dbf082846283269ea",
    },
    OfficialFile {
        name: "t10k-labels-idx1-ubyte",
        archive: "ec29112dd5afa0611ce80d1b7f02629c",
        content: "27ae3e4e09519cfbb04c329615203637",
    },
];

/// Side of the digits.
pub(in crate::data) const SIDE: usize = 28;

/// The sub-folders in which the four files may lie; the last is that of torchvision.
const INNER: [&str; 3] = ["mnist", "MNIST", "MNIST/raw"];

/// The file of each entry of [`OFFICIAL`], if it is present.
fn locate(folder: &Path) -> Result<[Option<PathBuf>; 4]> {
    let folders = folders(folder, &INNER)?;
    Ok(OFFICIAL.map(|file| {
        let dotted = file.name.replacen("-idx", ".idx", 1);
        files::find(&folders, &[file.name.into(), dotted])
    }))
}

/// Reads both splits, grey digits of 28x28, from a folder or its sub-folder `mnist`.
///
/// # Errors
/// Names every file that is missing, or the first that is unreadable or corrupt.
pub(in crate::data) fn read(folder: &Path) -> Result<Arrays> {
    let [train_images, train_labels, test_images, test_labels] = four_files(folder)?;
    let (train, test) = (pair(&train_images, &train_labels)?, pair(&test_images, &test_labels)?);
    Ok(Arrays { train, test, absent: Vec::new() })
}

/// Checks that the four files are present.
///
/// # Errors
/// Names every file that is missing.
pub(in crate::data) fn find(folder: &Path) -> Result<()> {
    four_files(folder).map(drop)
}

/// The four files.
///
/// # Errors
/// Names every file that is missing.
fn four_files(folder: &Path) -> Result<[PathBuf; 4]> {
    let [Some(train_images), Some(train_labels), Some(test_images), Some(test_labels)] = locate(folder)?
    else {
        let paths = locate(folder)?;
        let missing = OFFICIAL.iter().zip(&paths).filter(|(_, path)| path.is_none());
        let missing = missing.map(|(file, _)| format!("{} (plain or .gz)", file.name)).collect();
        return Err(DataError::Missing { folder: folder.into(), missing });
    };
    Ok([train_images, train_labels, test_images, test_labels])
}

fn pair(images: &Path, labels: &Path) -> Result<Dataset> {
    let names = [images, labels].map(|path| path.display().to_string());
    let dataset = idx::digits((&content(images)?, &names[0]), (&content(labels)?, &names[1]))?;
    Ok(dataset)
}

/// The state of each file.
///
/// # Errors
/// If `folder` is not a folder.
pub(in crate::data) fn check(folder: &Path) -> Result<Vec<FileReport>> {
    let paths = locate(folder)?;
    let files = OFFICIAL.iter().zip(paths).map(|(official, path)| {
        let state = path.as_deref().map_or(FileCheck::Missing, |path| state(path, official));
        FileReport { name: official.name.into(), path, state }
    });
    Ok(files.collect())
}

fn state(path: &Path, official: &OfficialFile) -> FileCheck {
    let examine = || -> Result<FileCheck> {
        let bytes = files::read(path)?;
        let archive = if is_gzip(path) { md5(&bytes) } else { String::new() };
        if archive == official.archive {
            return Ok(FileCheck::Official { md5: archive });
        }
        let bytes = unpack(path, bytes)?;
        let content = md5(&bytes);
        if content == official.content {
            return Ok(FileCheck::Official { md5: content });
        }
        let origin = path.display().to_string();
        let count = match official.name.contains("images") {
            true => idx::images(&bytes, &origin)?.len(),
            false => idx::labels(&bytes, 10, &origin)?.len(),
        };
        let expected = official.content;
        let detail =
            format!("{count} entries, but its content has MD5 {content}, the official one {expected}");
        Ok(FileCheck::WellFormed { detail })
    };
    examine().unwrap_or_else(|error| FileCheck::Corrupt { reason: error.to_string() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(in crate::data) mod tests {
    use super::*;
    use std::fs;

    /// Four small files of the official layout: `n` digits of 28x28 in each split.
    pub(in crate::data) fn write_small(folder: &Path, n: u32) {
        for file in &OFFICIAL {
            let mut bytes = vec![0, 0, 8, if file.name.contains("images") { 3 } else { 1 }];
            bytes.extend(n.to_be_bytes());
            if file.name.contains("images") {
                bytes.extend([28_u32.to_be_bytes(); 2].concat());
                bytes.extend((0..n * 784).map(|v| (v % 251) as u8));
            } else {
                bytes.extend((0..n).map(|v| (v % 10) as u8));
            }
            fs::write(folder.join(file.name), bytes).unwrap();
        }
    }

    /// A folder of `tests/data`: `mnist`, the first digits of both splits, or `mnist-labels`, two official files whole.
    pub(in crate::data) fn real(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name)
    }

    #[test]
    fn the_real_files_are_read() {
        let folder = real("mnist");
        let Arrays { train, test, .. } = read(&folder).unwrap();
        // Counts computed with NumPy.
        assert_eq!(train.class_counts(), [97, 116, 99, 93, 105, 92, 94, 117, 87, 100]);
        assert_eq!(test.class_counts(), [42, 67, 55, 45, 55, 50, 43, 49, 40, 54]);
        assert_eq!((&train.labels[..5], &test.labels[..5]), (&[5, 0, 4, 1, 9][..], &[7, 2, 1, 0, 4][..]));
        let sum = |split: &Dataset| {
            split.images.in_memory().unwrap().pixels.iter().map(|&v| u64::from(v)).sum::<u64>()
        };
        assert_eq!((sum(&train), sum(&test)), (25_637_533, 12_054_721));
        assert_eq!(read(folder.parent().unwrap()).unwrap().test, test);
    }

    #[test]
    fn both_spellings_and_a_sub_folder_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("mnist");
        fs::create_dir(&inner).unwrap();
        write_small(&inner, 12);
        fs::rename(inner.join("train-images-idx3-ubyte"), inner.join("train-images.idx3-ubyte")).unwrap();
        let mnist = read(folder.path()).unwrap();
        assert_eq!((mnist.train.len(), mnist.test.labels[11]), (12, 1));
    }

    #[test]
    fn every_missing_file_is_named_and_so_is_a_corrupt_one() {
        let folder = tempfile::tempdir().unwrap();
        let text = || read(folder.path()).unwrap_err().to_string();
        write_small(folder.path(), 3);
        fs::remove_file(folder.path().join("train-labels-idx1-ubyte")).unwrap();
        fs::remove_file(folder.path().join("t10k-images-idx3-ubyte")).unwrap();
        let error = text();
        assert!(
            error.contains("train-labels-idx1-ubyte") && error.contains("t10k-images-idx3-ubyte"),
            "{error}"
        );
        assert!(!error.contains("train-images"), "{error}");
        write_small(folder.path(), 3);
        let images = folder.path().join("train-images-idx3-ubyte");
        let bytes = fs::read(&images).unwrap();
        fs::write(&images, &bytes[..bytes.len() - 100]).unwrap();
        let error = text();
        assert!(error.contains("train-images-idx3-ubyte: 2268 bytes, expected 2368"), "{error}");
        let error = read(&folder.path().join("absent")).unwrap_err().to_string();
        assert!(error.contains("is not a folder"), "{error}");
    }
}
