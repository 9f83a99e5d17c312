//! Files of vectors: NumPy's `.npy`, CSV as `simile embed` writes it, and Parquet.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context as _, Result};
use simile_core::data::formats::npy;

use crate::columns::names::FILES;
use crate::data::check_memory;
use crate::data::csv_file::{COMMA, SEPARATORS, fault, line_of};
use crate::experiment::memory::available::available;
use crate::export::vectors::Format;
use crate::parquet::{self, Cells, UnreadReason, VECTOR};
use crate::single_precision::{OutOfRange, to_f32};

/// The column of names in Parquet.
const NAME: &str = "path";

/// Vectors that follow one another.
pub(super) struct Chunk {
    /// Numbers of a vector, at least one.
    pub(super) columns: usize,
    /// Row after row.
    pub(super) values: Vec<f32>,
    /// The file to which each vector belongs, if the format states it.
    pub(super) names: Option<Vec<String>>,
}

/// Gives the vectors of a file to `keep`, in order. Of a `.npy` or CSV file all are in memory at a time, of Parquet a group. Returns
/// the number of empty cells for which the column of names is left out, if it is.
///
/// # Errors
/// If the file cannot be read or is no table of vectors, and as `keep`.
pub(super) fn each_chunk(path: &Path, mut keep: impl FnMut(Chunk) -> Result<()>) -> Result<Option<usize>> {
    let mut left_out = Vec::new();
    match Format::of(path)? {
        Format::Npy => keep(read_npy(path)?)?,
        Format::Csv => keep(read_csv(path)?)?,
        Format::Parquet => {
            left_out = parquet::each_group(File::open(path)?, |columns| keep(chunk_from_columns(columns)?))?;
        }
    }
    Ok(left_out.iter().find_map(|column| match column.reason {
        UnreadReason::Empty(cells) if column.name == NAME => Some(cells),
        _ => None,
    }))
}

/// The remedy where a file takes more memory than is free.
const REMEDY: &str = "divide it into several, which are read one after the other, or write Parquet, which is read in \
                      groups of rows";

fn read_npy(path: &Path) -> Result<Chunk> {
    check_memory(path, available(), REMEDY)?;
    let array = npy::parse(&fs::read(path)?, &path.display().to_string())?;
    let columns = match *array.shape.as_slice() {
        [_, columns] if columns > 0 => columns,
        _ => anyhow::bail!(
            "it has the shape {:?}; an array of one row for each vector is expected",
            array.shape
        ),
    };
    let values = to_f32(array.values.into_floats());
    let values = values.map_err(|beyond| anyhow::Error::msg(beyond.in_rows(0, columns)))?;
    Ok(Chunk { columns, values, names: None })
}

/// The columns of a CSV file of vectors, in words.
const EXPECTED: &str = "expected the name of the image, and then a column for each number of a vector";

/// The name of the image in the first column, and numbers in all others.
fn read_csv(path: &Path) -> Result<Chunk> {
    let bytes = fs::read(path)?;
    let unreadable = |error: csv::Error| fault(error, &bytes, COMMA);
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let header = reader.headers().map_err(unreadable)?;
    let first = header.get(0).unwrap_or_default();
    let names_rows = !header.is_empty() && names_rows(first);
    if header.len() == 1
        && let Some((_, other)) =
            SEPARATORS.iter().find(|(byte, _)| *byte != COMMA.0 && first.as_bytes().contains(byte))
    {
        anyhow::bail!(
            "a {other} separates its cells; write vectors with commas between them, and with points in numbers"
        );
    }
    let columns = match header.len() {
        0 => anyhow::bail!("it is empty; {EXPECTED}"),
        1 => anyhow::bail!("its header has no column beside `{first}`; {EXPECTED}"),
        columns => columns - 1,
    };
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, |at| line_of(at, &bytes));
        let mut cells = record.iter();
        names.push(cells.next().unwrap_or_default().to_owned());
        for (at, cell) in cells.enumerate() {
            let number: f32 =
                cell.trim().parse().ok().with_context(|| format!("line {line}: `{cell}` is not a number"))?;
            if number.is_infinite()
                && let Some(value) = cell.trim().parse().ok().filter(|value: &f64| value.is_finite())
            {
                anyhow::bail!("line {line}, {}", OutOfRange { at, value });
            }
            values.push(number);
        }
    }
    if let Some(name) = number_of_vector(&names, names_rows) {
        anyhow::bail!(
            "its first column has numbers, such as {name}, where the name of the image of each vector is expected; put a column \
             `image` with names, or with the numbers of rows, before them"
        );
    }
    Ok(Chunk { columns, values, names: Some(names) })
}

/// The first of some names that is a number of a vector and no name: all of them are numbers, and the header does not say that they
/// number rows, or this one has a fraction.
fn number_of_vector(names: &[String], names_rows: bool) -> Option<&String> {
    let numbers: Vec<f64> =
        names.iter().map(|name| name.trim().parse::<f64>().ok()).collect::<Option<_>>()?;
    let fraction = numbers.iter().position(|number| number.fract() != 0.0);
    names.get(fraction.or_else(|| (!names_rows).then_some(0))?)
}

/// True if the header of a column says that it names rows, by its last word: `image`, `image_id`. An index of pandas has none.
fn names_rows(header: &str) -> bool {
    const OTHERS: [&str; 6] = ["id", "index", "key", "name", "number", "row"];
    let header = header.trim().to_lowercase();
    let last = header.rsplit(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    header.is_empty()
        || header.starts_with("unnamed: ")
        || FILES.iter().chain(&OTHERS).any(|name| *name == last)
}

fn chunk_from_columns(columns: Vec<(String, Cells)>) -> Result<Chunk> {
    let (mut vectors, mut names) = (None, None);
    for (name, cells) in columns {
        match cells {
            Cells::List { length, values } if name == VECTOR => vectors = Some((length, values)),
            Cells::Text(cells) if name == NAME => names = Some(cells),
            _ => {}
        }
    }
    let (columns, values) =
        vectors.with_context(|| format!("it has no column `{VECTOR}` of lists of numbers"))?;
    Ok(Chunk { columns, values, names })
}
