//! The reduction of the losses of the anchors to one number.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::objective::{Aux, Evaluation, Variant};
use super::spec::{Parameter, Range};
use super::views::TwoViews;
use crate::error::Result;
use crate::loss::batch::Batch;
use crate::loss::pairwise::PairwiseResult;

/// The reduction over all anchors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Their mean: independent of the batch size. The default everywhere.
    #[default]
    Mean,
    /// Their sum, as SupCon and ConTeX print it: it grows with the batch, so the learning rate has to shrink with
    /// it.
    Sum,
}

/// The parameter `reduction`.
pub(crate) const REDUCTION: Parameter = Parameter::choice(
    "reduction",
    &["mean", "sum"],
    "mean or sum over the anchors; a sum is not divided by their number",
);

/// The parameter `base_temperature`.
pub(crate) const BASE_TEMPERATURE: Parameter = Parameter::number(
    "base_temperature",
    Range::Moderate,
    0.07,
    "divisor of the temperature in the released factor",
)
.symbol("τ₀")
.only_in("released");

/// The reduction of the SupCon family. Released code multiplies it by `temperature / base_temperature`, a
/// convention of the SupContrast repository that ties the learning rate to the temperature.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) reduction: Reduction,
    pub(crate) variant: Variant,
    pub(crate) temperature: f64,
    pub(crate) base_temperature: f64,
}

impl Scale {
    /// `temperature / base_temperature` as released, else 1.
    pub(crate) fn ratio(&self) -> f64 {
        match self.variant {
            Variant::Paper => 1.0,
            Variant::Released => self.temperature / self.base_temperature,
        }
    }

    /// Factor of the sum over `anchors`, before the released factor.
    fn unscaled(&self, anchors: usize) -> f64 {
        match self.reduction {
            Reduction::Mean => 1.0 / anchors as f64,
            Reduction::Sum => 1.0,
        }
    }

    /// The contribution of positive pairs to the loss, from one mean of similarities for each anchor.
    pub(crate) fn positive_part(&self, means: Tensor<1>) -> Tensor<1> {
        let [anchors] = means.dims();
        means.sum() * (-self.ratio() * self.unscaled(anchors))
    }

    /// The evaluation of stacked anchors that are compared with themselves. If details are requested, they are the losses of the
    /// anchors, their mean and their reduction without the factor, and the factor, `scale`.
    pub(crate) fn evaluation(
        &self,
        views: &TwoViews,
        batch: &Batch,
        result: PairwiseResult,
    ) -> Result<Evaluation> {
        let anchors = 2 * views.size;
        let (mean, unscaled) = (1.0 / anchors as f64, self.unscaled(anchors));
        let per_anchor = result.per_anchor.clone();
        views.stacked_loss(result, self.ratio() * unscaled).with_details(batch, |evaluation| {
            let sum = per_anchor.clone().sum();
            Ok(evaluation
                .with_aux("loss_unscaled", Aux::Scalar(sum.clone() * unscaled))
                .with_aux("scale", Aux::Number(self.ratio()))
                .with_aux("loss_mean", Aux::Scalar(sum * mean))
                .with_aux("per_anchor", Aux::Vector(per_anchor)))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::loss;

    #[test]
    fn the_released_form_alone_reads_the_base_temperature() {
        for name in ["supcon", "weaksup-info-nce", "contex", "contex-p"] {
            let spec = loss::spec(name).unwrap();
            let unread = |form: &str| -> Vec<&'static str> {
                spec.without_effect(Some(form)).map(|parameter| parameter.name).collect()
            };
            assert_eq!(unread("paper"), ["base_temperature"], "{name}");
            assert!(unread("released").is_empty(), "{name}");
        }
    }
}
