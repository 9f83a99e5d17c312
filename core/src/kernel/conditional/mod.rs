//! The kernel conditional embedding operator of CCL-K, and the centroid estimator of Decoupled Uniformity: both are
//!
//! ```text
//! W = (K_Z + ridge I)^-1 K_Z = I - ridge (K_Z + ridge I)^-1
//! ```
//!
//! with `ridge = lambda` in CCL-K (eq. KCEO) and in the released code of both works, and `ridge = b lambda` on the
//! poster of Decoupled Uniformity. `W` carries no gradient: it depends on the conditioning variable only. It is
//! computed on the host in `f64`, or on the device of a conditioning variable that lies there.
//!
//! | scheme | Gram matrix | weights |
//! |---|---|---|
//! | [`WeightScheme::Paper`] | unchanged | unchanged, with the diagonal and negative entries (paper) |
//! | [`WeightScheme::Released`] | diagonal set to 1 | diagonal 0, entries below `clip_threshold` set to 0, not renormalised (released) |
//! | [`WeightScheme::Normalised`] | unchanged | diagonal and negative entries 0, each row divided by its sum (ours) |
//!
//! The first of these that holds, the first three for batches of any size and a ridge above 0, the others for more than 1024 samples.
//! Their error `|W - W_exact|_2` is known ([`ConditionalEmbedding::approximation_error`]). Smaller batches are solved densely.
//!
//! | if | `W` | error |
//! |---|---|---|
//! | the kernel is `exact-match` | `1 / (n + ridge)` between the `n` samples of one value | rounding |
//! | `K` has fewer features than samples, or at most 512 and `tr K >= 1e8 ridge` | from the features, `b r^2` work | rounding in `f64` |
//! | the kernel is a product of `exact-match` and one kernel with fewer features than samples, or at most 512 | from the features of the samples of each value | rounding in `f64`; if `W` is large and not of low rank, the largest of the values', and `2^-24 sqrt(n)` |
//! | at most half of the rows of `z` differ | one system of the different rows | rounding in `f64` |
//! | the kernel is a product with `exact-match`, no value of which has more than half of the samples | the systems of its values | the largest of theirs, and `2^-24 sqrt(n)` |
//! | `tr(K - L L^T) <= 1e-6 ridge` for a Cholesky factor `L` of 128 columns with pivoting | `(L L^T + ridge I)^-1 L L^T` | `<= 1e-6` |
//! | otherwise | `A = K + ridge I` is eliminated: the 128 pivots in `f64`, `S = A_RR - A_RP A_PP^-1 A_PR` of the others in `f32` | ten times an estimate from eight random products, at most 0.05 |
//! | that bound is not met, or the ridge is 0 | dense | rounding in `f64` |
//!
//! For 700 samples with three columns without order, ridges of 0.01 and 1, and RBF, Laplacian and product kernels of several
//! bandwidths, tests compare the elimination with the dense solve: the Frobenius norm of the difference stays below its bound
//! and below 1e-3.
//!
//! The normalised scheme is a conditional distribution over the other samples. The paper derives the operator as an
//! estimate of such a distribution; the scheme avoids the negative probabilities that a finite batch gives.

mod accuracy;
mod blocks;
mod by_features;
mod by_value;
mod dense;
mod dense_forecast;
mod device;
mod groups;
mod isolated;
mod large;
mod rescaled;
mod ridge;
mod tensors;
#[cfg(test)]
mod testing;
mod tiles;
mod weight_scheme;

use std::sync::Arc;

use faer::Mat;
use faer::linalg::solvers::Solve;
use simile_kernels::cpu::vectors::dot;

use crate::error::{Error, Result, positive, shown};
use crate::kernel::{Kernel, LowRank};
use crate::numeric::matrix::Matrix;

use self::by_features::features_to_solve;
use self::by_value::FeaturesByValue;
use self::dense::solve_dense;
use self::groups::GroupWeights;
use self::large::DenseF32;

pub(crate) use accuracy::Accuracy;
pub use dense_forecast::DenseSolve;
pub use device::DeviceEmbedding;
pub use ridge::{HostRidge, KernelRidge};
pub use weight_scheme::WeightScheme;

/// Batches up to this size store `W` as a dense matrix even if factors exist.
const DENSE_ROWS: usize = 128;
/// Batches up to this size are solved densely in `f64`.
const SMALL: usize = 1024;

