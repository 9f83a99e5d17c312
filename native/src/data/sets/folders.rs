//! A user's own pictures, a folder for each class.

use std::path::Path;

#[cfg(test)]
use simile_core::data::formats::lines::Text;

use super::class_folders::{self, ClassFolders};
use crate::data::error::Result;
use crate::data::keys::of_dataset::{OptionType, ReadOptions};
use crate::data::pictures::annotations::Annotations;
use crate::data::source::{About, Medium, PictureFiles, Source};

pub(super) struct Folders;

static ABOUT: About = About {
    name: "folders",
    files: "your pictures, a folder for each class: CLASS/*, or train/CLASS/* and val/CLASS/* or test/CLASS/*",
    classes: "the folders; train/ with val/ or test/, else held out",
    attributes: "features (with [data.features])",
    ..About::NOTHING
};

impl Source for Folders {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }

    fn options(&self) -> &'static [OptionType] {
        &class_folders::OPTIONS
    }
}

impl PictureFiles for Folders {
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        ClassFolders { root: folder.into(), ..ClassFolders::default() }.read(options, folder)
    }

    #[cfg(test)]
    fn parse_changed(&self, texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        class_folders::parse_changed(texts)
    }
}
