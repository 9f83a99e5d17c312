//! WeaklySup-CCLK: samples that share the anchor's conditioning value are its positives.
//!
//! ```text
//! paper       L = 1/b sum_i [ log( P_i + sum_{j != i} exp s_ij ) - log P_i ],   P_i = sum_j w_ji exp s_ij
//! released    L = 1/(2b) sum_i [ log( P_i + sum_{j != i} exp s_ij ) - log P_i ],   P_i = sum_j w_ij (exp s_ij + exp s_ij')
//! normalised  L = 1/(2b) sum_i [ log( P_i + sum_{j != i} exp s_ij ) - log P_i ]
//! normalised  P_i = w_ii exp s_ii' + sum_{j != i} w_ij (exp s_ij + exp s_ij')/2
//! W = (K + lambda I)^-1 K,   s_ij = cos(x_i, x_j) / temperature
//! paper       w_ij = W_ij
//! released    w_ij = 0 if j = i or W_ij < clip_threshold, else W_ij; the diagonal of K is set to 1
//! normalised  w_ij = max(W_ij, 0) / sum_k max(W_ik, 0)
//! ```
//!
//! Tsai et al., *Conditional Contrastive Learning with Kernel* (2022): the printed form is eq. 7, with `i` and `j` samples and
//! `s_ij = cos(a_i, b_j) / temperature`. In the other two the anchors are the `2b` rows of both views, `i'` is the other view of
//! `i`, `j` and `j'` in `P_i` run over the two views of the other samples, and the sum of the negatives runs over all `2b - 1`
//! other rows.
//!
//! In the released form `w_ii = 0`, so the anchor's own other view is never a positive, yet it is one of the negatives: it is
//! pushed away. Both sums are clamped into `[1e-7, 1e20]`, where they have no gradient: an anchor whose weights are all clipped
//! learns repulsion only. In the normalised form the own pair keeps its weight, rows sum to 1, and an anchor without neighbours
//! falls back to its own pair, NT-Xent's positive: with `b = 1` the loss is `log 2` and the gradient 0.
//!
//! The loss takes the logarithm of the sum `P_i`, so one near positive is enough. If the views of a sample share a
//! feature that its partners lack, such as a colour, the own pair can be that positive, and a form that keeps it
//! then learns little from the partners.
//!
//! As printed, negative weights can bring `P_i` to 0 or below; it is then clamped to 1e-7 times the largest of its terms with a positive
//! weight, and takes the gradient of that term, which draws the anchor to samples that share its condition. An anchor without positive
//! weights has `exp(-60)` times the sum of the negatives in place of that term, so that its loss is finite.
//! `aux.anchors_clamped` counts both, if [details are requested](Batch::with_details).
//!
//! In `f32` a `P_i` near 0 loses digits, because it is a difference of sums: rounding errors grow by the factor
//! `sum_j |w_ji| exp s_ij / |P_i|`. For 37 samples without structure, a cosine kernel, `lambda` from 0.01 to 1 and
//! temperature 0.5 (the formula in NumPy) the largest factor is 640 to 1570, and gradients are off by 3e-5 to 2e-4 of their
//! largest entry.
//! Rounding the inputs to `f32` alone gives 4e-6 to 1e-5; the rest arises because the two sums are passed on as
//! logarithms. The other variants have no negative weights and stay below 1e-5.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::super::views::TwoViews;
use super::super::{ConditionedByKernel, Evaluation, Objective};
use super::settings::{CclkSettings, PARAMETERS, VARIANTS};
use super::signed::{FLOOR, SignedEstimate, signed_sums, with_kceo_diagonal};
use super::sums::{TotalWeight, log_or_empty, other_samples_above, other_samples_from, released_clamp};
use super::weights_of_views::WeightsOfViews;
use crate::error::Result;
use crate::kernel::conditional::WeightScheme;
use crate::loss::batch::Batch;
use crate::loss::pairwise::{EMPTY, LogSumExp, Positives, Reductions, log_add, other_view};
use crate::loss::spec::{Described, Family, Spec, VIEW_A, VIEW_B, Z, Z_A, Z_B};

