//! DC: NT-Xent without the positive in the denominator, and DCLW, which also weights the positives.
//!
//! ```text
//! paper     L = 1/(2b) sum_i l_i
//! released  L = 1/b sum_i l_i
//! DC        l_i = log sum_{j != i, i'} exp s_ij - s_ii'
//! DCLW      l_i = log sum_{j != i, i'} exp s_ij - w_i s_ii'
//!           w_i = 2 - b exp(c_i/sigma) / sum_k exp(c_k/sigma),   c_i = cos(x_i, x_i')
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! over `2 b` anchors of `view_a` and `view_b`, `[b, d]` each; `i'` is the other view of `i`, and `k` runs over the
//! `b` samples. Yeh et al., *Decoupled Contrastive Learning* (2022). Without the positive in the denominator the
//! gradient does not vanish for an easy positive, so that small batches learn as well; the weights `w` shift it
//! towards hard positives.
//!
//! | variant | value |
//! |---|---|
//! | `paper` (default) | mean over the `2 b` anchors; the sum leaves out `i` and `i'` |
//! | `released` | sum of the means of both views: twice as much; the sum has `i` and `i'` with `log 1e-45` added to their `s` |
//!
//! Gradient flows through `w`, as in the released code. `log 1e-45` is -103.6: the released form differs from twice the printed one
//! at temperatures below 0.03, where `s` is that large. Defaults as released: temperature 0.1, `sigma` 0.5. If [details
//! are requested](Batch::with_details), `aux.one_way_ab` and `aux.one_way_ba` are the means over the anchors of each view. Registered as
//! `dc` and `dclw`, since `dcl` is Debiased Contrastive Learning.
//!
//! With `b = 1` there is no negative: as printed, loss and gradient are 0; as released `l_i` is
//! `log( exp s_ii + exp s_ii' ) - 103.6 - s_ii'`, in DCLW too, where `w_i` is 1.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective, Variant, differentiate};
use crate::loss::pairwise::{
    LogSumExp, LogSumExpHandle, MeanHandle, PairwiseLoss, Positives, itself, log_add, other_view,
    where_present,
};
use crate::loss::spec::{Described, Family, Form, Parameter, Range, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// DC; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dc {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Mean, or sum of two means.
    pub variant: Variant,
}

impl Default for Dc {
    fn default() -> Self {
        Self { temperature: 0.1, variant: Variant::Paper }
    }
}

/// DCLW; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dclw {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Divisor of the cosines in the weights of the positives, 1e-12 to 1e12.
    pub sigma: f64,
    /// Mean, or sum of two means.
    pub variant: Variant,
}

impl Default for Dclw {
    fn default() -> Self {
        Self { temperature: 0.1, sigma: 0.5, variant: Variant::Paper }
    }
}

const RELEASED: Form = Form::new(
    "released",
    "sum of the means of both views; i and i' are in the sum, with log 1e-45 added to their s",
);

