//! Weights of which only the shares of a row count, in a size that every float type holds.

use super::{ConditionalEmbedding, Form};
use crate::numeric::matrix::Matrix;

impl ConditionalEmbedding {
    /// `W`, with each row whose largest weight of another sample is below `least` divided by that weight. Of such a row the
    /// negative weights and the sample's own are 0. The shares that its positive weights have of their sum do not change.
    ///
    /// `None` if there is no such row. Products of factors are left as they are: they have no digits of so small a weight.
    pub(crate) fn raised(&self, least: f64) -> Option<Matrix> {
        let n = self.rows();
        let small: Vec<usize> = match &self.form {
            Form::Factors { .. } => return None,
            Form::Dense(w) => (0..n).filter(|&i| is_small(i, w.row(i).iter().copied(), least)).collect(),
            Form::Groups(groups) => {
                (0..n).filter(|&i| is_small(i, (0..n).map(|j| groups.weight(i, j)), least)).collect()
            }
            Form::Single(weights) => {
                let rows = weights.values.chunks(n.max(1)).enumerate();
                let is_small =
                    |(i, row): &(usize, &[f32])| is_small(*i, row.iter().map(|&w| f64::from(w)), least);
                rows.filter(is_small).map(|(i, _)| i).collect()
            }
        };
        if small.is_empty() {
            return None;
        }
        let mut weights = self.to_matrix();
        for i in small {
            let row = weights.row_mut(i);
            row[i] = 0.0;
            let largest = row.iter().fold(0.0_f64, |most, &weight| most.max(weight));
            row.iter_mut().for_each(|weight| *weight = weight.max(0.0) / largest);
        }
        Some(weights)
    }
}

/// True if a row has weights of other samples, and all are below `least`. Of most rows only the first few are looked at.
fn is_small(own: usize, row: impl Iterator<Item = f64>, least: f64) -> bool {
    let mut is_positive = false;
    for (j, weight) in row.enumerate() {
        if j != own && weight >= least {
            return false;
        }
        is_positive |= j != own && weight > 0.0;
    }
    is_positive
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn a_row_of_small_weights_keeps_its_shares_and_others_stay() {
        let z = Matrix::new(3, 2, vec![0.0, 3.0, 0.0, -3.1, 12.0, 0.0]).unwrap();
        let operator = ConditionalEmbedding::new(&Kernel::rbf(1.0), &z, 0.01).unwrap();
        let (weights, raised) = (operator.to_matrix(), operator.raised(1e-20).unwrap());
        assert!(weights[(2, 1)] > 0.0 && weights[(2, 0)] > weights[(2, 1)] && weights[(2, 0)] < 1e-30);
        assert_eq!([raised.row(0), raised.row(1)], [weights.row(0), weights.row(1)]);
        assert_eq!(raised.row(2), [1.0, weights[(2, 1)] / weights[(2, 0)], 0.0]);
        assert!(operator.raised(1e-60).is_none());
        let alone = ConditionalEmbedding::new(&Kernel::ExactMatch, &z, 0.01).unwrap();
        assert!(alone.raised(1e-20).is_none(), "a row without weights has no shares");
    }
}
