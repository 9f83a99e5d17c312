//! Softmax cross-entropy, the baseline of every other objective on class scores.
//!
//! ```text
//! L = 1/n sum_i w_i [ log sum_c exp z_ic - z_iy ]
//! ```
//!
//! with the scores `logits` `z`, `[n, classes]`, the classes `labels` `y`, and, if given, one weight `weights` `w`
//! for each sample (1 otherwise). The weights are constants and are not normalised: divide by their mean before if
//! the size of the gradient should not depend on them. Learning from failure and Just Train Twice are this loss
//! with weights of their own ([`lff-weights`](crate::algorithm::LossAverages),
//! [`error_weights`](crate::loss::error_weights)).
//!
//! Paper and released code agree. Use it if labels are clean and no attribute is
//! correlated with them, and to train a probe or a bias predictor. It is defined on every batch of at least one
//! sample.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::logits::{CrossEntropies, sample_weights, targets};
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{CLASSES, Described, Family, Head, Input, LOGITS, Spec};

/// Cross-entropy; see the [module](self). Inputs: `logits`, `[n, classes]`; `labels`, `[n]`; `weights`, `[n, 1]`,
/// optional.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrossEntropy {}

impl Described for CrossEntropy {
    const SPEC: Spec = Spec {
        name: "cross-entropy",
        title: "Cross-entropy",
        family: Family::ClassScores,
        summary: "labels",
        work: "the softmax classifier",
        formula: "L = 1/n sum_i w_i [ log sum_c exp z_ic - z_iy ]",
        symbols: "z the scores, y the classes, w_i a weight, 1 without it",
        inputs: &[
            LOGITS,
            CLASSES.shape("[n]"),
            Input::host("weights", "[n, 1]", "a weight of each sample, 1 without it").optional(),
        ],
        head: Head::ClassScores,
        algorithms: &["single", "cached", "dcgan"],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for CrossEntropy {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "logits")?;
        let targets = targets(batch, self.name(), ["logits", "labels"], &logits)?;
        let weights = sample_weights(batch, self.name(), &logits)?;
        let entropies = CrossEntropies::new(logits, &targets);
        let per_sample = entropies.values.clone();
        let (loss, gradient) = match weights {
            None => entropies,
            Some(weights) => CrossEntropies {
                values: entropies.values * weights.clone(),
                gradient: entropies.gradient * weights.unsqueeze_dim(1),
            },
        }
        .mean();
        let evaluation = Evaluation::new(loss).with_gradient("logits", gradient);
        Ok(evaluation.with_aux("per_sample", Aux::Vector(per_sample)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{gradient_error, random};
    use crate::numeric::matrix::Matrix;

    #[test]
    fn gradient_matches_differences() {
        let batch = Batch::default()
            .with_tensor("logits", random(5, 4, 1))
            .with_indices("labels", vec![0, 3, 1, 1, 2]);
        assert!(gradient_error(&CrossEntropy::default(), &batch) < 1e-6);
        let weights = Matrix::column(&[0.0, 2.0, 0.5, 1.0, 3.0]);
        let weighted = |weights| batch.clone().with_condition("weights", weights);
        assert!(gradient_error(&CrossEntropy::default(), &weighted(weights)) < 1e-6);
        for columns in [0, 2] {
            let refused =
                CrossEntropy::default().evaluate(&weighted(Matrix::from_fn(5, columns, |_, _| 1.0)));
            assert!(refused.unwrap_err().to_string().contains("weights"), "{columns} columns");
        }
    }

    #[test]
    fn an_unknown_class_is_named() {
        let batch =
            Batch::default().with_tensor("logits", random(2, 3, 1)).with_indices("labels", vec![0, 3]);
        let error = CrossEntropy::default().evaluate(&batch).unwrap_err().to_string();
        assert!(error.contains("labels") && error.contains("row 1"), "{error}");
    }
}
