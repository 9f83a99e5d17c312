//! CIFAR-10: colour images of 10 classes.

use simile_core::data::formats::cifar::Cifar;

use crate::data::arrays::cifar::{self, CifarSet};
use crate::data::source::{About, Constants, Download};

const MD5: &str = "c32a1d4ab5d03f1284b67883e8d87530";

pub(in crate::data) static CIFAR_10: CifarSet = CifarSet {
    about: About {
        name: "cifar-10",
        files: "cifar-10-binary.tar.gz, or what unpacks from it: data_batch_1.bin .. 5, test_batch.bin, batches.meta.txt (the binary \
                version; pickles of the Python version are not read)",
        classes: "10; 50,000 images to train on, 10,000 to test",
        downloads: &[Download::packed(
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            MD5,
            "cifar-10",
        )],
        normalise: Some(Constants {
            name: "cifar-10",
            mean: [0.4914, 0.4822, 0.4465],
            std: [0.2023, 0.1994, 0.2010],
        }),
        ..cifar::ABOUT
    },
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
    md5: MD5,
};
