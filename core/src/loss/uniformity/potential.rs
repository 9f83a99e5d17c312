//! The uniformity of a set of rows, one log-sum-exp over all pairs:
//!
//! ```text
//! U = log( 2/(n(n-1)) sum_{i<j} exp( -t |x_i - x_j|^2 ) )
//! ```
//!
//! Wang and Isola, *Understanding Contrastive Representation Learning through Alignment and Uniformity on the
//! Hypersphere* (2020), `L_uniform`; Decoupled Uniformity is the same on centroids. It is a separate operation,
//! [`simile_kernels::uniformity`], composed of the log-sum-exps of [`crate::loss::pairwise`] on backends without a
//! faster body.

use std::sync::Arc;

use burn::tensor::Tensor;
use simile_kernels::uniformity_with_gradient;

use crate::error::{Result, bounded};
use crate::loss::batch::Batch;
use crate::loss::objective::Variant;
use crate::loss::pairwise::{LogSumExp, PairwiseLoss};
use crate::peers::Peers;

/// The factor of the squared distances of Decoupled Uniformity as printed.
pub(super) const T_AS_PRINTED: f64 = 1.0;
/// That of its released code.
pub(super) const T_AS_RELEASED: f64 = 2.0;

/// The factor of a form of Decoupled Uniformity.
pub(super) fn default_t(variant: Variant) -> f64 {
    match variant {
        Variant::Paper => T_AS_PRINTED,
        Variant::Released => T_AS_RELEASED,
    }
}

/// The uniformity of rows `[n, d]` of a batch and its gradient. Fewer than two rows give 0 with gradient 0. Several processes
/// share the rows.
///
/// # Errors
/// `t` is not from 1e-12 to 1e12; a process cannot be reached.
pub(crate) fn uniformity(rows: Tensor<2>, t: f64, batch: &Batch) -> Result<(Tensor<1>, Tensor<2>)> {
    bounded("t", t)?;
    let [n, _] = rows.dims();
    if n < 2 {
        return Ok((rows.zeros_like().sum(), rows.zeros_like()));
    }
    match batch.peers().filter(|peers| peers.count() > 1) {
        Some(peers) => by_anchors(rows, t, (batch.tile(), peers)),
        None => Ok(uniformity_with_gradient(rows, t, batch.tile())),
    }
}

/// The same as log-sum-exps that processes share by anchors. With `h_i = |x_i|^2 / 2`, `-|x_i - x_j|^2 / 2` is the inner product
/// of `(x_i, -h_i, 1)` and `(x_j, 1, -h_j)`.
fn by_anchors(
    rows: Tensor<2>,
    t: f64,
    (tile, peers): (Option<usize>, Arc<dyn Peers>),
) -> Result<(Tensor<1>, Tensor<2>)> {
    let [n, width] = rows.dims();
    // Distances do not depend on the origin; centred rows lose fewer digits in the difference of squares.
    let rows = rows.clone() - rows.mean_dim(0);
    let halves = rows.clone().square().sum_dim(1) * -0.5;
    let ones = halves.ones_like();
    // Kernels read four numbers at once.
    let filling = vec![halves.zeros_like(); (width + 2).next_multiple_of(4) - width - 2];
    let joined = |pair: [&Tensor<2>; 2]| {
        let columns = std::iter::once(&rows).chain(pair).chain(&filling);
        Tensor::cat(columns.cloned().collect(), 1)
    };
    let (anchors, candidates) = (joined([&halves, &ones]), joined([&ones, &halves]));
    let pairs = (n as f64 * (n - 1) as f64).ln();
    let mut compared = PairwiseLoss::new(anchors, candidates, 0.5 / t, tile)?.with_peers(Some(peers));
    let others = compared.add_log_sum_exp(LogSumExp::other_rows(n));
    let result = compared.evaluate(|reductions| {
        let sums = reductions.log_sum_exp(others);
        let largest = sums.clone().detach().max();
        (sums - largest.clone()).exp().sum().log() + largest - pairs
    })?;
    let columns = |of: &Tensor<2>, from: usize, to: usize| of.clone().slice([0..n, from..to]);
    let grad_halves = columns(&result.grad_anchors, width, width + 1)
        + columns(&result.grad_candidates, width + 1, width + 2);
    let grad_rows = columns(&result.grad_anchors, 0, width) + columns(&result.grad_candidates, 0, width);
    Ok((result.per_anchor, grad_rows - rows * grad_halves))
}
