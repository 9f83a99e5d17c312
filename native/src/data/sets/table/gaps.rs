//! Rows without a value: a cell is empty. If such rows are left out, an unusable number such as `NaN`, in a column of numbers, counts
//! as empty too.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use csv::StringRecord;

use super::cells::is_unusable;
use super::section::TableSection;
use crate::data::error::{DataError, Result};
use crate::data::files::csv_file::{CsvFile, row_line};
use crate::data::keys::values::Broken;
use crate::words::is_or_are;

/// Tells which cells have no value.
#[derive(Default)]
struct Gaps {
    /// The columns of conditions in which a number that cannot be used is a missing one: no cell there is a word.
    numeric: BTreeSet<usize>,
}

impl Gaps {
    fn of(section: &TableSection, header: &StringRecord, records: &[StringRecord]) -> Self {
        let is_word = |cell: &str| !cell.is_empty() && cell.parse::<f64>().is_err();
        let is_numeric = |at: &usize| !records.iter().any(|record| record.get(*at).is_some_and(is_word));
        let columns = section.conditions.values().flatten().filter_map(|name| place(header, name));
        Self { numeric: columns.filter(is_numeric).collect() }
    }

    /// True if a row has no value in a column.
    fn has(&self, record: &StringRecord, at: usize) -> bool {
        let has_none = |cell: &str| cell.is_empty() || (self.numeric.contains(&at) && is_unusable(cell));
        record.get(at).is_none_or(has_none)
    }
}

fn place(header: &StringRecord, name: &str) -> Option<usize> {
    header.iter().position(|column| column == name)
}

/// Numbers of rows that would be left out for want of a value, by the name of an attribute.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn missing_cells(section: &TableSection, folder: &Path) -> Result<BTreeMap<String, usize>> {
    let path = folder.join(&section.csv);
    let fail = |error: io::Error| DataError::Table { path: path.clone(), reason: error.to_string() };
    let file = CsvFile::read(&path).map_err(fail)?;
    let (header, records) = (file.header().map_err(fail)?, file.rows().map_err(fail)?.records);
    let gaps = Gaps::of(section, &header, &records);
    let count = |columns: &[String]| {
        let places: Vec<usize> = columns.iter().filter_map(|name| place(&header, name)).collect();
        let lacks = |record: &&StringRecord| places.iter().any(|at| gaps.has(record, *at));
        records.iter().filter(lacks).count()
    };
    Ok(section.conditions.iter().map(|(name, columns)| (name.clone(), count(columns))).collect())
}

/// The rows of a table.
pub(super) struct DividedRows {
    /// Those with a value in every column of the section.
    pub(super) complete: Vec<StringRecord>,
    pub(super) left_out: Vec<StringRecord>,
    /// A note on those that are left out.
    pub(super) note: Option<String>,
}

/// Divides the rows by whether they have a value in every column of a section.
///
/// # Errors
/// If such rows are to be refused: names each column that lacks values, with their number and the first line.
pub(super) fn divided(
    section: &TableSection,
    header: &StringRecord,
    records: Vec<StringRecord>,
) -> Result<DividedRows, String> {
    let condition_columns = section.conditions.values().flatten();
    let used: Vec<(usize, &String)> = [&section.file, &section.label]
        .into_iter()
        .chain(&section.split)
        .chain(&section.subject)
        .chain(condition_columns)
        .filter_map(|name| Some((place(header, name)?, name)))
        .collect();
    let gaps = match section.missing {
        Broken::Refuse => Gaps::default(),
        Broken::Skip => Gaps::of(section, header, &records),
    };
    let mut missing: Vec<String> = Vec::new();
    for (at, name) in &used {
        let mut rows = records.iter().filter(|record| gaps.has(record, *at));
        if let Some(first) = rows.next() {
            let line = row_line(first);
            let is = match first.get(*at).unwrap_or_default() {
                "" => "empty".to_owned(),
                cell => format!("`{cell}`, which is not a usable number"),
            };
            let others = match rows.count() {
                0 => String::new(),
                1 => " (and in another row)".into(),
                others => format!(" (and in {others} other rows)"),
            };
            missing.push(format!("line {line}: column `{name}` is {is}{others}"));
        }
    }
    missing.dedup();
    if missing.is_empty() {
        return Ok(DividedRows { complete: records, left_out: Vec::new(), note: None });
    }
    let (all, missing) = (records.len(), missing.join("; "));
    if section.missing == Broken::Refuse {
        return Err(format!(
            "{missing}; fill these cells, or take such rows out, as a recipe does with `missing = \"skip\"` in [data.table]"
        ));
    }
    let (left_out, complete): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| used.iter().any(|(at, _)| gaps.has(record, *at)));
    if complete.is_empty() {
        return Err(format!("{missing}; no row has all of its values"));
    }
    let are = is_or_are(left_out.len());
    let note = Some(format!("{} of {all} rows {are} left out; {missing}", left_out.len()));
    Ok(DividedRows { complete, left_out, note })
}
