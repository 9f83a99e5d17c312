//! A folder for each class: anybody's own, ImageNet's parts, Tiny-ImageNet, Caltech-101 and -256.

use std::path::{Path, PathBuf};

use simile_core::data::Part;
use simile_core::data::formats::lines::Text;
use simile_core::data::sets::class_folders::{Selection, catalogue};

use super::annotations::{Annotations, split, text};
use crate::data::error::{DataError, Result};
use crate::data::files::walk::pictures;
use crate::data::settings::{Options, SplitSection};

/// The keys of `[data]` that say something about folders of classes.
pub(in crate::data) const KEYS: [&str; 2] = ["folders", "split"];

/// Folders of Caltech-101 and -256 that are no class: pictures of anything.
pub(in crate::data) const CLUTTER: [&str; 2] = ["BACKGROUND_Google", "257.clutter"];

/// The folders of a data set.
#[derive(Debug, Default)]
pub(in crate::data) struct ClassFolders {
    /// The folder above them, or above `train` and `val`.
    pub(in crate::data) root: PathBuf,
    /// Those that are no class.
    pub(in crate::data) left_out: &'static [&'static str],
    /// Training pictures of each class that results are usually reported with, where no split is published.
    pub(in crate::data) per_class: Option<usize>,
}

impl ClassFolders {
    /// Reads the catalogue; `folder` is where the list of classes lies, if a recipe names one.
    ///
    /// # Errors
    /// If there is no picture, or a list that is named is missing or not understood.
    pub(in crate::data) fn read(self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let Self { root, left_out, per_class } = self;
        let listed = match options.folders.and_then(|section| section.classes.as_ref()) {
            Some(path) => {
                let (list, _) = text(&folder.join(path))?;
                let first = list.lines().filter_map(|line| line.split_whitespace().next());
                Some(first.map(String::from).collect::<Vec<_>>())
            }
            None => None,
        };
        let annotations = root.join("val/val_annotations.txt");
        let annotations = if annotations.is_file() { Some(text(&annotations)?) } else { None };
        let selection = Selection {
            classes: listed.as_deref(),
            left_out,
            annotations: annotations.as_ref().map(|(text, origin)| Text::new(text, origin)),
        };
        let paths = pictures(&root)?;
        let catalogue = catalogue(&root.display().to_string(), &paths, selection)?;
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
