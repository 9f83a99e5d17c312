//! The kernel conditional embedding operator of CCL-K, and the centroid estimator of Decoupled Uniformity: both are
//!
//! ```text
//! W = (K_Z + ridge I)^-1 K_Z = I - ridge (K_Z + ridge I)^-1
//! ```
//!
//! with `ridge = lambda` in CCL-K (eq. KCEO) and in the released code of both works, and `ridge = b lambda` on the
//! poster of Decoupled Uniformity. `W` carries no gradient: it depends on the conditioning variable alone. It is
//! solved on the host in `f64`.
//!
//! | estimator | Gram matrix | weights |
//! |---|---|---|
//! | [`Estimator::Operator`] | as it is | as they come, with the diagonal and negative entries (paper) |
//! | [`Estimator::Clipped`] | diagonal set to 1 | diagonal 0, entries below `clip_threshold` set to 0, not renormalised (released) |
//! | [`Estimator::Normalised`] | as it is | diagonal and negative entries 0, each row divided by its sum (ours) |
//!
//! The normalised estimator is a conditional distribution over the other samples: what the paper derives the
//! operator to be an estimate of, without the negative probabilities that a finite batch gives.

use burn::tensor::{DType, Device, Tensor};
use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{Mat, Side};
use serde::{Deserialize, Serialize};

use crate::contrast::EMPTY;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::matrix::Matrix;

/// Batches up to this size hold `W` as a dense matrix even where factors exist.
const DENSE_ROWS: usize = 1024;

/// How weights are made from `W`; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// As printed.
    Operator,
    /// As released.
    Clipped {
        /// Smaller weights become 0; released: `1e-6`.
        threshold: f64,
    },
    /// Non-negative rows of sum 1.
    Normalised,
}

impl Estimator {
    /// The weights that an estimator makes of the rows of `z`, `[b, b]`. A row of [`Normalised`](Self::Normalised) without
    /// positive weights is 0.
    ///
    /// # Errors
    /// As [`Operator::new`].
    pub fn weights(&self, kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Matrix> {
        let operator = match self {
            Self::Operator => return Ok(Operator::new(kernel, z, ridge)?.to_matrix()),
            Self::Clipped { .. } => Operator::with_unit_diagonal(kernel, z, ridge)?,
            Self::Normalised => Operator::new(kernel, z, ridge)?,
        };
        let mut weights = operator.to_matrix();
        for i in 0..weights.rows() {
            weights[(i, i)] = 0.0;
            let row = weights.row_mut(i);
            match self {
                Self::Clipped { threshold } => {
                    row.iter_mut().filter(|w| **w < *threshold).for_each(|w| *w = 0.0)
                }
                _ => {
                    row.iter_mut().for_each(|w| *w = w.max(0.0));
                    let sum: f64 = row.iter().sum();
                    row.iter_mut().filter(|_| sum > 0.0).for_each(|w| *w /= sum);
                }
            }
        }
        Ok(weights)
    }
}

/// The matrix `W` of a batch, `[b, b]`, dense or as `diag(d) + L R^T` with few columns.
#[derive(Debug, Clone)]
pub struct Operator {
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Dense(Matrix),
    Factors { diagonal: Vec<f64>, left: Matrix, right: Matrix },
}

impl Operator {
    /// `(K + ridge I)^-1 K` for the rows of `z`.
    ///
    /// Kernels with few features (linear, cosine, polynomial) take `b r^2` work through
    /// `(Z Z^T + ridge I)^-1 Z Z^T = Z (Z^T Z + ridge I)^-1 Z^T`; the others a Cholesky factorisation.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the ridge is negative, [`Error::Degenerate`] if `K + ridge I` is singular.
    pub fn new(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        check_ridge(ridge)?;
        match kernel.features(z).filter(|_| ridge > 0.0 && z.rows() > DENSE_ROWS) {
            Some(features) => Self::from_features(features, ridge),
            None => Ok(Self { form: Form::Dense(regress(&kernel.gram(z), ridge)?) }),
        }
    }

