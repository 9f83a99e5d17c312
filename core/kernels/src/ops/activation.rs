//! Elementwise functions.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, backend_extension};
use burn::tensor::Tensor;

/// Elementwise functions that backends implement.
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
pub trait ActivationOps: Backend {
    /// `tanh(x)`.
    #[fusion(default)]
    fn tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_tanh(x)
    }

    /// `1 / (1 + exp(-x))`.
    #[fusion(default)]
    fn logistic(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::sigmoid(x)
    }
}

/// The gradients of [`ActivationOps`]. Autodiff calls them on the backend below it. They have no gradient themselves: Burn panics
/// if autodiff is enabled for a tensor.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
)]
#[diagnostic::on_unimplemented(
    note = "for `Fusion<_>`: name the feature `fusion` of simile-core or simile-kernels, as `burn` has it"
)]
pub trait ActivationGradients: ActivationOps {
    /// The gradient with respect to `x`, `(1 - y^2) gradient`, from `y = tanh(x)`.
    #[fusion(default)]
    fn tanh_backward(y: FloatTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        plain_tanh_backward::<Self>(y, gradient)
    }

    /// The gradient with respect to `x`, `y (1 - y) gradient`, from `y = 1 / (1 + exp(-x))`.
    #[fusion(default)]
    fn logistic_backward(y: FloatTensor<Self>, gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::sigmoid_backward(y, gradient)
    }
}

/// [`ActivationGradients::tanh_backward`] in Burn's operations.
pub(crate) fn plain_tanh_backward<B: Backend>(y: FloatTensor<B>, gradient: FloatTensor<B>) -> FloatTensor<B> {
    let falls = B::float_mul(B::float_mul(y.clone(), y), gradient.clone());
    B::float_sub(gradient, falls)
}

/// `tanh(x)`, elementwise, of any shape.
///
/// Cost: about 20 operations and 8 bytes a value. The CPU's body is accurate to 2e-7, vectorised, and in place if
/// no other tensor shares `x`; so is its backward pass.
pub fn tanh<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(<Dispatch as ActivationOps>::tanh(x.into_dispatch()))
}

/// `1 / (1 + exp(-x))`, elementwise, of any shape.
///
/// Cost: about 20 operations and 8 bytes a value. The CPU's body has a relative error of 3e-7, is vectorised, and
/// works in place if no other tensor shares `x`.
pub fn sigmoid<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(<Dispatch as ActivationOps>::logistic(x.into_dispatch()))
}
