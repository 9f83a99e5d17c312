//! Barlow Twins: features of two views agree, and different features are decorrelated.
//!
//! ```text
//! L = sum_k (1 - C_kk)^2 + lambd sum_{k != l} C_kl^2,   C = A^T B / b
//! ```
//!
//! where `A` and `B`, `[b, d]`, are `view_a` and `view_b` with every column standardised to mean 0 and variance 1
//! over the batch, `(x - mean) / sqrt(var + bn_eps)` with the biased variance; rows are not normalised. Zbontar et
//! al., *Barlow Twins: Self-Supervised Learning via Redundancy Reduction* (2021), eq. 1 and 2. Paper and released
//! code agree. Defaults as published: `lambd` 0.0051, `bn_eps` 1e-5, a projector of
//! three layers of 8192.
//!
//! The sum off the diagonal is that of all squares less the diagonal's ([`simile_kernels::Redundancy`], which derives the gradient).
//!
//! A feature that is constant over the batch has correlation 0 with every feature, hence a term of 1, and gradient
//! 0; with `b = 1` all features are constant, and the loss is `d`.

use serde::{Deserialize, Serialize};
use simile_kernels::Redundancy;

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::logits::check_shape;
use crate::loss::objective::{Evaluation, Objective};
use crate::loss::spec::{Described, Family, Input, Parameter, Range, Spec};

/// Barlow Twins; see the [module](self). Inputs: `view_a`, `view_b`, `[b, d]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BarlowTwins {
    /// Factor of the terms off the diagonal, 0 to 1e12.
    pub lambd: f64,
    /// Added to the variances, above 0.
    pub bn_eps: f64,
}

impl Default for BarlowTwins {
    fn default() -> Self {
        Self { lambd: 0.0051, bn_eps: 1e-5 }
    }
}

impl Described for BarlowTwins {
    const SPEC: Spec = Spec {
        name: "barlow-twins",
        title: "Barlow Twins",
        family: Family::Representation,
        summary: "correlations of features",
        work: "Zbontar et al., Barlow Twins: Self-Supervised Learning via Redundancy Reduction, 2021, eq. 1 and 2",
        formula: "L = sum_k (1 - C_kk)^2 + lambd sum_{k != l} C_kl^2,   C = A^T B / b",
        symbols: "A and B the views, each column of mean 0 and variance 1",
        inputs: &[
            Input::rows("view_a", "[b, d]", "features of the first views, not normalised by row"),
            Input::rows("view_b", "[b, d]", "features of the second views"),
        ],
        algorithms: &["single", "cached"],
        parameters: &[
            Parameter::number("lambd", Range::Factor, 0.0051, "factor of the terms off the diagonal")
                .symbol("λ")
                .between(1e-4, 1.0),
            Parameter::number("bn_eps", Range::Positive, 1e-5, "added to the variances"),
        ],
        pytorch: Some(include_str!("barlow_twins.py")),
        module: module_path!(),
        ..Spec::BASE
    };
}

impl Objective for BarlowTwins {
    fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
        let (a, b) = (batch.tensor(self.name(), "view_a")?, batch.tensor(self.name(), "view_b")?);
        let [rows, width] = a.dims();
        if rows == 0 || width == 0 {
            return Err(Error::shape("view_a", "at least one row and one column", format!("{rows}x{width}")));
        }
        check_shape("view_b", &b, [rows, width])?;
        let Redundancy { loss, gradients: [grad_a, grad_b] } =
            Redundancy::new([a, b], self.lambd, self.bn_eps);
        Ok(Evaluation::new(loss).with_gradient("view_a", grad_a).with_gradient("view_b", grad_b))
    }
}
