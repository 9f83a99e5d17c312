//! Rows that end the computation that reads them once a check fails.

use simile_core::error::Result;
use simile_core::numeric::rows::{Buffer, Rows};

/// A check before each block of rows. Its error ends the computation.
pub(crate) type Check = fn() -> Result<()>;

/// Lets every computation end.
pub(super) fn unchecked() -> Result<()> {
    Ok(())
}

/// Rows that are read for as long as a check finds no error.
pub(super) struct Watched<R> {
    pub(super) rows: R,
    pub(super) check: Check,
}

impl<R: Rows> Rows for Watched<R> {
    fn is_single(&self) -> bool {
        self.rows.is_single()
    }

    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn columns(&self) -> usize {
        self.rows.columns()
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> Result<()> {
        (self.check)()?;
        self.rows.read(first, out)
    }
}
