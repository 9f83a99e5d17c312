//! CMC: two views of different kinds, such as lightness and colour, each against a memory bank of the other
//! kind.
//!
//! ```text
//! L = 1/b sum_i [ l(a_i; b_i, M_b) + l(b_i; a_i, M_a) ]
//! l(x; y, M) = log( exp s(x, y) + sum_m exp s(x, m) ) - s(x, y),   s(x, y) = <x, y> / temperature
//! ```
//!
//! with unit rows of `view_a`, `view_b`, `[b, d]`, and `bank_a` `M_a`, `bank_b` `M_b`, `[K, d]`: stored embeddings
//! of other samples' views, of length one. Tian et al., *Contrastive Multiview Coding* (2020), the two-view
//! objective.
//!
//! | variant | positive `y` | gradient |
//! |---|---|---|
//! | `paper` (default) | the other view's embedding in this batch | both views |
//! | `released` | the sample's entry in the memory bank, `stored_b` for anchor `a_i` and `stored_a` for `b_i`, `[b, d]` | the anchors only |
//!
//! The released code draws other negatives for each anchor, while a batch shares its `K` negatives here. By default
//! it replaces the softmax by noise-contrastive estimation with a constant estimated once; its `--softmax` form is
//! the one implemented here. Published: temperature 0.07, `K` 16,384, banks updated with momentum 0.5. Defined for
//! every batch and bank of at least one row.

use serde::{Deserialize, Serialize};

use super::bank::against_bank;
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Evaluation, Objective, Variant};
use crate::loss::spec::{Described, Family, Form, Input, Needed, Parameter, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;
use burn::tensor::Tensor;

/// The setting under which the entries of the samples are inputs.
const RELEASED: Needed = Needed::If { setting: "variant", value: "\"released\"" };

/// CMC; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `stored_a`, `stored_b`, `[b, d]`, if variant
/// = "released"; `bank_b`, `bank_a`, `[K, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cmc {
    /// Divisor of the cosines, 1e-12 to 1e12.
    pub temperature: f64,
    /// The choice of the positive.
    pub variant: Variant,
}

impl Default for Cmc {
    fn default() -> Self {
        Self { temperature: 0.07, variant: Variant::Paper }
    }
}

impl Described for Cmc {
    const SPEC: Spec = Spec {
        name: "cmc",
        title: "CMC",
        family: Family::Representation,
        summary: "memory banks of two kinds of view",
        work: "Tian et al., Contrastive Multiview Coding, 2020",
        formula: "L = 1/b sum_i [ l(a_i; b_i, M_b) + l(b_i; a_i, M_a) ]\n\
            l(x; y, M) = log( exp s(x, y) + sum_m exp s(x, m) ) - s(x, y),   s(x, y) = <x, y> / temperature",
        symbols: "a and b the views, M_a and M_b their banks",
        inputs: &[
            VIEW_A,
            VIEW_B,
            Input::embeddings("stored_a", "[b, d]", "entries of the samples in the bank of the first views")
                .needed(RELEASED),
            Input::embeddings("stored_b", "[b, d]", "entries of the samples in the bank of the second views")
                .needed(RELEASED),
            Input::rows(
                "bank_b",
                "[K, d]",
                "stored embeddings of second views of other samples, of length one",
            ),
            Input::rows(
                "bank_a",
                "[K, d]",
                "stored embeddings of first views of other samples, of length one",
            ),
        ],
        variants: &[
            Form::new("paper", "the positive is the other view in the batch"),
            Form::new("released", "the positive is the entry of the sample in the bank"),
        ],
        parameters: &[Parameter::temperature(0.07)],
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for Cmc {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let (a, b) = (views.a.rows(), views.b.rows());
        let (positive_of_a, positive_of_b) = match self.variant {
            Variant::Paper => (b.clone(), a.clone()),
            Variant::Released => {
                let stored = TwoViews::named(batch, self.name(), ["stored_a", "stored_b"])?;
                stored.check_like(&views)?;
                (stored.b.rows(), stored.a.rows())
            }
        };
        let direction = |anchors: &Tensor<2>, positives: Tensor<2>, bank: &'static str| {
            let rows = batch.tensor(self.name(), bank)?;
            against_bank(anchors.clone(), positives, (bank, rows), self.temperature, batch.tile())
        };
        let from_a = direction(&a, positive_of_a, "bank_b")?;
        let from_b = direction(&b, positive_of_b, "bank_a")?;

        let mean = 1.0 / views.size as f64;
        let loss = (from_a.per_anchor + from_b.per_anchor).sum() * mean;
        let (mut grad_a, mut grad_b) = (from_a.grad_anchors, from_b.grad_anchors);
        if self.variant == Variant::Paper {
            grad_b = grad_b + self.grad_positives(from_a.grad_own, a);
            grad_a = grad_a + self.grad_positives(from_b.grad_own, b);
        }
        Ok(views.with_gradients(loss, grad_a * mean, grad_b * mean))
    }
}

impl Cmc {
    /// Gradient with respect to the positives of anchors, from that with respect to their similarities.
    fn grad_positives(&self, grad_own: Tensor<1>, anchors: Tensor<2>) -> Tensor<2> {
        let grad_own: Tensor<2> = grad_own.unsqueeze_dim(1);
        anchors * grad_own / self.temperature
    }
}
