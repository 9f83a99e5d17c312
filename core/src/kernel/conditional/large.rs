//! `W` of large batches, for kernels without few features: in closed form, of low rank, or by block elimination in mixed
//! precision, each within a stated error of the dense solve.
//!
//! | if | `W` | error |
//! |---|---|---|
//! | at most half of the rows of `z` differ | by [groups of equal rows](super::groups) | rounding in `f64` |
//! | `K` is of rank 128 within a trace error `e` of `1e-6 ridge` | `(L L^T + ridge I)^-1 L L^T`, [low rank](crate::kernel::LowRank) | `<= e / ridge <= 1e-6` |
//! | otherwise | by elimination, below | the bound below, at most 0.05 |
//! | that bound is not met | dense, in `f64` | rounding in `f64` |
//!
//! Elimination takes the 128 pivots `P` that a Cholesky factorisation with pivoting chooses first, in `f64`; the remainder
//! of the other rows `R`, whose eigenvalues are much smaller, is rounded to `f32` and inverted in it:
//!
//! ```text
//! A = K + ridge I,   G = A_RP A_PP^-1,   S = A_RR - G A_PR                          in f64
//! X = S^-1                                                                        in f32
//! A^-1 = [ A_PP^-1 + G^T X G,  -G^T X ;  -X G,  X ],   W = I - ridge A^-1
//! ```
//!
//! It takes `n^3` operations in `f32` and `128 n^2` in `f64` where the dense solve takes `n^3` in `f64`.
//!
//! **The bound.** With `F = [-G, I]` the error of an inexact `X` is `ridge F^T (X - S^-1) F`, to first order `ridge F^T X (S X -
//! I) F`. Its Frobenius norm, which bounds the spectral norm, is estimated from eight products with normally distributed
//! vectors that depend on the number of samples alone; the bound is ten times the estimate. An estimate below a tenth of the
//! norm has a probability of at most 1e-7: it would take eight squared deviates with a sum below 0.08. As `S` is at
//! least `ridge I`, rounding it to `f32` adds at most `2^-24 |S|_inf / ridge`, and rounding `W` at most `2^-24 sqrt(n)`.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use simile_kernels::cpu::parallel;

use super::device::NEGLIGIBLE;
use super::groups::EqualRows;
use super::tiles::SymmetricTiles;
use super::{Accuracy, ConditionalEmbedding, Form, SMALL};
use crate::error::Result;
use crate::kernel::values::KernelValues;
use crate::kernel::{Kernel, LowRank};
use crate::numeric::matrix::Matrix;

/// Number of rows that are eliminated in `f64`.
const PIVOTS: usize = 128;

/// Columns of a system with the pivots that a thread solves for at once.
const COLUMNS: usize = 512;

/// Rows of `W` that a thread writes at once.
const ROWS: usize = 64;

/// Trace error of a low-rank factor, as a fraction of the ridge.
const TRACE_ERROR: f64 = 1e-6;

/// The largest bound of the error of `W` that is accepted.
const LARGEST_ERROR: f64 = 0.05;

/// Random vectors of the estimate, and the factor that makes it a bound.
const PROBES: usize = 8;
const SAFETY: f64 = 10.0;

/// Half of the distance of neighbouring `f32`, relative.
pub(super) const ROUNDING: f64 = 0.5 * f32::EPSILON as f64;

