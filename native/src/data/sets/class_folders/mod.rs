//! A folder for each class: ImageNet and its parts, Tiny-ImageNet, Caltech-101 and -256, and most private collections.
//!
//! | paths | split |
//! |---|---|
//! | `train/CLASS/...`, and `val/CLASS/...` or `test/CLASS/...` | by folder; `val` is the test split if there is no `test` |
//! | `train/CLASS/images/...` and `val/images/...` with `val/val_annotations.txt` | Tiny-ImageNet: the list gives the classes of `val`, which is the test split; its `test` has no labels |
//! | `train/CLASS/...` and `val/...` with a list | ImageNet as its authors pack it: the list gives the classes of `val`, which is the test split |
//! | `CLASS/...` | all for training until some are held out; a class may be called `train` if no folder in it holds pictures, and no other is called as a split |

mod top_folders;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use simile_core::data::catalogue::numbered;
use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, DatasetError, Split};

use self::top_folders::{TopFolders, misspelt_splits};
use super::split::SplitSection;
use crate::data::error::{DataError, Result};
use crate::data::files::walk::Below;
use crate::data::options::{DatasetOption, OptionType, Options};
use crate::data::pictures::annotations::{Annotations, inner_folder, root, text};
use crate::data::source::{About, Kind, PictureFiles, Source};

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
}

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
    /// Number of classes, if the data set is a part of one that may lie in the same folder.
    pub(super) most_classes: Option<usize>,
}

impl Source for ClassFolderSet {
    fn about(&self) -> &About {
        &self.about
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }

    fn options(&self) -> &'static [OptionType] {
        &OPTIONS
    }
}

