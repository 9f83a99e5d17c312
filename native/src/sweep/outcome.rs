//! What a sweep found: every point with its metrics, and which is best.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::axis::{Axis, Point};
use super::plan::Tried;
use crate::exit::usage;
use crate::run::record::ArmResult;
use crate::spread::Spread;

/// One point.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    /// For each key the value that was tried.
    pub(crate) settings: BTreeMap<String, String>,
    /// Metrics on the held-out images, by name.
    pub(crate) metrics: BTreeMap<String, Measured>,
    /// Folder of its runs, one a seed.
    pub(crate) folder: String,
    /// For each key the index of its value.
    #[serde(skip)]
    pub(crate) point: Point,
}

/// A metric over the seeds.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    /// One value a seed.
    pub(crate) values: Vec<f64>,
    #[serde(flatten)]
    pub(crate) spread: Spread,
}

/// By what points are compared.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Aim<'a> {
    /// A metric.
    pub(crate) by: &'a str,
    /// Whether its least value is best.
    pub(crate) lowest: bool,
}

impl Outcome {
    /// Gathers the metrics of a point's runs.
    pub(crate) fn of(axes: &[Axis], tried: &Tried) -> Self {
        let value = |(axis, &at): (&Axis, &usize)| (axis.key.clone(), axis.values[at].clone());
        let names = tried.runs.first().into_iter().flat_map(|run: &ArmResult| run.metrics.keys());
        let measured = |name: &String| {
            let values: Vec<f64> = tried.runs.iter().filter_map(|run| run.metric(name)).collect();
            Spread::of(&values).map(|spread| (name.clone(), Measured { values, spread }))
        };
        Self {
            settings: axes.iter().zip(&tried.point).map(value).collect(),
            metrics: names.filter_map(measured).collect(),
            folder: tried.folder.display().to_string(),
            point: tried.point.clone(),
        }
    }

    /// A metric's mean.
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        self.spread(name).map(|spread| spread.mean)
    }

    /// A metric's mean and deviation.
    pub(crate) fn spread(&self, name: &str) -> Option<Spread> {
        self.metrics.get(name).map(|measured| measured.spread)
    }
}

impl Aim<'_> {
    /// The better of two values, or the one that there is.
    pub(crate) fn better(self, one: Option<f64>, other: Option<f64>) -> Option<f64> {
        match (one, other) {
            (Some(one), Some(other)) => Some(if self.lowest { one.min(other) } else { one.max(other) }),
            (one, other) => one.or(other),
        }
    }

    /// The points from best to worst; equal ones in the order of the grid.
    ///
    /// # Errors
    /// A usage error if the metric was not measured.
    pub(crate) fn rank(self, outcomes: &mut [Outcome]) -> Result<()> {
        if let Some(outcome) = outcomes.iter().find(|outcome| outcome.mean(self.by).is_none()) {
            let known: Vec<&str> = outcome.metrics.keys().map(String::as_str).collect();
            let (by, known) = (self.by, known.join(", "));
            return Err(usage(format_args!("no run measures `{by}`; choose --by one of {known}")));
        }
        let mean = |outcome: &Outcome| outcome.mean(self.by).unwrap_or(f64::NAN);
        outcomes.sort_by(|a, b| {
            let order = mean(a).total_cmp(&mean(b));
            if self.lowest { order } else { order.reverse() }
        });
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn outcome(at: usize, values: &[f64]) -> Outcome {
        let measured = Measured { values: values.to_vec(), spread: Spread::of(values).unwrap() };
        let metrics = BTreeMap::from([("top1".to_owned(), measured)]);
        Outcome { settings: BTreeMap::new(), metrics, folder: String::new(), point: vec![at] }
    }

    #[test]
    fn the_best_has_the_best_mean_over_its_seeds() {
        let mut found = [outcome(0, &[0.9, 0.1]), outcome(1, &[0.6, 0.6]), outcome(2, &[0.7, 0.2])];
        Aim { by: "top1", lowest: false }.rank(&mut found).unwrap();
        assert_eq!(found.iter().map(|outcome| outcome.point[0]).collect::<Vec<_>>(), [1, 0, 2]);
        Aim { by: "top1", lowest: true }.rank(&mut found).unwrap();
        assert_eq!(found[0].point, [2]);
        let error = Aim { by: "top5", lowest: false }.rank(&mut found).unwrap_err();
        assert!(error.to_string().contains("one of top1"), "{error}");
    }
}
