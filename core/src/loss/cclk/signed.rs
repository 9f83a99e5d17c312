//! The sums of the printed forms, whose weights have either sign.

use burn::tensor::{DType, Tensor};

use super::{BothEmbeddings, KernelWeights, log_or_empty, weighted};
use crate::error::Result;
use crate::kernel::conditional::DeviceEmbedding;
use crate::loss::batch::Batch;
use crate::loss::infonce::info_nce::Side;
use crate::loss::objective::{Aux, Evaluation};
use crate::loss::pairwise::{EMPTY, LogSumExp, PairwiseLoss, Positives, Reductions, Weight, itself};
use crate::loss::views::TwoViews;

/// Lower bound of a sum with weights of either sign, as a fraction of its largest term, so that it has a logarithm.
pub(super) const FLOOR: f64 = 1e-7;

/// The comparison for [`SignedEstimate`]: the own pair, and the other pairs by the sign of their weight.
pub(super) fn signed_sums<'a>(
    settings: &KernelWeights,
    batch: &Batch,
    anchors: Tensor<2>,
    candidates: Tensor<2>,
    operator: &'a DeviceEmbedding,
) -> Result<PairwiseLoss<'a>> {
    let [b, _] = anchors.dims();
    Ok(PairwiseLoss::new(anchors, candidates, settings.temperature, batch.tile())?
        .with_peers(batch.peers())
        .mean(Positives::Partner(itself(b)))
        .with_weights(DeviceEmbedding::pair_weights(&[operator]))
        .log_sum_exp(weighted(b, 0.0))
        .log_sum_exp(LogSumExp::apart(b).weighted(Weight::Below(0.0))))
}

/// `[KCEO]_ii = w_ii exp s_ii + sum_{j != i, w > 0} w exp s_ij - sum_{j != i, w < 0} |w| exp s_ij` of a tile, as logarithms.
pub(super) struct SignedEstimate {
    own: Tensor<1>,
    own_sign: Tensor<1>,
    above: Tensor<1>,
    below: Tensor<1>,
}

impl SignedEstimate {
    pub(super) fn of(reductions: &Reductions, diagonal: &Tensor<2>) -> Self {
        let own_weight: Tensor<1> = diagonal.clone().squeeze_dim(1);
        Self {
            own: (reductions.means[0].clone() + log_or_empty(own_weight.clone().abs())).clamp_min(EMPTY),
            own_sign: own_weight.sign(),
            above: reductions.sums[0].clone(),
            below: reductions.sums[1].clone(),
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
    settings: &KernelWeights,
    views: &TwoViews,
    batch: &Batch,
    operators: &BothEmbeddings,
    margin: impl Fn(&Reductions, &SignedEstimate) -> Tensor<1>,
) -> Result<Evaluation> {
    if !batch.is_detailed() {
        return Ok(evaluation);
    }
    let per_anchor = |side, value: &dyn Fn(&Reductions, &SignedEstimate) -> Tensor<1>| -> Result<Tensor<1>> {
        let (a, b) = (views.a.rows(), views.b.rows());
        let (anchors, candidates) = if side == Side::A { (a, b) } else { (b, a) };
        let operator = operators.of(side);
        let diagonal = operator.diagonal();
        let sums = signed_sums(settings, batch, anchors, candidates, operator)?;
        Ok(sums
            .evaluate(|reductions| value(reductions, &SignedEstimate::of(reductions, &diagonal)))?
            .per_anchor)
    };
    let estimate = per_anchor(Side::A, &|_, estimate| estimate.relative_to(&estimate.own.zeros_like()))?;
    let clamped =
        |side| -> Result<Tensor<1>> { Ok(per_anchor(side, &margin)?.lower_equal_elem(0.0).float().sum()) };
    let clamped = match settings.symmetric {
        true => clamped(Side::A)? + clamped(Side::B)?,
        false => clamped(Side::A)?,
    };
    let (operator, diagonal) = (&operators.a, operators.a.diagonal());
    let identity = Tensor::<2>::eye(views.size, &diagonal.device()).cast(diagonal.dtype());
    let evaluation = evaluation
        .with_aux("W", Aux::Tensor(operator.apply(identity)))
        .with_aux("anchors_clamped", Aux::Scalar(clamped));
    // At low temperatures the exponentials of the estimate overflow; the loss uses their logarithms.
    let largest = if diagonal.dtype() == DType::F64 { 700.0 } else { 80.0 };
    Ok(match settings.temperature.recip() <= largest {
        true => evaluation.with_aux("kceo_diag", Aux::Vector(estimate)),
        false => evaluation,
    })
}
