//! `W` of samples many of which have the same conditioning value: a small system in place of a large one, exactly.
//!
//! Rows of `z` that are equal have equal rows in `K`. With the Gram matrix `K_u` of the different rows, the number `n_g` of
//! samples with each, `N = diag(n)` and the group `g_i` of sample `i`
//!
//! ```text
//! W_ij = V_(g_i g_j),   V = N^-1/2 (M + ridge I)^-1 M N^-1/2,   M = N^1/2 K_u N^1/2
//! ```
//!
//! For the kernel `exact-match`, `K_u = I` and `V` is diagonal, `1 / (n_g + ridge)`.

use std::collections::HashMap;

use super::dense::solve_dense;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;

/// The groups of equal rows, numbered in the order of their first rows.
pub(super) struct EqualRows {
    /// The group of each row.
    of: Vec<usize>,
    /// The first row of each group.
    first: Vec<usize>,
    /// Number of rows of each group.
    sizes: Vec<f64>,
}

impl EqualRows {
    pub(super) fn of(z: &Matrix) -> Self {
        let mut known = HashMap::new();
        let (mut first, mut sizes) = (Vec::new(), Vec::new());
        let group = |(i, row): (usize, &[f64])| {
            // Adding 0 makes both zeros one number.
            let bits: Vec<u64> = row.iter().map(|value| (value + 0.0).to_bits()).collect();
            let group = *known.entry(bits).or_insert_with(|| {
                first.push(i);
                sizes.push(0.0);
                first.len() - 1
            });
            sizes[group] += 1.0;
            group
        };
        let of = z.iter_rows().enumerate().map(group).collect();
        Self { of, first, sizes }
    }

    /// The rows of each group, ascending.
    pub(super) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.count()];
        self.of.iter().enumerate().for_each(|(row, &group)| members[group].push(row));
        members
    }

    /// Number of different rows.
    pub(super) fn count(&self) -> usize {
        self.first.len()
    }
}

/// `W` by groups.
#[derive(Debug, Clone)]
pub(super) struct GroupWeights {
    /// The group of each sample.
    pub(super) of: Vec<usize>,
    between: Between,
}

#[derive(Debug, Clone)]
enum Between {
    /// `V`.
    All(Matrix),
    /// Its diagonal.
    Same(Vec<f64>),
}

impl GroupWeights {
    /// `W` of the kernel `exact-match` for a ridge above 0: `1 / (n + ridge)` between the `n` samples of one value.
    pub(super) fn exact_match(z: &Matrix, ridge: f64) -> Self {
        let EqualRows { of, sizes, .. } = EqualRows::of(z);
        let weights = sizes.into_iter().map(|size| 1.0 / (size + ridge)).collect();
        Self { of, between: Between::Same(weights) }
    }

    /// `W` of a kernel by the groups of equal rows of `z`.
    pub(super) fn from_equal_rows(kernel: &Kernel, z: &Matrix, equal: EqualRows, ridge: f64) -> Result<Self> {
        let EqualRows { of, first, sizes } = equal;
        let roots: Vec<f64> = sizes.into_iter().map(f64::sqrt).collect();
        // A bandwidth given as a rule is that of all rows.
        let (function, count) = (kernel.function(z), first.len());
        let scaled = |i: usize, j: usize| roots[i] * roots[j] * function(z.row(first[i]), z.row(first[j]));
        let solved = solve_dense(&Matrix::from_fn(count, count, scaled), ridge)?;
        let weights = Matrix::from_fn(count, count, |i, j| solved[(i, j)] / (roots[i] * roots[j]));
        Ok(Self { of, between: Between::All(weights) })
    }

    /// Number of groups.
    pub(super) fn count(&self) -> usize {
        match &self.between {
            Between::All(weights) => weights.rows(),
            Between::Same(weights) => weights.len(),
        }
    }

    /// `V` of two groups.
    pub(super) fn between(&self, g: usize, h: usize) -> f64 {
        match &self.between {
            Between::All(weights) => weights[(g, h)],
            Between::Same(weights) if g == h => weights[g],
            Between::Same(_) => 0.0,
        }
    }

    /// `W_ij`.
    pub(super) fn weight(&self, i: usize, j: usize) -> f64 {
        self.between(self.of[i], self.of[j])
    }

    /// `W = L R^T`: row `g_i` of `V`, and 1 in column `g_j`.
    pub(super) fn factors(&self) -> (Matrix, Matrix) {
        let (n, count) = (self.of.len(), self.count());
        let left = Matrix::from_fn(n, count, |i, g| self.between(self.of[i], g));
        let right = Matrix::from_fn(n, count, |i, g| f64::from(u8::from(self.of[i] == g)));
        (left, right)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_give_the_dense_solve_within_rounding() {
        let z = Matrix::from_fn(90, 2, |i, j| ((i * i + j) % 13) as f64 - 6.0);
        let product = r#"{"name": "product", "factors": [
            {"start": 0, "end": 1, "kernel": {"name": "exact-match"}},
            {"start": 1, "end": 2, "kernel": {"name": "rbf", "sigma": "median"}}]}"#;
        for kernel in [
            Kernel::ExactMatch,
            Kernel::rbf(3.0),
            Kernel::MedianLaplacian,
            Kernel::Polynomial { gamma: 0.1, offset: 1.0, degree: 2, scale: 1.0 },
            serde_json::from_str(product).unwrap(),
        ] {
            for ridge in [0.01, 1.0] {
                let dense = solve_dense(&kernel.gram(&z), ridge).unwrap();
                let equal = EqualRows::of(&z);
                assert!(equal.count() < 30);
                let mut ways = vec![GroupWeights::from_equal_rows(&kernel, &z, equal, ridge).unwrap()];
                if kernel == Kernel::ExactMatch {
                    ways.push(GroupWeights::exact_match(&z, ridge));
                }
                for groups in ways {
                    let weights = Matrix::from_fn(z.rows(), z.rows(), |i, j| groups.weight(i, j));
                    let off = weights.data().iter().zip(dense.data()).map(|(a, b)| (a - b).abs());
                    assert!(off.fold(0.0, f64::max) < 1e-10, "{kernel:?}, ridge {ridge}");
                }
            }
        }
        let zeros = Matrix::column(&[0.0, -0.0, 1.0]);
        assert_eq!(EqualRows::of(&zeros).of, [0, 0, 1]);
    }
}