impl Described for Dc {
    const SPEC: Spec = Spec {
        name: "dc",
        title: "Decoupled contrastive (DC)",
        family: Family::Uniformity,
        summary: "two views, small batches",
        work: "Yeh et al., Decoupled Contrastive Learning, 2022",
        formula: "paper     L = 1/(2b) sum_i l_i\n\
            released  L = 1/b sum_i l_i\n\
            l_i = repel{log sum_{j != i, i'} exp s_ij} - attract{s_ii'}\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "i' the other view of i",
        inputs: &[VIEW_A, VIEW_B],
        algorithms: &["single", "cached"],
        variants: &[Form::new("paper", "mean over the 2 b anchors"), RELEASED],
        parameters: &[Parameter::temperature(0.1)],
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("decoupled.py"),
            include_str!("dc.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Dc {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let b = views.size;
        let (pairs, terms) = compared(&views, self.temperature, self.variant, batch)?;
        let result = pairs.evaluate(|reductions| {
            let (own, negatives) = (reductions.mean(terms.own), reductions.log_sum_exp(terms.negatives));
            match terms.self_similarity {
                None => where_present(negatives.clone() - own, &negatives),
                Some(self_similarity) => {
                    with_masked(negatives, reductions.mean(self_similarity), own.clone()) - own
                }
            }
        })?;
        let per_anchor = result.per_anchor.clone();
        views.stacked_loss(result, scale(self.variant, b)).with_details(batch, |evaluation| {
            let [one_way_ab, one_way_ba] = by_view(&per_anchor, b);
            let own_pairs = views.own_pairs(self.temperature) * (scale(self.variant, b) * (2 * b) as f64);
            Ok(evaluation
                .with_parts(own_pairs)
                .with_aux("one_way_ab", Aux::Scalar(one_way_ab))
                .with_aux("one_way_ba", Aux::Scalar(one_way_ba)))
        })
    }
}

impl Described for Dclw {
    const SPEC: Spec = Spec {
        name: "dclw",
        title: "Decoupled, weighted (DCLW)",
        family: Family::Uniformity,
        summary: "two views, small batches; hard positives weigh more",
        work: "Yeh et al., Decoupled Contrastive Learning, 2022",
        formula: "paper     L = 1/(2b) sum_i l_i\n\
            released  L = 1/b sum_i l_i\n\
            l_i = repel{log sum_{j != i, i'} exp s_ij} - attract{w_i s_ii'}\n\
            w_i = 2 - b exp(c_i/sigma) / sum_k exp(c_k/sigma),   c_i = cos(x_i, x_i')\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "i' the other view of i",
        inputs: &[VIEW_A, VIEW_B],
        algorithms: &["single", "cached"],
        variants: &[Form::new("paper", "mean over the 2 b anchors"), RELEASED],
        parameters: &[
            Parameter::temperature(0.1),
            Parameter::number(
                "sigma",
                Range::Moderate,
                0.5,
                "divisor of the cosines in the weights of the positives",
            )
            .symbol("σ")
            .between(0.1, 10.0),
        ],
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("decoupled.py"),
            include_str!("dclw.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Dclw {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let b = views.size;
        let (pairs, terms) = compared(&views, self.temperature, self.variant, batch)?;
        let negatives = pairs.evaluate(|reductions| {
            let negatives = reductions.log_sum_exp(terms.negatives);
            match terms.self_similarity {
                None => where_present(negatives.clone(), &negatives),
                Some(self_similarity) => {
                    with_masked(negatives, reductions.mean(self_similarity), reductions.mean(terms.own))
                }
            }
        })?;
        // Both views share the cosine of their own pair, so the positives of one direction are those of the other.
        let has_loss = b > 1 || self.variant == Variant::Released;
        let share = if has_loss { 1.0 / b as f64 } else { 0.0 };
        let (positives, grad_views) = differentiate([views.a.rows(), views.b.rows()], |[a, b]| {
            let cosines: Tensor<1> = (a * b).sum_dim(1).squeeze_dim(1);
            let [samples] = cosines.dims();
            let weights = softmax(cosines.clone() * self.sigma.recip(), 0) * -(samples as f64) + 2.0;
            (weights * cosines).sum() * (-share / self.temperature)
        });
        let [grad_a, grad_b] = grad_views.map(|g| g * 2.0);
        let [ab, ba] = by_view(&negatives.per_anchor, b).map(|mean| mean + positives.clone());

        let grad_rows = (negatives.grad_anchors + negatives.grad_candidates) / b as f64
            + Tensor::cat(vec![grad_a, grad_b], 0);
        let factor = scale(self.variant, b) * b as f64;
        let loss = (ab.clone() + ba.clone()) * factor;
        views.with_stacked_gradient(loss, grad_rows * factor).with_details(batch, |evaluation| {
            Ok(evaluation
                .with_parts(positives * (2.0 * factor))
                .with_aux("one_way_ab", Aux::Scalar(ab))
                .with_aux("one_way_ba", Aux::Scalar(ba)))
        })
    }
}

/// The reductions of both objectives.
#[derive(Clone, Copy)]
struct Terms {
    /// The similarity of the other view.
    own: MeanHandle,
    /// The rows of other samples.
    negatives: LogSumExpHandle,
    /// The similarity of the row to itself, as released.
    self_similarity: Option<MeanHandle>,
}

/// The comparison of the stacked rows.
fn compared(
    views: &TwoViews,
    temperature: f64,
    variant: Variant,
    batch: &Batch,
) -> Result<(PairwiseLoss<'static>, Terms)> {
    let mut pairs = views.compare_stacked(batch, temperature)?;
    let own = pairs.add_mean(Positives::Partner(other_view(views.size)));
    let negatives = pairs.add_log_sum_exp(LogSumExp::other_samples(views.size));
    let is_released = variant == Variant::Released;
    let self_similarity = is_released.then(|| pairs.add_mean(Positives::Partner(itself(2 * views.size))));
    Ok((pairs, Terms { own, negatives, self_similarity }))
}

/// The logarithm that released code adds to a logit which is to count as left out.
fn mask() -> f64 {
    1e-45_f64.ln()
}

/// The log-sum-exp of the negatives as released: the anchor itself, whose cosine is 1 unless it is a row of zeros, and its other
/// view are in it, masked.
fn with_masked(negatives: Tensor<1>, self_similarity: Tensor<1>, own: Tensor<1>) -> Tensor<1> {
    log_add(negatives, log_add(self_similarity, own) + mask())
}

/// Factor of the sum over the `2 b` anchors.
fn scale(variant: Variant, b: usize) -> f64 {
    match variant {
        Variant::Paper => 1.0 / (2 * b) as f64,
        Variant::Released => 1.0 / b as f64,
    }
}

/// The means over the anchors of view a and of view b.
fn by_view(per_anchor: &Tensor<1>, b: usize) -> [Tensor<1>; 2] {
    [0..b, b..2 * b].map(|anchors| per_anchor.clone().slice(anchors).mean())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{gradient_error, place, random, value};
    use crate::numeric::matrix::Matrix;

    #[test]
    fn a_released_mask_leaves_what_it_masks_in_the_sum() {
        let opposite = || place(&Matrix::from_fn(2, 2, |i, j| [[1.0, 0.0], [-1.0, 0.0]][i][j]));
        let batch = Batch::views(opposite(), opposite());
        let released = Dc { temperature: 0.01, variant: Variant::Released };
        // Negatives have exp(-100), the anchor and its other view exp(100) times 1e-45.
        let expected = 2.0 * (1e-45_f64.ln() + 2.0_f64.ln());
        assert!((value(&released, &batch) - expected).abs() < 1e-9, "{}", value(&released, &batch));
        let printed = Dc { variant: Variant::Paper, ..released.clone() };
        assert!((value(&printed, &batch) - (2.0_f64.ln() - 200.0)).abs() < 1e-9);
        let weighted = Dclw { temperature: 0.01, sigma: 0.5, variant: Variant::Released };
        assert!((value(&weighted, &batch) - expected).abs() < 1e-9, "equal pairs have weight 1");
        let batch = Batch::views(random(3, 4, 1), random(3, 4, 2));
        for temperature in [0.01, 0.5] {
            assert!(gradient_error(&Dc { temperature, variant: Variant::Released }, &batch) < 1e-5);
        }
        let alone = Batch::views(place(&Matrix::column(&[1.0])), place(&Matrix::column(&[1.0])));
        let of_one = value(&Dc { temperature: 0.5, variant: Variant::Released }, &alone);
        assert!((of_one - expected).abs() < 1e-9, "{of_one}");
    }

    #[test]
    fn a_released_mask_leaves_the_anchor_in_the_gradient_and_zeros_without_a_similarity() {
        let of = |row: [f64; 2]| place(&Matrix::from_fn(1, 2, |_, j| row[j]));
        let alone = Batch::views(of([0.6, 0.8]), of([0.8, -0.6])).with_unit_rows(true);
        let dc = Dc { temperature: 0.5, variant: Variant::Released };
        let dclw = Dclw { temperature: 0.5, sigma: 0.5, variant: Variant::Released };
        for objective in [&dc as &dyn Objective, &dclw] {
            let error = gradient_error(objective, &alone);
            assert!(error < 1e-6, "{}: {error}", objective.name());
            let zeros = value(objective, &Batch::views(of([0.0; 2]), of([0.0; 2])));
            assert!((zeros - 2.0 * (mask() + 2.0_f64.ln())).abs() < 1e-9, "{}: {zeros}", objective.name());
        }
    }
}
