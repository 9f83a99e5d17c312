//! CIFAR-10: colour images of 10 classes.

use std::path::Path;

use simile_core::data::formats::cifar::Cifar;

use crate::data::arrays::cifar::{self, CifarFiles};
use crate::data::error::Result;
use crate::data::report::FileReport;
use crate::data::source::{About, ArrayFiles, Arrays, Download, Kind, Shape, Source};

pub(super) struct Cifar10;

static ABOUT: About = About {
    name: "cifar-10",
    files: "cifar-10-binary.tar.gz, or what unpacks from it: data_batch_1.bin .. 5, test_batch.bin, batches.meta.txt",
    downloads: &[Download::packed(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        FILES.md5,
        "cifar-10",
    )],
    ..cifar::ABOUT
};

pub(in crate::data) const FILES: CifarFiles = CifarFiles {
    format: Cifar::Ten,
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
    archive: "cifar-10-binary.tar.gz",
    md5: "c32a1d4ab5d03f1284b67883e8d87530",
};

impl Source for Cifar10 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Arrays(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: cifar::SIDE, channels: 3 }
    }
}

impl ArrayFiles for Cifar10 {
    fn find(&self, folder: &Path) -> Result<()> {
        FILES.find(folder)
    }

    fn read(&self, folder: &Path) -> Result<Arrays> {
        FILES.read(folder)
    }

    fn check(&self, folder: &Path) -> Result<Vec<FileReport>> {
        FILES.check(folder)
    }
}
