use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};

use crate::RowOps;

/// Unit rows, the first of two results.
#[derive(Debug)]
struct UnitRows;

impl<B: Backend + RowOps> Backward<B, 1> for UnitRows {
    /// The unit rows and the reciprocals of the lengths.
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (unit, scale) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |g| B::unit_rows_backward(unit, scale, g));
    }
}

/// The reciprocals of the lengths of rows, `d (1 / |x|) / dx = -u / |x|^2`.
#[derive(Debug)]
struct Reciprocals;

impl<B: Backend> Backward<B, 1> for Reciprocals {
    /// As above.
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (unit, scale) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |g| {
            let of_row = B::float_mul(g, B::float_mul(scale.clone(), scale));
            B::float_neg(B::float_mul(unit, of_row))
        });
    }
}

#[derive(Debug)]
struct Softmax;

impl<B: Backend + RowOps> Backward<B, 1> for Softmax {
    /// The softmax.
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        unary::<B, _>(ops.parents, ops.node, grads, |g| B::row_softmax_backward(ops.state, g));
    }
}

/// A number of each row whose gradient is a row times a factor.
#[derive(Debug)]
struct OfRow;

impl<B: Backend> Backward<B, 1> for OfRow {
    /// The gradients of the numbers, and their factor.
    type State = (FloatTensor<B>, f64);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (rows, factor) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |g| {
            B::float_mul(rows, B::float_mul_scalar(g, factor.into()))
        });
    }
}

impl<B: Backend + RowOps, C: CheckpointStrategy> RowOps for Autodiff<B, C> {
    fn unit_rows(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = (x.node(), x.node());
        let (unit, scale) = B::unit_rows(x.into_primitive());
        let state = || (unit.clone(), scale.clone());
        let rows = match UnitRows.prepare::<C>([nodes.0]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state(), unit.clone()),
            OpsKind::UnTracked(prepared) => prepared.finish(unit.clone()),
        };
        let reciprocals = match Reciprocals.prepare::<C>([nodes.1]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state(), scale.clone()),
            OpsKind::UnTracked(prepared) => prepared.finish(scale.clone()),
        };
        (rows, reciprocals)
    }

    fn row_softmax(x: FloatTensor<Self>) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = (x.node(), x.node());
        let (shares, log_sum) = B::row_softmax(x.into_primitive());
        let softmax = match Softmax.prepare::<C>([nodes.0]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(shares.clone(), shares.clone()),
            OpsKind::UnTracked(prepared) => prepared.finish(shares.clone()),
        };
        let log_sum = match OfRow.prepare::<C>([nodes.1]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((shares, 1.0), log_sum),
            OpsKind::UnTracked(prepared) => prepared.finish(log_sum),
        };
        (softmax, log_sum)
    }

    fn soft_cross_entropy(
        scores: FloatTensor<Self>,
        targets: FloatTensor<Self>,
        temperature: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let node = scores.node();
        let (losses, grad_logits) =
            B::soft_cross_entropy(scores.into_primitive(), targets.into_primitive(), temperature);
        let losses = match OfRow.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((grad_logits.clone(), temperature.recip()), losses),
            OpsKind::UnTracked(prepared) => prepared.finish(losses),
        };
        (losses, Self::from_inner(grad_logits))
    }
}
