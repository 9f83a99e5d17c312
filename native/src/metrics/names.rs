//! Names of metrics in `result.json`.

/// Accuracy of the linear probe on the test images, 0..1.
pub(crate) const TOP1: &str = "top1";
/// The start of the names of metrics of a network's own classifier of the class.
pub(crate) const CLASSIFIER: &str = "classifier_";
/// The start of the names of metrics of the condition. Those of another variable begin with its name.
pub(crate) const CONDITION: &str = "condition";
/// The end of the name of an R², of any variable.
pub(crate) const R_SQUARED: &str = "_r2";
/// Accuracy of the linear probe of a categorical condition, 0..1.
pub(crate) const NAMED: &str = "condition_top1";
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

/// The order of a metric in a table of all: those of the tables of results come first, the others by name.
pub(crate) fn order(metric: &str) -> (usize, &str) {
    (SHOWN.iter().position(|shown| *shown == metric).unwrap_or(SHOWN.len()), metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accuracy_comes_first() {
        let mut metrics = ["class_mean", NAMED, "unbiased", "uniformity", R2, TOP1];
        metrics.sort_by(|one, other| order(one).cmp(&order(other)));
        assert_eq!(metrics, [TOP1, "unbiased", R2, NAMED, "class_mean", "uniformity"]);
    }
}
