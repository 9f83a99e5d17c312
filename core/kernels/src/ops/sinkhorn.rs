//! Assignments with given sums of rows and columns.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, backend_extension};
use burn::tensor::Tensor;

/// Sinkhorn's algorithm that backends implement.
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
pub trait SinkhornOps: Backend {
    /// [`sinkhorn`] of scores `[n, m]`.
    #[fusion(default)]
    fn sinkhorn(scores: FloatTensor<Self>, epsilon: f64, iterations: usize) -> FloatTensor<Self> {
        plain_sinkhorn::<Self>(scores, epsilon, iterations)
    }
}

/// [`SinkhornOps::sinkhorn`] in Burn's operations. The first iteration runs on logarithms, so no `epsilon` overflows.
pub(crate) fn plain_sinkhorn<B: Backend>(
    scores: FloatTensor<B>,
    epsilon: f64,
    iterations: usize,
) -> FloatTensor<B> {
    let logits = B::float_div_scalar(scores, epsilon.into());
    let largest = B::float_max_dim(logits.clone(), 0);
    let terms = B::float_exp(B::float_sub(logits.clone(), largest.clone()));
    let sums = B::float_add(B::float_log(B::float_sum_dim(terms, 0)), largest);
    let mut assignments = B::softmax(B::float_sub(logits, sums), 1);
    // From here on no sum of a row or column exceeds the number of samples or prototypes, nor is below its
    // reciprocal.
    for _ in 1..iterations {
        for dim in [0, 1] {
            let sums = B::float_sum_dim(assignments.clone(), dim);
            assignments = B::float_div(assignments, sums);
        }
    }
    assignments
}

/// The assignment of `n` samples to `m` prototypes by Sinkhorn's algorithm from scores, `[n, m]`: the columns and
/// rows of `exp(scores / epsilon)`, `epsilon` above 0, are alternately divided by their sums, the rows last. Rows sum to
/// 1, and columns to `n / m` in the limit of many `iterations`, of which 0 count as 1. No gradient flows through it.
///
/// Cuturi, *Sinkhorn Distances: Lightspeed Computation of Optimal Transport* (2013), as Caron et al., *Unsupervised Learning of
/// Visual Features by Contrasting Cluster Assignments* (2020), SwAV, use it.
///
/// Cost: about `20 n m` operations and `4 n m` more an iteration. The CPU's body reads the exponentials twice an
/// iteration, `8 n m` bytes, and only computes the factors of rows and columns; plain operations move `24 n m`. If
/// scores over `epsilon` are more than 60 apart, the CPU uses the plain body, whose first iteration runs on
/// logarithms.
pub fn sinkhorn(scores: Tensor<2>, epsilon: f64, iterations: usize) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as SinkhornOps>::sinkhorn(scores.into_dispatch(), epsilon, iterations))
}
