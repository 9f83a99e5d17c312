use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::ops::NodeGuard;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};

use super::record::record;
use crate::RowOps;

/// Records a number of each row, whose gradient is the row of `rows` times `factor`.
fn record_numbers<B: Backend, C: CheckpointStrategy>(
    node: NodeGuard,
    numbers: FloatTensor<B>,
    rows: FloatTensor<B>,
    factor: f64,
) -> FloatTensor<Autodiff<B, C>> {
    record::<B, C, 1>([node], numbers, move |gradient, _| {
        [Some(B::float_mul(rows, B::float_mul_scalar(gradient, factor.into())))]
    })
}

impl<B: Backend + RowOps, C: CheckpointStrategy> RowOps for Autodiff<B, C> {
    fn unit_rows(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = (x.node(), x.node());
        let (unit, scale) = B::unit_rows(x.into_primitive());
        let state = (unit.clone(), scale.clone());
        let rows = record::<B, C, 1>([nodes.0], unit.clone(), |gradient, _| {
            let (unit, scale) = state;
            [Some(B::unit_rows_backward(unit, scale, gradient))]
        });
        // The reciprocals of the lengths: `d (1 / |x|) / dx = -u / |x|^2`.
        let reciprocals = record::<B, C, 1>([nodes.1], scale.clone(), |gradient, _| {
            let grad_lengths = B::float_mul(gradient, B::float_mul(scale.clone(), scale));
            [Some(B::float_neg(B::float_mul(unit, grad_lengths)))]
        });
        (rows, reciprocals)
    }

    fn row_softmax(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = (x.node(), x.node());
        let (shares, log_sum) = B::row_softmax(x.into_primitive());
        let saved_shares = shares.clone();
        let softmax = record::<B, C, 1>([nodes.0], shares.clone(), |gradient, _| {
            [Some(B::row_softmax_backward(saved_shares, gradient))]
        });
        (softmax, record_numbers::<B, C>(nodes.1, log_sum, shares, 1.0))
    }

    fn soft_cross_entropy(
        scores: FloatTensor<Self>,
        targets: FloatTensor<Self>,
        temperature: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let node = scores.node();
        let (losses, grad_logits) =
            B::soft_cross_entropy(scores.into_primitive(), targets.into_primitive(), temperature);
        let losses = record_numbers::<B, C>(node, losses, grad_logits.clone(), temperature.recip());
        (losses, Self::from_inner(grad_logits))
    }
}
