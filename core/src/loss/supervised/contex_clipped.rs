//! ConTeX with a bounded supervised term: a positive that is nearer than all other classes together has no
//! gradient.
//!
//! ```text
//! paper     L = 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]
//! released  L = temperature/base_temperature 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]
//! L_a(i) = - 1/|P(i)| sum_{p in P(i)} min( 0, s_ip - log sum_{n in N(i)} exp s_in )
//! L_b(i) = log sum_{a != i} exp s_ia - s_ii'
//! s_ij = cos(x_i, x_j) / temperature
//! ```
//!
//! with the symbols and the bias labels of [`ConTeX`](crate::loss::ConTeX). It is not in the paper (Deng and Yang,
//! *Context-Enriched Contrastive Loss*); its released code has it twice, as `contex_p` and `contex_2`, and its `L_a` alone as
//! `SupConLoss1`. `released` multiplies by `temperature / base_temperature`, `paper` does not; the default is `paper`. Defaults as
//! released: temperature 0.1, `mix` 0.5. If [details are requested](Batch::with_details), `aux.a_term_only_scaled_SupConLoss1` is the
//! mean of `L_a`, with the factor of the variant.
//!
//! Use it if the unbounded term of [`ConTeX`](crate::loss::ConTeX) keeps pushing classes that are separated
//! already. An anchor without positives, or in a batch of one label without negatives, has `L_a` = 0 as in the released
//! code, and gradient 0, where the released code gives NaN. If details are requested, `aux.anchors_without_positive`
//! and `aux.anchors_without_negative` count them.

use serde::{Deserialize, Serialize};

use super::contex_terms::{INPUTS, Labels, Terms};
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective, Variant};
use crate::loss::pairwise::Positives;
use crate::loss::reduction::{BASE_TEMPERATURE, REDUCTION, Reduction, Scale};
use crate::loss::spec::{Described, Family, Form, Parameter, Range, Spec};
use crate::loss::views::TwoViews;

/// Clipped ConTeX; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `labels`, `[b]`; `bias`, `[b]`,
/// optional.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConTeXClipped {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// Divisor of the temperature in the released factor (variant `released` only), 1e-12 to 1e12.
    pub base_temperature: f64,
    /// Fraction of `L_a`, from 0 to 1.
    pub mix: f64,
    /// Mean or sum over the anchors.
    pub reduction: Reduction,
    /// `released` multiplies by the factor, `paper` does not.
    pub variant: Variant,
}

impl Default for ConTeXClipped {
    fn default() -> Self {
        Self {
            temperature: 0.1,
            base_temperature: 0.07,
            mix: 0.5,
            reduction: Reduction::Mean,
            variant: Variant::Paper,
        }
    }
}

impl ConTeXClipped {
    fn scale(&self) -> Scale {
        let Self { temperature, base_temperature, reduction, variant, .. } = *self;
        Scale { reduction, variant, temperature, base_temperature }
    }
}

impl Described for ConTeXClipped {
    const SPEC: Spec = Spec {
        name: "contex-p",
        title: "ConTeX, clipped",
        family: Family::Labelled,
        summary: "labels, and bias labels if there are; a positive near enough pulls no more",
        work: "the released code of ConTeX",
        formula: "paper     L = 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]\n\
            released  L = temperature/base_temperature 1/(2b) sum_i [ mix L_a(i) + (1 - mix) L_b(i) ]\n\
            L_a(i) = - 1/|P(i)| sum_{p in P(i)} min( 0, attract{s_ip} - repel{log sum_{n in N(i)} exp s_in} )\n\
            L_b(i) = repel{log sum_{a != i} exp s_ia} - attract{s_ii'}\n\
            s_ij = cos(x_i, x_j) / temperature",
        symbols: "P(i) the other rows of the anchor's label, N(i) the rows of another label, i' the other view of i",
        inputs: INPUTS,
        algorithms: &["single", "cached", "with-classifier"],
        variants: &[
            Form::new("paper", "without a factor"),
            Form::new("released", "times temperature / base_temperature"),
        ],
        parameters: &[
            Parameter::temperature(0.1),
            BASE_TEMPERATURE,
            Parameter::number("mix", Range::Within(0.0, 1.0), 0.5, "share of L_a"),
            REDUCTION,
        ],
        pytorch: Some(concat!(
            include_str!("../cosines.py"),
            include_str!("margins.py"),
            include_str!("contex_clipped.py")
        )),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for ConTeXClipped {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let labels = Labels::of(batch, self.name(), &views)?;
        let pairs = views.compare_stacked(batch, self.temperature)?;
        let mut pairs = pairs.with_weights(labels.label.pair_weights());
        let terms = Terms::of(&mut pairs, &labels, views.size, |group, excluded, than| Positives::Farther {
            group,
            excluded,
            than,
        });
        let result = pairs.evaluate(|reductions| {
            terms.l_a(reductions) * self.mix + terms.l_b_of_nt_xent(reductions) * (1.0 - self.mix)
        })?;
        let reductions = result.reductions.clone();
        self.scale().evaluation(&views, batch, result)?.with_details(batch, |evaluation| {
            let l_a = terms.l_a(&reductions).mean() * self.scale().ratio();
            let [of_class, own] = [terms.positives, terms.own].map(|mean| reductions.mean(mean));
            let positives = self.scale().positive_part(of_class * self.mix + own * (1.0 - self.mix));
            Ok(labels
                .with_anchor_counts(evaluation.with_parts(positives))
                .with_aux("a_term_only_scaled_SupConLoss1", Aux::Scalar(l_a)))
        })
    }
}
