//! A sweep as text, Markdown, CSV and JSON.

use anyhow::Result;
use serde::Serialize;

use super::axis::Axis;
use super::final_images::FinalImages;
use super::front::FrontOf;
use super::leak::{Leak, Limit};
use super::noise::Noise;
use super::outcome::{Criterion, Front, Outcome};
use crate::data::EvaluationSplit;
use crate::experiment::several::task::Missing;
use crate::markdown;
use crate::metrics::catalogue::shown;
use crate::metrics::format::MetricFormat;

/// A sweep with everything that is needed to read it.
#[derive(Debug, Serialize)]
pub(crate) struct Sweep<'a> {
    pub(crate) recipe: &'a str,
    #[serde(rename = "arm")]
    pub(crate) variant: String,
    pub(crate) axes: &'a [Axis],
    #[serde(flatten)]
    pub(crate) criterion: Criterion<'a>,
    /// Number of points of the whole grid.
    pub(crate) grid: usize,
    pub(crate) seeds: u64,
    /// True if the runs are smoke tests, so that no number compares the points.
    #[serde(rename = "smoke", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_smoke: bool,
    pub(crate) device: String,
    pub(crate) version: &'static str,
    pub(crate) command: String,
    /// The command that trains the best point on all training images and evaluates it.
    pub(crate) best: String,
    /// The images on which it evaluates it.
    #[serde(skip)]
    pub(crate) final_images: FinalImages,
    /// The images on which the points were compared.
    #[serde(skip)]
    pub(crate) evaluation_split: EvaluationSplit,
    /// The attribute whose metrics are called those of the condition.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) condition: String,
    /// The attribute by whose leak points are compared beside the criterion; empty if the data have none.
    #[serde(skip)]
    pub(crate) attribute: String,
    /// The leak of `attribute`, if it is measured.
    #[serde(skip)]
    pub(crate) leak: Option<Leak>,
    /// The metrics of the front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) front: Option<FrontOf>,
    /// The leak that the best point may have at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Limit>,
    /// The place of the best point among the points, if there is one.
    #[serde(skip)]
    pub(crate) chosen: Option<usize>,
    #[serde(skip)]
    pub(crate) noise: Noise,
    /// The points that were tried, the best first.
    pub(crate) points: Vec<Outcome>,
    /// Runs without a result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<Missing>,
}

