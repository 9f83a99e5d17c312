//! The metrics of a leak: how much of an attribute a probe finds in a representation.

use super::catalogue::Quantity;
use super::metric::{Measured, Metric, Predictor, beside, linear};
use super::names::{CONDITION, CONDITION_ROC_AUC, CONDITION_TOP1, R2};

/// The metrics of a linear probe of the condition: of a category, and of numbers.
pub(crate) const LINEAR: [&str; 2] = [CONDITION_TOP1, R2];

/// The quantity that a metric of an attribute is, by a probe of the vectors; none for a metric of the class.
fn quantity(metric: &str) -> Option<Quantity> {
    match Metric::of(metric, CONDITION) {
        Metric { measured: Measured::Attribute(_, metric), by: Predictor::Linear | Predictor::Nonlinear } => {
            Some(metric.quantity)
        }
        _ => None,
    }
}

/// True if a metric is a leak, of any attribute and by any probe.
pub(crate) fn is_leak(metric: &str) -> bool {
    quantity(metric).is_some_and(|quantity| quantity != Quantity::OfClass)
}

/// True if a metric is what a linear probe finds of an attribute: of a category, or of numbers.
pub(crate) fn is_linear_leak(metric: &str) -> bool {
    linear(metric) == metric && matches!(quantity(metric), Some(Quantity::Share | Quantity::RSquared))
}

/// True if a leak is the share of the images whose value is named.
pub(crate) fn is_share(metric: &str) -> bool {
    quantity(metric) == Some(Quantity::Share)
}

/// True if a leak is the error of a prediction, which is high where little leaks.
pub(crate) fn is_error(metric: &str) -> bool {
    quantity(metric) == Some(Quantity::Error)
}

/// The share of named images beside an area under the ROC curve.
pub(crate) fn share_of(area: &str) -> Option<String> {
    beside(area, CONDITION_ROC_AUC, CONDITION_TOP1)
}

/// The area under the ROC curve beside a share of named images.
pub(crate) fn area_of(share: &str) -> Option<String> {
    beside(share, CONDITION_TOP1, CONDITION_ROC_AUC)
}

/// The amount that a value of a metric stands for. The mean alone has an R² of 0; a probe that is worse finds as little. A value of
/// another metric is its own amount.
pub(crate) fn amount(metric: &str, value: f64) -> f64 {
    if quantity(metric) == Some(Quantity::RSquared) { value.max(0.0) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leak_is_told_from_the_accuracy_of_the_class() {
        for leak in [
            CONDITION_TOP1,
            R2,
            CONDITION_ROC_AUC,
            "age_r2",
            "condition_mse",
            "age_top1",
            "condition_roc_auc_nonlinear",
        ] {
            assert!(is_leak(leak), "{leak}");
        }
        for other in ["top1", "roc_auc", "classifier_top1", "age_worst_group", "unbiased", "nt_xent_test"] {
            assert!(!is_leak(other), "{other}");
        }
        assert!(is_share("age_top1_nonlinear") && !is_share(CONDITION_ROC_AUC) && !is_share("top1"));
        assert_eq!(share_of("age_roc_auc_nonlinear").as_deref(), Some("age_top1"));
        assert_eq!(
            (area_of(CONDITION_TOP1).as_deref(), area_of("top1"), share_of("roc_auc")),
            (Some(CONDITION_ROC_AUC), None, None)
        );
    }

    #[test]
    fn an_r2_below_0_is_no_amount() {
        for metric in [R2, "age_r2", "condition_r2_nonlinear"] {
            assert_eq!([-6.0, 0.2].map(|value| amount(metric, value)), [0.0, 0.2], "{metric}");
        }
        assert_eq!(amount("uniformity", -2.0), -2.0);
    }
}
