//! InfoNCE against a bank of negatives.

use burn::tensor::Tensor;

use crate::error::{Error, Result};
use crate::loss::pairwise::{LogSumExp, PairwiseLoss, Positives, log_add};

/// The losses of the anchors, and the gradients of their sum.
pub(super) struct AgainstBank {
    /// Loss of each anchor.
    pub(super) per_anchor: Tensor<1>,
    /// Gradient with respect to the anchors, `[b, d]`.
    pub(super) grad_anchors: Tensor<2>,
    /// Gradient with respect to the similarities of the anchors to their positives, `[b]`.
    pub(super) grad_own: Tensor<1>,
}

/// InfoNCE of each anchor with one positive row and a named bank of negatives; neither gets a gradient.
pub(super) fn against_bank(
    anchors: Tensor<2>,
    positives: Tensor<2>,
    (name, bank): (&str, Tensor<2>),
    temperature: f64,
    tile: Option<usize>,
) -> Result<AgainstBank> {
    let ([_, width], [size, columns]) = (anchors.dims(), bank.dims());
    if size == 0 || columns != width {
        return Err(Error::shape(name, format!("at least one row of {width}"), format!("{size}x{columns}")));
    }
    let mut pairs = PairwiseLoss::new(anchors, bank, temperature, tile)?.with_constant_candidates();
    let own = pairs.add_mean(Positives::Rows(positives));
    let negatives = pairs.add_log_sum_exp(LogSumExp::all());
    let result = pairs.evaluate(|reductions| {
        let own = reductions.mean(own);
        log_add(own.clone(), reductions.log_sum_exp(negatives)) - own
    })?;
    let grad_own = result.grad_mean(own);
    Ok(AgainstBank { per_anchor: result.per_anchor, grad_anchors: result.grad_anchors, grad_own })
}
