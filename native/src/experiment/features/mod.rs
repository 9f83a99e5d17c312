//! The features of a set of images, as probes read them: in memory, or in a file where they would take too much of it.

mod file;

use anyhow::Result;
use simile_core::error::Result as CoreResult;
use simile_core::numeric::rows::{Buffer, FeatureTable, Rows};

use self::file::{FeatureFile, Writer};
use crate::experiment::memory::available::available;

/// Features that would take more than `1 / SHARE` of the available memory go into a file.
const SHARE: u64 = 4;

/// Features in `f32`, `[n, d]`.
#[derive(Debug)]
pub(crate) enum Features {
    Held(FeatureTable),
    Filed(FeatureFile),
}

impl Rows for Features {
    fn is_single(&self) -> bool {
        true
    }

    fn rows(&self) -> usize {
        match self {
            Self::Held(table) => table.rows(),
            Self::Filed(file) => file.rows(),
        }
    }

    fn columns(&self) -> usize {
        match self {
            Self::Held(table) => table.columns(),
            Self::Filed(file) => file.columns(),
        }
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> CoreResult<()> {
        match self {
            Self::Held(table) => table.read(first, out),
            Self::Filed(file) => file.read(first, out),
        }
    }
}

/// Collects the features of images as they are computed.
pub(crate) struct Collector {
    rows: usize,
    columns: usize,
    storage: Storage,
}

/// The numbers so far.
enum Storage {
    Memory(Vec<f32>),
    File(Writer),
}

impl Collector {
    /// For `rows` images with `columns` features each.
    ///
    /// # Errors
    /// If a file is needed and cannot be made.
    pub(crate) fn new(rows: usize, columns: usize) -> Result<Self> {
        let bytes = rows as u64 * columns as u64 * size_of::<f32>() as u64;
        match bytes > available() / SHARE {
            true => Self::in_file(rows, columns),
            false => Ok(Self { rows, columns, storage: Storage::Memory(Vec::with_capacity(rows * columns)) }),
        }
    }

    fn in_file(rows: usize, columns: usize) -> Result<Self> {
        Ok(Self { rows, columns, storage: Storage::File(Writer::new()?) })
    }

    /// Adds the features of the next images.
    ///
    /// # Errors
    /// If they cannot be written, as on a disk that is full.
    pub(crate) fn push(&mut self, values: &[f32]) -> Result<()> {
        match &mut self.storage {
            Storage::Memory(numbers) => {
                numbers.extend_from_slice(values);
                Ok(())
            }
            Storage::File(writer) => writer.push(values),
        }
    }

    /// The features of all images.
    ///
    /// # Errors
    /// If the last of them cannot be written, or some are missing.
    pub(crate) fn finish(self) -> Result<Features> {
        Ok(match self.storage {
            Storage::Memory(numbers) => Features::Held(FeatureTable::new(self.rows, self.columns, numbers)?),
            Storage::File(writer) => Features::Filed(writer.finish(self.rows, self.columns)?),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
