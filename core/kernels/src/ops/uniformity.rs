//! The uniformity of a set of rows.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, TensorMetadata, backend_extension};
use burn::tensor::{Shape, Slice, Tensor};

use super::pairs::{Comparison, LogSumExp, PairOps, PairWeights};

/// The uniformity that backends implement.
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
pub trait UniformityOps: PairOps {
    /// The uniformity of at least two rows `[n, d]`, `[1]`, and its gradient, `[n, d]`; `tile` rows at a time, or a
    /// number that suits the body.
    #[fusion(default)]
    fn uniformity(
        rows: FloatTensor<Self>,
        t: f64,
        tile: Option<usize>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        by_pairs::<Self>(about_mean::<Self>(rows), t, tile)
    }
}

/// Distances do not depend on the origin; centred rows lose fewer digits in the difference of squares.
pub(crate) fn about_mean<B: Backend>(rows: FloatTensor<B>) -> FloatTensor<B> {
    B::float_sub(rows.clone(), B::float_mean_dim(rows, 0))
}

/// The uniformity from log-sum-exps over pairs. With `h_i = |x_i|^2 / 2`, `-|x_i - x_j|^2 / 2` is the inner product
/// of `(x_i, -h_i, 1)` and `(x_j, 1, -h_j)`. The gradient needs the weight of each row in the total, which follows
/// from its sum.
pub(crate) fn by_pairs<B: PairOps>(
    rows: FloatTensor<B>,
    t: f64,
    tile: Option<usize>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let [n, width] = rows.shape().dims();
    let columns = |of: &FloatTensor<B>, from: usize, to: usize| {
        B::float_slice(of.clone(), &[Slice::from(0..n), Slice::from(from..to)])
    };
    let halves = B::float_sum_dim(B::float_mul(rows.clone(), rows.clone()), 1);
    let halves = B::float_mul_scalar(halves, (-0.5).into());
    let zeros = B::float_mul_scalar(halves.clone(), 0.0.into());
    let ones = B::float_add_scalar(zeros.clone(), 1.0.into());
    // Kernels read four numbers at once.
    let filling = vec![zeros; (width + 2).next_multiple_of(4) - width - 2];
    let joined = |pair: [&FloatTensor<B>; 2]| {
        let parts = std::iter::once(&rows).chain(pair).chain(&filling);
        B::float_cat(parts.cloned().collect(), 1)
    };
    let (anchors, candidates) = (joined([&halves, &ones]), joined([&ones, &halves]));
    let comparison = Comparison { tile, ..Comparison::new([LogSumExp::other_rows(n)], 2.0 * t) };

    let inputs = (anchors.clone(), candidates.clone());
    let (sums, saved) = B::pair_sums(inputs.0, inputs.1, PairWeights::Ones, comparison.clone());
    let largest = B::float_max_dim(sums.clone(), 0);
    let terms = B::float_exp(B::float_sub(sums.clone(), largest.clone()));
    let total = B::float_add(B::float_log(B::float_sum_dim(terms, 0)), largest);
    let shares = B::float_exp(B::float_sub(sums.clone(), total.clone()));
    let pairs = (n as f64 * (n - 1) as f64).ln();
    let value = B::float_reshape(B::float_sub_scalar(total, pairs.into()), Shape::new([1]));

    let (grad_anchors, grad_candidates) =
        B::pair_sums_backward(anchors, candidates, PairWeights::Ones, saved, sums, shares, comparison);
    let grad_halves = B::float_add(
        columns(&grad_anchors, width, width + 1),
        columns(&grad_candidates, width + 1, width + 2),
    );
    let grad_rows = B::float_add(columns(&grad_anchors, 0, width), columns(&grad_candidates, 0, width));
    (value, B::float_sub(grad_rows, B::float_mul(rows, grad_halves)))
}

/// The uniformity of at least two rows `[n, d]`, `[1]`:
///
/// ```text
/// log( 2/(n(n-1)) sum_{i<j} exp( -t |x_i - x_j|^2 ) )
/// ```
///
/// with `t` above 0: Wang and Isola, *Understanding Contrastive Representation Learning through Alignment and Uniformity on the
/// Hypersphere* (2020), `L_uniform`.
///
/// The gradient is computed with it. The CPU takes half of the pairs, `3 n^2 d` operations, and stores no matrix of
/// pairs; other backends compose it of [`log_sum_exps`](crate::log_sum_exps) of `d + 2` columns.
pub fn uniformity(rows: Tensor<2>, t: f64) -> Tensor<1> {
    uniformity_with_gradient(rows, t, None).0
}

/// [`uniformity`] and its gradient `[n, d]`, for programs that derive gradients by hand; `tile` rows at a time.
///
/// Cost: that of [`uniformity`], which includes the gradient: `3 n^2 d` operations on the CPU, `6 n^2 (d + 2)` on other
/// backends.
pub fn uniformity_with_gradient(rows: Tensor<2>, t: f64, tile: Option<usize>) -> (Tensor<1>, Tensor<2>) {
    let (value, gradient) = <Dispatch as UniformityOps>::uniformity(rows.into_dispatch(), t, tile);
    (Tensor::from_dispatch(value), Tensor::from_dispatch(gradient))
}
