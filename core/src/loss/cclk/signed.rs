//! The sums of the printed forms, whose weights have either sign.

use burn::tensor::{DType, Tensor};

use super::settings::CclkSettings;
use super::sums::{log_or_empty, other_samples_above};
use super::weights_of_views::WeightsOfViews;
use crate::error::Result;
use crate::kernel::conditional::DeviceWeights;
use crate::loss::batch::Batch;
use crate::loss::objective::{Aux, Evaluation};
use crate::loss::pairwise::{
    EMPTY, LogSumExp, LogSumExpHandle, MeanHandle, PairwiseLoss, Positives, Reductions, Weight, itself,
};
use crate::loss::views::{Direction, TwoViews};

/// Lower bound of a sum with weights of either sign, as a fraction of its largest term, so that it has a logarithm.
pub(super) const FLOOR: f64 = 1e-7;

/// The reductions of [`SignedEstimate`]: the own pair, and the other pairs by the sign of their weight.
#[derive(Clone, Copy)]
pub(super) struct SignedTerms {
    own: MeanHandle,
    above: LogSumExpHandle,
    below: LogSumExpHandle,
}

/// The comparison for [`SignedEstimate`].
pub(super) fn signed_sums<'p>(
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &DeviceWeights,
    direction: Direction,
) -> Result<(PairwiseLoss<'p>, SignedTerms)> {
    let b = views.size;
    let pairs = views.compare_across(batch, settings.temperature, direction)?;
    let mut pairs = pairs.with_weights(DeviceWeights::pair_weights(&[weights]));
    let own = pairs.add_mean(Positives::Partner(itself(b)));
    let above = pairs.add_log_sum_exp(other_samples_above(b, 0.0));
    let below = pairs.add_log_sum_exp(LogSumExp::other_samples(b).weighted(Weight::Below(0.0)));
    Ok((pairs, SignedTerms { own, above, below }))
}

/// `[KCEO]_ii = w_ii exp s_ii + sum_{j != i, w > 0} w exp s_ij - sum_{j != i, w < 0} |w| exp s_ij`, as logarithms.
pub(super) struct SignedEstimate {
    /// `s_ii`.
    pub(super) own_similarity: Tensor<1>,
    own: Tensor<1>,
    own_sign: Tensor<1>,
    above: Tensor<1>,
    below: Tensor<1>,
}

impl SignedEstimate {
    pub(super) fn of(reductions: &Reductions, terms: SignedTerms, diagonal: &Tensor<2>) -> Self {
        let own_weight: Tensor<1> = diagonal.clone().squeeze_dim(1);
        let own_similarity = reductions.mean(terms.own);
        Self {
            own: (own_similarity.clone() + log_or_empty(own_weight.clone().abs())).clamp_min(EMPTY),
            own_similarity,
            own_sign: own_weight.sign(),
            above: reductions.log_sum_exp(terms.above),
            below: reductions.log_sum_exp(terms.below),
        }
    }

    /// The largest logarithm of a term; [`EMPTY`] if all are 0.
    pub(super) fn largest(&self) -> Tensor<1> {
        self.own.clone().max_pair(self.above.clone()).max_pair(self.below.clone())
    }

    /// The largest logarithm of a term with a positive weight; [`EMPTY`] if there is none.
    pub(super) fn largest_positive(&self) -> Tensor<1> {
        let is_negative = self.own_sign.clone().lower_equal_elem(0.0);
        self.own.clone().mask_fill(is_negative, EMPTY).max_pair(self.above.clone())
    }

    /// The estimate divided by `exp(shift)`.
    pub(super) fn relative_to(&self, shift: &Tensor<1>) -> Tensor<1> {
        let term = |log: &Tensor<1>| (log.clone() - shift.clone()).exp();
        term(&self.own) * self.own_sign.clone() + term(&self.above) - term(&self.below)
    }
}

/// Adds, if details are requested, the number of anchors whose sum is clamped, of both directions if both are in the loss, and
/// of view a the weights and the estimate, if it is finite. `margin` is above 0 for anchors that are not clamped.
pub(super) fn with_kceo_diagonal(
    evaluation: Evaluation,
    settings: &CclkSettings,
    views: &TwoViews,
    batch: &Batch,
    weights: &WeightsOfViews,
    margin: impl Fn(&SignedEstimate) -> Tensor<1>,
) -> Result<Evaluation> {
    let per_anchor = |direction, value: &dyn Fn(&SignedEstimate) -> Tensor<1>| -> Result<Tensor<1>> {
        let weights = weights.of(direction);
        let diagonal = weights.diagonal();
        let (pairs, terms) = signed_sums(settings, views, batch, weights, direction)?;
        let values = |reductions: &Reductions| value(&SignedEstimate::of(reductions, terms, &diagonal));
        Ok(pairs.evaluate(values)?.per_anchor)
    };
    evaluation.with_details(batch, |evaluation| {
        let estimate =
            per_anchor(Direction::AToB, &|estimate| estimate.relative_to(&estimate.own.zeros_like()))?;
        let clamped = |direction| -> Result<Tensor<1>> {
            Ok(per_anchor(direction, &margin)?.lower_equal_elem(0.0).float().sum())
        };
        let clamped = match settings.symmetric {
            true => clamped(Direction::AToB)? + clamped(Direction::BToA)?,
            false => clamped(Direction::AToB)?,
        };
        let weights_a = weights.of(Direction::AToB);
        let diagonal = weights_a.diagonal();
        let identity = Tensor::<2>::eye(views.size, &diagonal.device()).cast(diagonal.dtype());
        let evaluation = evaluation
            .with_aux("W", Aux::Tensor(weights_a.apply(identity)))
            .with_aux("anchors_clamped", Aux::Scalar(clamped));
        // At low temperatures the exponentials of the estimate overflow; the loss uses their logarithms.
        let largest = if diagonal.dtype() == DType::F64 { 700.0 } else { 80.0 };
        Ok(match settings.temperature.recip() <= largest {
            true => evaluation.with_aux("kceo_diag", Aux::Vector(estimate)),
            false => evaluation,
        })
    })
}
