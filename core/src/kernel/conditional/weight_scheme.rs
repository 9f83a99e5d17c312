//! The weights of pairs from the conditional embedding operator: as printed, as released, or as a distribution.

use serde::{Deserialize, Serialize};

use super::unit_diagonal::GramDiagonal;
use super::weights::ConditionWeights;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;

/// The computation of weights from `W`; the table of the [folder](super) compares the schemes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightScheme {
    /// As printed: `W` with its diagonal and its negative entries.
    Paper,
    /// As released: `W` of a Gram matrix with unit diagonal, small entries and the diagonal 0.
    Released,
    /// Non-negative rows of sum 1, with diagonal 0: ours, and the default.
    #[default]
    Normalised,
}

impl WeightScheme {
    /// The diagonal of the Gram matrix that it takes.
    pub fn gram_diagonal(self) -> GramDiagonal {
        match self {
            Self::Released => GramDiagonal::One,
            Self::Paper | Self::Normalised => GramDiagonal::OfKernel,
        }
    }

    /// The weights of the rows of `z` among themselves, `[b, b]`, with `ridge` added to the Gram matrix's diagonal.
    /// `clip_threshold` applies to [`Released`](Self::Released), which sets smaller weights to 0 and keeps one that equals it
    /// (released: `1e-6`). A row of [`Normalised`](Self::Normalised) without positive weights is 0.
    ///
    /// # Errors
    /// As [`ConditionWeights::solve`].
    pub fn weights(self, kernel: &Kernel, z: &Matrix, ridge: f64, clip_threshold: f64) -> Result<Matrix> {
        let mut weights = ConditionWeights::solve(kernel, z, ridge, self.gram_diagonal())?.to_matrix();
        if self == Self::Paper {
            return Ok(weights);
        }
        for i in 0..weights.rows() {
            weights[(i, i)] = 0.0;
            let row = weights.row_mut(i);
            if self == Self::Released {
                row.iter_mut().filter(|weight| **weight < clip_threshold).for_each(|weight| *weight = 0.0);
            } else {
                row.iter_mut().for_each(|weight| *weight = weight.max(0.0));
                let sum: f64 = row.iter().sum();
                row.iter_mut().filter(|_| sum > 0.0).for_each(|weight| *weight /= sum);
            }
        }
        Ok(weights)
    }
}
