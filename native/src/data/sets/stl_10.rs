//! STL-10 in its binary version: the official archive, or its unpacked files. The unlabelled images are not read.

use std::path::Path;

use simile_core::data::Dataset;
use simile_core::data::formats::stl10;

use crate::data::arrays::class_names;
use crate::data::error::{DataError, Result};
use crate::data::files::folders;
use crate::data::files::packed::{PackedFiles, refuse_missing};
use crate::data::source::{About, ArrayFiles, Arrays, Download, Medium, Shape, Source};

const FILES: [&str; 5] = ["train_X.bin", "train_y.bin", "test_X.bin", "test_y.bin", "class_names.txt"];
const CLASSES: usize = 10;
const ARCHIVE: &str = "stl10_binary.tar.gz";

pub(super) struct Stl10;

static ABOUT: About = About {
    name: "stl-10",
    files: "stl10_binary.tar.gz, or train_X.bin, train_y.bin, test_X.bin, test_y.bin, class_names.txt from it",
    classes: "10; the 5,000 labelled training images, 8,000 to test",
    home: "https://cs.stanford.edu/~acoates/stl10/",
    licence: "ImageNet's terms, from whose images it was made; the authors ask to be cited",
    downloads: &[Download::packed(
        "https://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
        "91f7769df0f17e558f3565bffb0c7dfb",
        "stl-10",
    )],
    ..About::NOTHING
};

impl Source for Stl10 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: 96, channels: 3 }
    }
}

impl ArrayFiles for Stl10 {
    fn find(&self, folder: &Path) -> Result<()> {
        refuse_missing(folder, files(folder)?.missing(&FILES))
    }

    /// The 5,000 labelled training images and the 8,000 test images.
    fn read(&self, folder: &Path) -> Result<Arrays> {
        let files = files(folder)?.opened(&FILES)?;
        refuse_missing(folder, files.missing(&FILES))?;
        let file = |name: &str| {
            let missing = || DataError::Missing { folder: folder.into(), missing: vec![name.into()] };
            files.read(name)?.ok_or_else(missing)
        };
        let (origin, bytes) = file("class_names.txt")?;
        let classes = class_names(origin.as_ref(), &bytes, CLASSES)?;
        let split = |images: &str, labels: &str| -> Result<Dataset> {
            let ((images, pixels), (labels, numbers)) = (file(images)?, file(labels)?);
            Ok(stl10::parse((&pixels, &images), (&numbers, &labels), classes.clone())?)
        };
        let (train, test) = (split("train_X.bin", "train_y.bin")?, split("test_X.bin", "test_y.bin")?);
        Ok(Arrays { train, test, absent: Vec::new() })
    }
}

/// The files in a folder: in the archive, if no images and no labels are unpacked.
fn files(folder: &Path) -> Result<PackedFiles> {
    let folders = folders(folder, &["stl10_binary", "stl-10/stl10_binary", "stl-10"])?;
    let archive = folders.iter().map(|folder| folder.join(ARCHIVE)).find(|path| path.is_file());
    Ok(PackedFiles::of(folders, archive, &FILES[..4]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::files::archive::tests::{gzip, tar_of};
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
        let read = Stl10.read(loose.path()).unwrap();
        let unpacked = Stl10.read(packed.path()).unwrap();
        assert_eq!((&read.train, &read.test), (&unpacked.train, &unpacked.test));
        assert_eq!((read.train.labels, read.test.labels), (vec![0, 9], vec![2, 2]));
        // Names alone are no unpacked images.
        fs::write(packed.path().join("class_names.txt"), contents[4]).unwrap();
        Stl10.find(packed.path()).unwrap();
        assert_eq!(Stl10.read(packed.path()).unwrap().train, unpacked.train);
        // The archive counted as all that is needed, and then was not read.
        fs::write(packed.path().join("train_y.bin"), contents[1]).unwrap();
        let error = Stl10.find(packed.path()).unwrap_err().to_string();
        assert!(error.contains("lacks train_X.bin, test_X.bin, test_y.bin;"), "{error}");
        assert_eq!(Stl10.read(packed.path()).unwrap_err().to_string(), error);
        fs::write(loose.path().join("stl10_binary/test_y.bin"), [3, 11]).unwrap();
        let error = Stl10.read(loose.path()).unwrap_err().to_string();
        assert!(error.contains("stl10_binary/test_y.bin: label 11"), "{error}");
        fs::remove_file(loose.path().join("stl10_binary/test_y.bin")).unwrap();
        let error = Stl10.read(loose.path()).unwrap_err().to_string();
        assert!(error.contains("lacks test_y.bin"), "{error}");
    }
}
