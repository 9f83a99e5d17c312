//! The distance of the cross-correlations of two views from the identity.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, TensorMetadata, backend_extension};
use burn::tensor::Tensor;

use super::gemm::GemmOps;
use super::shapes::check;

/// Cross-correlations that backends implement.
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
pub trait RedundancyOps: GemmOps {
    /// [`Redundancy::new`]: the loss, `[1]`, and the gradients with respect to both views.
    #[fusion(default)]
    fn redundancy(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        off_diagonal: f64,
        eps: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        plain_redundancy::<Self>(a, b, off_diagonal, eps)
    }
}

/// [`RedundancyOps::redundancy`] in Burn's operations. The diagonal of `C` is computed from the columns, so that no
/// identity matrix is needed: with `l = off_diagonal`,
///
/// ```text
/// L = l sum_kl C_kl^2 + sum_k (C_kk - 1)^2 - l C_kk^2,   1/2 dL/dC = l C + diag((1 - l) C_kk - 1)
/// ```
pub(crate) fn plain_redundancy<B: GemmOps>(
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    off_diagonal: f64,
    eps: f64,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let share = 1.0 / a.shape()[0] as f64;
    let [a, b] = [a, b].map(|view| Standardised::<B>::new(view, eps));
    let diagonal = B::float_mean_dim(B::float_mul(a.rows.clone(), b.rows.clone()), 0);
    let correlation = B::gemm(B::float_transpose(a.rows.clone()), b.rows.clone());
    let correlation = B::float_mul_scalar(correlation, share.into());

    let squares = |x: FloatTensor<B>| B::float_sum(B::float_mul(x.clone(), x));
    let all = B::float_sub(squares(correlation.clone()), squares(diagonal.clone()));
    let own = squares(B::float_sub_scalar(diagonal.clone(), 1.0.into()));
    let loss = B::float_add(B::float_mul_scalar(all, off_diagonal.into()), own);

    let half_grad_diagonal = B::float_mul_scalar(diagonal, (1.0 - off_diagonal).into());
    let half_grad_diagonal = B::float_sub_scalar(half_grad_diagonal, 1.0.into());
    let gradient = |other: FloatTensor<B>, correlation: FloatTensor<B>| {
        let across = B::float_mul_scalar(B::gemm(other.clone(), correlation), off_diagonal.into());
        let along = B::float_mul(other, half_grad_diagonal.clone());
        B::float_mul_scalar(B::float_add(across, along), (2.0 * share).into())
    };
    let grad_a = a.pull_back(gradient(b.rows.clone(), B::float_transpose(correlation.clone())));
    let grad_b = b.pull_back(gradient(a.rows.clone(), correlation));
    (loss, grad_a, grad_b)
}

/// A matrix whose columns have mean 0 and variance 1.
struct Standardised<B: Backend> {
    rows: FloatTensor<B>,
    /// `1 / sqrt(var + eps)`, `[1, columns]`.
    scale: FloatTensor<B>,
}

impl<B: Backend> Standardised<B> {
    fn new(rows: FloatTensor<B>, eps: f64) -> Self {
        let centred = B::float_sub(rows.clone(), B::float_mean_dim(rows, 0));
        let variance = B::float_mean_dim(B::float_mul(centred.clone(), centred.clone()), 0);
        let scale = B::float_recip(B::float_sqrt(B::float_add_scalar(variance, eps.into())));
        Self { rows: B::float_mul(centred, scale.clone()), scale }
    }

    /// The gradient with respect to the original matrix.
    fn pull_back(&self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let mean = B::float_mean_dim(gradient.clone(), 0);
        let along = B::float_mean_dim(B::float_mul(gradient.clone(), self.rows.clone()), 0);
        let projection = B::float_sub(B::float_sub(gradient, mean), B::float_mul(self.rows.clone(), along));
        B::float_mul(projection, self.scale.clone())
    }
}

/// The redundancy of two views of the same samples, the loss of Barlow Twins, with its gradient:
///
/// ```text
/// L = sum_k (1 - C_kk)^2 + off_diagonal sum_{k != l} C_kl^2,   C = A^T B / n
/// ```
///
/// where `A` and `B` are the views with standardised columns of mean 0 and variance 1, `(x - mean) / sqrt(var + eps)` with the
/// biased variance. Zbontar et al., *Barlow Twins: Self-Supervised Learning via Redundancy Reduction* (2021), eq. 1 and 2; there
/// `off_diagonal` is 0.0051 and `eps` 1e-5.
#[derive(Debug, Clone)]
pub struct Redundancy {
    /// `[1]`, with a gradient.
    pub loss: Tensor<1>,
    /// The gradients of the loss with respect to both views, `[n, m]`. Constants.
    pub gradients: [Tensor<2>; 2],
}

impl Redundancy {
    /// The redundancy of two views, `[n, m]`, with at least one row and one column.
    ///
    /// Cost: three products of `2 n m^2` operations and a matrix of `m^2` numbers. In addition, the CPU's body
    /// moves about `50 n m` bytes a view, both views in parallel; plain operations about `120 n m`.
    ///
    /// # Panics
    /// The views differ in shape.
    pub fn new([a, b]: [Tensor<2>; 2], off_diagonal: f64, eps: f64) -> Self {
        let (first, second) = (a.dims(), b.dims());
        check("Redundancy", first == second, || {
            format!("Both views must have one shape, not {first:?} and {second:?}.")
        });
        let (loss, grad_a, grad_b) =
            <Dispatch as RedundancyOps>::redundancy(a.into_dispatch(), b.into_dispatch(), off_diagonal, eps);
        let gradients = [grad_a, grad_b].map(Tensor::from_dispatch);
        Self { loss: Tensor::from_dispatch(loss), gradients }
    }
}
