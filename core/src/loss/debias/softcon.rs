//! SoftCon: BiasCon without bias labels. The less similar two positives are for a biased network, the more the pair
//! weighs.
//!
//! ```text
//! L = 1/(2b) sum_i l_i
//! paper     l_i = - sum_j m_ij/M_i [ s_ij - log sum_{a != i} exp s_ia ]
//! released  l_i = - sum_j m_ij/M_i [ s_ij - log( sum_{a != i} exp s_ia + 1e-9 exp(1/temperature) ) ]
//! m_ij = (1 - cos(f_i, f_j)) [y_i = y_j],   M_i = sum_j m_ij
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! mean over `2 b` anchors of `view_a` and `view_b`, `[b, d]` each, `j` over the rows of other samples; `labels`
//! `y`, `[b]`, and `bias_features` `f`, `[b, e]`, of a network that was trained to use the bias (small receptive
//! field). No gradient flows into `f`. Hong and Yang, *Unbiased Classification through Bias-Contrastive and
//! Bias-Balanced Learning* (2021), the soft version of [`BiasCon`](crate::loss::BiasCon).
//!
//! In the released code the anchor's own other view is not left out: its weight is the rounding error of `1 -
//! cos(f_i, f_i)`. If every other weight is 0, `M_i` is that error, and the term is either 0 or the whole
//! log-probability of the own pair. Here the own pair has weight 0, and so have weights below 1e-6, in `f64` below
//! 1e-13, which are such errors. In addition, `released` adds 1e-9 inside the logarithm as
//! [`BiasCon`](crate::loss::BiasCon) does; `paper`, the default, does not. Published: temperature 0.07, total loss
//! `0.01 CE + SoftCon`. If [details are requested](Batch::with_details), and `logits` and `ce_labels` are given, `aux.ce` is that
//! cross-entropy and `aux.total_001ce` that total.
//!
//! An anchor without positive weight has loss 0 with gradient 0 and counts in the mean.

use std::ops::Range;

use burn::tensor::{DType, Tensor};
use serde::{Deserialize, Serialize};
use simile_kernels::gemm;

use super::released_epsilon::log_denominator;
use crate::error::{Error, Result};
use crate::loss::batch::{Batch, check_rows};
use crate::loss::logits::{cross_entropy, targets};
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::pairwise::{LogSumExp, Positives};
use crate::loss::spec::{
    CLASSES, Described, Family, Form, Input, InputNetworks, LOGITS, Parameter, Spec, VIEW_A, VIEW_B,
};
use crate::loss::views::TwoViews;
use crate::numeric::label_groups::LabelGroups;
use crate::numeric::unit_rows::UnitRows;

/// Weights below this are rounding errors of `1 - cos`.
fn smallest_weight(dtype: DType) -> f64 {
    if dtype == DType::F64 { 1e-13 } else { 1e-6 }
}

/// SoftCon; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `labels`, `[b]`; `bias_features`, `[b,
/// e]`; `logits`, `[n, classes]`, optional; `ce_labels`, `[n]`, optional.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SoftCon {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// `released` adds the constant, `paper` does not.
    pub variant: Variant,
}

impl Default for SoftCon {
    fn default() -> Self {
        Self { temperature: 0.07, variant: Variant::Paper }
    }
}

