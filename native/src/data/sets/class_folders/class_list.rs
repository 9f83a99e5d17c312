//! A list of the classes of pictures that lie in no folder of a class.

use std::collections::HashMap;

use simile_core::data::DatasetError;
use simile_core::data::formats::lines::Text;

/// The classes of pictures that lie in no folder of a class; see [`Selection::annotations`](super::catalogue::Selection::annotations).
pub(super) struct ClassList<'a> {
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
    pub(super) fn read(text: Text<'a>, paths: &[&'a str]) -> Result<Self, DatasetError> {
        let class_of_train =
            |path: &&'a str| path.strip_prefix("train/")?.split_once('/').map(|(class, _)| class);
        let mut trained: Vec<&str> = paths.iter().filter_map(class_of_train).collect();
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
    pub(super) fn class_of(&self, path: &str, file: &str) -> Result<&'a str, DatasetError> {
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
                    "a number in {}, which has numbers beyond the {} folders of `train`, so none stands for a folder; write the names of \
                     the folders there",
                    self.origin,
                    self.trained.len()
                );
                Err(DatasetError::parameter("class", class, &reason))
            }
        }
    }
}
