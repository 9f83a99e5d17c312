mod kernels;

use burn::backend::tensor::FloatTensor;
use burn_cubecl::CubeBackend;

use self::kernels::PairKernels;
use crate::ops::pairs::plain::{
    GradientInputs, plain_own_pair_sums_backward, plain_pair_sums, plain_pair_sums_backward,
};
use crate::{Comparison, PairOps, PairWeights};

impl PairOps for CubeBackend {
    fn pair_sums(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match PairKernels::of([&anchors, &candidates], &weights, &comparison) {
            Some(kernels) => kernels.sums(),
            None => plain_pair_sums::<Self>(&anchors, &candidates, &weights, &comparison),
        }
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
        match PairKernels::of([&anchors, &candidates], &weights, &comparison) {
            Some(kernels) => {
                let (grad_anchors, grad_candidates) = kernels.gradients(saved, sums, gradient, false);
                (grad_anchors, grad_candidates.unwrap_or_else(|| kernels.empty([1, 1])))
            }
            None => {
                let inputs = GradientInputs { similarities: saved, sums, gradient };
                plain_pair_sums_backward::<Self>(&anchors, &candidates, &weights, &inputs, &comparison)
            }
        }
    }

    fn own_pair_sums_backward(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        saved: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> FloatTensor<Self> {
        match PairKernels::of([&rows, &rows], &weights, &comparison) {
            Some(kernels) => kernels.gradients(saved, sums, gradient, true).0,
            None => {
                let inputs = GradientInputs { similarities: saved, sums, gradient };
                plain_own_pair_sums_backward::<Self>(&rows, &weights, &inputs, &comparison)
            }
        }
    }
}
