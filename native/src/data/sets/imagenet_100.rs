//! ImageNet-100: a hundred classes of ImageNet, each in a folder.

use std::path::Path;

use super::imagenet_32::IMAGENET_TERMS;
use crate::data::error::Result;
use crate::data::pictures::annotations::{Annotations, root};
use crate::data::pictures::class_folders::{self, ClassFolders};
use crate::data::settings::Options;
use crate::data::source::{About, Kind, PictureFiles, Source};

pub(super) struct Imagenet100;

static ABOUT: About = About {
    name: "imagenet-100",
    files: "train/CLASS/*.JPEG, val/CLASS/*.JPEG; of all of ImageNet with data.folders.classes, a list of 100 classes",
    variables: "features (with [data.features])",
    home: "https://image-net.org/download-images.php",
    licence: IMAGENET_TERMS,
    get: "register with ImageNet, download ILSVRC 2012 and sort its validation pictures into folders of classes",
    needed: &["train", "val"],
    ..About::NOTHING
};

impl Source for Imagenet100 {
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

impl PictureFiles for Imagenet100 {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let root = root(folder, &["imagenet-100", "imagenet100", "imagenet"], "train")?;
        ClassFolders { root, ..ClassFolders::default() }.read(options, folder)
    }
}
