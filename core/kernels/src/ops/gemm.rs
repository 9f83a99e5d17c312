//! Products of matrices whose factors keep all their digits.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, TensorMetadata, backend_extension};
use burn::tensor::{Shape, Tensor};

use super::shapes::check;

/// Products that backends implement.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
#[diagnostic::on_unimplemented(
    note = "for `Fusion<_>`: name the feature `fusion` of simile-core or simile-kernels, as `burn` has it"
)]
pub trait GemmOps: Backend {
    /// `a b` of `[n, k]` and `[k, m]`.
    #[fusion(meta = |a, b| fused::gemm(a, b))]
    fn gemm(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self> {
        plain_gemm::<Self>(a, b)
    }
}

/// [`GemmOps::gemm`] in Burn's operations. Burn 0.22 divides by zero on ndarray if a factor is empty.
pub(crate) fn plain_gemm<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    let ([rows, k], [_, columns]) = (a.shape().dims(), b.shape().dims());
    if [rows, k, columns].contains(&0) {
        return B::float_zeros(Shape::new([rows, columns]), &a.device(), a.dtype().into());
    }
    B::float_matmul(a, b)
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

/// `a b` of `[n, k]` and `[k, m]`: `[n, m]`, with `2 n k m` operations. Zeros if `k` is 0.
///
/// [`Tensor::matmul`] is faster on NVIDIA GPUs, where Burn 0.22 rounds factors in `f32` to the 11 bits of TF32. Losses need more:
/// with a distance of two rows from their inner product, WCL with a narrow kernel lost all digits of its gradient there. Networks do
/// not, and PyTorch rounds neither unless asked, except in convolutions.
///
/// # Panics
/// `a` has not as many columns as `b` has rows.
pub fn gemm(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    let (left, right) = (a.dims(), b.dims());
    check("gemm", left[1] == right[0], || format!("Factors {left:?} and {right:?} have no product."));
    Tensor::from_dispatch(<Dispatch as GemmOps>::gemm(a.into_dispatch(), b.into_dispatch()))
}
