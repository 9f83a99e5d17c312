//! The loss of the debiased network: negatives are weighted by their difficulty.
//!
//! ```text
//! L = 1/(2b) sum_i [ log( exp s_ii' + sum_j w_ij exp s_ij ) - s_ii' ]
//! s_ij = cos(x_i, x_j) / temperature
//!
//! paper      w_ij = 1 + D_ij / (D_ij + B_ij)
//! released   w_ij = 1 + q_ij / (q_ij + p_ij + 1e-6)
//!
//! as in DCL  L = 1/(2b) sum_i [ log( exp s_ii' + N g_i ) - s_ii' ],   N = 2b - 2
//!            N g_i = max( ( sum_j w_ij exp s_ij - tau_plus N exp s_ii' ) / (1 - tau_plus), N exp(-1/temperature) )
//! as in HCL  the same with R_i in place of sum_j w_ij exp s_ij
//!            R_i = sum_j w_ij exp((1 + beta) s_ij) / ( 1/N sum_j exp(beta s_ij) )
//! ```
//!
//! over the `2 b` unit rows of `view_a` and `view_b`. Of the weights, `D_ij` is the distance of rows `i` and `j` in this
//! network (squared, or as `distance` says), divided by the largest of all anchors and negatives, and `B_ij` the same of
//! the biased network; if both are 0, the weight is 1.5. `q_ij` is `exp s_ij` divided by the Euclidean length of its
//! row of negatives, `sqrt( sum_j exp(s_ij)^2 )`, and `p_ij` the same of the biased network, with the same temperature.
//! The weights have no gradient. Jang and Wang, *Difficulty-Based Sampling for Debiased Contrastive Representation Learning*
//! (2023), the loss of `E_d`.
//!
//! The sum over negatives can be corrected for the positives among them as in [`Dcl`](crate::loss::Dcl), or re-weighted
//! and corrected as in [`Hcl`](crate::loss::Hcl), whose divisor is without `w`; the poster leaves this open and the released code
//! always corrects as DCL. `wcl-weighted-dcl` is the form of the released code, with its weights and the correction of DCL.
//! `wcl-weighted-infonce` is the printed form, with `correction` `none`, `dcl` or `hcl`. Both accept both kinds of
//! weights, by their variant.
//!
//! Published: temperature 0.5, `tau_plus` 0.1. `aux.weights` contains the weights, `[2b, 2b - 2]`, a row for each
//! anchor without its own pair, if [details are requested](Batch::with_details) and `b` is above 1. Use it if a dominant easy
//! feature hides the desired one and no bias label exists.
//! With `b = 1` loss and gradient are 0.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};
use simile_kernels::tile_rows;

use super::{Distance, Network, difficulty, weight_table};
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::infonce::corrected::{Debias, TAU_PLUS, reweighted};
use crate::loss::objective::{Evaluation, Objective, Variant};
use crate::loss::pairwise::{LogSumExp, PairWeights, Positives, Weight, log_add, other_view};
use crate::loss::spec::{
    BIASED_A, BIASED_B, Described, Family, Form, InputNetworks, Parameter, Range, Spec, VIEW_A, VIEW_B,
};
use crate::loss::views::TwoViews;

/// Largest number of anchors whose weights are computed at once: a dozen passes go over them, on a CPU in its cache.
const MOST_ROWS: usize = 256;

/// The correction for positives among the negatives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Correction {
    /// No correction.
    #[default]
    None,
    /// The correction of DCL.
    Dcl,
    /// The weights and the correction of HCL.
    Hcl,
}

/// The printed form; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `view_a_biased`,
/// `view_b_biased`, `[b, e]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WclWeightedInfoNce {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// The distance (variant `paper` only).
    pub distance: Distance,
    /// The correction for positives among the negatives.
    pub correction: Correction,
    /// Probability that a negative is of the anchor's class, from 0 to below 1 (with a correction).
    pub tau_plus: f64,
    /// Concentration of the weights of HCL (`correction = "hcl"` only), 0 to 1e12.
    pub beta: f64,
    /// The variant of the weights.
    pub variant: Variant,
}

impl Default for WclWeightedInfoNce {
    fn default() -> Self {
        Self {
            temperature: 0.5,
            distance: Distance::Squared,
            correction: Correction::None,
            tau_plus: 0.1,
            beta: 1.0,
            variant: Variant::Paper,
        }
    }
}

/// The released form; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `view_a_biased`,
/// `view_b_biased`, `[b, e]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WclWeightedDcl {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Probability that a negative is of the anchor's class, from 0 to below 1.
    pub tau_plus: f64,
    /// The variant of the weights.
    pub variant: Variant,
}

impl Default for WclWeightedDcl {
    fn default() -> Self {
        Self { temperature: 0.5, tau_plus: 0.1, variant: Variant::Released }
    }
}

impl WclWeightedDcl {
    fn general(&self) -> WclWeightedInfoNce {
        let Self { temperature, tau_plus, variant } = *self;
        let correction = Correction::Dcl;
        WclWeightedInfoNce { temperature, tau_plus, variant, correction, ..WclWeightedInfoNce::default() }
    }
}

/// The cosines and the weights in the formulas of both forms.
macro_rules! weights_formula {
    () => {
        "s_ij = cos(x_i, x_j) / temperature\n\
         paper      w_ij = 1 + D_ij / (D_ij + B_ij)\n\
         released   w_ij = 1 + q_ij / (q_ij + p_ij + 1e-6)"
    };
}

