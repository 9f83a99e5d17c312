//! Names of metrics in `result.json`.

/// Accuracy of the linear probe on the test images, 0..1.
pub(crate) const TOP1: &str = "top1";
/// Accuracy of the linear probe of a categorical condition, 0..1.
pub(crate) const NAMED: &str = "condition_top1";
/// The name of the row of predicting the most frequent value and the mean.
pub(crate) const BASE_RATE: &str = "Chance";
/// Squared error of the ridge regression of the condition, mean over its columns, in its own units squared.
pub(crate) const MSE: &str = "condition_mse";
/// R² of the same regression, relative to predicting the mean: 1 for a perfect prediction, 0 for none.
pub(crate) const R2: &str = "condition_r2";

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
