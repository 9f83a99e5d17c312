//! Reads tables, one group of rows after the other: those written here, and those of other programs whose pages are not
//! compressed.

use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context as _, Result};
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::headers::Headers;
use super::{CellKind, Cells, VECTOR};
use crate::single_precision::to_f32;

/// A column of a file that can hold vectors or attributes.
struct Column {
    /// Place among the leaves of the schema.
    leaf: usize,
    name: String,
    /// The length of lists is read off their rows.
    kind: CellKind,
}

/// A column that is left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unread {
    pub(crate) name: String,
    pub(crate) reason: UnreadReason,
}

/// The reason why a column is left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum UnreadReason {
    /// It has this type in Parquet, which cannot hold vectors or attributes.
    Type(String),
    /// So many of its cells have no value.
    Empty(usize),
}

/// Gives the columns of each group of rows to `keep`, by name, in order. Decimals that are stored as integers are numbers. Columns
/// of other types are left out, among them dates and times, and those with empty cells, but for that of the vectors. They are returned.
///
/// # Errors
/// If it is no Parquet file, is damaged or compressed, has an empty vector, lists of several lengths, or an unsigned number above
/// [`i64::MAX`]; and as `keep`.
pub(crate) fn each_group(
    file: File,
    keep: impl FnMut(Vec<(String, Cells)>) -> Result<()>,
) -> Result<Vec<Unread>> {
    // Damaged bytes can make the library panic, which must not end the program.
    let read = catch_unwind(AssertUnwindSafe(|| groups(file, keep)));
    read.unwrap_or_else(|_| Err(anyhow::anyhow!("it is damaged, and its reader failed; get it again")))
}

fn groups(file: File, mut keep: impl FnMut(Vec<(String, Cells)>) -> Result<()>) -> Result<Vec<Unread>> {
    let headers = Headers::of(&file)?;
    headers.check_footer()?;
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata();
    let (mut known, mut unread) = columns(metadata.file_metadata().schema_descr());
    // No group may be given before it is known which columns have an empty cell in a later one.
    let mut empty = vec![0; known.len()];
    for at in 0..metadata.num_row_groups() {
        let described = metadata.row_group(at);
        let compressed = known.iter().find_map(|column| {
            let column = described.columns().get(column.leaf)?;
            (column.compression() != Compression::UNCOMPRESSED).then(|| column.compression())
        });
        if let Some(codec) = compressed {
            anyhow::bail!(
                "it is compressed ({codec}), which is not read; write it anew with compression=None (pandas) or \
                 COMPRESSION uncompressed (DuckDB)"
            );
        }
        let group = reader.get_row_group(at)?;
        for (column, empty) in known.iter().zip(&mut empty) {
            let (start, bytes) = described.column(column.leaf).byte_range();
            let sound = headers.check_pages(start, bytes);
            let count = sound.and_then(|()| empty_cells(group.as_ref(), column));
            *empty += count.with_context(|| format!("the column `{}`", column.name))?;
        }
    }
    let mut empty = empty.into_iter();
    known.retain(|column| {
        let empty = empty.next().unwrap_or_default();
        if empty > 0 {
            unread.push(Unread { name: column.name.clone(), reason: UnreadReason::Empty(empty) });
        }
        empty == 0
    });
    let mut first = 0;
    for at in 0..metadata.num_row_groups() {
        let rows = number_of_rows(metadata.row_group(at))?;
        let group = reader.get_row_group(at)?;
        let columns = known
            .iter()
            .map(|column| {
                let cells = cells(group.as_ref(), column, first..first + rows);
                Ok((column.name.clone(), cells.with_context(|| format!("the column `{}`", column.name))?))
            })
            .collect::<Result<_>>()?;
        keep(columns)?;
        first += rows;
    }
    Ok(unread)
}

fn number_of_rows(group: &RowGroupMetaData) -> Result<usize> {
    usize::try_from(group.num_rows()).context("a group has no number of rows")
}

/// The columns that are read, and the others.
fn columns(schema: &SchemaDescriptor) -> (Vec<Column>, Vec<Unread>) {
    let (mut known, mut unread) = (Vec::new(), Vec::<Unread>::new());
    for (leaf, column) in schema.columns().iter().enumerate() {
        let parts = column.path().parts();
        let Some(name) = parts.first().cloned() else { continue };
        // Of a table in a table nothing is known.
        let is_plain = |kind: &CellKind| parts.len() == 1 || matches!(kind, CellKind::List(_));
        match kind_of(column).filter(is_plain) {
            Some(kind) => known.push(Column { leaf, name, kind }),
            None if unread.iter().any(|other| other.name == name) => {}
            None => unread.push(Unread { name, reason: UnreadReason::Type(type_name(column)) }),
        }
    }
    (known, unread)
}