/// Largest value of a kernel: sums of products of such values are finite.
const LARGEST: f64 = 1e140;

/// The matrix `W` of a batch, `[b, b]`: dense, as `diag(d) + L R^T` with few columns, or by groups of equal samples.
#[derive(Debug, Clone)]
pub struct ConditionalEmbedding {
    form: Form,
    accuracy: Accuracy,
}

#[derive(Debug, Clone)]
enum Form {
    Dense(Matrix),
    Factors { diagonal: Vec<f64>, left: Matrix, right: Matrix },
    Groups(GroupWeights),
    DenseF32(DenseF32),
}

impl ConditionalEmbedding {
    /// `(K + ridge I)^-1 K` for the rows of `z`.  Kernels with `r` features `Z`, fewer than samples (linear,
    /// cosine, polynomial), take `b r^2` work: `W = Z (Z^T Z + ridge I)^-1 Z^T`, or, if that inverse loses too many
    /// digits, `W = U S^2 (S^2 + ridge I)^-1 U^T` with the singular value decomposition `Z = U S V^T`. Up to 512 features of
    /// such badly scaled values are decomposed even if there are fewer samples; equal samples are then one. A product of exact
    /// matches and one such kernel takes the features of the samples of one value after the other. The others take a Cholesky
    /// factorisation of `K + ridge I`; that of 1025 samples or more is of one value of an exact match after the other, in mixed
    /// precision, or of low rank, if its [error](Self::approximation_error) is small.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the ridge is negative or the kernel reads columns that do not exist,
    /// [`Error::Degenerate`] if `K + ridge I` is singular, or too badly scaled to tell.
    pub fn new(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        check_ridge(ridge)?;
        kernel.fits(z)?;
        match Self::by_features(kernel, z, ridge)? {
            Some(operator) => Ok(operator),
            None => Self::by_samples(kernel, z, ridge),
        }
    }