/// The largest term of `P_i` is taken for `exp(-SPAN)` of the negatives where there is none.
const SPAN: f64 = 60.0;

/// WeaklySup-CCLK; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `z`, `[b, e]`; `z_a`, `z_b`, `[b,
/// e]`, optional.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WeakSupCclk(pub CclkSettings);

impl Described for WeakSupCclk {
    const SPEC: Spec = Spec {
        name: "weaksup-cclk",
        title: "WeaklySup-CCLK",
        family: Family::Cclk,
        summary: "a continuous condition, through a kernel; samples that share it are positives",
        work: "Tsai et al., Conditional Contrastive Learning with Kernel, 2022, eq. 7",
        formula: "paper       L = 1/b sum_i [ repel{log( P_i + sum_{j != i} exp s_ij )} - attract{log P_i} ],   P_i = sum_j w_ji exp s_ij\n\
            released    L = 1/(2b) sum_i [ repel{log( P_i + sum_{j != i} exp s_ij )} - attract{log P_i} ],   P_i = sum_j w_ij (exp s_ij + exp s_ij')\n\
            normalised  L = 1/(2b) sum_i [ repel{log( P_i + sum_{j != i} exp s_ij )} - attract{log P_i} ]\n\
            normalised  P_i = w_ii exp s_ii' + sum_{j != i} w_ij (exp s_ij + exp s_ij')/2\n\
            W = (K + lambda I)^-1 K\n\
            paper       w_ij = W_ij\n\
            released    w_ij = 0 if j = i or W_ij < clip_threshold, else W_ij\n\
            normalised  w_ij = max(W_ij, 0) / sum_k max(W_ik, 0)",
        symbols: "s_ij the cosine over the temperature, i' and j' the other views, K the kernel of z",
        inputs: &[VIEW_A, VIEW_B, Z, Z_A, Z_B],
        algorithms: &["single", "cached"],
        variants: VARIANTS,
        keeps_condition: true,
        parameters: PARAMETERS,
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("condition_weights.py"),
            include_str!("weights.py"),
            include_str!("weak.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for WeakSupCclk {
    fn check(&self) -> Result<()> {
        self.0.check(&Self::SPEC)
    }

    fn conditioned_by_kernel(&self) -> Option<&dyn ConditionedByKernel> {
        Some(&self.0)
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let weights = self.0.weights_of_views(batch, self.name(), &views)?;
        let evaluation = match self.0.variant {
            WeightScheme::Paper => as_printed(&self.0, &views, batch, &weights),
            WeightScheme::Released => as_released(&self.0, &views, batch, &weights),
            WeightScheme::Normalised => normalised(&self.0, &views, batch, &weights),
        };
        Ok(evaluation?.with_accuracy(weights.accuracy))
    }
}

fn as_printed(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
) -> Result<Evaluation> {
    let evaluation = views.directed(batch, settings.symmetric, |direction| {
        let weights = weights.of(direction);
        let diagonal = weights.diagonal();
        let (mut pairs, terms) = signed_sums(settings, views, batch, weights, direction)?;
        let others = pairs.add_log_sum_exp(LogSumExp::other_samples(views.size));
        pairs.evaluate(|reductions| {
            let estimate = SignedEstimate::of(reductions, terms, &diagonal);
            let negatives = reductions.log_sum_exp(others);
            let positive = printed_positive(&estimate, &negatives);
            log_add(positive.clone(), negatives) - positive
        })
    })?;
    with_kceo_diagonal(evaluation, settings, views, batch, weights, above_floor)
}

/// `log P_i` as printed, clamped.
fn printed_positive(estimate: &SignedEstimate, negatives: &Tensor<1>) -> Tensor<1> {
    let (largest, positive) = (estimate.largest(), estimate.largest_positive());
    let has_none = positive.clone().lower_elem(EMPTY / 2.0);
    let floor = positive.mask_where(has_none, negatives.clone() - SPAN) + FLOOR.ln();
    // Where it is not clamped, the largest term is at most twice the largest positive one.
    let log = estimate.relative_to(&largest).clamp_min(FLOOR / 4.0).log() + largest;
    log.mask_where(above_floor(estimate).lower_equal_elem(0.0), floor)
}

/// `P_i` less its lower bound, over the largest of its terms.
fn above_floor(estimate: &SignedEstimate) -> Tensor<1> {
    let largest = estimate.largest();
    estimate.relative_to(&largest) - (estimate.largest_positive() - largest).exp() * FLOOR
}

fn as_released(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
) -> Result<Evaluation> {
    let b = views.size;
    let mut pairs = weights.compare_stacked(views, batch, settings.temperature)?;
    let dtype = views.a.rows().dtype();
    let positives = pairs.add_log_sum_exp(other_samples_from(b, settings.clip_threshold, dtype));
    let others = pairs.add_log_sum_exp(LogSumExp::other_rows(2 * b));
    let log_positive = |reductions: &Reductions| released_clamp(reductions.log_sum_exp(positives));
    let result = pairs.evaluate(|reductions| {
        let positive = log_positive(reductions);
        released_clamp(log_add(positive.clone(), reductions.log_sum_exp(others))) - positive
    })?;
    let reductions = result.reductions.clone();
    views
        .mean_over_anchors(result)
        .with_details(batch, |evaluation| Ok(evaluation.with_parts(log_positive(&reductions).mean().neg())))
}

fn normalised(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
) -> Result<Evaluation> {
    let b = views.size;
    let own_weights = weights.own_weights().clamp_min(0.0);
    let mut pairs = weights.compare_stacked(views, batch, settings.temperature)?;
    let own_pair = pairs.add_mean(Positives::Partner(other_view(b)));
    let neighbours = pairs.add_log_sum_exp(other_samples_above(b, 0.0));
    let others = pairs.add_log_sum_exp(LogSumExp::other_rows(2 * b));
    let total_weight = pairs.add_log_sum_exp(TotalWeight::term(b));
    let positive = |reductions: &Reductions| {
        // log P_i, all terms as logarithms, with w_ij = W+_ij / (W+_ii + sum_{k != i} W+_ik) and W+ = max(W, 0): `own_weight` is
        // log W+_ii, `sum_of_weights` the log of the bracket. A sample without neighbours keeps the whole weight.
        let total_weight = TotalWeight::of(reductions.log_sum_exp(total_weight));
        let own_weight = log_or_empty(own_weights.clone().mask_fill(total_weight.is_empty(), 1.0));
        let sum_of_weights = log_add(total_weight.0, own_weight.clone());
        let neighbours = reductions.log_sum_exp(neighbours) - sum_of_weights.clone() - std::f64::consts::LN_2;
        log_add(reductions.mean(own_pair) + own_weight - sum_of_weights, neighbours)
    };
    let result = pairs.evaluate(|reductions| {
        let positive = positive(reductions);
        log_add(positive.clone(), reductions.log_sum_exp(others)) - positive
    })?;
    let reductions = result.reductions.clone();
    views
        .mean_over_anchors(result)
        .with_details(batch, |evaluation| Ok(evaluation.with_parts(positive(&reductions).mean().neg())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{gradient_error, place, read, value};
    use crate::loss::objective::Aux;
    use crate::numeric::matrix::Matrix;

    /// Rows on a circle.
    fn at(degrees: [f64; 3]) -> Tensor<2> {
        place(&Matrix::from_fn(3, 2, |i, j| {
            let radians = degrees[i].to_radians();
            if j == 0 { radians.cos() } else { radians.sin() }
        }))
    }

    /// The number of clamped anchors.
    fn clamped(evaluation: &Evaluation) -> f64 {
        let Aux::Scalar(clamped) = &evaluation.aux["anchors_clamped"] else { panic!("no number") };
        read(clamped.clone().unsqueeze())[(0, 0)]
    }

    /// As printed, an anchor whose estimate is negative, because samples of another condition are nearer than its own pair, is
    /// drawn to its pair and pushed away from the others; it is not drawn to those by its negative weights.
    #[test]
    fn an_anchor_with_a_negative_estimate_is_drawn_to_its_pair() {
        let of_a = [0.0, 200.0, 220.0];
        let of_b: [f64; 3] = [150.0, 30.0, 210.0];
        let batch = Batch::views(at(of_a), at(of_b))
            .with_condition("z", Matrix::column(&[1.0, -1.0, -1.0]))
            .with_details(true);
        let settings = CclkSettings { variant: WeightScheme::Paper, ..CclkSettings::default() };
        let evaluation = WeakSupCclk(settings.clone()).evaluate(&batch).unwrap();
        assert_eq!(clamped(&evaluation), 1.0);

        // (cos, sin) of the first anchor is (1, 0): the second component of the gradient is that along the circle.
        let (cosines, slopes): (Vec<f64>, Vec<f64>) =
            of_b[1..].iter().map(|angle| (angle.to_radians().cos(), angle.to_radians().sin())).unzip();
        let weights: Vec<f64> = cosines.iter().map(|cosine| (cosine / 0.5).exp()).collect();
        let repulsion = weights.iter().zip(&slopes).map(|(weight, slope)| weight * slope / 0.5).sum::<f64>()
            / weights.iter().sum::<f64>();
        let attraction = of_b[0].to_radians().sin() / 0.5;
        let expected = (repulsion - attraction) / 3.0;
        let gradient = read(evaluation.gradients["view_a"].clone())[(0, 1)];
        assert!((gradient - expected).abs() < 1e-6, "{gradient} {expected}");
        assert!(gradient_error(&WeakSupCclk(settings), &batch) < 1e-6);
    }

    /// The anchors of view b were not counted where their loss is half of the whole.
    #[test]
    fn clamped_anchors_of_both_directions_are_counted() {
        let views = [[0.0, 200.0, 220.0], [150.0, 30.0, 210.0]].map(at);
        let count = |[a, b]: [&Tensor<2>; 2], symmetric| {
            let batch = Batch::views(a.clone(), b.clone())
                .with_condition("z", Matrix::column(&[1.0, -1.0, -1.0]))
                .with_details(true);
            let settings =
                CclkSettings { variant: WeightScheme::Paper, symmetric, ..CclkSettings::default() };
            clamped(&WeakSupCclk(settings).evaluate(&batch).unwrap())
        };
        let [a, b] = &views;
        assert_eq!(count([a, b], false), 1.0);
        assert_eq!(count([b, a], true), count([b, a], false) + 1.0);
    }

    /// As printed, an anchor whose negatives are `e^17` times its positives is attracted with all of its gradient.
    #[test]
    fn a_hard_anchor_is_attracted() {
        let batch = Batch::default()
            .with_tensor("view_a", at([0.0, 140.0, 250.0]))
            .with_tensor("view_b", at([150.0, 10.0, 240.0]))
            .with_condition(
                "z",
                Matrix::new(3, 3, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).unwrap(),
            );
        let settings =
            CclkSettings { temperature: 0.1, variant: WeightScheme::Paper, ..CclkSettings::default() };
        let objective = WeakSupCclk(settings);
        let loss = value(&objective, &batch);
        // With K = I, P_i is w exp s_ii, w = 1 / 1.01.
        let cosine = |a: f64, b: f64| ((a - b).to_radians().cos() / 0.1).exp();
        let anchors =
            [(0.0, [150.0, 10.0, 240.0]), (140.0, [10.0, 150.0, 240.0]), (250.0, [240.0, 150.0, 10.0])];
        let of = |(a, [own, other, another]): (f64, [f64; 3])| {
            let positive = cosine(a, own) / 1.01;
            ((positive + cosine(a, other) + cosine(a, another)) / positive).ln()
        };
        let expected = anchors.into_iter().map(of).sum::<f64>() / 3.0;
        assert!((loss - expected).abs() < 1e-9 * expected, "{loss} {expected}");
        assert!(of(anchors[0]) > 17.0);
        assert!(gradient_error(&objective, &batch) < 1e-6);
    }
}
