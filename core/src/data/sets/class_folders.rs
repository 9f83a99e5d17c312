//! A folder for each class: ImageNet and its parts, Tiny-ImageNet, Caltech-101 and -256, and most private collections.
//!
//! | paths | split |
//! |---|---|
//! | `train/CLASS/...`, and `val/CLASS/...` or `test/CLASS/...` | by folder; `val` is the test part if there is no `test` |
//! | `train/CLASS/images/...` and `val/images/...` with `val/val_annotations.txt` | Tiny-ImageNet: the list gives the classes of `val`, which is the test part; its `test` has no labels |
//! | `train/CLASS/...` and `val/...` with a list | ImageNet as its authors pack it: the list gives the classes of `val`, which is the test part |
//! | `CLASS/...` | all for training until some are held out |

use std::collections::HashMap;

use crate::data::catalogue::numbered;
use crate::data::formats::lines::Text;
use crate::data::{Catalogue, DatasetError, Part, Result};

/// The selected pictures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection<'a> {
    /// The selected classes; all if absent.
    pub classes: Option<&'a [String]>,
    /// Folders that are no classes: `BACKGROUND_Google`, `257.clutter`.
    pub left_out: &'a [&'a str],
    /// The classes of the pictures that lie in `val` itself, or in its `images`: `<file> <class> ...` in each line, the file with
    /// or without its ending, as Tiny-ImageNet's `val/val_annotations.txt`. A class that is a number and no folder is that folder
    /// of `train` in alphabetical order, from 0.
    pub annotations: Option<Text<'a>>,
}

