//! `W` of a batch on the host: how it is stored, and how it is read.

use simile_kernels::cpu::vectors::dot;

use super::accuracy::Accuracy;
use super::dense_f32::DenseF32;
use super::groups::GroupWeights;
use crate::numeric::matrix::Matrix;

/// Batches up to this size store `W` as a dense matrix even if factors exist.
pub(super) const DENSE_ROWS: usize = 128;

/// The weights `W` of a batch, `[b, b]`, the kernel conditional embedding operator (KCEO) of CCL-K: dense, as `diag(d) + L R^T`
/// with few columns, or by groups of equal samples.
#[derive(Debug, Clone)]
pub struct ConditionWeights {
    pub(super) storage: Storage,
    pub(super) accuracy: Accuracy,
}

/// How `W` is stored.
#[derive(Debug, Clone)]
pub(super) enum Storage {
    Dense(Matrix),
    Factors { diagonal: Vec<f64>, left: Matrix, right: Matrix },
    Groups(GroupWeights),
    DenseF32(DenseF32),
}

impl ConditionWeights {
    /// `W` without an error but rounding in `f64`.
    pub(super) fn exact(storage: Storage) -> Self {
        Self { storage, accuracy: Accuracy::Exact }
    }

    /// The same by its entries, if the batch is small.
    pub(super) fn dense_if_small(self) -> Self {
        if self.rows() > DENSE_ROWS || matches!(self.storage, Storage::Dense(_)) {
            return self;
        }
        Self { storage: Storage::Dense(self.to_matrix()), accuracy: self.accuracy }
    }

    /// Upper bound of `|W - W_exact|_2`, if `W` was made from a low-rank factor or in mixed precision; `None` if it is
    /// exact, or if the diagonal was set to 1 and was not 1 before.
    pub fn approximation_error(&self) -> Option<f64> {
        self.accuracy.bound()
    }

    pub(crate) fn accuracy(&self) -> Accuracy {
        self.accuracy
    }

    /// Number of samples.
    pub fn rows(&self) -> usize {
        match &self.storage {
            Storage::Dense(w) => w.rows(),
            Storage::Factors { left, .. } => left.rows(),
            Storage::Groups(groups) => groups.of.len(),
            Storage::DenseF32(weights) => weights.rows,
        }
    }

    /// `W` as a dense matrix.
    pub fn to_matrix(&self) -> Matrix {
        match &self.storage {
            Storage::Dense(w) => w.clone(),
            Storage::Factors { diagonal, left, right } => {
                Matrix::from_fn(left.rows(), left.rows(), |i, j| {
                    let diagonal = if i == j { diagonal[i] } else { 0.0 };
                    diagonal + dot(left.row(i), right.row(j))
                })
            }
            Storage::Groups(groups) => Matrix::from_fn(self.rows(), self.rows(), |i, j| groups.weight(i, j)),
            Storage::DenseF32(weights) => {
                let n = weights.rows;
                Matrix::from_fn(n, n, |i, j| f64::from(weights.values[i * n + j]))
            }
        }
    }

    /// The diagonal of `W`.
    pub(super) fn diagonal(&self) -> Vec<f64> {
        match &self.storage {
            Storage::Dense(w) => (0..w.rows()).map(|i| w[(i, i)]).collect(),
            Storage::Factors { diagonal, left, right } => {
                let rows = left.iter_rows().zip(right.iter_rows());
                let own = rows.map(|(left, right)| dot(left, right));
                diagonal.iter().zip(own).map(|(d, own)| d + own).collect()
            }
            Storage::Groups(groups) => (0..self.rows()).map(|i| groups.weight(i, i)).collect(),
            Storage::DenseF32(weights) => {
                let own = weights.values.iter().step_by(weights.rows + 1);
                own.map(|&weight| f64::from(weight)).collect()
            }
        }
    }
}
