use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};

use crate::{Comparison, PairOps, PairWeights};

/// The weights are constants.
fn constant<B: Backend, C: CheckpointStrategy>(weights: PairWeights<Autodiff<B, C>>) -> PairWeights<B> {
    match weights {
        PairWeights::Ones => PairWeights::Ones,
        PairWeights::Groups(groups) => PairWeights::Groups(groups),
        PairWeights::Pairs(matrix) => PairWeights::Pairs(matrix.into_primitive()),
        PairWeights::Samples(matrix) => PairWeights::Samples(matrix.into_primitive()),
        PairWeights::Factors { left, right, samples } => {
            PairWeights::Factors { left: left.into_primitive(), right: right.into_primitive(), samples }
        }
    }
}

/// The data that a backward pass needs from the forward pass.
#[derive(Debug, Clone)]
struct Sums<B: Backend> {
    /// Anchors, and candidates if they are other rows.
    rows: [FloatTensor<B>; 2],
    weights: PairWeights<B>,
    context: FloatTensor<B>,
    values: FloatTensor<B>,
    comparison: Comparison,
}

impl<B: Backend + PairOps, C: CheckpointStrategy> PairOps for Autodiff<B, C> {
    fn pair_sums(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        #[derive(Debug)]
        struct Across;
        impl<B: Backend + PairOps> Backward<B, 2> for Across {
            type State = Sums<B>;

            fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
                let Sums { rows: [anchors, candidates], weights, context, values, mut comparison } =
                    ops.state;
                let [to_anchors, to_candidates] = ops.parents;
                let gradient = grads.consume::<B>(&ops.node);
                comparison.constant_candidates |= to_candidates.is_none();
                let are_constant = comparison.constant_candidates;
                let (grad_anchors, grad_candidates) = B::pair_sums_backward(
                    anchors, candidates, weights, context, values, gradient, comparison,
                );
                if let Some(node) = to_anchors {
                    grads.register::<B>(node.id, grad_anchors);
                }
                if let Some(node) = to_candidates.filter(|_| !are_constant) {
                    grads.register::<B>(node.id, grad_candidates);
                }
            }
        }

        let nodes = [anchors.node(), candidates.node()];
        let rows = [anchors.into_primitive(), candidates.into_primitive()];
        let (weights, [a, c]) = (constant(weights), rows.clone());
        let (values, context) = B::pair_sums(a, c, weights.clone(), comparison.clone());
        let constant = Self::from_inner(context.clone());
        let values = match Across.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let state = Sums { rows, weights, context, values: values.clone(), comparison };
                prepared.finish(state, values)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(values),
        };
        (values, constant)
    }

    fn pair_sums_backward(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        context: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (grad_anchors, grad_candidates) = B::pair_sums_backward(
            anchors.into_primitive(),
            candidates.into_primitive(),
            constant(weights),
            context.into_primitive(),
            sums.into_primitive(),
            gradient.into_primitive(),
            comparison,
        );
        (Self::from_inner(grad_anchors), Self::from_inner(grad_candidates))
    }

    fn own_pair_sums(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        #[derive(Debug)]
        struct Within;
        impl<B: Backend + PairOps> Backward<B, 1> for Within {
            type State = Sums<B>;

            fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
                let Sums { rows: [rows, _], weights, context, values, comparison } = ops.state;
                unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
                    B::own_pair_sums_backward(rows, weights, context, values, gradient, comparison)
                });
            }
        }

        let node = rows.node();
        let (rows, weights) = (rows.into_primitive(), constant(weights));
        let (values, context) = B::own_pair_sums(rows.clone(), weights.clone(), comparison.clone());
        let constant = Self::from_inner(context.clone());
        let values = match Within.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let rows = [rows.clone(), rows];
                let state = Sums { rows, weights, context, values: values.clone(), comparison };
                prepared.finish(state, values)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(values),
        };
        (values, constant)
    }

    fn own_pair_sums_backward(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        context: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> FloatTensor<Self> {
        Self::from_inner(B::own_pair_sums_backward(
            rows.into_primitive(),
            constant(weights),
            context.into_primitive(),
            sums.into_primitive(),
            gradient.into_primitive(),
            comparison,
        ))
    }
}
