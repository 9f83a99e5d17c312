//! LfF, learning from failure: a biased network determines which samples are hard, another network learns from
//! these.
//!
//! ```text
//! L = 1/n sum_i GCE(b_i, y_i) + 1/n sum_i W_i CE(d_i, y_i)
//! W_i = CE(b_i, y_i) / ( CE(b_i, y_i) + CE(d_i, y_i) + eps )
//! ```
//!
//! with the relative difficulty `W_i`, a constant, the biased network's scores `logits_b` `b`, the debiased network's `logits_d`
//! `d`, `[n, classes]` each, and the classes `labels` `y`. The networks share nothing, so one loss trains both. Nam et al.,
//! *Learning from Failure: Training Debiased Classifier from Biased Classifier* (2020), with the [generalised
//! cross-entropy](crate::loss::GeneralisedCrossEntropy), `q` = 0.7.
//!
//! Released code does not use the two cross-entropies of this batch but their moving averages, which are kept for each training
//! sample and divided by the largest average of its class: [`lff-weights`](crate::algorithm::LossAverages), whose output is the
//! input `weights`. Without that input the weights are those of the equation. The paper has no `eps`; the release has 1e-8.
//! `variant` is that of the generalised cross-entropy.
//!
//! Use it if the bias is not labelled but is easier to learn than the class. A sample on which both networks are
//! certain has weight 1/2 in the limit of the printed equation; with `eps` = 1e-8 this holds down to losses of that size,
//! below which the weight tends to 0, as released.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::logits::{check_shape, cross_entropy, grad_inputs, sample_weights, targets};
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::spec::{
    CLASSES, Described, Family, Form, Head, Input, InputNetworks, Parameter, Range, Spec,
};
use crate::loss::supervised::generalised_cross_entropy::GeneralisedCrossEntropy;

/// The loss of both networks; see the [module](self). Inputs: `logits_b`, `logits_d`, `[n, classes]`; `labels`,
/// `[n]`; `weights`, `[n, 1]`, optional.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lff {
    /// Amplification of the biased network, above 0 and at most 1.
    pub q: f64,
    /// Added to the denominator of the weights, above 0.
    pub eps: f64,
    /// The form of the generalised cross-entropy.
    pub variant: Variant,
}

impl Default for Lff {
    fn default() -> Self {
        Self { q: 0.7, eps: 1e-8, variant: Variant::Paper }
    }
}

impl Described for Lff {
    const SPEC: Spec = Spec {
        name: "lff",
        title: "Learning from failure",
        family: Family::ClassScores,
        summary: "labels, and a biased network that says which samples are hard",
        work: "Nam et al., Learning from Failure: Training Debiased Classifier from Biased Classifier, 2020",
        formula: "L = 1/n sum_i GCE(b_i, y_i) + 1/n sum_i W_i CE(d_i, y_i)\n\
            W_i = CE(b_i, y_i) / ( CE(b_i, y_i) + CE(d_i, y_i) + eps )",
        symbols: "b and d the scores of the biased and the debiased network; W_i is a constant",
        inputs: &[
            Input::rows("logits_b", "[n, classes]", "scores of the biased network"),
            Input::rows("logits_d", "[n, classes]", "scores of the debiased network"),
            CLASSES.shape("[n]"),
            Input::host("weights", "[n, 1]", "weights of moving averages in place of those of the equation")
                .optional(),
        ],
        head: Head::ClassScores,
        networks: InputNetworks::Biased,
        algorithms: &["lff"],
        variants: &[
            Form::new("paper", "the textbook form of the generalised cross-entropy"),
            Form::new("released", "its weighted form").detached(),
        ],
        parameters: &[
            Parameter::number("q", Range::Share, 0.7, "amplification of the biased network"),
            Parameter::number("eps", Range::Positive, 1e-8, "added to the denominator of the weights"),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Lff {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let (biased, debiased) =
            (batch.tensor(self.name(), "logits_b")?, batch.tensor(self.name(), "logits_d")?);
        check_shape("logits_d", &debiased, biased.dims())?;
        let targets = targets(batch, self.name(), ["logits_b", "labels"], &biased)?;
        let amplified = GeneralisedCrossEntropy { q: self.q, variant: self.variant };
        let losses = |logits: &Tensor<2>| cross_entropy(logits.clone(), &targets);
        let weights = sample_weights(batch, self.name(), &biased)?.unwrap_or_else(|| {
            let (b, d) = (losses(&biased), losses(&debiased));
            b.clone() / (b + d + self.eps)
        });
        let evaluation = grad_inputs([("logits_b", biased), ("logits_d", debiased)], |[biased, debiased]| {
            let weighted = losses(&debiased) * weights.clone();
            amplified.per_sample(biased, &targets).mean() + weighted.mean()
        });
        Ok(evaluation.with_aux("weights", Aux::Vector(weights)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, random, read, value};
    use crate::numeric::matrix::Matrix;

    fn batch() -> Batch {
        Batch::default()
            .with_tensor("logits_b", random(4, 3, 1))
            .with_tensor("logits_d", random(4, 3, 2))
            .with_indices("labels", vec![0, 2, 1, 1])
    }

    #[test]
    fn equal_networks_weigh_every_sample_by_half() {
        let same = batch().with_tensor("logits_d", random(4, 3, 1));
        let evaluation = Lff::default().evaluate(&same).unwrap();
        let Aux::Vector(weights) = evaluation.aux["weights"].clone() else { unreachable!() };
        assert!(read(weights.unsqueeze()).data().iter().all(|w| (w - 0.5).abs() < 1e-6));
    }

    #[test]
    fn perfect_networks_are_finite() {
        let certain = place(&Matrix::new(1, 2, vec![800.0, 0.0]).unwrap());
        let batch = Batch::default()
            .with_tensor("logits_b", certain.clone())
            .with_tensor("logits_d", certain)
            .with_indices("labels", vec![0]);
        assert_eq!(value(&Lff::default(), &batch), 0.0);
    }
}
