//! `W` of a Gram matrix whose diagonal is set to 1, as in released CCL-K.

use faer::Mat;
use faer::linalg::solvers::Solve;
use simile_kernels::cpu::vectors::dot;

use super::accuracy::Accuracy;
use super::dense::solve_dense;
use super::system::{check_magnitude, singular, to_faer};
use super::weights::{ConditionWeights, DENSE_ROWS, Storage};
use crate::error::Result;
use crate::kernel::{Kernel, LowRank};
use crate::numeric::matrix::Matrix;

/// The diagonal of the Gram matrix `K` of which `W` is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GramDiagonal {
    /// The kernel of each sample with itself.
    OfKernel,
    /// 1, whatever the kernel, as released.
    One,
}

impl GramDiagonal {
    /// True if it is another one than that of the kernel.
    pub(super) fn changes(self, kernel: &Kernel) -> bool {
        self == Self::One && !kernel.has_unit_diagonal()
    }
}

impl ConditionWeights {
    /// `W` of a kernel whose diagonal is changed to 1. `K + ridge I` can then be indefinite, which a general solver handles.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), which has checked kernel, `z` and ridge.
    pub(super) fn with_unit_diagonal(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        if z.rows() > DENSE_ROWS
            && let Some(features) = kernel.features(z)
            && let Some(weights) = Self::from_features_with_unit_diagonal(&features, ridge)?
        {
            return Ok(weights);
        }
        Self::dense_with_unit_diagonal(kernel.gram(z), ridge)
    }

    fn dense_with_unit_diagonal(mut gram: Matrix, ridge: f64) -> Result<Self> {
        for i in 0..gram.rows() {
            gram[(i, i)] = 1.0;
        }
        Ok(Self::exact(Storage::Dense(solve_dense(&gram, ridge)?)))
    }

    /// `W` of a low-rank factor of `K`, whose diagonal is set to 1, for a ridge above 0.
    ///
    /// # Errors
    /// [`Error::Degenerate`](crate::error::Error::Degenerate) if `K + ridge I` is close to singular.
    pub(super) fn low_rank_with_unit_diagonal(factor: &LowRank, ridge: f64) -> Result<Self> {
        let weights = match Self::from_features_with_unit_diagonal(factor.factor(), ridge)? {
            Some(weights) => weights,
            None => {
                let features = to_faer(factor.factor());
                let gram = &features * features.transpose();
                let gram = Matrix::from_fn(gram.nrows(), gram.ncols(), |i, j| gram[(i, j)]);
                Self::dense_with_unit_diagonal(gram, ridge)?
            }
        };
        // With another diagonal the system can be indefinite, and the ridge gives no bound.
        let accuracy = match factor.has_unit_diagonal() {
            true => Accuracy::Within(factor.trace_error() / ridge),
            false => Accuracy::Unknown,
        };
        Ok(Self { accuracy, ..weights })
    }

    /// With `D = diag(1 + ridge - k_ii)`, `(D + Z Z^T)^-1 = D^-1 - D^-1 Z (I + Z^T D^-1 Z)^-1 Z^T D^-1`. `None` if
    /// an entry of `D` is too close to 0 for that to be accurate.
    pub(super) fn from_features_with_unit_diagonal(features: &Matrix, ridge: f64) -> Result<Option<Self>> {
        check_magnitude(features)?;
        let squares: Vec<f64> = features.iter_rows().map(|row| dot(row, row)).collect();
        let d: Vec<f64> = squares.iter().map(|square| 1.0 + ridge - square).collect();
        let largest = squares.iter().copied().fold(1.0, f64::max);
        if d.iter().any(|v| v.abs() < 1e-6 * largest.min(1.0 / ridge.max(1e-3))) {
            return Ok(None);
        }
        let z = to_faer(features);
        let scaled = Mat::from_fn(z.nrows(), z.ncols(), |i, j| z[(i, j)] / d[i]);
        let mut inner = z.transpose() * &scaled;
        for i in 0..inner.nrows() {
            inner[(i, i)] += 1.0;
        }
        let solution = inner.partial_piv_lu().solve(scaled.transpose());
        let right = Matrix::from_fn(features.rows(), features.columns(), |i, j| ridge * solution[(j, i)]);
        let left = Matrix::from_fn(features.rows(), features.columns(), |i, j| scaled[(i, j)]);
        if right.first_not_finite().is_some() {
            return Err(singular(ridge));
        }
        let diagonal = d.iter().map(|v| 1.0 - ridge / v).collect();
        Ok(Some(Self::exact(Storage::Factors { diagonal, left, right })))
    }
}
