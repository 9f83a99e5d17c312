//! Caltech-101: objects, a folder for each class.

use std::path::Path;

use crate::data::error::Result;
use crate::data::pictures::annotations::{Annotations, inner_folder};
use crate::data::pictures::class_folders::{self, CLUTTER, ClassFolders};
use crate::data::settings::Options;
use crate::data::source::{About, Download, Kind, PictureFiles, Source};

pub(super) struct Caltech101;

static ABOUT: About = About {
    name: "caltech-101",
    files: "101_ObjectCategories/CLASS/*.jpg",
    variables: "features (with [data.features])",
    home: "https://data.caltech.edu/records/mzrjq-6wc02",
    licence: "CC BY 4.0",
    downloads: &[Download::unpacked(
        "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
        Some("3138e1922a9193bfa496528edbbc45d0"),
        "",
    )],
    pictures: Some(8677),
    ..About::NOTHING
};

impl Source for Caltech101 {
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

impl PictureFiles for Caltech101 {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let inner = [
            "caltech-101/101_ObjectCategories",
            "101_ObjectCategories",
            "caltech101/101_ObjectCategories",
            "caltech-101",
        ];
        let root = inner_folder(folder, &inner);
        ClassFolders { root, left_out: &CLUTTER, per_class: Some(30) }.read(options, folder)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::settings::SplitSection;
    use simile_core::data::Part;
    use std::fs;

    #[test]
    fn objects_are_split_by_class() {
        let folder = tempfile::tempdir().unwrap();
        for class in ["barrel", "bass", "beaver", "binocular", "BACKGROUND_Google"] {
            for at in 1..=6 {
                let file = format!("caltech-101/101_ObjectCategories/{class}/image_{at:04}.jpg");
                let path = folder.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        let section = SplitSection { per_class: Some(4), ..SplitSection::default() };
        let options = Options { split: Some(&section), ..Options::default() };
        let caltech = Caltech101.annotations(&options, folder.path()).unwrap().catalogue;
        assert_eq!(caltech.classes, ["barrel", "bass", "beaver", "binocular"]);
        assert_eq!((caltech.of(Part::Train).len(), caltech.of(Part::Test).len()), (16, 8));
    }
}
