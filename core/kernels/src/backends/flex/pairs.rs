use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn_flex::FlexTensor;

use super::memory::{contiguous, floats, is_f32, tensor};
use crate::cpu::pairs::Weights;
use crate::cpu::pairs::symmetric::SymmetricPairs;
use crate::cpu::pairs::tiled::TiledPairs;
use crate::ops::pairs::plain::{
    GradientInputs, plain_own_pair_sums_backward, plain_pair_sums, plain_pair_sums_backward,
};
use crate::{Comparison, PairOps, PairWeights};

impl PairOps for Flex {
    fn pair_sums(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match PairArguments::of([&anchors, &candidates], &weights) {
            Some(arguments) => arguments.sums(&comparison),
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
        let Some(arguments) = PairArguments::of([&anchors, &candidates], &weights) else {
            let inputs = GradientInputs { similarities: saved, sums, gradient };
            return plain_pair_sums_backward::<Self>(&anchors, &candidates, &weights, &inputs, &comparison);
        };
        let [grad_anchors, grad_candidates] = arguments.gradients(sums, gradient, &comparison);
        let grad_candidates = match comparison.constant_candidates {
            true => nothing(),
            false => tensor(grad_candidates, arguments.shape(1)),
        };
        (tensor(grad_anchors, arguments.shape(0)), grad_candidates)
    }

    fn own_pair_sums(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let Some(arguments) = PairArguments::of([&rows, &rows], &weights) else {
            return plain_pair_sums::<Self>(&rows, &rows, &weights, &comparison);
        };
        let weights = arguments.weights();
        let Some(symmetric) = arguments.symmetric(&weights, &comparison) else {
            return arguments.sums(&comparison);
        };
        let (values, sums) = symmetric.sums();
        let shape = [arguments.shape(0)[0], comparison.terms.len()];
        (tensor(values, shape), tensor(sums, shape))
    }

    fn own_pair_sums_backward(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        saved: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> FloatTensor<Self> {
        let Some(arguments) = PairArguments::of([&rows, &rows], &weights) else {
            let inputs = GradientInputs { similarities: saved, sums, gradient };
            return plain_own_pair_sums_backward::<Self>(&rows, &weights, &inputs, &comparison);
        };
        let weights = arguments.weights();
        if let Some(symmetric) = arguments.symmetric(&weights, &comparison) {
            let (divisors, gradient) = (contiguous(saved), contiguous(gradient));
            return tensor(symmetric.gradient(floats(&divisors), floats(&gradient)), arguments.shape(0));
        }
        let comparison = Comparison { constant_candidates: false, ..comparison };
        let [mut grad_anchors, grad_candidates] = arguments.gradients(sums, gradient, &comparison);
        grad_anchors.iter_mut().zip(grad_candidates).for_each(|(sum, other)| *sum += other);
        tensor(grad_anchors, arguments.shape(0))
    }
}

/// Anchors, candidates and weights as arguments of the loops.
struct PairArguments {
    rows: [FlexTensor; 2],
    weights: WeightArguments,
}

enum WeightArguments {
    Ones,
    Groups(Vec<i64>),
    Pairs(FlexTensor),
    Samples(FlexTensor),
    Factors { left: FlexTensor, right: FlexTensor, samples: usize },
}

impl PairArguments {
    /// `None` if the loops do not support them.
    fn of([anchors, candidates]: [&FlexTensor; 2], weights: &PairWeights<Flex>) -> Option<Self> {
        let contiguous_f32 = |of: &FlexTensor| is_f32(of).then(|| contiguous(of.clone()));
        let weights = match weights {
            PairWeights::Ones => WeightArguments::Ones,
            PairWeights::Groups(groups) => {
                WeightArguments::Groups(groups.clone().into_data().iter::<i64>().collect())
            }
            PairWeights::Pairs(matrix) => WeightArguments::Pairs(contiguous_f32(matrix)?),
            PairWeights::Samples(matrix) => WeightArguments::Samples(contiguous_f32(matrix)?),
            PairWeights::Factors { left, right, samples } => WeightArguments::Factors {
                left: contiguous_f32(left)?,
                right: contiguous_f32(right)?,
                samples: *samples,
            },
        };
        let arguments = Self { rows: [contiguous_f32(anchors)?, contiguous_f32(candidates)?], weights };
        (arguments.shape(0)[1] > 0).then_some(arguments)
    }

    fn shape(&self, of: usize) -> [usize; 2] {
        self.rows[of].layout().shape().dims()
    }

    fn weights(&self) -> Weights<'_> {
        match &self.weights {
            WeightArguments::Ones => Weights::Ones,
            WeightArguments::Groups(groups) => Weights::Groups(groups),
            WeightArguments::Pairs(entries) => Weights::Pairs(floats(entries)),
            WeightArguments::Samples(entries) => {
                let [_, samples] = entries.layout().shape().dims();
                Weights::Samples { entries: floats(entries), samples }
            }
            WeightArguments::Factors { left, right, samples } => {
                let [_, width] = left.layout().shape().dims();
                Weights::Factors { left: floats(left), right: floats(right), width, samples: *samples }
            }
        }
    }

    fn symmetric<'h>(
        &'h self,
        weights: &'h Weights<'h>,
        comparison: &'h Comparison,
    ) -> Option<SymmetricPairs<'h>> {
        SymmetricPairs::of(floats(&self.rows[0]), self.shape(0)[1], weights, comparison)
    }

    fn tiled<'h>(&'h self, comparison: &'h Comparison) -> TiledPairs<'h> {
        let [anchors, candidates] = self.rows.each_ref().map(floats);
        TiledPairs { anchors, candidates, width: self.shape(0)[1], weights: self.weights(), comparison }
    }

    /// The sums, and nothing for the backward pass, which forms the similarities again.
    fn sums(&self, comparison: &Comparison) -> (FlexTensor, FlexTensor) {
        let sums = self.tiled(comparison).sums();
        (tensor(sums, [self.shape(0)[0], comparison.terms.len()]), nothing())
    }

    fn gradients(&self, sums: FlexTensor, gradient: FlexTensor, comparison: &Comparison) -> [Vec<f32>; 2] {
        let (sums, gradient) = (contiguous(sums), contiguous(gradient));
        self.tiled(comparison).gradients(floats(&sums), floats(&gradient))
    }
}

fn nothing() -> FlexTensor {
    tensor(vec![0.0], [1, 1])
}
