//! CIFAR-10 and CIFAR-100 in their binary versions, as unpacked from the official archives.

use std::path::{Path, PathBuf};

use simile_core::dataset::Dataset;
use simile_core::dataset::cifar::{Cifar, names, parse};

use super::file::{content, find, folders};
use super::{DataError, Result};

/// Colour images, 32x32, both splits.
#[derive(Debug)]
pub(crate) struct CifarSplits {
    pub(crate) train: Dataset,
    pub(crate) test: Dataset,
    /// Training files that are not there: the training split is that much smaller than the official one.
    pub(crate) missing: Vec<String>,
}

/// The files of one of the two data sets.
pub(super) struct Files {
    pub(super) train: &'static [&'static str],
    pub(super) test: &'static str,
    pub(super) classes: &'static str,
    pub(super) groups: Option<&'static str>,
    inner: &'static [&'static str],
}

impl Files {
    pub(super) fn of(cifar: Cifar) -> Self {
        match cifar {
            Cifar::Ten => Self {
                train: &[
                    "data_batch_1.bin",
                    "data_batch_2.bin",
                    "data_batch_3.bin",
                    "data_batch_4.bin",
                    "data_batch_5.bin",
                ],
                test: "test_batch.bin",
                classes: "batches.meta.txt",
                groups: None,
                inner: &["cifar-10-batches-bin", "cifar-10/cifar-10-batches-bin"],
            },
            Cifar::Hundred => Self {
                train: &["train.bin"],
                test: "test.bin",
                classes: "fine_label_names.txt",
                groups: Some("coarse_label_names.txt"),
                inner: &["cifar-100-binary", "cifar-100/cifar-100-binary"],
            },
        }
    }

    /// Every file of the data set.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.train.iter().copied().chain([self.test, self.classes]).chain(self.groups)
    }

    /// Where files of the data set may lie.
    pub(super) fn folders(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        folders(folder, self.inner)
    }
}

/// Reads both splits from a folder, or from the sub-folder that the official archive makes. Training batches that
/// are absent are listed in [`CifarSplits::missing`]; one at least must be there.
///
/// # Errors
/// Names every file that is needed and missing, or the first that is unreadable or corrupt.
pub(crate) fn load_cifar(cifar: Cifar, folder: &Path) -> Result<CifarSplits> {
    let files = Files::of(cifar);
    let folders = files.folders(folder)?;
    let locate = |name: &str| find(&folders, &[name.into()]);
    let missing_train: Vec<String> =
        files.train.iter().filter(|name| locate(name).is_none()).map(|name| String::from(*name)).collect();
    let needed =
        [files.test, files.classes].into_iter().chain(files.groups).filter(|name| locate(name).is_none());
    let mut missing: Vec<String> = needed.map(String::from).collect();
    if missing_train.len() == files.train.len() {
        missing.splice(0..0, missing_train.iter().cloned());
    }
    if !missing.is_empty() {
        return Err(DataError::Missing { folder: folder.into(), missing });
    }
    let list = |name: Option<&str>| match name.and_then(locate) {
        Some(path) => Ok(names(&String::from_utf8_lossy(&content(&path)?))),
        None => Ok::<_, DataError>(Vec::new()),
    };
    let (classes, groups) = (list(Some(files.classes))?, list(files.groups)?);
    let split = |names: &[&str]| -> Result<Dataset> {
        let paths: Vec<PathBuf> = names.iter().filter_map(|name| locate(name)).collect();
        let contents = paths.iter().map(|path| content(path)).collect::<Result<Vec<_>>>()?;
        let origins: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let parts: Vec<(&[u8], &str)> =
            contents.iter().map(Vec::as_slice).zip(origins.iter().map(String::as_str)).collect();
        Ok(parse(cifar, &parts, classes.clone(), groups.clone())?)
    };
    Ok(CifarSplits { train: split(files.train)?, test: split(&[files.test])?, missing: missing_train })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::mnist::tests::shared;
    use super::*;
    use std::fs;

    #[test]
    fn the_real_batches_are_read() {
        let Some(folder) = shared("cifar-10") else { return };
        let cifar = load_cifar(Cifar::Ten, &folder).unwrap();
        assert_eq!(cifar.train.len(), 10_000 * (5 - cifar.missing.len()));
        assert_eq!(cifar.test.class_counts(), [1000; 10]);
        assert_eq!(cifar.test.classes[..3], ["airplane", "automobile", "bird"]);
        // The first test image is a cat; the mean over the test set of red is 0.4942.
        assert_eq!(cifar.test.labels[..4], [3, 8, 8, 0]);
        let red: u64 = cifar.test.images.pixels.iter().step_by(3).map(|&v| u64::from(v)).sum();
        assert!((red as f64 / 255.0 / (10_000.0 * 1024.0) - 0.4942).abs() < 1e-4);
    }

    #[test]
    fn missing_files_are_named_and_absent_batches_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("cifar-10-batches-bin");
        fs::create_dir(&inner).unwrap();
        let error = load_cifar(Cifar::Ten, folder.path()).unwrap_err().to_string();
        assert!(error.contains("data_batch_5.bin") && error.contains("batches.meta.txt"), "{error}");
        let record: Vec<u8> = std::iter::once(4).chain([9; 3072]).collect();
        fs::write(inner.join("data_batch_2.bin"), &record).unwrap();
        fs::write(inner.join("test_batch.bin"), &record).unwrap();
        fs::write(inner.join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
        let cifar = load_cifar(Cifar::Ten, folder.path()).unwrap();
        assert_eq!((cifar.train.len(), cifar.missing.len()), (1, 4));
        fs::write(inner.join("test_batch.bin"), &record[..3000]).unwrap();
        let error = load_cifar(Cifar::Ten, folder.path()).unwrap_err().to_string();
        assert!(error.contains("test_batch.bin: 3000 bytes"), "{error}");
    }
}
