//! The points that a sweep tried, ranked, with the one to take.

use std::path::Path;

use anyhow::Result;

use super::final_images::FinalImages;
use super::front;
use super::leak::{Attributes, Leak, Limit};
use super::noise::Noise;
use super::outcome::{Criterion, Outcome};
use super::output::Sweep;
use super::plan::Plan;
use crate::exit::usage;
use crate::experiment::several::RunMetrics;
use crate::experiment::several::outcome::RunOutcome;
use crate::experiment::several::task::Missing;

/// The points that a sweep tries, out of those of the grid.
pub(crate) struct Search<'a> {
    /// The name of the recipe.
    pub(crate) recipe: &'a str,
    pub(crate) plan: &'a Plan<'a>,
    /// Number of points of the whole grid.
    pub(crate) grid: usize,
    pub(crate) criterion: Criterion<'a>,
    /// The leak that the best point may have at most, if the user bounds it.
    pub(crate) leak_at_most: Option<f64>,
    /// The attributes whose leak the runs may measure.
    pub(crate) attributes: Attributes,
    /// The folder of the data.
    pub(crate) data: Option<&'a Path>,
}

/// The parts of a summary that the command line decides.
pub(crate) struct SummaryTexts<'f> {
    /// The command of the sweep.
    pub(crate) command: String,
    /// The command that trains a point on all training images and evaluates it on the final ones.
    pub(crate) command_of: &'f dyn Fn(&Outcome, FinalImages) -> String,
    pub(crate) device: String,
}

impl<'a> Search<'a> {
    /// The points with the metrics of their runs, the best first, and the point to take. A smoke test compares none: it takes no point,
    /// and has no front.
    ///
    /// # Errors
    /// A usage error if no run measures the metric by which the points are ranked.
    pub(crate) fn summary(
        &self,
        outcomes: &[RunOutcome],
        missing: Vec<Missing>,
        texts: SummaryTexts<'_>,
    ) -> Result<Sweep<'a>> {
        let Self { recipe, plan, grid, criterion, .. } = *self;
        let (attributes, is_smoke) = (&self.attributes, plan.smoke);
        let of_point = |at| Outcome::of(plan, at, outcomes);
        let mut points: Vec<Outcome> = (0..plan.points.len()).filter_map(of_point).collect();
        criterion.rank(&mut points)?;
        let noise = Noise { held_out: held_out(outcomes) };
        let leak = attributes.leak(|metric| points.iter().any(|point| point.mean(metric).is_some()));
        let metric_of_leak = leak.as_ref().map(|leak| leak.metric.as_str());
        let front = if is_smoke { None } else { front::mark(&mut points, criterion, metric_of_leak, noise) };
        let limit = self.limit(leak.as_ref())?;
        let is_within = |point: &Outcome| limit.as_ref().is_none_or(|limit| limit.holds(point));
        let is_best = |point: &Outcome| !is_smoke && point.diverged.is_empty() && is_within(point);
        let chosen = points.iter().position(is_best);
        let best = chosen.and_then(|at| points.get(at));
        let data = plan.recipe_at(0)?.data;
        let final_images = FinalImages::of(&data, self.data);
        Ok(Sweep {
            recipe,
            variant: plan.trained_variant()?,
            axes: plan.axes,
            criterion,
            grid,
            seeds: plan.seeds.end - plan.seeds.start,
            is_smoke,
            device: texts.device,
            version: env!("CARGO_PKG_VERSION"),
            command: texts.command,
            best: best.map_or_else(String::new, |best| (texts.command_of)(best, final_images)),
            evaluation_split: data.evaluation_split(),
            final_images,
            condition: attributes.probed.clone(),
            attribute: attribute(attributes, outcomes),
            leak,
            front,
            limit,
            chosen,
            noise,
            points,
            missing,
        })
    }

    /// Refuses a run that will not measure the metric of the criterion, or no leak where one is bounded.
    ///
    /// # Errors
    /// A usage error.
    pub(crate) fn check_run(&self, metrics: RunMetrics<'_>) -> Result<()> {
        self.criterion.check_run(metrics)?;
        match metrics {
            RunMetrics::Names(names)
                if self.leak_at_most.is_some()
                    && self.attributes.leak(|metric| names.contains(metric)).is_none() =>
            {
                Err(self.no_leak())
            }
            RunMetrics::Names(_) | RunMetrics::Outcome(_) => Ok(()),
        }
    }

    /// The bound on the leak of the best point, by the leak by which points are compared.
    ///
    /// # Errors
    /// A usage error if a bound is given and no run measures a leak.
    fn limit(&self, leak: Option<&Leak>) -> Result<Option<Limit>> {
        let Some(most) = self.leak_at_most else { return Ok(None) };
        leak.map(|leak| Some(Limit { leak: leak.clone(), most })).ok_or_else(|| self.no_leak())
    }

    fn no_leak(&self) -> anyhow::Error {
        usage(self.attributes.unmeasured())
    }
}

/// The attribute by whose leak points are compared: the one that the variant hides or keeps, or else the condition of the runs, which
/// is empty where their data have no attributes.
fn attribute(attributes: &Attributes, outcomes: &[RunOutcome]) -> String {
    let Attributes { judged, probed } = attributes;
    if judged != probed {
        return judged.clone();
    }
    outcomes.iter().find_map(RunOutcome::done).map(|run| run.condition.clone()).unwrap_or_default()
}

/// The number of images by which the points are judged, or of their subjects, if a run knows it.
fn held_out(outcomes: &[RunOutcome]) -> Option<usize> {
    let images = outcomes.iter().find_map(|outcome| outcome.done()?.images)?;
    Some(images.test_subjects.unwrap_or(images.test))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::record::ImageCounts;
    use crate::run_folder::testing::{run, variant};

    #[test]
    fn subjects_are_counted_instead_of_their_images() {
        let of = |test_subjects| {
            let mut result = run("a", 0, "", vec![variant("plain", 0.5)]).result;
            result.images = Some(ImageCounts { train: 400, test: 100, test_subjects });
            held_out(&[RunOutcome::Missing("not begun".to_owned()), RunOutcome::Done(Box::new(result))])
        };
        assert_eq!((of(Some(17)), of(None)), (Some(17), Some(100)));
    }

    #[test]
    fn points_are_compared_by_an_attribute_that_the_data_have() {
        let of = |judged: &str, condition: &str| {
            let mut result = run("a", 0, "", vec![variant("plain", 0.5)]).result;
            result.condition = condition.into();
            let attributes = Attributes { judged: judged.into(), probed: "colour".into() };
            attribute(&attributes, &[RunOutcome::Done(Box::new(result))])
        };
        assert_eq!(of("age", "colour"), "age");
        assert_eq!(of("colour", "colour"), "colour");
        assert_eq!(of("colour", ""), "", "the data have no attributes");
    }
}
