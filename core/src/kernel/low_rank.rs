//! Low-rank approximation of a Gram matrix with a stated error, for kernels without few features (RBF, Laplacian).

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use serde::{Deserialize, Serialize};
use simile_kernels::cpu::parallel;

use super::Kernel;
use super::values::KernelValues;
use crate::error::{Error, Result, within};
use crate::numeric::matrix::Matrix;

/// Rows of a column that a thread fills at once.
const ROWS: usize = 1024;

/// The stopping rule of a low-rank factor ([`LowRank`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Approximation {
    /// Maximum number of columns of the factor, 1 or more. Default: 256.
    pub rank: usize,
    /// Trace error, as a fraction of the trace of `K`, at which the factorisation stops early, 0 to 1. Default: 1e-6.
    pub tolerance: f64,
}

impl Default for Approximation {
    fn default() -> Self {
        Self { rank: 256, tolerance: 1e-6 }
    }
}

impl Approximation {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The error names the parameter that is out of range.
    pub fn check(&self) -> Result<()> {
        if self.rank == 0 {
            return Err(Error::parameter("approximation.rank", 0, "expected 1 or more"));
        }
        within("approximation.tolerance", self.tolerance, 0.0, 1.0).map(drop)
    }
}

/// `K = L L^T` up to a known error.
///
/// Cholesky factorisation with the largest remaining diagonal entry as the next pivot gives, after `r` steps,
///
/// ```text
/// K = L L^T + E,   E positive semi-definite,   |E|_2 <= tr E = trace error
/// ```
///
/// with `L` of `r` columns. `L L^T` is the Nystroem approximation from the `r` pivots, chosen one by one. It takes
/// `n r^2` work and `n r` values of the kernel; `K` is never formed. Because the error is known after every step, the
/// factorisation stops as soon as it is small enough.
///
/// For the weights `W = (K + ridge I)^-1 K` this means `|W - W_approximate|_2 <= trace error / ridge`.
#[derive(Debug, Clone, PartialEq)]
pub struct LowRank {
    factor: Matrix,
    pivots: Vec<usize>,
    trace_error: f64,
    unit_diagonal: bool,
}

impl LowRank {
    /// `L`, `[n, r]`.
    pub fn factor(&self) -> &Matrix {
        &self.factor
    }

    /// The rows of `z` that were chosen, in that order: one for each column of `L`.
    pub fn pivots(&self) -> &[usize] {
        &self.pivots
    }

    /// `tr(K - L L^T)` and the rounding of `K`, which bound every norm and every entry of the difference.
    pub fn trace_error(&self) -> f64 {
        self.trace_error
    }

    /// True if every value has kernel 1 with itself, as in an RBF or Laplacian kernel.
    pub fn has_unit_diagonal(&self) -> bool {
        self.unit_diagonal
    }
}

impl Kernel {
    /// A low-rank factor of the Gram matrix of the rows of `z`, by Cholesky factorisation with pivots; see [`LowRank`].
    ///
    /// # Errors
    /// The approximation's or the kernel's parameters are out of range, or a factor reads columns that `z` does not have; or `z` has a
    /// value that is not finite or above 1e100, and the error names its row.
    pub fn low_rank(&self, z: &Matrix, approximation: &Approximation) -> Result<LowRank> {
        approximation.check()?;
        self.check_with(z)?;
        Ok(self.factorise(z, approximation.rank, |trace| approximation.tolerance * trace))
    }

