//! BiasCon plus `ce_weight` times the cross-entropy of a classifier.
//!
//! ```text
//! L = ce_weight 1/n sum_i CE( z_i + [bias_balanced] log( p(. | b_i) + 1e-9 ), y_i ) + BiasCon
//! ```
//!
//! [`BiasCon`] is computed on `view_a`, `view_b`, `labels` and `bias`; the cross-entropy on a separate batch, drawn
//! without re-weighting: the scores `logits` `z`, `[n, classes]`, and their classes `ce_labels` `y`, `[n]`.
//! With `bias_balanced` the scores are shifted as in [`biasbal`](BiasBalance), which needs `ce_bias` `b`, `[n]`, and the table
//! `prior`, `[biases, classes]`. Hong and Yang, *Unbiased Classification through Bias-Contrastive and
//! Bias-Balanced Learning* (2021); `BC` and `BC+BB` of the released code, with `ce_weight` 0.01.
//!
//! Variants and degenerate cases are those of [`BiasCon`]; released code shifts the scores of the caller in
//! place. `aux.ce` and `aux.con` are the two terms.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::debias::bias_balance::BiasBalance;
use crate::loss::debias::biascon::BiasCon;
use crate::loss::logits::{cross_entropy, grad_inputs, targets};
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::spec::{
    BIAS, CLASSES, Described, Family, Form, Input, LOGITS, Needed, Parameter, Range, Spec, VIEW_A, VIEW_B,
};

/// The setting under which the prior is an input.
const BALANCED: Needed = Needed::If { setting: "bias_balanced", value: "true" };

/// BiasCon with cross-entropy; see the [module](self). Inputs: `logits`, `[n, classes]`; `ce_labels`, `[n]`;
/// `ce_bias`, `[n]`, if bias_balanced = true; `prior`, `[biases, classes]`, if bias_balanced = true; `view_a`,
/// `view_b`, `[b, d]`; `labels`, `bias`, `[b]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BiasConTotal {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Factor of the cross-entropy, 0 to 1e12.
    pub ce_weight: f64,
    /// Shifts the scores by the logarithm of the prior of their bias.
    pub bias_balanced: bool,
    /// The variant of the contrastive term.
    pub variant: Variant,
}

impl Default for BiasConTotal {
    fn default() -> Self {
        Self { temperature: 0.07, ce_weight: 0.01, bias_balanced: false, variant: Variant::Paper }
    }
}

impl BiasConTotal {
    fn contrastive(&self) -> BiasCon {
        BiasCon { temperature: self.temperature, variant: self.variant }
    }
}

impl Described for BiasConTotal {
    const SPEC: Spec = Spec {
        name: "biascon-total",
        title: "BiasCon with its classifier",
        family: Family::Labelled,
        summary: "labels and bias labels, on embeddings and on class scores",
        work: "Hong and Yang, Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning, 2021",
        formula: "L = ce_weight 1/n sum_i CE( z_i + [bias_balanced] log( p(. | b_i) + 1e-9 ), y_i ) + BiasCon",
        symbols: "z and y the scores and classes of a separate batch, b its bias",
        inputs: &[
            LOGITS.meaning("the score of each class, of a batch of its own"),
            Input::integers("ce_labels", "[n]", "the class of each row of logits"),
            Input::integers("ce_bias", "[n]", "the bias attribute of each row of logits").needed(BALANCED),
            Input::host("prior", "[biases, classes]", "p(class | bias) in the training set").needed(BALANCED),
            VIEW_A,
            VIEW_B,
            CLASSES,
            BIAS,
        ],
        algorithms: &["with-classifier"],
        variants: &[
            Form::new("paper", "BiasCon as printed"),
            Form::new("released", "BiasCon with 1e-9 inside the logarithm"),
        ],
        parameters: &[
            Parameter::temperature(0.07),
            Parameter::number("ce_weight", Range::Factor, 0.01, "factor of the cross-entropy"),
            Parameter::flag("bias_balanced", "shifts the scores by the logarithm of the prior of their bias"),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for BiasConTotal {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let mut logits = batch.tensor(self.name(), "logits")?;
        let [rows, _] = logits.dims();
        let targets = targets(batch, self.name(), ["logits", "ce_labels"], &logits)?;
        if self.bias_balanced {
            let bias = batch.indices(self.name(), "ce_bias", rows)?;
            let prior = batch.table(self.name(), "prior")?;
            logits = BiasBalance::default().shifted(&logits, prior, &bias)?;
        }
        let entropy = grad_inputs([("logits", logits)], |[logits]| cross_entropy(logits, &targets).mean());
        let contrastive =
            self.contrastive().evaluate(batch).map_err(|error| error.for_objective(self.name()))?;

        let con = contrastive.loss.clone();
        let mut total =
            Evaluation { loss: entropy.loss.clone() * self.ce_weight + con.clone(), ..contrastive };
        // These are the parts of one of the two terms only.
        total.aux.retain(|name, _| name != "positive" && name != "negative");
        Ok((entropy.gradients.into_iter())
            .fold(total, |total, (name, gradient)| total.with_gradient(&name, gradient * self.ce_weight))
            .with_aux("ce", Aux::Scalar(entropy.loss))
            .with_aux("con", Aux::Scalar(con)))
    }
}
