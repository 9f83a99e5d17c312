//! ImageNet, the thousand classes of ILSVRC 2012: 1,281,167 training and 50,000 validation pictures.

use super::class_folders::ClassFolderSet;
use super::imagenet_32::IMAGENET_TERMS;
use crate::data::source::{About, Constants};

pub(super) static IMAGENET: ClassFolderSet = ClassFolderSet {
    about: About {
        name: "imagenet",
        files: "train/CLASS/*.JPEG, and val/CLASS/*.JPEG, or val/*.JPEG with a list of their classes: val.txt (`FILE CLASS` in each line; a \
                number is the place of a folder in alphabetical order, from 0, as in Caffe's list, and not the ILSVRC2012_ID of the \
                authors' devkit) or Kaggle's LOC_val_solution.csv; a choice of classes with data.folders.classes",
        classes: "1000, of the folders, or of the list of the validation pictures",
        attributes: "features (with [data.features])",
        home: "https://image-net.org/download-images.php",
        licence: IMAGENET_TERMS,
        get: "register with ImageNet, download ILSVRC 2012, unpack each archive of training pictures into a folder of its name in train, \
              and the validation pictures into val; the authors' devkit has no list with names of files: take Caffe's val.txt \
              (caffe_ilsvrc12.tar.gz) or Kaggle's",
        needed: &["train", "val"],
        pictures: Some(1_331_167),
        normalise: Some(Constants {
            name: "imagenet",
            mean: [0.485, 0.456, 0.406],
            std: [0.229, 0.224, 0.225],
        }),
        ..About::NOTHING
    },
    inner: &["imagenet", "ILSVRC2012", "ILSVRC/Data/CLS-LOC"],
    marker: Some("train"),
    left_out: &[],
    per_class: None,
    most_classes: None,
};
