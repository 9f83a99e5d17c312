//! The folders at the top of a folder of pictures: splits, such as `train` and `test`, or classes.

use std::collections::BTreeSet;

/// The folders that are splits.
const SPLITS: [&str; 5] = ["train", "val", "valid", "validation", "test"];
/// Other usual names of splits, which may have capitals.
const ALIKE: [&str; 2] = ["training", "testing"];

/// The reason why folders at the top that are called almost as splits, such as `Training` and `Testing`, are not taken for classes:
/// all of them are, and hold folders.
pub(super) fn misspelt_splits(paths: &[impl AsRef<str>]) -> Option<String> {
    let within = || paths.iter().filter_map(|path| path.as_ref().split_once('/'));
    let tops: BTreeSet<&str> = within().map(|(top, _)| top).collect();
    let is_alike = |top: &&str| {
        let word = top.to_ascii_lowercase();
        SPLITS.iter().chain(&ALIKE).any(|split| *split == word)
    };
    let are_meant = !TopFolders::of(paths).are_splits
        && tops.len() > 1
        && tops.iter().all(is_alike)
        && within().all(|(_, rest)| rest.contains('/'));
    are_meant.then(|| {
        let names: Vec<String> = tops.iter().map(|top| format!("`{top}`")).collect();
        format!(
            "its folders {} look like splits: call the one to train on `train`, and the others `val` and `test`; or rename them if they \
             are classes",
            names.join(", ")
        )
    })
}

/// The folders at the top that hold pictures.
pub(super) struct TopFolders<'a> {
    /// True if they are splits; otherwise they are classes.
    pub(super) are_splits: bool,
    /// Folders beside the splits, which are left out.
    others: BTreeSet<&'a str>,
}

impl<'a> TopFolders<'a> {
    /// The folders of the paths of pictures.
    pub(super) fn of(paths: &'a [impl AsRef<str>]) -> Self {
        let within = || paths.iter().filter_map(|path| path.as_ref().split_once('/'));
        let is_class_of_train = |(top, rest): (&str, &str)| top == "train" && rest.contains('/');
        let (splits, others): (BTreeSet<&str>, BTreeSet<&str>) =
            within().map(|(top, _)| top).partition(|top| SPLITS.contains(top));
        // A class can be called `train` too, if nothing else looks like a split.
        let are_splits = splits.contains("train")
            && (splits.len() > 1 || others.is_empty() || within().any(is_class_of_train));
        Self { are_splits, others: if are_splits { others } else { BTreeSet::new() } }
    }

    /// A note on some pictures that lie in no folder of a class, but for those in the folders of [`note`](Self::note).
    pub(super) fn loose(&self, paths: &[&str]) -> Option<String> {
        let is_noted = |path: &str| path.split_once('/').is_some_and(|(top, _)| self.others.contains(top));
        let loose: Vec<&str> = paths.iter().copied().filter(|path| !is_noted(path)).collect();
        let lie = match loose.as_slice() {
            [] => return None,
            [only] => format!("the picture {only} lies in no folder of a class, and is left out"),
            [first, ..] => format!(
                "{} pictures lie in no folder of a class, such as {first}, and are left out",
                loose.len()
            ),
        };
        Some(format!("{lie}; move what belongs to a class into its folder"))
    }

    /// The folders that are left out, in words, with the remedy.
    pub(super) fn note(&self) -> Option<String> {
        let shown: Vec<String> = self.others.iter().take(3).map(|folder| format!("`{folder}`")).collect();
        let more = match self.others.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!shown.is_empty()).then(|| {
            format!(
                "`train` is taken for the training split, so the pictures in {}{more} are left out; if these folders are classes, \
                 move them into `train`, or give the class `train` another name",
                shown.join(", ")
            )
        })
    }
}
