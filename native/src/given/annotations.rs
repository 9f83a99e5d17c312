//! The class, the split and the attributes of vectors: from a CSV file, or from the columns of Parquet files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use simile_core::data::catalogue::numbered;
use simile_core::data::{Catalogue, Condition, Part};
use simile_core::numeric::matrix::Matrix;

use super::table::{self, Labels};
use crate::console::line;
use crate::exit::usage;
use crate::export::parquet::{self, Cells, VECTOR};
use crate::export::vectors::Format;

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
        let Labels { table: read, names_files } = table::read(table, label, condition)?;
        read.notes.iter().for_each(line);
        Ok(Self {
            catalogue: read.catalogue,
            has_split: read.has_split,
            names_files: names_files.then(|| table.to_owned()),
        })
    }

    /// Reads the annotations that Parquet files hold beside their vectors: `class`, `split` if it exists, and all other columns except
    /// those that `simile embed` adds.
    ///
    /// # Errors
    /// A usage error if a file is of another format, or has no `class`; if the files differ in their columns.
    pub(super) fn from_parts(parts: &[PathBuf]) -> Result<Self> {
        let mut whole: Option<Vec<(String, Cells)>> = None;
        for part in parts {
            if Format::of(part)? != Format::Parquet {
                return Err(usage(format_args!(
                    "{} says no class; name a CSV file with a row for each vector with --table",
                    part.display()
                )));
            }
            let reading = || format!("cannot read {}", part.display());
            let file = File::open(part).with_context(reading)?;
            let keep = |mut columns: Vec<(String, Cells)>| {
                columns.retain(|(name, _)| name != VECTOR);
                match &mut whole {
                    None => whole = Some(columns),
                    Some(whole) => append(whole, columns)?,
                }
                Ok(())
            };
            parquet::each_group(file, keep).with_context(reading)?;
        }
        let origin = parts.first().map_or_else(String::new, |part| part.display().to_string());
        Self::from_columns(whole.unwrap_or_default(), &origin)
    }

    fn from_columns(columns: Vec<(String, Cells)>, origin: &str) -> Result<Self> {
        let (mut class, mut split, mut files) = (None, None, None);
        let mut conditions: BTreeMap<String, Condition> = BTreeMap::new();
        for (name, cells) in columns {
            match (name.as_str(), cells) {
                ("class", cells) => class = Some(words(cells)),
                ("split", Cells::Text(cells)) => split = Some(cells),
                ("path", Cells::Text(cells)) => files = Some(cells),
                ("index" | "x" | "y", _) => {}
                (_, cells) => {
                    conditions.insert(name, condition(cells));
                }
            }
        }
        let class = class.ok_or_else(|| {
            usage(format_args!("{origin} has no column `class`; name a CSV file with one with --table"))
        })?;
        let (labels, classes) = numbered(class.iter().map(String::as_str));
        let parts = match &split {
            Some(cells) => cells.iter().map(|cell| part(cell, origin)).collect::<Result<_>>()?,
            None => vec![Part::Train; labels.len()],
        };
        let files = files.unwrap_or_else(|| vec![String::new(); labels.len()]);
        let mut catalogue = Catalogue::new(origin, files, parts, labels, classes)?;
        for (name, condition) in conditions {
            catalogue = catalogue.with_condition(&name, condition)?;
        }
        Ok(Self { catalogue, has_split: split.is_some(), names_files: None })
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
}

fn append(whole: &mut [(String, Cells)], columns: Vec<(String, Cells)>) -> Result<()> {
    anyhow::ensure!(whole.len() == columns.len(), "it has other columns than the files before");
    for ((name, held), (other, cells)) in whole.iter_mut().zip(columns) {
        let same = *name == other && held.append(cells);
        anyhow::ensure!(same, "its column `{other}` is not like `{name}` of the files before");
    }
    Ok(())
}

fn words(cells: Cells) -> Vec<String> {
    match cells {
        Cells::Text(cells) => cells,
        Cells::Whole(cells) => cells.iter().map(ToString::to_string).collect(),
        Cells::Number(cells) => cells.iter().map(ToString::to_string).collect(),
        Cells::List { length, values } => {
            values.chunks(length.max(1)).map(|list| format!("{list:?}")).collect()
        }
    }
}

fn condition(cells: Cells) -> Condition {
    match cells {
        Cells::Text(cells) => {
            let (values, names) = numbered(cells.iter().map(String::as_str));
            Condition::Categorical { values, names }
        }
        Cells::Whole(cells) => {
            Condition::Numeric(Matrix::from_fn(cells.len(), 1, |row, _| cells[row] as f64))
        }
        Cells::Number(cells) => Condition::Numeric(Matrix::column(&cells)),
        Cells::List { length, values } => {
            let rows = values.len().checked_div(length).unwrap_or(0);
            Condition::Numeric(Matrix::from_fn(rows, length, |row, at| f64::from(values[row * length + at])))
        }
    }
}

fn part(cell: &str, origin: &str) -> Result<Part> {
    Part::named(cell).map_err(|reason| usage(format_args!("{origin}: column `split` {reason}")))
}
