//! A published data set with a folder for each class.

use std::path::Path;

use super::{ClassFolders, FoldersSection, OPTIONS};
use crate::data::error::{DataError, Result};
use crate::data::keys::of_dataset::{OptionType, ReadOptions};
use crate::data::pictures::annotations::{Annotations, inner_folder, root};
use crate::data::source::{About, Medium, PictureFiles, Source};

/// A published data set with a folder for each class.
pub(in crate::data::sets) struct ClassFolderSet {
    pub(in crate::data::sets) about: About,
    /// The parent of the folders, below the data folder, as archives and libraries name it.
    pub(in crate::data::sets) inner: &'static [&'static str],
    /// A file or folder that the parent must have, if there is one.
    pub(in crate::data::sets) marker: Option<&'static str>,
    /// The folders that are not classes.
    pub(in crate::data::sets) left_out: &'static [&'static str],
    /// The usual number of training pictures of each class in published results, if no split is published.
    pub(in crate::data::sets) per_class: Option<usize>,
    /// Number of classes, if the data set is a part of one that may lie in the same folder.
    pub(in crate::data::sets) most_classes: Option<usize>,
}

impl Source for ClassFolderSet {
    fn about(&self) -> &About {
        &self.about
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }

    fn options(&self) -> &'static [OptionType] {
        &OPTIONS
    }
}

impl PictureFiles for ClassFolderSet {
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let root = match self.marker {
            Some(marker) => root(folder, self.inner, marker)?,
            None => inner_folder(folder, self.inner),
        };
        let folders = ClassFolders { root, left_out: self.left_out, per_class: self.per_class };
        let annotations = folders.read(options, folder)?;
        let classes = annotations.catalogue.classes.len();
        let are_listed = options.get::<FoldersSection>().is_some_and(|section| section.classes.is_some());
        match self.most_classes {
            Some(most) if classes > most && !are_listed => {
                let reason = format!(
                    "it has {classes} classes, and `{}` has {most} of them: name a text file in the data folder that lists these, a \
                     class in each line, with `data.folders.classes = \"FILE\"`",
                    self.about.name
                );
                Err(DataError::Table { path: annotations.root, reason })
            }
            _ => Ok(annotations),
        }
    }

    /// A choice of classes omits pictures.
    fn is_whole(&self, options: &ReadOptions) -> bool {
        options.get::<FoldersSection>().is_none()
    }
}
