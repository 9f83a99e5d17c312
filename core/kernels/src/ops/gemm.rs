//! Products of matrices whose factors keep all their digits.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, backend_extension};
use burn::tensor::Tensor;

/// Products that backends implement.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
pub trait GemmOps: Backend {
    /// `a b` of `[n, k]` and `[k, m]`.
    #[fusion(meta = |a, b| fused::gemm(a, b))]
    fn gemm(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_matmul(a, b)
    }
}

/// Shapes of results, for fusion.
#[cfg(feature = "fusion")]
mod fused {
    use burn::backend::fusion::custom::TensorSpec;
    use burn::tensor::Shape;

    pub(super) fn gemm(a: &TensorSpec, b: &TensorSpec) -> TensorSpec {
        TensorSpec::new(Shape::new([a.shape[0], b.shape[1]]), a.dtype)
    }
}

/// `a b` of `[n, k]` and `[k, m]`: `[n, m]`, with `2 n k m` operations.
///
/// [`Tensor::matmul`] is faster on NVIDIA GPUs, where Burn 0.22 rounds factors in `f32` to the 11 bits of TF32. Losses need more:
/// with a distance of two rows from their inner product, WCL with a narrow kernel lost all digits of its gradient there. Networks do
/// not, and PyTorch rounds neither unless asked, except in convolutions.
pub fn gemm(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as GemmOps>::gemm(a.into_dispatch(), b.into_dispatch()))
}
