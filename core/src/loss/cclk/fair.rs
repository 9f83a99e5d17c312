//! Fair-CCLK and HardNeg-CCLK: the negatives of an anchor are samples that share its conditioning value.
//!
//! ```text
//! paper       L = 1/b sum_i [ log( exp s_ii + (b-1) sum_j w_ji exp s_ij ) - s_ii ]
//! released    L = 1/(2b) sum_i [ log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij') ) - s_ii' ]
//! normalised  L = 1/(2b) sum_i [ log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij')/2 ) - s_ii' ]
//! W = (K + lambda I)^-1 K
//! ```
//!
//! (eq. 8 and 9 are the first), where in the other two the anchors are the `2b` rows of both views, `i'` is the other view of `i`, and `j`,
//! `j'` run over the two views of the other samples. Fair: `z` is the sensitive attribute. HardNeg: `z` is the
//! representation itself, `z_a` and `z_b`. As released, and in training here, that is the encoder's output before
//! the projection head, not normalised: the released `lambda` of 100 and bandwidth `temp_z` of 500 belong to those
//! 2048 numbers. (The paper writes `g(x)` for both.) If none is given, the unnormalised views are used. Representations on
//! a GPU stay there: `W` is then made by operations of the device, in `f32`, where a sample whose kernel values with all others are
//! below 1e-7 has weights of rounding alone, or none and then no loss; on the CPU it has those of its nearest samples. With a
//! wider kernel both agree. No gradient flows into `z`.
//!
//! An anchor whose negatives are all clipped has loss 0 and gradient 0. As printed, negative weights can bring the
//! denominator to 0 or below; it is then clamped to 1e-7 times the anchor's largest term, and takes the gradient of
//! that term. The anchor's loss is then about 16 lower, so that `aux.anchors_clamped` counts such anchors.
//!
//! As released, the denominator is clamped into `[1e-7, 1e20]`, where it has no gradient: the anchor is then only attracted by its
//! own pair. The upper bound is reached at temperatures of about 0.022, the lower one at 0.062, and below. The other forms do not
//! have them.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::super::views::TwoViews;
use super::super::{Evaluation, Objective, SolveAhead};
use super::signed::{FLOOR, SignedEstimate, signed_sums, with_kceo_diagonal};
use super::{BothEmbeddings, KernelWeights, Mass, PARAMETERS, VARIANTS, released_clamp, weighted};
use crate::error::{Error, Result};
use crate::kernel::conditional::WeightScheme;
use crate::loss::batch::Batch;
use crate::loss::infonce::info_nce::directed;
use crate::loss::pairwise::{PairwiseLoss, Positives, Reductions, log_add, other_view};
use crate::loss::spec::{Described, Family, Needed, Spec, VIEW_A, VIEW_B, Z, Z_A, Z_B};
use crate::numeric::matrix::check_values;

/// The formula of both, in which `z` alone differs.
const FORMULA: &str = "paper       L = 1/b sum_i [ repel{log( exp s_ii + (b-1) sum_j w_ji exp s_ij )} - attract{s_ii} ]\n\
    released    L = 1/(2b) sum_i [ repel{log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij') )} - attract{s_ii'} ]\n\
    normalised  L = 1/(2b) sum_i [ repel{log( exp s_ii' + (b-1) sum_j w_ij (exp s_ij + exp s_ij')/2 )} - attract{s_ii'} ]\n\
    W = (K + lambda I)^-1 K";

/// Fair-CCLK; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `z`, `[b, e]`; `z_a`, `z_b`, `[b, e]`,
/// optional.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FairCclk(pub KernelWeights);

/// HardNeg-CCLK; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `z`, `[b, e]`, else the
/// representation; `z_a`, `z_b`, `[b, e]`, optional.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HardNegCclk(pub KernelWeights);