    /// `W` from features of all samples, or of those of each value; `None` if the system of the samples is to be solved.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    fn by_features(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Option<Self>> {
        if ridge <= 0.0 {
            return Ok(None);
        }
        if let Some(features) = features_to_solve(kernel, z, ridge) {
            return Self::from_features(&features, ridge).map(|operator| Some(operator.dense_if_small()));
        }
        FeaturesByValue::of(kernel, z).map(|by_value| by_value.solve(ridge)).transpose()
    }

    /// `W` where no [features](Self::by_features) are solved.
    fn by_samples(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        if *kernel == Kernel::ExactMatch && ridge > 0.0 {
            return Ok(Self::exact_match(z, ridge).dense_if_small());
        }
        if let Some(operator) = blocks::solve(kernel, z, ridge)? {
            return Ok(operator);
        }
        match large::solve(kernel, z, ridge)? {
            Some(operator) => Ok(operator),
            None => Ok(Self::exact(Form::Dense(solve_dense(&kernel.gram(z), ridge)?))),
        }
    }

    /// The same with the diagonal of `K` set to 1 first, as released. `K + ridge I` can then be indefinite, which a
    /// general solver handles.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_unit_diagonal(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        check_ridge(ridge)?;
        kernel.fits(z)?;
        if kernel.has_unit_diagonal() {
            return Self::new(kernel, z, ridge);
        }
        if z.rows() > DENSE_ROWS
            && let Some(features) = kernel.features(z)
            && let Some(operator) = Self::from_features_with_unit_diagonal(&features, ridge)?
        {
            return Ok(operator);
        }
        Self::dense_with_unit_diagonal(kernel.gram(z), ridge)
    }

    fn dense_with_unit_diagonal(mut gram: Matrix, ridge: f64) -> Result<Self> {
        for i in 0..gram.rows() {
            gram[(i, i)] = 1.0;
        }
        Ok(Self::exact(Form::Dense(solve_dense(&gram, ridge)?)))
    }

    /// `(L L^T + ridge I)^-1 L L^T` for a [low-rank factor](Kernel::low_rank) of `K`: `b r^2` work for any kernel.
    ///
    /// With the trace error `e` of the factor, `|W - (K + ridge I)^-1 K|_2 <= e / ridge`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the ridge is not above 0.
    pub fn from_low_rank(factor: &LowRank, ridge: f64) -> Result<Self> {
        let operator = Self::from_features(factor.factor(), positive("lambda", ridge)?)?;
        Ok(Self { accuracy: Accuracy::Within(factor.trace_error() / ridge), ..operator })
    }

    /// The same with the diagonal set to 1 first, as [`with_unit_diagonal`](Self::with_unit_diagonal) does.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the ridge is not above 0, [`Error::Degenerate`] if `K + ridge I` is close to singular.
    pub fn from_low_rank_with_unit_diagonal(factor: &LowRank, ridge: f64) -> Result<Self> {
        let ridge = positive("lambda", ridge)?;
        let operator = match Self::from_features_with_unit_diagonal(factor.factor(), ridge)? {
            Some(operator) => operator,
            None => {
                let features = to_faer(factor.factor());
                let gram = &features * features.transpose();
                let gram = Matrix::from_fn(gram.nrows(), gram.ncols(), |i, j| gram[(i, j)]);
                Self::dense_with_unit_diagonal(gram, ridge)?
            }
        };
        // With another diagonal the system can be indefinite, and the ridge gives no bound.
        let accuracy = match factor.has_unit_diagonal() {
            true => Accuracy::Within(factor.trace_error() / ridge),
            false => Accuracy::Unknown,
        };
        Ok(Self { accuracy, ..operator })
    }

    fn dense_if_small(self) -> Self {
        if self.rows() > DENSE_ROWS || matches!(self.form, Form::Dense(_)) {
            return self;
        }
        Self { form: Form::Dense(self.to_matrix()), accuracy: self.accuracy }
    }

    /// With `D = diag(1 + ridge - k_ii)`, `(D + Z Z^T)^-1 = D^-1 - D^-1 Z (I + Z^T D^-1 Z)^-1 Z^T D^-1`. `None` if
    /// an entry of `D` is too close to 0 for that to be accurate.
    fn from_features_with_unit_diagonal(features: &Matrix, ridge: f64) -> Result<Option<Self>> {
        check_magnitude(features)?;
        let squares: Vec<f64> = features.iter_rows().map(|row| dot(row, row)).collect();
        let d: Vec<f64> = squares.iter().map(|square| 1.0 + ridge - square).collect();
        let largest = squares.iter().copied().fold(1.0, f64::max);
        if d.iter().any(|v| v.abs() < 1e-6 * largest.min(1.0 / ridge.max(1e-3))) {
            return Ok(None);
        }
        let z = to_faer(features);
        let scaled = Mat::from_fn(z.nrows(), z.ncols(), |i, j| z[(i, j)] / d[i]);
        let mut inner = z.transpose() * &scaled;
        for i in 0..inner.nrows() {
            inner[(i, i)] += 1.0;
        }
        let solution = inner.partial_piv_lu().solve(scaled.transpose());
        let right = Matrix::from_fn(features.rows(), features.columns(), |i, j| ridge * solution[(j, i)]);
        let left = Matrix::from_fn(features.rows(), features.columns(), |i, j| scaled[(i, j)]);
        if right.first_not_finite().is_some() {
            return Err(singular(ridge));
        }
        let diagonal = d.iter().map(|v| 1.0 - ridge / v).collect();
        Ok(Some(Self::exact(Form::Factors { diagonal, left, right })))
    }

    fn exact(form: Form) -> Self {
        Self { form, accuracy: Accuracy::Exact }
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
        match &self.form {
            Form::Dense(w) => w.rows(),
            Form::Factors { left, .. } => left.rows(),
            Form::Groups(groups) => groups.of.len(),
            Form::DenseF32(weights) => weights.rows,
        }
    }

    /// `W` as a dense matrix.
    pub fn to_matrix(&self) -> Matrix {
        match &self.form {
            Form::Dense(w) => w.clone(),
            Form::Factors { diagonal, left, right } => Matrix::from_fn(left.rows(), left.rows(), |i, j| {
                let diagonal = if i == j { diagonal[i] } else { 0.0 };
                diagonal + dot(left.row(i), right.row(j))
            }),
            Form::Groups(groups) => Matrix::from_fn(self.rows(), self.rows(), |i, j| groups.weight(i, j)),
            Form::DenseF32(weights) => {
                let n = weights.rows;
                Matrix::from_fn(n, n, |i, j| f64::from(weights.values[i * n + j]))
            }
        }
    }

    /// The diagonal of `W`.
    fn diagonal(&self) -> Vec<f64> {
        match &self.form {
            Form::Dense(w) => (0..w.rows()).map(|i| w[(i, i)]).collect(),
            Form::Factors { diagonal, left, right } => {
                let rows = left.iter_rows().zip(right.iter_rows());
                let own = rows.map(|(left, right)| dot(left, right));
                diagonal.iter().zip(own).map(|(d, own)| d + own).collect()
            }
            Form::Groups(groups) => (0..self.rows()).map(|i| groups.weight(i, i)).collect(),
            Form::DenseF32(weights) => {
                let own = weights.values.iter().step_by(weights.rows + 1);
                own.map(|&weight| f64::from(weight)).collect()
            }
        }
    }
}