/// The kind of a column; none if it is of a type that is not read.
fn kind_of(column: &ColumnDescriptor) -> Option<CellKind> {
    match (column.max_rep_level(), column.physical_type()) {
        (0, Physical::BYTE_ARRAY) if is_text(column) => Some(CellKind::Text),
        // A category of two values.
        (0, Physical::BOOLEAN) => Some(CellKind::Text),
        (0, Physical::INT32 | Physical::INT64) => kind_of_integers(column),
        (0, Physical::FLOAT | Physical::DOUBLE) => Some(CellKind::Number),
        (1, Physical::FLOAT | Physical::DOUBLE) => Some(CellKind::List(0)),
        _ => None,
    }
}

/// The name of the type of a column, as Parquet has it.
fn type_name(column: &ColumnDescriptor) -> String {
    let name: String = match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Decimal(_)), _) => "DECIMAL".into(),
        (Some(LogicalType::Date), _) => "DATE".into(),
        (Some(LogicalType::Time(_)), _) => "TIME".into(),
        (Some(LogicalType::Timestamp(_)), _) => "TIMESTAMP".into(),
        (Some(LogicalType::Float16), _) => "FLOAT16".into(),
        (Some(LogicalType::String), _) => "STRING".into(),
        (_, ConvertedType::NONE) => column.physical_type().to_string(),
        (_, converted) => converted.to_string(),
    };
    match column.max_rep_level() {
        0 if column.path().parts().len() > 1 => "group".into(),
        lists => (0..lists).map(|_| "list of ").collect::<String>() + &name,
    }
}

/// The kind of a column that is stored as integers; none if they count days or parts of a second.
fn kind_of_integers(column: &ColumnDescriptor) -> Option<CellKind> {
    use ConvertedType as As;
    match (column.converted_type(), column.logical_type_ref()) {
        // Nanoseconds have no converted type.
        (_, Some(LogicalType::Time(_) | LogicalType::Timestamp(_))) => None,
        (As::DATE | As::TIME_MILLIS | As::TIME_MICROS | As::TIMESTAMP_MILLIS | As::TIMESTAMP_MICROS, _) => {
            None
        }
        (As::DECIMAL, _) => Some(CellKind::Number),
        _ => Some(CellKind::Whole),
    }
}

/// True if the integers of a column are unsigned; the library gives them with a sign.
fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType as As;
    matches!(column.converted_type(), As::UINT_8 | As::UINT_16 | As::UINT_32 | As::UINT_64)
}

fn is_text(column: &ColumnDescriptor) -> bool {
    column.converted_type() == ConvertedType::UTF8
        || column.logical_type_ref().is_some_and(|of| *of == LogicalType::String)
}

/// Number of cells of a column in a group that have no value; none of that of the vectors, which cannot be left out.
fn empty_cells(group: &dyn RowGroupReader, column: &Column) -> Result<usize> {
    let highest = group.metadata().column(column.leaf).column_descr().max_def_level();
    if column.name == VECTOR || highest == 0 {
        return Ok(0);
    }
    let rows = number_of_rows(group.metadata())?;
    let levels = match group.get_column_reader(column.leaf)? {
        ColumnReader::ByteArrayColumnReader(reader) => leaves(reader, rows)?.levels,
        ColumnReader::BoolColumnReader(reader) => leaves(reader, rows)?.levels,
        ColumnReader::Int32ColumnReader(reader) => leaves(reader, rows)?.levels,
        ColumnReader::Int64ColumnReader(reader) => leaves(reader, rows)?.levels,
        ColumnReader::FloatColumnReader(reader) => leaves(reader, rows)?.levels,
        ColumnReader::DoubleColumnReader(reader) => leaves(reader, rows)?.levels,
        // Of no column that is read.
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => Vec::new(),
    };
    Ok(levels.iter().filter(|&&level| level < highest).count())
}

