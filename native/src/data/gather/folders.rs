//! A folder for each class: anybody's own, ImageNet's parts, Tiny-ImageNet, Caltech-101 and -256.

use std::path::{Path, PathBuf};

use simile_core::data::Part;
use simile_core::data::formats::lines::Text;
use simile_core::data::sets::class_folders::{Selection, catalogue};

use super::{Gathered, root, split, text};
use crate::config::data::DatasetName;
use crate::data::settings::{FoldersSection, SplitSection};
use crate::data::walk::pictures;
use crate::data::{DataError, Result};

/// Folders of Caltech-101 and -256 that are no class: pictures of anything.
const CLUTTER: [&str; 2] = ["BACKGROUND_Google", "257.clutter"];

/// Reads the catalogue of a folder of folders.
///
/// # Errors
/// If there is no picture, or a list that is named is missing or not understood.
pub(super) fn gather(
    dataset: DatasetName,
    section: Option<&FoldersSection>,
    split_section: Option<&SplitSection>,
    folder: &Path,
) -> Result<Gathered> {
    let root = place(dataset, folder)?;
    let listed = match section.and_then(|section| section.classes.as_ref()) {
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
        left_out: match dataset {
            DatasetName::Caltech101 | DatasetName::Caltech256 => &CLUTTER,
            _ => &[],
        },
        annotations: annotations.as_ref().map(|(text, origin)| Text::new(text, origin)),
    };
    let paths = pictures(&root)?;
    let catalogue = catalogue(&root.display().to_string(), &paths, selection)?;
    let catalogue = if catalogue.parts.iter().all(|&part| part == Part::Train) {
        let default = SplitSection { per_class: usual(dataset), ..SplitSection::default() };
        split(catalogue, split_section.unwrap_or(&default))?
    } else if split_section.is_some() {
        let reason =
            "its folders `train` and `val` or `test` are the split already; leave out [data.split]".into();
        return Err(DataError::Table { path: root, reason });
    } else {
        catalogue
    };
    Ok(Gathered { root, catalogue, notes: Vec::new() })
}

/// Training pictures of each class that results on a data set are usually reported with.
fn usual(dataset: DatasetName) -> Option<usize> {
    match dataset {
        DatasetName::Caltech101 => Some(30),
        DatasetName::Caltech256 => Some(60),
        _ => None,
    }
}

fn place(dataset: DatasetName, folder: &Path) -> Result<PathBuf> {
    let inner: &[&str] = match dataset {
        DatasetName::TinyImagenet => {
            return root(folder, &["tiny-imagenet-200", "tiny-imagenet/tiny-imagenet-200"], "wnids.txt");
        }
        DatasetName::Imagenet100 => {
            return root(folder, &["imagenet-100", "imagenet100", "imagenet"], "train");
        }
        DatasetName::Caltech101 => &[
            "caltech-101/101_ObjectCategories",
            "101_ObjectCategories",
            "caltech101/101_ObjectCategories",
            "caltech-101",
        ],
        DatasetName::Caltech256 => &[
            "caltech-256/256_ObjectCategories",
            "256_ObjectCategories",
            "caltech256/256_ObjectCategories",
            "caltech-256",
        ],
        _ => &[],
    };
    let found = inner.iter().map(|name| folder.join(name)).find(|path| path.is_dir());
    Ok(found.unwrap_or_else(|| folder.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    fn put(folder: &Path, file: &str, content: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[test]
    fn a_class_of_the_validation_list_without_training_pictures_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tiny-imagenet-200");
        put(&root, "wnids.txt", "n02124075\nn04067472\n");
        put(&root, "train/n02124075/images/n02124075_0.JPEG", "");
        put(&root, "train/n02124075/n02124075_boxes.txt", "n02124075_0.JPEG\t0\t10\t63\t58\n");
        put(&root, "val/images/val_0.JPEG", "");
        put(&root, "val/val_annotations.txt", "val_0.JPEG\tn04067472\t0\t32\t44\t62\n");
        let gathered = || gather(DatasetName::TinyImagenet, None, None, folder.path());
        let error = gathered().unwrap_err().to_string();
        assert!(error.contains("no training picture") && error.contains("n04067472"), "{error}");
        put(&root, "train/n04067472/images/n04067472_0.JPEG", "");
        let tiny = gathered().unwrap().catalogue;
        assert_eq!((tiny.of(Part::Train).len(), tiny.of(Part::Test).len()), (2, 1));
    }

    #[test]
    fn objects_are_split_by_class() {
        let folder = tempfile::tempdir().unwrap();
        for class in ["barrel", "bass", "beaver", "binocular", "BACKGROUND_Google"] {
            for at in 1..=6 {
                let file = format!("caltech-101/101_ObjectCategories/{class}/image_{at:04}.jpg");
                put(folder.path(), &file, "");
            }
        }
        let section = SplitSection { per_class: Some(4), ..SplitSection::default() };
        let caltech = gather(DatasetName::Caltech101, None, Some(&section), folder.path()).unwrap().catalogue;
        assert_eq!(caltech.classes, ["barrel", "bass", "beaver", "binocular"]);
        assert_eq!((caltech.of(Part::Train).len(), caltech.of(Part::Test).len()), (16, 8));
    }
}
