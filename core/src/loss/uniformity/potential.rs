//! The uniformity of a set of rows, one log-sum-exp over all pairs:
//!
//! ```text
//! U = log 2/(n(n-1)) sum_{i<j} exp( -t |x_i - x_j|^2 )
//! ```
//!
//! Wang and Isola, *Understanding Contrastive Representation Learning through Alignment and Uniformity on the
//! Hypersphere* (2020), `L_uniform`; Decoupled Uniformity is the same on centroids. It is a separate operation,
//! [`simile_kernels::uniformity`], composed of the log-sum-exps of [`crate::loss::pairwise`] on backends without a
//! faster body.

use burn::tensor::Tensor;
use simile_kernels::uniformity_with_gradient;

use crate::error::{Result, bounded};

/// The uniformity of rows `[n, d]` and its gradient. Fewer than two rows give 0 with gradient 0.
///
/// # Errors
/// `t` is not above 0.
pub(crate) fn uniformity(rows: Tensor<2>, t: f64, tile: Option<usize>) -> Result<(Tensor<1>, Tensor<2>)> {
    bounded("t", t)?;
    let [n, _] = rows.dims();
    if n < 2 {
        return Ok((rows.zeros_like().sum(), rows.zeros_like()));
    }
    Ok(uniformity_with_gradient(rows, t, tile))
}