/// The result of solving for a condition ahead of its step; see [`SolveAhead`](crate::loss::SolveAhead).
#[derive(Debug, Clone)]
pub enum ConditionSolution {
    /// The weights of CCL-K.
    Weights(Arc<ConditionalEmbedding>),
    /// The operator of Kernel Decoupled Uniformity.
    Ridge(Arc<HostRidge>),
}

impl ConditionSolution {
    /// Upper bound of `|W - W_exact|_2`, as [`ConditionalEmbedding::approximation_error`] states it.
    pub fn approximation_error(&self) -> Option<f64> {
        match self {
            Self::Weights(weights) => weights.approximation_error(),
            Self::Ridge(ridge) => ridge.accuracy().bound(),
        }
    }

    /// Number of samples.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Weights(weights) => weights.rows(),
            Self::Ridge(ridge) => ridge.rows(),
        }
    }
}

/// Checks that the values of a kernel, or of its features, are small enough for finite products.
fn check_magnitude(values: &Matrix) -> Result<()> {
    if values.data().iter().all(|value| value.abs() < LARGEST) {
        return Ok(());
    }
    Err(Error::Degenerate {
        reason: format!(
            "the kernel has values above {}, and products of such values overflow",
            shown(LARGEST)
        ),
        remedy: "divide the conditioning variable `z` by a constant, or raise kernel.temp_z".into(),
    })
}

fn to_faer(matrix: &Matrix) -> Mat<f64> {
    Mat::from_fn(matrix.rows(), matrix.columns(), |i, j| matrix[(i, j)])
}

fn check_ridge(ridge: f64) -> Result<()> {
    if ridge.is_finite() && ridge >= 0.0 {
        Ok(())
    } else {
        Err(Error::parameter("lambda", ridge, "expected a finite number, 0 or above"))
    }
}

