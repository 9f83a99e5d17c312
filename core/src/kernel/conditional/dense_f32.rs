//! `W` of a large batch in single precision.

use super::isolated::IsolatedRows;
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;

/// Half of the distance of neighbouring `f32`, relative.
pub(super) const ROUNDING: f64 = 0.5 * f32::EPSILON as f64;

/// Weights below this are 0 in single precision, where the reciprocal of their sum would not be a number. Where only shares of them
/// count, rows of such weights are [rescaled](super::rescaled) before.
pub(super) const NEGLIGIBLE: f64 = 1e-30;

/// `W` in `f32`, in row order.
#[derive(Debug, Clone)]
pub(super) struct DenseF32 {
    pub(super) rows: usize,
    pub(super) values: Vec<f32>,
    /// The rows of samples whose weights are too small for `f32`.
    pub(super) isolated: IsolatedRows,
}

impl DenseF32 {
    /// `W` of the rows of `z`.
    pub(super) fn new(kernel: &Kernel, z: &Matrix, values: Vec<f32>) -> Self {
        let isolated = IsolatedRows::of(kernel, z, &values);
        Self { rows: z.rows(), values, isolated }
    }
}
