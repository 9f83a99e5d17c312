//! RUBi: the scores of the main network are masked by the prediction of a bias network.
//!
//! ```text
//! L = 1/n sum_i CE(f_i sigmoid(q_i), y_i) + question_loss_weight/n sum_i CE(q_i, y_i)
//! q = sg(g) A^T + a
//! ```
//!
//! with the scores `f_logits` `f`, `[n, classes]`, the features `g_features` `g` of the bias network, `[n, d]`, a linear
//! head `fc_weight` `A`, `[classes, d]`, `fc_bias` `a`, `[1, classes]`, and the classes `labels` `y`. `sg` stops the
//! gradient, so the bias network learns nothing here. Cadene et al., *RUBi: Reducing Unimodal Biases* (2019),
//! in the image form of ReBias' comparison. At test time `f` is used alone.
//!
//! `question_loss_weight` is 1 by default, as published. In the released trainer the head is never given to an
//! optimiser and keeps its random initial weights, so the second term has no effect there; here the head has a
//! gradient, so the caller can train it. The loss is that of the released code.
//!
//! It is defined on every batch of at least one sample.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::logits::{CrossEntropies, check_linear, linear, targets};
use crate::loss::objective::{Evaluation, Objective};
use crate::loss::spec::{CLASSES, Described, Family, Head, Input, InputNetworks, Parameter, Range, Spec};
use simile_kernels::{gemm, sigmoid};

/// RUBi; see the [module](self). Inputs: `f_logits`, `[n, classes]`; `g_features`, `[n, d]`; `fc_weight`,
/// `[classes, d]`; `fc_bias`, `[1, classes]`; `labels`, `[n]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rubi {
    /// Factor of the bias head's own cross-entropy, 0 to 1e12.
    pub question_loss_weight: f64,
}

impl Default for Rubi {
    fn default() -> Self {
        Self { question_loss_weight: 1.0 }
    }
}

impl Described for Rubi {
    const SPEC: Spec = Spec {
        name: "rubi",
        title: "RUBi",
        family: Family::ClassScores,
        summary: "labels against a biased network, which masks the scores",
        work: "Cadene et al., RUBi: Reducing Unimodal Biases, 2019",
        formula: "L = 1/n sum_i CE(f_i sigmoid(q_i), y_i) + question_loss_weight/n sum_i CE(q_i, y_i)\n\
            q = sg(g) A^T + a",
        symbols: "f the scores, g the features of the biased network, constants, A and a a learned layer",
        inputs: &[
            Input::rows("f_logits", "[n, classes]", "scores of the main network"),
            Input::rows("g_features", "[n, d]", "features of the biased network").constant(),
            Input::rows("fc_weight", "[classes, d]", "weights of the head of the bias"),
            Input::rows("fc_bias", "[1, classes]", "constants of the head of the bias"),
            CLASSES.shape("[n]"),
        ],
        head: Head::ClassScores,
        networks: InputNetworks::Biased,
        algorithms: &["bias-network"],
        parameters: &[Parameter::number(
            "question_loss_weight",
            Range::Factor,
            1.0,
            "factor of the bias head's own cross-entropy",
        )],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Rubi {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let input = |name| batch.tensor(self.name(), name);
        let (logits, features) = (input("f_logits")?, input("g_features")?);
        let (weight, bias) = (input("fc_weight")?, input("fc_bias")?);
        let targets = targets(batch, self.name(), ["f_logits", "labels"], &logits)?;
        let [rows, classes] = logits.dims();
        crate::loss::logits::check_shape("g_features", &features, [rows, features.dims()[1]])?;
        check_linear(&features, &weight, &bias, classes)?;
        let grad_features = features.zeros_like();
        let question = linear(features.clone(), weight, bias);
        let mask = sigmoid(question.clone());
        let (fused, grad_fused) = CrossEntropies::new(logits.clone() * mask.clone(), &targets).mean();
        let (question_loss, grad_question_scores) = CrossEntropies::new(question, &targets).mean();
        let grad_logits = grad_fused.clone() * mask.clone();
        // The sigmoid's slope is s (1 - s).
        let grad_mask = grad_fused * logits * mask.clone() * (mask.neg() + 1.0);
        let grad_question = grad_mask + grad_question_scores * self.question_loss_weight;
        Ok(Evaluation::new(fused + question_loss * self.question_loss_weight)
            .with_gradient("f_logits", grad_logits)
            .with_gradient("fc_weight", gemm(grad_question.clone().transpose(), features))
            .with_gradient("fc_bias", grad_question.sum_dim(0))
            .with_gradient("g_features", grad_features))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, random, value};
    use crate::loss::supervised::cross_entropy::CrossEntropy;
    use crate::numeric::matrix::Matrix;

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