fn singular(ridge: f64) -> Error {
    Error::Degenerate {
        reason: format!("K + lambda I is singular with lambda = {ridge}"),
        remedy: "raise lambda, use a kernel of another bandwidth, or scale the conditioning variable `z` towards 1".into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device, Tensor};
    use faer::Side;
    use simile_kernels::{Comparison, LogSumExp, Weight, own_log_sum_exps};

    use super::*;
    use crate::kernel::Approximation;

    /// Values of three columns without order or symmetry.
    fn values(n: usize, scale: f64) -> Matrix {
        Matrix::from_fn(n, 3, |i, j| scale * (((i * i * (5 + j) + 7 * i + 3 * j) % 23) as f64 / 11.0 - 0.9))
    }

    fn kernels() -> Vec<Kernel> {
        vec![
            Kernel::rbf(0.8),
            Kernel::Laplacian { scale: 1.5 },
            Kernel::LaplacianL1 { gamma: 0.7 },
            Kernel::MedianRbf,
            Kernel::Linear { scale: 1.0 },
            Kernel::Cosine,
            Kernel::Polynomial { gamma: 1.0, offset: 0.0, degree: 3, scale: 2.0 },
            Kernel::Polynomial { gamma: 1.0, offset: 1.0, degree: 2, scale: 1.0 },
            Kernel::ExactMatch,
        ]
    }

    fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
        assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
        a.data().iter().zip(b.data()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    /// `(K + ridge I) W`, which is `K` if `W` solves its equation.
    fn residual(gram: &Matrix, ridge: f64, w: &Matrix) -> f64 {
        let product = Matrix::from_fn(w.rows(), w.rows(), |i, j| {
            let sum: f64 = (0..w.rows()).map(|k| gram[(i, k)] * w[(k, j)]).sum();
            sum + ridge * w[(i, j)]
        });
        largest_difference(&product, gram)
    }

    #[test]
    fn the_operator_solves_its_equation() {
        let z = values(20, 1.0);
        for kernel in kernels() {
            for ridge in [0.01, 1.0, 100.0] {
                let w = ConditionalEmbedding::new(&kernel, &z, ridge).unwrap().to_matrix();
                let error = residual(&kernel.gram(&z), ridge, &w);
                assert!(error < 1e-9, "{kernel:?}, ridge {ridge}: {error}");
                let transposed = Matrix::from_fn(20, 20, |i, j| w[(j, i)]);
                assert!(largest_difference(&w, &transposed) < 1e-9, "{kernel:?} is not symmetric");
            }
        }
    }

    #[test]
    fn few_features_give_what_the_gram_matrix_gives() {
        let z = values(40, 1.0);
        for kernel in kernels().into_iter().filter(|k| k.features(&z).is_some()) {
            for ridge in [0.01, 1.0] {
                let gram = kernel.gram(&z);
                let features = kernel.features(&z).unwrap();
                let few = ConditionalEmbedding::from_features(&features, ridge).unwrap().to_matrix();
                assert!(largest_difference(&few, &solve_dense(&gram, ridge).unwrap()) < 1e-9, "{kernel:?}");

                let mut unit = gram;
                (0..40).for_each(|i| unit[(i, i)] = 1.0);
                let few = ConditionalEmbedding::from_features_with_unit_diagonal(&features, ridge).unwrap();
                let Some(few) = few else { continue };
                assert!(
                    largest_difference(&few.to_matrix(), &solve_dense(&unit, ridge).unwrap()) < 1e-7,
                    "{kernel:?}"
                );
            }
        }
    }

    #[test]
    fn a_large_batch_is_held_in_factors_and_reads_the_same() {
        let z = values(DENSE_ROWS + 6, 1.0);
        let device = Device::flex();
        for kernel in [Kernel::Cosine, Kernel::Linear { scale: 1.0 }] {
            let operator = ConditionalEmbedding::new(&kernel, &z, 0.1).unwrap();
            assert!(matches!(operator.form, Form::Factors { .. }));
            let dense = ConditionalEmbedding::exact(Form::Dense(operator.to_matrix()));
            let (few, dense) =
                (operator.on_device(&device, DType::F64), dense.on_device(&device, DType::F64));
            let difference = |a: Tensor<2>, b: Tensor<2>| (a - b).abs().max().into_scalar::<f64>();
            assert!(difference(few.diagonal(), dense.diagonal()) < 1e-12);
            let total = |operator: &DeviceEmbedding| {
                let weights = DeviceEmbedding::pair_weights(&[operator]);
                let term = LogSumExp::apart(z.rows()).weighted(Weight::Above(0.0)).with_power(0.0);
                let rows = Tensor::zeros([z.rows(), 1], (&device, DType::F64));
                own_log_sum_exps(rows, weights, Comparison::new([term], 1.0))
            };
            assert!(difference(total(&few), total(&dense)) < 1e-6);
            let c = values(z.rows(), 1.0).to_tensor(&device, DType::F64);
            assert!(difference(few.apply(c.clone()), dense.apply(c)) < 1e-10);
        }
    }

    #[test]
    fn badly_scaled_features_stay_a_projection() {
        let colours = |i: usize, j: usize| ((i * i * (31 + 17 * j * j) + (7 + j) * i) % 1009) as f64 / 4.0;
        for (samples, offset, features) in [(200, 0.0, 10.0), (200, 1.0, 20.0), (SMALL + 76, 1.0, 20.0)] {
            let colours = Matrix::from_fn(samples, 3, colours);
            let cubic = Kernel::Polynomial { gamma: 1.0, offset, degree: 3, scale: 1.0 };
            let w = ConditionalEmbedding::new(&cubic, &colours, 0.01).unwrap().to_matrix();
            let trace: f64 = (0..samples).map(|i| w[(i, i)]).sum();
            assert!((trace - features).abs() < 1e-2, "{features} features, trace {trace}");
            assert!(w.data().iter().all(|v| v.abs() <= 1.0 + 1e-9));
        }
    }

    #[test]
    fn a_unit_diagonal_can_make_the_system_indefinite() {
        let z = values(7, 3.0);
        let kernel = Kernel::Linear { scale: 1.0 };
        let mut gram = kernel.gram(&z);
        (0..7).for_each(|i| gram[(i, i)] = 1.0);
        let eigenvalues = to_faer(&gram).self_adjoint_eigenvalues(Side::Lower).unwrap();
        assert!(eigenvalues.iter().any(|&e| e < -0.5));
        let w = ConditionalEmbedding::with_unit_diagonal(&kernel, &z, 0.5).unwrap().to_matrix();
        assert!(residual(&gram, 0.5, &w) < 1e-9);
    }

    #[test]
    fn without_a_ridge_a_singular_gram_matrix_is_an_error() {
        let mut z = values(8, 1.0);
        let first = z.row(0).to_vec();
        z.row_mut(5).copy_from_slice(&first);
        for kernel in kernels() {
            let error = ConditionalEmbedding::new(&kernel, &z, 0.0).unwrap_err().to_string();
            assert!(error.contains("lambda"), "{kernel:?}: {error}");
        }
        assert!(
            ConditionalEmbedding::new(&Kernel::Cosine, &z, -1.0).unwrap_err().to_string().contains("lambda")
        );
        assert!(
            ConditionalEmbedding::new(&Kernel::Cosine, &z, f64::NAN)
                .unwrap_err()
                .to_string()
                .contains("lambda")
        );
    }

    #[test]
    fn without_a_ridge_a_regular_gram_matrix_gives_the_identity() {
        let z = Matrix::from_fn(6, 1, |i, _| i as f64);
        let w = ConditionalEmbedding::new(&Kernel::rbf(0.5), &z, 0.0).unwrap().to_matrix();
        assert!(largest_difference(&w, &Matrix::from_fn(6, 6, |i, j| f64::from(u8::from(i == j)))) < 1e-12);
    }

    #[test]
    fn exact_match_averages_over_clusters() {
        let clusters = [0.0, 1.0, 0.0, 2.0, 1.0, 0.0];
        let ridge = 0.3;
        let w = ConditionalEmbedding::new(&Kernel::ExactMatch, &Matrix::column(&clusters), ridge)
            .unwrap()
            .to_matrix();
        for i in 0..6 {
            let members = clusters.iter().filter(|&&c| c == clusters[i]).count() as f64;
            for j in 0..6 {
                let expected = if clusters[i] == clusters[j] { 1.0 / (members + ridge) } else { 0.0 };
                assert!((w[(i, j)] - expected).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn normalised_rows_are_distributions_over_the_others() {
        let weights = WeightScheme::Normalised.weights(&Kernel::Cosine, &values(12, 1.0), 0.1, 0.0).unwrap();
        for i in 0..12 {
            assert!((weights.row(i).iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(weights[(i, i)], 0.0);
        }
    }

    /// `1 + ridge - k_ii` is 0 for the first sample, so that the formula of factors has no digits.
    #[test]
    fn a_diagonal_of_1_and_the_ridge_is_solved_too() {
        let z = Matrix::column(&[2.0, 0.5, 0.1]);
        let kernel = Kernel::Linear { scale: 1.0 };
        let factor = kernel.low_rank(&z, &Approximation { rank: 3, tolerance: 0.0 }).unwrap();
        let close = ConditionalEmbedding::from_low_rank_with_unit_diagonal(&factor, 3.0).unwrap();
        let exact = ConditionalEmbedding::with_unit_diagonal(&kernel, &z, 3.0).unwrap();
        assert!(largest_difference(&exact.to_matrix(), &close.to_matrix()) < 1e-12);
    }

    #[test]
    fn the_error_of_an_approximation_is_bounded_as_stated() {
        let z = values(60, 1.0);
        let ridge = 0.1;
        for kernel in [Kernel::rbf(0.8), Kernel::Laplacian { scale: 1.5 }] {
            let exact = ConditionalEmbedding::new(&kernel, &z, ridge).unwrap().to_matrix();
            for rank in [10, 20, 60] {
                let factor = kernel.low_rank(&z, &Approximation { rank, tolerance: 0.0 }).unwrap();
                let close = ConditionalEmbedding::from_low_rank(&factor, ridge).unwrap();
                let bound = close.approximation_error().unwrap() + 1e-10;
                assert!(largest_difference(&exact, &close.to_matrix()) <= bound);
            }
            let unit = ConditionalEmbedding::with_unit_diagonal(&kernel, &z, ridge).unwrap().to_matrix();
            let factor = kernel.low_rank(&z, &Approximation { rank: 60, tolerance: 0.0 }).unwrap();
            let close = ConditionalEmbedding::from_low_rank_with_unit_diagonal(&factor, ridge).unwrap();
            assert!(close.approximation_error().unwrap() < 1e-9);
            assert!(largest_difference(&unit, &close.to_matrix()) < 1e-7);
        }
    }
}
