//! SupCon: every sample of the anchor's label is a positive.
//!
//! ```text
//! paper     L = 1/(2b) sum_i l_i
//! released  L = temperature/base_temperature 1/(2b) sum_i l_i
//! l_i = - 1/|P(i)| sum_{p in P(i)} [ s_ip - log sum_{a != i} exp s_ia ]
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! over `2 b` anchors, both views (`view_a`, `view_b`, `[b, d]`) of every sample; `P(i)` are the other rows of the
//! anchor's label (`labels`, `[b]`), including its own other view. Khosla et al., *Supervised Contrastive Learning*
//! (2020), eq. 2, `L_out`.
//!
//! | variant | value |
//! |---|---|
//! | `paper` (default) | mean over the anchors; with `reduction = "sum"` the sum, as printed |
//! | `released` | the same times `temperature / base_temperature`, with `base_temperature = 0.07` |
//!
//! The mean is the default because a sum ties the learning rate to the batch size, and the released factor to
//! the temperature: 1.43 at 0.1, 7.1 at 0.5. Published: temperature 0.1 (0.07 in the code's argument parser).
//! If [details are requested](Batch::with_details), `aux.per_anchor` and `aux.loss_mean` are the `l_i` and their mean, without that
//! factor, which is `aux.scale`.
//!
//! `l_i` is computed as `log sum_{a != i} exp s_ia - 1/|P(i)| sum_p s_ip`: the logarithm does not depend on `p`.
//! The sum over positives is computed from one sum for each label, so no `2b x 2b` mask exists. With singleton
//! labels it is [`NtXent`](crate::loss::NtXent). Use it to learn the labels; attributes that correlate with the
//! label are learnt too.
//!
//! Every anchor has its other view as a positive. With `b = 1` there is no negative: loss and gradient are 0.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Evaluation, Objective, Variant};
use crate::loss::pairwise::{LogSumExp, Positives};
use crate::loss::reduction::{BASE_TEMPERATURE, REDUCTION, Reduction, Scale};
use crate::loss::spec::{CLASSES, Described, Family, Form, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// SupCon; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `labels`, `[b]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SupCon {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Divisor of the temperature in the released factor (variant `released` only), 1e-12 to 1e12.
    pub base_temperature: f64,
    /// Mean or sum over the anchors.
    pub reduction: Reduction,
    /// `released` multiplies by the factor, `paper` does not.
    pub variant: Variant,
}

impl Default for SupCon {
    fn default() -> Self {
        Self { temperature: 0.1, base_temperature: 0.07, reduction: Reduction::Mean, variant: Variant::Paper }
    }
}

impl SupCon {
    fn scale(&self) -> Scale {
        let Self { temperature, base_temperature, reduction, variant } = *self;
        Scale { reduction, variant, temperature, base_temperature }
    }
}

impl Described for SupCon {
    const SPEC: Spec = Spec {
        name: "supcon",
        title: "SupCon",
        family: Family::InfoNce,
        summary: "labels; every sample of the anchor's class is a positive",
        work: "Khosla et al., Supervised Contrastive Learning, 2020, eq. 2",
        formula: "paper     L = 1/(2b) sum_i l_i\n\
            released  L = temperature/base_temperature 1/(2b) sum_i l_i\n\
            l_i = - 1/|P(i)| sum_{p in P(i)} [ attract{s_ip} - repel{log sum_{a != i} exp s_ia} ]\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "P(i) the other rows of the anchor's label",
        inputs: &[VIEW_A, VIEW_B, CLASSES],
        algorithms: &["single", "cached", "with-classifier"],
        variants: &[
            Form::new("paper", "mean over the anchors, or their sum"),
            Form::new("released", "times temperature / base_temperature"),
        ],
        parameters: &[Parameter::temperature(0.1), BASE_TEMPERATURE, REDUCTION],
        pytorch: Some(concat!(include_str!("../cosines.py"), include_str!("supcon.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for SupCon {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let labels = batch.groups(self.name(), "labels", views.size)?;
        let mut pairs = views.compare_stacked(batch, self.temperature)?;
        let (group, excluded) = (views.groups(labels.iter()), views.each_row());
        let positives = pairs.add_mean(Positives::Group { group, excluded });
        let others = pairs.add_log_sum_exp(LogSumExp::other_rows(2 * views.size));
        let result =
            pairs.evaluate(|reductions| reductions.log_sum_exp(others) - reductions.mean(positives))?;
        let reductions = result.reductions.clone();
        self.scale().evaluation(&views, batch, result)?.with_details(batch, |evaluation| {
            Ok(evaluation.with_parts(self.scale().positive_part(reductions.mean(positives))))
        })
    }
}
