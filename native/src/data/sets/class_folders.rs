//! A folder for each class: a user's folders, parts of ImageNet, Tiny-ImageNet, Caltech-101 and -256.

use std::path::{Path, PathBuf};

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::class_folders::{Selection, catalogue};
use simile_core::data::{DatasetError, Part};

use crate::data::error::{DataError, Result};
use crate::data::files::walk::pictures;
use crate::data::pictures::annotations::{Annotations, inner_folder, root, split, text};
use crate::data::settings::{Options, SplitSection};
use crate::data::source::{About, Kind, PictureFiles, Source};

/// The keys of `[data]` for folders of classes.
pub(super) const KEYS: [&str; 2] = ["folders", "split"];

/// The lists of the classes of `val`, below the parent of the folders or the data folder: Tiny-ImageNet's, Caffe's and Kaggle's of
/// ImageNet.
const LISTS: [&str; 4] = ["val/val_annotations.txt", "val.txt", "val/val.txt", "LOC_val_solution.csv"];

/// Folders of Caltech-101 and -256 with unrelated pictures, which are not classes.
pub(super) const CLUTTER: [&str; 2] = ["BACKGROUND_Google", "257.clutter"];

/// A published data set with a folder for each class.
pub(super) struct ClassFolderSet {
    pub(super) about: About,
    /// The parent of the folders, below the data folder, as archives and libraries name it.
    pub(super) inner: &'static [&'static str],
    /// A file or folder that the parent must have, if there is one.
    pub(super) marker: Option<&'static str>,
    /// The folders that are not classes.
    pub(super) left_out: &'static [&'static str],
    /// The usual number of training pictures of each class in published results, if no split is published.
    pub(super) per_class: Option<usize>,
}

impl Source for ClassFolderSet {
    fn about(&self) -> &About {
        &self.about
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }

    fn keys(&self) -> &'static [&'static str] {
        &KEYS
    }
}

impl PictureFiles for ClassFolderSet {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let root = match self.marker {
            Some(marker) => root(folder, self.inner, marker)?,
            None => inner_folder(folder, self.inner),
        };
        ClassFolders { root, left_out: self.left_out, per_class: self.per_class }.read(options, folder)
    }
}

/// The lack of folders of classes, in words, with the remedy.
fn without_classes(pictures: usize) -> String {
    let found = match pictures {
        0 => "it holds no PNG, JPEG or WebP pictures".to_owned(),
        count => format!("it holds {count} pictures, but no folder of a class"),
    };
    format!(
        "{found}; put each picture into a folder with the name of its class, or a CSV file with the columns file,label \
         beside them (`simile init DIR` then writes a recipe)"
    )
}

/// The folders of a data set.
#[derive(Debug, Default)]
pub(super) struct ClassFolders {
    /// Their parent folder, or that of `train` and `val`.
    pub(super) root: PathBuf,
    /// The folders that are not classes.
    pub(super) left_out: &'static [&'static str],
    /// The usual number of training pictures of each class in published results, if no split is published.
    pub(super) per_class: Option<usize>,
}

impl ClassFolders {
    /// Reads the catalogue; `folder` holds the list of classes, if a recipe names one.
    ///
    /// # Errors
    /// If there is no picture, or a given list is missing or cannot be read.
    pub(super) fn read(self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let Self { root, left_out, per_class } = self;
        let listed = match options.folders.and_then(|section| section.classes.as_ref()) {
            Some(path) => {
                let (list, _) = text(&folder.join(path))?;
                let first = list.lines().filter_map(|line| line.split_whitespace().next());
                Some(first.map(String::from).collect::<Vec<_>>())
            }
            None => None,
        };
        let annotations = LISTS
            .iter()
            .flat_map(|list| [root.join(list), folder.join(list)])
            .find(|list| list.is_file())
            .map(|list| text(&list))
            .transpose()?
            // Kaggle's list separates the name of a picture by a comma.
            .map(|(list, origin)| (list.replace(',', " "), origin));
        let selection = Selection {
            classes: listed.as_deref(),
            left_out,
            annotations: annotations.as_ref().map(|(text, origin)| Text::new(text, origin)),
        };
        let paths = pictures(&root)?;
        let catalogue =
            catalogue(&root.display().to_string(), &paths, selection).map_err(|error| match error {
                DatasetError::Empty { .. } => {
                    DataError::Table { path: root.clone(), reason: without_classes(paths.len()) }
                }
                error => error.into(),
            })?;
        let catalogue = if catalogue.parts.iter().all(|&part| part == Part::Train) {
            let default = SplitSection { per_class, ..SplitSection::default() };
            split(catalogue, options.split.unwrap_or(&default))?
        } else if options.split.is_some() {
            let reason =
                "its folders `train` and `val` or `test` are the split already; leave out [data.split]"
                    .into();
            return Err(DataError::Table { path: root, reason });
        } else {
            catalogue
        };
        Ok(Annotations { root, catalogue, notes: Vec::new() })
    }
}