    /// The same with the diagonal of `K` set to 1 first, as released. `K + ridge I` can then be indefinite, which a
    /// general solver handles.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_unit_diagonal(kernel: &Kernel, z: &Matrix, ridge: f64) -> Result<Self> {
        check_ridge(ridge)?;
        if z.rows() > DENSE_ROWS
            && let Some(features) = kernel.features(z)
            && let Some(operator) = Self::from_features_with_unit_diagonal(&features, ridge)?
        {
            return Ok(operator);
        }
        let mut gram = kernel.gram(z);
        for i in 0..gram.rows() {
            gram[(i, i)] = 1.0;
        }
        Ok(Self { form: Form::Dense(regress(&gram, ridge)?) })
    }

    fn from_features(features: Matrix, ridge: f64) -> Result<Self> {
        let inner = to_faer(&features);
        let mut normal = inner.transpose() * &inner;
        for i in 0..normal.nrows() {
            normal[(i, i)] += ridge;
        }
        let solution = normal.llt(Side::Lower).map_err(|_| singular(ridge))?.solve(inner.transpose());
        let right = Matrix::from_fn(features.rows(), features.columns(), |i, j| solution[(j, i)]);
        Ok(Self { form: Form::Factors { diagonal: vec![0.0; features.rows()], left: features, right } })
    }

    /// With `D = diag(1 + ridge - k_ii)`, `(D + Z Z^T)^-1 = D^-1 - D^-1 Z (I + Z^T D^-1 Z)^-1 Z^T D^-1`. `None` where
    /// an entry of `D` is too close to 0 for that to be accurate.
    fn from_features_with_unit_diagonal(features: &Matrix, ridge: f64) -> Result<Option<Self>> {
        let squares: Vec<f64> = features.iter_rows().map(|row| crate::kernel::dot(row, row)).collect();
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
        Ok(Some(Self { form: Form::Factors { diagonal, left, right } }))
    }

    /// Number of samples.
    pub fn rows(&self) -> usize {
        match &self.form {
            Form::Dense(w) => w.rows(),
            Form::Factors { left, .. } => left.rows(),
        }
    }

    /// `W` as a dense matrix.
    pub fn to_matrix(&self) -> Matrix {
        match &self.form {
            Form::Dense(w) => w.clone(),
            Form::Factors { diagonal, left, right } => Matrix::from_fn(left.rows(), left.rows(), |i, j| {
                let diagonal = if i == j { diagonal[i] } else { 0.0 };
                diagonal + crate::kernel::dot(left.row(i), right.row(j))
            }),
        }
    }

    /// `W` on a device, to be read in tiles of rows.
    pub fn on_device(&self, device: &Device, dtype: DType) -> DeviceOperator {
        let form = match &self.form {
            Form::Dense(w) => DeviceForm::Dense(w.to_tensor(device, dtype)),
            Form::Factors { diagonal, left, right } => DeviceForm::Factors {
                diagonal: Matrix::column(diagonal).to_tensor(device, dtype),
                left: left.to_tensor(device, dtype),
                right: right.to_tensor(device, dtype),
            },
        };
        DeviceOperator { form }
    }
}

/// `W` on a device.
#[derive(Debug, Clone)]
pub struct DeviceOperator {
    form: DeviceForm,
}

#[derive(Debug, Clone)]
enum DeviceForm {
    Dense(Tensor<2>),
    Factors { diagonal: Tensor<2>, left: Tensor<2>, right: Tensor<2> },
}

impl DeviceOperator {
    /// Rows `range` of `W` without its diagonal, `[range, b]`; entries on the diagonal are unspecified.
    fn off_diagonal(&self, range: std::ops::Range<usize>) -> Tensor<2> {
        match &self.form {
            DeviceForm::Dense(w) => w.clone().slice(range),
            DeviceForm::Factors { left, right, .. } => {
                left.clone().slice(range).matmul(right.clone().transpose())
            }
        }
    }

    /// The diagonal of `W`, `[b, 1]`.
    pub fn diagonal(&self) -> Tensor<2> {
        match &self.form {
            DeviceForm::Dense(w) => {
                let [b, _] = w.dims();
                let at = crate::contrast::indices(&crate::contrast::itself(b), &w.device());
                w.clone().gather(1, at.unsqueeze_dim(1))
            }
            DeviceForm::Factors { diagonal, left, right } => {
                diagonal.clone() + (left.clone() * right.clone()).sum_dim(1)
            }
        }
    }

