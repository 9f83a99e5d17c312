//! The classes and the splits of pictures, by their paths.

use std::collections::HashSet;

use simile_core::data::catalogue::numbered;
use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, DatasetError, Split};

use super::class_list::ClassList;
use super::top_folders::TopFolders;
#[cfg(test)]
use crate::data::error::Result as DataResult;

/// The selected pictures.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Selection<'a> {
    /// The selected classes; all if absent.
    pub(super) classes: Option<&'a [String]>,
    /// Folders that are no classes: `BACKGROUND_Google`, `257.clutter`.
    pub(super) left_out: &'a [&'a str],
    /// The classes of the pictures that lie in `val` itself, or in its `images`: `<file> <class> ...` in each line, the file with
    /// or without its ending, as Tiny-ImageNet's `val/val_annotations.txt`. A class that is a number and no folder is that folder
    /// of `train` in alphabetical order, from 0.
    pub(super) annotations: Option<Text<'a>>,
}

impl Selection<'_> {
    fn takes(&self, class: &str) -> bool {
        let is_wanted = self.classes.is_none_or(|classes| classes.iter().any(|name| name == class));
        is_wanted && !self.left_out.contains(&class)
    }
}

/// The meaning of the folders of a data set.
struct Layout<'a> {
    /// True if the folders at the top are splits; otherwise they are classes.
    in_splits: bool,
    /// True if pictures of `test` have classes.
    has_test: bool,
    /// True if there is a list of classes, needed or not.
    has_list: bool,
    /// The list of the classes of `val`, if its pictures lie in no folders of their classes.
    list: Option<ClassList<'a>>,
}

/// A picture, by the folders in which it lies.
enum Picture<'a> {
    Labelled(Split, &'a str),
    /// One to test on whose class is not published.
    Unlabelled,
    /// One in no folder of a class.
    Loose,
}

