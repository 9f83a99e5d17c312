//! Unit rows. Every contrastive objective compares embeddings by their cosine, so it works on unit rows and
//! converts a gradient with respect to them into one with respect to the original rows.

use burn::tensor::Tensor;
use simile_kernels::{pull_back_unit_rows, unit_rows};

/// Rows whose entries are all at most this, 1e-12, in size are treated as zero: their cosine with every row is 0 and they
/// receive no gradient.
///
/// Released code divides by `max(norm, 1e-8)` instead, which gives a zero row a gradient of about `1e8`.
pub const SMALLEST_NORM: f64 = simile_kernels::SMALLEST_NORM;

/// Rows of length one, with the data that converts a gradient back to the original rows.
#[derive(Debug, Clone)]
pub struct UnitRows {
    unit: Tensor<2>,
    /// `[rows, 1]`, reciprocal of the length, 0 for a zero row; `None` if the rows were given as unit rows.
    scale: Option<Tensor<2>>,
}

impl UnitRows {
    /// Divides each row of `raw` (`[rows, dims]`) by its Euclidean length. Rows are first scaled to a largest entry
    /// of 1, so that no square overflows.
    pub fn normalise(raw: Tensor<2>) -> Self {
        let (unit, scale) = unit_rows(raw);
        Self { unit, scale: Some(scale) }
    }

    /// Takes rows that already have length one; a gradient is then the partial derivative with respect to
    /// them.
    pub fn from_unit(unit: Tensor<2>) -> Self {
        Self { unit, scale: None }
    }

    /// The unit rows.
    pub fn rows(&self) -> Tensor<2> {
        self.unit.clone()
    }

    /// Converts a gradient with respect to the unit rows into one of the original rows: `(g - (g . u) u) / |x|`.
    pub fn pull_back(&self, gradient: Tensor<2>) -> Tensor<2> {
        match &self.scale {
            None => gradient,
            Some(scale) => pull_back_unit_rows(self.unit.clone(), scale.clone(), gradient),
        }
    }
}
