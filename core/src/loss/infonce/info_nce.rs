//! InfoNCE as CCL-K prints it, and Fair-InfoNCE, which restricts its negatives to one cluster.
//!
//! ```text
//! InfoNCE       L = 1/b sum_i [ log( exp s_ii + sum_{j != i} exp s_ij ) - s_ii ]
//! Fair-InfoNCE  L = 1/b sum_i [ log( exp s_ii + sum_{j != i, c_j = c_i} exp s_ij ) - s_ii ]
//! s_ij = cos(a_i, b_j) / temperature
//! ```
//!
//! across `view_a` and `view_b`, `[b, d]`, only, in one direction, view a to view b. Tsai et al., *Conditional Contrastive Learning
//! with Kernel* (2022), eq. 1 and 4, with the sign of a loss.
//!
//! The released code's InfoNCE is NT-Xent (see [`NtXent`](crate::loss::NtXent)); Fair-InfoNCE was not released. Appendix D of the
//! paper takes all pairs of a step from one cluster ([batches of one cluster](crate::train::ClusterBatches)). Here the denominator
//! is restricted to the rows of the anchor's cluster, `labels`, computed for instance by k-means of the sensitive variable: for a
//! batch of one cluster that is the printed loss, and it is defined for mixed batches too.
//!
//! With `b = 1`, and for an anchor alone in its cluster, loss and gradient are 0.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Evaluation, Objective};
use crate::loss::pairwise::{LogSumExp, Positives, itself};
use crate::loss::spec::{CLUSTERS, Described, Family, Form, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;
use crate::numeric::label_groups::LabelGroups;

/// InfoNCE across views; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InfoNce {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Averages the directions a to b and b to a.
    pub symmetric: bool,
}

impl Default for InfoNce {
    fn default() -> Self {
        Self { temperature: 0.5, symmetric: false }
    }
}

impl Described for InfoNce {
    const SPEC: Spec = Spec {
        name: "info-nce",
        title: "InfoNCE",
        family: Family::InfoNce,
        summary: "two views, the second views of other samples as negatives",
        work: "Tsai et al., Conditional Contrastive Learning with Kernel, 2022, eq. 1",
        formula: "L = 1/b sum_i [ repel{log( exp s_ii + sum_{j != i} exp s_ij )} - attract{s_ii} ]\n\
            s_ij = cos(a_i, b_j) / temperature",
        symbols: "a_i and b_i the views of sample i",
        inputs: &[VIEW_A, VIEW_B],
        algorithms: &["single", "cached", "with-classifier"],
        variants: &[Form::new("paper", "as printed, across views; the released form is `nt-xent`")],
        directed: true,
        parameters: &[
            Parameter::temperature(0.5),
            Parameter::flag("symmetric", "averages the directions a to b and b to a"),
        ],
        pytorch: Some(concat!(include_str!("across.py"), include_str!("info_nce.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for InfoNce {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let evaluation = views.directed(batch, self.symmetric, |direction| {
            let mut pairs = views.compare_across(batch, self.temperature, direction)?;
            let own = pairs.add_mean(Positives::Partner(itself(views.size)));
            let all = pairs.add_log_sum_exp(LogSumExp::all());
            pairs.evaluate(|reductions| reductions.log_sum_exp(all) - reductions.mean(own))
        })?;
        evaluation
            .with_details(batch, |evaluation| Ok(evaluation.with_parts(views.own_pairs(self.temperature))))
    }
}

/// InfoNCE with negatives of the anchor's cluster; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`;
/// `labels`, `[b]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FairInfoNce {
    /// Divisor of the cosines, 1e-12 to 1e12. Not published; the released command of Fair-CCLK passes 0.1.
    pub temperature: f64,
    /// Averages the directions a to b and b to a.
    pub symmetric: bool,
}

impl Default for FairInfoNce {
    fn default() -> Self {
        Self { temperature: 0.5, symmetric: false }
    }
}

impl Described for FairInfoNce {
    const SPEC: Spec = Spec {
        name: "fair-info-nce",
        title: "Fair-InfoNCE",
        family: Family::InfoNce,
        summary: "two views; negatives of one cluster",
        work: "Tsai et al., Conditional Contrastive Learning with Kernel, 2022, eq. 4",
        formula: "L = 1/b sum_i [ repel{log( exp s_ii + sum_{j != i, c_j = c_i} exp s_ij )} - attract{s_ii} ]\n\
            s_ij = cos(a_i, b_j) / temperature",
        symbols: "a_i and b_i the views of sample i, c_i its cluster",
        inputs: &[VIEW_A, VIEW_B, CLUSTERS],
        algorithms: &["single", "cached"],
        variants: &[Form::new("paper", "as printed; no code was released")],
        directed: true,
        parameters: &[
            Parameter::temperature(0.5),
            Parameter::flag("symmetric", "averages the directions a to b and b to a"),
        ],
        pytorch: Some(concat!(include_str!("across.py"), include_str!("fair_info_nce.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for FairInfoNce {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let cluster = batch.groups(self.name(), "labels", views.size)?;
        let cluster = LabelGroups::new(cluster, &views.a.rows().device());
        let evaluation = views.directed(batch, self.symmetric, |direction| {
            let pairs = views.compare_across(batch, self.temperature, direction)?;
            let mut pairs = pairs.with_weights(cluster.pair_weights());
            let own = pairs.add_mean(Positives::Partner(itself(views.size)));
            let same_cluster = pairs.add_log_sum_exp(LogSumExp::same_label());
            pairs.evaluate(|reductions| reductions.log_sum_exp(same_cluster) - reductions.mean(own))
        })?;
        evaluation
            .with_details(batch, |evaluation| Ok(evaluation.with_parts(views.own_pairs(self.temperature))))
    }
}