impl Described for FairCclk {
    const SPEC: Spec = Spec {
        name: "fair-cclk",
        title: "Fair-CCLK",
        family: Family::Cclk,
        summary: "a continuous condition, through a kernel; samples that share it are negatives",
        work: "Tsai et al., Conditional Contrastive Learning with Kernel, 2022, eq. 8",
        formula: FORMULA,
        symbols: "s_ij the cosine over the temperature, i' and j' the other views, w_ij the entries of W by the form, K the kernel of z",
        inputs: &[VIEW_A, VIEW_B, Z, Z_A, Z_B],
        methods: &["single", "cached"],
        variants: VARIANTS,
        parameters: PARAMETERS,
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("operator.py"),
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

    fn ahead(&self) -> Option<&dyn SolveAhead> {
        Some(&self.0)
    }

    fn counts_shares(&self) -> bool {
        self.0.variant == WeightScheme::Normalised
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let operators = self.0.operators_of_shares(batch, self.name(), &views)?;
        conditional_negatives(&self.0, &views, batch, &operators)
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
        symbols: "s_ij the cosine over the temperature, i' and j' the other views, w_ij the entries of W by the form, K the kernel of the representation",
        inputs: &[VIEW_A, VIEW_B, Z.needed(Needed::OrRepresentation), Z_A, Z_B],
        methods: &["single", "cached"],
        variants: VARIANTS,
        parameters: PARAMETERS,
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("operator.py"),
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

    fn ahead(&self) -> Option<&dyn SolveAhead> {
        Some(&self.0)
    }

    fn counts_shares(&self) -> bool {
        self.0.variant == WeightScheme::Normalised
    }

    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        if ["z", "z_a", "z_b"].into_iter().any(|name| batch.has_condition(name)) {
            let operators = self.0.operators_of_shares(batch, self.name(), &views)?;
            return conditional_negatives(&self.0, &views, batch, &operators);
        }
        let is_tracked = ["z_a", "z_b"].into_iter().any(|name| batch.tracked(name).is_some());
        let names = if is_tracked { ["z_a", "z_b"] } else { ["view_a", "view_b"] };
        let [a, b] = names;
        let on_host = (batch.in_memory(self.name(), a)?, batch.in_memory(self.name(), b)?);
        let (Some(z_a), Some(z_b)) = on_host else {
            let (z_a, z_b) = (batch.tensor(self.name(), a)?, batch.tensor(self.name(), b)?);
            for (name, z) in [(a, &z_a), (b, &z_b)] {
                self.0.kernel.fits_columns(z.dims()[1])?;
                if z.dims()[0] != views.size {
                    let (expected, rows) = (format!("{} rows", views.size), format!("{} rows", z.dims()[0]));
                    return Err(Error::shape(name, expected, rows));
                }
            }
            let operators = self.0.operators_on_device(z_a, z_b, &views.a.rows());
            return conditional_negatives(&self.0, &views, batch, &operators);
        };
        check_values(a, &z_a)?;
        check_values(b, &z_b)?;
        let batch = batch.clone().with_condition("z_a", z_a).with_condition("z_b", z_b);
        let operators = self.0.operators_of_shares(&batch, self.name(), &views)?;
        conditional_negatives(&self.0, &views, &batch, &operators)
    }
}

fn conditional_negatives(
    settings: &KernelWeights,
    views: &TwoViews,
    batch: &Batch,
    operators: &BothEmbeddings,
) -> Result<Evaluation> {
    let evaluation = match settings.variant {
        WeightScheme::Paper => as_printed(settings, views, batch, operators),
        WeightScheme::Released | WeightScheme::Normalised => without_signs(settings, views, batch, operators),
    };
    let evaluation = evaluation?.with_accuracy(operators.accuracy);
    Ok(evaluation.with_parts(batch, || views.own_pairs(settings.temperature)))
}

/// The released and the normalised form, which have no negative weights.
fn without_signs(
    settings: &KernelWeights,
    views: &TwoViews,
    batch: &Batch,
    operators: &BothEmbeddings,
) -> Result<Evaluation> {
    let (b, z) = (views.size, views.stacked());
    let compared = PairwiseLoss::within(z, settings.temperature, batch.tile())?
        .with_peers(batch.peers())
        .mean(Positives::Partner(other_view(b)))
        .with_weights(operators.stacked());
    let denominator = |own: Tensor<1>, negatives: Tensor<1>, mass: f64| {
        log_add(own, negatives + mass.max(f64::MIN_POSITIVE).ln())
    };
    let others = (b - 1) as f64;
    let result = match settings.variant {
        WeightScheme::Released => {
            compared.log_sum_exp(weighted(b, settings.clip_threshold)).evaluate(|reductions| {
                let own = reductions.means[0].clone();
                released_clamp(denominator(own.clone(), reductions.sums[0].clone(), others)) - own
            })?
        }
        _ => compared.log_sum_exp(weighted(b, 0.0)).log_sum_exp(Mass::term(b)).evaluate(|reductions| {
            let negatives = Mass::of(&reductions.sums[1]).normalise(reductions.sums[0].clone());
            let own = reductions.means[0].clone();
            denominator(own.clone(), negatives, others / 2.0) - own
        })?,
    };
    Ok(views.stacked_loss(result, 1.0 / (2 * b) as f64))
}

fn as_printed(
    settings: &KernelWeights,
    views: &TwoViews,
    batch: &Batch,
    operators: &BothEmbeddings,
) -> Result<Evaluation> {
    let mass = (views.size - 1) as f64;
    // The denominator over `exp(shift)`, where `shift` is the logarithm of its largest term.
    let denominator = |reductions: &Reductions, estimate: &SignedEstimate| {
        let own = reductions.means[0].clone();
        let shift = estimate.largest().max_pair(own.clone());
        let positive = (own - shift.clone()).exp();
        (positive + estimate.relative_to(&shift) * mass, shift)
    };
    let evaluation = directed(views, batch, settings.symmetric, |anchors, candidates, side| {
        let operator = operators.of(side);
        let diagonal = operator.diagonal();
        signed_sums(settings, batch, anchors, candidates, operator)?.evaluate(|reductions| {
            let estimate = SignedEstimate::of(reductions, &diagonal);
            let (sum, shift) = denominator(reductions, &estimate);
            sum.clamp_min(FLOOR).log() + shift - reductions.means[0].clone()
        })
    })?;
    let margin =
        |reductions: &Reductions, estimate: &SignedEstimate| denominator(reductions, estimate).0 - FLOOR;
    with_kceo_diagonal(evaluation, settings, views, batch, operators, margin)
}