impl PictureFiles for ClassFolderSet {
    fn annotate(&self, options: &Options, folder: &Path) -> Result<Annotations> {
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
    fn is_whole(&self, options: &Options) -> bool {
        options.get::<FoldersSection>().is_none()
    }
}

/// The lack of folders of classes, in words, with the remedy.
fn without_classes(below: &Below) -> String {
    let paths = &below.pictures;
    let content = match paths.len() {
        0 => "it holds no PNG, JPEG or WebP pictures".to_owned(),
        count => {
            let passed_over =
                TopFolders::of(paths).note().map_or_else(String::new, |note| format!("; {note}"));
            format!("it holds {count} pictures, but no folder of a class{passed_over}")
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
    pub(super) fn read(self, options: &Options, folder: &Path) -> Result<Annotations> {
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
            catalogue(&origin, &below.pictures, selection).map_err(|error| match error {
                DatasetError::Empty { .. } => {
                    DataError::Table { path: root.clone(), reason: without_classes(&below) }
                }
                error => error.into(),
            })?;
        let catalogue = if catalogue.splits.iter().all(|&split| split == Split::Train) {
            let given = options.get::<SplitSection>().cloned().unwrap_or_default();
            given.with_per_class(per_class).split(catalogue)?
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

/// The selected pictures.
#[derive(Debug, Clone, Copy, Default)]
struct Selection<'a> {
    /// The selected classes; all if absent.
    classes: Option<&'a [String]>,
    /// Folders that are no classes: `BACKGROUND_Google`, `257.clutter`.
    left_out: &'a [&'a str],
    /// The classes of the pictures that lie in `val` itself, or in its `images`: `<file> <class> ...` in each line, the file with
    /// or without its ending, as Tiny-ImageNet's `val/val_annotations.txt`. A class that is a number and no folder is that folder
    /// of `train` in alphabetical order, from 0.
    annotations: Option<Text<'a>>,
}

/// Reads the catalogue from the paths of pictures below the folder `origin`, with a note on those that lie in no folder of a class; their
/// order does not matter.
///
/// # Errors
/// [`DatasetError::Empty`] without a picture in a folder of its class; [`DatasetError::Parameter`] for a class with
/// test pictures but no training pictures, a selected class that does not exist, or pictures of `val` without
/// a class; [`DatasetError::Line`] for a line of the annotations that cannot be parsed.
fn catalogue(
    origin: &str,
    paths: &[String],
    selection: Selection<'_>,
) -> Result<(Catalogue, Option<String>), DatasetError> {
    let mut sorted: Vec<&str> = paths.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let tops = TopFolders::of(paths);
    let in_splits = tops.are_splits;
    // Where the pictures of `val` lie in folders of their classes, a file of that name may be anything.
    let is_flat =
        |path: &&str| matches!(path.split('/').collect::<Vec<_>>()[..], ["val", _] | ["val", "images", _]);
    let needed = selection.annotations.filter(|_| in_splits && sorted.iter().any(is_flat));
    let list = needed.map(|text| ClassList::read(text, &sorted)).transpose()?;
    let passed_over = tops.note().map_or_else(String::new, |note| format!("; {note}"));
    let has_test = has_test(&sorted, selection);

    let (mut files, mut splits, mut names, mut loose) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for path in sorted {
        let folders: Vec<&str> = path.split('/').collect();
        let (split, class) = match (folders.as_slice(), &list) {
            (["train", class, _, ..], _) if in_splits => (Split::Train, *class),
            (["val", "images", file] | ["val", file], Some(list)) if in_splits => {
                (Split::Test, list.class_of(path, file)?)
            }
            (["val" | "valid" | "validation", class, _, ..], _) if in_splits => {
                (if has_test { Split::Validation } else { Split::Test }, *class)
            }
            (["test", class, _, ..], _) if in_splits && has_test => (Split::Test, *class),
            ([class, _, ..], _) if !in_splits => (Split::Train, *class),
            // ImageNet publishes no classes of these.
            (["test", ..], _) if in_splits && selection.annotations.is_some() => continue,
            _ => {
                loose.push(path);
                continue;
            }
        };
        let wanted = selection.classes.is_none_or(|classes| classes.iter().any(|name| name == class));
        if wanted && !selection.left_out.contains(&class) {
            files.push(path.to_owned());
            splits.push(split);
            names.push(class);
        }
    }
    let is_in_val = |path: &&&str| path.strip_prefix("val/").is_some_and(|file| !file.contains('/'));
    let unlisted = loose.iter().find(is_in_val);
    if let Some(path) = unlisted.filter(|_| splits.iter().all(|&split| split == Split::Train)) {
        let reason = "which has no class: sort the pictures of `val` into folders of their classes, or put a list \
                      `val.txt` beside it, with the name of a picture and its class in each line";
        return Err(DatasetError::parameter("picture", path, reason));
    }
    let (labels, classes) = numbered(names.iter().copied());
    let trained = labels.iter().zip(&splits).filter(|(_, split)| **split == Split::Train);
    check_classes(&classes, &trained.map(|(label, _)| *label).collect(), selection.classes).map_err(
        |(class, lack)| DatasetError::parameter("class", class, &format!("{lack} {origin}{passed_over}")),
    )?;
    Ok((Catalogue::new(origin, files, splits, labels, classes)?, tops.loose(&loose)))
}

/// True if pictures of `test` have classes: those in ImageNet's `test` and in Tiny-ImageNet's `test/images` have none.
fn has_test(paths: &[&str], selection: Selection<'_>) -> bool {
    paths.iter().any(|path| match path.split('/').collect::<Vec<_>>().as_slice() {
        ["test", class, _, ..] => *class != "images" || selection.annotations.is_none(),
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

/// The classes of pictures that lie in no folder of a class; see [`Selection::annotations`].
struct ClassList<'a> {
    origin: &'a str,
    /// The class of a file.
    classes: HashMap<&'a str, &'a str>,
    /// The folders of `train`, in order.
    trained: Vec<&'a str>,
    /// True if its numbers count no more classes than there are folders, so that they can be those of the folders.
    counts_folders: bool,
}

impl<'a> ClassList<'a> {
    /// `paths` are those of all pictures, sorted.
    fn read(text: Text<'a>, paths: &[&'a str]) -> Result<Self, DatasetError> {
        let of_train = |path: &&'a str| path.strip_prefix("train/")?.split_once('/').map(|(class, _)| class);
        let mut trained: Vec<&str> = paths.iter().filter_map(of_train).collect();
        trained.dedup();
        trained.sort_unstable();
        trained.dedup();
        let rows = text.words().map(|row| row.map(|(_, [file, class])| (file, class)));
        let classes: HashMap<&str, &str> = rows.collect::<Result<_, _>>()?;
        let largest = classes.values().filter_map(|class| class.parse::<usize>().ok()).max();
        let counts_folders = largest.is_none_or(|largest| largest < trained.len());
        Ok(Self { origin: text.origin, classes, trained, counts_folders })
    }

    /// The class of the file at a path, with or without its ending; a class that is a number and no folder is that folder of
    /// `train`, unless the list counts more classes than there are folders.
    fn class_of(&self, path: &str, file: &str) -> Result<&'a str, DatasetError> {
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let Some(&class) = self.classes.get(file).or_else(|| self.classes.get(stem)) else {
            let reason = format!("which {} does not list", self.origin);
            return Err(DatasetError::parameter("picture", path, &reason));
        };
        if self.trained.binary_search(&class).is_ok() {
            return Ok(class);
        }
        let Ok(number) = class.parse::<usize>() else { return Ok(class) };
        match self.trained.get(number) {
            Some(folder) if self.counts_folders => Ok(folder),
            _ => {
                let reason = format!(
                    "of a picture in {}, whose numbers go beyond the {} folders of `train`, so they stand for none of them; write \
                     the names of the folders there",
                    self.origin,
                    self.trained.len()
                );
                Err(DatasetError::parameter("class", class, &reason))
            }
        }
    }
}

/// The answer of [`catalogue`] to the texts of a case, the paths of pictures and a list of classes: see [`PictureFiles::parse_changed`].
#[cfg(test)]
pub(super) fn parse_changed(texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
    let paths: Vec<String> = texts[0].text.lines().map(String::from).collect();
    let annotations = Some(texts[1]).filter(|annotations| !annotations.text.is_empty());
    let selection = Selection { annotations, ..Selection::default() };
    vec![catalogue("folder", &paths, selection).map(drop).map_err(Into::into)]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(paths: &[&str], selection: Selection<'_>) -> Result<Catalogue, DatasetError> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        catalogue("pictures", &paths, selection).map(|(catalogue, _)| catalogue)
    }

    #[test]
    fn pictures_beside_the_folders_of_classes_are_noted() {
        let note = |paths: &[&str], selection| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            catalogue("pictures", &paths, selection).unwrap().1
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
            assert!(error.contains("numbers go beyond the 2 folders of `train`"), "{error}");
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
        let error = super::catalogue("pictures", &paths, chosen).unwrap_err().to_string();
        assert!(error.contains("`class` is car") && error.contains("are left out"), "{error}");
        let pictures = ["train/1.png", "val/1.png", "car/1.png"].map(String::from).into();
        assert!(without_classes(&Below { pictures, ..Below::default() }).contains("`car`"));
    }

    #[test]
    fn folders_that_are_almost_called_as_splits_are_no_classes() {
        for meant in [["Training/a/1.png", "Testing/a/2.png"], ["TRAIN/a/1.png", "val/a/2.png"]] {
            let reason = misspelt_splits(&meant).unwrap();
            assert!(reason.contains("look like parts") && reason.contains("`train`"), "{reason}");
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
        let error = folders.read(&Options::default(), place.path()).unwrap_err().to_string();
        assert!(error.contains("its folders `Testing`, `Training` look like parts"), "{error}");
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
    fn a_listed_class_may_have_spaces_in_its_name() {
        let paths = ["train/sea lion/1.png", "train/n01/2.png"].map(String::from);
        let list = "n01 robin\n\n  sea lion\r\nseal 3\n";
        assert_eq!(listed(Text::new(list, "list.txt"), &paths), ["n01", "sea lion", "seal"]);
    }

    #[test]
    fn what_cannot_be_learned_is_refused() {
        let error = read(&["train/a/1.png", "val/b/1.png"], Selection::default()).unwrap_err().to_string();
        assert!(error.contains("is b") && error.contains("no training picture"), "{error}");
        assert!(read(&["1.png"], Selection::default()).unwrap_err().to_string().contains("no images"));
    }
}
