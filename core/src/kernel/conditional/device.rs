//! The weights on the device of the embeddings.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use burn::backend::Dispatch;
use burn::tensor::{DType, Device, Tensor, TensorData};
use simile_kernels::{PairWeights, product};

use super::{ConditionalEmbedding, DENSE_ROWS, Form, SMALL};
use crate::kernel::Kernel;
use crate::numeric::matrix::Matrix;

impl ConditionalEmbedding {
    /// `W` on a device.
    pub fn on_device(&self, device: &Device, dtype: DType) -> DeviceEmbedding {
        let place = |matrix: &Matrix| without_negligible(matrix, dtype).to_tensor(device, dtype);
        let column = |values: &[f64]| place(&Matrix::column(values));
        let form = match &self.form {
            Form::Dense(w) => DeviceForm::Dense(place(w)),
            Form::Groups(groups) if groups.count() <= DENSE_ROWS => {
                let (left, right) = groups.factors();
                let shift = Tensor::zeros([self.rows(), 1], (device, dtype));
                DeviceForm::Factors { shift, left: place(&left), right: place(&right) }
            }
            Form::Groups(_) => DeviceForm::Dense(place(&self.to_matrix())),
            Form::DenseF32(weights) => {
                let data = TensorData::new(weights.values.clone(), [weights.rows; 2]);
                DeviceForm::Dense(Tensor::from_data(data, (device, dtype)))
            }
            Form::Factors { diagonal, left, right } => {
                let largest =
                    |matrix: &Matrix| matrix.data().iter().fold(0.0_f64, |most, v| most.max(v.abs()));
                // Factors whose products are all negligible become zeros.
                let is_significant = dtype == DType::F64 || largest(left) * largest(right) >= NEGLIGIBLE;
                let place = |matrix: &Matrix| match is_significant {
                    true => matrix.to_tensor(device, dtype),
                    false => Matrix::zeros(matrix.rows(), matrix.columns()).to_tensor(device, dtype),
                };
                DeviceForm::Factors { shift: column(diagonal), left: place(left), right: place(right) }
            }
        };
        DeviceEmbedding { form, diagonal: column(&self.diagonal()) }
    }
}

/// Weights below this are 0 in single precision, where the reciprocal of their sum would not be a number. Where only shares of them
/// count, rows of such weights are [rescaled](ConditionalEmbedding::rescaled) before.
pub(super) const NEGLIGIBLE: f64 = 1e-30;

/// The matrix with values that the float type can represent.
fn without_negligible(matrix: &Matrix, dtype: DType) -> Cow<'_, Matrix> {
    let is_negligible = |value: f64| value != 0.0 && value.abs() < NEGLIGIBLE;
    if dtype == DType::F64 || !matrix.data().iter().any(|&value| is_negligible(value)) {
        return Cow::Borrowed(matrix);
    }
    let flush_to_zero = |value: f64| if is_negligible(value) { 0.0 } else { value };
    Cow::Owned(Matrix::from_fn(matrix.rows(), matrix.columns(), |i, j| flush_to_zero(matrix[(i, j)])))
}

/// `W` on a device.
#[derive(Debug, Clone)]
pub struct DeviceEmbedding {
    form: DeviceForm,
    /// The diagonal of `W`, `[b, 1]`. It does not come from a gather from `W`, which mixes up rows with fusion (Burn
    /// 0.22.1, wgpu).
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

impl DeviceEmbedding {
    /// The numbers that `W` of `samples` samples has on a device, before their condition is known: from the least to the most. Where a
    /// condition can give it another form than the dense one, the least is 0. `unit_diagonal` says that the diagonal of `K` is set to 1.
    pub(crate) fn numbers(
        kernel: &Kernel,
        samples: usize,
        ridge: f64,
        unit_diagonal: bool,
    ) -> RangeInclusive<u64> {
        let dense = (samples as u64).saturating_mul(samples as u64);
        let changes = unit_diagonal && !kernel.has_unit_diagonal();
        let has_factors = kernel.has_features()
            || *kernel == Kernel::ExactMatch
            || (!changes && kernel.factor_with_features().is_some());
        let is_dense = samples <= DENSE_ROWS
            || (ridge <= 0.0 && !changes)
            || (!has_factors && (samples <= SMALL || changes));
        if is_dense { dense..=dense } else { 0..=dense }
    }

    /// `W` by its entries, and its diagonal, `[b, 1]`.
    pub(super) fn dense(weights: Tensor<2>, diagonal: Tensor<2>) -> Self {
        Self { form: DeviceForm::Dense(weights), diagonal }
    }

