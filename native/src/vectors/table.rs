//! A CSV file with the class and the attributes of rows that are known by their order, such as those of vectors.

use std::path::Path;

use anyhow::Result;

use crate::columns::attributes::Attributes;
use crate::columns::kind::{Column, ColumnKind};
use crate::columns::names::{FILES, named};
use crate::columns::roles::Roles;
use crate::columns::table::UserTable;
use crate::columns::{class, split, subject};
use crate::console::line;
use crate::data::keys::values::Broken;
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
    let table = UserTable::read(csv)?;
    let class = table.class(label)?;
    if let Some(wanted) = wanted {
        table.column(wanted)?;
    }
    class::check(class, &table.cells(class).collect::<Vec<_>>(), &csv.display().to_string())?;
    let file = named(&table.header, &FILES);
    let is_wanted = |name: &str| wanted == Some(name);
    let Roles { split, subject, columns, on_subject, on_classes, .. } =
        Roles::of(&table, file.map(String::as_str), class, is_wanted, "row")?;
    let split = split.map(|split| split.column);
    if let Some(split) = &split {
        check_filled(&table, split)?;
    }
    let held_out = subject::held_out(subject.as_deref(), split.is_some());
    let columns = columns.into_iter().filter(|column| held_out != Some(column.name.as_str()));
    let attributes = Attributes::of(columns, wanted, table.rows.len());
    attributes.notes.iter().chain(&on_classes).chain(&on_subject).for_each(line);
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

/// Checks that a column says the split of every row.
///
/// # Errors
/// A usage error names the line of an empty cell, since no row is left out here.
fn check_filled(table: &UserTable, column: &str) -> Result<()> {
    let gap = table.cells(column).position(str::is_empty).and_then(|at| table.rows.get(at));
    match gap {
        Some(row) => Err(usage(format_args!("{}: {}", table.path.display(), split::empty(column, row)))),
        None => Ok(()),
    }
}
