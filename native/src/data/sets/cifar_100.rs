//! CIFAR-100: colour images of 100 classes, in 20 groups.

use simile_core::data::formats::cifar::Cifar;

use crate::data::arrays::cifar::{self, CifarSet};
use crate::data::source::{About, Constants, Download};

const MD5: &str = "03b5dce01913d631647c71ecec9e9cb8";

pub(super) static CIFAR_100: CifarSet = CifarSet {
    about: About {
        name: "cifar-100",
        files: "cifar-100-binary.tar.gz, or what unpacks from it: train.bin, test.bin, fine_label_names.txt, \
                coarse_label_names.txt (the binary version; pickles of the Python version are not read)",
        classes: "100; 50,000 images to train on, 10,000 to test",
        attributes: "coarse",
        downloads: &[Download::packed(
            "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
            MD5,
            "cifar-100",
        )],
        normalise: Some(Constants {
            name: "cifar-100",
            mean: [0.5071, 0.4867, 0.4408],
            std: [0.2675, 0.2565, 0.2761],
        }),
        ..cifar::ABOUT
    },
    format: Cifar::Hundred,
    train: &["train.bin"],
    test: "test.bin",
    classes: "fine_label_names.txt",
    groups: Some("coarse_label_names.txt"),
    inner: &["cifar-100-binary", "cifar-100/cifar-100-binary"],
    archive: "cifar-100-binary.tar.gz",
    md5: MD5,
};