impl<'a> Layout<'a> {
    /// `paths` are those of all pictures, sorted.
    fn of(paths: &[&'a str], in_splits: bool, annotations: Option<Text<'a>>) -> Result<Self, DatasetError> {
        // Where the pictures of `val` lie in folders of their classes, a file of that name may be anything.
        let is_flat = |path: &&str| {
            matches!(path.split('/').collect::<Vec<_>>()[..], ["val", _] | ["val", "images", _])
        };
        let needed = annotations.filter(|_| in_splits && paths.iter().any(is_flat));
        let list = needed.map(|text| ClassList::read(text, paths)).transpose()?;
        let has_list = annotations.is_some();
        Ok(Self { in_splits, has_test: has_test(paths, has_list), has_list, list })
    }

    fn picture(&self, path: &'a str) -> Result<Picture<'a>, DatasetError> {
        let folders: Vec<&str> = path.split('/').collect();
        if !self.in_splits {
            return Ok(match folders[..] {
                [class, _, ..] => Picture::Labelled(Split::Train, class),
                _ => Picture::Loose,
            });
        }
        Ok(match (&folders[..], &self.list) {
            (["train", class, _, ..], _) => Picture::Labelled(Split::Train, class),
            (["val", "images", file] | ["val", file], Some(list)) => {
                Picture::Labelled(Split::Test, list.class_of(path, file)?)
            }
            (["val" | "valid" | "validation", class, _, ..], _) => {
                Picture::Labelled(if self.has_test { Split::Validation } else { Split::Test }, class)
            }
            (["test", class, _, ..], _) if self.has_test => Picture::Labelled(Split::Test, class),
            // ImageNet publishes no classes of these.
            (["test", ..], _) if self.has_list => Picture::Unlabelled,
            _ => Picture::Loose,
        })
    }
}

/// Reads the catalogue from the paths of pictures below the folder `origin`, with a note on those that lie in no folder of a class; their
/// order does not matter.
///
/// # Errors
/// [`DatasetError::Empty`] without a picture in a folder of its class; [`DatasetError::Parameter`] for a class with
/// test pictures but no training pictures, a selected class that does not exist, or pictures of `val` without
/// a class; [`DatasetError::Line`] for a line of the annotations that cannot be parsed.
pub(super) fn read_catalogue(
    origin: &str,
    paths: &[String],
    selection: Selection<'_>,
) -> Result<(Catalogue, Option<String>), DatasetError> {
    let mut sorted: Vec<&str> = paths.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let tops = TopFolders::of(paths);
    let layout = Layout::of(&sorted, tops.are_splits, selection.annotations)?;
    let (mut files, mut splits, mut names, mut loose) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in sorted {
        match layout.picture(path)? {
            Picture::Labelled(split, class) if selection.takes(class) => {
                files.push(path.to_owned());
                splits.push(split);
                names.push(class);
            }
            Picture::Labelled(..) | Picture::Unlabelled => {}
            Picture::Loose => loose.push(path),
        }
    }
    let is_in_val = |path: &&&str| path.strip_prefix("val/").is_some_and(|file| !file.contains('/'));
    let unlisted = loose.iter().find(is_in_val);
    if let Some(path) = unlisted.filter(|_| splits.iter().all(|&split| split == Split::Train)) {
        let reason = "which has no class: sort the pictures of `val` into folders of their classes, or put a list \
                      `val.txt` beside it, with the name of a picture and that of the folder of its class in each line";
        return Err(DatasetError::parameter("picture", path, reason));
    }
    let (labels, classes) = numbered(names.iter().copied());
    let trained = labels.iter().zip(&splits).filter(|(_, split)| **split == Split::Train);
    check_classes(&classes, &trained.map(|(label, _)| *label).collect(), selection.classes).map_err(
        |(class, lack)| {
            let left_out = tops.note().map_or_else(String::new, |note| format!("; {note}"));
            DatasetError::parameter("class", class, &format!("{lack} {origin}{left_out}"))
        },
    )?;
    Ok((Catalogue::new(origin, files, splits, labels, classes)?, tops.loose(&loose)))
}

/// True if pictures of `test` have classes: those in ImageNet's `test` and in Tiny-ImageNet's `test/images` have none.
fn has_test(paths: &[&str], has_list: bool) -> bool {
    paths.iter().any(|path| match path.split('/').collect::<Vec<_>>().as_slice() {
        ["test", class, _, ..] => *class != "images" || !has_list,
        _ => false,
    })
}

/// Checks that all classes, by their numbers, have training pictures, and that all selected ones are there; otherwise names one
/// with its lack.
fn check_classes<'a>(
    classes: &'a [String],
    trained: &HashSet<usize>,
    wanted: Option<&'a [String]>,
) -> Result<(), (&'a str, &'static str)> {
    if let Some((_, name)) = classes.iter().enumerate().find(|(label, _)| !trained.contains(label)) {
        return Err((name, "which has no training picture in"));
    }
    match wanted.and_then(|wanted| wanted.iter().find(|name| !classes.contains(name))) {
        Some(absent) => Err((absent, "which is not a folder of")),
        None => Ok(()),
    }
}

/// The answer of [`read_catalogue`] to the texts of a case, the paths of pictures and a list of classes: see
/// [`PictureFiles::parse_changed`](crate::data::source::PictureFiles::parse_changed).
#[cfg(test)]
pub(in crate::data::sets) fn parse_changed(texts: &[Text<'_>; 8]) -> Vec<DataResult<()>> {
    let paths: Vec<String> = texts[0].text.lines().map(String::from).collect();
    let annotations = Some(texts[1]).filter(|annotations| !annotations.text.is_empty());
    let selection = Selection { annotations, ..Selection::default() };
    vec![read_catalogue("folder", &paths, selection).map(drop).map_err(Into::into)]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(paths: &[&str], selection: Selection<'_>) -> Result<Catalogue, DatasetError> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        read_catalogue("pictures", &paths, selection).map(|(catalogue, _)| catalogue)
    }

    #[test]
    fn pictures_beside_the_folders_of_classes_are_noted() {
        let note = |paths: &[&str], selection| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            read_catalogue("pictures", &paths, selection).unwrap().1
        };
        let all = Selection::default();
        let text = note(&["cat/1.png", "x.png", "dog/2.png", "y.png"], all).unwrap();
        assert!(text.starts_with("2 pictures lie in no folder of a class, such as x.png, and are"), "{text}");
        let in_splits = ["train/a/1.png", "val/a/2.png", "train/3.png"];
        assert!(note(&in_splits, all).unwrap().starts_with("the picture train/3.png lies in no folder"));
        // The folders beside the splits have a note of their own.
        assert_eq!(note(&["train/a/1.png", "val/a/2.png", "notes/x.png"], all), None);
        let flat_test = ["train/a/1.png", "test/1.png", "test/2.png"];
        assert!(note(&flat_test, all).unwrap().contains("such as test/1.png"));
        let list = Some(Text::new("2.png a\n", "val.txt"));
        let listed = Selection { annotations: list, ..all };
        assert_eq!(note(&["train/a/1.png", "val/2.png", "test/1.png"], listed), None);
    }

    #[test]
    fn folders_say_class_and_split() {
        let paths = ["val/b/3.png", "train/b/1.png", "train/a/2.png", "notes/x.png"];
        let catalogue = read(&paths, Selection::default()).unwrap();
        assert_eq!(catalogue.files, ["train/a/2.png", "train/b/1.png", "val/b/3.png"]);
        assert_eq!((catalogue.labels, catalogue.classes), (vec![0, 1, 1], vec!["a".into(), "b".into()]));
        assert_eq!(catalogue.splits, [Split::Train, Split::Train, Split::Test]);
        let with_test = read(&[&paths[..], &["test/a/9.png"]].concat(), Selection::default()).unwrap();
        assert_eq!(with_test.splits, [Split::Test, Split::Train, Split::Train, Split::Validation]);
    }

    #[test]
    fn tiny_imagenet_has_a_list_of_its_own() {
        let list =
            Text::new("val_0.JPEG\tn02\t0\t32\t44\t62\nval_1.JPEG\tn01\t0\t0\t9\t9\n", "val_annotations.txt");
        let selection = Selection { annotations: Some(list), ..Selection::default() };
        let train = ["train/n01/images/n01_0.JPEG", "train/n02/images/n02_0.JPEG", "test/images/test_0.JPEG"];
        let catalogue = read(&[&train[..], &["val/images/val_0.JPEG"]].concat(), selection).unwrap();
        assert_eq!(
            (catalogue.labels, catalogue.splits),
            (vec![0, 1, 1], vec![Split::Train, Split::Train, Split::Test])
        );
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
            let catalogue = read(&paths, selection).unwrap();
            assert_eq!(
                (catalogue.labels, catalogue.classes),
                (vec![0, 1, 1, 0], vec!["n01".into(), "n02".into()])
            );
            assert_eq!(catalogue.splits, [Split::Train, Split::Train, Split::Test, Split::Test]);
        }
        let error = read(&paths, Selection::default()).unwrap_err().to_string();
        assert!(error.contains("val_00000001") && error.contains("val.txt"), "{error}");
        let sorted = ["train/n01/0.JPEG", "val/n01/1.JPEG", "test/ILSVRC2012_test_00000001.JPEG"];
        assert_eq!(read(&sorted, Selection::default()).unwrap().splits, [Split::Train, Split::Test]);
    }

