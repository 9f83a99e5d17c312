//! The weights on the device of the embeddings, read in tiles of rows.

use std::borrow::Cow;
use std::ops::Range;

use burn::tensor::{Bool, DType, Device, Tensor};

use super::{Form, HostOperator, Operator};
use crate::contrast::{EMPTY, rows_of};
use crate::host;
use crate::matrix::Matrix;

impl Operator {
    /// `W` on a device, to be read in tiles of rows.
    pub fn on_device(&self, device: &Device, dtype: DType) -> DeviceOperator {
        let place = |matrix: &Matrix| without_negligible(matrix, dtype).to_tensor(device, dtype);
        let column = |values: &[f64]| place(&Matrix::column(values));
        let form = match &self.form {
            Form::Dense(w) => DeviceForm::Dense(place(w)),
            Form::Factors { diagonal, left, right } => {
                let largest =
                    |matrix: &Matrix| matrix.data().iter().fold(0.0_f64, |most, v| most.max(v.abs()));
                // Where all of their products are negligible, so are they.
                let kept = dtype == DType::F64 || largest(left) * largest(right) >= NEGLIGIBLE;
                let place = |matrix: &Matrix| match kept {
                    true => matrix.to_tensor(device, dtype),
                    false => Matrix::zeros(matrix.rows(), matrix.columns()).to_tensor(device, dtype),
                };
                DeviceForm::Factors { shift: column(diagonal), left: place(left), right: place(right) }
            }
        };
        DeviceOperator { form, diagonal: column(&self.diagonal()) }
    }
}

/// Weights below this are 0 in single precision, where the reciprocal of their sum would not be a number.
const NEGLIGIBLE: f64 = 1e-30;

/// The matrix as the float type can reckon with it.
fn without_negligible(matrix: &Matrix, dtype: DType) -> Cow<'_, Matrix> {
    let is_negligible = |value: f64| value != 0.0 && value.abs() < NEGLIGIBLE;
    if dtype == DType::F64 || !matrix.data().iter().any(|&value| is_negligible(value)) {
        return Cow::Borrowed(matrix);
    }
    let kept = |value: f64| if is_negligible(value) { 0.0 } else { value };
    Cow::Owned(Matrix::from_fn(matrix.rows(), matrix.columns(), |i, j| kept(matrix[(i, j)])))
}

/// `W` on a device.
#[derive(Debug, Clone)]
pub struct DeviceOperator {
    form: DeviceForm,
    /// Of `W`, `[b, 1]`. It comes from the host: a gather from `W` mixes up rows with fusion (Burn 0.22.1, wgpu).
    diagonal: Tensor<2>,
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one a batch")]
enum DeviceForm {
    Dense(Tensor<2>),
    /// `diag(shift) + L R^T`.
    Factors {
        shift: Tensor<2>,
        left: Tensor<2>,
        right: Tensor<2>,
    },
}

impl DeviceOperator {
    /// Rows `range` of `W` without its diagonal, `[range, b]`; entries on the diagonal are unspecified.
    fn off_diagonal(&self, range: Range<usize>) -> Tensor<2> {
        match &self.form {
            DeviceForm::Dense(w) => rows_of(w, range),
            DeviceForm::Factors { left, right, .. } => rows_of(left, range).matmul(right.clone().transpose()),
        }
    }

    /// Number of samples.
    pub(crate) fn rows(&self) -> usize {
        match &self.form {
            DeviceForm::Dense(w) => w.dims()[0],
            DeviceForm::Factors { left, .. } => left.dims()[0],
        }
    }

    /// The same in the host's memory but for the diagonal, if it lies there.
    pub(crate) fn on_host(&self) -> Option<HostOperator> {
        Some(match &self.form {
            DeviceForm::Dense(w) => HostOperator::Dense { entries: host::copy(w)?, rows: self.rows() },
            DeviceForm::Factors { left, right, .. } => HostOperator::Factors {
                left: host::copy(left)?,
                right: host::copy(right)?,
                width: left.dims()[1],
            },
        })
    }

    /// The diagonal of `W`, `[b, 1]`.
    pub fn diagonal(&self) -> Tensor<2> {
        self.diagonal.clone()
    }

    /// `W C` for the rows `C` of a tensor, `[b, d]`.
    pub fn apply(&self, c: Tensor<2>) -> Tensor<2> {
        match &self.form {
            DeviceForm::Dense(w) => w.clone().matmul(c),
            DeviceForm::Factors { shift, left, right } => {
                shift.clone() * c.clone() + left.clone().matmul(right.clone().transpose().matmul(c))
            }
        }
    }

    /// Logarithms of the weights above `threshold` in rows `range`, off the diagonal; the others are [`EMPTY`], and
    /// so is the diagonal.
    pub fn log_above(&self, range: Range<usize>, threshold: f64) -> Tensor<2> {
        let weights = without_diagonal(self.off_diagonal(range.clone()), &range);
        log_where(weights.clone(), weights.lower_equal_elem(threshold))
    }

    /// Logarithms of the magnitudes of the weights below 0 in rows `range`, off the diagonal.
    pub fn log_below_zero(&self, range: Range<usize>) -> Tensor<2> {
        let weights = without_diagonal(self.off_diagonal(range.clone()).neg(), &range);
        log_where(weights.clone(), weights.lower_equal_elem(0.0))
    }

    /// Logarithms of the weights of [`Estimator::Normalised`](super::Estimator::Normalised); a row without a positive weight is [`EMPTY`].
    pub fn log_normalised(&self, range: Range<usize>) -> Tensor<2> {
        let weights = without_diagonal(self.off_diagonal(range.clone()), &range).clamp_min(0.0);
        let sums = weights.clone().sum_dim(1);
        let empty = sums.clone().lower_equal_elem(0.0);
        let normalised = weights / sums.mask_fill(empty, 1.0);
        log_where(normalised.clone(), normalised.lower_equal_elem(0.0))
    }

    /// As [`log_normalised`](Self::log_normalised), but each row is divided by its sum with the sample itself, whose
    /// own logarithm is returned beside it, `[range, 1]`. A sample without neighbours keeps all of its weight.
    pub fn log_normalised_with_own(&self, range: Range<usize>) -> (Tensor<2>, Tensor<2>) {
        let weights = without_diagonal(self.off_diagonal(range.clone()), &range).clamp_min(0.0);
        let own = rows_of(&self.diagonal(), range).clamp_min(0.0);
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
fn without_diagonal(tile: Tensor<2>, range: &Range<usize>) -> Tensor<2> {
    let at: Vec<usize> = range.clone().collect();
    let at = crate::contrast::indices(&at, &tile.device()).unsqueeze_dim(1);
    let own = tile.clone().gather(1, at.clone());
    tile.scatter(1, at, own.neg(), burn::tensor::IndexingUpdateOp::Add)
}

fn log_where(weights: Tensor<2>, left_out: Tensor<2, Bool>) -> Tensor<2> {
    weights.mask_fill(left_out.clone(), 1.0).log().mask_fill(left_out, EMPTY)
}
