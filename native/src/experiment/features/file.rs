//! Features in a file that has no name: numbers in `f32`, little-endian, row after row. It lies in the system's folder for
//! temporary files (`TMPDIR` names another) and is gone when the program ends, however it ends.

use std::env::temp_dir;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use anyhow::{Context as _, Result, ensure};
use simile_core::error::{Error, Result as CoreResult};
use simile_core::numeric::rows::{Buffer, Rows};

use crate::positioned::read_at;

/// Bytes of a number.
const NUMBER: usize = size_of::<f32>();
/// Bytes that are written at once.
const WRITTEN: usize = 1 << 20;
/// Numbers that are read at once.
const READ: usize = 1 << 16;

/// A file that is being written.
pub(super) struct Writer {
    file: BufWriter<File>,
    values: usize,
}

impl Writer {
    /// An empty file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn new() -> Result<Self> {
        let file = tempfile::tempfile()
            .with_context(|| format!("making a file for features in {}", temp_dir().display()))?;
        Ok(Self { file: BufWriter::with_capacity(WRITTEN, file), values: 0 })
    }

    /// Adds numbers.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn push(&mut self, values: &[f32]) -> Result<()> {
        for value in values {
            self.file.write_all(&value.to_le_bytes()).with_context(room)?;
        }
        self.values += values.len();
        Ok(())
    }

    /// The file, to be read.
    ///
    /// # Errors
    /// If the last numbers cannot be written, or some are missing.
    pub(super) fn finish(self, rows: usize, columns: usize) -> Result<FeatureFile> {
        ensure!(self.values == rows * columns, "{} features of {rows}x{columns} were written", self.values);
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error).with_context(room)?;
        Ok(FeatureFile { file, rows, columns })
    }
}

fn room() -> String {
    format!(
        "writing features to {}; TMPDIR names a folder with more room, and not one in memory",
        temp_dir().display()
    )
}

/// Features in a file, `[n, d]`. Several threads may read it at once.
#[derive(Debug)]
pub(crate) struct FeatureFile {
    file: File,
    rows: usize,
    columns: usize,
}

impl Rows for FeatureFile {
    fn is_single(&self) -> bool {
        true
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn read(&self, first: usize, mut out: Buffer<'_>) -> CoreResult<()> {
        let mut bytes = vec![0; NUMBER * READ.min(out.len())];
        let mut offset = (first * self.columns * NUMBER) as u64;
        for done in (0..out.len()).step_by(READ) {
            let count = READ.min(out.len() - done);
            let bytes = &mut bytes[..NUMBER * count];
            read_at(&self.file, bytes, offset).map_err(|error| Error::Degenerate {
                reason: format!("the features could not be read from {} ({error})", temp_dir().display()),
                remedy: "name a folder on another disk with TMPDIR".into(),
            })?;
            offset += bytes.len() as u64;
            let (numbers, _) = bytes.as_chunks::<NUMBER>();
            out.part(done, count).write(numbers.iter().map(|&number| f32::from_le_bytes(number)));
        }
        Ok(())
    }
}
