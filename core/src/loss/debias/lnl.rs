//! LNL, learning not to learn: the features are trained until a bias predictor on them is uncertain.
//!
//! ```text
//! lnl            L = 1/n sum_i CE(z_i, y_i) - entropy_weight/m sum_r H(softmax(q_r))
//! lnl-adversary  L = 1/m sum_r CE(q_r, b_r)
//! ```
//!
//! with the scores `logits` `z`, `[n, classes]`, the classes `labels` `y`, `[n]`, the bias predictor's scores
//! `bias_logits` `q`, `[m, biases]`, and the bias attributes `bias` `b`, `m` entries. `m` is `n` for a predictor of one attribute, or
//! the number of pixels for the original predictor of quantised colours. Kim et al., *Learning Not to Learn: Training
//! Deep Neural Networks with Biased Data* (2019).
//!
//! The paper is one game: the network descends `CE - lambda H - mu CE_bias`, the predictor descends `CE_bias`. This
//! module has both terms. The owner of the predictor combines them in two steps for each batch, as in the released
//! comparison of Hong and Yang:
//!
//! 1. the network descends `lnl`, with the predictor fixed;
//! 2. the predictor on [`reverse_gradient`] of the features descends `lnl-adversary`; through the reversal the
//!    feature extractor ascends it, with factor `mu`.
//!
//! `entropy_weight` (`lambda`) is 0.01 as published; the comparison of Hong and Yang uses 1 and `mu` = 0.1. The
//! formula is the same in both.
//!
//! Both are defined on every batch of at least one row.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::logits::{CrossEntropies, check_scores, entropy, targets};
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{
    BIAS, CLASSES, Described, Family, Head, Input, InputNetworks, LOGITS, Parameter, Range, Spec,
};

/// The network's loss; see the [module](self). Inputs: `logits`, `[n, classes]`; `bias_logits`, `[m, biases]`;
/// `labels`, `[n]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lnl {
    /// Factor of the entropy of the bias predictor, 0 to 1e12.
    pub entropy_weight: f64,
}

impl Default for Lnl {
    fn default() -> Self {
        Self { entropy_weight: 0.01 }
    }
}

