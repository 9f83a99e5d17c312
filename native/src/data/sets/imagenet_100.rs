//! ImageNet-100: a hundred classes of ImageNet, each in a folder.

use super::class_folders::ClassFolderSet;
use super::imagenet_32::IMAGENET_TERMS;
use crate::data::source::About;

pub(super) static IMAGENET_100: ClassFolderSet = ClassFolderSet {
    about: About {
        name: "imagenet-100",
        files: "train/CLASS/*.JPEG, val/CLASS/*.JPEG, or as `imagenet`; of all of ImageNet with data.folders.classes, a list of 100 classes",
        classes: "100, of the folders, or of the list of the validation pictures",
        variables: "features (with [data.features])",
        home: "https://image-net.org/download-images.php",
        licence: IMAGENET_TERMS,
        get: "register with ImageNet, download ILSVRC 2012, and unpack it as `simile data list imagenet` says",
        needed: &["train", "val"],
        ..About::NOTHING
    },
    inner: &["imagenet-100", "imagenet100", "imagenet", "ILSVRC2012", "ILSVRC/Data/CLS-LOC"],
    marker: Some("train"),
    left_out: &[],
    per_class: None,
};
