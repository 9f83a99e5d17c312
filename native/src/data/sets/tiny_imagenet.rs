//! Tiny-ImageNet: 200 classes at 64x64, with a list of the classes of the validation pictures.

use super::class_folders::ClassFolderSet;
use super::imagenet_32::IMAGENET_TERMS;
use crate::data::source::{About, Download};

pub(super) static TINY_IMAGENET: ClassFolderSet = ClassFolderSet {
    about: About {
        name: "tiny-imagenet",
        files: "tiny-imagenet-200 as it unpacks: train/CLASS/images/*.JPEG, val/images/*.JPEG, val/val_annotations.txt",
        classes: "200, of the folders and the list of the validation pictures",
        attributes: "features (with [data.features])",
        home: "https://cs231n.stanford.edu/",
        licence: IMAGENET_TERMS,
        downloads: &[Download::unpacked(
            "https://cs231n.stanford.edu/tiny-imagenet-200.zip",
            Some("90528d7ca1a48142e341f4ef8d21d0de"),
            "",
        )],
        needed: &["wnids.txt", "val/val_annotations.txt"],
        pictures: Some(110_000),
        ..About::NOTHING
    },
    inner: &["tiny-imagenet-200", "tiny-imagenet/tiny-imagenet-200"],
    marker: Some("wnids.txt"),
    left_out: &[],
    per_class: None,
    most_classes: None,
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::keys::of_dataset::ReadOptions;
    use crate::data::source::PictureFiles;
    use simile_core::data::Split;
    use std::fs;
    use std::path::Path;

    fn put(folder: &Path, file: &str, content: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn a_class_of_the_validation_list_without_training_pictures_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tiny-imagenet-200");
        put(&root, "wnids.txt", "n02124075\nn04067472\n");
        put(&root, "train/n02124075/images/n02124075_0.JPEG", "");
        put(&root, "train/n02124075/n02124075_boxes.txt", "n02124075_0.JPEG\t0\t10\t63\t58\n");
        put(&root, "val/images/val_0.JPEG", "");
        put(&root, "val/val_annotations.txt", "val_0.JPEG\tn04067472\t0\t32\t44\t62\n");
        let gathered = || TINY_IMAGENET.annotate(&ReadOptions::default(), folder.path());
        let error = gathered().unwrap_err().to_string();
        assert!(error.contains("no training picture") && error.contains("n04067472"), "{error}");
        put(&root, "train/n04067472/images/n04067472_0.JPEG", "");
        let tiny = gathered().unwrap().catalogue;
        assert_eq!((tiny.of(Split::Train).len(), tiny.of(Split::Test).len()), (2, 1));
    }
}
