//! `W` on the device of the embeddings.

use std::borrow::Cow;

use burn::backend::Dispatch;
use burn::tensor::{DType, Device, Tensor, TensorData};
use simile_kernels::{PairWeights, gemm};

use super::dense_f32::NEGLIGIBLE;
use super::weights::{ConditionWeights, DENSE_ROWS, Storage};
use crate::numeric::matrix::Matrix;

impl ConditionWeights {
    /// `W` on a device.
    pub fn on_device(&self, device: &Device, dtype: DType) -> DeviceWeights {
        let place = |matrix: &Matrix| without_negligible(matrix, dtype).to_tensor(device, dtype);
        let column = |values: &[f64]| place(&Matrix::column(values));
        let storage = match &self.storage {
            Storage::Dense(w) => DeviceStorage::Dense(place(w)),
            Storage::Groups(groups) if groups.count() <= DENSE_ROWS => {
                let (left, right) = groups.factors();
                let shift = Tensor::zeros([self.rows(), 1], (device, dtype));
                DeviceStorage::Factors { shift, left: place(&left), right: place(&right) }
            }
            Storage::Groups(_) => DeviceStorage::Dense(place(&self.to_matrix())),
            Storage::DenseF32(weights) => {
                let data = TensorData::new(weights.values.clone(), [weights.rows; 2]);
                DeviceStorage::Dense(Tensor::from_data(data, (device, dtype)))
            }
            Storage::Factors { diagonal, left, right } => {
                let largest =
                    |matrix: &Matrix| matrix.data().iter().fold(0.0_f64, |most, v| most.max(v.abs()));
                // Factors whose products are all negligible become zeros.
                let is_significant = dtype == DType::F64 || largest(left) * largest(right) >= NEGLIGIBLE;
                let place = |matrix: &Matrix| match is_significant {
                    true => matrix.to_tensor(device, dtype),
                    false => Matrix::zeros(matrix.rows(), matrix.columns()).to_tensor(device, dtype),
                };
                DeviceStorage::Factors { shift: column(diagonal), left: place(left), right: place(right) }
            }
        };
        DeviceWeights { storage, diagonal: column(&self.diagonal()) }
    }
}

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
pub struct DeviceWeights {
    pub(super) storage: DeviceStorage,
    /// The diagonal of `W`, `[b, 1]`. It does not come from a gather from `W`, which mixes up rows with fusion (Burn
    /// 0.22.1, wgpu).
    diagonal: Tensor<2>,
}

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one a batch")]
pub(super) enum DeviceStorage {
    Dense(Tensor<2>),
    /// `diag(shift) + L R^T`.
    Factors {
        shift: Tensor<2>,
        left: Tensor<2>,
        right: Tensor<2>,
    },
}

impl DeviceWeights {
    /// `W` by its entries, and its diagonal, `[b, 1]`.
    pub(super) fn dense(weights: Tensor<2>, diagonal: Tensor<2>) -> Self {
        Self { storage: DeviceStorage::Dense(weights), diagonal }
    }

    /// The weights of the pairs of samples by one `W`, or by one for each view of an anchor, which are symmetric. Their
    /// diagonals are unspecified: terms leave out a sample's pairs with itself.
    pub fn pair_weights(view_weights: &[&Self]) -> PairWeights<Dispatch> {
        let factors = view_weights.iter().map(|weights| match &weights.storage {
            DeviceStorage::Dense(_) => None,
            DeviceStorage::Factors { left, right, .. } => Some((left.clone(), right.clone())),
        });
        let join = |mut parts: Vec<Tensor<2>>| match parts.len() {
            1 => parts.swap_remove(0),
            _ => Tensor::cat(parts, 0),
        };
        let (lefts, rights): (Vec<_>, Vec<_>) = match factors.collect::<Option<Vec<_>>>() {
            Some(factors) => factors.into_iter().unzip(),
            None => (Vec::new(), Vec::new()),
        };
        let have_one_shape =
            |parts: &[Tensor<2>]| parts.windows(2).all(|pair| pair[0].dims() == pair[1].dims());
        match lefts.first().map(|left| left.dims()[0]) {
            Some(samples) if have_one_shape(&lefts) => {
                PairWeights::factors(join(lefts), join(rights), samples)
            }
            _ => PairWeights::samples(join(view_weights.iter().map(|weights| weights.entries()).collect())),
        }
    }

    /// The same for matrices that are not symmetric: the weights of each anchor, of either view, with both views of all samples.
    pub(crate) fn pair_weights_of_rows(view_weights: &[&Self]) -> PairWeights<Dispatch> {
        let rows = view_weights.iter().map(|weights| weights.entries().repeat_dim(1, 2)).collect();
        PairWeights::pairs(Tensor::cat(rows, 0).repeat_dim(0, 2 / view_weights.len().max(1)))
    }

    /// `W` except for its diagonal, which is unspecified.
    fn entries(&self) -> Tensor<2> {
        match &self.storage {
            DeviceStorage::Dense(w) => w.clone(),
            DeviceStorage::Factors { left, right, .. } => gemm(left.clone(), right.clone().transpose()),
        }
    }

    /// The diagonal of `W`, `[b, 1]`.
    pub fn diagonal(&self) -> Tensor<2> {
        self.diagonal.clone()
    }

    /// `W C` for the rows `C` of a tensor, `[b, d]`.
    pub fn apply(&self, c: Tensor<2>) -> Tensor<2> {
        match &self.storage {
            DeviceStorage::Dense(w) => gemm(w.clone(), c),
            DeviceStorage::Factors { shift, left, right } => {
                shift.clone() * c.clone() + gemm(left.clone(), gemm(right.clone().transpose(), c))
            }
        }
    }
}
