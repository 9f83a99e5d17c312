//! Rows that count how often they are read, and end the computation that reads them once a check fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use simile_core::error::Result;
use simile_core::numeric::rows::{Buffer, Rows};

use crate::console::PeriodicLine;

/// A check before each block of rows. Its error ends the computation.
pub(crate) type Check = fn() -> Result<()>;

/// Lets every computation end.
pub(crate) fn unchecked() -> Result<()> {
    Ok(())
}

/// The check of a computation, and its progress.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    check: Check,
    rows_read: Arc<AtomicU64>,
}

impl Watch {
    pub(super) fn new(check: Check) -> Self {
        Self { check, rows_read: Arc::default() }
    }

    /// The rows under this watch.
    pub(super) fn over<R>(&self, rows: R) -> Watched<R> {
        Watched { rows, watch: self.clone() }
    }

    /// Says from time to time how often the rows of so many images were read.
    pub(super) fn report(&self, images: usize) -> PeriodicLine {
        let rows_read = Arc::clone(&self.rows_read);
        PeriodicLine::start(move || passes(rows_read.load(Ordering::Relaxed), images))
    }
}

/// The progress of probes in words.
fn passes(rows_read: u64, images: usize) -> String {
    let passes = rows_read as f64 / images.max(1) as f64;
    format!("probing: {passes:.1} passes over the features of {images} training images so far")
}

/// Rows that are read for as long as a check finds no error.
pub(super) struct Watched<R> {
    pub(super) rows: R,
    pub(super) watch: Watch,
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
        (self.watch.check)()?;
        let rows = out.len() / self.columns().max(1);
        self.watch.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
        self.rows.read(first, out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::numeric::matrix::Matrix;

    use super::*;

    #[test]
    fn a_report_tells_how_often_all_rows_were_read() {
        let watch = Watch::new(unchecked);
        let (first, second) = (watch.over(Matrix::zeros(8, 3)), watch.over(Matrix::zeros(8, 2)));
        let (mut three, mut two) = (vec![0.0; 8 * 3], vec![0.0; 4 * 2]);
        first.read(0, Buffer::Double(&mut three)).unwrap();
        second.read(4, Buffer::Double(&mut two)).unwrap();
        let rows_read = watch.rows_read.load(Ordering::Relaxed);
        assert_eq!(passes(rows_read, 8), "probing: 1.5 passes over the features of 8 training images so far");
    }
}