    /// The weights of the pairs of samples by one operator, or by one for each view of an anchor, which are symmetric. Their
    /// diagonals are unspecified: terms leave out a sample's pairs with itself.
    pub fn pair_weights(operators: &[&Self]) -> PairWeights<Dispatch> {
        let factors = operators.iter().map(|operator| match &operator.form {
            DeviceForm::Dense(_) => None,
            DeviceForm::Factors { left, right, .. } => Some((left.clone(), right.clone())),
        });
        let join = |mut parts: Vec<Tensor<2>>| match parts.len() {
            1 => parts.swap_remove(0),
            _ => Tensor::cat(parts, 0),
        };
        let (lefts, rights): (Vec<_>, Vec<_>) = match factors.collect::<Option<Vec<_>>>() {
            Some(factors) => factors.into_iter().unzip(),
            None => (Vec::new(), Vec::new()),
        };
        let of_one_width =
            |parts: &[Tensor<2>]| parts.windows(2).all(|pair| pair[0].dims() == pair[1].dims());
        match lefts.first().map(|left| left.dims()[0]) {
            Some(samples) if of_one_width(&lefts) => PairWeights::factors(join(lefts), join(rights), samples),
            _ => PairWeights::samples(join(operators.iter().map(|operator| operator.entries()).collect())),
        }
    }

    /// The same for matrices that are not symmetric: the weights of each anchor, of either view, with both views of all samples.
    pub(crate) fn pair_weights_of_rows(operators: &[&Self]) -> PairWeights<Dispatch> {
        let of_views = operators.iter().map(|operator| operator.entries().repeat_dim(1, 2)).collect();
        PairWeights::pairs(Tensor::cat(of_views, 0).repeat_dim(0, 2 / operators.len().max(1)))
    }

    /// `W` except for its diagonal, which is unspecified.
    fn entries(&self) -> Tensor<2> {
        match &self.form {
            DeviceForm::Dense(w) => w.clone(),
            DeviceForm::Factors { left, right, .. } => product(left.clone(), right.clone().transpose()),
        }
    }

    /// The diagonal of `W`, `[b, 1]`.
    pub fn diagonal(&self) -> Tensor<2> {
        self.diagonal.clone()
    }

    /// `W C` for the rows `C` of a tensor, `[b, d]`.
    pub fn apply(&self, c: Tensor<2>) -> Tensor<2> {
        match &self.form {
            DeviceForm::Dense(w) => product(w.clone(), c),
            DeviceForm::Factors { shift, left, right } => {
                shift.clone() * c.clone() + product(left.clone(), product(right.clone().transpose(), c))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// No value of a kernel below is 1 more than it, with which a system is singular.
    const RIDGE: f64 = 0.3003;

    #[test]
    fn weights_that_are_dense_for_every_condition_are_and_others_have_fewer_numbers() {
        let polynomial = |offset| Kernel::Polynomial { gamma: 1.0, offset, degree: 2, scale: 1.0 };
        let product = r#"{"name": "product", "factors": [
            {"start": 0, "end": 1, "kernel": {"name": "exact-match"}},
            {"start": 1, "end": 2, "kernel": {"name": "linear"}}]}"#;
        let kernels = [
            Kernel::rbf(1.0),
            Kernel::MedianLaplacian,
            Kernel::LaplacianL1 { gamma: 1.0 },
            Kernel::Linear { scale: 1.0 },
            Kernel::Cosine,
            polynomial(0.0),
            polynomial(1.0),
            Kernel::ExactMatch,
            serde_json::from_str(product).unwrap(),
        ];
        // Of 40 different rows of two columns: every kernel that can have factors has them.
        let rows =
            |samples| Matrix::from_fn(samples, 2, |i, j| ((i % 40 * (3 + 4 * j) + j) % 41) as f64 / 20.0);
        let mut dense = 0;
        for (samples, kernel) in [DENSE_ROWS, DENSE_ROWS + 1, SMALL + 1]
            .into_iter()
            .flat_map(|samples| kernels.iter().map(move |kernel| (samples, kernel)))
        {
            for unit in [false, true] {
                let solved = match unit {
                    true => ConditionalEmbedding::with_unit_diagonal(kernel, &rows(samples), RIDGE),
                    false => ConditionalEmbedding::new(kernel, &rows(samples), RIDGE),
                };
                let form = solved.unwrap().on_device(&Device::flex(), DType::F32).form;
                let is_dense = matches!(form, DeviceForm::Dense(_));
                let numbers = DeviceEmbedding::numbers(kernel, samples, RIDGE, unit);
                let least = if is_dense { samples as u64 * samples as u64 } else { 0 };
                assert_eq!(*numbers.start(), least, "{kernel:?}, {samples} samples, unit diagonal {unit}");
                dense += usize::from(is_dense);
            }
        }
        assert!(dense > 2 * kernels.len(), "{dense}");
    }
}
