//! CIFAR-10 and CIFAR-100 in their binary versions: the official archives, or their unpacked files.

use std::path::{Path, PathBuf};

use simile_core::data::Dataset;
use simile_core::data::formats::cifar::{Cifar, names, parse};

use super::class_names;
use crate::data::check_report::{FileCheck, FileReport};
use crate::data::error::Result;
use crate::data::files::digest::md5;
use crate::data::files::packed::{PackedFiles, refuse_missing};
use crate::data::files::{self, content, folders};
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
        refuse_missing(folder, self.missing(&self.files(folder)?))
    }

    fn absent(&self, folder: &Path) -> Result<Vec<String>> {
        let absent = self.files(folder)?.missing(self.train);
        // If all are, `find` names them.
        Ok(if absent.len() == self.train.len() { Vec::new() } else { absent })
    }

    /// Reads both splits from a folder, from the sub-folder of the unpacked official archive, or from the archive
    /// itself. Training batches that are absent are listed in [`Arrays::absent`]; one at least must be there.
    ///
    /// # Errors
    /// Names every file that is needed and missing, or the first that is unreadable or corrupt.
    fn read(&self, folder: &Path) -> Result<Arrays> {
        let names: Vec<&str> = self.all().collect();
        let files = self.files(folder)?.opened(&names)?;
        refuse_missing(folder, self.missing(&files))?;
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
        Ok(Arrays {
            train: split(self.train)?,
            test: split(&[self.test])?,
            absent: files.missing(self.train),
        })
    }

    /// The state of the archive, or of each of its unpacked files.
    ///
    /// # Errors
    /// If `folder` is not a folder.
    fn check(&self, folder: &Path) -> Result<Vec<FileReport>> {
        let folders = match self.files(folder)? {
            PackedFiles::Archive(path, _) => {
                let state = self.archive_state(&path);
                return Ok(vec![FileReport { name: self.archive.into(), path: Some(path), state }]);
            }
            PackedFiles::Folders(folders) => folders,
        };
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

    /// The files in a folder: in the archive, if no batch is unpacked.
    fn files(&self, folder: &Path) -> Result<PackedFiles> {
        let batches = [self.train, &[self.test]].concat();
        Ok(PackedFiles::of(folders(folder, self.inner)?, self.find_archive(folder), &batches))
    }

    /// The files that are missing, without which nothing can be read. Of the training batches one is enough.
    fn missing(&self, files: &PackedFiles) -> Vec<String> {
        let mut missing = files.missing(self.train);
        if missing.len() < self.train.len() {
            missing.clear();
        }
        missing.extend(files.missing(&[self.test, self.classes]));
        missing.extend(files.missing(self.groups.as_slice()));
        missing
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

    /// The archive counted as all that is needed, and then was not read.
    #[test]
    fn an_archive_beside_one_of_its_batches_is_refused_before_a_run_as_in_one() {
        use crate::data::files::archive::tests::{gzip, tar_of};
        let folder = tempfile::tempdir().unwrap();
        let record: Vec<u8> = std::iter::once(4).chain([9; 3072]).collect();
        let names = b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n";
        let file = tar::EntryType::Regular;
        let entries = [
            ("cifar-10-batches-bin/batches.meta.txt", file, &names[..]),
            ("cifar-10-batches-bin/test_batch.bin", file, &record),
            ("cifar-10-batches-bin/data_batch_1.bin", file, &record),
        ];
        fs::write(folder.path().join("cifar-10-binary.tar.gz"), gzip(&tar_of(&entries))).unwrap();
        // Names alone are no unpacked images.
        fs::write(folder.path().join("batches.meta.txt"), names).unwrap();
        CIFAR_10.find(folder.path()).unwrap();
        CIFAR_10.read(folder.path()).unwrap();
        for (batch, lacks) in
            [("data_batch_1.bin", "lacks test_batch.bin;"), ("test_batch.bin", "lacks data_batch_1.bin, ")]
        {
            fs::write(folder.path().join(batch), &record).unwrap();
            let error = CIFAR_10.find(folder.path()).unwrap_err().to_string();
            assert!(error.contains(lacks), "{error}");
            assert_eq!(CIFAR_10.read(folder.path()).unwrap_err().to_string(), error);
            assert!(
                CIFAR_10.check(folder.path()).unwrap().len() > 1,
                "the files are listed, not the archive"
            );
            fs::remove_file(folder.path().join(batch)).unwrap();
        }
    }
}
