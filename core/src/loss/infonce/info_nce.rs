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
//! The released code's InfoNCE is NT-Xent (see [`NtXent`](crate::loss::NtXent)); Fair-InfoNCE was not released. The
//! paper does not specify how to restrict a batch to one cluster; here the denominator is restricted to the
//! anchor's cluster, `labels`, computed for instance by k-means of the sensitive variable. An anchor alone in its
//! cluster has loss 0 and gradient 0.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::pairwise::{LogSumExp, PairwiseLoss, PairwiseResult, Positives, itself};
use crate::loss::spec::{CLUSTERS, Described, Family, Form, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;
use crate::numeric::label_groups::LabelGroups;
use burn::tensor::Tensor;

/// InfoNCE across views; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InfoNce {
    /// Divisor of the cosines.
    pub temperature: f64,
    /// `cosine`, the only supported similarity.
    pub similarity: String,
    /// Averages the directions a to b and b to a.
    pub symmetric: bool,
}

impl Default for InfoNce {
    fn default() -> Self {
        Self { temperature: 0.5, similarity: "cosine".into(), symmetric: false }
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
        methods: &["single", "cached", "with-classifier"],
        variants: &[Form::new("paper", "as printed, across views; the released form is `nt-xent`")],
        directed: true,
        parameters: &[
            Parameter::temperature(0.5),
            Parameter::choice(
                "similarity",
                &["cosine"],
                "similarity of embeddings; the cosine is the only one",
            ),
            Parameter::flag("symmetric", false, "averages the directions a to b and b to a"),
        ],
        pytorch: Some(concat!(include_str!("across.py"), include_str!("info_nce.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for InfoNce {
    fn check(&self) -> Result<()> {
        if self.similarity != "cosine" {
            return Err(Error::Unknown {
                kind: "similarity",
                name: self.similarity.clone(),
                known: vec!["cosine".into()],
            });
        }
        Self::SPEC.check(self)
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let evaluation = directed(&views, batch, self.symmetric, |anchors, candidates, _| {
            PairwiseLoss::new(anchors, candidates, self.temperature, batch.tile())?
                .with_peers(batch.peers())
                .mean(Positives::Partner(itself(views.size)))
                .log_sum_exp(LogSumExp::over_all())
                .evaluate(|reductions| reductions.sums[0].clone() - reductions.means[0].clone())
        })?;
        Ok(evaluation.with_parts(batch, || views.own_pairs(self.temperature)))
    }
}

/// InfoNCE with negatives of the anchor's cluster; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`;
/// `labels`, `[b]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FairInfoNce {
    /// Divisor of the cosines; 0.1 in the released command for ColorMNIST.
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
        methods: &["single", "cached"],
        variants: &[Form::new("paper", "as printed; no code was released")],
        directed: true,
        parameters: &[
            Parameter::temperature(0.5),
            Parameter::flag("symmetric", false, "averages the directions a to b and b to a"),
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
        let evaluation = directed(&views, batch, self.symmetric, |anchors, candidates, _| {
            PairwiseLoss::new(anchors, candidates, self.temperature, batch.tile())?
                .with_peers(batch.peers())
                .mean(Positives::Partner(itself(views.size)))
                .with_weights(cluster.pair_weights())
                .log_sum_exp(LogSumExp::same_label())
                .evaluate(|reductions| reductions.sums[0].clone() - reductions.means[0].clone())
        })?;
        Ok(evaluation.with_parts(batch, || views.own_pairs(self.temperature)))
    }
}

/// The view of the anchors of a direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
}

/// The mean over `b` anchors of one direction, a to b, or the average of both. With details, `loss_reverse` is the
/// other direction and `loss_symmetric` their average.
pub(crate) fn directed(
    views: &TwoViews,
    batch: &Batch,
    symmetric: bool,
    direction: impl Fn(Tensor<2>, Tensor<2>, Side) -> Result<PairwiseResult>,
) -> Result<Evaluation> {
    let (a, b) = (views.a.rows(), views.b.rows());
    let mean = 1.0 / views.size as f64;
    let forward = direction(a.clone(), b.clone(), Side::A)?;
    let loss = forward.per_anchor.clone().sum() * mean;
    if !symmetric && !batch.is_detailed() {
        return Ok(views.with_gradients(loss, forward.grad_anchors * mean, forward.grad_candidates * mean));
    }
    let reverse = direction(b, a, Side::B)?;
    let loss_reverse = reverse.per_anchor.sum() * mean;
    let loss_symmetric = (loss.clone() + loss_reverse.clone()) / 2.0;
    let evaluation = if symmetric {
        let half = mean / 2.0;
        let to_a = (forward.grad_anchors + reverse.grad_candidates) * half;
        let to_b = (forward.grad_candidates + reverse.grad_anchors) * half;
        views.with_gradients(loss_symmetric.clone(), to_a, to_b)
    } else {
        views.with_gradients(loss, forward.grad_anchors * mean, forward.grad_candidates * mean)
    };
    Ok(evaluation
        .with_aux("per_anchor", Aux::Vector(forward.per_anchor))
        .with_aux("loss_reverse", Aux::Scalar(loss_reverse))
        .with_aux("loss_symmetric", Aux::Scalar(loss_symmetric)))
}