/// `W` of a large batch; `None` if it has to be solved densely.
///
/// # Errors
/// As [`ConditionalEmbedding::new`].
pub(super) fn solve(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Option<ConditionalEmbedding>> {
    if z.rows() <= SMALL || ridge <= 0.0 {
        return Ok(None);
    }
    let equal = EqualRows::of(z);
    if 2 * equal.count() <= z.rows() {
        return ConditionalEmbedding::from_equal_rows(kernel, z, equal, ridge).map(Some);
    }
    let kernel = &kernel.with_bandwidth_of(z);
    let low_rank = kernel.factorise(z, PIVOTS, |_| TRACE_ERROR * ridge);
    if low_rank.trace_error() <= TRACE_ERROR * ridge {
        return ConditionalEmbedding::from_low_rank(&low_rank, ridge).map(Some);
    }
    Ok(Elimination::new(kernel, z, ridge, &low_rank).and_then(Elimination::weights))
}

/// The matrices of the [module](self) after the steps in `f64`.
struct Elimination {
    ridge: f64,
    /// `P` and `R`.
    pivots: Vec<usize>,
    others: Vec<usize>,
    /// `A_PP^-1`.
    inverse: Mat<f64>,
    /// `G`, the coefficients of the other rows in the pivots, `[R, P]` in row order.
    coefficients: Vec<f64>,
    remainder: SymmetricTiles,
}

impl Elimination {
    /// `None` if `A_PP` is not positive definite.
    fn new(kernel: &Kernel, z: &Matrix, ridge: f64, low_rank: &LowRank) -> Option<Self> {
        let pivots = low_rank.pivots().to_vec();
        let mut is_pivot = vec![false; z.rows()];
        pivots.iter().for_each(|&pivot| is_pivot[pivot] = true);
        let others: Vec<usize> = (0..z.rows()).filter(|&row| !is_pivot[row]).collect();
        let (p, r) = (pivots.len(), others.len());

        let among = KernelValues::new(kernel, z, z.select(&pivots)).between(0..p, 0..p);
        let leading = Mat::from_fn(p, p, |i, j| among[i * p + j] + if i == j { ridge } else { 0.0 });
        let values = KernelValues::new(kernel, z, z.select(&others));
        let mut across = vec![0.0; p * r];
        parallel::map(pivots.iter().zip(across.chunks_mut(r)), |(&pivot, row)| {
            values.with(z.row(pivot), 0..r, row)
        });
        let across = MatRef::from_row_major_slice(&across, p, r);
        let leading = leading.llt(Side::Lower).ok()?;
        let parts = (0..r.div_ceil(COLUMNS))
            .map(|part| across.subcols(part * COLUMNS, COLUMNS.min(r - part * COLUMNS)));
        // The columns of `A_PP^-1 A_PR` are the rows of `G`.
        let solved = parallel::map(parts, |part| leading.solve(part));
        let columns = solved.iter().flat_map(|part| part.col_iter());
        let coefficients: Vec<f64> = columns.flat_map(|column| column.iter().copied()).collect();
        let g = MatRef::from_row_major_slice(&coefficients, r, p);

        let remainder = SymmetricTiles::new(r, |i, j| {
            let mut tile = values.between(i.clone(), j.clone());
            let out = MatMut::from_row_major_slice_mut(&mut tile, i.len(), j.len());
            let left = across.subcols(i.start, i.len()).transpose();
            let right = g.subrows(j.start, j.len()).transpose();
            matmul(out, Accum::Add, left, right, -1.0, Par::Seq);
            if i.start == j.start {
                (0..i.len()).for_each(|at| tile[at * j.len() + at] += ridge);
            }
            tile.into_iter().map(|value| value as f32).collect()
        });
        Some(Self { ridge, pivots, others, inverse: leading.inverse(), coefficients, remainder })
    }

    /// `W` with its bound; `None` if `S` is not positive definite in `f32`, or the bound is too large.
    fn weights(self) -> Option<ConditionalEmbedding> {
        let negative = self.remainder.negative_inverse()?;
        let error = self.bound(&negative);
        if error.is_nan() || error > LARGEST_ERROR {
            return None;
        }
        let weights =
            DenseF32 { rows: self.pivots.len() + self.others.len(), values: self.assemble(&negative) };
        Some(ConditionalEmbedding { form: Form::DenseF32(weights), accuracy: Accuracy::Within(error) })
    }

    /// The bound of the error for `-X`.
    fn bound(&self, negative: &SymmetricTiles) -> f64 {
        let (p, r) = (self.pivots.len(), self.others.len());
        let mut rng = ChaCha8Rng::seed_from_u64((p + r) as u64);
        let mut probes = |rows| Mat::from_fn(rows, PROBES, |_, _| rng.sample::<f64, _>(StandardNormal));
        let (of_pivots, of_others) = (probes(p), probes(r));
        let g = MatRef::from_row_major_slice(&self.coefficients, r, p);
        // `F v` of each vector `v`, then `(I - S X) F v`, then `F^T X` of that. Each product is with `-X`, so that two of them cancel
        // their signs.
        let projected = &of_others - g * &of_pivots;
        let residual = &projected + self.remainder.times(&negative.times(&projected));
        let error_others = negative.times(&residual);
        let error_pivots = g.transpose() * &error_others;
        let squares = error_others.squared_norm_l2() + error_pivots.squared_norm_l2();
        let estimate = self.ridge * (squares / PROBES as f64).sqrt();
        let rounding = self.remainder.largest_row_sum() / self.ridge + ((p + r) as f64).sqrt();
        SAFETY * estimate + ROUNDING * rounding
    }

    /// `W_PP` from `-X G`.
    fn of_pivots(&self, across: &[f32]) -> Mat<f64> {
        let p = self.pivots.len();
        let size = (COLUMNS * p).max(1);
        let parts = self.coefficients.chunks(size).zip(across.chunks(size));
        let products = parallel::map(parts, |(coefficients, across)| {
            let across: Vec<f64> = across.iter().map(|&value| f64::from(value)).collect();
            let [coefficients, across] =
                [coefficients, &across].map(|part| MatRef::from_row_major_slice(part, part.len() / p, p));
            coefficients.transpose() * across
        });
        let product = products.into_iter().fold(Mat::zeros(p, p), |sum, product| sum + product);
        let identity = |i, j| if i == j { 1.0 } else { 0.0 };
        Mat::from_fn(p, p, |i, j| {
            identity(i, j) - self.ridge * (self.inverse[(i, j)] - 0.5 * (product[(i, j)] + product[(j, i)]))
        })
    }

    /// `W` from `-X`, in the order of the samples.
    fn assemble(&self, negative: &SymmetricTiles) -> Vec<f32> {
        let (p, r) = (self.pivots.len(), self.others.len());
        let (n, ridge) = (p + r, self.ridge as f32);
        let coefficients: Vec<f32> = self.coefficients.iter().map(|&value| value as f32).collect();
        // `-X G`.
        let across = negative.times_f32(&coefficients, p);
        let of_pivots = self.of_pivots(&across);
        let flush_to_zero = |value: f32| if f64::from(value.abs()) < NEGLIGIBLE { 0.0 } else { value };

        // The index of each sample among the other rows (`Ok`), or among the pivots (`Err`).
        let mut places = vec![Err(0); n];
        self.others.iter().enumerate().for_each(|(at, &other)| places[other] = Ok(at));
        self.pivots.iter().enumerate().for_each(|(at, &pivot)| places[pivot] = Err(at));
        let mut values = parallel::zeros(n * n);
        let parts = places.chunks(ROWS).zip(values.chunks_mut(ROWS * n));
        parallel::map_one_by_one(parts, |(places, rows)| {
            for block in 0..negative.blocks() {
                let columns = &self.others[negative.span(block)];
                for (place, row) in places.iter().zip(rows.chunks_mut(n)) {
                    let Ok(at) = *place else { continue };
                    for (&column, value) in columns.iter().zip(negative.row(at, block).iter()) {
                        row[column] = flush_to_zero(ridge * value);
                    }
                }
            }
            for (place, row) in places.iter().zip(rows.chunks_mut(n)) {
                match *place {
                    Ok(at) => {
                        row[self.others[at]] += 1.0;
                        // `W_RP = ridge X G`.
                        for (&pivot, value) in self.pivots.iter().zip(&across[at * p..(at + 1) * p]) {
                            row[pivot] = flush_to_zero(-ridge * value);
                        }
                    }
                    Err(at) => {
                        for (&other, of_other) in self.others.iter().zip(across.chunks(p)) {
                            row[other] = flush_to_zero(-ridge * of_other[at]);
                        }
                        for (j, &pivot) in self.pivots.iter().enumerate() {
                            row[pivot] = flush_to_zero(of_pivots[(at, j)] as f32);
                        }
                    }
                }
            }
        });
        values
    }
}

/// `W` in `f32`, in row order.
#[derive(Debug, Clone)]
pub(super) struct DenseF32 {
    pub(super) rows: usize,
    pub(super) values: Vec<f32>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::solve_dense;
    use super::*;

    /// Values without order, the same on every run.
    fn uniform(rows: usize, columns: usize, scale: f64) -> Matrix {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        Matrix::from_fn(rows, columns, |_, _| scale * rng.random::<f64>())
    }

    fn difference(a: &Matrix, b: &Matrix) -> f64 {
        a.data().iter().zip(b.data()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    #[test]
    fn elimination_is_within_its_bound_of_the_dense_solve() {
        let narrow = uniform(700, 3, 255.0);
        let long = uniform(700, 1, 100.0);
        let product = r#"{"name": "product", "factors": [
            {"start": 0, "end": 2, "kernel": {"name": "rbf", "sigma": 20}},
            {"start": 2, "end": 3, "kernel": {"name": "laplacian", "sigma": 90}}]}"#;
        for (kernel, z) in [
            (Kernel::rbf(20.0), &narrow),
            (Kernel::rbf(60.0), &narrow),
            (Kernel::MedianLaplacian, &narrow),
            (Kernel::LaplacianL1 { gamma: 0.005 }, &narrow),
            (serde_json::from_str(product).unwrap(), &narrow),
            (Kernel::Laplacian { scale: 30.0 }, &long),
        ] {
            for ridge in [0.01, 1.0] {
                let low_rank = kernel.factorise(z, PIVOTS, |_| 0.0);
                let solved = Elimination::new(&kernel, z, ridge, &low_rank).and_then(Elimination::weights);
                assert!(solved.is_some(), "{kernel:?}, ridge {ridge}");
                let solved = solved.unwrap();
                let off = difference(&solved.to_matrix(), &solve_dense(&kernel.gram(z), ridge).unwrap());
                let bound = solved.approximation_error().unwrap();
                assert!(off <= bound && bound <= LARGEST_ERROR, "{kernel:?}, {ridge}: {off} {bound}");
                assert!(off < 1e-3, "{kernel:?}, {ridge}: {off}");
            }
        }
    }

    /// The figures of `solve_of_4096` in BENCHMARKS.md.
    #[test]
    #[ignore = "dense solves of a minute in a build for tests; see BENCHMARKS.md"]
    fn a_batch_of_4096_is_solved_within_its_bound() {
        let z = uniform(4096, 3, 255.0);
        let coloured = Matrix::from_fn(4096, 4, |i, j| if j == 3 { (i % 10) as f64 } else { z[(i, j)] });
        let product = r#"{"name": "product", "factors": [
            {"start": 0, "end": 3, "kernel": {"name": "rbf", "sigma": 20}},
            {"start": 3, "end": 4, "kernel": {"name": "exact-match"}}]}"#;
        for (name, kernel, z) in [
            ("rbf, sigma 20", Kernel::rbf(20.0), &z),
            ("rbf, median", Kernel::MedianRbf, &z),
            ("laplacian, median", Kernel::MedianLaplacian, &z),
            ("product", serde_json::from_str(product).unwrap(), &coloured),
        ] {
            for ridge in [0.01, 0.1] {
                let solved = solve(&kernel, z, ridge).unwrap().unwrap();
                let bound = solved.approximation_error().unwrap();
                let off = difference(&solved.to_matrix(), &solve_dense(&kernel.gram(z), ridge).unwrap());
                eprintln!("{name}, ridge {ridge}: error {off:.1e}, bound {bound:.1e}");
                assert!(off <= bound, "{name}, {ridge}: {off} {bound}");
            }
        }
    }

    #[test]
    fn a_matrix_that_single_precision_cannot_solve_is_left_to_the_dense_solve() {
        let z = uniform(600, 3, 255.0);
        let kernel = Kernel::rbf(25.0);
        let low_rank = kernel.factorise(&z, PIVOTS, |_| 0.0);
        assert!(Elimination::new(&kernel, &z, 1e-7, &low_rank).and_then(Elimination::weights).is_none());
    }

    #[test]
    fn each_way_is_taken_where_it_holds() {
        let way = |kernel: &Kernel, z: &Matrix| solve(kernel, z, 0.1).unwrap().map(|solved| solved.form);
        let distinct = uniform(SMALL + 76, 3, 255.0);
        assert!(matches!(way(&Kernel::rbf(1000.0), &distinct), Some(Form::Factors { .. })));
        assert!(matches!(way(&Kernel::rbf(20.0), &distinct), Some(Form::DenseF32(_))));
        assert!(way(&Kernel::rbf(20.0), &uniform(SMALL, 3, 255.0)).is_none());
        let repeated = Matrix::from_fn(SMALL + 76, 3, |i, j| distinct[(i % 40, j)]);
        assert!(matches!(way(&Kernel::rbf(20.0), &repeated), Some(Form::Groups(_))));
    }
}
