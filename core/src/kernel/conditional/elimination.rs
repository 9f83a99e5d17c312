//! `W = (K + ridge I)^-1 K` of large batches, for kernels without few features: by groups of equal rows, of low rank, or by
//! elimination, the first of these ways of the [table](super) that holds.
//!
//! **Elimination.** The pivots `P` are the 128 rows that a Cholesky factorisation with pivoting chooses first; `R` are the other
//! rows. The pivots are eliminated in `f64`. The Schur complement `S` of the others has much smaller eigenvalues than `K`, and is
//! inverted in `f32`. With `A = K + ridge I`, and therefore `W = I - ridge A^-1`:
//!
//! ```text
//! 1. G = A_RP A_PP^-1                                                      f64
//! 2. S = A_RR - G A_PR                                                     f64, rounded to f32
//! 3. X = S^-1                                                              f32
//! 4. the bound of the error, below                                         f64
//! 5. A^-1 = [ A_PP^-1 + G^T X G,  -G^T X ;  -X G,  X ], which gives
//!    W_RR = I - ridge X,   W_RP = ridge X G = W_PR^T                       f32
//!    W_PP = I - ridge (A_PP^-1 + G^T X G)                                  f64, rounded to f32
//! ```
//!
//! The [tiles](SymmetricTiles) give the inverse with the opposite sign, so that the code has `-X` in place of `X`. Elimination
//! takes `n^3` operations in `f32` and `128 n^2` in `f64` where the dense solve takes `n^3` in `f64`.
//!
//! **The bound.** With `F = [-G, I]` the error of an inexact `X` is `ridge F^T (X - S^-1) F`, to first order `ridge F^T X (S X -
//! I) F`. Its Frobenius norm, which bounds the spectral norm, is estimated from eight products with normally distributed
//! vectors that depend on the number of samples alone; the bound is ten times the estimate. An estimate below a tenth of the
//! norm has a probability of at most 1e-7: it would take eight squared deviates with a sum below 0.08. As `S` is at
//! least `ridge I`, rounding it to `f32` adds at most `2^-24 |S|_inf / ridge`, and rounding `W` at most `2^-24 sqrt(n)`.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::{DenseSolveCore, Llt, Solve};
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use simile_kernels::cpu::parallel;

use super::accuracy::Accuracy;
use super::dense_f32::{DenseF32, NEGLIGIBLE, ROUNDING};
use super::groups::{EqualRows, GroupWeights};
use super::system::SMALL;
use super::tiles::SymmetricTiles;
use super::unit_diagonal::GramDiagonal;
use super::weights::{ConditionWeights, Storage};
use crate::error::Result;
use crate::kernel::values::KernelValues;
use crate::kernel::{Kernel, LowRank};
use crate::numeric::matrix::Matrix;

/// Largest number of pivots: the rank of the low-rank factor, and the rows that are eliminated in `f64`.
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

