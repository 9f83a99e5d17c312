//! A CSV file with the class and the attributes of rows that are known by their order, such as those of vectors.

use std::path::Path;

use anyhow::Result;

use crate::columns::attributes::Attributes;
use crate::columns::class;
use crate::columns::kind::{Column, ColumnKind};
use crate::columns::names::{FILES, named};
use crate::columns::split::{self, SplitColumn};
use crate::columns::subject::SubjectColumn;
use crate::columns::table::UserTable;
use crate::config::explain::suggestion;
use crate::console::line;
use crate::data::keys::values::Broken;
use crate::data::{ReadTable, TableSection, read_table};
use crate::exit::usage;
use crate::words::counted;

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
    let table = UserTable::read(csv)?;
    let column = |name: &str| {
        let no_column = || {
            let hint = suggestion(name, table.header.iter().map(String::as_str));
            usage(format_args!("{} has no column `{name}`{hint}", csv.display()))
        };
        table.column(name).ok_or_else(no_column)
    };
    let class = match label {
        Some(label) => column(label)?,
        None => table.class()?,
    };
    if let Some(wanted) = wanted {
        column(wanted)?;
    }
    class::check(class, &table.cells(class).collect::<Vec<_>>(), &csv.display().to_string())?;
    let file = named(&table.header, &FILES);
    let split = split_column(&table, class)?;
    let subject = table.subject(class, |subject| wanted == Some(subject));
    let on_subject = subject.as_ref().and_then(|subject| subject.note(split.is_some(), "row"));
    let subject = subject.and_then(SubjectColumn::subject);
    // Whole subjects are held out, of which a probe could name none. Where a column says the splits, a subject may be in both.
    let held_out = subject.as_ref().filter(|_| split.is_none());
    let candidates = table.candidates(&[file, Some(class), split.as_ref(), held_out]).into_iter();
    let columns = candidates.map(|name| Column::of(name, table.cells(name)));
    let attributes = Attributes::of(columns, wanted, table.rows.len());
    attributes.notes.iter().for_each(line);
    let classes = counted(table.cells(class).filter(|cell| !cell.is_empty()));
    class::mostly_single_row_classes(class, &classes, "row").iter().for_each(line);
    on_subject.iter().for_each(line);
    let are_codes = |column: &&Column| matches!(column.kind, ColumnKind::Categories { are_codes: true, .. });
    let folder = csv.parent().unwrap_or(Path::new(""));
    let section = TableSection {
        csv: csv.file_name().map(Into::into).unwrap_or_default(),
        file: file.unwrap_or(class).clone(),
        label: class.clone(),
        split,
        subject,
        conditions: attributes
            .columns
            .iter()
            .map(|column| (column.name.clone(), vec![column.name.clone()]))
            .collect(),
        categories: attributes.columns.iter().filter(are_codes).map(|column| column.name.clone()).collect(),
        missing: Broken::Refuse,
    };
    Ok(Labels { table: read_table(&section, folder)?, names_files: file.is_some() })
}

/// The column that says the split of every row, if there is one.
///
/// # Errors
/// As [`UserTable::split`]; a usage error names the line of an empty cell, since no row is left out here.
fn split_column(table: &UserTable, class: &str) -> Result<Option<String>> {
    let Some(SplitColumn { column, .. }) = table.split(class, line)? else { return Ok(None) };
    let gap = table.cells(&column).position(str::is_empty).and_then(|at| table.rows.get(at));
    match gap {
        Some(row) => Err(usage(format_args!("{}: {}", table.path.display(), split::empty(&column, row)))),
        None => Ok(Some(column)),
    }
}