impl Described for SoftCon {
    const SPEC: Spec = Spec {
        name: "softcon",
        title: "SoftCon",
        family: Family::Labelled,
        summary: "labels, and a biased network in place of bias labels",
        work: "Hong and Yang, Unbiased Classification through Bias-Contrastive and Bias-Balanced Learning, 2021",
        formula: "L = 1/(2b) sum_i l_i\n\
            paper     l_i = - sum_j m_ij/M_i [ attract{s_ij} - repel{log sum_{a != i} exp s_ia} ]\n\
            released  l_i = - sum_j m_ij/M_i [ attract{s_ij} - repel{log( sum_{a != i} exp s_ia + 1e-9 exp(1/temperature) )} ]\n\
            m_ij = (1 - cos(f_i, f_j)) [y_i = y_j],   M_i = sum_j m_ij\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "j the rows of other samples, f the biased network's features, y the labels",
        inputs: &[
            VIEW_A,
            VIEW_B,
            CLASSES,
            Input::host("bias_features", "[b, e]", "features of the samples by the biased network"),
            LOGITS
                .optional()
                .meaning("the score of each class, for the cross-entropy in aux; with ce_labels"),
            Input::integers("ce_labels", "[n]", "the class of each row of logits").optional(),
        ],
        networks: InputNetworks::Biased,
        algorithms: &["bias-network"],
        variants: &[
            Form::new("paper", "as printed"),
            Form::new("released", "1e-9 is added inside the logarithm"),
        ],
        parameters: &[Parameter::temperature(0.07)],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for SoftCon {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let (b, like) = (views.size, views.a.rows());
        let label = LabelGroups::new(batch.groups(self.name(), "labels", b)?, &like.device());
        let sample = LabelGroups::new(0..b, &like.device());
        let features = bias_features(batch, &like, b)?;
        let features = UnitRows::normalise(features).rows();
        let weights = |range| shares(&features, &label, &sample, range);
        let mut pairs = views.compare_stacked(batch, self.temperature)?;
        let positives = pairs.add_mean(Positives::Samples { count: b, weights: Box::new(weights) });
        let others = pairs.add_log_sum_exp(LogSumExp::other_rows(2 * b));
        let result = pairs.evaluate(|reductions| {
            let others = reductions.log_sum_exp(others);
            let denominator = log_denominator(self.variant, others, &views, self.temperature);
            reductions.negative_log_probability(positives, denominator)
        })?;
        views.mean_over_anchors(result).with_details(batch, |evaluation| {
            if !batch.is_given("logits") {
                return Ok(evaluation);
            }
            let logits = batch.tensor(self.name(), "logits")?;
            let targets = targets(batch, self.name(), ["logits", "ce_labels"], &logits)?;
            let entropy = cross_entropy(logits, &targets).mean();
            let total = entropy.clone() * 0.01 + evaluation.loss.clone();
            Ok(evaluation.with_aux("ce", Aux::Scalar(entropy)).with_aux("total_001ce", Aux::Scalar(total)))
        })
    }
}

/// The features of the biased network, `[b, e]`: on the host, or as a tensor.
fn bias_features(batch: &Batch, like: &Tensor<2>, b: usize) -> Result<Tensor<2>> {
    let features = match batch.tracked("bias_features") {
        Some(features) => features.clone().without_autodiff().cast(like.dtype()),
        None => {
            let on_host = batch.condition(SoftCon::SPEC.name, "bias_features", b)?;
            if on_host.columns() == 0 {
                return Err(Error::shape("bias_features", "at least one column", "none"));
            }
            on_host.to_tensor(&like.device(), like.dtype())
        }
    };
    check_rows("bias_features", b, features.dims()[0])?;
    Ok(features)
}

/// `m_ij / M_i` of a range of samples, with `M_i` the sum over both views of each.
fn shares(features: &Tensor<2>, label: &LabelGroups, sample: &LabelGroups, range: Range<usize>) -> Tensor<2> {
    let cosines = gemm(crate::loss::pairwise::rows_of(features, range.clone()), features.clone().transpose());
    let weights = cosines.neg() + 1.0;
    let left_out = label.same(range.clone()).bool_not().bool_or(sample.same(range));
    let rounding = smallest_weight(weights.dtype());
    let left_out = left_out.bool_or(weights.clone().lower_elem(rounding));
    let weights = weights.mask_fill(left_out, 0.0);
    let sums = weights.clone().sum_dim(1) * 2.0;
    let empty = sums.clone().lower_equal_elem(0.0);
    weights / sums.mask_fill(empty, 1.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, random, value};
    use crate::numeric::matrix::Matrix;

    /// The loss of three samples of one class whose features point to these angles.
    fn of(angles: [f64; 3]) -> f64 {
        let features = Matrix::from_fn(3, 2, |i, j| [angles[i].cos(), angles[i].sin()][j]);
        let batch = Batch::views(random(3, 4, 1), random(3, 4, 2))
            .with_indices("labels", vec![0; 3])
            .with_tensor("bias_features", place(&features));
        value(&SoftCon::default(), &batch)
    }

    #[test]
    fn double_precision_weighs_features_that_are_almost_alike() {
        // A tenth of the angles has a hundredth of the weights, and their shares stay the same.
        let alike = of([0.0, 1e-3, 3e-3]);
        assert!((alike - of([0.0, 1e-4, 3e-4])).abs() < 1e-4, "{alike}");
        assert!(alike > 0.1);
        // Equal features have weights that are errors, and the term is 0.
        assert!(of([0.3; 3]).abs() < 1e-12);
    }
}
