//! CIFAR-10 and CIFAR-100 in their binary versions: the official archives, or their unpacked files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use simile_core::data::Dataset;
use simile_core::data::formats::cifar::{Cifar, names, parse};

use super::class_names;
use crate::data::check_report::{FileCheck, FileReport};
use crate::data::error::{DataError, Result};
use crate::data::files::archive::members;
use crate::data::files::digest::md5;
use crate::data::files::{self, LARGEST, content, folders};
use crate::data::source::{About, ArrayFiles, Arrays, Medium, Shape, Source};

/// Side of the images.
const SIDE: usize = 32;
/// Groups of CIFAR-100's classes.
const GROUPS: usize = 20;

/// The common description of both data sets.
pub(in crate::data) const ABOUT: About = About {
    home: "https://www.cs.toronto.edu/~kriz/cifar.html",
    licence: "none stated; the authors ask to be cited",
    ..About::NOTHING
};

/// One of the two data sets, with its files.
pub(in crate::data) struct CifarSet {
    pub(in crate::data) about: About,
    pub(in crate::data) format: Cifar,
    pub(in crate::data) train: &'static [&'static str],
    pub(in crate::data) test: &'static str,
    /// The names of the classes.
    pub(in crate::data) classes: &'static str,
    /// The names of groups of classes, if there are any.
    pub(in crate::data) groups: Option<&'static str>,
    /// The folders of the unpacked archive.
    pub(in crate::data) inner: &'static [&'static str],
    /// The official archive.
    pub(in crate::data) archive: &'static str,
    /// Its MD5.
    pub(in crate::data) md5: &'static str,
}

impl Source for CifarSet {
    fn about(&self) -> &About {
        &self.about
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: SIDE, channels: 3 }
    }
}

impl ArrayFiles for CifarSet {
    /// Checks that the archive, or the required files, are present.
    ///
    /// # Errors
    /// Names every file that is needed and missing.
    fn find(&self, folder: &Path) -> Result<()> {
        let places = self.folders(folder)?;
        let absent = |name: &&str| files::find(&places, &[String::from(*name)]).is_none();
        let train = if self.train.iter().all(absent) { self.train } else { &[] };
        let needed = train.iter().copied().chain([self.test, self.classes]).chain(self.groups);
        let missing: Vec<String> = needed.filter(absent).map(String::from).collect();
        if missing.is_empty() || self.find_archive(folder).is_some() {
            return Ok(());
        }
        Err(DataError::Missing { folder: folder.into(), missing })
    }

    fn absent(&self, folder: &Path) -> Result<Vec<String>> {
        let places = self.folders(folder)?;
        let is_there = |name: &&str| files::find(&places, &[String::from(*name)]).is_some();
        let (there, absent): (Vec<&str>, Vec<&str>) = self.train.iter().copied().partition(is_there);
        // Without an unpacked batch the archive is read, which then says what it lacks.
        Ok(if there.is_empty() { Vec::new() } else { absent.into_iter().map(String::from).collect() })
    }

