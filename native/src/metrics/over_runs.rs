//! The metrics of tables over several runs.

use std::collections::BTreeSet;

use super::leak::{is_linear_leak, linear};
use super::names::{MSE, NAMED, R2, TOP1};

/// Metrics of tables over several runs, where they were measured: those of one run, and the leak that the non-linear probe finds.
const OVER_RUNS: [&str; 8] =
    [TOP1, "unbiased", "worst_group", R2, "condition_r2_nonlinear", MSE, NAMED, "condition_top1_nonlinear"];

/// The place of a metric in tables over several runs; any other metric comes after all of these.
pub(crate) fn rank(metric: &str) -> usize {
    OVER_RUNS.iter().position(|one| *one == metric).unwrap_or(OVER_RUNS.len())
}

/// The metrics of tables over several runs among those that were measured, each once: first those of one run and of its
/// non-linear probe, then the leaks of further variables.
pub(crate) fn over_runs<'a>(measured: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let shown = measured.filter(|metric| rank(metric) < OVER_RUNS.len() || is_linear_leak(linear(metric)));
    let in_order: BTreeSet<(usize, &str)> = shown.map(|metric| (rank(metric), metric)).collect();
    in_order.into_iter().map(|(_, metric)| metric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::leak::NONLINEAR;
    use crate::metrics::names::SHOWN;

    #[test]
    fn what_a_run_shows_has_a_mean_over_several() {
        let shown: Vec<&str> = OVER_RUNS.into_iter().filter(|name| !name.ends_with(NONLINEAR)).collect();
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
}
