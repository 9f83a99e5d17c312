//! Kernels and conditions that several tests solve, and the comparison of solutions.

use super::unit_diagonal::GramDiagonal;
use super::weights::ConditionWeights;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;

/// Colours from 0 to 255; a cubic kernel of them reaches 1e15.
pub(super) const BRIGHT: [[f64; 3]; 5] =
    [[239.0, 89.0, 245.0], [166.0, 62.0, 6.0], [23.0, 58.0, 180.0], [9.0, 214.0, 133.0], [251.0, 53.0, 25.0]];

/// `(<x, y> + offset)^degree`.
pub(super) fn polynomial(offset: f64, degree: u32) -> Kernel {
    Kernel::Polynomial { gamma: 1.0, offset, degree, scale: 1.0 }
}

/// `W` of a kernel as it is.
pub(super) fn weights_of(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<ConditionWeights> {
    ConditionWeights::solve(kernel, z, ridge, GramDiagonal::OfKernel)
}

/// The largest difference of two entries at one place.
pub(super) fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
    a.data().iter().zip(b.data()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}
