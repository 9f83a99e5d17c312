//! Names of metrics in `result.json`.

use std::collections::BTreeSet;

use super::leak::{is_leak, linear};

/// Accuracy of the linear probe on the test images, 0..1.
pub(crate) const TOP1: &str = "top1";
/// The start of the names of metrics of the condition. Those of another variable begin with its name.
pub(crate) const CONDITION: &str = "condition";
/// The end of the name of an R², of any variable.
pub(crate) const R_SQUARED: &str = "_r2";
/// Accuracy of the linear probe of a categorical condition, 0..1.
pub(crate) const NAMED: &str = "condition_top1";
/// The end of its name, of any variable.
const NAMED_ENDING: &str = "_top1";
/// The name of the row of predicting the most frequent value and the mean.
pub(crate) const BASE_RATE: &str = "Chance";
/// Squared error of the ridge regression of the condition, mean over its columns, in its own units squared.
pub(crate) const MSE: &str = "condition_mse";
/// R² of the same regression, relative to predicting the mean: 1 for a perfect prediction, 0 for none.
pub(crate) const R2: &str = "condition_r2";

/// The first part of the names of metrics of a variable in `probe.also`. One that is called `condition` has another, because
/// metrics of `probe.condition` have that.
pub(crate) fn prefix_of(variable: &str) -> String {
    if variable == CONDITION { format!("attribute_{variable}") } else { variable.to_owned() }
}

/// The name of a metric of the condition, of another variable.
pub(crate) fn with_prefix(metric: &str, prefix: &str) -> String {
    metric.replacen(CONDITION, prefix, 1)
}

/// Metrics of the tables of results, where they were measured, the most important one first; files of results have all.
pub(crate) const SHOWN: [&str; 6] = [TOP1, "unbiased", "worst_group", R2, MSE, NAMED];

/// Metrics of tables over several runs, where they were measured: the same, and the leak that the non-linear probe finds.
pub(crate) const OVER_RUNS: [&str; 8] =
    [TOP1, "unbiased", "worst_group", R2, "condition_r2_nonlinear", MSE, NAMED, "condition_top1_nonlinear"];

/// True if a metric is what a linear probe finds of a variable: of a category, or of numbers.
pub(crate) fn is_linear_leak(metric: &str) -> bool {
    is_leak(metric) && [NAMED_ENDING, R_SQUARED].iter().any(|ending| metric.ends_with(ending))
}

/// The metrics of tables over several runs among those that were measured, each once: those of [`OVER_RUNS`] in their order, then the
/// leaks of further variables.
pub(crate) fn over_runs<'a>(measured: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let rank = |metric: &str| OVER_RUNS.iter().position(|one| *one == metric).unwrap_or(OVER_RUNS.len());
    let shown = measured.filter(|metric| rank(metric) < OVER_RUNS.len() || is_linear_leak(linear(metric)));
    let in_order: BTreeSet<(usize, &str)> = shown.map(|metric| (rank(metric), metric)).collect();
    in_order.into_iter().map(|(_, metric)| metric).collect()
}

/// The order of a metric in a table of all: those of the tables of results come first, the others by name.
pub(crate) fn order(metric: &str) -> (usize, &str) {
    (SHOWN.iter().position(|shown| *shown == metric).unwrap_or(SHOWN.len()), metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_shows_has_a_mean_over_several() {
        let shown: Vec<&str> = OVER_RUNS.into_iter().filter(|name| !name.ends_with("_nonlinear")).collect();
        assert_eq!(shown, SHOWN);
    }

    #[test]
    fn the_leaks_of_further_variables_follow_those_of_the_condition() {
        let measured = [
            "half_worst_group",
            "classifier_top1",
            "half_top1_nonlinear",
            "age_r2",
            "half_top1",
            "half_roc_auc",
            "age_mse",
            NAMED,
            "half_top1",
            "uniformity",
            TOP1,
        ];
        let shown = [TOP1, NAMED, "age_r2", "half_top1", "half_top1_nonlinear"];
        assert_eq!(over_runs(measured.into_iter()), shown);
        let is_linear = shown.map(is_linear_leak);
        assert_eq!(is_linear, [false, true, true, true, false]);
    }

    #[test]
    fn the_accuracy_comes_first() {
        let mut metrics = ["class_mean", NAMED, "unbiased", "uniformity", R2, TOP1];
        metrics.sort_by(|one, other| order(one).cmp(&order(other)));
        assert_eq!(metrics, [TOP1, "unbiased", R2, NAMED, "class_mean", "uniformity"]);
    }
}
