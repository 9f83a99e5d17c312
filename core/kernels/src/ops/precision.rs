//! Half precision: values can have it, sums never.

use burn::backend::Backend;
use burn::backend::TensorMetadata as _;
use burn::backend::tensor::FloatTensor;
use burn::tensor::DType;

/// True if a type has too few bits for sums: `f16` and `bf16`.
pub fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16)
}

/// The values in a type with enough bits for sums.
pub(crate) fn widened<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    if is_half(x.dtype()) { B::float_cast(x, DType::F32.into()) } else { x }
}

/// The inverse of [`widened`], to the original type.
pub(crate) fn narrowed<B: Backend>(x: FloatTensor<B>, dtype: DType) -> FloatTensor<B> {
    if x.dtype() == dtype { x } else { B::float_cast(x, dtype.into()) }
}
