//! The outcome of a sweep: every point with its metrics, and the best one.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::axis::{Axis, Point};
use super::plan::Plan;
use crate::config::explain::suggestion;
use crate::exit::usage;
use crate::experiment::several::RunMetrics;
use crate::experiment::several::outcome::RunOutcome;
use crate::metrics::format::MetricFormat;
use crate::metrics::leak::amount;
use crate::metrics::mean_std::MeanStd;
use crate::metrics::names::TOP1;
use crate::run_folder::record::VariantResult;

/// One point.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// For each key the value that was tried.
    pub(crate) settings: BTreeMap<String, String>,
    /// Metrics on the images by which the points are compared, by name.
    pub(crate) metrics: BTreeMap<String, MetricOverSeeds>,
    /// The runs that diverged; no metric counts them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) diverged: Vec<Divergence>,
    /// Folder of its runs, one a seed.
    pub(crate) folder: String,
    /// Its place beside the front of accuracy and leak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) front: Option<Front>,
    /// For each key the index of its value.
    #[serde(skip)]
    pub(crate) point: Point,
}

/// The place of a point beside the front of accuracy and leak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Front {
    On,
    /// Not on it, and not told apart from one of its points in accuracy or in leak.
    Tied,
}

/// A run whose numbers became infinite or NaN.
#[derive(Debug, Serialize)]
pub(crate) struct Divergence {
    pub(crate) seed: u64,
    pub(crate) message: String,
}

/// A metric over the seeds.
#[derive(Debug, Serialize)]
pub(crate) struct MetricOverSeeds {
    /// One value a seed, of those that did not diverge.
    pub(crate) values: Vec<f64>,
    #[serde(skip)]
    pub(crate) seeds: Vec<u64>,
    #[serde(flatten)]
    pub(crate) mean_std: MeanStd,
}

/// The criterion for comparing points.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Criterion<'a> {
    /// A metric.
    pub(crate) by: &'a str,
    /// True if its smallest value is best.
    pub(crate) lowest: bool,
}

impl Outcome {
    /// Gathers the metrics of the runs of the point at an index, out of the outcomes of all runs; `None` if none of its runs has a result
    /// or diverged.
    pub(crate) fn of(plan: &Plan<'_>, at: usize, outcomes: &[RunOutcome]) -> Option<Self> {
        let point = plan.points.get(at)?;
        let mut runs: Vec<(u64, &VariantResult)> = Vec::new();
        let mut diverged = Vec::new();
        for (seed, outcome) in plan.seeds.clone().zip(outcomes.iter().skip(at).step_by(plan.points.len())) {
            match outcome {
                RunOutcome::Done(run) => runs.extend(run.variants.first().map(|variant| (seed, variant))),
                RunOutcome::Diverged(message) => diverged.push(Divergence { seed, message: message.clone() }),
                RunOutcome::Missing(_) => {}
            }
        }
        if runs.is_empty() && diverged.is_empty() {
            return None;
        }
        let value = |(axis, &at): (&Axis, &usize)| (axis.key.clone(), axis.values[at].clone());
        let names = runs.first().into_iter().flat_map(|(_, run)| run.metrics.keys());
        let measured = |name: &String| {
            let measured = runs.iter().filter_map(|(seed, run)| Some((*seed, run.metric(name)?)));
            let (seeds, values): (Vec<u64>, Vec<f64>) = measured.unzip();
            MeanStd::of(&values).map(|mean_std| (name.clone(), MetricOverSeeds { values, seeds, mean_std }))
        };
        Some(Self {
            settings: plan.axes.iter().zip(point).map(value).collect(),
            metrics: names.filter_map(measured).collect(),
            diverged,
            folder: plan.folder_of(point).display().to_string(),
            front: None,
            point: point.clone(),
        })
    }

    /// The divergence of one of its runs in a few words, if there is one.
    pub(crate) fn divergence(&self) -> Option<String> {
        let of = self.diverged.len() + self.metrics.values().map(|one| one.values.len()).max().unwrap_or(0);
        match self.diverged.len() {
            0 => None,
            all if all == of => Some("diverged".into()),
            some => Some(format!("{some} of {of} diverged")),
        }
    }

    /// A metric's mean.
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        self.mean_std(name).map(|mean_std| mean_std.mean)
    }

    /// A metric's mean and deviation.
    pub(crate) fn mean_std(&self, name: &str) -> Option<MeanStd> {
        self.metrics.get(name).map(|measured| measured.mean_std)
    }

    /// The mean and deviation of what a metric amounts to, by which points are compared: seeds with an R² below 0 find no less than
    /// others without a leak, and do not make up for those with one.
    pub(crate) fn amount(&self, name: &str) -> Option<MeanStd> {
        let values = self.metrics.get(name)?.values.iter();
        MeanStd::of(&values.map(|value| amount(name, *value)).collect::<Vec<_>>())
    }
}

