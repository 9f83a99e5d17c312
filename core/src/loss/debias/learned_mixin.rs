//! LearnedMixin+H: the scores of a fixed bias network are added with a factor that depends on the main network's
//! features.
//!
//! ```text
//! L = 1/n sum_i [ CE(z_i + m_i g_i, y_i) + entropy_weight H(softmax(m_i g_i)) ]
//! m_i = softplus(<f_i, A> + a)
//! ```
//!
//! with the main network's features `f_features` `f`, `[n, d]`, and scores `f_logits` `z`, `[n, classes]`, the bias
//! network's scores `g_logits` `g`, `[n, classes]`, a learned factor `fc_weight` `A`, `[1, d]`, `fc_bias` `a`, `[1, 1]`,
//! and the classes `labels` `y`, `[n]`. Clark et al., *Don't Take the Easy Way Out* (2019); the entropy `H` keeps the factor from
//! making the bias uniform. The bias network is trained before (5 epochs in ReBias' comparison) and frozen.
//!
//! `entropy_weight` is 0.36 as released for ReBias' comparison. The paper adds log-probabilities; raw scores, as
//! released, differ by a constant of each row and give the same value and gradient. Released code multiplies the
//! bias scores in place and never passes the factor to an optimiser, so it keeps its random initial value;
//! here it has a gradient. The loss is that of the released code.
//!
//! It is defined on every batch of at least one sample.

use burn::tensor::activation::softplus;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::logits::{CrossEntropies, check_linear, check_shape, entropy, linear, targets};
use crate::loss::objective::{Evaluation, Objective};
use crate::loss::spec::{CLASSES, Described, Family, Head, Input, InputNetworks, Parameter, Range, Spec};
use simile_kernels::{gemm, sigmoid};

/// LearnedMixin+H; see the [module](self). Inputs: `f_features`, `[n, d]`; `f_logits`, `g_logits`, `[n, classes]`;
/// `fc_weight`, `[1, d]`; `fc_bias`, `[1, 1]`; `labels`, `[n]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearnedMixin {
    /// Factor of the entropy, 0 to 1e12; 0 is LearnedMixin without H.
    pub entropy_weight: f64,
}

impl Default for LearnedMixin {
    fn default() -> Self {
        Self { entropy_weight: 0.36 }
    }
}

impl Described for LearnedMixin {
    const SPEC: Spec = Spec {
        name: "learned-mixin",
        title: "LearnedMixin",
        family: Family::ClassScores,
        summary: "labels against a biased network, whose scores are mixed in",
        work: "Clark et al., Don't Take the Easy Way Out, 2019",
        formula: "L = 1/n sum_i [ CE(z_i + m_i g_i, y_i) + entropy_weight H(softmax(m_i g_i)) ]\n\
            m_i = softplus(<f_i, A> + a)",
        symbols: "z the scores, g those of the biased network, f the features, A and a a learned layer",
        inputs: &[
            Input::rows("f_features", "[n, d]", "features of the main network"),
            Input::rows("f_logits", "[n, classes]", "scores of the main network"),
            Input::rows("g_logits", "[n, classes]", "scores of the biased network"),
            Input::rows("fc_weight", "[1, d]", "weights of the learned factor"),
            Input::rows("fc_bias", "[1, 1]", "constant of the learned factor"),
            CLASSES.shape("[n]"),
        ],
        head: Head::ClassScores,
        networks: InputNetworks::Biased,
        algorithms: &["bias-network"],
        parameters: &[Parameter::number(
            "entropy_weight",
            Range::Factor,
            0.36,
            "factor of the entropy; 0 is LearnedMixin without H",
        )],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for LearnedMixin {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let input = |name| batch.tensor(self.name(), name);
        let (features, logits, bias_logits) = (input("f_features")?, input("f_logits")?, input("g_logits")?);
        let (weight, bias) = (input("fc_weight")?, input("fc_bias")?);
        let targets = targets(batch, self.name(), ["f_logits", "labels"], &logits)?;
        let [rows, classes] = logits.dims();
        check_shape("g_logits", &bias_logits, [rows, classes])?;
        check_shape("f_features", &features, [rows, features.dims()[1]])?;
        check_linear(&features, &weight, &bias, 1)?;
        let score = linear(features.clone(), weight.clone(), bias);
        let factor = softplus(score.clone(), 1.0);
        let mixed_in = bias_logits.clone() * factor.clone();
        let (mixture, grad_logits) = CrossEntropies::new(logits + mixed_in.clone(), &targets).mean();
        let (entropy, grad_entropy) = entropy(mixed_in);
        let grad_mixed = grad_logits.clone() + grad_entropy * (self.entropy_weight / rows as f64);
        // The softplus has the sigmoid as its slope.
        let grad_score = (grad_mixed.clone() * bias_logits).sum_dim(1) * sigmoid(score);
        Ok(Evaluation::new(mixture + entropy.mean() * self.entropy_weight)
            .with_gradient("f_features", gemm(grad_score.clone(), weight))
            .with_gradient("f_logits", grad_logits)
            .with_gradient("g_logits", grad_mixed * factor)
            .with_gradient("fc_weight", gemm(grad_score.clone().transpose(), features))
            .with_gradient("fc_bias", grad_score.sum_dim(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, random, value};
    use crate::loss::supervised::cross_entropy::CrossEntropy;
    use crate::numeric::matrix::Matrix;

    fn batch() -> Batch {
        let logits = random(4, 3, 5);
        Batch::default()
            .with_tensor("f_logits", logits.clone())
            .with_tensor("logits", logits)
            .with_tensor("g_logits", random(4, 3, 6))
            .with_tensor("f_features", random(4, 2, 7))
            .with_tensor("fc_weight", random(1, 2, 8))
            .with_tensor("fc_bias", random(1, 1, 9))
            .with_indices("labels", vec![0, 1, 2, 0])
    }

    #[test]
    fn a_factor_of_zero_leaves_cross_entropy() {
        let batch = batch()
            .with_tensor("fc_weight", place(&Matrix::zeros(1, 2)))
            .with_tensor("fc_bias", place(&Matrix::column(&[-60.0])));
        let uniform = 3.0_f64.ln() * 0.36;
        let expected = value(&CrossEntropy::default(), &batch) + uniform;
        assert!((value(&LearnedMixin::default(), &batch) - expected).abs() < 1e-12);
    }
}
