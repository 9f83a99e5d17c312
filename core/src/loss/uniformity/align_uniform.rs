//! Alignment and uniformity as two separate terms: the two properties between which contrastive losses trade off.
//!
//! ```text
//! L = align_w 1/b sum_i |a_i - b_i|^alpha + unif_w (U(a) + U(b))/2
//! U(x) = log( 2/(b(b-1)) sum_{i<j} exp(-t |x_i - x_j|^2) )
//! ```
//!
//! with unit rows `a_i`, `b_i` of `view_a` and `view_b`, `[b, d]`. Wang and Isola, *Understanding Contrastive
//! Representation Learning through Alignment and Uniformity on the Hypersphere* (2020). Paper and released code
//! agree. Defaults as published: `alpha` 2, `t` 2, weights 1.
//!
//! Use it to weight the two directly, or to measure them: `aux.align` and `aux.uniform` are the terms.
//! Coincident views have alignment 0 with gradient 0 for every `alpha`. With `b = 1` the uniformity is 0 with
//! gradient 0.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::potential::uniformity;
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation, Objective};
use crate::loss::spec::{Described, Family, Parameter, Range, Spec, VIEW_A, VIEW_B};
use crate::loss::views::TwoViews;

/// Alignment and uniformity; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlignUniform {
    /// Exponent of the distance of two views, 1 to 100.
    pub alpha: f64,
    /// Factor of the squared distances, 1e-12 to 1e12.
    pub t: f64,
    /// Factor of the alignment, 0 to 1e12.
    pub align_w: f64,
    /// Factor of the uniformity, 0 to 1e12.
    pub unif_w: f64,
}

impl Default for AlignUniform {
    fn default() -> Self {
        Self { alpha: 2.0, t: 2.0, align_w: 1.0, unif_w: 1.0 }
    }
}

impl Described for AlignUniform {
    const SPEC: Spec = Spec {
        name: "align-uniform",
        title: "Alignment and uniformity",
        family: Family::Uniformity,
        summary: "two views; both properties weighed",
        work: "Wang and Isola, Understanding Contrastive Representation Learning through Alignment and Uniformity on the Hypersphere, 2020",
        formula: "L = attract{align_w 1/b sum_i |a_i - b_i|^alpha} + repel{unif_w (U(a) + U(b))/2}\n\
            U(x) = log( 2/(b(b-1)) sum_{i<j} exp(-t |x_i - x_j|^2) )",
        symbols: "a_i and b_i the views of sample i",
        inputs: &[VIEW_A, VIEW_B],
        algorithms: &["single", "cached"],
        parameters: &[
            Parameter::number(
                "alpha",
                Range::Within(1.0, 100.0),
                2.0,
                "exponent of the distance of two views",
            )
            .symbol("α")
            .between(1.0, 4.0),
            Parameter::number("t", Range::Moderate, 2.0, "factor of the squared distances")
                .between(0.1, 16.0),
            Parameter::number("align_w", Range::Factor, 1.0, "factor of the alignment"),
            Parameter::number("unif_w", Range::Factor, 1.0, "factor of the uniformity"),
        ],
        pytorch: Some(concat!(include_str!("potential.py"), include_str!("align_uniform.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for AlignUniform {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = TwoViews::of(batch, self.name())?;
        let (align, grad_align) = alignment(views.a.rows() - views.b.rows(), self.alpha);
        let (uniform_a, grad_a) = uniformity(views.a.rows(), self.t, batch)?;
        let (uniform_b, grad_b) = uniformity(views.b.rows(), self.t, batch)?;
        let uniform = (uniform_a + uniform_b) / 2.0;

        let loss = align.clone() * self.align_w + uniform.clone() * self.unif_w;
        let grad_align = grad_align * self.align_w;
        let [grad_uniform_a, grad_uniform_b] = [grad_a, grad_b].map(|g| g * (self.unif_w / 2.0));
        views
            .with_gradients(loss, grad_uniform_a + grad_align.clone(), grad_uniform_b - grad_align)
            .with_aux("align", Aux::Scalar(align.clone()))
            .with_aux("uniform", Aux::Scalar(uniform))
            .with_details(batch, |evaluation| Ok(evaluation.with_parts(align * self.align_w)))
    }
}

/// The mean of `|x_i|^alpha` over rows `[b, d]`, and its gradient `alpha |x_i|^(alpha - 2) x_i / b`.
fn alignment(differences: Tensor<2>, alpha: f64) -> (Tensor<1>, Tensor<2>) {
    let [b, _] = differences.dims();
    let squares = differences.clone().square().sum_dim(1);
    let coincident = squares.clone().lower_equal_elem(0.0);
    let squares = squares.mask_fill(coincident.clone(), 1.0);
    let power = |exponent: f64| (squares.clone().log() * exponent).exp().mask_fill(coincident.clone(), 0.0);
    let share = 1.0 / b as f64;
    (power(alpha / 2.0).sum() * share, differences * power(alpha / 2.0 - 1.0) * (alpha * share))
}