impl Sweep<'_> {
    pub(super) fn metrics(&self) -> Vec<&str> {
        let measured = |name: &str| self.points.iter().any(|point| point.mean(name).is_some());
        let mut metrics = vec![self.criterion.by];
        for name in self.leak.iter().map(|leak| leak.metric.as_str()).chain(shown()) {
            if !metrics.contains(&name) && measured(name) {
                metrics.push(name);
            }
        }
        metrics
    }

    pub(super) fn headers(&self) -> Vec<String> {
        let keys = self.axes.iter().map(|axis| axis.short().to_owned());
        let metrics = self.metrics().into_iter().map(|name| self.format(name).title);
        keys.chain(metrics).chain(self.has_front().then(|| "Front".to_owned())).collect()
    }

    pub(super) fn cells(&self, outcome: &Outcome) -> Vec<String> {
        let settings = self.axes.iter().zip(&outcome.point).map(|(axis, &at)| axis.values[at].clone());
        let metrics = self.metrics();
        let number = |name: &&str| {
            let number = self.format(name).mean_std(outcome.mean_std(name));
            match outcome.divergence().filter(|_| *name == self.criterion.by) {
                None => number,
                Some(diverged) if outcome.metrics.is_empty() => diverged,
                Some(diverged) => format!("{number}, {diverged}"),
            }
        };
        let front = self.has_front().then(|| {
            match outcome.front {
                Some(Front::On) => "yes",
                Some(Front::Tied) => "tied",
                None => "",
            }
            .to_owned()
        });
        settings.chain(metrics.iter().map(number)).chain(front).collect()
    }

    fn has_front(&self) -> bool {
        self.points.iter().any(|point| point.front.is_some())
    }

    /// The points that differ from the best one by no more than chance, in words.
    fn ties(&self) -> Option<String> {
        let best = self.points.get(self.chosen?)?;
        let within = |point: &&Outcome| self.limit.as_ref().is_none_or(|limit| limit.holds(point));
        let tied = self.points.iter().filter(|point| point.point != best.point).filter(within);
        let tied: Vec<String> = tied
            .filter(|point| self.noise.tied(self.criterion.by, point, best))
            .map(|point| self.settings(point))
            .collect();
        (!tied.is_empty()).then(|| {
            format!(
                "Not distinguishable from it, within two standard errors of the difference: {}.",
                tied.join("; ")
            )
        })
    }

    fn settings(&self, outcome: &Outcome) -> String {
        let settings = self.axes.iter().zip(&outcome.point);
        let settings = settings.map(|(axis, &at)| format!("{} = {}", axis.short(), axis.values[at]));
        settings.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn verdict(&self) -> String {
        if self.is_smoke {
            return "This was a smoke test, with fewer images and steps and smaller batches, also where the grid sets them: its \
                    numbers say only that everything works, and no point is the best"
                .into();
        }
        let best = match (self.chosen.and_then(|at| self.points.get(at)), &self.limit) {
            (Some(best), _) => best,
            (None, Some(limit)) => {
                let leak = |point: &Outcome| Some(point.amount(&limit.leak.metric)?.mean);
                let leaks = self.points.iter().filter_map(|point| Some((leak(point)?, point)));
                let least = leaks.min_by(|a, b| a.0.total_cmp(&b.0));
                let least = least
                    .map(|(value, point)| format!("; the least is {value:.3}, of {}", self.settings(point)));
                return format!("No point has {}{}", limit.text(), least.unwrap_or_default());
            }
            (None, None) if self.points.is_empty() => return String::new(),
            (None, None) => {
                return "No point was trained without diverging; try lower learning rates or higher temperatures"
                    .into();
            }
        };
        let by = self.format(self.criterion.by);
        let limit = self.limit.as_ref().map(|limit| format!(" with {}", limit.text())).unwrap_or_default();
        format!(
            "Best by validation{limit}: {}, with {} {}",
            self.settings(best),
            by.title,
            by.mean_std(best.mean_std(self.criterion.by))
        )
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        let Self {
            grid, seeds, device, version, command, criterion, evaluation_split, variant, missing, ..
        } = self;
        let tried = self.points.len();
        let absent: Vec<&str> = missing.iter().map(|one| one.folder.as_str()).collect();
        let absent = (!missing.is_empty()).then(|| format!("Without a result: {}.", absent.join(", ")));
        let way = if criterion.lowest { "lowest" } else { "highest" };
        let best_has = format!("; the best has the {way} mean {}", self.format(criterion.by).title);
        let best_has = if self.is_smoke { "" } else { best_has.as_str() };
        let best = (!self.best.is_empty()).then(|| self.final_images.remark(&self.best));
        let diverged = self.points.iter().flat_map(|point| {
            point.diverged.iter().map(|one| format!("{}, seed {}: {}", point.folder, one.seed, one.message))
        });
        let diverged: Vec<String> = diverged.collect();
        let diverged = (!diverged.is_empty()).then(|| format!("Diverged: {}.", diverged.join("; ")));
        let title = |metric: &str| self.format(metric).title;
        let front = self.front.as_ref().filter(|_| self.has_front());
        let front =
            front.map(|front| format!(" Front: {} and {}.", title(&front.accuracy), title(&front.leak)));
        let how = [format!(
            "Variant {variant}; {tried} of {grid} points, {}. Every number is of {evaluation_split} images, none of test \
             images{best_has}.{} {device}, simile {version}: `{command}`",
            match seeds {
                1 => "one seed each".into(),
                seeds => format!("{seeds} seeds each, mean ± standard deviation (n − 1)"),
            },
            front.unwrap_or_default(),
        )];
        let below = self.below_nothing();
        let without_front = self.without_front();
        let first = self.ties().into_iter().chain(below).chain(without_front);
        first.chain(best).chain(diverged).chain(absent).chain(how).collect()
    }

    /// The reason why points that were measured have no front, if it is their leak.
    fn without_front(&self) -> Option<String> {
        let is_measured = self.points.iter().any(|point| !point.metrics.is_empty());
        (self.front.is_none() && is_measured && !self.is_smoke && !self.attribute.is_empty())
            .then(|| format!("No front: the leak of `{}` could not be measured.", self.attribute))
    }

    /// How an R² below 0 counts, if the table has one.
    fn below_nothing(&self) -> Option<String> {
        let metrics = self.metrics();
        let is_below =
            |point: &Outcome| metrics.iter().any(|name| point.mean_std(name) != point.amount(name));
        self.points.iter().any(is_below).then(|| {
            "Where points are compared, a negative R² of a seed counts as 0: the probe finds no more than the mean alone."
                .to_owned()
        })
    }

    /// Recipes of a sweep measure the leak of the same attribute, so that its metrics are named after it.
    pub(super) fn format(&self, metric: &str) -> MetricFormat {
        MetricFormat::of(metric, &self.condition)
    }

    /// The sweep as text for a terminal.
    pub(crate) fn text(&self) -> String {
        let headers = self.headers();
        let mut table = crate::console::table(headers.iter().map(String::as_str));
        for outcome in &self.points {
            table.add_row(self.cells(outcome));
        }
        format!("{table}\n{}\n{}", self.verdict(), self.remarks().join("\n"))
    }

    /// The sweep as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let table = markdown::table(&self.headers(), self.points.iter().map(|point| self.cells(point)));
        let (verdict, remarks) = (self.verdict(), self.remarks().join("\n\n"));
        format!("## Sweep of {}\n\n**{verdict}**\n\n{table}\n{remarks}\n", self.recipe)
    }

    /// The sweep as CSV, one line a point, metric and seed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn csv(&self) -> Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let keys = self.axes.iter().map(|axis| axis.key.as_str());
        writer.write_record(keys.chain(["metric", "seed", "value"]))?;
        for outcome in &self.points {
            let settings: Vec<&str> =
                self.axes.iter().zip(&outcome.point).map(|(axis, &at)| axis.values[at].as_str()).collect();
            for (name, measured) in &outcome.metrics {
                for (seed, value) in measured.seeds.iter().zip(&measured.values) {
                    let run_cells = [name.clone(), seed.to_string(), value.to_string()];
                    let record = settings.iter().map(|&setting| setting.to_owned()).chain(run_cells);
                    writer.write_record(record)?;
                }
            }
        }
        Ok(writer.into_inner()?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::front;
    use super::super::outcome::tests::measured;
    use super::*;
    use crate::metrics::names::{CONDITION_TOP1, TOP1};

    /// A sweep of a variant that hides the age, in runs whose condition is the hospital.
    fn sweep<'a>(axes: &'a [Axis], by: &'a str) -> Sweep<'a> {
        let point = |at: usize, top1: f64| {
            measured(at, &[(TOP1, &[top1]), (CONDITION_TOP1, &[0.5]), ("age_r2", &[0.2])])
        };
        let mut points = vec![point(0, 0.9), point(1, 0.8)];
        let criterion = Criterion { by, lowest: by != TOP1 };
        let leak = Leak { metric: "age_r2".into(), attribute: "age".into() };
        let front = front::mark(&mut points, criterion, Some(&leak.metric), Noise::default());
        Sweep {
            recipe: "mine",
            variant: "hide age".into(),
            axes,
            criterion,
            grid: 2,
            seeds: 1,
            is_smoke: false,
            device: "cpu".into(),
            version: "0",
            command: String::new(),
            best: String::new(),
            final_images: FinalImages::Test,
            evaluation_split: EvaluationSplit::HeldOut,
            condition: "hospital".into(),
            attribute: "age".into(),
            leak: Some(leak),
            front,
            limit: None,
            chosen: Some(0),
            noise: Noise::default(),
            points,
            missing: Vec::new(),
        }
    }

    #[test]
    fn the_front_says_of_which_leak_it_is() {
        let axes = Axis::all(&["train.batch=16,32".to_owned()]).unwrap();
        for (by, leak, title) in
            [(TOP1, "age_r2", "Leak of age, R²"), (CONDITION_TOP1, CONDITION_TOP1, "Leak of hospital %")]
        {
            let sweep = sweep(&axes, by);
            let answer = serde_json::to_value(&sweep).unwrap();
            assert_eq!(answer["front"], serde_json::json!({ "accuracy": "top1", "leak": leak }));
            assert_eq!(answer["condition"], "hospital", "metrics of the condition are those of an attribute");
            let text = sweep.markdown();
            assert!(text.contains(&format!("Front: Top-1 % and {title}.")), "{text}");
            assert!(
                text.contains("Every number is of held-out training images, none of test images"),
                "{text}"
            );
        }
        let mut without = sweep(&axes, TOP1);
        without.points.iter_mut().for_each(|point| point.front = None);
        assert!(!without.markdown().contains("Front"), "no point is on it");
    }

    #[test]
    fn a_smoke_test_names_no_best_point() {
        let axes = Axis::all(&["train.batch=16,32".to_owned()]).unwrap();
        let whole = sweep(&axes, TOP1);
        let smoke = Sweep { is_smoke: true, chosen: None, front: None, ..sweep(&axes, TOP1) };
        let has = |sweep: &Sweep<'_>, words: &str| {
            [sweep.markdown(), sweep.text(), sweep.html().unwrap()].map(|text| text.contains(words))
        };
        for words in ["Best by validation", "the best has"] {
            assert_eq!((has(&whole, words), has(&smoke, words)), ([true; 3], [false; 3]), "{words}");
        }
        assert_eq!(has(&smoke, "This was a smoke test"), [true; 3]);
        assert!(!smoke.html().unwrap().contains("<svg") && !smoke.markdown().contains("No front"));
        assert_eq!(serde_json::to_value(&smoke).unwrap()["smoke"], true);
    }

    #[test]
    fn a_negative_r2_of_a_seed_is_said_to_count_as_0() {
        let axes = Axis::all(&["train.batch=16,32".to_owned()]).unwrap();
        let mut sweep = sweep(&axes, TOP1);
        let words = "a negative R² of a seed counts as 0";
        assert!(!sweep.markdown().contains(words), "{}", sweep.markdown());
        sweep.points[0] = measured(0, &[(TOP1, &[0.9, 0.9]), ("age_r2", &[0.4, -0.2])]);
        assert!(sweep.markdown().contains(words), "the mean is above 0: {}", sweep.markdown());
    }

    #[test]
    fn a_heat_map_says_why_cells_of_other_values_have_one_colour() {
        let axes = Axis::all(&["train.batch=16,32".to_owned(), "train.iterations=8,9".to_owned()]).unwrap();
        let mut sweep = sweep(&axes, TOP1);
        sweep.points.iter_mut().for_each(|point| point.point.push(0));
        let html = sweep.html().unwrap();
        let words = "Cells that do not differ from the best by more than chance have its colour; where values are written, a = \
                     marks them.";
        assert!(html.contains(words), "{html}");
    }

    #[test]
    fn a_front_that_is_missing_is_said_where_there_is_an_attribute() {
        let axes = Axis::all(&["train.batch=16,32".to_owned()]).unwrap();
        let reason = "No front: the leak of `age` could not be measured.";
        let mut sweep = sweep(&axes, TOP1);
        assert!(!sweep.markdown().contains("No front"));
        (sweep.leak, sweep.front) = (None, None);
        assert!(sweep.markdown().contains(reason), "{}", sweep.markdown());
        let attribute = std::mem::take(&mut sweep.attribute);
        assert!(!sweep.markdown().contains("No front"), "these data have no attribute");
        sweep.attribute = attribute;
        sweep.points.iter_mut().for_each(|point| point.metrics.clear());
        assert!(!sweep.markdown().contains("No front"), "no point was measured at all");
    }
}
