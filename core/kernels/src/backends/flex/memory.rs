//! CPU tensors as slices.

use burn::tensor::{DType, Shape, TensorData};
use burn_flex::FlexTensor;

/// True if the loops of [`crate::cpu`] support the type of a tensor.
pub(super) fn is_f32(tensor: &FlexTensor) -> bool {
    tensor.dtype() == DType::F32
}

/// The same values contiguous in row order; a tensor that is contiguous already is not copied.
pub(super) fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() }
}

/// The values of a contiguous tensor of `f32`.
pub(super) fn floats(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().unwrap_or_default()
}

/// The values as an owned vector, without a copy if no other tensor shares them.
pub(super) fn into_floats(tensor: FlexTensor) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap_or_default()
}

/// The result of `work` on the values of a tensor of `f32`, and the tensor with the values that `work` wrote;
/// without a copy if no other tensor shares them.
pub(super) fn in_place<T>(tensor: FlexTensor, work: impl FnOnce(&mut [f32]) -> T) -> (FlexTensor, T) {
    let mut data = tensor.into_data();
    let result = work(data.as_mut_slice().unwrap_or_default());
    (FlexTensor::from_data(data), result)
}

/// Values as a tensor.
pub(super) fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}
