//! The uniformity of a set of rows, one log-sum-exp over all pairs:
//!
//! ```text
//! U = log 2/(n(n-1)) sum_{i<j} exp( -t |x_i - x_j|^2 )
//! ```
//!
//! Wang and Isola, *Understanding Contrastive Representation Learning through Alignment and Uniformity on the
//! Hypersphere* (2020), `L_uniform`; Decoupled Uniformity is the same on centroids. With `h_i = |x_i|^2 / 2`,
//! `-|x_i - x_j|^2 / 2` is the inner product of `(x_i, -h_i, 1)` and `(x_j, 1, -h_j)`, so that the one
//! equation evaluates it in tiles. Its anchors are not independent here: a first pass forms the log-sum-exp
//! of each row, from which the second knows the weight of each row in the whole. On the host one pass is enough, see
//! [`host`].

mod host;

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use crate::contrast::{Contrast, LogSumExp, itself};
use crate::error::{Result, bounded};

/// The uniformity of rows `[n, d]` and its gradient. Fewer than two rows have no pair: 0 with gradient 0.
///
/// # Errors
/// `t` is not above 0.
pub(crate) fn uniformity(rows: Tensor<2>, t: f64, tile: Option<usize>) -> Result<(Tensor<1>, Tensor<2>)> {
    let temperature = 1.0 / (2.0 * bounded("t", t)?);
    let [n, width] = rows.dims();
    if n < 2 {
        return Ok((rows.zeros_like().sum(), rows.zeros_like()));
    }
    // Distances do not depend on the origin; rows about their mean lose fewer digits in the difference of squares.
    let rows = rows.clone() - rows.mean_dim(0);
    if tile.is_none()
        && let Some(found) = host::uniformity(&rows, t)
    {
        return Ok(found);
    }
    let half_squares = rows.clone().square().sum_dim(1) / -2.0;
    let ones = half_squares.ones_like();
    let anchors = Tensor::cat(vec![rows.clone(), half_squares.clone(), ones.clone()], 1);
    let candidates = Tensor::cat(vec![rows.clone(), ones, half_squares], 1);
    let compare = || -> Result<Contrast> {
        let others = LogSumExp::over_all().except(itself(n));
        Ok(Contrast::new(anchors.clone(), candidates.clone(), temperature, tile)?.log_sum_exp(others))
    };

    let by_row = compare()?.evaluate(|rows| rows.sums[0].clone().without_autodiff()).per_anchor;
    let share = softmax(by_row.clone(), 0);
    let largest = by_row.clone().max();
    let pairs = (n as f64 * (n - 1) as f64).ln();
    let value = (by_row - largest.clone()).exp().sum().log() + largest - pairs;

    let weighted = compare()?
        .evaluate(|rows| rows.sums[0].clone() * crate::contrast::rows_of(&share, rows.range.clone()));
    let (of_anchors, of_candidates) = (weighted.anchors, weighted.candidates);
    let of_half_squares = of_anchors.clone().slice([0..n, width..width + 1])
        + of_candidates.clone().slice([0..n, width + 1..width + 2]);
    let of_rows = of_anchors.slice([0..n, 0..width]) + of_candidates.slice([0..n, 0..width]);
    Ok((value, of_rows - rows * of_half_squares))
}