/// The meaning of their symbols, from the negatives on.
macro_rules! negatives_symbols {
    () => {
        "rows of other samples, w_ij their difficulty; D_ij, B_ij the distances in this and in the biased network, each divided \
         by the largest; q_ij, p_ij the exp s_ij of both networks, each row divided by its Euclidean norm"
    };
}

impl Described for WclWeightedDcl {
    const SPEC: Spec = Spec {
        name: "wcl-weighted-dcl",
        title: "Difficulty-weighted DCL",
        family: Family::Difficulty,
        summary: "two views and a biased network; corrected as DCL",
        work: "Jang and Wang, Difficulty-Based Sampling for Debiased Contrastive Representation Learning, 2023",
        formula: concat!(
            "L = 1/(2b) sum_i [ repel{log( exp s_ii' + N g_i )} - attract{s_ii'} ]\n\
             N g_i = max( ( sum_j w_ij exp s_ij - tau_plus N exp s_ii' ) / (1 - tau_plus), N exp(-1/temperature) )\n",
            weights_formula!(),
        ),
        symbols: concat!("i' the other view of i, j the N = 2b - 2 ", negatives_symbols!()),
        inputs: &[VIEW_A, VIEW_B, BIASED_A, BIASED_B],
        networks: InputNetworks::Biased,
        algorithms: &["difficulty"],
        variants: &[
            Form::new("released", "weights of similarities"),
            Form::new("paper", "weights of distances"),
        ],
        detached: true,
        parameters: &[Parameter::temperature(0.5), TAU_PLUS],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for WclWeightedDcl {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        self.general().evaluate(batch).map_err(|error| error.for_objective(self.name()))
    }
}

impl Described for WclWeightedInfoNce {
    const SPEC: Spec = Spec {
        name: "wcl-weighted-infonce",
        title: "Difficulty-weighted InfoNCE",
        family: Family::Difficulty,
        summary: "two views and a biased network; hard negatives weigh more",
        work: "Jang and Wang, Difficulty-Based Sampling for Debiased Contrastive Representation Learning, 2023",
        formula: concat!(
            "L = 1/(2b) sum_i [ repel{log( exp s_ii' + sum_j w_ij exp s_ij )} - attract{s_ii'} ]\n",
            weights_formula!(),
        ),
        symbols: concat!(
            "i' the other view of i, j the ",
            negatives_symbols!(),
            "; `correction` = dcl or hcl corrects the sum as these objectives do",
        ),
        inputs: &[VIEW_A, VIEW_B, BIASED_A, BIASED_B],
        networks: InputNetworks::Biased,
        algorithms: &["difficulty"],
        variants: &[
            Form::new("paper", "weights of distances"),
            Form::new("released", "weights of similarities"),
        ],
        detached: true,
        parameters: &[
            Parameter::temperature(0.5),
            Parameter::choice(
                "distance",
                &["squared", "euclidean"],
                "distance of unit rows in the form `paper`",
            )
            .only_in("paper"),
            Parameter::choice(
                "correction",
                &["none", "dcl", "hcl"],
                "correction for positives among the negatives",
            ),
            TAU_PLUS.meaning("probability that a negative is of the anchor's class, with a correction"),
            Parameter::number(
                "beta",
                Range::Factor,
                1.0,
                "concentration of the weights of the correction hcl",
            ),
        ],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for WclWeightedInfoNce {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let biased = TwoViews::named(batch, self.name(), ["view_a_biased", "view_b_biased"])?;
        biased.check_samples(views.size)?;
        let b = views.size;
        let network = |rows| match self.variant {
            Variant::Paper => Network::distances(rows, self.distance, batch.tile()),
            Variant::Released => Network::similarities(rows, self.temperature),
        };
        let (debiased, biased) = (network(views.stacked()), network(biased.stacked()));
        let weights = |range| difficulty(&debiased, &biased, &range, self.variant);

        let power = if self.correction == Correction::Hcl { 1.0 + self.beta } else { 1.0 };
        let weighted = LogSumExp::other_samples(b).with_power(power).weighted(Weight::Above(0.0));
        let tile = tile_rows(batch.tile(), 2 * b, 2 * b).min(MOST_ROWS);
        let tiles = (0..2 * b).step_by(tile).map(|start| weights(start..(start + tile).min(2 * b)));
        let pairs = views.compare_stacked(batch, self.temperature)?;
        let mut pairs = pairs.with_weights(PairWeights::pairs(Tensor::cat(tiles.collect(), 0)));
        let own = pairs.add_mean(Positives::Partner(other_view(b)));
        let negatives = pairs.add_log_sum_exp(weighted);
        let debias = Debias::new(self.temperature, self.tau_plus, b)?;
        let result = match self.correction {
            Correction::None => pairs.evaluate(|reductions| {
                let own = reductions.mean(own);
                log_add(own.clone(), reductions.log_sum_exp(negatives)) - own
            })?,
            Correction::Dcl => pairs.evaluate(|reductions| {
                debias.loss(reductions.mean(own), reductions.log_sum_exp(negatives))
            })?,
            Correction::Hcl => {
                let weights = pairs.add_log_sum_exp(LogSumExp::other_samples(b).with_power(self.beta));
                pairs.evaluate(|reductions| {
                    let (raised, weights) =
                        (reductions.log_sum_exp(negatives), reductions.log_sum_exp(weights));
                    debias.loss(reductions.mean(own), reweighted(raised, weights, b))
                })?
            }
        };
        views.mean_over_anchors(result).with_details(batch, |evaluation| {
            Ok(match b {
                1 => evaluation,
                _ => evaluation.with_aux("weights", weight_table(weights(0..2 * b))),
            })
        })
    }
}
