//! ConTeX: a supervised term with only other classes in the denominator, and a self-supervised term.
//!
//! ```text
//! paper     L = 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]
//! released  L = temperature/base_temperature 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]
//! L_a(i) = - 1/|P(i)| sum_{p in P(i)} [ s_ip - log sum_{n in N(i)} exp s_in ]
//! paper     L_b(i) = - log( 1 + exp s_ii' / sum_{n != i, i'} exp s_in )
//! released  L_b(i) = log sum_{a != i} exp s_ia - s_ii'
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! over `2 b` anchors of `view_a` and `view_b`, `[b, d]` each; `i'` is the other view of `i`, `P(i)` are the other rows of the
//! anchor's label, `N(i)` the rows of another label (`labels`, `[b]`). Deng and Yang, *Context-Enriched Contrastive Loss* (ConTeX):
//! `L_a` is eq. 6, the printed `L_b` eq. 7, and their sum eq. 8.
//!
//! | variant | `L_b` | `mix` | value |
//! |---|---|---|---|
//! | `paper` | eq. 7 | 0.7 | mean; with `reduction = "sum"` the sum, as printed |
//! | `released` (default) | NT-Xent | 0.5 | mean, times `temperature / base_temperature` |
//!
//! Eq. 7 is `-softplus(x)` of the margin `x` between the own pair and the others, so its gradient grows with the
//! margin, while that of NT-Xent, `softplus(-x)`, vanishes. The gradient that the paper derives (eq. 24) is
//! NT-Xent's, and so is the released code: that is the default. The released class does not run unchanged (its
//! classes were renamed); its intention is unambiguous.
//!
//! With bias labels (`bias`, `[b]`) the positives of `L_a` are rows of the same label and **another** bias, which
//! leaves out the anchor's own other view; `L_b` still attracts it. The paper only states that it uses bias labels;
//! this reading adopts BiasCon's choice of positives.
//!
//! Published: temperature 0.1. Use it if classes should be separated without pulling positives together
//! more than necessary; see [`contex-p`](crate::loss::ConTeXClipped) for a bounded `L_a`.
//!
//! An anchor without positives, or in a batch of one label without negatives, has `L_a` = 0 with gradient 0, so that
//! `L_b` alone is trained; `aux.anchors_without_positive` and `aux.anchors_without_negative` count them, if [details are
//! requested](Batch::with_details). This differs from released code, which gives NaN as soon as all labels of a batch are equal
//! (it multiplies the logarithm of an empty sum by a mask of zeros), and from the printed equation, which tends to minus infinity
//! there. With `b = 1` `L_b` is 0 as well.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::contex_terms::{INPUTS, Labels, Terms};
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::pairwise::{Positives, Reductions, log_add, where_present};
use crate::loss::reduction::{BASE_TEMPERATURE, REDUCTION, Reduction, Scale};
use crate::loss::spec::{Described, Family, Form, Parameter, Range, Spec};
use crate::loss::views::TwoViews;

/// The default fraction of `L_a` as printed.
const MIX_AS_PRINTED: f64 = 0.7;
/// That of the released code.
const MIX_AS_RELEASED: f64 = 0.5;

/// ConTeX; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `labels`, `[b]`; `bias`, `[b]`, optional.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConTeX {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Divisor of the temperature in the released factor (variant `released` only), 1e-12 to 1e12.
    pub base_temperature: f64,
    /// Fraction of `L_a`, from 0 to 1; `None` for the variant's default.
    pub mix: Option<f64>,
    /// Mean or sum over the anchors.
    pub reduction: Reduction,
    /// The form of `L_b`, and with `released` the released factor.
    pub variant: Variant,
}

impl Default for ConTeX {
    fn default() -> Self {
        Self {
            temperature: 0.1,
            base_temperature: 0.07,
            mix: None,
            reduction: Reduction::Mean,
            variant: Variant::Released,
        }
    }
}

impl ConTeX {
    fn scale(&self) -> Scale {
        let Self { temperature, base_temperature, reduction, variant, .. } = *self;
        Scale { reduction, variant, temperature, base_temperature }
    }

