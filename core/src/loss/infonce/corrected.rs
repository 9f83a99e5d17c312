//! Sums over negatives that are corrected for the positives among them, as in DCL, and weighted by their nearness, as in HCL.

use burn::tensor::Tensor;

use crate::error::Result;
use crate::loss::spec::{Parameter, Range};

/// The parameter `tau_plus` of the objectives that correct a sum over negatives.
pub(crate) const TAU_PLUS: Parameter = Parameter::number(
    "tau_plus",
    Range::Probability,
    0.1,
    "probability that a negative is of the anchor's class",
)
.symbol("τ⁺")
.between(0.0, 0.5);

/// The correction of a sum over negatives for the positives among them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Debias {
    temperature: f64,
    tau_plus: f64,
    /// `N`, the number of negatives of an anchor.
    negatives: f64,
}

impl Debias {
    /// The correction for `2 b` stacked anchors.
    pub(crate) fn new(temperature: f64, tau_plus: f64, b: usize) -> Result<Self> {
        Range::Moderate.check("temperature", temperature)?;
        Range::Probability.check("tau_plus", tau_plus)?;
        Ok(Self { temperature, tau_plus, negatives: (2 * b.saturating_sub(1)) as f64 })
    }

    /// `log( exp own + N g ) - own` from the similarity of the own pair and the log of the sum over
    /// negatives.
    pub(crate) fn loss(&self, own: Tensor<1>, negatives: Tensor<1>) -> Tensor<1> {
        let (shift, estimate, floor) = self.estimate(&own, &negatives);
        let positive = (own.clone() - shift.clone()).exp();
        (positive + estimate.max_pair(floor)).log() + shift - own
    }

    /// Number of anchors at the floor.
    pub(crate) fn at_floor(&self, own: Tensor<1>, negatives: Tensor<1>) -> Tensor<1> {
        let (_, estimate, floor) = self.estimate(&own, &negatives);
        estimate.lower(floor).float().sum()
    }

    /// A shift, and both arguments of the maximum divided by its exponential.
    fn estimate(&self, own: &Tensor<1>, negatives: &Tensor<1>) -> (Tensor<1>, Tensor<1>, Tensor<1>) {
        let lowest = -1.0 / self.temperature;
        let largest = own.clone().max_pair(negatives.clone()).detach();
        // Only rows that are given as unit rows, but are longer, have similarities below those of the floor.
        let shift = if self.negatives > 0.0 { largest.clamp_min(lowest) } else { largest };
        let positives = (own.clone() - shift.clone()).exp() * (self.tau_plus * self.negatives);
        let estimate =
            ((negatives.clone() - shift.clone()).exp() - positives) * (1.0 - self.tau_plus).recip();
        let floor = (shift.clone().neg() + lowest).exp() * self.negatives;
        (shift, estimate, floor)
    }
}

/// `log R_i` of HCL over the `2 b - 2` rows of other samples: `raised` is the log-sum-exp with power `1 + beta`, `weights` that
/// with power `beta`.
pub(crate) fn reweighted(raised: Tensor<1>, weights: Tensor<1>, b: usize) -> Tensor<1> {
    match b {
        0 | 1 => raised,
        _ => raised - weights + ((2 * b - 2) as f64).ln(),
    }
}
