//! Files of vectors: NumPy's `.npy` and CSV.

use std::path::Path;

use anyhow::Result;
use simile_core::numeric::matrix::Matrix;

use crate::exit::usage;
use crate::run_folder::folder;

/// A file format, chosen by the ending of the file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Npy,
    Csv,
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
            _ => Err(usage(format_args!("{}: expected a name that ends in .npy or .csv", path.display()))),
        }
    }

    /// Writes one row a name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(self, path: &Path, names: &[String], rows: &Matrix) -> Result<()> {
        let bytes = match self {
            Self::Npy => npy(rows),
            Self::Csv => csv(names, rows)?,
        };
        folder::write(path, &bytes)
    }
}

/// Rows as CSV: the name, then the values, in the shortest form that reads back to the same `f32`.
///
/// # Errors
/// If a row cannot be written.
pub(crate) fn csv(names: &[String], rows: &Matrix) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = (0..rows.columns()).map(|column| format!("v{column}"));
    writer.write_record(std::iter::once("image".to_owned()).chain(columns))?;
    for (name, row) in names.iter().zip(rows.iter_rows()) {
        let values = row.iter().map(|&value| (value as f32).to_string());
        writer.write_record(std::iter::once(name.clone()).chain(values))?;
    }
    Ok(writer.into_inner()?)
}

/// Rows as a NumPy array of `float32`, format 1.0: magic, length of the header, header, values in row order. The
/// header ends on a multiple of 64 bytes (numpy.lib.format).
fn npy(rows: &Matrix) -> Vec<u8> {
    const PREFIX: usize = 10;
    let header = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}",
        rows.rows(),
        rows.columns()
    );
    let length = (PREFIX + header.len() + 1).next_multiple_of(64) - PREFIX;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(length as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{header:<width$}\n", width = length - 1).as_bytes());
    bytes.extend(rows.data().iter().flat_map(|&value| (value as f32).to_le_bytes()));
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_the_layout_that_numpy_reads() {
        let bytes = npy(&Matrix::new(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, -0.5]).unwrap());
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
        assert!(Format::of(Path::new("a.txt")).unwrap_err().is::<crate::exit::Usage>());
    }
}