    fn mix(&self) -> f64 {
        self.mix.unwrap_or(match self.variant {
            Variant::Paper => MIX_AS_PRINTED,
            Variant::Released => MIX_AS_RELEASED,
        })
    }

    fn l_b(&self, terms: Terms, reductions: &Reductions) -> Tensor<1> {
        match self.variant {
            Variant::Paper => l_b_as_printed(terms, reductions),
            Variant::Released => terms.l_b_of_nt_xent(reductions),
        }
    }
}

impl Described for ConTeX {
    const SPEC: Spec = Spec {
        name: "contex",
        title: "ConTeX",
        family: Family::Labelled,
        summary: "labels, and bias labels if there are",
        work: "Deng and Yang, Context-Enriched Contrastive Loss (ConTeX), eq. 6 to 8",
        formula: "paper     L = 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]\n\
            released  L = temperature/base_temperature 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]\n\
            L_a(i) = - 1/|P(i)| sum_{p in P(i)} [ attract{s_ip} - repel{log sum_{n in N(i)} exp s_in} ]\n\
            paper     L_b(i) = - log( 1 + exp s_ii' / sum_{n != i, i'} exp s_in )\n\
            released  L_b(i) = repel{log sum_{a != i} exp s_ia} - attract{s_ii'}\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "P(i) the other rows of the anchor's label, N(i) the rows of another label, i' the other view of i",
        inputs: INPUTS,
        algorithms: &["single", "cached", "with-classifier"],
        variants: &[
            Form::new("released", "L_b of NT-Xent, mix 0.5, times temperature / base_temperature")
                .default("mix", MIX_AS_RELEASED),
            Form::new("paper", "L_b as printed, mix 0.7").default("mix", MIX_AS_PRINTED),
        ],
        parameters: &[
            Parameter::temperature(0.1),
            BASE_TEMPERATURE,
            Parameter::number("mix", Range::Within(0.0, 1.0), 0.5, "share of L_a")
                .null_by_default("0.5 as released, 0.7 as printed"),
            REDUCTION,
        ],
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("margins.py"),
            include_str!("contex.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for ConTeX {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let labels = Labels::of(batch, self.name(), &views)?;
        let mix = self.mix();
        let pairs = views.compare_stacked(batch, self.temperature)?;
        let mut pairs = pairs.with_weights(labels.label.pair_weights());
        let terms = Terms::of(&mut pairs, &labels, views.size, |group, excluded, _| Positives::Group {
            group,
            excluded,
        });
        let result = pairs
            .evaluate(|reductions| terms.l_a(reductions) * mix + self.l_b(terms, reductions) * (1.0 - mix))?;
        let reductions = result.reductions.clone();
        self.scale().evaluation(&views, batch, result)?.with_details(batch, |evaluation| {
            let evaluation = match self.variant {
                // Eq. 7 has its own pair inside a logarithm only.
                Variant::Paper => evaluation,
                Variant::Released => {
                    let [of_class, own] = [terms.positives, terms.own].map(|mean| reductions.mean(mean));
                    evaluation.with_parts(self.scale().positive_part(of_class * mix + own * (1.0 - mix)))
                }
            };
            let (l_a, l_b) = (terms.l_a(&reductions), self.l_b(terms, &reductions));
            let nt_xent = terms.l_b_of_nt_xent(&reductions);
            Ok(labels
                .with_anchor_counts(evaluation)
                .with_aux("L_a_sum", Aux::Scalar(l_a.clone().sum()))
                .with_aux("L_a_mean", Aux::Scalar(l_a.mean()))
                .with_aux("L_b_sum", Aux::Scalar(l_b.clone().sum()))
                .with_aux("L_b_mean", Aux::Scalar(l_b.mean()))
                .with_aux("L_b_as_ntxent_mean", Aux::Scalar(nt_xent.mean())))
        })
    }
}

/// `L_b` as printed, by logarithms: `- log( 1 + exp s / S ) = log S - log( S + exp s )`.
fn l_b_as_printed(terms: Terms, reductions: &Reductions) -> Tensor<1> {
    let negatives = reductions.log_sum_exp(terms.other_samples);
    where_present(negatives.clone() - log_add(negatives.clone(), reductions.mean(terms.own)), &negatives)
}
