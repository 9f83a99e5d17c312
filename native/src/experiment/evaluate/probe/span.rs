//! Rows of features in the span of the training images.
//!
//! The weights of a penalised linear probe lie in that span, so the probe predicts the same from the projected rows, and its fit takes a
//! fraction of the time and of the memory where images are few.

use anyhow::Result;
use simile_core::error::Result as CoreResult;
use simile_core::eval::projection::Pca;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{Buffer, Rows, to_matrix};

/// The span of the rows to which a probe is fitted, if its dimension is far below the number of features.
pub(super) struct Span(Option<Pca>);

impl Span {
    /// The span of training images.
    ///
    /// # Errors
    /// If rows cannot be read, or are not finite.
    pub(super) fn of(train: &dyn Rows) -> Result<Self> {
        let (images, features) = (train.rows(), train.columns());
        if 2 * images > features {
            return Ok(Self(None));
        }
        Ok(Self(Some(Pca::fit(&to_matrix(train)?, images)?)))
    }

    /// The coordinates of rows in the span; `None` if they are read as they are.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn project(&self, rows: &dyn Rows) -> Result<Option<Matrix>> {
        let Some(span) = &self.0 else { return Ok(None) };
        Ok(Some(span.project(&to_matrix(rows)?)?))
    }
}

/// Standardised features: as they are read, or projected onto a span.
pub(super) enum ProbeRows<R> {
    Original(R),
    Projected(Matrix),
}

impl<R: Rows> Rows for ProbeRows<R> {
    fn is_single(&self) -> bool {
        true
    }

    fn rows(&self) -> usize {
        match self {
            Self::Original(rows) => rows.rows(),
            Self::Projected(rows) => rows.rows(),
        }
    }

    fn columns(&self) -> usize {
        match self {
            Self::Original(rows) => rows.columns(),
            Self::Projected(rows) => rows.columns(),
        }
    }

    fn read(&self, first: usize, out: Buffer<'_>) -> CoreResult<()> {
        match self {
            Self::Original(rows) => rows.read(first, out),
            Self::Projected(rows) => rows.read(first, out),
        }
    }
}
