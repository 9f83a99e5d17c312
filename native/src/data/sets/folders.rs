//! A user's own pictures, a folder for each class.

use std::path::Path;

use super::class_folders::{self, ClassFolders};
use crate::data::error::Result;
use crate::data::pictures::annotations::Annotations;
use crate::data::settings::Options;
use crate::data::source::{About, Kind, PictureFiles, Source};

pub(super) struct Folders;

static ABOUT: About = About {
    name: "folders",
    files: "your pictures, a folder for each class: CLASS/*, or train/CLASS/* and val/CLASS/* or test/CLASS/*",
    variables: "features (with [data.features])",
    ..About::NOTHING
};

impl Source for Folders {
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

impl PictureFiles for Folders {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        ClassFolders { root: folder.into(), ..ClassFolders::default() }.read(options, folder)
    }
}
