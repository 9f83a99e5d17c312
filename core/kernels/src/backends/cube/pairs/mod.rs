mod launches;

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use self::launches::Launches;
use crate::ops::pairs::plain;
use crate::{Comparison, PairOps, PairWeights};

impl PairOps for CubeBackend {
    fn pair_sums(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match Launches::of([&anchors, &candidates], &weights, &comparison) {
            Some(launches) => launches.sums(),
            None => plain::sums::<Self>(&anchors, &candidates, &weights, &comparison),
        }
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
        match Launches::of([&anchors, &candidates], &weights, &comparison) {
            Some(launches) => {
                let (grad_anchors, grad_candidates) = launches.gradients(context, sums, gradient, false);
                (grad_anchors, grad_candidates.unwrap_or_else(|| launches.empty([1, 1])))
            }
            None => {
                let known = plain::GradientInputs { similarities: context, sums, gradient };
                plain::gradients::<Self>(&anchors, &candidates, &weights, &known, &comparison)
            }
        }
    }

    fn own_pair_sums(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        Self::pair_sums(rows.clone(), rows, weights, comparison)
    }

    fn own_pair_sums_backward(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        context: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> FloatTensor<Self> {
        match Launches::of([&rows, &rows], &weights, &comparison) {
            Some(launches) => launches.gradients(context, sums, gradient, true).0,
            None => {
                let known = plain::GradientInputs { similarities: context, sums, gradient };
                plain::own_gradient::<Self>(&rows, &weights, &known, &comparison)
            }
        }
    }
}