/// The cells of a column in a group, which has these rows of the file.
fn cells(group: &dyn RowGroupReader, column: &Column, file_rows: Range<usize>) -> Result<Cells> {
    let rows = file_rows.len();
    let described = group.metadata().column(column.leaf).column_descr_ptr();
    let highest = described.max_def_level();
    // Of a decimal that is stored as an integer, parts that make a whole.
    let unit = 10_f64.powi(described.type_scale());
    Ok(match (column.kind, group.get_column_reader(column.leaf)?) {
        (CellKind::Text, ColumnReader::ByteArrayColumnReader(reader)) => {
            let bytes = column_values(reader, rows, highest)?.0;
            let text = |bytes: parquet::data_type::ByteArray| Ok(bytes.as_utf8()?.to_owned());
            Cells::Text(bytes.into_iter().map(text).collect::<Result<_, ParquetError>>()?)
        }
        (CellKind::Text, ColumnReader::BoolColumnReader(reader)) => {
            Cells::Text(column_values(reader, rows, highest)?.0.iter().map(ToString::to_string).collect())
        }
        (CellKind::Whole, ColumnReader::Int32ColumnReader(reader)) => {
            let is_unsigned = is_unsigned(&described);
            let whole =
                |value: i32| if is_unsigned { i64::from(value.cast_unsigned()) } else { i64::from(value) };
            Cells::Whole(column_values(reader, rows, highest)?.0.into_iter().map(whole).collect())
        }
        (CellKind::Whole, ColumnReader::Int64ColumnReader(reader)) => {
            let values = column_values(reader, rows, highest)?.0;
            let fit = !is_unsigned(&described) || values.iter().all(|&value| value >= 0);
            anyhow::ensure!(fit, "a number is above {}; write the column as text, or leave it out", i64::MAX);
            Cells::Whole(values)
        }
        (CellKind::Number, ColumnReader::Int32ColumnReader(reader)) => {
            let values = column_values(reader, rows, highest)?.0.into_iter().map(f64::from);
            Cells::Number(values.map(|value| value / unit).collect())
        }
        (CellKind::Number, ColumnReader::Int64ColumnReader(reader)) => {
            let values = column_values(reader, rows, highest)?.0.into_iter();
            Cells::Number(values.map(|value| value as f64 / unit).collect())
        }
        (CellKind::Number, ColumnReader::FloatColumnReader(reader)) => {
            Cells::Number(column_values(reader, rows, highest)?.0.into_iter().map(f64::from).collect())
        }
        (CellKind::Number, ColumnReader::DoubleColumnReader(reader)) => {
            Cells::Number(column_values(reader, rows, highest)?.0)
        }
        (CellKind::List(_), ColumnReader::FloatColumnReader(reader)) => {
            let (values, begins) = column_values(reader, rows, highest)?;
            Cells::List { length: length(&begins, rows)?, values }
        }
        (CellKind::List(_), ColumnReader::DoubleColumnReader(reader)) => {
            let (values, begins) = column_values(reader, rows, highest)?;
            let length = length(&begins, rows)?;
            let values = to_f32(values)
                .map_err(|beyond| anyhow::Error::msg(beyond.in_rows(file_rows.start, length)))?;
            Cells::List { length, values }
        }
        _ => anyhow::bail!("its type is not the one that the file says"),
    })
}

/// The values of a column and, of lists, their repetition levels.
fn column_values<T: DataType>(
    reader: ColumnReaderImpl<T>,
    rows: usize,
    highest: i16,
) -> Result<(Vec<T::T>, Vec<i16>)> {
    let Leaves { values, levels, begins } = leaves(reader, rows)?;
    let whole = levels.iter().all(|&level| level == highest);
    anyhow::ensure!(whole, "a cell is empty; fill it, or leave the row out");
    Ok((values, begins))
}

/// The part of a column that a file holds.
struct Leaves<V> {
    values: Vec<V>,
    /// The definition levels, lower than the highest where there is no value; none if every cell must have one.
    levels: Vec<i16>,
    /// Of lists, the repetition levels.
    begins: Vec<i16>,
}

fn leaves<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize) -> Result<Leaves<T::T>> {
    let (mut values, mut levels, mut begins) = (Vec::new(), Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (count, ..) =
            reader.read_records(rows - read, Some(&mut levels), Some(&mut begins), &mut values)?;
        anyhow::ensure!(count > 0, "{read} of {rows} rows are there; the file is cut");
        read += count;
    }
    Ok(Leaves { values, levels, begins })
}

/// The length of lists by their repetition levels.
fn length(begins: &[i16], rows: usize) -> Result<usize> {
    let length = begins.len().checked_div(rows).unwrap_or(0);
    let same = length > 0
        && begins.len() == rows * length
        && begins.iter().enumerate().all(|(at, &level)| (level == 0) == at.is_multiple_of(length));
    anyhow::ensure!(same, "its lists differ in length, or are empty");
    Ok(length)
}
