//! BiasCon: samples of the same label and another bias are each other's positives.
//!
//! ```text
//! L = 1/(2b) sum_i l_i
//! paper     l_i = - 1/|P(i)| sum_{p in P(i)} [ s_ip - log sum_{a != i} exp s_ia ]
//! released  l_i = - 1/|P(i)| sum_{p in P(i)} [ s_ip - log( sum_{a != i} exp s_ia + 1e-9 exp(1/temperature) ) ]
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! mean over `2 b` anchors of `view_a` and `view_b`, `[b, d]` each; `P(i)` are the rows with the anchor's label
//! (`labels`, `[b]`) and another bias (`bias`, `[b]`), so the anchor's own other view is not among them. Hong and
//! Yang, *Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning* (2021), the bias-contrastive
//! loss. Features are the normalised features before the classifier, without a projection head.
//!
//! | variant | denominator |
//! |---|---|
//! | `paper` (default) | as above |
//! | `released` | 1e-9 is added to the sum after subtracting the largest logit, which is that of the anchor with itself: 0 for a row of zeros |
//!
//! The constant protects a logarithm that needs no protection, yet it has an effect at temperatures of 0.07 and
//! below: with eight orthogonal embeddings (`b` = 4) at 0.05 the loss is 2.01 instead of 1.95, and it weakens the gradient. Hence
//! the default. Published: temperature 0.07, total loss `0.01 CE + BiasCon` (see
//! [`BiasConTotal`](crate::loss::BiasConTotal)), batches drawn with weights `1 / p(bias | label)`.
//!
//! Use it if bias labels are known. An anchor without positives has loss 0 with gradient 0 and still
//! counts in the mean, as released; `aux.anchors_without_positive` counts these anchors, if [details are
//! requested](Batch::with_details).

use serde::{Deserialize, Serialize};

use super::released_epsilon::log_denominator;
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::pairwise::{LogSumExp, Positives, Reductions};
use crate::loss::spec::{BIAS, CLASSES, Described, Family, Form, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// BiasCon; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `labels`, `bias`, `[b]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BiasCon {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// `released` adds the constant, `paper` does not.
    pub variant: Variant,
}

impl Default for BiasCon {
    fn default() -> Self {
        Self { temperature: 0.07, variant: Variant::Paper }
    }
}

impl Described for BiasCon {
    const SPEC: Spec = Spec {
        name: "biascon",
        title: "BiasCon",
        family: Family::Labelled,
        summary: "labels and bias labels",
        work: "Hong and Yang, Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning, 2021",
        formula: "L = 1/(2b) sum_i l_i\n\
            paper     l_i = - 1/|P(i)| sum_{p in P(i)} [ attract{s_ip} - repel{log sum_{a != i} exp s_ia} ]\n\
            released  l_i = - 1/|P(i)| sum_{p in P(i)} [ attract{s_ip} - repel{log( sum_{a != i} exp s_ia + 1e-9 exp(1/temperature) )} ]\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "P(i) the rows of the anchor's label and another bias",
        inputs: &[VIEW_A, VIEW_B, CLASSES, BIAS],
        algorithms: &["single", "cached", "with-classifier"],
        variants: &[
            Form::new("paper", "as printed"),
            Form::new("released", "1e-9 is added inside the logarithm"),
        ],
        parameters: &[Parameter::temperature(0.07)],
        pytorch: Some(concat!(include_str!("../cosines.py"), include_str!("biascon.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for BiasCon {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let labels = batch.groups(self.name(), "labels", views.size)?;
        let bias = batch.groups(self.name(), "bias", views.size)?;
        let (label, excluded) = (views.groups(labels.iter()), views.groups(labels.iter().zip(bias)));
        let alone = (0..2 * views.size).filter(|&i| label.size_of(i) == excluded.size_of(i)).count();
        let mut pairs = views.compare_stacked(batch, self.temperature)?;
        let positives = pairs.add_mean(Positives::Group { group: label, excluded });
        let others = pairs.add_log_sum_exp(LogSumExp::other_rows(2 * views.size));
        let loss = |reductions: &Reductions, variant| {
            let others = reductions.log_sum_exp(others);
            let denominator = log_denominator(variant, others, &views, self.temperature);
            reductions.negative_log_probability(positives, denominator)
        };
        let result = pairs.evaluate(|reductions| loss(reductions, self.variant))?;
        let reductions = result.reductions.clone();
        views.mean_over_anchors(result).with_details(batch, |evaluation| {
            let without_epsilon = loss(&reductions, Variant::Paper).mean();
            Ok(evaluation
                .with_parts(reductions.mean(positives).mean().neg())
                .with_aux("anchors_without_positive", Aux::Number(alone as f64))
                .with_aux("loss_if_eps_were_zero", Aux::Scalar(without_epsilon)))
        })
    }
}
