//! A folder for each class: ImageNet and its parts, Tiny-ImageNet, Caltech-101 and -256, and most private collections.
//!
//! | paths | split |
//! |---|---|
//! | `train/CLASS/...`, and `val/CLASS/...` or `test/CLASS/...` | by folder; `val` is the test part if there is no `test` |
//! | `train/CLASS/images/...` and `val/images/...` with `val/val_annotations.txt` | Tiny-ImageNet: the list gives the classes of `val`, which is the test part; its `test` has no labels |
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
    /// Tiny-ImageNet's `val/val_annotations.txt`: `<file> <class> <box>`.
    pub annotations: Option<Text<'a>>,
}

/// Reads the catalogue from the paths of pictures below the folder `origin`; their order does not matter.
///
/// # Errors
/// [`DatasetError::Empty`] without a picture in a folder of its class; [`DatasetError::Parameter`] for a class with
/// test pictures but no training pictures, or a selected class that does not exist; [`DatasetError::Line`] for a
/// line of the annotations that cannot be parsed.
pub fn catalogue(origin: &str, paths: &[String], selection: Selection<'_>) -> Result<Catalogue> {
    let mut sorted: Vec<&str> = paths.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let annotated = selection.annotations.map(|text| annotations(&text)).transpose()?;
    let has =
        |folder: &str| sorted.iter().any(|path| path.split_once('/').is_some_and(|(top, _)| top == folder));
    let in_parts = has("train");
    let has_test = has("test") && annotated.is_none();

    let (mut files, mut parts, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for path in sorted {
        let folders: Vec<&str> = path.split('/').collect();
        let (part, class) = match folders.as_slice() {
            ["train", class, _, ..] if in_parts => (Part::Train, *class),
            ["val", "images", file] if annotated.is_some() => {
                match annotated.as_ref().and_then(|of| of.get(file)) {
                    Some(class) => (Part::Test, *class),
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
            ["val" | "valid" | "validation", class, _, ..] if in_parts && annotated.is_none() => {
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
