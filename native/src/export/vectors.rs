//! Files of vectors: NumPy's `.npy`, CSV and Parquet.

use std::io::{BufWriter, IntoInnerError, Write as _};
use std::path::Path;

use anyhow::Result;
use simile_core::numeric::matrix::Matrix;

use crate::exit::usage;
use crate::parquet::{CellKind, Cells, VECTOR, Writer};
use crate::run_folder::atomic_file::AtomicFile;

/// A file format, chosen by the ending of the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Csv,
    Parquet,
}

impl Format {
    /// The format of a file of that name.
    ///
    /// # Errors
    /// A usage error that names the endings.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("npy") => Ok(Self::Npy),
            Some("csv") => Ok(Self::Csv),
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(usage(format_args!(
                "{}: expected a name that ends in .npy, .csv or .parquet",
                path.display()
            ))),
        }
    }

    /// Begins a file with `shape` rows and columns.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn begin(self, path: &Path, shape: [usize; 2]) -> Result<Vectors> {
        let place = AtomicFile::begin(path)?;
        Ok(match self {
            Self::Npy => Vectors::Npy(with_header(place, &npy_header(shape))?),
            Self::Csv => Vectors::Csv(with_header(place, &csv_header(shape[1])?)?),
            Self::Parquet => {
                let columns = [("path", CellKind::Text), (VECTOR, CellKind::List(shape[1]))];
                Vectors::Parquet(Writer::begin(place, &columns)?)
            }
        })
    }
}

/// A file that begins with a header.
fn with_header(place: AtomicFile, header: &[u8]) -> Result<BufWriter<AtomicFile>> {
    let mut file = BufWriter::new(place);
    file.write_all(header)?;
    Ok(file)
}

/// A file of vectors that is written row by row.
pub(crate) enum Vectors {
    Npy(BufWriter<AtomicFile>),
    Csv(BufWriter<AtomicFile>),
    Parquet(Writer<AtomicFile>),
}

impl Vectors {
    /// Adds one row a name.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(crate) fn push(&mut self, names: &[String], rows: &Matrix) -> Result<()> {
        match self {
            Self::Npy(file) => {
                for &value in rows.data() {
                    file.write_all(&(value as f32).to_le_bytes())?;
                }
            }
            Self::Csv(file) => file.write_all(&csv_rows(names, rows)?)?,
            Self::Parquet(file) => {
                let values = rows.data().iter().map(|&value| value as f32).collect();
                let vectors = Cells::List { length: rows.columns(), values };
                file.push(vec![Cells::Text(names.to_vec()), vectors])?;
            }
        }
        Ok(())
    }

    /// Gives the whole file its name.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub(crate) fn finish(self) -> Result<()> {
        let file = match self {
            Self::Npy(file) | Self::Csv(file) => file.into_inner().map_err(IntoInnerError::into_error)?,
            Self::Parquet(file) => file.finish()?,
        };
        Ok(file.finish()?)
    }
}

/// Rows as CSV with a header.
///
/// # Errors
/// If a row cannot be written.
pub(crate) fn csv(names: &[String], rows: &Matrix) -> Result<Vec<u8>> {
    Ok([csv_header(rows.columns())?, csv_rows(names, rows)?].concat())
}

fn csv_header(columns: usize) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = (0..columns).map(|column| format!("v{column}"));
    writer.write_record(std::iter::once("image".to_owned()).chain(columns))?;
    Ok(writer.into_inner()?)
}

/// The name, then the values, in the shortest form that reads back to the same `f32`.
fn csv_rows(names: &[String], rows: &Matrix) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (name, row) in names.iter().zip(rows.iter_rows()) {
        let values = row.iter().map(|&value| (value as f32).to_string());
        writer.write_record(std::iter::once(name.clone()).chain(values))?;
    }
    Ok(writer.into_inner()?)
}

/// The start of a NumPy file of `float32`, format 1.0: magic, length of the header, header; values follow in row order.
/// The header ends on a multiple of 64 bytes (numpy.lib.format).
fn npy_header([rows, columns]: [usize; 2]) -> Vec<u8> {
    const PREFIX: usize = 10;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let length = (PREFIX + header.len() + 1).next_multiple_of(64) - PREFIX;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(length as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_the_layout_that_numpy_reads() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.npy");
        let mut file = Format::Npy.begin(&path, [2, 3]).unwrap();
        for row in [[1.0, 2.0, 3.0], [4.0, 5.0, -0.5]] {
            file.push(&[String::new()], &Matrix::new(1, 3, row.to_vec()).unwrap()).unwrap();
        }
        assert!(!path.exists(), "a file is there once it is whole");
        file.finish().unwrap();
        let bytes = std::fs::read(path).unwrap();
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!((&bytes[..8], (10 + length) % 64), (b"\x93NUMPY\x01\x00".as_slice(), 0));
        let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
        assert!(header.contains("'shape': (2, 3)") && header.ends_with('\n'), "{header}");
        assert_eq!(bytes.len(), 10 + length + 6 * 4);
        assert_eq!(bytes[bytes.len() - 4..], (-0.5_f32).to_le_bytes());
    }

    #[test]
    fn a_name_with_a_comma_stays_one_field() {
        let text = csv(&["a, b.png".into()], &Matrix::new(1, 2, vec![0.1, 2.0]).unwrap()).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "image,v0,v1\n\"a, b.png\",0.1,2\n");
    }

    #[test]
    fn the_ending_chooses_the_format() {
        assert_eq!(Format::of(Path::new("a.npy")).unwrap(), Format::Npy);
        assert_eq!(Format::of(Path::new("dir.npy/a.csv")).unwrap(), Format::Csv);
        assert_eq!(Format::of(Path::new("a.parquet")).unwrap(), Format::Parquet);
        assert!(Format::of(Path::new("a.txt")).unwrap_err().is::<crate::exit::Usage>());
    }
}