impl Described for Lnl {
    const SPEC: Spec = Spec {
        name: "lnl",
        title: "Learning not to learn",
        family: Family::ClassScores,
        summary: "labels against a bias predictor",
        work: "Kim et al., Learning Not to Learn: Training Deep Neural Networks with Biased Data, 2019",
        formula: "L = 1/n sum_i CE(z_i, y_i) - entropy_weight/m sum_r H(softmax(q_r))",
        symbols: "z the scores, y the classes, q_r the scores of the bias predictor",
        inputs: &[
            LOGITS,
            Input::rows("bias_logits", "[m, biases]", "the scores of the bias predictor"),
            CLASSES.shape("[n]"),
        ],
        head: Head::ClassScores,
        networks: InputNetworks::Adversary,
        algorithms: &["lnl"],
        parameters: &[Parameter::number(
            "entropy_weight",
            Range::Factor,
            0.01,
            "factor of the entropy of the bias predictor",
        )],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Lnl {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let (logits, bias_logits) =
            (batch.tensor(self.name(), "logits")?, batch.tensor(self.name(), "bias_logits")?);
        let targets = targets(batch, self.name(), ["logits", "labels"], &logits)?;
        check_scores("bias_logits", &bias_logits)?;
        let (ce, grad_logits) = CrossEntropies::new(logits, &targets).mean();
        let [rows, _] = bias_logits.dims();
        let (undecided, grad_bias_logits) = entropy(bias_logits);
        let undecided = undecided.mean();
        Ok(Evaluation::new(ce.clone() - undecided.clone() * self.entropy_weight)
            .with_gradient("logits", grad_logits)
            .with_gradient("bias_logits", grad_bias_logits * (-self.entropy_weight / rows as f64))
            .with_aux("ce", Aux::Scalar(ce))
            .with_aux("entropy", Aux::Scalar(undecided)))
    }
}

/// The bias predictor's loss; see the [module](self). Inputs: `bias_logits`, `[m, biases]`; `bias`, `[m]`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LnlAdversary {}

impl Described for LnlAdversary {
    const SPEC: Spec = Spec {
        name: "lnl-adversary",
        title: "Learning not to learn: the bias predictor",
        family: Family::ClassScores,
        summary: "bias labels",
        work: "Kim et al., Learning Not to Learn: Training Deep Neural Networks with Biased Data, 2019",
        formula: "L = 1/m sum_r CE(q_r, b_r)",
        symbols: "q_r the scores of the bias predictor, b_r the bias",
        inputs: &[
            Input::rows("bias_logits", "[m, biases]", "the scores of the bias predictor"),
            BIAS.shape("[m]"),
        ],
        head: Head::Other,
        networks: InputNetworks::Adversary,
        part_of: &["lnl"],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for LnlAdversary {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let logits = batch.tensor(self.name(), "bias_logits")?;
        let targets = targets(batch, self.name(), ["bias_logits", "bias"], &logits)?;
        let (loss, gradient) = CrossEntropies::new(logits, &targets).mean();
        Ok(Evaluation::new(loss).with_gradient("bias_logits", gradient))
    }
}

/// The features unchanged, with their gradient multiplied by `-strength`: layers behind it descend a loss, layers
/// before it ascend it if `strength` is above 0. With 0 that gradient is 0; below 0 it is not reversed.
pub fn reverse_gradient<const D: usize>(features: Tensor<D>, strength: f64) -> Tensor<D> {
    features.clone().detach() * (1.0 + strength) - features * strength
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{gradient_error, place, random, read, value};
    use crate::loss::objective::loss;
    use crate::numeric::matrix::Matrix;

    fn batch() -> Batch {
        Batch::default()
            .with_tensor("logits", random(4, 3, 1))
            .with_tensor("bias_logits", random(6, 2, 2))
            .with_indices("labels", vec![0, 2, 1, 1])
            .with_indices("bias", vec![0, 1, 1, 0, 1, 1])
    }

    /// The test of all objectives draws as many rows of the one as of the other.
    #[test]
    fn gradients_match_differences_with_more_scores_of_the_bias_than_of_the_class() {
        assert!(gradient_error(&Lnl { entropy_weight: 0.7 }, &batch()) < 1e-6);
    }

    #[test]
    fn an_undecided_predictor_is_the_minimum() {
        let at = |logits| value(&Lnl::default(), &batch().with_tensor("bias_logits", logits));
        let undecided = place(&Matrix::zeros(6, 2));
        let evaluation =
            Lnl::default().evaluate(&batch().with_tensor("bias_logits", undecided.clone())).unwrap();
        assert!(at(undecided) < at(random(6, 2, 2)));
        assert!(read(evaluation.gradients["bias_logits"].clone()).data().iter().all(|g| g.abs() < 1e-15));
    }

    #[test]
    fn reversal_keeps_the_value_and_turns_the_gradient() {
        let features = random(6, 2, 3).autodiff().require_grad();
        let bias_logits = reverse_gradient(features.clone(), 0.1);
        assert!(
            (bias_logits.clone().inner() - features.clone().inner()).abs().max().into_scalar::<f64>() < 1e-12
        );
        let gradients =
            loss(&LnlAdversary::default(), &batch().with_tensor("bias_logits", bias_logits)).unwrap();
        let reversed = features.grad(&gradients.backward()).unwrap();
        let plain = batch().with_tensor("bias_logits", features.inner());
        let plain = LnlAdversary::default().evaluate(&plain).unwrap().gradients["bias_logits"].clone();
        assert!((reversed + plain * 0.1).abs().max().into_scalar::<f64>() < 1e-12);
    }
}
