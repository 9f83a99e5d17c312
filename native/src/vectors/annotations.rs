//! The class, the split and the attributes of vectors: from a CSV file, or from the columns of Parquet files.

use std::path::{Path, PathBuf};

use anyhow::Result;
use simile_core::data::Catalogue;

use super::{columns, table};
use crate::console::line;

/// The class, the attributes and the split of each row.
pub(super) struct Annotations {
    pub(super) catalogue: Catalogue,
    pub(super) has_split: bool,
    /// The table, if it names the file of each row.
    names_files: Option<PathBuf>,
}

impl Annotations {
    /// Reads the annotations of a CSV file.
    ///
    /// # Errors
    /// As [`table::read`].
    pub(super) fn from_table(table: &Path, label: Option<&str>, condition: Option<&str>) -> Result<Self> {
        let table::Labels { table: read, names_files } = table::read(table, label, condition)?;
        read.notes.iter().for_each(line);
        Ok(Self {
            catalogue: read.catalogue,
            has_split: read.has_split,
            names_files: names_files.then(|| table.to_owned()),
        })
    }

    /// Reads the annotations that Parquet files hold beside their vectors.
    ///
    /// # Errors
    /// As [`columns::read`].
    pub(super) fn from_parts(parts: &[PathBuf], condition: Option<&str>) -> Result<Self> {
        let columns::Labels { catalogue, has_split } = columns::read(parts, condition)?;
        Ok(Self { catalogue, has_split, names_files: None })
    }

    /// A message about the first vector, from row `first` on, that belongs to another file than the table says.
    pub(super) fn differs(&self, names: &[String], first: usize) -> Option<String> {
        let table = self.names_files.as_ref()?;
        let files = self.catalogue.files.get(first..)?;
        let same = |name: &str, file: &str| {
            name.strip_suffix(file).is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
        };
        let at = names.iter().zip(files).position(|(name, file)| !same(name, file))?;
        Some(format!(
            "vector {} is of {}, and row {} of {} of {}: both must be in the same order",
            first + at + 1,
            names[at],
            first + at + 1,
            table.display(),
            files[at]
        ))
    }

    /// True if names in a file are no more than the numbers of its vectors, as an index of pandas is: from 0 or 1 on, or from the row
    /// `first` of the table at which they begin. Where the table names files by numbers too, they are names.
    pub(super) fn are_numbers_of_rows(&self, names: &[String], first: usize) -> bool {
        let number = |name: &String| name.trim().parse::<usize>().ok();
        let Some(begin) = names.first().and_then(number) else { return false };
        let files = self.catalogue.files.get(first..).unwrap_or_default();
        [0, 1, first, first + 1].contains(&begin)
            && names.iter().enumerate().all(|(at, name)| number(name) == begin.checked_add(at))
            && !files.iter().take(names.len()).all(|file| number(file).is_some())
    }

    /// A message about a file of vectors of which so many names are empty, if the table names files.
    pub(super) fn lacks_names(&self, cells: usize) -> Option<String> {
        let table = self.names_files.as_ref()?;
        Some(format!(
            "{cells} of the cells of its column `path` have no value, so that nothing tells whether it is in the order of {}; \
             fill them, or leave the column out",
            table.display()
        ))
    }

    /// A note on a file without names, whose first vector is that of row `first`: nothing tells whether the vectors are those of the
    /// files that the table names.
    pub(super) fn unnamed(&self, part: &Path, first: usize) -> Option<String> {
        let table = self.names_files.as_ref()?;
        let file = self.catalogue.files.get(first)?;
        Some(format!(
            "note: {} has no names: its first vector is taken for that of {file}, row {} of {}, and so on; in a wrong order nothing \
             seems to leak",
            part.display(),
            first + 1,
            table.display()
        ))
    }
}
