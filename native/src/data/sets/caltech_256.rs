//! Caltech-256: objects, a folder for each class.

use std::path::Path;

use crate::data::error::Result;
use crate::data::pictures::annotations::{Annotations, inner_folder};
use crate::data::pictures::class_folders::{self, CLUTTER, ClassFolders};
use crate::data::settings::Options;
use crate::data::source::{About, Download, Kind, PictureFiles, Source};

pub(super) struct Caltech256;

static ABOUT: About = About {
    name: "caltech-256",
    files: "256_ObjectCategories/CLASS/*.jpg",
    variables: "features (with [data.features])",
    home: "https://data.caltech.edu/records/nyy15-4j048",
    licence: "CC BY 4.0",
    downloads: &[Download::unpacked(
        "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
        Some("67b4f42ca05d46448c6bb8ecd2220f6d"),
        "caltech-256",
    )],
    pictures: Some(29_780),
    ..About::NOTHING
};

impl Source for Caltech256 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }

    fn keys(&self) -> &'static [&'static str] {
        &class_folders::KEYS
    }
}

impl PictureFiles for Caltech256 {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let inner = [
            "caltech-256/256_ObjectCategories",
            "256_ObjectCategories",
            "caltech256/256_ObjectCategories",
            "caltech-256",
        ];
        let root = inner_folder(folder, &inner);
        ClassFolders { root, left_out: &CLUTTER, per_class: Some(60) }.read(options, folder)
    }
}
