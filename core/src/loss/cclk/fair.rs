//! Fair-CCLK and HardNeg-CCLK: the negatives of an anchor are samples that share its conditioning value.
//!
//! ```text
//! paper       L = 1/b sum_i [ log( exp s_ii + (b-1) sum_j w_ji exp s_ij ) - s_ii ]
//! released    L = 1/(2b) sum_i [ log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij') ) - s_ii' ]
//! normalised  L = 1/(2b) sum_i [ log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij')/2 ) - s_ii' ]
//! W = (K + lambda I)^-1 K,   s_ij = cos(x_i, x_j) / temperature
//! paper       w_ij = W_ij
//! released    w_ij = 0 if W_ij < clip_threshold, else W_ij; the diagonal of K is set to 1
//! normalised  w_ij = max(W_ij, 0) / sum_{k != i} max(W_ik, 0)
//! ```
//!
//! Tsai et al., *Conditional Contrastive Learning with Kernel* (2022): the printed form is eq. 8 (Fair) and 9 (HardNeg), with `i`
//! and `j` samples, `j = i` among them, and `s_ij = cos(a_i, b_j) / temperature`. In the other two the anchors are the `2b` rows of
//! both views, `i'` is the other view of `i`, and `j`, `j'` run over the two views of the other samples. Fair: `z` is the sensitive
//! attribute. HardNeg: `z` is the representation itself, `z_a` and `z_b`. As released, and in training here, that is the encoder's
//! output before the projection head, not normalised: the released `lambda` of 100 and bandwidth `temp_z` of 500 belong to those
//! 2048 numbers. (The paper writes `g(x)` for both.) If none is given, the unnormalised views are used. Representations on
//! a GPU stay there: `W` is then made by operations of the device, in `f32`, where a sample whose kernel values with all others are
//! below 1e-7 has weights of rounding alone, or none and then no loss; on the CPU it has those of its nearest samples. With a
//! wider kernel both agree. No gradient flows into `z`.
//!
//! With `b = 1`, and for an anchor whose negatives are all clipped, loss and gradient are 0. As printed, negative weights can bring the
//! denominator to 0 or below; it is then clamped to 1e-7 times the anchor's largest term, and takes the gradient of
//! that term. The logarithm of such a denominator is that of the largest term plus `log 1e-7`, about -16; `aux.anchors_clamped`
//! counts these anchors, if [details are requested](Batch::with_details).
//!
//! As released, the denominator is clamped into `[1e-7, 1e20]`. Outside it has no gradient: the anchor is then only attracted by its
//! own pair. A cosine of 1 reaches the upper bound at temperatures up to about 0.022, a denominator of cosines of -1 the lower bound
//! at temperatures up to about 0.062. `paper` and `normalised` have no such bounds.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::super::views::TwoViews;
use super::super::{ConditionedByKernel, Evaluation, Objective};
use super::settings::{CclkSettings, PARAMETERS, VARIANTS};
use super::signed::{FLOOR, SignedEstimate, signed_sums, with_kceo_diagonal};
use super::sums::{TotalWeight, other_samples_above, other_samples_from, released_clamp};
use super::weights_of_views::WeightsOfViews;
use crate::error::Result;
use crate::kernel::conditional::WeightScheme;
use crate::loss::batch::Batch;
use crate::loss::pairwise::{Positives, log_add, other_view};
use crate::loss::spec::{Described, Family, Needed, Spec, VIEW_A, VIEW_B, Z, Z_A, Z_B};

/// The formula of both, in which `z` alone differs.
const FORMULA: &str = "paper       L = 1/b sum_i [ repel{log( exp s_ii + (b-1) sum_j w_ji exp s_ij )} - attract{s_ii} ]\n\
    released    L = 1/(2b) sum_i [ repel{log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij') )} - attract{s_ii'} ]\n\
    normalised  L = 1/(2b) sum_i [ repel{log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij')/2 )} - attract{s_ii'} ]\n\
    W = (K + lambda I)^-1 K\n\
    paper       w_ij = W_ij\n\
    released    w_ij = 0 if W_ij < clip_threshold, else W_ij\n\
    normalised  w_ij = max(W_ij, 0) / sum_{k != i} max(W_ik, 0)";

/// Fair-CCLK; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `z`, `[b, e]`; `z_a`, `z_b`, `[b, e]`,
/// optional.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FairCclk(pub CclkSettings);

/// HardNeg-CCLK; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `z`, `[b, e]`, else the
/// representation; `z_a`, `z_b`, `[b, e]`, optional.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HardNegCclk(pub CclkSettings);

