//! A folder for each class: ImageNet and its parts, Tiny-ImageNet, Caltech-101 and -256, and most private collections.
//!
//! | paths | split |
//! |---|---|
//! | `train/CLASS/...`, and `val/CLASS/...` or `test/CLASS/...` | by folder; `val` is the test split if there is no `test` |
//! | `train/CLASS/images/...` and `val/images/...` with `val/val_annotations.txt` | Tiny-ImageNet: the list gives the classes of `val`, which is the test split; its `test` has no labels |
//! | `train/CLASS/...` and `val/...` with a list | ImageNet as its authors pack it: the list gives the classes of `val`, which is the test split |
//! | `CLASS/...` | all for training until some are held out; a class may be called `train` if no folder in it holds pictures, and no other is called as a split |

mod catalogue;
mod class_list;
mod set;
mod top_folders;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use simile_core::data::formats::lines::Text;
use simile_core::data::{DatasetError, Split};

#[cfg(test)]
pub(super) use self::catalogue::parse_changed;
use self::catalogue::{Selection, read_catalogue};
pub(super) use self::set::ClassFolderSet;
use self::top_folders::{TopFolders, misspelt_splits};
use super::split::SplitSection;
use crate::data::error::{DataError, Result};
use crate::data::files::walk::Below;
use crate::data::keys::of_dataset::{DatasetOption, OptionType, ReadOptions};
use crate::data::pictures::annotations::{Annotations, text};

/// The keys of `[data]` for folders of classes.
pub(super) const OPTIONS: [OptionType; 2] =
    [OptionType::of::<FoldersSection>(), OptionType::of::<SplitSection>()];

/// `[data.folders]`: the folders that are classes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FoldersSection {
    /// A text file in the data folder whose lines are names of classes, or begin with one; all folders if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<PathBuf>,
}

impl DatasetOption for FoldersSection {
    const KEY: &'static str = "folders";
    const MEANINGS: &'static [(&'static str, &'static str)] = &[
        ("", "The folders that are classes."),
        (
            "classes",
            "Text file in the data folder whose lines begin with the names of the classes to take; all by default.",
        ),
    ];
}

/// The lists of the classes of `val`, below the parent of the folders or the data folder: Tiny-ImageNet's, Caffe's and Kaggle's of
/// ImageNet.
const LISTS: [&str; 4] = ["val/val_annotations.txt", "val.txt", "val/val.txt", "LOC_val_solution.csv"];

/// Folders of Caltech-101 and -256 with unrelated pictures, which are not classes.
pub(super) const CLUTTER: [&str; 2] = ["BACKGROUND_Google", "257.clutter"];

/// The lack of folders of classes, in words, with the remedy.
fn without_classes(below: &Below) -> String {
    let paths = &below.pictures;
    let content = match paths.len() {
        0 => "it holds no PNG, JPEG or WebP pictures".to_owned(),
        count => {
            let left_out = TopFolders::of(paths).note().map_or_else(String::new, |note| format!("; {note}"));
            format!("it holds {count} pictures, but no folder of a class{left_out}")
        }
    };
    let others = below.note().map_or_else(String::new, |note| format!("; {note}"));
    format!(
        "{content}{others}; put each picture into a folder with the name of its class, or a CSV file with the columns file,label \
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
    pub(super) fn read(self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let Self { root, left_out, per_class } = self;
        let below = Below::of(&root)?;
        if let Some(reason) = misspelt_splits(&below.pictures) {
            return Err(DataError::Table { path: root, reason });
        }
        let listed = match options.get::<FoldersSection>().and_then(|section| section.classes.as_ref()) {
            Some(path) => {
                let (list, origin) = text(&folder.join(path))?;
                Some(listed(Text::new(&list, &origin), &below.pictures))
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
        let origin = root.display().to_string();
        let (catalogue, loose) =
            read_catalogue(&origin, &below.pictures, selection).map_err(|error| match error {
                DatasetError::Empty { .. } => {
                    DataError::Table { path: root.clone(), reason: without_classes(&below) }
                }
                error => error.into(),
            })?;
        let catalogue = if catalogue.splits.iter().all(|&split| split == Split::Train) {
            let section = options.get::<SplitSection>().cloned().unwrap_or_default();
            section.with_per_class(per_class).split(catalogue)?
        } else if options.get::<SplitSection>().is_some() {
            let reason =
                "its folders `train` and `val` or `test` are the split already; leave out [data.split]"
                    .into();
            return Err(DataError::Table { path: root, reason });
        } else {
            catalogue
        };
        let notes = [TopFolders::of(&below.pictures).note(), below.note(), loose].into_iter().flatten();
        let notes = notes.map(|note| format!("{origin}: {note}")).collect();
        Ok(Annotations { root, catalogue, notes })
    }
}

/// The classes of a list: the line if a folder has that name, else its first word.
fn listed(list: Text<'_>, paths: &[String]) -> Vec<String> {
    let folders: HashSet<&str> = paths
        .iter()
        .filter_map(|path| path.rsplit_once('/'))
        .flat_map(|(above, _)| above.split('/'))
        .collect();
    let first = |line: &str| line.split_whitespace().next().map(String::from);
    let class = |line: &str| if folders.contains(line) { Some(line.to_owned()) } else { first(line) };
    list.lines().filter_map(|(_, line)| class(line)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pictures_without_folders_of_classes_name_the_folders_that_are_left_out() {
        let pictures = ["train/1.png", "val/1.png", "car/1.png"].map(String::from).into();
        assert!(without_classes(&Below { pictures, ..Below::default() }).contains("`car`"));
    }

    #[test]
    fn folders_that_are_almost_called_as_splits_are_no_classes() {
        for meant in [["Training/a/1.png", "Testing/a/2.png"], ["TRAIN/a/1.png", "val/a/2.png"]] {
            let reason = misspelt_splits(&meant).unwrap();
            assert!(reason.contains("look like splits") && reason.contains("`train`"), "{reason}");
        }
        for fine in [
            ["train/a/1.png", "test/a/2.png"],
            ["Training/a/1.png", "Cars/a/2.png"],
            ["Train/1.png", "Test/2.png"],
            ["Train/a/1.png", "Train/b/2.png"],
        ] {
            assert_eq!(misspelt_splits(&fine), None, "{fine:?}");
        }
        let place = tempfile::tempdir().unwrap();
        for file in ["Training/a/1.png", "Testing/a/2.png"] {
            let path = place.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let folders = ClassFolders { root: place.path().into(), ..ClassFolders::default() };
        let error = folders.read(&ReadOptions::default(), place.path()).unwrap_err().to_string();
        assert!(error.contains("its folders `Testing`, `Training` look like splits"), "{error}");
    }

    #[test]
    fn a_listed_class_may_have_spaces_in_its_name() {
        let paths = ["train/sea lion/1.png", "train/n01/2.png"].map(String::from);
        let list = "n01 robin\n\n  sea lion\r\nseal 3\n";
        assert_eq!(listed(Text::new(list, "list.txt"), &paths), ["n01", "sea lion", "seal"]);
    }
}