/// `W` of a large batch; `None` if it has to be solved densely.
///
/// # Errors
/// As [`ConditionWeights::solve`].
pub(super) fn solve(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Option<ConditionWeights>> {
    if z.rows() <= SMALL || ridge <= 0.0 {
        return Ok(None);
    }
    let equal = EqualRows::of(z);
    if 2 * equal.count() <= z.rows() {
        let groups = GroupWeights::from_equal_rows(kernel, z, equal, ridge)?;
        return Ok(Some(ConditionWeights::exact(Storage::Groups(groups))));
    }
    let kernel = &kernel.with_bandwidth_of(z);
    let low_rank = kernel.factorise(z, PIVOTS, |_| TRACE_ERROR * ridge);
    if low_rank.trace_error() <= TRACE_ERROR * ridge {
        return ConditionWeights::from_low_rank(&low_rank, ridge, GramDiagonal::OfKernel).map(Some);
    }
    Ok(Elimination::new(kernel, z, ridge, &low_rank).and_then(|elimination| elimination.weights(kernel, z)))
}

/// The matrices of the [module](self) after steps 1 and 2.
pub(super) struct Elimination {
    ridge: f64,
    /// The samples of `P`, in the order in which they were chosen.
    pivots: Vec<usize>,
    /// The samples of `R`, ascending.
    others: Vec<usize>,
    /// `A_PP^-1`.
    inverse_pp: Mat<f64>,
    /// `G`, `[R, P]` in row order.
    g: Vec<f64>,
    /// `S`, the Schur complement of `A_PP`.
    schur: SymmetricTiles,
}

/// The index of a sample in `P`, or in `R`.
#[derive(Clone, Copy)]
enum Place {
    Pivot(usize),
    Other(usize),
}

impl Elimination {
    /// Steps 1 and 2; `None` if `A_PP` is not positive definite.
    fn new(kernel: &Kernel, z: &Matrix, ridge: f64, low_rank: &LowRank) -> Option<Self> {
        let pivots = low_rank.pivots().to_vec();
        let mut is_pivot = vec![false; z.rows()];
        pivots.iter().for_each(|&pivot| is_pivot[pivot] = true);
        let others: Vec<usize> = (0..z.rows()).filter(|&row| !is_pivot[row]).collect();
        let (p, r) = (pivots.len(), others.len());

        let k_pp = KernelValues::new(kernel, z, z.select(&pivots)).between(0..p, 0..p);
        let a_pp = Mat::from_fn(p, p, |i, j| k_pp[i * p + j] + if i == j { ridge } else { 0.0 });
        // `A_PR` is `K_PR`, because the ridge is added on the diagonal only.
        let other_values = KernelValues::new(kernel, z, z.select(&others));
        let mut a_pr = vec![0.0; p * r];
        parallel::map(pivots.iter().zip(a_pr.chunks_mut(r)), |(&pivot, row)| {
            other_values.with(z.row(pivot), 0..r, row)
        });
        let a_pr = MatRef::from_row_major_slice(&a_pr, p, r);

        let cholesky = a_pp.llt(Side::Lower).ok()?;
        let g = coefficients(&cholesky, a_pr);
        let schur = schur_complement(&other_values, ridge, a_pr, MatRef::from_row_major_slice(&g, r, p));
        Some(Self { ridge, pivots, others, inverse_pp: cholesky.inverse(), g, schur })
    }

    /// Steps 3 to 5: `W` with its bound; `None` if `S` is not positive definite in `f32`, or the bound is too large.
    fn weights(self, kernel: &Kernel, z: &Matrix) -> Option<ConditionWeights> {
        let minus_x = self.schur.negative_inverse()?;
        let error = self.bound(&minus_x);
        if error.is_nan() || error > LARGEST_ERROR {
            return None;
        }
        let weights = DenseF32::new(kernel, z, self.assemble(&minus_x));
        Some(ConditionWeights { storage: Storage::DenseF32(weights), accuracy: Accuracy::Within(error) })
    }

    /// Number of rows of `W`.
    fn samples(&self) -> usize {
        self.pivots.len() + self.others.len()
    }

    /// Step 4: the bound of the error for `-X`.
    fn bound(&self, minus_x: &SymmetricTiles) -> f64 {
        let (p, r, n) = (self.pivots.len(), self.others.len(), self.samples());
        let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
        let mut probes = |rows| Mat::from_fn(rows, PROBES, |_, _| rng.sample::<f64, _>(StandardNormal));
        // The rows `P` and `R` of the vectors `v`, one vector a column.
        let (v_p, v_r) = (probes(p), probes(r));
        let g = MatRef::from_row_major_slice(&self.g, r, p);
        // `F v`.
        let projected = &v_r - g * &v_p;
        // `(I - S X) F v`.
        let residual = &projected + self.schur.times(&minus_x.times(&projected));
        // The rows `R` of `F^T X (S X - I) F v`: the signs of `-X` and of the residual cancel.
        let error_r = minus_x.times(&residual);
        // The rows `P`, except for their sign, which has no effect on the norm.
        let error_p = g.transpose() * &error_r;
        // For a matrix `M` the expectation of `|M v|^2` is the square of its Frobenius norm.
        let squares = error_r.squared_norm_l2() + error_p.squared_norm_l2();
        let estimate = self.ridge * (squares / PROBES as f64).sqrt();
        let rounding = self.schur.largest_row_sum() / self.ridge + (n as f64).sqrt();
        SAFETY * estimate + ROUNDING * rounding
    }

    /// Step 5: `W` from `-X`, in the order of the samples.
    fn assemble(&self, minus_x: &SymmetricTiles) -> Vec<f32> {
        let (p, n, ridge) = (self.pivots.len(), self.samples(), self.ridge as f32);
        let g: Vec<f32> = self.g.iter().map(|&value| value as f32).collect();
        let minus_xg = minus_x.times_f32(&g, p);
        let w_pp = self.weights_of_pivots(&minus_xg);

        let places = self.places();
        let mut values = parallel::zeros(n * n);
        let parts = places.chunks(ROWS).zip(values.chunks_mut(ROWS * n));
        parallel::map_one_by_one(parts, |(places, rows)| {
            self.write_minus_ridge_x(minus_x, places, rows);
            for (place, row) in places.iter().zip(rows.chunks_mut(n)) {
                match *place {
                    Place::Other(i) => {
                        // The identity of `W_RR = I - ridge X`.
                        row[self.others[i]] += 1.0;
                        // `W_RP = ridge X G`.
                        for (&pivot, value) in self.pivots.iter().zip(&minus_xg[i * p..(i + 1) * p]) {
                            row[pivot] = flush_to_zero(-ridge * value);
                        }
                    }
                    Place::Pivot(i) => {
                        // `W_PR = W_RP^T`.
                        for (&other, xg_row) in self.others.iter().zip(minus_xg.chunks(p)) {
                            row[other] = flush_to_zero(-ridge * xg_row[i]);
                        }
                        for (j, &pivot) in self.pivots.iter().enumerate() {
                            row[pivot] = flush_to_zero(w_pp[(i, j)] as f32);
                        }
                    }
                }
            }
        });
        values
    }

    /// `W_PP = I - ridge (A_PP^-1 + G^T X G)` from `-X G`. Rounding leaves `G^T X G` not quite symmetric; the mean with its
    /// transpose is.
    fn weights_of_pivots(&self, minus_xg: &[f32]) -> Mat<f64> {
        let p = self.pivots.len();
        let size = (COLUMNS * p).max(1);
        let parts = self.g.chunks(size).zip(minus_xg.chunks(size));
        let products = parallel::map(parts, |(g, minus_xg)| {
            let minus_xg: Vec<f64> = minus_xg.iter().map(|&value| f64::from(value)).collect();
            let [g, minus_xg] =
                [g, &minus_xg].map(|part| MatRef::from_row_major_slice(part, part.len() / p, p));
            g.transpose() * minus_xg
        });
        // `-G^T X G`.
        let product = products.into_iter().fold(Mat::zeros(p, p), |sum, product| sum + product);
        let identity = |i, j| if i == j { 1.0 } else { 0.0 };
        Mat::from_fn(p, p, |i, j| {
            identity(i, j)
                - self.ridge * (self.inverse_pp[(i, j)] - 0.5 * (product[(i, j)] + product[(j, i)]))
        })
    }

    /// The place of each sample.
    fn places(&self) -> Vec<Place> {
        let mut places = vec![Place::Pivot(0); self.samples()];
        self.pivots.iter().enumerate().for_each(|(i, &pivot)| places[pivot] = Place::Pivot(i));
        self.others.iter().enumerate().for_each(|(i, &other)| places[other] = Place::Other(i));
        places
    }

    /// Writes `-ridge X` into the rows of `W` of the samples with some places. The outer loop is over tiles of `X`, so that a tile
    /// stays in the cache for all of these samples.
    fn write_minus_ridge_x(&self, minus_x: &SymmetricTiles, places: &[Place], rows: &mut [f32]) {
        let ridge = self.ridge as f32;
        for block in 0..minus_x.blocks() {
            let columns = &self.others[minus_x.span(block)];
            for (place, row) in places.iter().zip(rows.chunks_mut(self.samples())) {
                let Place::Other(i) = *place else { continue };
                for (&column, value) in columns.iter().zip(minus_x.row(i, block).iter()) {
                    row[column] = flush_to_zero(ridge * value);
                }
            }
        }
    }
}

/// `G = A_RP A_PP^-1`, `[R, P]` in row order, from the Cholesky factor of `A_PP`.
fn coefficients(cholesky: &Llt<f64>, a_pr: MatRef<'_, f64>) -> Vec<f64> {
    let r = a_pr.ncols();
    let parts =
        (0..r.div_ceil(COLUMNS)).map(|part| a_pr.subcols(part * COLUMNS, COLUMNS.min(r - part * COLUMNS)));
    // The columns of `A_PP^-1 A_PR` are the rows of `G`.
    let solved = parallel::map(parts, |part| cholesky.solve(part));
    let columns = solved.iter().flat_map(|part| part.col_iter());
    columns.flat_map(|column| column.iter().copied()).collect()
}

/// `S = A_RR - A_RP G^T`, from the values of the kernel among `R`.
fn schur_complement(
    of_others: &KernelValues,
    ridge: f64,
    a_pr: MatRef<'_, f64>,
    g: MatRef<'_, f64>,
) -> SymmetricTiles {
    SymmetricTiles::new(a_pr.ncols(), |i, j| {
        let mut tile = of_others.between(i.clone(), j.clone());
        let out = MatMut::from_row_major_slice_mut(&mut tile, i.len(), j.len());
        let a_rp = a_pr.subcols(i.start, i.len()).transpose();
        let g_transposed = g.subrows(j.start, j.len()).transpose();
        matmul(out, Accum::Add, a_rp, g_transposed, -1.0, Par::Seq);
        if i.start == j.start {
            (0..i.len()).for_each(|at| tile[at * j.len() + at] += ridge);
        }
        tile.into_iter().map(|value| value as f32).collect()
    })
}

/// The value, or 0 if it is negligible.
fn flush_to_zero(value: f32) -> f32 {
    if f64::from(value.abs()) < NEGLIGIBLE { 0.0 } else { value }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::dense::solve_dense;
    use super::*;

    impl Elimination {
        /// `W` by elimination, whatever the number of samples.
        pub(in super::super) fn of(kernel: &Kernel, z: &Matrix, ridge: f64) -> Option<ConditionWeights> {
            let low_rank = kernel.factorise(z, PIVOTS, |_| 0.0);
            Self::new(kernel, z, ridge, &low_rank)?.weights(kernel, z)
        }
    }

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
                let solved = Elimination::of(&kernel, z, ridge);
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
        assert!(Elimination::of(&kernel, &z, 1e-7).is_none());
    }

    #[test]
    fn each_way_is_taken_where_it_holds() {
        let way = |kernel: &Kernel, z: &Matrix| solve(kernel, z, 0.1).unwrap().map(|solved| solved.storage);
        let distinct = uniform(SMALL + 76, 3, 255.0);
        assert!(matches!(way(&Kernel::rbf(1000.0), &distinct), Some(Storage::Factors { .. })));
        assert!(matches!(way(&Kernel::rbf(20.0), &distinct), Some(Storage::DenseF32(_))));
        assert!(way(&Kernel::rbf(20.0), &uniform(SMALL, 3, 255.0)).is_none());
        let repeated = Matrix::from_fn(SMALL + 76, 3, |i, j| distinct[(i % 40, j)]);
        assert!(matches!(way(&Kernel::rbf(20.0), &repeated), Some(Storage::Groups(_))));
    }
}
