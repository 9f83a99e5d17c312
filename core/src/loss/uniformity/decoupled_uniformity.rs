//! Decoupled Uniformity: it spreads out the centroids of the samples' views, which also aligns the views.
//!
//! ```text
//! L = log( 2/(b(b-1)) sum_{i<j} exp(-t |m_i - m_j|^2) ),   m_i = 1/V sum_v f(x_i^v)
//! ```
//!
//! with unit rows `f(x_i^v)`, `[b, d]`, of any number `V` of views, `view_a`, `view_b`, `view_c`, ...; a centroid
//! is not normalised again. Dufumier et al., *Integrating Prior Knowledge in Contrastive Learning with Kernel*
//! (2023). The more similar the views, the longer their centroid, and long centroids can lie farther apart.
//!
//! The variants differ in the default of `t`: `paper` 1 (no `t` is printed), `released` 2. The default is
//! `released`, the value of the published experiments. On several devices released code takes pairs within each
//! device only.
//!
//! Use it with small batches: there is no positive term to balance. Coincident centroids give finite values. With
//! `b = 1` there is no pair, and loss and gradient are 0 (released: NaN).

use serde::{Deserialize, Serialize};

use super::potential::{T_AS_PRINTED, T_AS_RELEASED, default_t, uniformity};
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::objective::{Evaluation, Objective, Variant};
use crate::loss::spec::{Described, FURTHER_VIEWS, Family, Form, Parameter, Range, Spec, VIEW_A, VIEW_B};
use crate::loss::views::ManyViews;

/// Decoupled Uniformity; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`; `view_c`, `[b, d]`,
/// optional.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecoupledUniformity {
    /// Factor of the squared distances, 1e-12 to 1e12; `None` for the variant's default.
    pub t: Option<f64>,
    /// The variant, which gives the default of `t`.
    pub variant: Variant,
}

impl Default for DecoupledUniformity {
    fn default() -> Self {
        Self { t: None, variant: Variant::Released }
    }
}

impl DecoupledUniformity {
    fn t(&self) -> f64 {
        self.t.unwrap_or(default_t(self.variant))
    }
}

impl Described for DecoupledUniformity {
    const SPEC: Spec = Spec {
        name: "decoupled-uniformity",
        title: "Decoupled Uniformity",
        family: Family::Uniformity,
        summary: "any number of views",
        work: "Dufumier et al., Integrating Prior Knowledge in Contrastive Learning with Kernel, 2023",
        formula: "L = log( 2/(b(b-1)) sum_{i<j} exp(-t |m_i - m_j|^2) ),   m_i = 1/V sum_v f(x_i^v)",
        symbols: "m_i the mean of the V views of sample i",
        inputs: &[VIEW_A, VIEW_B, FURTHER_VIEWS],
        algorithms: &["single", "cached"],
        variants: &[
            Form::with_default("released", ("t", T_AS_RELEASED), "t = 2"),
            Form::with_default("paper", ("t", T_AS_PRINTED), "t = 1"),
        ],
        parameters: &[Parameter::number("t", Range::Moderate, 2.0, "factor of the squared distances")
            .between(0.1, 16.0)
            .null_by_default("2 as released, 1 as printed")],
        pytorch: Some(concat!(include_str!("potential.py"), include_str!("decoupled_uniformity.py"))),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for DecoupledUniformity {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let views = ManyViews::of(batch, self.name())?;
        let (loss, gradient) = uniformity(views.centroids(), self.t(), batch)?;
        Ok(views.centroid_loss(loss, gradient))
    }
}
