//! The loss of the network that amplifies the bias.
//!
//! ```text
//! paper     L = 1/(2b) sum_i [ |x_i - x_i'|^2 - 1/N sum_j |x_i - x_j|^2 ]
//! released  L = 1/(2b) sum_i [ |x_i - x_i'|^2 - ( sum_j |x_i - x_j|^2 - tau_plus N |x_i - x_i'|^2 ) / (1 - tau_plus) ]
//! ```
//!
//! over the `2 b` unit rows of `view_a_biased` and `view_b_biased`; `i'` is the other view of `i`, and `j`
//! runs over the `N = 2b - 2` rows of other samples. Jang and Wang, *Difficulty-Based Sampling for Debiased Contrastive
//! Representation Learning* (2023), the triplet loss of `E_b`; it has no margin and is bounded because the rows are unit vectors.
//!
//! Released code sums the negatives and applies the correction of DCL, so its value is of the order of `N`.
//! The mean is the default: its gradient does not depend on the batch size. `tau_plus` is 0.1 as released
//! (variant `released` only).
//!
//! Sums over all pairs follow from the mean and the sum of squares of the rows, so the work is linear in the batch.
//! With `b = 1` there is no negative, and their mean is set to 0.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::infonce::corrected::TAU_PLUS;
use crate::loss::objective::{Evaluation, Objective, Variant, differentiate};
use crate::loss::spec::{BIASED_A, BIASED_B, Described, Family, Form, Spec};
use crate::loss::views::TwoViews;

/// The triplet loss; see the [module](self). Inputs: `view_a_biased`, `view_b_biased`, `[b, e]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WclTriplet {
    /// Probability that a negative is of the anchor's class, from 0 to below 1 (variant `released` only).
    pub tau_plus: f64,
    /// Mean of the negatives (`paper`), or corrected sum (`released`).
    pub variant: Variant,
}

impl Default for WclTriplet {
    fn default() -> Self {
        Self { tau_plus: 0.1, variant: Variant::Paper }
    }
}

impl Described for WclTriplet {
    const SPEC: Spec = Spec {
        name: "wcl-triplet",
        title: "Difficulty: the biased network",
        family: Family::Difficulty,
        summary: "two views in a network that amplifies the bias",
        work: "Jang and Wang, Difficulty-Based Sampling for Debiased Contrastive Representation Learning, 2023",
        formula: "paper     L = 1/(2b) sum_i [ attract{|x_i - x_i'|^2} - repel{1/N sum_j |x_i - x_j|^2} ]\n\
            released  L = 1/(2b) sum_i [ attract{|x_i - x_i'|^2} - repel{( sum_j |x_i - x_j|^2 - tau_plus N |x_i - x_i'|^2 ) / (1 - tau_plus)} ]",
        symbols: "i' the other view of i, j the N = 2b - 2 rows of other samples",
        inputs: &[BIASED_A, BIASED_B],
        part_of: &["difficulty"],
        variants: &[
            Form::new("paper", "mean of the negatives"),
            Form::new("released", "corrected sum of the negatives"),
        ],
        parameters: &[TAU_PLUS.only_in("released")],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for WclTriplet {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::named(batch, self.name(), ["view_a_biased", "view_b_biased"])?;
        let negatives = (2 * views.size - 2) as f64;
        let (loss, [grad_a, grad_b]) = differentiate([views.a.rows(), views.b.rows()], |[a, b]| {
            let own_pairs = (a.clone() - b.clone()).square().sum() * 2.0;
            let other_pairs = all_pairs(Tensor::cat(vec![a, b], 0)) - own_pairs.clone();
            let negative = match self.variant {
                Variant::Paper => other_pairs * negatives.max(1.0).recip(),
                Variant::Released => {
                    let corrected = other_pairs - own_pairs.clone() * (self.tau_plus * negatives);
                    corrected * (1.0 - self.tau_plus).recip()
                }
            };
            (own_pairs - negative) * (0.5 / views.size as f64)
        });
        Ok(views.with_gradients(loss, grad_a, grad_b))
    }
}

/// `sum_ij |x_i - x_j|^2 = 2 n sum_i |x_i - mean|^2` over all `n` rows.
fn all_pairs(rows: Tensor<2>) -> Tensor<1> {
    let [n, _] = rows.dims();
    let mean = rows.clone().mean_dim(0);
    (rows - mean).square().sum() * (2 * n) as f64
}
