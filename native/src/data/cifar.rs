//! CIFAR-10 and CIFAR-100 in their binary versions: the official archives, or what unpacks from them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use simile_core::data::Dataset;
use simile_core::data::formats::cifar::{Cifar, names, parse};

use super::archive::members;
use super::file::{LARGEST, content, find, folders};
use super::{DataError, Result};

/// Groups of CIFAR-100's classes.
const GROUPS: usize = 20;

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
    /// The official archive and its MD5.
    pub(super) archive: (&'static str, &'static str),
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
                archive: ("cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530"),
            },
            Cifar::Hundred => Self {
                train: &["train.bin"],
                test: "test.bin",
                classes: "fine_label_names.txt",
                groups: Some("coarse_label_names.txt"),
                inner: &["cifar-100-binary", "cifar-100/cifar-100-binary"],
                archive: ("cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8"),
            },
        }
    }

    /// Every file of the data set.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static str> {
        self.train.iter().copied().chain([self.test, self.classes]).chain(self.groups)
    }

    /// The official archive, if it is there.
    pub(super) fn archive(&self, folder: &Path) -> Option<PathBuf> {
        let name = self.archive.0;
        let short = name.trim_end_matches("-binary.tar.gz");
        [folder.join(name), folder.join(short).join(name)].into_iter().find(|path| path.is_file())
    }

    /// Where files of the data set may lie.
    pub(super) fn folders(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        folders(folder, self.inner)
    }
}

/// Reads both splits from a folder, from the sub-folder that the official archive makes, or from the archive itself.
/// Training batches that are absent are listed in [`CifarSplits::missing`]; one at least must be there.
///
/// # Errors
/// Names every file that is needed and missing, or the first that is unreadable or corrupt.
pub(crate) fn load_cifar(cifar: Cifar, folder: &Path) -> Result<CifarSplits> {
    let files = Files::of(cifar);
    let source = Source::find(&files, folder)?;
    let missing_train: Vec<String> =
        files.train.iter().filter(|name| !source.has(name)).map(|name| String::from(*name)).collect();
    let needed = [files.test, files.classes].into_iter().chain(files.groups).filter(|name| !source.has(name));
    let mut missing: Vec<String> = needed.map(String::from).collect();
    if missing_train.len() == files.train.len() {
        missing.splice(0..0, missing_train.iter().cloned());
    }
    if !missing.is_empty() {
        return Err(DataError::Missing { folder: folder.into(), missing });
    }
    let list = |name: Option<&str>, expected: usize| -> Result<Vec<String>> {
        match name.map(|name| source.read(name)).transpose()?.flatten() {
            Some((origin, bytes)) => names_of(origin.as_ref(), &bytes, expected),
            None => Ok(Vec::new()),
        }
    };
    let classes = list(Some(files.classes), cifar.classes())?;
    let groups = list(files.groups, GROUPS)?;
    let split = |names: &[&str]| -> Result<Dataset> {
        let contents = names.iter().map(|name| source.read(name)).collect::<Result<Vec<_>>>()?;
        let parts: Vec<(&[u8], &str)> =
            contents.iter().flatten().map(|(origin, bytes)| (bytes.as_ref(), origin.as_str())).collect();
        Ok(parse(cifar, &parts, classes.clone(), groups.clone())?)
    };
    Ok(CifarSplits { train: split(files.train)?, test: split(&[files.test])?, missing: missing_train })
}

/// The names in a file, one a line.
///
/// # Errors
/// Names the file if it holds more or fewer.
pub(super) fn names_of(path: &Path, bytes: &[u8], expected: usize) -> Result<Vec<String>> {
    let found = names(&String::from_utf8_lossy(bytes));
    if found.len() == expected {
        return Ok(found);
    }
    let reason = format!("{} names, expected {expected}, one a line; get the file again", found.len());
    Err(DataError::Table { path: path.into(), reason })
}

/// Whether the archive is there, or what is needed of its files.
///
/// # Errors
/// Names every file that is needed and missing.
pub(super) fn are_there(cifar: Cifar, folder: &Path) -> Result<()> {
    let files = Files::of(cifar);
    let places = files.folders(folder)?;
    let absent = |name: &&str| find(&places, &[String::from(*name)]).is_none();
    let train = if files.train.iter().all(absent) { files.train } else { &[] };
    let needed = train.iter().copied().chain([files.test, files.classes]).chain(files.groups);
    let missing: Vec<String> = needed.filter(absent).map(String::from).collect();
    if missing.is_empty() || files.archive(folder).is_some() {
        return Ok(());
    }
    Err(DataError::Missing { folder: folder.into(), missing })
}

/// Where the files are.
enum Source {
    Folders(Vec<PathBuf>),
    Archive(PathBuf, HashMap<String, Vec<u8>>),
}

