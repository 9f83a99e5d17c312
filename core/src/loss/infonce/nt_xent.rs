//! NT-Xent, the loss of SimCLR.
//!
//! ```text
//! L = 1/(2b) sum_i [ log sum_{j != i} exp s_ij - s_ii' ]
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! over `2 b` anchors, both views (`view_a`, `view_b`, `[b, d]`) of every sample; `i'` is the other view of `i`.
//! Chen et al., *A Simple Framework for Contrastive Learning of Visual Representations* (2020), eq. 1.
//!
//! Released code agrees up to a factor: the loss of CCL-K's repository is the same, Google's adds the means of the two views
//! (twice the value), SupContrast without labels multiplies by `temperature / 0.07`.
//!
//! With `b = 1` there is no negative: the loss is 0 with gradient 0.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Evaluation, Objective};
use crate::loss::pairwise::{LogSumExp, Positives, other_view};
use crate::loss::spec::{Described, Family, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// NT-Xent; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NtXent {
    /// Divisor of the cosines, 1e-12 to 1e12; 0.5 in SimCLR's CIFAR recipe, 0.1 on ImageNet.
    pub temperature: f64,
}

impl Default for NtXent {
    fn default() -> Self {
        Self { temperature: 0.5 }
    }
}

impl Described for NtXent {
    const SPEC: Spec = Spec {
        name: "nt-xent",
        title: "NT-Xent (SimCLR)",
        family: Family::InfoNce,
        summary: "two views, all other rows as negatives",
        work: "Chen et al., A Simple Framework for Contrastive Learning of Visual Representations, 2020, eq. 1",
        formula: "L = 1/(2b) sum_i [ repel{log sum_{j != i} exp s_ij} - attract{s_ii'} ]\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "i' the other view of i",
        inputs: &[VIEW_A, VIEW_B],
        algorithms: &["single", "cached", "with-classifier"],
        parameters: &[Parameter::temperature(0.5)],
        pytorch: Some(concat!(include_str!("../cosines.py"), include_str!("nt_xent.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for NtXent {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let mut pairs = views.compare_stacked(batch, self.temperature)?;
        let own = pairs.add_mean(Positives::Partner(other_view(views.size)));
        let others = pairs.add_log_sum_exp(LogSumExp::other_rows(2 * views.size));
        let result = pairs.evaluate(|reductions| reductions.log_sum_exp(others) - reductions.mean(own))?;
        views
            .mean_over_anchors(result)
            .with_details(batch, |evaluation| Ok(evaluation.with_parts(views.own_pairs(self.temperature))))
    }
}
