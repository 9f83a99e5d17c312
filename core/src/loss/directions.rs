//! Losses of anchors of one view among rows of the other, in one direction or in both.

use super::objective::{Aux, Evaluation};
use super::views::{Direction, TwoViews};
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::pairwise::PairwiseResult;

/// The directions that a loss has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Directions {
    /// View a to view b.
    One,
    /// Both, averaged.
    Both,
}

impl Directions {
    /// Those of the parameter `symmetric`.
    pub(crate) fn of(symmetric: bool) -> Self {
        if symmetric { Self::Both } else { Self::One }
    }
}

/// The mean over `b` anchors of one direction, or the average of both; `evaluate` computes the anchors' losses. With details,
/// `loss_reverse` is the direction b to a and `loss_symmetric` the average.
pub(crate) fn directed(
    views: &TwoViews,
    batch: &Batch,
    directions: Directions,
    evaluate: impl Fn(Direction) -> Result<PairwiseResult>,
) -> Result<Evaluation> {
    let mean = 1.0 / views.size as f64;
    let forward = evaluate(Direction::AToB)?;
    let loss = forward.per_anchor.clone().sum() * mean;
    if directions == Directions::One && !batch.is_detailed() {
        return Ok(views.with_gradients(loss, forward.grad_anchors * mean, forward.grad_candidates * mean));
    }
    let reverse = evaluate(Direction::BToA)?;
    let loss_reverse = reverse.per_anchor.sum() * mean;
    let loss_symmetric = (loss.clone() + loss_reverse.clone()) / 2.0;
    let evaluation = match directions {
        Directions::Both => {
            let half = mean / 2.0;
            let grad_a = (forward.grad_anchors + reverse.grad_candidates) * half;
            let grad_b = (forward.grad_candidates + reverse.grad_anchors) * half;
            views.with_gradients(loss_symmetric.clone(), grad_a, grad_b)
        }
        Directions::One => {
            views.with_gradients(loss, forward.grad_anchors * mean, forward.grad_candidates * mean)
        }
    };
    Ok(evaluation
        .with_aux("per_anchor", Aux::Vector(forward.per_anchor))
        .with_aux("loss_reverse", Aux::Scalar(loss_reverse))
        .with_aux("loss_symmetric", Aux::Scalar(loss_symmetric)))
}