impl Source {
    /// The archive is only looked into if no batch lies unpacked.
    fn find(files: &Files, folder: &Path) -> Result<Self> {
        let folders = files.folders(folder)?;
        let unpacked =
            files.train.iter().chain([&files.test]).any(|name| find(&folders, &[(*name).into()]).is_some());
        match files.archive(folder).filter(|_| !unpacked) {
            Some(archive) => {
                let names: Vec<&str> = files.all().collect();
                let members = members(&archive, &names, LARGEST)?;
                Ok(Self::Archive(archive, members))
            }
            None => Ok(Self::Folders(folders)),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Folders(folders) => find(folders, &[name.into()]).is_some(),
            Self::Archive(_, members) => members.contains_key(name),
        }
    }

    /// The content of a file and the name that messages use for it.
    fn read(&self, name: &str) -> Result<Option<(String, Cow<'_, [u8]>)>> {
        Ok(match self {
            Self::Folders(folders) => match find(folders, &[name.into()]) {
                Some(path) => Some((path.display().to_string(), content(&path)?.into())),
                None => None,
            },
            Self::Archive(archive, members) => members
                .get(name)
                .map(|bytes| (archive.join(name).display().to_string(), bytes.as_slice().into())),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    /// Files of the official layout, made up: a label, then the red, the green and the blue plane of an image.
    #[test]
    fn batches_are_read_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("cifar-10-batches-bin");
        fs::create_dir(&inner).unwrap();
        let record = |label: u8| {
            let plane = |shade: u8| (0..1024).map(move |at| shade + (at % 32) as u8);
            [vec![label], plane(0).chain(plane(100)).chain(plane(200)).collect()].concat()
        };
        for batch in 1..=5 {
            let records = [record(batch), record(batch + 3)].concat();
            fs::write(inner.join(format!("data_batch_{batch}.bin")), records).unwrap();
        }
        fs::write(inner.join("test_batch.bin"), [record(3), record(9), record(9)].concat()).unwrap();
        // As it is published, with an empty line at the end.
        let names = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";
        fs::write(inner.join("batches.meta.txt"), names).unwrap();
        let cifar = load_cifar(Cifar::Ten, folder.path()).unwrap();
        assert!(cifar.missing.is_empty());
        assert_eq!(cifar.train.labels, [1, 4, 2, 5, 3, 6, 4, 7, 5, 8]);
        assert_eq!(cifar.test.class_counts(), [0, 0, 0, 1, 0, 0, 0, 0, 0, 2]);
        assert_eq!(cifar.test.classes[..3], ["airplane", "automobile", "bird"]);
        assert_eq!(cifar.test.images.image(2)[..6], [0, 100, 200, 1, 101, 201]);
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
        fs::write(inner.join("batches.meta.txt"), "a\nb\n").unwrap();
        let error = load_cifar(Cifar::Ten, folder.path()).unwrap_err().to_string();
        assert!(error.contains("batches.meta.txt: 2 names, expected 10"), "{error}");
        fs::write(inner.join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
        fs::write(inner.join("test_batch.bin"), &record[..3000]).unwrap();
        let error = load_cifar(Cifar::Ten, folder.path()).unwrap_err().to_string();
        assert!(error.contains("test_batch.bin: 3000 bytes"), "{error}");
    }

    #[test]
    fn the_archive_is_read_as_it_was_published() {
        use super::super::archive::tests::{gzip, tar_of};
        let folder = tempfile::tempdir().unwrap();
        let record: Vec<u8> = std::iter::once(4).chain([9; 3072]).collect();
        let names = b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n";
        let file = tar::EntryType::Regular;
        let mut entries = vec![
            ("cifar-10-batches-bin/batches.meta.txt", file, &names[..]),
            ("cifar-10-batches-bin/readme.html", file, b"hello"),
            ("cifar-10-batches-bin/test_batch.bin", file, &record),
            ("cifar-10-batches-bin/data_batch_1.bin", file, &record),
        ];
        let archive = folder.path().join("cifar-10-binary.tar.gz");
        fs::write(&archive, gzip(&tar_of(&entries))).unwrap();
        let cifar = load_cifar(Cifar::Ten, folder.path()).unwrap();
        assert_eq!((cifar.train.labels, cifar.test.len(), cifar.missing.len()), (vec![4], 1, 4));
        entries[3].2 = &record[..3000];
        fs::write(&archive, gzip(&tar_of(&entries))).unwrap();
        let error = load_cifar(Cifar::Ten, folder.path()).unwrap_err().to_string();
        assert!(error.contains("data_batch_1.bin: 3000 bytes"), "{error}");
        entries.remove(2);
        fs::write(&archive, gzip(&tar_of(&entries))).unwrap();
        let error = load_cifar(Cifar::Ten, folder.path()).unwrap_err().to_string();
        assert!(error.contains("lacks test_batch.bin"), "{error}");
    }
}