    /// Reads both splits from a folder, from the sub-folder of the unpacked official archive, or from the archive
    /// itself. Training batches that are absent are listed in [`Arrays::absent`]; one at least must be there.
    ///
    /// # Errors
    /// Names every file that is needed and missing, or the first that is unreadable or corrupt.
    fn read(&self, folder: &Path) -> Result<Arrays> {
        let files = CifarFiles::find(self, folder)?;
        let missing_train: Vec<String> =
            self.train.iter().filter(|name| !files.has(name)).map(|name| String::from(*name)).collect();
        let needed = [self.test, self.classes].into_iter().chain(self.groups).filter(|name| !files.has(name));
        let mut missing: Vec<String> = needed.map(String::from).collect();
        if missing_train.len() == self.train.len() {
            missing.splice(0..0, missing_train.iter().cloned());
        }
        if !missing.is_empty() {
            return Err(DataError::Missing { folder: folder.into(), missing });
        }
        let list = |name: Option<&str>, expected: usize| -> Result<Vec<String>> {
            match name.map(|name| files.read(name)).transpose()?.flatten() {
                Some((origin, bytes)) => class_names(origin.as_ref(), &bytes, expected),
                None => Ok(Vec::new()),
            }
        };
        let classes = list(Some(self.classes), self.format.classes())?;
        let groups = list(self.groups, GROUPS)?;
        let split = |names: &[&str]| -> Result<Dataset> {
            let contents = names.iter().map(|name| files.read(name)).collect::<Result<Vec<_>>>()?;
            let parts: Vec<(&[u8], &str)> =
                contents.iter().flatten().map(|(origin, bytes)| (bytes.as_ref(), origin.as_str())).collect();
            Ok(parse(self.format, &parts, classes.clone(), groups.clone())?)
        };
        Ok(Arrays { train: split(self.train)?, test: split(&[self.test])?, absent: missing_train })
    }

    /// The state of the archive, or of each of its unpacked files.
    ///
    /// # Errors
    /// If `folder` is not a folder.
    fn check(&self, folder: &Path) -> Result<Vec<FileReport>> {
        let folders = self.folders(folder)?;
        let unpacked = self.train.iter().any(|name| files::find(&folders, &[(*name).into()]).is_some());
        if let Some(path) = self.find_archive(folder).filter(|_| !unpacked) {
            let state = self.archive_state(&path);
            return Ok(vec![FileReport { name: self.archive.into(), path: Some(path), state }]);
        }
        let report = |name: &'static str| {
            let path = files::find(&folders, &[name.into()]);
            let state = path.as_deref().map_or(FileCheck::Missing, |path| self.file_state(path));
            FileReport { name: name.into(), path, state }
        };
        Ok(self.all().map(report).collect())
    }
}

impl CifarSet {
    fn archive_state(&self, path: &Path) -> FileCheck {
        let examine = || -> Result<FileCheck> {
            let official = self.md5;
            let md5_of_file = md5(&files::read(path)?);
            if md5_of_file == official {
                return Ok(FileCheck::Official { md5: md5_of_file });
            }
            let Arrays { train, test, .. } = self.read(path.parent().unwrap_or(path))?;
            let count = train.len() + test.len();
            Ok(FileCheck::WellFormed {
                detail: format!("{count} images, but MD5 {md5_of_file}, the official one {official}"),
            })
        };
        examine().unwrap_or_else(|error| FileCheck::Corrupt { reason: error.to_string() })
    }

    fn file_state(&self, path: &Path) -> FileCheck {
        let examine = || -> Result<FileCheck> {
            let bytes = content(path)?;
            if path.extension().is_some_and(|extension| extension == "txt") {
                let count = names(&String::from_utf8_lossy(&bytes)).len();
                return Ok(FileCheck::WellFormed { detail: format!("{count} names") });
            }
            let (classes, origin) = (self.format.classes(), path.display().to_string());
            let numbered = |count: usize| (0..count).map(|i| i.to_string()).collect();
            let parsed = parse(
                self.format,
                &[(bytes.as_slice(), origin.as_str())],
                numbered(classes),
                numbered(GROUPS),
            )?;
            Ok(FileCheck::WellFormed { detail: format!("{} images", parsed.len()) })
        };
        examine().unwrap_or_else(|error| FileCheck::Corrupt { reason: error.to_string() })
    }

    /// Every file of the data set.
    fn all(&self) -> impl Iterator<Item = &'static str> {
        self.train.iter().copied().chain([self.test, self.classes]).chain(self.groups)
    }

    /// The official archive, if it is there.
    fn find_archive(&self, folder: &Path) -> Option<PathBuf> {
        let name = self.archive;
        let short = name.trim_end_matches("-binary.tar.gz");
        [folder.join(name), folder.join(short).join(name)].into_iter().find(|path| path.is_file())
    }

    /// The folders in which files of the data set may lie.
    fn folders(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        folders(folder, self.inner)
    }
}

