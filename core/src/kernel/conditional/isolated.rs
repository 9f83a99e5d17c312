//! The weights of isolated samples, up to a factor.
//!
//! `W` of a large batch is in `f32`, where weights below 1e-30 are 0. In a loss in which only the ratios of the weights of a row
//! count, a sample whose kernel values `k` with all others are that small would have no weights. With `A = K + ridge I` and the others
//! `R`, its row is
//!
//! ```text
//! W_iR = (ridge / s) k^T A_RR^-1,   s = A_ii - k^T A_RR^-1 k
//! ```
//!
//! As `k` is tiny, `A_RR^-1` is `A^-1` among the others up to a relative error of about `|k|^2`. From `ridge A^-1 = I - W` it follows
//! that, with `v = k / max k` and `v_i = 0`, the row is `v - W v` up to a factor, in numbers that `f32` has.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use simile_kernels::cpu::exp::exp_f64;
use simile_kernels::cpu::parallel;

use crate::kernel::Kernel;
use crate::kernel::values::KernelValues;
use crate::numeric::matrix::Matrix;

/// A sample is isolated if none of its weights on the others has this size.
pub(super) const ISOLATED: f32 = 1e-20;

/// Isolated samples whose rows a thread computes at once.
const AT_ONCE: usize = 64;

/// The rows of isolated samples, each up to a factor.
#[derive(Debug, Clone, Default)]
pub(super) struct IsolatedRows {
    /// The samples, ascending.
    samples: Vec<usize>,
    /// Their rows, one after the other; the own weight and negative ones are 0.
    rows: Vec<Vec<f32>>,
}

impl IsolatedRows {
    /// Rows up to a factor, in the order of their samples.
    pub(super) fn new(mut rows: Vec<(usize, Vec<f32>)>) -> Self {
        rows.sort_unstable_by_key(|&(sample, _)| sample);
        let (samples, rows) = rows.into_iter().unzip();
        Self { samples, rows }
    }

    /// The rows of the samples that are isolated by `weights`, `W` of the rows of `z` in row order. Samples whose kernel values with
    /// all others are 0 have none.
    pub(super) fn of(kernel: &Kernel, z: &Matrix, weights: &[f32]) -> Self {
        let n = z.rows();
        let is_isolated = |&i: &usize| {
            let row = &weights[i * n..(i + 1) * n];
            row.iter().enumerate().all(|(j, weight)| j == i || weight.abs() < ISOLATED)
        };
        let isolated: Vec<usize> = (0..n).filter(is_isolated).collect();
        if isolated.is_empty() {
            return Self::default();
        }
        let values = KernelValues::new(kernel, z, z.clone());
        let parts = parallel::map_one_by_one(isolated.chunks(AT_ONCE), |part| {
            let (samples, kernels): (Vec<usize>, Vec<Vec<f32>>) =
                part.iter().filter_map(|&i| Some((i, scaled(&values, z, i)?))).unzip();
            let rows = weights_of_others(&samples, kernels.concat(), weights, n);
            (samples, rows)
        });
        let (samples, rows): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Self { samples: samples.concat(), rows: rows.concat() }
    }

    /// The samples with their rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &[f32])> {
        self.samples.iter().zip(&self.rows).map(|(&sample, row)| (sample, row.as_slice()))
    }
}

/// `v` of a sample; `None` if all of its kernel values are 0.
fn scaled(values: &KernelValues, z: &Matrix, i: usize) -> Option<Vec<f32>> {
    let mut row = vec![0.0; z.rows()];
    values.with(z.row(i), 0..z.rows(), &mut row);
    row[i] = 0.0;
    // The least exponential that is computed stands for all below it.
    let least = exp_f64(f64::NEG_INFINITY);
    row.iter_mut().for_each(|value| *value = if *value > least { *value } else { 0.0 });
    let largest = row.iter().fold(0.0_f64, |most, &value| most.max(value));
    (largest > 0.0).then(|| row.iter().map(|value| (value / largest) as f32).collect())
}

/// `v - W v` for the rows `v` of some samples, without the own weights and negative ones.
fn weights_of_others(samples: &[usize], v: Vec<f32>, weights: &[f32], n: usize) -> Vec<Vec<f32>> {
    let mut rows = v.clone();
    // `W` is symmetric.
    matmul(
        MatMut::from_row_major_slice_mut(&mut rows, samples.len(), n),
        Accum::Add,
        MatRef::from_row_major_slice(&v, samples.len(), n),
        MatRef::from_row_major_slice(weights, n, n),
        -1.0,
        Par::Seq,
    );
    let mut rows: Vec<Vec<f32>> = rows.chunks(n).map(<[f32]>::to_vec).collect();
    for (row, &sample) in rows.iter_mut().zip(samples) {
        row[sample] = 0.0;
        row.iter_mut().for_each(|weight| *weight = weight.max(0.0));
    }
    rows
}

/// The largest difference of the shares of other samples in two rows of sample `i`, where negative weights are 0.
#[cfg(test)]
pub(super) fn largest_difference_of_shares(i: usize, one: &[f64], other: &[f64]) -> f64 {
    let shares = |row: &[f64]| -> Vec<f64> {
        let others = row.iter().enumerate().map(|(j, w)| if j == i { 0.0 } else { w.max(0.0) });
        let others: Vec<f64> = others.collect();
        let sum: f64 = others.iter().sum();
        assert!(sum > 0.0, "sample {i} has no shares");
        others.iter().map(|weight| weight / sum).collect()
    };
    let pairs = shares(one).into_iter().zip(shares(other));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::dense::solve_dense;
    use super::super::elimination::Elimination;
    use super::super::weights::ConditionWeights;
    use super::*;

    /// Samples of two columns, most of which have neighbours and some of which have none within thirteen bandwidths.
    #[test]
    fn shares_of_isolated_samples_are_those_of_the_dense_solve() {
        let n = 500;
        let z = Matrix::from_fn(n, 2, |i, j| match i % 25 {
            0 if i == 0 => 9000.0,
            // Its nearest samples resemble each other, so that its weights are not in the ratios of its kernel values.
            0 if i == 25 => [-10.3, 5.0][j],
            0 => 13.5 * (i / 25) as f64 + 1000.0 * j as f64,
            _ => ((i * (7 + 5 * j)) % 101) as f64 / 10.0,
        });
        let kernel = Kernel::rbf(1.0);
        let solved = Elimination::of(&kernel, &z, 0.01).unwrap();
        let rescaled = solved.rescaled(f64::from(ISOLATED)).unwrap().to_matrix();
        let exact = solve_dense(&kernel.gram(&z), 0.01).unwrap();
        let alone = (0..n).filter(|i| i % 25 == 0 && *i > 0);
        assert!(
            rescaled.row(0).iter().enumerate().all(|(j, &weight)| j == 0 || weight == 0.0),
            "none is near"
        );
        for i in alone {
            let off = largest_difference_of_shares(i, rescaled.row(i), exact.row(i));
            assert!(off < 1e-4, "sample {i}: {off}");
        }
        let of_near = |weights: &ConditionWeights| weights.to_matrix().row(1).to_vec();
        assert_eq!(rescaled.row(1), of_near(&solved), "a sample with neighbours keeps its weights");
    }
}
