//! A user's table, whose columns are told by their names and their cells.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use csv::StringRecord;

use super::names::{FILES, LABELS, named};
use super::split::{self, SplitColumn};
use super::subject::SubjectColumn;
use crate::config::explain::suggestion;
use crate::data::csv_file::CsvFile;
use crate::data::is_picture;
use crate::exit::usage;

/// A CSV file of a user.
pub(crate) struct UserTable {
    pub(crate) path: PathBuf,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<StringRecord>,
}

impl UserTable {
    /// Reads a file.
    ///
    /// # Errors
    /// A usage error if the header is of no use; a failure if the file cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let reading = || format!("cannot read {}", path.display());
        let file = CsvFile::read(path).with_context(reading)?;
        let header: Vec<String> = file.header().with_context(reading)?.iter().map(String::from).collect();
        if let Some(fault) = header_fault(&header) {
            return Err(usage(format_args!("{} {fault}", path.display())));
        }
        Ok(Self { path: path.into(), header, rows: file.rows().with_context(reading)?.records })
    }

    /// The column of a name.
    ///
    /// # Errors
    /// A usage error with the nearest column and all of them, if there is no such column.
    pub(crate) fn column(&self, name: &str) -> Result<&String> {
        self.header.iter().find(|column| *column == name).ok_or_else(|| {
            let hint = suggestion(name, self.header.iter().map(String::as_str));
            usage(format_args!("{} has no column `{name}`{hint}", self.path.display()))
        })
    }

    /// The place of a column in the rows.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// The cells of a column; they are empty if there is no such column.
    pub(crate) fn cells<'t>(&'t self, name: &str) -> impl Iterator<Item = &'t str> + Clone + use<'t> {
        let place = self.place(name);
        self.rows.iter().map(move |row| place.and_then(|at| row.get(at)).unwrap_or_default())
    }

    /// The columns that may be attributes: those with a name, but for some that have another role. One without a name, such as the
    /// index that pandas writes, could not be asked for.
    pub(super) fn candidates(&self, roles: &[Option<&str>]) -> Vec<&String> {
        let has_role = |name: &String| roles.contains(&Some(name.as_str()));
        self.header.iter().filter(|name| !name.is_empty() && !has_role(name)).collect()
    }

    /// The column of the class: that of the user's `label`, or else one of a usual name.
    ///
    /// # Errors
    /// As [`column`](Self::column), or a usage error that names the columns, if none has a usual name.
    pub(crate) fn class(&self, label: Option<&str>) -> Result<&String> {
        if let Some(label) = label {
            return self.column(label);
        }
        named(&self.header, &LABELS).ok_or_else(|| {
            usage(format_args!(
                "{}: no column is named as a class; name it with --label COLUMN; its columns: {}",
                self.path.display(),
                self.header.join(", ")
            ))
        })
    }

    /// The column of the splits beside that of the class; `note` gets the notes on others.
    ///
    /// # Errors
    /// A usage error, as [`split::find`].
    pub(super) fn split(&self, class: &str, note: impl FnMut(String)) -> Result<Option<SplitColumn>> {
        split::find(&self.header, &self.rows, class, note)
            .map_err(|reason| usage(format_args!("{}: {reason}", self.path.display())))
    }

    /// The column of the subjects beside that of the class.
    pub(super) fn subject(&self, class: &str, is_asked: impl Fn(&str) -> bool) -> Option<SubjectColumn> {
        SubjectColumn::find(&self.header, &self.rows, class, is_asked)
    }
}

/// The fault of a header, as the end of a sentence about its file.
fn header_fault(header: &[String]) -> Option<String> {
    if header.is_empty() {
        return Some("is empty".into());
    }
    // A column may be named as a picture, such as one of masks, beside others with usual names.
    let has_usual_name = named(header, &FILES).or_else(|| named(header, &LABELS)).is_some();
    if let Some(picture) = header.iter().find(|name| !has_usual_name && is_picture(name)) {
        return Some(format!(
            "begins with the picture {picture} and not with the names of its columns; put a line of these before it, such as file,label"
        ));
    }
    let mut names = BTreeSet::new();
    let twice = header.iter().find(|name| !name.is_empty() && !names.insert(name.as_str()))?;
    Some(format!("has two columns `{twice}`; rename one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_no_use_is_refused() {
        let fault = |header: &[&str]| {
            let header: Vec<String> = header.iter().map(ToString::to_string).collect();
            header_fault(&header)
        };
        assert_eq!(fault(&["file", "h", "h"]).as_deref(), Some("has two columns `h`; rename one"));
        assert_eq!(fault(&[]).as_deref(), Some("is empty"));
        // Two cells of a first row may be equal, which says less.
        let without_names = fault(&["0.png", "55", "55"]).unwrap_or_default();
        assert!(without_names.starts_with("begins with the picture 0.png"), "{without_names}");
        let with_masks = ["file", "label", "mask.png", "age", "patient"];
        for fine in [&["file", "label", "h"][..], &["file", "", ""], &with_masks] {
            assert_eq!(fault(fine), None, "{fine:?}");
        }
    }
}