impl Described for FairCclk {
    const SPEC: Spec = Spec {
        name: "fair-cclk",
        title: "Fair-CCLK",
        family: Family::Cclk,
        summary: "a continuous condition, through a kernel; samples that share it are negatives",
        work: "Tsai et al., Conditional Contrastive Learning with Kernel, 2022, eq. 8",
        formula: FORMULA,
        symbols: "s_ij the cosine over the temperature, i' and j' the other views, K the kernel of z",
        inputs: &[VIEW_A, VIEW_B, Z, Z_A, Z_B],
        algorithms: &["single", "cached"],
        variants: VARIANTS,
        parameters: PARAMETERS,
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("condition_weights.py"),
            include_str!("weights.py"),
            include_str!("negatives.py"),
            include_str!("fair.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for FairCclk {
    fn check(&self) -> Result<()> {
        self.0.check(&Self::SPEC)
    }

    fn conditioned_by_kernel(&self) -> Option<&dyn ConditionedByKernel> {
        Some(&self.0)
    }

    fn normalises_weights(&self) -> bool {
        self.0.variant == WeightScheme::Normalised
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let weights = self.0.weights_to_normalise(batch, self.name(), &views)?;
        conditional_negatives(&self.0, &views, batch, &weights)
    }
}

impl Described for HardNegCclk {
    const SPEC: Spec = Spec {
        name: "hardneg-cclk",
        title: "HardNeg-CCLK",
        family: Family::Cclk,
        summary: "the representation itself as condition, through a kernel; near samples are negatives",
        work: "Tsai et al., Conditional Contrastive Learning with Kernel, 2022, eq. 9",
        formula: FORMULA,
        symbols: "s_ij the cosine over the temperature, i' and j' the other views, K the kernel of the representation",
        inputs: &[VIEW_A, VIEW_B, Z.needed(Needed::OrRepresentation), Z_A, Z_B],
        algorithms: &["single", "cached"],
        variants: VARIANTS,
        parameters: PARAMETERS,
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("condition_weights.py"),
            include_str!("weights.py"),
            include_str!("negatives.py"),
            include_str!("hardneg.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for HardNegCclk {
    fn check(&self) -> Result<()> {
        self.0.check(&Self::SPEC)
    }

    fn conditioned_by_kernel(&self) -> Option<&dyn ConditionedByKernel> {
        Some(&self.0)
    }

    fn normalises_weights(&self) -> bool {
        self.0.variant == WeightScheme::Normalised
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let weights = self.0.weights_of_representations(batch, self.name(), &views)?;
        conditional_negatives(&self.0, &views, batch, &weights)
    }
}

fn conditional_negatives(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
) -> Result<Evaluation> {
    let evaluation = match settings.variant {
        WeightScheme::Paper => as_printed(settings, views, batch, weights),
        WeightScheme::Released => as_released(settings, views, batch, weights),
        WeightScheme::Normalised => normalised(settings, views, batch, weights),
    };
    evaluation?
        .with_accuracy(weights.accuracy)
        .with_details(batch, |evaluation| Ok(evaluation.with_parts(views.own_pairs(settings.temperature))))
}

fn as_printed(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
) -> Result<Evaluation> {
    let mass = (views.size - 1) as f64;
    // The denominator over `exp(shift)`, where `shift` is the logarithm of its largest term.
    let denominator = |estimate: &SignedEstimate| {
        let own = estimate.own_similarity.clone();
        let shift = estimate.largest().max_pair(own.clone());
        let positive = (own - shift.clone()).exp();
        (positive + estimate.relative_to(&shift) * mass, shift)
    };
    let evaluation = views.directed(batch, settings.symmetric, |direction| {
        let weights = weights.of(direction);
        let diagonal = weights.diagonal();
        let (pairs, terms) = signed_sums(settings, views, batch, weights, direction)?;
        pairs.evaluate(|reductions| {
            let estimate = SignedEstimate::of(reductions, terms, &diagonal);
            let (sum, shift) = denominator(&estimate);
            sum.clamp_min(FLOOR).log() + shift - estimate.own_similarity
        })
    })?;
    let margin = |estimate: &SignedEstimate| denominator(estimate).0 - FLOOR;
    with_kceo_diagonal(evaluation, settings, views, batch, weights, margin)
}

fn as_released(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
) -> Result<Evaluation> {
    let b = views.size;
    let mut pairs = weights.compare_stacked(views, batch, settings.temperature)?;
    let own = pairs.add_mean(Positives::Partner(other_view(b)));
    let dtype = views.a.rows().dtype();
    let negatives = pairs.add_log_sum_exp(other_samples_from(b, settings.clip_threshold, dtype));
    let result = pairs.evaluate(|reductions| {
        let own = reductions.mean(own);
        let sum = log_denominator(own.clone(), reductions.log_sum_exp(negatives), (b - 1) as f64);
        released_clamp(sum) - own
    })?;
    Ok(views.mean_over_anchors(result))
}

fn normalised(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
) -> Result<Evaluation> {
    let b = views.size;
    let mut pairs = weights.compare_stacked(views, batch, settings.temperature)?;
    let own = pairs.add_mean(Positives::Partner(other_view(b)));
    let negatives = pairs.add_log_sum_exp(other_samples_above(b, 0.0));
    let total_weight = pairs.add_log_sum_exp(TotalWeight::term(b));
    let result = pairs.evaluate(|reductions| {
        let negatives = TotalWeight::of(reductions.log_sum_exp(total_weight))
            .normalise(reductions.log_sum_exp(negatives));
        let own = reductions.mean(own);
        // Half of b - 1: the sum has both views of each sample.
        log_denominator(own.clone(), negatives, (b - 1) as f64 / 2.0) - own
    })?;
    Ok(views.mean_over_anchors(result))
}

/// `log( exp own + mass exp negatives )`. With `b = 1` the mass is 0, and its logarithm is kept finite.
fn log_denominator(own: Tensor<1>, negatives: Tensor<1>, mass: f64) -> Tensor<1> {
    log_add(own, negatives + mass.max(f64::MIN_POSITIVE).ln())
}