/// Reads the catalogue from the paths of pictures below the folder `origin`; their order does not matter.
///
/// # Errors
/// [`DatasetError::Empty`] without a picture in a folder of its class; [`DatasetError::Parameter`] for a class with
/// test pictures but no training pictures, a selected class that does not exist, or pictures of `val` whose class nothing
/// says; [`DatasetError::Line`] for a
/// line of the annotations that cannot be parsed.
pub fn catalogue(origin: &str, paths: &[String], selection: Selection<'_>) -> Result<Catalogue> {
    let mut sorted: Vec<&str> = paths.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let annotated = selection.annotations.map(|text| annotations(&text)).transpose()?;
    let has =
        |folder: &str| sorted.iter().any(|path| path.split_once('/').is_some_and(|(top, _)| top == folder));
    let in_parts = has("train");
    // The pictures in ImageNet's `test` and in Tiny-ImageNet's `test/images` have no classes.
    let has_class = |path: &&str| match path.split('/').collect::<Vec<_>>().as_slice() {
        ["test", class, _, ..] => *class != "images" || annotated.is_none(),
        _ => false,
    };
    let has_test = sorted.iter().any(has_class);
    let trained_on = if annotated.is_some() { folders_of(&sorted) } else { Vec::new() };
    let mut unlisted = None;

    let (mut files, mut parts, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for path in sorted {
        let folders: Vec<&str> = path.split('/').collect();
        let (part, class) = match folders.as_slice() {
            ["train", class, _, ..] if in_parts => (Part::Train, *class),
            ["val", "images", file] | ["val", file] if in_parts && annotated.is_some() => {
                let stem = file.rsplit_once('.').map_or(*file, |(stem, _)| stem);
                match annotated.as_ref().and_then(|of| of.get(file).or_else(|| of.get(stem))) {
                    Some(class) => (Part::Test, folder_of(class, &trained_on)),
                    None => {
                        let list = selection.annotations.map_or("", |text| text.origin);
                        return Err(DatasetError::parameter(
                            "picture",
                            path,
                            &format!("which {list} does not name"),
                        ));
                    }
                }
            }
            ["val", _] if in_parts => {
                unlisted.get_or_insert(path);
                continue;
            }
            ["val" | "valid" | "validation", class, _, ..] if in_parts => {
                (if has_test { Part::Validation } else { Part::Test }, *class)
            }
            ["test", class, _, ..] if in_parts && has_test => (Part::Test, *class),
            [class, _, ..] if !in_parts => (Part::Train, *class),
            _ => continue,
        };
        let wanted = selection.classes.is_none_or(|classes| classes.iter().any(|name| name == class));
        if wanted && !selection.left_out.contains(&class) {
            files.push(path.to_owned());
            parts.push(part);
            names.push(class);
        }
    }
    if let Some(path) = unlisted.filter(|_| parts.iter().all(|&part| part == Part::Train)) {
        let reason = "whose class nothing says: sort the pictures of `val` into folders of their classes, or put a list \
                      `val.txt` beside it, with the name of a picture and its class in each line";
        return Err(DatasetError::parameter("picture", path, reason));
    }
    let (labels, classes) = numbered(names.iter().copied());
    let mut trained = vec![false; classes.len()];
    for (&label, _) in labels.iter().zip(&parts).filter(|(_, part)| **part == Part::Train) {
        if let Some(trained) = trained.get_mut(label) {
            *trained = true;
        }
    }
    if let Some((name, _)) = classes.iter().zip(trained).find(|(_, trained)| !trained) {
        let reason = format!("for which {origin} has no training picture");
        return Err(DatasetError::parameter("class", name, &reason));
    }
    if let Some(absent) =
        selection.classes.and_then(|wanted| wanted.iter().find(|name| !classes.contains(name)))
    {
        return Err(DatasetError::parameter("class", absent, &format!("which is no folder of {origin}")));
    }
    Catalogue::new(origin, files, parts, labels, classes)
}

/// The folders of `train`, in order; `paths` are sorted.
fn folders_of<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let of_train = |path: &&'a str| path.strip_prefix("train/")?.split_once('/').map(|(class, _)| class);
    let mut folders: Vec<&str> = paths.iter().filter_map(of_train).collect();
    folders.dedup();
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// The folder of a class of a list, which may be the number of the folder.
fn folder_of<'a>(class: &'a str, folders: &[&'a str]) -> &'a str {
    let numbered = || class.parse().ok().and_then(|number: usize| folders.get(number).copied());
    if folders.binary_search(&class).is_ok() { class } else { numbered().unwrap_or(class) }
}

fn annotations<'a>(text: &Text<'a>) -> Result<HashMap<&'a str, &'a str>> {
    text.words().map(|row| row.map(|(_, [file, class])| (file, class))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(paths: &[&str], selection: Selection<'_>) -> Result<Catalogue> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        catalogue("pictures", &paths, selection)
    }

    #[test]
    fn folders_say_class_and_split() {
        let paths = ["val/b/3.png", "train/b/1.png", "train/a/2.png", "notes/x.png"];
        let found = read(&paths, Selection::default()).unwrap();
        assert_eq!(found.files, ["train/a/2.png", "train/b/1.png", "val/b/3.png"]);
        assert_eq!((found.labels, found.classes), (vec![0, 1, 1], vec!["a".into(), "b".into()]));
        assert_eq!(found.parts, [Part::Train, Part::Train, Part::Test]);
        let with_test = read(&[&paths[..], &["test/a/9.png"]].concat(), Selection::default()).unwrap();
        assert_eq!(with_test.parts, [Part::Test, Part::Train, Part::Train, Part::Validation]);
    }

    #[test]
    fn tiny_imagenet_has_a_list_of_its_own() {
        let list =
            Text::new("val_0.JPEG\tn02\t0\t32\t44\t62\nval_1.JPEG\tn01\t0\t0\t9\t9\n", "val_annotations.txt");
        let selection = Selection { annotations: Some(list), ..Selection::default() };
        let train = ["train/n01/images/n01_0.JPEG", "train/n02/images/n02_0.JPEG", "test/images/test_0.JPEG"];
        let found = read(&[&train[..], &["val/images/val_0.JPEG"]].concat(), selection).unwrap();
        assert_eq!((found.labels, found.parts), (vec![0, 1, 1], vec![Part::Train, Part::Train, Part::Test]));
        let unknown =
            read(&[&train[..], &["val/images/val_7.JPEG"]].concat(), selection).unwrap_err().to_string();
        assert!(unknown.contains("val_7.JPEG") && unknown.contains("val_annotations.txt"), "{unknown}");
    }

    #[test]
    fn imagenet_as_its_authors_pack_it_has_a_list_of_its_flat_validation_pictures() {
        let paths = [
            "train/n01/n01_0.JPEG",
            "train/n02/n02_0.JPEG",
            "val/ILSVRC2012_val_00000001.JPEG",
            "val/ILSVRC2012_val_00000002.JPEG",
            "test/ILSVRC2012_test_00000001.JPEG",
        ];
        let lists = [
            "ILSVRC2012_val_00000001.JPEG n02\nILSVRC2012_val_00000002.JPEG n01\n",
            // Caffe's numbers, and Kaggle's names with their boxes.
            "ILSVRC2012_val_00000001.JPEG 1\nILSVRC2012_val_00000002.JPEG 0\n",
            "ImageId PredictionString\nILSVRC2012_val_00000001 n02 8 1 9 2 n02 5 5 9 9\nILSVRC2012_val_00000002 n01 3 4 5 6\n",
        ];
        for list in lists {
            let selection =
                Selection { annotations: Some(Text::new(list, "val.txt")), ..Selection::default() };
            let found = read(&paths, selection).unwrap();
            assert_eq!((found.labels, found.classes), (vec![0, 1, 1, 0], vec!["n01".into(), "n02".into()]));
            assert_eq!(found.parts, [Part::Train, Part::Train, Part::Test, Part::Test]);
        }
        let error = read(&paths, Selection::default()).unwrap_err().to_string();
        assert!(error.contains("val_00000001") && error.contains("val.txt"), "{error}");
        let sorted = ["train/n01/0.JPEG", "val/n01/1.JPEG", "test/ILSVRC2012_test_00000001.JPEG"];
        assert_eq!(read(&sorted, Selection::default()).unwrap().parts, [Part::Train, Part::Test]);
    }

    #[test]
    fn classes_can_be_chosen_and_left_out() {
        let paths = ["a/1.jpg", "b/1.jpg", "BACKGROUND_Google/1.jpg", "c/1.jpg"];
        let left_out = &["BACKGROUND_Google"][..];
        assert_eq!(
            read(&paths, Selection { left_out, ..Selection::default() }).unwrap().classes,
            ["a", "b", "c"]
        );
        let wanted = ["a".to_string(), "c".to_string()];
        let chosen = Selection { classes: Some(&wanted), ..Selection::default() };
        assert_eq!(read(&paths, chosen).unwrap().classes, ["a", "c"]);
        let error = read(&paths[..2], chosen).unwrap_err().to_string();
        assert!(error.contains("`class` is c"), "{error}");
    }

    #[test]
    fn what_cannot_be_learned_is_refused() {
        let error = read(&["train/a/1.png", "val/b/1.png"], Selection::default()).unwrap_err().to_string();
        assert!(error.contains("is b") && error.contains("no training picture"), "{error}");
        assert!(read(&["1.png"], Selection::default()).unwrap_err().to_string().contains("no images"));
    }
}
