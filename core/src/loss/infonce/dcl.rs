//! DCL: NT-Xent with negatives corrected for the positives among them.
//!
//! ```text
//! L = 1/(2b) sum_i [ log( exp s_ii' + N g_i ) - s_ii' ]
//! N g_i = max( ( sum_j exp s_ij - tau_plus N exp s_ii' ) / (1 - tau_plus),  N exp(-1/temperature) )
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! over `2 b` anchors of `view_a` and `view_b`, `[b, d]` each; `i'` is the other view of `i` and `j` runs over the
//! `N = 2b - 2` rows of other samples. `tau_plus` is the probability that one of these is of the anchor's class.
//! Chuang et al., *Debiased Contrastive Learning* (2020), eq. 7 and 8 with one positive.
//!
//! Paper and released code agree; only the released exponentials are computed without
//! a shift and overflow at small temperatures, here they do not. Defaults as published: temperature 0.5, `tau_plus`
//! 0.1 (one over the number of classes).
//!
//! An anchor whose estimate is below the floor learns nothing from its negatives; with well-aligned views and a
//! small temperature this is normal. `aux.anchors_at_floor` counts these anchors, if [details are
//! requested](Batch::with_details). With `tau_plus` = 0 it is [`NtXent`](crate::loss::NtXent). Use it for few, balanced classes. With
//! `b = 1` loss and gradient are 0.

use serde::{Deserialize, Serialize};

use super::corrected::{Debias, TAU_PLUS};
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::pairwise::{LogSumExp, Positives, other_view};
use crate::loss::spec::{Described, Family, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// DCL; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dcl {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Probability that a negative is of the anchor's class, from 0 to below 1.
    pub tau_plus: f64,
}

impl Default for Dcl {
    fn default() -> Self {
        Self { temperature: 0.5, tau_plus: 0.1 }
    }
}

impl Described for Dcl {
    const SPEC: Spec = Spec {
        name: "dcl",
        title: "Debiased (DCL)",
        family: Family::InfoNce,
        summary: "two views; negatives corrected for the positives among them",
        work: "Chuang et al., Debiased Contrastive Learning, 2020, eq. 7 and 8",
        formula: "L = 1/(2b) sum_i [ repel{log( exp s_ii' + N g_i )} - attract{s_ii'} ]\n\
            N g_i = max( ( sum_j exp s_ij - tau_plus N exp s_ii' ) / (1 - tau_plus),  N exp(-1/temperature) )\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "i' the other view of i, j the N = 2b - 2 rows of other samples",
        inputs: &[VIEW_A, VIEW_B],
        algorithms: &["single", "cached"],
        parameters: &[Parameter::temperature(0.5), TAU_PLUS],
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("corrected.py"),
            include_str!("dcl.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Dcl {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let debias = Debias::new(self.temperature, self.tau_plus, views.size)?;
        let mut pairs = views.compare_stacked(batch, self.temperature)?;
        let own = pairs.add_mean(Positives::Partner(other_view(views.size)));
        let negatives = pairs.add_log_sum_exp(LogSumExp::other_samples(views.size));
        let result = pairs
            .evaluate(|reductions| debias.loss(reductions.mean(own), reductions.log_sum_exp(negatives)))?;
        let reductions = result.reductions.clone();
        views.mean_over_anchors(result).with_details(batch, |evaluation| {
            let at_floor = debias.at_floor(reductions.mean(own), reductions.log_sum_exp(negatives));
            let evaluation = evaluation.with_parts(views.own_pairs(self.temperature));
            Ok(evaluation.with_aux("anchors_at_floor", Aux::Scalar(at_floor)))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loss::finite_difference::{place, value};
    use crate::loss::infonce::hcl::Hcl;
    use crate::numeric::matrix::Matrix;

    #[test]
    fn similarities_far_below_the_floor_do_not_overflow() {
        // Rows that are not of length one, though they are given as such: similarities of 800 and -800.
        let of = |first: f64| place(&Matrix::column(&[first, -20.0]));
        let batch = Batch::views(of(20.0), of(-20.0)).with_unit_rows(true);
        let (dcl, hcl) = (Dcl::default(), Hcl { beta: 0.0, ..Hcl::default() });
        // The anchor alone at 20, its other view, and the two of the other sample.
        let alone = 2.0_f64.ln() - 2.0 + 800.0;
        let opposite = 1600.0 + (2.0_f64 / 0.9).ln();
        let expected = (alone + opposite + 2.0 * (1.0_f64 + 0.8 / 0.9).ln()) / 4.0;
        for objective in [&dcl as &dyn Objective, &hcl] {
            let computed = value(objective, &batch);
            assert!(
                (computed - expected).abs() < 1e-9,
                "{}: {computed}, expected {expected}",
                objective.name()
            );
        }
    }
}
