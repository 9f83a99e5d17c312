//! CIFAR-100: colour images of 100 classes, in 20 groups.

use std::path::Path;

use simile_core::data::formats::cifar::Cifar;

use crate::data::arrays::cifar::{self, CifarFiles};
use crate::data::error::Result;
use crate::data::report::FileReport;
use crate::data::source::{About, ArrayFiles, Arrays, Download, Kind, Shape, Source};

pub(super) struct Cifar100;

static ABOUT: About = About {
    name: "cifar-100",
    files: "cifar-100-binary.tar.gz, or what unpacks from it: train.bin, test.bin, fine_label_names.txt, \
            coarse_label_names.txt",
    variables: "coarse",
    downloads: &[Download::packed(
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        FILES.md5,
        "cifar-100",
    )],
    ..cifar::ABOUT
};

const FILES: CifarFiles = CifarFiles {
    format: Cifar::Hundred,
    train: &["train.bin"],
    test: "test.bin",
    classes: "fine_label_names.txt",
    groups: Some("coarse_label_names.txt"),
    inner: &["cifar-100-binary", "cifar-100/cifar-100-binary"],
    archive: "cifar-100-binary.tar.gz",
    md5: "03b5dce01913d631647c71ecec9e9cb8",
};

impl Source for Cifar100 {
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

impl ArrayFiles for Cifar100 {
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
