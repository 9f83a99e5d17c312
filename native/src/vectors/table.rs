//! A CSV file with the class and the attributes of rows that are known by their order, such as those of vectors.

use std::path::Path;

use anyhow::Result;

use crate::columns::split::{self, SplitColumn};
use crate::columns::{self, Column, FILES, Kind, LABELS, counted, named, subject};
use crate::config::explain::suggestion;
use crate::data::settings::Broken;
use crate::data::{ReadTable, TableSection, read_table};
use crate::exit::usage;

/// The rows of a table.
pub(super) struct Labels {
    pub(super) table: ReadTable,
    /// True if a column names the files; otherwise those of the catalogue say nothing.
    pub(super) names_files: bool,
}

/// Reads a table. Its columns are told by their names, the class by `label` if that is given. Columns with empty cells, or
/// that say nothing, are left out and said, but for `wanted`.
///
/// # Errors
/// A usage error if a column is missing or cannot be told, or the class has one value; names the line of an unusable cell.
pub(super) fn read(csv: &Path, label: Option<&str>, wanted: Option<&str>) -> Result<Labels> {
    let (header, rows) = columns::read(csv)?;
    let cells = |name: &str| {
        let at = header.iter().position(|column| column == name).unwrap_or(usize::MAX);
        rows.iter().map(move |row| row.get(at).unwrap_or_default())
    };
    let known: Vec<&str> = header.iter().map(String::as_str).collect();
    let no_column = |name: &str| {
        usage(format_args!("{} has no column `{name}`{}", csv.display(), suggestion(name, &known)))
    };
    let of_name = |name: &str| header.iter().find(|column| *column == name).ok_or_else(|| no_column(name));
    let class = match label {
        Some(label) => of_name(label)?,
        None => named(&header, &LABELS).ok_or_else(|| {
            usage(format_args!(
                "{}: no column is named as a class; name it with --label COLUMN; its columns: {}",
                csv.display(),
                known.join(", ")
            ))
        })?,
    };
    if let Some(wanted) = wanted {
        of_name(wanted)?;
    }
    columns::check_classes(class, &cells(class).collect::<Vec<_>>(), &csv.display().to_string())?;
    let file = named(&header, &FILES);
    let split = split_column(&header, &rows, class)
        .map_err(|reason| usage(format_args!("{}: {reason}", csv.display())))?;
    let candidates = columns::candidates(&header, &[file, Some(class), split.as_ref()]).into_iter();
    let columns = candidates.map(|name| Column::of(name, cells(name)));
    let attributes = columns::attributes(columns, wanted, rows.len());
    columns::print_lonely_classes(class, &counted(cells(class).filter(|cell| !cell.is_empty())), "row");
    let is_asked = |subject: &String| wanted == Some(subject.as_str());
    let subject = subject::find(&header, &rows, class);
    if split.is_none() {
        subject::say(subject.as_ref(), subject.as_ref().is_some_and(is_asked), "row");
    }
    let subject = subject.filter(|subject| !is_asked(subject));
    let are_codes = |column: &&Column| matches!(column.kind, Kind::Categories { are_codes: true, .. });
    let folder = csv.parent().unwrap_or(Path::new(""));
    let section = TableSection {
        csv: csv.file_name().map(Into::into).unwrap_or_default(),
        file: file.unwrap_or(class).clone(),
        label: class.clone(),
        split,
        subject,
        conditions: attributes
            .iter()
            .map(|column| (column.name.clone(), vec![column.name.clone()]))
            .collect(),
        categories: attributes.iter().filter(are_codes).map(|column| column.name.clone()).collect(),
        missing: Broken::Refuse,
    };
    Ok(Labels { table: read_table(&section, folder)?, names_files: file.is_some() })
}

/// The column that says the split of every row, if there is one.
///
/// # Errors
/// As [`split::find`]; names the line of an empty cell, since no row is left out here.
fn split_column(
    header: &[String],
    rows: &[csv::StringRecord],
    class: &str,
) -> Result<Option<String>, String> {
    let Some(SplitColumn { column, .. }) = split::find(header, rows, class)? else { return Ok(None) };
    let at = header.iter().position(|name| *name == column).unwrap_or(usize::MAX);
    match rows.iter().find(|row| row.get(at).is_none_or(str::is_empty)) {
        Some(row) => Err(split::empty(&column, row)),
        None => Ok(Some(column)),
    }
}
