//! The metrics of a leak: how much of a variable a probe finds in a representation.

use super::names::{CLASSIFIER, NAMED, R_SQUARED, R2, prefix_of, with_prefix};

/// The metrics of a linear probe of the condition: of a category, and of numbers.
pub(crate) const LINEAR: [&str; 2] = [NAMED, R2];
/// The area under the ROC curve of a condition of two values.
pub(crate) const AREA: &str = "condition_roc_auc";
/// The end of the name of a metric of the non-linear probe.
pub(crate) const NONLINEAR: &str = "_nonlinear";

const NAMED_ENDING: &str = "_top1";
const AREA_ENDING: &str = "_roc_auc";
const ERROR_ENDING: &str = "_mse";

/// The name that a metric of the condition has for `variable`, in a run whose condition is `probed`.
pub(crate) fn of_variable(metric: &str, variable: &str, probed: &str) -> String {
    if variable == probed { metric.to_owned() } else { with_prefix(metric, &prefix_of(variable)) }
}

/// The metric of the linear probe in the place of that of the non-linear one.
pub(crate) fn linear(metric: &str) -> &str {
    metric.strip_suffix(NONLINEAR).unwrap_or(metric)
}

/// True if a metric is a leak, of any variable and by any probe.
pub(crate) fn is_leak(metric: &str) -> bool {
    let endings = [NAMED_ENDING, R_SQUARED, AREA_ENDING, ERROR_ENDING];
    !metric.starts_with(CLASSIFIER) && endings.iter().any(|ending| linear(metric).ends_with(ending))
}

/// True if a metric is what a linear probe finds of a variable: of a category, or of numbers.
pub(crate) fn is_linear_leak(metric: &str) -> bool {
    is_leak(metric) && [NAMED_ENDING, R_SQUARED].iter().any(|ending| metric.ends_with(ending))
}

/// True if a leak is the share of the images whose value is named.
pub(crate) fn is_share(metric: &str) -> bool {
    is_leak(metric) && linear(metric).ends_with(NAMED_ENDING)
}

/// True if a leak is the error of a prediction, which is high where little leaks.
pub(crate) fn is_error(metric: &str) -> bool {
    linear(metric).ends_with(ERROR_ENDING)
}

/// The share of named images beside an area under the ROC curve.
pub(crate) fn share_of(area: &str) -> Option<String> {
    linear(area).strip_suffix(AREA_ENDING).map(|start| format!("{start}{NAMED_ENDING}"))
}

/// The area under the ROC curve beside a share of named images.
pub(crate) fn area_of(share: &str) -> Option<String> {
    share.strip_suffix(NAMED_ENDING).map(|start| format!("{start}{AREA_ENDING}"))
}

/// The amount that a value of a metric stands for. A probe with an R² below 0, which the mean alone has, finds as little as one with
/// 0. A value of another metric is its own amount.
pub(crate) fn amount(metric: &str, value: f64) -> f64 {
    if linear(metric).ends_with(R_SQUARED) { value.max(0.0) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leak_is_told_from_the_accuracy_of_the_class() {
        for leak in [NAMED, R2, AREA, "age_r2", "condition_mse", "age_top1", "condition_roc_auc_nonlinear"] {
            assert!(is_leak(leak), "{leak}");
        }
        for other in ["top1", "roc_auc", "classifier_top1", "age_worst_group", "unbiased", "nt_xent_test"] {
            assert!(!is_leak(other), "{other}");
        }
        assert!(is_share("age_top1_nonlinear") && !is_share(AREA) && !is_share("top1"));
        assert_eq!(share_of("age_roc_auc_nonlinear").as_deref(), Some("age_top1"));
        assert_eq!(
            (area_of(NAMED).as_deref(), area_of("top1"), share_of("roc_auc")),
            (Some(AREA), None, None)
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
