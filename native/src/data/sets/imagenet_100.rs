//! ImageNet-100: a hundred classes of ImageNet, each in a folder.

use super::class_folders::ClassFolderSet;
use super::imagenet_32::IMAGENET_TERMS;
use crate::data::source::About;

pub(super) static IMAGENET_100: ClassFolderSet = ClassFolderSet {
    about: About {
        name: "imagenet-100",
        files: "train/CLASS/*.JPEG, val/CLASS/*.JPEG, or as `imagenet`; of all of ImageNet with data.folders.classes, a list of 100 classes",
        classes: "100, of the folders, or of the list of the validation pictures",
        attributes: "features (with [data.features])",
        home: "https://image-net.org/download-images.php",
        licence: IMAGENET_TERMS,
        get: "register with ImageNet, download ILSVRC 2012, and unpack it as `simile data list imagenet` says; of Kaggle's imagenet100, \
              whose classes were drawn at random, move the folders in train.X1 to train.X4 into train, and call val.X val",
        needed: &["train", "val"],
        ..About::NOTHING
    },
    inner: &["imagenet-100", "imagenet100", "imagenet", "ILSVRC2012", "ILSVRC/Data/CLS-LOC"],
    marker: Some("train"),
    left_out: &[],
    per_class: None,
    most_classes: Some(100),
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::keys::of_dataset::ReadOptions;
    use crate::data::source::PictureFiles;
    use std::fs;

    #[test]
    fn all_of_imagenet_is_no_hundred_classes_of_it() {
        let place = tempfile::tempdir().unwrap();
        let put = |count: usize| {
            for class in 0..count {
                let folder = place.path().join(format!("ILSVRC2012/train/n{class:03}"));
                fs::create_dir_all(&folder).unwrap();
                fs::write(folder.join("0.JPEG"), "").unwrap();
                fs::write(folder.join("1.JPEG"), "").unwrap();
            }
        };
        let read = || IMAGENET_100.annotate(&ReadOptions::default(), place.path());
        put(100);
        assert_eq!(read().unwrap().catalogue.classes.len(), 100);
        put(101);
        let error = read().unwrap_err().to_string();
        assert!(error.contains("ILSVRC2012: it has 101 classes"), "{error}");
        assert!(error.contains("data.folders.classes"), "{error}");
    }
}