/// The files of a data set: unpacked, or in the archive.
enum CifarFiles {
    Folders(Vec<PathBuf>),
    Archive(PathBuf, HashMap<String, Vec<u8>>),
}

impl CifarFiles {
    /// Finds the files; the archive is read only if no batch is unpacked.
    fn find(files: &CifarSet, folder: &Path) -> Result<Self> {
        let folders = files.folders(folder)?;
        let unpacked = files
            .train
            .iter()
            .chain([&files.test])
            .any(|name| files::find(&folders, &[(*name).into()]).is_some());
        match files.find_archive(folder).filter(|_| !unpacked) {
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
            Self::Folders(folders) => files::find(folders, &[name.into()]).is_some(),
            Self::Archive(_, members) => members.contains_key(name),
        }
    }

    /// The content of a file and the name that messages use for it.
    fn read(&self, name: &str) -> Result<Option<(String, Cow<'_, [u8]>)>> {
        Ok(match self {
            Self::Folders(folders) => match files::find(folders, &[name.into()]) {
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
    use crate::data::sets::cifar_10::CIFAR_10;
    use crate::data::source::ArrayFiles as _;
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
        // The published file also has an empty line at the end.
        let names = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";
        fs::write(inner.join("batches.meta.txt"), names).unwrap();
        let cifar = CIFAR_10.read(folder.path()).unwrap();
        assert!(cifar.absent.is_empty());
        assert_eq!(cifar.train.labels, [1, 4, 2, 5, 3, 6, 4, 7, 5, 8]);
        assert_eq!(cifar.test.class_counts(), [0, 0, 0, 1, 0, 0, 0, 0, 0, 2]);
        assert_eq!(cifar.test.classes[..3], ["airplane", "automobile", "bird"]);
        assert_eq!(cifar.test.images.read(&[2]).unwrap().pixels[..6], [0, 100, 200, 1, 101, 201]);
    }

    #[test]
    fn missing_files_are_named_and_absent_batches_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("cifar-10-batches-bin");
        fs::create_dir(&inner).unwrap();
        let error = CIFAR_10.read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("data_batch_5.bin") && error.contains("batches.meta.txt"), "{error}");
        let record: Vec<u8> = std::iter::once(4).chain([9; 3072]).collect();
        fs::write(inner.join("data_batch_2.bin"), &record).unwrap();
        fs::write(inner.join("test_batch.bin"), &record).unwrap();
        fs::write(inner.join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
        let cifar = CIFAR_10.read(folder.path()).unwrap();
        assert_eq!((cifar.train.len(), cifar.absent.len()), (1, 4));
        assert_eq!(CIFAR_10.absent(folder.path()).unwrap(), cifar.absent);
        fs::write(inner.join("batches.meta.txt"), "a\nb\n").unwrap();
        let error = CIFAR_10.read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("batches.meta.txt: 2 names, expected 10"), "{error}");
        fs::write(inner.join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
        fs::write(inner.join("test_batch.bin"), &record[..3000]).unwrap();
        let error = CIFAR_10.read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("test_batch.bin: 3000 bytes"), "{error}");
    }

    #[test]
    fn the_archive_is_read_as_it_was_published() {
        use crate::data::files::archive::tests::{gzip, tar_of};
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
        let cifar = CIFAR_10.read(folder.path()).unwrap();
        assert_eq!((cifar.train.labels, cifar.test.len(), cifar.absent.len()), (vec![4], 1, 4));
        entries[3].2 = &record[..3000];
        fs::write(&archive, gzip(&tar_of(&entries))).unwrap();
        let error = CIFAR_10.read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("data_batch_1.bin: 3000 bytes"), "{error}");
        entries.remove(2);
        fs::write(&archive, gzip(&tar_of(&entries))).unwrap();
        let error = CIFAR_10.read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("lacks test_batch.bin"), "{error}");
    }
}
