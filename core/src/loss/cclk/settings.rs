//! The settings of the three objectives.

use std::ops::RangeInclusive;
use std::sync::Arc;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::kernel::conditional::{
    ConditionWeights, DenseSolve, Forecast, GramDiagonal, SolvedCondition, WeightScheme,
};
use crate::kernel::{Approximation, Kernel};
use crate::loss::condition::ConditionedByKernel;
use crate::loss::spec::{Form, Parameter, Range, Spec};
use crate::numeric::matrix::Matrix;

/// The formulas of the three objectives.
pub(super) const VARIANTS: &[Form] = &[
    Form::new("normalised", "non-negative weights in rows of sum 1; ours").weights(WeightScheme::Normalised),
    Form::new("paper", "weights as they come, across views").weights(WeightScheme::Paper).directed(),
    Form::new(
        "released",
        "diagonal of K set to 1; own pair and weights below `clip_threshold` set to 0, not renormalised; \
         sums in the logarithms clamped into [1e-7, 1e20]",
    )
    .weights(WeightScheme::Released),
];

/// Their parameters.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::temperature(0.5),
    Parameter::number("lambda", Range::Moderate, 0.01, "ridge of (K + lambda I)^-1 K")
        .symbol("λ")
        .between(1e-5, 100.0),
    Parameter::kernel(
        r#"{ "name": "cosine" }"#,
        "kernel of the conditioning variable (the cosine of one column is 1 or -1: take rbf or exact-match for it)",
    ),
    Parameter::structured("approximation", "null", "a Gram matrix of low rank, with its stated error")
        .null_by_default("none"),
    Parameter::number("clip_threshold", Range::Within(0.0, 1.0), 1e-6, "weights below this are set to 0")
        .between(1e-9, 1.0)
        .only_in("released"),
    Parameter::flag("symmetric", "averages the directions a to b and b to a, as printed").only_in("paper"),
];

/// Settings of the three objectives.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CclkSettings {
    /// Divisor of the cosines, 1e-12 to 1e12; the released scripts default to 0.5, the released Fair command passes 0.1.
    pub temperature: f64,
    /// Ridge of `(K + lambda I)^-1 K`, 1e-12 to 1e12; released: 0.01, and 100 for HardNeg-CCLK. Not multiplied by the
    /// batch size.
    pub lambda: f64,
    /// Kernel of the conditioning variable. Of one column the cosine, the default, is 1 or -1; take RBF or exact match for it.
    pub kernel: Kernel,
    /// Approximates the Gram matrix by one of low rank, with a stated error (see [`Approximation`]); none by default.
    /// For large batches and kernels without few features; `aux.approximation_error` then bounds `|W - W_exact|_2`, as it
    /// does for batches of more than 1024 samples, which are solved in [mixed precision](crate::kernel::conditional).
    /// Representations on a GPU ([HardNeg-CCLK](super::fair)) are solved for densely on it: they have neither the approximation nor a
    /// bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approximation: Option<Approximation>,
    /// Weights below this, 0 to 1, are set to 0 (variant `released` only).
    pub clip_threshold: f64,
    /// Averages the directions a to b and b to a (variant `paper` only; the others always average).
    pub symmetric: bool,
    /// The variant of the weights.
    pub variant: WeightScheme,
}

impl Default for CclkSettings {
    fn default() -> Self {
        Self {
            temperature: 0.5,
            lambda: 0.01,
            kernel: Kernel::Cosine,
            approximation: None,
            clip_threshold: 1e-6,
            symmetric: false,
            variant: WeightScheme::Normalised,
        }
    }
}

impl CclkSettings {
    pub(super) fn check(&self, spec: &Spec) -> Result<()> {
        if self.lambda == 0.0 {
            let reason = "with which no sample weighs any other and the loss is 0; released: 0.01";
            return Err(Error::parameter("lambda", self.lambda, reason));
        }
        spec.check(self)?;
        self.kernel.check()?;
        self.approximation.as_ref().map_or(Ok(()), Approximation::check)
    }

    /// The forecast of a solve without an approximation.
    fn forecast(&self, samples: usize) -> Forecast<'_> {
        Forecast::new(&self.kernel, samples, self.lambda, self.gram_diagonal())
    }
}

impl ConditionedByKernel for CclkSettings {
    fn solve(&self, z: &Matrix, _device: &Device) -> Result<SolvedCondition> {
        Ok(SolvedCondition::Weights(Arc::new(self.weights(z)?)))
    }

    fn stored_numbers(&self, samples: usize) -> RangeInclusive<u64> {
        match &self.approximation {
            // Two factors.
            Some(approximation) => {
                0..=2 * (samples as u64).saturating_mul(approximation.rank.min(samples) as u64)
            }
            None => self.forecast(samples).stored_numbers(),
        }
    }

    fn dense_solve(&self, samples: usize, columns: usize) -> DenseSolve {
        match &self.approximation {
            Some(_) => DenseSolve::Rare,
            None => self.forecast(samples).dense_solve(columns),
        }
    }

    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn ridge(&self, _samples: usize) -> f64 {
        self.lambda
    }

    fn weights(&self, z: &Matrix) -> Result<ConditionWeights> {
        let diagonal = self.gram_diagonal();
        match &self.approximation {
            None => ConditionWeights::solve(&self.kernel, z, self.lambda, diagonal),
            Some(approximation) => {
                let factor = self.kernel.low_rank(z, approximation)?;
                ConditionWeights::from_low_rank(&factor, self.lambda, diagonal)
            }
        }
    }

    fn gram_diagonal(&self) -> GramDiagonal {
        self.variant.gram_diagonal()
    }
}
