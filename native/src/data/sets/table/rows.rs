//! The columns of a CSV file that a section names.

use std::io;
use std::path::Path;

use csv::StringRecord;
use simile_core::data::{Condition, Split};

use super::cells::{self, Column};
use super::gaps::{DividedRows, divided};
use super::repeated::check_repeated;
use super::section::TableSection;
use crate::data::error::{DataError, Result};
use crate::data::files::csv_file::{self, CsvFile, row_line};

/// The requested columns of the rows.
pub(super) struct Rows {
    pub(super) files: Vec<String>,
    pub(super) labels: Vec<String>,
    pub(super) splits: Option<Vec<Split>>,
    pub(super) subjects: Option<Vec<String>>,
    pub(super) conditions: Vec<(String, Condition)>,
    /// The files of the rows that are left out for want of a value.
    pub(super) left_out: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Rows {
    /// Reads the file of a section in the data folder.
    ///
    /// # Errors
    /// Names the file, the line and the column of a missing or unreadable cell.
    pub(super) fn read(section: &TableSection, folder: &Path) -> Result<Self> {
        let path = folder.join(&section.csv);
        let fail = |reason: String| DataError::Table { path: path.clone(), reason };
        let unreadable = |error: io::Error| fail(error.to_string());
        let file = CsvFile::read(&path).map_err(unreadable)?;
        let header = file.header().map_err(unreadable)?;
        let csv_file::Rows { records, note } = file.rows().map_err(unreadable)?;
        if records.is_empty() {
            return Err(fail("there is no row under the header".into()));
        }
        let DividedRows { complete: records, left_out, note: on_left_out } =
            divided(section, &header, records).map_err(fail)?;
        let lines = records.iter().map(row_line).collect();
        let file_column = header.iter().position(|column| column == section.file);
        let left_out =
            left_out.iter().filter_map(|record| record.get(file_column?).map(str::to_owned)).collect();
        let rows = Self::of(section, &Records { header, records, lines }).map_err(fail)?;
        let notes = note.into_iter().chain(on_left_out).chain(rows.notes).collect();
        Ok(Self { left_out, notes, ..rows })
    }

    fn of(section: &TableSection, records: &Records) -> Result<Self, String> {
        let (mut conditions, mut notes) = (Vec::new(), Vec::new());
        for (name, columns) in &section.conditions {
            let (condition, note) = records.condition(name, columns, section.categories.contains(name))?;
            conditions.push((name.clone(), condition));
            notes.extend(note);
        }
        let (files, labels) = (records.column(&section.file)?, records.column(&section.label)?);
        // A table of vectors that names no files has its classes in place of them.
        if section.file != section.label {
            notes.extend(check_repeated(&files, &labels, &records.lines)?);
        }
        Ok(Self {
            files,
            labels,
            splits: section.split.as_deref().map(|name| records.splits(name)).transpose()?,
            subjects: section.subject.as_deref().map(|name| records.column(name)).transpose()?,
            conditions,
            left_out: Vec::new(),
            notes,
        })
    }
}

/// The rows under the header that have a value in each column of the section.
struct Records {
    header: StringRecord,
    records: Vec<StringRecord>,
    /// The line of each row.
    lines: Vec<u64>,
}

impl Records {
    /// The cells of a column.
    fn column(&self, name: &str) -> Result<Vec<String>, String> {
        if self.header.iter().filter(|column| *column == name).count() > 1 {
            return Err(format!("there are two columns `{name}`; rename one"));
        }
        let at = self.header.iter().position(|column| column == name).ok_or_else(|| {
            let known: Vec<&str> = self.header.iter().collect();
            format!("there is no column `{name}`; there are: {}", known.join(", "))
        })?;
        Ok(self.records.iter().map(|record| record.get(at).unwrap_or_default().to_owned()).collect())
    }

    /// The cells of a column as splits.
    fn splits(&self, name: &str) -> Result<Vec<Split>, String> {
        let split = |(cell, line): (String, &u64)| {
            Split::named(&cell).map_err(|reason| format!("line {line}: column `{name}` {reason}"))
        };
        self.column(name)?.into_iter().zip(&self.lines).map(split).collect()
    }

    /// An attribute of some columns, with a note on its cells.
    fn condition(
        &self,
        name: &str,
        columns: &[String],
        is_category: bool,
    ) -> Result<(Condition, Option<String>), String> {
        let cells = columns.iter().map(|column| self.column(column)).collect::<Result<Vec<_>, _>>()?;
        if cells.is_empty() {
            return Err(format!("the attribute `{name}` names no column"));
        }
        let columns: Vec<Column<'_>> = columns
            .iter()
            .zip(&cells)
            .map(|(name, cells)| Column { name, cells, lines: &self.lines })
            .collect();
        cells::condition(name, &columns, is_category)
    }
}
