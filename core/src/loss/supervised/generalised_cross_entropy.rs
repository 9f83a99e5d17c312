//! Generalised cross-entropy: it gives more weight to samples that are already easy for the network, which
//! amplifies a bias.
//!
//! ```text
//! paper     L = 1/n sum_i (1 - p_iy^q)/q
//! released  L = 1/n sum_i q p_iy^q CE(z_i, y_i)
//! ```
//!
//! with `q p_iy^q` a constant as released, and `p_iy` the softmax probability of the label `y` under the scores `logits` `z`, `[n,
//! classes]`. Zhang and Sabuncu, *Generalized Cross Entropy Loss* (2018), eq. 6; Nam et al., *Learning from Failure* (2020), train
//! their biased network with it, `q` = 0.7.
//!
//! The gradient of the paper's loss is `p^q` times that of cross-entropy, the released one's `q p^q` times: the same
//! direction, another value and `q` times the step. The default is `paper`, whose value is the loss that is descended.
//! For `q -> 0` it becomes cross-entropy, for `q = 1` the mean absolute error.
//!
//! Use it for a network that is meant to learn the shortcut. It is defined on every batch of at least one sample;
//! a sample of vanishing probability has loss `1 / q` as printed and 0 as released, with gradient 0 in both.

use burn::tensor::{Int, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::logits::{cross_entropy, grad_inputs, targets};
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::spec::{CLASSES, Described, Family, Form, Head, LOGITS, Parameter, Range, Spec};

/// Generalised cross-entropy; see the [module](self). Inputs: `logits`, `[n, classes]`; `labels`, `[n]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeneralisedCrossEntropy {
    /// Amplification, above 0 and at most 1.
    pub q: f64,
    /// The textbook loss, or the released weighted cross-entropy.
    pub variant: Variant,
}

impl Default for GeneralisedCrossEntropy {
    fn default() -> Self {
        Self { q: 0.7, variant: Variant::Paper }
    }
}

impl GeneralisedCrossEntropy {
    /// The loss of each sample, `[n]`.
    pub(crate) fn per_sample(&self, logits: Tensor<2>, targets: &Tensor<2, Int>) -> Tensor<1> {
        let losses = cross_entropy(logits, targets);
        let trust = (losses.clone() * -self.q).exp();
        match self.variant {
            Variant::Paper => (trust.neg() + 1.0) * self.q.recip(),
            Variant::Released => trust.detach() * self.q * losses,
        }
    }
}

impl Described for GeneralisedCrossEntropy {
    const SPEC: Spec = Spec {
        name: "gce",
        title: "Generalised cross-entropy",
        family: Family::ClassScores,
        summary: "labels; easy samples count more",
        work: "Zhang and Sabuncu, Generalized Cross Entropy Loss, 2018, eq. 6",
        formula: "paper     L = 1/n sum_i (1 - p_iy^q)/q\n\
            released  L = 1/n sum_i q p_iy^q CE(z_i, y_i)",
        symbols: "p_iy the probability of the class; as released, q p_iy^q is a constant",
        inputs: &[LOGITS, CLASSES.shape("[n]")],
        head: Head::ClassScores,
        algorithms: &["single", "cached"],
        variants: &[
            Form::new("paper", "the textbook loss"),
            Form::new("released", "the weighted cross-entropy").detached(),
        ],
        parameters: &[Parameter::number("q", Range::Share, 0.7, "amplification")],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for GeneralisedCrossEntropy {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "logits")?;
        let targets = targets(batch, self.name(), ["logits", "labels"], &logits)?;
        let evaluation =
            grad_inputs([("logits", logits.clone())], |[logits]| self.per_sample(logits, &targets).mean());
        evaluation.with_details(batch, |evaluation| {
            Ok(evaluation.with_aux("per_sample", Aux::Vector(self.per_sample(logits, &targets))))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{random, read, value};
    use crate::loss::supervised::cross_entropy::CrossEntropy;

    fn batch() -> Batch {
        Batch::default().with_tensor("logits", random(5, 4, 3)).with_indices("labels", vec![0, 3, 1, 1, 2])
    }

    #[test]
    fn small_q_is_cross_entropy() {
        let gce = GeneralisedCrossEntropy { q: 1e-7, ..Default::default() };
        assert!((value(&gce, &batch()) - value(&CrossEntropy::default(), &batch())).abs() < 1e-5);
    }

    #[test]
    fn released_gradient_is_q_times_the_papers() {
        let released = GeneralisedCrossEntropy { variant: Variant::Released, ..Default::default() };
        let of = |o: &dyn Objective| read(o.evaluate(&batch()).unwrap().gradients["logits"].clone());
        let (paper, released) = (of(&GeneralisedCrossEntropy::default()), of(&released));
        for (p, r) in paper.data().iter().zip(released.data()) {
            assert!((0.7 * p - r).abs() < 1e-12);
        }
    }
}