    /// A factor of at most `rank` columns, fewer if the trace error is at most `enough` of the trace.
    pub(crate) fn factorise(&self, z: &Matrix, rank: usize, enough: impl FnOnce(f64) -> f64) -> LowRank {
        let n = z.rows();
        let kernel = self.with_bandwidth_of(z);
        let kernel_value = kernel.function(z);
        let values = KernelValues::new(&kernel, z, z.clone());
        let mut remaining: Vec<f64> = z.iter_rows().map(|row| kernel_value(row, row)).collect();
        let trace: f64 = remaining.iter().sum();
        let unit_diagonal = remaining.iter().all(|k| (k - 1.0).abs() < 1e-12);
        let enough = enough(trace);
        let (mut columns, mut pivots): (Vec<f64>, Vec<usize>) = (Vec::new(), Vec::new());
        while pivots.len() < rank.min(n) && remaining.iter().sum::<f64>() > enough {
            let largest = (0..n).max_by(|&i, &j| remaining[i].total_cmp(&remaining[j]));
            let Some(pivot) = largest.filter(|&i| remaining[i] > 0.0) else { break };
            let root = remaining[pivot].sqrt();
            columns.resize(columns.len() + n, 0.0);
            let (earlier, column) = columns.split_at_mut(n * pivots.len());
            let pivot_row: Vec<f64> = earlier.iter().skip(pivot).step_by(n).copied().collect();
            let pivot_row = MatRef::from_column_major_slice(&pivot_row, pivots.len(), 1);
            let earlier = MatRef::from_column_major_slice(earlier, n, pivots.len());
            let fill = |(part, column): (usize, &mut [f64])| {
                let rows = part * ROWS..part * ROWS + column.len();
                values.with(z.row(pivot), rows.clone(), column);
                let earlier = earlier.subrows(rows.start, rows.len());
                let out = MatMut::from_column_major_slice_mut(column, rows.len(), 1);
                matmul(out, Accum::Add, earlier, pivot_row, -1.0, Par::Seq);
            };
            match n {
                // A column of one part is filled faster than another thread begins.
                0..=ROWS => fill((0, &mut *column)),
                _ => drop(parallel::map(column.chunks_mut(ROWS).enumerate(), fill)),
            }
            for (value, rest) in column.iter_mut().zip(&mut remaining) {
                *value /= root;
                *rest = (*rest - *value * *value).max(0.0);
            }
            // The remainder of the pivot is rounding; it must not be chosen again.
            remaining[pivot] = 0.0;
            pivots.push(pivot);
        }
        let factor = Matrix::from_fn(n, pivots.len(), |i, j| columns[j * n + i]);
        // The rest of large values is rounding, and so 0 where it is negative: it does not show the error.
        let trace_error = remaining.iter().sum::<f64>() + f64::EPSILON * trace;
        LowRank { factor, pivots, trace_error, unit_diagonal }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use simile_kernels::cpu::vectors::dot;

    fn colours(n: usize) -> Matrix {
        Matrix::from_fn(n, 3, |i, j| ((i * (31 + 17 * j) + 7 * j) % 256) as f64)
    }

    fn largest_error(kernel: &Kernel, z: &Matrix, low_rank: &LowRank) -> (f64, f64) {
        let gram = kernel.gram(z);
        let (mut largest, mut trace) = (0.0_f64, 0.0);
        for i in 0..z.rows() {
            for j in 0..z.rows() {
                let error = gram[(i, j)] - dot(low_rank.factor().row(i), low_rank.factor().row(j));
                largest = largest.max(error.abs());
                trace += if i == j { error } else { 0.0 };
            }
        }
        (largest, trace)
    }

    #[test]
    fn the_stated_error_is_the_error() {
        let z = colours(120);
        for kernel in
            [Kernel::rbf(60.0), Kernel::Laplacian { scale: 100.0 }, Kernel::LaplacianL1 { gamma: 0.01 }]
        {
            for rank in [5, 20, 60] {
                let low_rank = kernel.low_rank(&z, &Approximation { rank, tolerance: 0.0 }).unwrap();
                let (largest, trace) = largest_error(&kernel, &z, &low_rank);
                assert_eq!(low_rank.factor().columns(), rank);
                assert!((trace - low_rank.trace_error()).abs() < 1e-9);
                assert!(largest <= low_rank.trace_error() + 1e-12);
            }
        }
    }

    /// The remainders of huge values were rounded to 0, and no error was stated.
    #[test]
    fn the_stated_error_includes_the_rounding_of_large_values() {
        let z = colours(120);
        let kernel = Kernel::Polynomial { gamma: 1.0, offset: 1.0, degree: 3, scale: 1.0 };
        let low_rank = kernel.low_rank(&z, &Approximation { rank: 60, tolerance: 0.0 }).unwrap();
        let (largest, _) = largest_error(&kernel, &z, &low_rank);
        assert!(largest <= low_rank.trace_error(), "{largest} {}", low_rank.trace_error());
    }

    #[test]
    fn it_stops_at_the_tolerance_and_is_exact_at_full_rank() {
        let z = colours(120);
        let kernel = Kernel::rbf(120.0);
        let enough = kernel.low_rank(&z, &Approximation { rank: 120, tolerance: 1e-3 }).unwrap();
        assert!(enough.factor().columns() < 80, "{}", enough.factor().columns());
        assert!(enough.trace_error() <= 1e-3 * z.rows() as f64, "the trace is the number of rows");
        let all = kernel.low_rank(&z, &Approximation { rank: 120, tolerance: 0.0 }).unwrap();
        assert!(largest_error(&kernel, &z, &all).0 < 1e-10);
    }

    #[test]
    fn equal_rows_have_rank_one() {
        let z = Matrix::from_fn(10, 3, |_, j| j as f64);
        let low_rank = Kernel::rbf(1.0).low_rank(&z, &Approximation::default()).unwrap();
        assert_eq!(low_rank.factor().columns(), 1);
        assert!(low_rank.trace_error() < 1e-14, "{}", low_rank.trace_error());
    }

    #[test]
    fn ranges_are_checked() {
        let approximation = Approximation { rank: 0, tolerance: 0.1 };
        assert!(
            Kernel::rbf(1.0).low_rank(&colours(4), &approximation).unwrap_err().to_string().contains("rank")
        );
    }
}
