use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;
use burn_flex::FlexTensor;

use super::memory::{contiguous, floats, is_f32, tensor};
use crate::cpu::pairs::Weights;
use crate::cpu::pairs::half::Half;
use crate::cpu::pairs::whole::Whole;
use crate::ops::pairs::plain;
use crate::{Comparison, PairOps, PairWeights};

impl PairOps for Flex {
    fn pair_sums(
        anchors: FloatTensor<Self>,
        candidates: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        match PairArguments::of([&anchors, &candidates], &weights) {
            Some(held) => held.sums(&comparison),
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
        let Some(held) = PairArguments::of([&anchors, &candidates], &weights) else {
            let known = plain::GradientInputs { similarities: context, sums, gradient };
            return plain::gradients::<Self>(&anchors, &candidates, &weights, &known, &comparison);
        };
        let [grad_anchors, grad_candidates] = held.gradients(sums, gradient, &comparison);
        let grad_candidates = match comparison.constant_candidates {
            true => nothing(),
            false => tensor(grad_candidates, held.shape(1)),
        };
        (tensor(grad_anchors, held.shape(0)), grad_candidates)
    }

    fn own_pair_sums(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        comparison: Comparison,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let Some(held) = PairArguments::of([&rows, &rows], &weights) else {
            return plain::sums::<Self>(&rows, &rows, &weights, &comparison);
        };
        let weights = held.weights();
        let Some(half) = held.half(&weights, &comparison) else { return held.sums(&comparison) };
        let (values, sums) = half.sums();
        let shape = [held.shape(0)[0], comparison.terms.len()];
        (tensor(values, shape), tensor(sums, shape))
    }

    fn own_pair_sums_backward(
        rows: FloatTensor<Self>,
        weights: PairWeights<Self>,
        context: FloatTensor<Self>,
        sums: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
    ) -> FloatTensor<Self> {
        let Some(held) = PairArguments::of([&rows, &rows], &weights) else {
            let known = plain::GradientInputs { similarities: context, sums, gradient };
            return plain::own_gradient::<Self>(&rows, &weights, &known, &comparison);
        };
        let weights = held.weights();
        if let Some(half) = held.half(&weights, &comparison) {
            let (divisors, gradient) = (contiguous(context), contiguous(gradient));
            return tensor(half.gradient(floats(&divisors), floats(&gradient)), held.shape(0));
        }
        let comparison = Comparison { constant_candidates: false, ..comparison };
        let [mut grad_anchors, grad_candidates] = held.gradients(sums, gradient, &comparison);
        grad_anchors.iter_mut().zip(grad_candidates).for_each(|(sum, other)| *sum += other);
        tensor(grad_anchors, held.shape(0))
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
        let lying = |of: &FlexTensor| is_f32(of).then(|| contiguous(of.clone()));
        let weights = match weights {
            PairWeights::Ones => WeightArguments::Ones,
            PairWeights::Groups(groups) => {
                WeightArguments::Groups(groups.clone().into_data().iter::<i64>().collect())
            }
            PairWeights::Pairs(matrix) => WeightArguments::Pairs(lying(matrix)?),
            PairWeights::Samples(matrix) => WeightArguments::Samples(lying(matrix)?),
            PairWeights::Factors { left, right, samples } => {
                WeightArguments::Factors { left: lying(left)?, right: lying(right)?, samples: *samples }
            }
        };
        let held = Self { rows: [lying(anchors)?, lying(candidates)?], weights };
        (held.shape(0)[1] > 0).then_some(held)
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

    fn half<'h>(&'h self, weights: &'h Weights<'h>, comparison: &'h Comparison) -> Option<Half<'h>> {
        Half::of(floats(&self.rows[0]), self.shape(0)[1], weights, comparison)
    }

    fn whole<'h>(&'h self, comparison: &'h Comparison) -> Whole<'h> {
        let [anchors, candidates] = self.rows.each_ref().map(floats);
        Whole { anchors, candidates, width: self.shape(0)[1], weights: self.weights(), comparison }
    }

    /// The sums, and nothing for the backward pass, which forms the similarities again.
    fn sums(&self, comparison: &Comparison) -> (FlexTensor, FlexTensor) {
        let sums = self.whole(comparison).sums();
        (tensor(sums, [self.shape(0)[0], comparison.terms.len()]), nothing())
    }

    fn gradients(&self, sums: FlexTensor, gradient: FlexTensor, comparison: &Comparison) -> [Vec<f32>; 2] {
        let (sums, gradient) = (contiguous(sums), contiguous(gradient));
        self.whole(comparison).gradients(floats(&sums), floats(&gradient))
    }
}

fn nothing() -> FlexTensor {
    tensor(vec![0.0], [1, 1])
}
