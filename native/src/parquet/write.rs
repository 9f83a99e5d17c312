//! Writes tables, one group of rows after the other.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, PrimitiveTypeBuilder, Type, TypePtr};

use super::{CellKind, Cells};

/// Most rows of a group, and about most of its numbers.
const MOST_ROWS: usize = 1 << 17;
const MOST_NUMBERS: usize = 1 << 22;
/// The levels between a list and its elements, as the format names them.
const LEVELS: [&str; 2] = ["list", "element"];

/// A file that is written as its rows come.
pub(crate) struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    /// The rows that are not written yet.
    buffers: Vec<Cells>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file with columns of these names and types.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn begin(sink: W, columns: &[(&str, CellKind)]) -> Result<Self> {
        let fields = columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("simile").with_fields(fields).build()?;
        let lists = columns.iter().filter(|(_, kind)| matches!(kind, CellKind::List(_) | CellKind::Number));
        let properties = lists.fold(WriterProperties::builder(), |properties, (name, kind)| {
            let mut path = vec![(*name).to_owned()];
            path.extend(LEVELS.iter().filter(|_| matches!(kind, CellKind::List(_))).map(ToString::to_string));
            properties.set_column_dictionary_enabled(ColumnPath::new(path), false)
        });
        let properties =
            properties.set_created_by(concat!("simile ", env!("CARGO_PKG_VERSION")).to_owned()).build();
        Ok(Self {
            file: SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties))?,
            buffers: columns.iter().map(|(_, kind)| Cells::none(*kind)).collect(),
        })
    }

    /// Adds rows: the cells of each column, in the order of the columns.
    ///
    /// # Errors
    /// If there are other columns, not as many cells in each, or the disk is full.
    pub(crate) fn push(&mut self, columns: Vec<Cells>) -> Result<()> {
        let rows = columns.first().map_or(0, Cells::rows);
        let fit = columns.len() == self.buffers.len() && columns.iter().all(|cells| cells.rows() == rows);
        anyhow::ensure!(fit, "the columns of a table differ in length");
        for (buffer, cells) in self.buffers.iter_mut().zip(columns) {
            anyhow::ensure!(buffer.append(cells), "a column changes its type");
        }
        let numbers: usize = self.buffers.iter().map(Cells::numbers).sum();
        if numbers >= MOST_NUMBERS || self.buffers.first().is_some_and(|cells| cells.rows() >= MOST_ROWS) {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the rest and the end of the file.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(crate) fn finish(mut self) -> Result<W> {
        if self.buffers.first().is_some_and(|cells| cells.rows() > 0) {
            self.flush()?;
        }
        Ok(self.file.into_inner()?)
    }

    /// Writes the rows that are held as a group.
    fn flush(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for cells in &mut self.buffers {
            write(&mut group, cells)?;
            match cells {
                Cells::Text(cells) => cells.clear(),
                Cells::Whole(cells) => cells.clear(),
                Cells::Number(cells) => cells.clear(),
                Cells::List { values, .. } => values.clear(),
            }
        }
        group.close()?;
        Ok(())
    }
}

fn field(name: &str, kind: CellKind) -> Result<TypePtr> {
    fn plain(name: &str, physical: Physical) -> PrimitiveTypeBuilder<'_> {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED)
    }
    Ok(Arc::new(match kind {
        CellKind::Text => plain(name, Physical::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8)
            .build()?,
        CellKind::Whole => plain(name, Physical::INT64).build()?,
        CellKind::Number => plain(name, Physical::DOUBLE).build()?,
        CellKind::List(_) => {
            let [list, element] = LEVELS;
            let element = plain(element, Physical::FLOAT).build()?;
            let list = Type::group_type_builder(list)
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            Type::group_type_builder(name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_converted_type(ConvertedType::LIST)
                .with_fields(vec![Arc::new(list)])
                .build()?
        }
    }))
}

fn write<W: Write + Send>(group: &mut SerializedRowGroupWriter<'_, W>, cells: &Cells) -> Result<()> {
    let Some(mut column) = group.next_column()? else { anyhow::bail!("a table has too few columns") };
    match cells {
        Cells::Text(cells) => {
            let bytes: Vec<ByteArray> = cells.iter().map(|cell| cell.as_str().into()).collect();
            column.typed::<ByteArrayType>().write_batch(&bytes, None, None)?;
        }
        Cells::Whole(cells) => {
            column.typed::<Int64Type>().write_batch(cells, None, None)?;
        }
        Cells::Number(cells) => {
            column.typed::<DoubleType>().write_batch(cells, None, None)?;
        }
        Cells::List { length, values } => {
            // A repetition level of 0 begins a row.
            let levels: Vec<i16> =
                (0..values.len()).map(|at| i16::from(!at.is_multiple_of(*length))).collect();
            let present = vec![1; values.len()];
            column.typed::<FloatType>().write_batch(values, Some(&present), Some(&levels))?;
        }
    }
    column.close()?;
    Ok(())
}
