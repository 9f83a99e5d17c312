//! Caltech-256: objects, a folder for each class.

use super::class_folders::{CLUTTER, ClassFolderSet};
use crate::data::source::{About, Download};

pub(super) static CALTECH_256: ClassFolderSet = ClassFolderSet {
    about: About {
        name: "caltech-256",
        files: "256_ObjectCategories/CLASS/*.jpg",
        classes: "256 kinds of objects, without the clutter; 60 of each to train on",
        attributes: "features (with [data.features])",
        home: "https://data.caltech.edu/records/nyy15-4j048",
        licence: "CC BY 4.0",
        downloads: &[Download::unpacked(
            "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
            Some("67b4f42ca05d46448c6bb8ecd2220f6d"),
            "caltech-256",
        )],
        pictures: Some(29_780),
        ..About::NOTHING
    },
    inner: &[
        "caltech-256/256_ObjectCategories",
        "256_ObjectCategories",
        "caltech256/256_ObjectCategories",
        "caltech-256",
    ],
    marker: None,
    left_out: &CLUTTER,
    per_class: Some(60),
    most_classes: None,
};
