//! RUBi: the scores of the main network are masked by what a bias network alone would say.
//!
//! ```text
//! q = sg(g) A^T + a
//! L = 1/n sum_i CE( f_i sigmoid(q_i), y_i ) + question_loss_weight / n sum_i CE( q_i, y_i )
//! ```
//!
//! with the scores `f_logits` `f`, `[n, classes]`, the features `g_features` `g` of the bias network, `[n, d]`, a linear
//! head `fc_weight` `A`, `[classes, d]`, `fc_bias` `a`, `[1, classes]`, and the classes `labels` `y`. `sg` stops the
//! gradient, so that the bias network learns nothing here. Cadene et al., *RUBi: Reducing Unimodal Biases* (2019),
//! in the image form of ReBias' comparison. At test time `f` is used alone.
//!
//! `question_loss_weight` is 1 by default, as published. In the released trainer the head is never given to an
//! optimiser and stays at its random start, so that the second term changes nothing there; here the head has its
//! gradient and whoever owns it decides. The value is the same, so the variant changes nothing.
//!
//! It is defined on every batch of at least one sample.

use burn::tensor::activation::sigmoid;
use serde::{Deserialize, Serialize};

use super::logits::{check_linear, cross_entropy, linear, of_inputs, targets};
use super::{Evaluation, Objective, Variant};
use crate::batch::Batch;
use crate::error::{Result, within};

/// See the [module](self).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rubi {
    /// Factor of the bias head's own cross-entropy, 0 or above.
    pub question_loss_weight: f64,
    /// Without effect: paper and code agree.
    pub variant: Variant,
}

impl Default for Rubi {
    fn default() -> Self {
        Self { question_loss_weight: 1.0, variant: Variant::Paper }
    }
}

impl Objective for Rubi {
    fn name(&self) -> &'static str {
        "rubi"
    }

    fn check(&self) -> Result<()> {
        within("question_loss_weight", self.question_loss_weight, 0.0, f64::MAX).map(drop)
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let input = |name| batch.tensor(self.name(), name);
        let (logits, features) = (input("f_logits")?, input("g_features")?);
        let (weight, bias) = (input("fc_weight")?, input("fc_bias")?);
        let targets = targets(batch, self.name(), "labels", &logits)?;
        let [rows, classes] = logits.dims();
        super::logits::check_shape("g_features", &features, [rows, features.dims()[1]])?;
        check_linear(&features, &weight, &bias, classes)?;
        let to_features = features.zeros_like();
        let inputs = [("f_logits", logits), ("fc_weight", weight), ("fc_bias", bias)];
        let evaluation = of_inputs(inputs, |[logits, weight, bias]| {
            let question = linear(features.autodiff(), weight, bias);
            let fused = cross_entropy(logits * sigmoid(question.clone()), &targets).mean();
            fused + cross_entropy(question, &targets).mean() * self.question_loss_weight
        });
        Ok(evaluation.with_gradient("g_features", to_features))
    }
}

#[cfg(test)]
mod tests {
    use super::super::CrossEntropy;
    use super::super::finite_difference::{place, random, value};
    use super::*;
    use crate::matrix::Matrix;

    #[test]
    fn a_bias_that_says_nothing_halves_the_scores() {
        let logits = random(4, 3, 5);
        let batch = Batch::default()
            .with_tensor("f_logits", logits.clone() * 2.0)
            .with_tensor("logits", logits)
            .with_tensor("g_features", random(4, 2, 6))
            .with_tensor("fc_weight", place(&Matrix::zeros(3, 2)))
            .with_tensor("fc_bias", place(&Matrix::zeros(1, 3)))
            .with_indices("labels", vec![0, 1, 2, 0]);
        let expected = value(&CrossEntropy::default(), &batch) + 3.0_f64.ln();
        assert!((value(&Rubi::default(), &batch) - expected).abs() < 1e-12);
    }
}