    /// `W C` for the rows `C` of a tensor, `[b, d]`.
    pub fn apply(&self, c: Tensor<2>) -> Tensor<2> {
        match &self.form {
            DeviceForm::Dense(w) => w.clone().matmul(c),
            DeviceForm::Factors { diagonal, left, right } => {
                diagonal.clone() * c.clone() + left.clone().matmul(right.clone().transpose().matmul(c))
            }
        }
    }

    /// Logarithms of the weights above `threshold` in rows `range`, off the diagonal; the others are [`EMPTY`], and
    /// so is the diagonal.
    pub fn log_above(&self, range: std::ops::Range<usize>, threshold: f64) -> Tensor<2> {
        let weights = without_diagonal(self.off_diagonal(range.clone()), &range);
        log_where(weights.clone(), weights.lower_equal_elem(threshold))
    }

    /// Logarithms of the magnitudes of the weights below 0 in rows `range`, off the diagonal.
    pub fn log_below_zero(&self, range: std::ops::Range<usize>) -> Tensor<2> {
        let weights = without_diagonal(self.off_diagonal(range.clone()).neg(), &range);
        log_where(weights.clone(), weights.lower_equal_elem(0.0))
    }

    /// Logarithms of the weights of [`Estimator::Normalised`]; a row without a positive weight is [`EMPTY`].
    pub fn log_normalised(&self, range: std::ops::Range<usize>) -> Tensor<2> {
        let weights = without_diagonal(self.off_diagonal(range.clone()), &range).clamp_min(0.0);
        let sums = weights.clone().sum_dim(1);
        let empty = sums.clone().lower_equal_elem(0.0);
        let normalised = weights / sums.mask_fill(empty, 1.0);
        log_where(normalised.clone(), normalised.lower_equal_elem(0.0))
    }

    /// As [`log_normalised`](Self::log_normalised), but each row is divided by its sum with the sample itself, whose
    /// own logarithm is returned beside it, `[range, 1]`. A sample without neighbours keeps all of its weight.
    pub fn log_normalised_with_own(&self, range: std::ops::Range<usize>) -> (Tensor<2>, Tensor<2>) {
        let weights = without_diagonal(self.off_diagonal(range.clone()), &range).clamp_min(0.0);
        let own = self.diagonal().slice(range).clamp_min(0.0);
        let others = weights.clone().sum_dim(1);
        let alone = others.clone().lower_equal_elem(0.0);
        let own = own.mask_fill(alone, 1.0);
        let sums = others + own.clone();
        let normalised = weights / sums.clone();
        let left_out = normalised.clone().lower_equal_elem(0.0);
        let own_share = own / sums;
        let no_own = own_share.clone().lower_equal_elem(0.0);
        (log_where(normalised, left_out), log_where(own_share, no_own))
    }
}

/// Sets the entries `(i, range.start + i)` of a tile to 0.
fn without_diagonal(tile: Tensor<2>, range: &std::ops::Range<usize>) -> Tensor<2> {
    let at: Vec<usize> = range.clone().collect();
    let at = crate::contrast::indices(&at, &tile.device()).unsqueeze_dim(1);
    let own = tile.clone().gather(1, at.clone());
    tile.scatter(1, at, own.neg(), burn::tensor::IndexingUpdateOp::Add)
}

fn log_where(weights: Tensor<2>, left_out: Tensor<2, burn::tensor::Bool>) -> Tensor<2> {
    weights.mask_fill(left_out.clone(), 1.0).log().mask_fill(left_out, EMPTY)
}

/// `(K + ridge I)^-1 K` by Cholesky, or by LU where `K + ridge I` is not positive definite.
fn regress(gram: &Matrix, ridge: f64) -> Result<Matrix> {
    let mut regularised = to_faer(gram);
    for i in 0..gram.rows() {
        regularised[(i, i)] += ridge;
    }
    let inverse = match regularised.llt(Side::Lower) {
        Ok(factor) => factor.inverse(),
        Err(_) => regularised.partial_piv_lu().inverse(),
    };
    let weights = Matrix::from_fn(gram.rows(), gram.rows(), |i, j| {
        let identity = f64::from(u8::from(i == j));
        identity - ridge * inverse[(i, j)]
    });
    if weights.first_not_finite().is_some() { Err(singular(ridge)) } else { Ok(weights) }
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
        remedy: "raise lambda, or use a kernel of another bandwidth".into(),
    }
}
