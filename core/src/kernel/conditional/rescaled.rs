//! Rescales rows of tiny weights for losses in which only the ratios of the weights of a row count, so that `f32` can represent them.

use super::isolated::IsolatedRows;
use super::weights::{ConditionWeights, Storage};

/// The largest weight of a rescaled row: shares down to 1e-38, the least number of `f32`, are no [negligible](super::dense_f32) weights.
const LARGEST: f64 = 1e8;

impl ConditionWeights {
    /// Multiplies each row whose largest weight of another sample is below `least`, so that this weight becomes 1e8. The negative
    /// weights of such a row and the sample's own become 0. The ratios of its positive weights do not change.
    ///
    /// Returns `None` if there is no such row; with one, the matrix is not symmetric. Large batches have the rows of isolated samples
    /// [apart](super::isolated). Products of factors are left as they are: they have no digits of so small a weight.
    pub(crate) fn rescaled(&self, least: f64) -> Option<Self> {
        let samples = self.isolated(least);
        if samples.is_empty() {
            return None;
        }
        let mut weights = self.to_matrix();
        for (i, shares) in self.rows_apart() {
            weights.row_mut(i).iter_mut().zip(shares).for_each(|(weight, &share)| *weight = f64::from(share));
        }
        for i in samples {
            let row = weights.row_mut(i);
            row[i] = 0.0;
            let largest = row.iter().fold(0.0_f64, |most, &weight| most.max(weight));
            // Without positive weights it has no shares.
            let divisor = if largest > 0.0 { largest } else { 1.0 };
            row.iter_mut().for_each(|weight| *weight = LARGEST * (weight.max(0.0) / divisor));
        }
        Some(Self { storage: Storage::Dense(weights), accuracy: self.accuracy })
    }

    /// The samples whose weights of others are all below `least`, and some of them above 0, ascending.
    pub(super) fn isolated(&self, least: f64) -> Vec<usize> {
        let n = self.rows();
        let mut samples = match &self.storage {
            Storage::Factors { .. } => Vec::new(),
            Storage::Dense(weights) => small_rows(n, least, |i, j| weights[(i, j)]),
            Storage::Groups(groups) => small_rows(n, least, |i, j| groups.weight(i, j)),
            Storage::DenseF32(weights) => small_rows(n, least, |i, j| f64::from(weights.values[i * n + j])),
        };
        samples.extend(self.rows_apart().map(|(sample, _)| sample));
        samples.sort_unstable();
        samples.dedup();
        samples
    }

    /// The rows of isolated samples that a large batch has apart.
    fn rows_apart(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let rows = match &self.storage {
            Storage::DenseF32(weights) => Some(&weights.isolated),
            _ => None,
        };
        rows.into_iter().flat_map(IsolatedRows::iter)
    }
}

/// The rows whose weights of other samples are all below `least`, and some of them above 0. Most rows are decided by their first few
/// weights.
fn small_rows(n: usize, least: f64, weight: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    let others = |i: usize| (0..n).filter(move |&j| j != i);
    let is_small =
        |&i: &usize| !others(i).any(|j| weight(i, j) >= least) && others(i).any(|j| weight(i, j) > 0.0);
    (0..n).filter(is_small).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::weights_of;
    use crate::kernel::Kernel;
    use crate::numeric::matrix::Matrix;

    #[test]
    fn a_row_of_small_weights_keeps_its_shares_and_others_stay() {
        let z = Matrix::new(3, 2, vec![0.0, 3.0, 0.0, -3.1, 12.0, 0.0]).unwrap();
        let solved = weights_of(&Kernel::rbf(1.0), &z, 0.01).unwrap();
        let (weights, rescaled) = (solved.to_matrix(), solved.rescaled(1e-20).unwrap().to_matrix());
        assert!(weights[(2, 1)] > 0.0 && weights[(2, 0)] > weights[(2, 1)] && weights[(2, 0)] < 1e-30);
        assert_eq!([rescaled.row(0), rescaled.row(1)], [weights.row(0), weights.row(1)]);
        assert_eq!(rescaled.row(2), [1e8, 1e8 * (weights[(2, 1)] / weights[(2, 0)]), 0.0]);
        assert!(solved.rescaled(1e-60).is_none());
        let alone = weights_of(&Kernel::ExactMatch, &z, 0.01).unwrap();
        assert!(alone.rescaled(1e-20).is_none(), "a row without weights has no shares");
    }
}
