//! The attraction of BiasCon and SoftCon to weighted positives among all other rows.

use burn::tensor::Tensor;

use crate::loss::objective::Variant;
use crate::loss::pairwise::{LogSumExpHandle, MeanHandle, Reductions, log_add};
use crate::loss::views::TwoViews;

/// Constant that the released code adds inside the logarithm.
const RELEASED_EPSILON: f64 = 1e-9;

/// The reductions of the stacked rows that the loss has.
pub(super) struct Attraction<'v> {
    pub(super) positives: MeanHandle,
    /// All rows but the anchor.
    pub(super) others: LogSumExpHandle,
    pub(super) views: &'v TwoViews,
    pub(super) temperature: f64,
}

impl Attraction<'_> {
    /// The negated mean log-probability of the positives of each anchor.
    pub(super) fn loss(&self, reductions: &Reductions, variant: Variant) -> Tensor<1> {
        let others = reductions.log_sum_exp(self.others);
        let denominator = match variant {
            Variant::Paper => others,
            Variant::Released => {
                let rows = self.views.stacked();
                let is_zero = (rows.clone() * rows).sum_dim(1).squeeze_dim::<1>(1).lower_elem(0.5);
                let largest = others.full_like(1.0 / self.temperature).mask_fill(is_zero, 0.0);
                log_add(others, largest + RELEASED_EPSILON.ln())
            }
        };
        reductions.with_positives(self.positives, denominator) - reductions.mean(self.positives)
    }
}
