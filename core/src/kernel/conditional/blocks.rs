//! `W` of a product of kernels of which one is an exact match: a system for each value of it.
//!
//! Samples of different values have kernel 0, so that `K`, ordered by value, is block diagonal, and `W` with it:
//!
//! ```text
//! W_ij = ((K_g + ridge I)^-1 K_g)_ij if i and j are both in group g, else 0
//! ```
//!
//! The spectral norm of a block-diagonal error is the largest of its blocks; rounding `n` samples of a block to `f32` adds at
//! most `2^-24 sqrt(n)`.

use simile_kernels::cpu::parallel;

use super::accuracy::Accuracy;
use super::dense_f32::{DenseF32, NEGLIGIBLE, ROUNDING};
use super::groups::EqualRows;
use super::isolated::{ISOLATED, IsolatedRows};
use super::system::SMALL;
use super::weights::{ConditionWeights, Storage};
use crate::error::Result;
use crate::kernel::{Factor, Kernel};
use crate::numeric::matrix::Matrix;

/// `W` of a large batch; `None` if the kernel is no product with an exact match, if most samples have one value of that, or if
/// most samples are equal, so that their groups are the smaller system.
///
/// # Errors
/// As [`ConditionWeights::solve`].
pub(super) fn solve(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Option<ConditionWeights>> {
    let Kernel::Product { factors } = kernel else { return Ok(None) };
    if z.rows() <= SMALL || ridge <= 0.0 || 2 * EqualRows::of(z).count() <= z.rows() {
        return Ok(None);
    }
    let groups = EqualRows::of(&exact_columns(factors, z)).members();
    let largest = groups.iter().map(Vec::len).max().unwrap_or_default();
    if 2 * largest > z.rows() {
        return Ok(None);
    }
    // A bandwidth given as a rule is that of all samples.
    let kernel = kernel.with_bandwidth_of(z);
    let solve = |group: &Vec<usize>| ConditionWeights::with_own_diagonal(&kernel, &z.select(group), ridge);
    let blocks = parallel::map_one_by_one(&groups, solve).into_iter().collect::<Result<Vec<_>>>()?;
    Ok(Some(in_single_precision(&groups, &blocks)))
}

/// `W` in `f32` from the samples of each value and `W` of these.
pub(super) fn in_single_precision(groups: &[Vec<usize>], blocks: &[ConditionWeights]) -> ConditionWeights {
    let rows: usize = groups.iter().map(Vec::len).sum();
    let largest = groups.iter().map(Vec::len).max().unwrap_or_default();
    let error = blocks.iter().filter_map(ConditionWeights::approximation_error).fold(0.0, f64::max);
    let isolated = isolated(groups, blocks, rows);
    ConditionWeights {
        storage: Storage::DenseF32(DenseF32 { rows, values: assemble(groups, blocks), isolated }),
        accuracy: Accuracy::Within(error + ROUNDING * (largest as f64).sqrt()),
    }
}

/// The columns of the factors that are exact matches.
pub(super) fn exact_columns(factors: &[Factor], z: &Matrix) -> Matrix {
    let exact = factors.iter().filter(|factor| factor.kernel == Kernel::ExactMatch);
    let columns: Vec<usize> = exact.flat_map(|factor| factor.start..factor.end.min(z.columns())).collect();
    Matrix::from_fn(z.rows(), columns.len(), |i, j| z[(i, columns[j])])
}

/// The rows of samples whose weights are too small for `f32`, up to a factor: those of their blocks, which are in `f64`.
fn isolated(groups: &[Vec<usize>], blocks: &[ConditionWeights], rows: usize) -> IsolatedRows {
    let of_group = |(members, block): (&Vec<usize>, &ConditionWeights)| {
        let Some(rescaled) = block.rescaled(f64::from(ISOLATED)) else { return Vec::new() };
        let rescaled = rescaled.to_matrix();
        let whole = |at: usize| {
            let mut row = vec![0.0; rows];
            for (&sample, &weight) in members.iter().zip(rescaled.row(at)) {
                row[sample] = weight as f32;
            }
            (members[at], row)
        };
        block.isolated(f64::from(ISOLATED)).into_iter().map(whole).collect()
    };
    IsolatedRows::new(groups.iter().zip(blocks).flat_map(of_group).collect())
}

/// `W` in the order of the samples.
fn assemble(groups: &[Vec<usize>], blocks: &[ConditionWeights]) -> Vec<f32> {
    let rows = groups.iter().map(Vec::len).sum();
    let mut places = vec![(0, 0); rows];
    for (group, members) in groups.iter().enumerate() {
        members.iter().enumerate().for_each(|(at, &sample)| places[sample] = (group, at));
    }
    let blocks = parallel::map_one_by_one(blocks, ConditionWeights::to_matrix);
    let mut values = parallel::zeros(rows * rows);
    parallel::map(places.into_iter().zip(values.chunks_mut(rows.max(1))), |((group, at), row)| {
        for (&sample, &weight) in groups[group].iter().zip(blocks[group].row(at)) {
            row[sample] = if weight.abs() < NEGLIGIBLE { 0.0 } else { weight as f32 };
        }
    });
    values
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::dense::solve_dense;
    use super::super::isolated::largest_difference_of_shares;
    use super::super::testing::weights_of;
    use super::*;

    fn product(of: &str) -> Kernel {
        serde_json::from_str(&format!(
            r#"{{"name": "product", "factors": [{of}, {{"start": 2, "end": 3, "kernel": {{"name": "exact-match"}}}}]}}"#
        ))
        .unwrap()
    }

    /// Two columns without order and one of a few values; the samples of a value are not neighbours.
    fn values(n: usize, of_class: impl Fn(usize) -> usize) -> Matrix {
        Matrix::from_fn(n, 3, |i, j| match j {
            2 => of_class(i) as f64,
            _ => ((i * i * (5 + j) + 7 * i + 3 * j) % 251) as f64,
        })
    }

    #[test]
    fn blocks_give_the_dense_solve_within_their_bound() {
        let rbf = r#"{"start": 0, "end": 2, "kernel": {"name": "rbf", "sigma": 40}}"#;
        let median = r#"{"start": 0, "end": 2, "kernel": {"name": "laplacian", "sigma": "median"}}"#;
        let z = values(SMALL + 26, |i| i * i % 47);
        for kernel in [product(rbf), product(median)] {
            for ridge in [0.01, 1.0] {
                let solved = solve(&kernel, &z, ridge).unwrap().unwrap();
                let bound = solved.approximation_error().unwrap();
                let (weights, dense) = (solved.to_matrix(), solve_dense(&kernel.gram(&z), ridge).unwrap());
                let largest = weights
                    .data()
                    .iter()
                    .zip(dense.data())
                    .fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
                assert!(largest <= bound && bound < 1e-6, "{kernel:?}, {ridge}: {largest} {bound}");
                assert!(matches!(weights_of(&kernel, &z, ridge).unwrap().storage, Storage::DenseF32(_)));
            }
        }
    }

    /// The weights of samples without neighbours have no digits in `f32` if the ridge is small.
    #[test]
    fn shares_of_isolated_samples_are_those_of_the_dense_solve() {
        let n = SMALL + 76;
        // Pairs of samples eight bandwidths apart, in eleven groups.
        let z = Matrix::from_fn(n, 3, |i, j| match j {
            0 => 8.0 * (i / 11) as f64 + ((i * i) % 7) as f64 / 10.0,
            1 => ((i * 5) % 11) as f64 / 10.0,
            _ => (i % 11) as f64,
        });
        let kernel = product(r#"{"start": 0, "end": 2, "kernel": {"name": "rbf", "sigma": 0.8}}"#);
        for ridge in [1e-2, 1e-8] {
            let rescaled = solve(&kernel, &z, ridge).unwrap().unwrap().rescaled(f64::from(ISOLATED));
            let (rescaled, dense) =
                (rescaled.unwrap().to_matrix(), solve_dense(&kernel.gram(&z), ridge).unwrap());
            for i in 0..n {
                let off = largest_difference_of_shares(i, rescaled.row(i), dense.row(i));
                assert!(off < 1e-6, "ridge {ridge}, sample {i}: {off}");
            }
        }
    }

    #[test]
    fn other_kernels_equal_samples_and_one_value_of_most_samples_are_solved_whole() {
        let n = SMALL + 26;
        let is_solved = |kernel: &Kernel, z: &Matrix| solve(kernel, z, 0.1).unwrap().is_some();
        let rbf = r#"{"start": 0, "end": 2, "kernel": {"name": "rbf", "sigma": 40}}"#;
        let (exact, many) = (product(rbf), values(n, |i| i % 47));
        assert!(is_solved(&exact, &many));
        assert!(!is_solved(&exact, &values(n, |i| usize::from(i % 3 == 0))));
        assert!(!is_solved(&Kernel::rbf(40.0), &many));
        let without: Kernel =
            serde_json::from_str(&format!(r#"{{"name": "product", "factors": [{rbf}, {rbf}]}}"#)).unwrap();
        assert!(!is_solved(&without, &many));
        assert!(!is_solved(&exact, &many.select(&(0..n).map(|i| i % 400).collect::<Vec<_>>())));
        assert!(!is_solved(&exact, &values(SMALL, |i| i % 47)));
    }
}
