use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};

use super::record::record;
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

impl<B: Backend + PairOps, C: CheckpointStrategy> PairOps for Autodiff<B, C> {
    fn pair_sums(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = [anchors.node(), candidates.node()];
        let (anchors, candidates) = (anchors.into_primitive(), candidates.into_primitive());
        let weights = constant(weights);
        let (values, saved) =
            B::pair_sums(anchors.clone(), candidates.clone(), weights.clone(), comparison.clone());
        let constant = Self::from_inner(saved.clone());
        let sums = values.clone();
        let values = record::<B, C, 2>(nodes, values, move |gradient, [_, is_wanted]| {
            let mut comparison = comparison;
            comparison.constant_candidates |= !is_wanted;
            let are_constant = comparison.constant_candidates;
            let (grad_anchors, grad_candidates) =
                B::pair_sums_backward(anchors, candidates, weights, saved, sums, gradient, comparison);
            [Some(grad_anchors), (!are_constant).then_some(grad_candidates)]
        });
        (values, constant)
    }

    fn pair_sums_backward(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        saved: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (grad_anchors, grad_candidates) = B::pair_sums_backward(
            anchors.into_primitive(),
            candidates.into_primitive(),
            constant(weights),
            saved.into_primitive(),
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
        let node = rows.node();
        let (rows, weights) = (rows.into_primitive(), constant(weights));
        let (values, saved) = B::own_pair_sums(rows.clone(), weights.clone(), comparison.clone());
        let constant = Self::from_inner(saved.clone());
        let sums = values.clone();
        let values = record::<B, C, 1>([node], values, |gradient, _| {
            [Some(B::own_pair_sums_backward(rows, weights, saved, sums, gradient, comparison))]
        });
        (values, constant)
    }

    fn own_pair_sums_backward(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        saved: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> FloatTensor<Self> {
        Self::from_inner(B::own_pair_sums_backward(
            rows.into_primitive(),
            constant(weights),
            saved.into_primitive(),
            sums.into_primitive(),
            gradient.into_primitive(),
            comparison,
        ))
    }
}