impl Criterion<'_> {
    /// The better of two values, or the one that there is.
    pub(crate) fn better(self, one: Option<f64>, other: Option<f64>) -> Option<f64> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if self.lowest { one.min(other) } else { one.max(other) }),
            (one, other) => one.or(other),
        }
    }

    /// Refuses a name that no metric of any run has.
    ///
    /// # Errors
    /// A usage error with the nearest name.
    pub(crate) fn check_name(self) -> Result<()> {
        if MetricFormat::is_known(self.by) {
            return Ok(());
        }
        let hint = suggestion(self.by, MetricFormat::names());
        Err(usage(format_args!("--by {}: no run has this metric{hint}", self.by)))
    }

    /// Refuses a run that will not measure the metric, or did not.
    ///
    /// # Errors
    /// As for [`rank`](Self::rank).
    pub(crate) fn check_run(self, metrics: RunMetrics<'_>) -> Result<()> {
        match metrics {
            RunMetrics::Names(names) => self.check(names.iter()),
            RunMetrics::Outcome(outcome) => {
                let variant = outcome.done().and_then(|run| run.variants.first());
                variant.map_or(Ok(()), |variant| self.check(variant.metrics.keys()))
            }
        }
    }

    fn check<'m>(self, metrics: impl Iterator<Item = &'m String>) -> Result<()> {
        let known: Vec<&str> = metrics.map(String::as_str).collect();
        if known.is_empty() || known.contains(&self.by) {
            return Ok(());
        }
        let (by, known) = (self.by, known.join(", "));
        Err(usage(format_args!("no run measures `{by}`; choose --by one of {known}")))
    }

    /// The points from best to worst, those with a run that diverged after all others; equal ones by top-1, and in the order of the
    /// grid.
    ///
    /// # Errors
    /// A usage error if the metric was not measured.
    pub(crate) fn rank(self, outcomes: &mut [Outcome]) -> Result<()> {
        outcomes.iter().try_for_each(|outcome| self.check(outcome.metrics.keys()))?;
        let mean =
            |outcome: &Outcome, metric: &str| outcome.amount(metric).map_or(f64::NAN, |amount| amount.mean);
        outcomes.sort_by(|a, b| {
            let order = mean(a, self.by).total_cmp(&mean(b, self.by));
            let order = if self.lowest { order } else { order.reverse() };
            let by_accuracy = mean(b, TOP1).total_cmp(&mean(a, TOP1));
            a.diverged.len().cmp(&b.diverged.len()).then(order).then(by_accuracy)
        });
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// A point with metrics, one value a seed.
    pub(in crate::sweep) fn measured(at: usize, metrics: &[(&str, &[f64])]) -> Outcome {
        let one = |(name, values): &(&str, &[f64])| {
            let mean_std = MeanStd::of(values).unwrap();
            let measured =
                MetricOverSeeds { values: values.to_vec(), seeds: vec![0; values.len()], mean_std };
            ((*name).to_owned(), measured)
        };
        Outcome {
            settings: BTreeMap::new(),
            metrics: metrics.iter().map(one).collect(),
            diverged: vec![],
            folder: String::new(),
            front: None,
            point: vec![at],
        }
    }

    fn outcome(at: usize, values: &[f64]) -> Outcome {
        measured(at, &[("top1", values)])
    }

    #[test]
    fn the_best_has_the_best_mean_over_its_seeds() {
        let mut outcomes = [outcome(0, &[0.9, 0.1]), outcome(1, &[0.6, 0.6]), outcome(2, &[0.7, 0.2])];
        Criterion { by: "top1", lowest: false }.rank(&mut outcomes).unwrap();
        assert_eq!(outcomes.iter().map(|outcome| outcome.point[0]).collect::<Vec<_>>(), [1, 0, 2]);
        Criterion { by: "top1", lowest: true }.rank(&mut outcomes).unwrap();
        assert_eq!(outcomes[0].point, [2]);
        let error = Criterion { by: "top5", lowest: false }.rank(&mut outcomes).unwrap_err();
        assert!(error.to_string().contains("one of top1"), "{error}");
    }

    #[test]
    fn points_that_leak_nothing_are_ranked_by_their_accuracy() {
        let point = |at: usize, top1: f64, r2: &[f64]| measured(at, &[(TOP1, &[top1]), ("dose_r2", r2)]);
        let mut outcomes = [point(0, 0.7, &[0.2]), point(1, 0.5, &[-6.0]), point(2, 0.66, &[-0.3])];
        Criterion { by: "dose_r2", lowest: true }.rank(&mut outcomes).unwrap();
        assert_eq!(outcomes.iter().map(|outcome| outcome.point[0]).collect::<Vec<_>>(), [2, 1, 0]);
        let once = point(0, 0.5, &[0.4, -3.0]).amount("dose_r2").unwrap();
        assert_eq!(once.mean, 0.2, "a seed without a leak makes up for no other");
    }

    #[test]
    fn a_point_that_diverged_is_told_and_is_the_best_of_nothing() {
        let diverged = |seed| Divergence { seed, message: "the loss is not finite".into() };
        let once = Outcome { diverged: vec![diverged(1)], ..outcome(0, &[0.99]) };
        let ever = Outcome { diverged: vec![diverged(0)], metrics: BTreeMap::new(), ..outcome(1, &[0.5]) };
        assert_eq!(once.divergence().as_deref(), Some("1 of 2 diverged"));
        assert_eq!(ever.divergence().as_deref(), Some("diverged"));
        for lowest in [false, true] {
            let mut outcomes = [outcome(2, &[0.1]), outcome(3, &[0.2])];
            assert_eq!(outcomes[0].divergence(), None);
            outcomes.swap(0, 1);
            let again = |seed| Outcome { diverged: vec![diverged(seed)], ..outcome(0, &[0.99]) };
            let mut outcomes = outcomes.into_iter().collect::<Vec<_>>();
            outcomes.insert(0, again(1));
            Criterion { by: "top1", lowest }.rank(&mut outcomes).unwrap();
            assert_eq!(outcomes[2].point, [0]);
        }
    }
}
