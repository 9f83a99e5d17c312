//! The checks, the error and the matrix of the solver that all solves of `K + ridge I` share.

use faer::Mat;

use crate::error::{Error, Result, shown};
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;

/// Batches up to this size are solved densely in `f64`.
pub(super) const SMALL: usize = 1024;

/// Largest value of a kernel: sums of products of such values are finite.
const LARGEST: f64 = 1e140;

/// Checks that the values of a kernel, or of its features, are small enough for finite products.
pub(super) fn check_magnitude(values: &Matrix) -> Result<()> {
    if values.data().iter().all(|value| value.abs() < LARGEST) {
        return Ok(());
    }
    Err(Error::Degenerate {
        reason: format!(
            "the kernel has values above {}, and products of such values overflow",
            shown(LARGEST)
        ),
        remedy: "divide the conditioning variable `z` by a constant, or raise kernel.temp_z".into(),
    })
}

/// The matrix in the type of the solver.
pub(super) fn to_faer(matrix: &Matrix) -> Mat<f64> {
    Mat::from_fn(matrix.rows(), matrix.columns(), |i, j| matrix[(i, j)])
}

/// Checks what a system is made of: the kernel, the values of `z` and its columns, and the ridge.
///
/// # Errors
/// [`Error::Parameter`] names the parameter, [`Error::NotFinite`] or [`Error::TooLarge`] the row of `z`.
pub(super) fn check_system(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<()> {
    if !ridge.is_finite() || ridge < 0.0 {
        return Err(Error::parameter("lambda", ridge, "expected a finite ridge, 0 or above"));
    }
    kernel.check_with(z)
}

/// The error of a system that has no solution with digits.
pub(super) fn singular(ridge: f64) -> Error {
    Error::Degenerate {
        reason: format!("K + lambda I is singular with lambda = {ridge}"),
        remedy: "raise lambda, use a kernel of another bandwidth, or scale the conditioning variable `z` towards 1".into(),
    }
}