    #[test]
    fn numbers_of_more_classes_than_there_are_folders_name_none() {
        let paths = ["train/n01/1.JPEG", "train/n05/1.JPEG", "val/1.JPEG", "val/2.JPEG"];
        let list = Text::new("1.JPEG 0\n2.JPEG 1\n3.JPEG 5\n", "val.txt");
        let wanted = ["n01".to_owned(), "n05".to_owned()];
        for classes in [None, Some(&wanted[..])] {
            let selection = Selection { annotations: Some(list), classes, ..Selection::default() };
            let error = read(&paths, selection).unwrap_err().to_string();
            assert!(error.contains("val.txt, which has numbers beyond the 2 folders of `train`"), "{error}");
        }
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
    fn a_class_may_be_called_train() {
        let flat = ["car/1.png", "train/1.png", "train/2.png"];
        let catalogue = read(&flat, Selection::default()).unwrap();
        assert_eq!(
            (catalogue.classes, catalogue.labels),
            (vec!["car".into(), "train".into()], vec![0, 1, 1])
        );
        // With another split, or folders in it, it is a split.
        for splits in [&["train/1.png", "test/1.png"][..], &["train/1.png", "val/1.png", "masks/1.png"]] {
            assert!(read(splits, Selection::default()).is_err(), "{splits:?}");
        }
        let paths = ["car/1.png", "train/steam/1.png"].map(String::from);
        let note = TopFolders::of(&paths).note().unwrap();
        assert!(note.contains("`car`") && note.contains("move them into `train`"), "{note}");
        let wanted = ["car".to_string()];
        let chosen = Selection { classes: Some(&wanted), ..Selection::default() };
        let error = read_catalogue("pictures", &paths, chosen).unwrap_err().to_string();
        assert!(error.contains("`class` is car") && error.contains("are left out"), "{error}");
    }

    #[test]
    fn a_list_that_is_not_needed_is_not_read() {
        let list = Text::new("images/val/1.png\n", "val.txt");
        let selection = Selection { annotations: Some(list), ..Selection::default() };
        let catalogue = read(&["train/a/0.png", "val/a/1.png"], selection).unwrap();
        assert_eq!(catalogue.splits, [Split::Train, Split::Test]);
        let error = read(&["train/a/0.png", "val/1.png"], selection).unwrap_err().to_string();
        assert!(error.contains("val.txt, line 1"), "{error}");
    }

    #[test]
    fn what_cannot_be_learned_is_refused() {
        let error = read(&["train/a/1.png", "val/b/1.png"], Selection::default()).unwrap_err().to_string();
        assert!(error.contains("is b") && error.contains("no training picture"), "{error}");
        assert!(read(&["1.png"], Selection::default()).unwrap_err().to_string().contains("no images"));
    }
}
