//! HCL: DCL with larger weights for negatives nearer to the anchor.
//!
//! ```text
//! L = 1/(2b) sum_i [ log( exp s_ii' + N g_i ) - s_ii' ]
//! N g_i = max( ( R_i - tau_plus N exp s_ii' ) / (1 - tau_plus),  N exp(-1/temperature) )
//! R_i = sum_j exp((1 + beta) s_ij) / ( 1/N sum_j exp(beta s_ij) )
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! with the symbols of [`Dcl`](crate::loss::Dcl); `beta` is the concentration of the weights. Robinson et al.,
//! *Contrastive Learning with Hard Negative Samples* (2021), section 4. `beta` multiplies `s`, which includes the
//! temperature: the concentration on the cosine is `beta / temperature`.
//!
//! The weights `exp(beta s)` are differentiated too, as in the released code; paper and code agree. Defaults as
//! published: temperature 0.5, `tau_plus` 0.1, `beta` 1. CCL-K compares itself with this
//! objective as HardNeg-InfoNCE without stating the values it used.
//!
//! With `beta` = 0 it is [`Dcl`](crate::loss::Dcl), with `tau_plus` = 0 as well [`NtXent`](crate::loss::NtXent).
//! `aux.anchors_at_floor` counts anchors at the floor, if [details are requested](Batch::with_details). With `b = 1` loss and
//! gradient are 0.

use serde::{Deserialize, Serialize};

use super::corrected::{Debias, TAU_PLUS, reweighted};
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::pairwise::{LogSumExp, Positives, Reductions, other_view};
use crate::loss::spec::{Described, Family, Parameter, Range, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// HCL; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hcl {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Probability that a negative is of the anchor's class, from 0 to below 1.
    pub tau_plus: f64,
    /// Concentration of the weights of the negatives, 0 to 1e12.
    pub beta: f64,
}

impl Default for Hcl {
    fn default() -> Self {
        Self { temperature: 0.5, tau_plus: 0.1, beta: 1.0 }
    }
}

impl Described for Hcl {
    const SPEC: Spec = Spec {
        name: "hcl",
        title: "Hard negatives (HCL)",
        family: Family::InfoNce,
        summary: "two views; near negatives weigh more",
        work: "Robinson et al., Contrastive Learning with Hard Negative Samples, 2021, section 4",
        formula: "L = 1/(2b) sum_i [ repel{log( exp s_ii' + N g_i )} - attract{s_ii'} ]\n\
            N g_i = max( ( R_i - tau_plus N exp s_ii' ) / (1 - tau_plus),  N exp(-1/temperature) )\n\
            R_i = sum_j exp((1 + beta) s_ij) / ( 1/N sum_j exp(beta s_ij) )\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "i' the other view of i, j the N = 2b - 2 rows of other samples",
        inputs: &[VIEW_A, VIEW_B],
        algorithms: &["single", "cached"],
        parameters: &[
            Parameter::temperature(0.5),
            Parameter::number("beta", Range::Factor, 1.0, "concentration of the weights of the negatives")
                .symbol("β")
                .between(0.0, 5.0),
            TAU_PLUS,
        ],
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("corrected.py"),
            include_str!("hcl.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Hcl {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let b = views.size;
        let debias = Debias::new(self.temperature, self.tau_plus, b)?;
        let mut pairs = views.compare_stacked(batch, self.temperature)?;
        let own = pairs.add_mean(Positives::Partner(other_view(b)));
        let raised = pairs.add_log_sum_exp(LogSumExp::other_samples(b).with_power(1.0 + self.beta));
        let weights = pairs.add_log_sum_exp(LogSumExp::other_samples(b).with_power(self.beta));
        let negatives = |reductions: &Reductions| {
            reweighted(reductions.log_sum_exp(raised), reductions.log_sum_exp(weights), b)
        };
        let result = pairs.evaluate(|reductions| debias.loss(reductions.mean(own), negatives(reductions)))?;
        let reductions = result.reductions.clone();
        views.mean_over_anchors(result).with_details(batch, |evaluation| {
            let at_floor = debias.at_floor(reductions.mean(own), negatives(&reductions));
            let evaluation = evaluation.with_parts(views.own_pairs(self.temperature));
            Ok(evaluation.with_aux("anchors_at_floor", Aux::Scalar(at_floor)))
        })
    }
}
