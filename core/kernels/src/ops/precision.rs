//! Half precision: values have it, sums never.

use burn::backend::Backend;
use burn::backend::TensorMetadata as _;
use burn::backend::tensor::FloatTensor;
use burn::tensor::DType;

/// Whether numbers have too few bits to be added up.
fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16)
}

/// In a type that has the bits for sums.
pub(super) fn widened<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    if is_half(x.dtype()) { B::float_cast(x, DType::F32.into()) } else { x }
}

/// The way back from [`widened`] to the type that it was.
pub(super) fn narrowed<B: Backend>(x: FloatTensor<B>, dtype: DType) -> FloatTensor<B> {
    if x.dtype() == dtype { x } else { B::float_cast(x, dtype.into()) }
}
