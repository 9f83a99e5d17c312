//! Caltech-101: objects, a folder for each class.

use super::class_folders::{CLUTTER, ClassFolderSet};
use crate::data::source::{About, Download};

pub(super) static CALTECH_101: ClassFolderSet = ClassFolderSet {
    about: About {
        name: "caltech-101",
        files: "101_ObjectCategories/CLASS/*.jpg",
        classes: "101 kinds of objects, without the clutter; 30 of each to train on",
        attributes: "features (with [data.features])",
        home: "https://data.caltech.edu/records/mzrjq-6wc02",
        licence: "CC BY 4.0",
        downloads: &[Download::unpacked(
            "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
            Some("3138e1922a9193bfa496528edbbc45d0"),
            "",
        )],
        pictures: Some(8677),
        ..About::NOTHING
    },
    inner: &[
        "caltech-101/101_ObjectCategories",
        "101_ObjectCategories",
        "caltech101/101_ObjectCategories",
        "caltech-101",
    ],
    marker: None,
    left_out: &CLUTTER,
    per_class: Some(30),
    most_classes: None,
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::keys::of_dataset::ReadOptions;
    use crate::data::sets::split::SplitSection;
    use crate::data::source::PictureFiles;
    use simile_core::data::Split;
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
        let options = ReadOptions::with(section);
        let caltech = CALTECH_101.annotate(&options, folder.path()).unwrap().catalogue;
        assert_eq!(caltech.classes, ["barrel", "bass", "beaver", "binocular"]);
        assert_eq!((caltech.of(Split::Train).len(), caltech.of(Split::Test).len()), (16, 8));
    }
}
