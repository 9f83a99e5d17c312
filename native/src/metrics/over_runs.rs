//! The metrics of tables over several runs.

use std::collections::BTreeSet;

use super::catalogue::shown;
use super::leak::is_linear_leak;
use super::metric::linear;

/// The place of a metric after all that have one.
const LAST: usize = usize::MAX;

/// The place of a metric in tables over several runs: those of one run, each followed by that of the non-linear probe; any other comes
/// after all of these.
pub(crate) fn rank(metric: &str) -> usize {
    let linear_metric = linear(metric);
    let after_it = usize::from(linear_metric != metric);
    shown().iter().position(|shown| *shown == linear_metric).map_or(LAST, |at| 2 * at + after_it)
}

/// The metrics of tables over several runs among those that were measured, each once: first those of one run and of its
/// non-linear probe, then the leaks of further attributes.
pub(crate) fn over_runs<'a>(measured: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let in_table = measured.filter(|metric| rank(metric) < LAST || is_linear_leak(linear(metric)));
    let in_order: BTreeSet<(usize, &str)> = in_table.map(|metric| (rank(metric), metric)).collect();
    in_order.into_iter().map(|(_, metric)| metric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::names::{CONDITION_TOP1, TOP1};

    #[test]
    fn every_leak_is_followed_by_that_of_the_nonlinear_probe() {
        let in_order = [
            "top1",
            "unbiased",
            "worst_group",
            "condition_r2",
            "condition_r2_nonlinear",
            "condition_mse",
            "condition_top1",
            "condition_top1_nonlinear",
        ];
        assert_eq!(over_runs(in_order.into_iter().rev()), in_order);
        assert_eq!(over_runs(["class_mean", "silhouette", "condition_roc_auc"].into_iter()), [""; 0]);
    }

    #[test]
    fn the_leaks_of_further_attributes_follow_those_of_the_condition() {
        let measured = [
            "half_worst_group",
            "classifier_top1",
            "half_top1_nonlinear",
            "age_r2",
            "half_top1",
            "half_roc_auc",
            "age_mse",
            CONDITION_TOP1,
            "half_top1",
            "uniformity",
            TOP1,
        ];
        let shown = [TOP1, CONDITION_TOP1, "age_r2", "half_top1", "half_top1_nonlinear"];
        assert_eq!(over_runs(measured.into_iter()), shown);
        let is_linear = shown.map(is_linear_leak);
        assert_eq!(is_linear, [false, true, true, true, false]);
    }
}
