//! A sweep as text, Markdown, CSV, JSON and HTML.

use anyhow::Result;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::axis::Axis;
use super::outcome::{Aim, Outcome};
use crate::experiment::several::Missing;
use crate::metrics::format::MetricFormat;
use crate::metrics::mean_std::MeanStd;
use crate::metrics::names::{MSE, R2, TOP1};
use crate::report::charts::{Line, lines, surface};
use crate::report::{document, wide};

/// Metrics that are shown where they were measured; a file has all of them.
const SHOWN: [&str; 6] = [TOP1, "unbiased", "worst_group", R2, MSE, "condition_top1"];
/// Metrics drawn beside the criterion.
const LEAKS: [&str; 2] = [R2, "condition_top1"];

/// A sweep with everything that is needed to read it.
#[derive(Debug, Serialize)]
pub(crate) struct Sweep<'a> {
    pub(crate) recipe: &'a str,
    pub(crate) arm: String,
    pub(crate) axes: &'a [Axis],
    #[serde(flatten)]
    pub(crate) aim: Aim<'a>,
    /// Number of points of the whole grid.
    pub(crate) grid: usize,
    pub(crate) seeds: u64,
    pub(crate) device: String,
    pub(crate) version: &'static str,
    pub(crate) command: String,
    /// The command that trains the best point on all training images and evaluates it on the test images.
    pub(crate) best: String,
    /// The points that were tried, the best first.
    pub(crate) points: Vec<Outcome>,
    /// Runs without a result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<Missing>,
}

impl Sweep<'_> {
    fn metrics(&self) -> Vec<&str> {
        let measured = |name: &str| self.points.iter().any(|point| point.mean(name).is_some());
        let others = SHOWN.into_iter().filter(|&name| name != self.aim.by && measured(name));
        std::iter::once(self.aim.by).chain(others).collect()
    }

    fn heads(&self) -> Vec<String> {
        let keys = self.axes.iter().map(|axis| axis.short().to_owned());
        keys.chain(self.metrics().into_iter().map(|name| format(name).title)).collect()
    }

    fn cells(&self, outcome: &Outcome) -> Vec<String> {
        let settings = self.axes.iter().zip(&outcome.point).map(|(axis, &at)| axis.values[at].clone());
        let metrics = self.metrics();
        let number = |name: &&str| {
            let number = format(name).mean_std(outcome.mean_std(name));
            match outcome.divergence().filter(|_| *name == self.aim.by) {
                None => number,
                Some(diverged) if outcome.metrics.is_empty() => diverged,
                Some(diverged) => format!("{number}, {diverged}"),
            }
        };
        settings.chain(metrics.iter().map(number)).collect()
    }

    fn verdict(&self) -> String {
        let Some(best) = self.points.first() else { return String::new() };
        if !best.diverged.is_empty() {
            return "No point was trained without diverging; try lower learning rates or higher temperatures"
                .into();
        }
        let settings = self.axes.iter().zip(&best.point);
        let settings: Vec<String> =
            settings.map(|(axis, &at)| format!("{} = {}", axis.short(), axis.values[at])).collect();
        let by = format(self.aim.by);
        format!(
            "Best by validation: {}, with {} {}",
            settings.join(", "),
            by.title,
            by.mean_std(best.mean_std(self.aim.by))
        )
    }

    fn remarks(&self) -> Vec<String> {
        let Self { grid, seeds, device, version, command, aim, arm, missing, .. } = self;
        let tried = self.points.len();
        let absent: Vec<&str> = missing.iter().map(|one| one.folder.as_str()).collect();
        let absent = (!missing.is_empty()).then(|| format!("Without a result: {}.", absent.join(", ")));
        let way = if aim.lowest { "lowest" } else { "highest" };
        let on_test = (!self.best.is_empty()).then(|| format!("On the test images: `{}`", self.best));
        let diverged = self.points.iter().flat_map(|point| {
            point.diverged.iter().map(|one| format!("{}, seed {}: {}", point.folder, one.seed, one.message))
        });
        let diverged: Vec<String> = diverged.collect();
        let diverged = (!diverged.is_empty()).then(|| format!("Diverged: {}.", diverged.join("; ")));
        let how = [format!(
            "Arm {arm}; {tried} of {grid} points, {}. Every number is of held-out images and none of test images; \
                 the best has the {way} mean {}. {device}, simile {version}: `{command}`",
            match seeds {
                1 => "one seed each".into(),
                seeds => format!("{seeds} seeds each, mean ± standard deviation (n − 1)"),
            },
            format(aim.by).title,
        )];
        on_test.into_iter().chain(diverged).chain(absent).chain(how).collect()
    }

    /// The sweep as text for a terminal.
    pub(crate) fn text(&self) -> String {
        let heads = self.heads();
        let mut table = crate::console::table(heads.iter().map(String::as_str));
        for outcome in &self.points {
            table.add_row(self.cells(outcome));
        }
        format!("{table}\n{}\n{}", self.verdict(), self.remarks().join("\n"))
    }

    /// The sweep as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let heads = self.heads();
        let rule = line(vec!["---".into(); heads.len()]);
        let rows: String = self.points.iter().map(|point| line(self.cells(point))).collect();
        let (verdict, remarks) = (self.verdict(), self.remarks().join("\n\n"));
        format!("## Sweep of {}\n\n**{verdict}**\n\n{}{rule}{rows}\n{remarks}\n", self.recipe, line(heads))
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
                    let of_run = [name.clone(), seed.to_string(), value.to_string()];
                    let record = settings.iter().map(|&setting| setting.to_owned()).chain(of_run);
                    writer.write_record(record)?;
                }
            }
        }
        Ok(writer.into_inner()?)
    }

    /// The sweep as a self-contained page.
    ///
    /// # Errors
    /// If a chart cannot be drawn.
    pub(crate) fn html(&self) -> Result<String> {
        let measured = |name: &&str| self.points.iter().any(|point| point.mean_std(name).is_some());
        let drawn = self.metrics().into_iter().filter(|name| *name == self.aim.by || LEAKS.contains(name));
        let drawn = drawn.filter(measured);
        let figures = drawn.map(|name| self.figures(name)).collect::<Result<Vec<_>>>()?;
        let body = html! {
            p { b { (self.verdict()) } }
            div.pair style="margin-bottom: 1.2rem" { @for figures in &figures { (figures) } }
            (wide(&html! { table {
                thead { tr { @for head in self.heads() { th { (head) } } } }
                tbody { @for point in &self.points { tr { @for cell in self.cells(point) { td { (cell) } } } } }
            } }))
            @for remark in self.remarks() { p.soft { (remark) } }
        };
        let title = format!("Sweep of {}", self.recipe);
        Ok(document(&title, &html! { h1 { (title) } p.soft { (self.arm) } }, &body))
    }

    /// A line over one key, a heat map over each pair of several.
    fn figures(&self, metric: &str) -> Result<Markup> {
        let format = format(metric);
        let in_unit = |mean_std: MeanStd| MeanStd {
            mean: format.value(mean_std.mean),
            std: mean_std.std.map(|std| format.value(std)),
        };
        let aim = if metric == self.aim.by { self.aim } else { Aim { by: metric, lowest: true } };
        let of_rest = if self.axes.len() > 2 { ", the best over the other keys" } else { "" };
        let mut drawn = Vec::new();
        if let [axis] = self.axes {
            let at = |value| self.points.iter().find(|outcome| outcome.point == [value]);
            let points =
                (0..axis.values.len()).map(|value| at(value)?.mean_std(metric).map(in_unit)).collect();
            drawn.push(lines(axis.short(), &axis.values, &format.title, &[Line { points, joined: true }])?);
        }
        for (x, first) in self.axes.iter().enumerate() {
            for (y, second) in self.axes.iter().enumerate().skip(x + 1) {
                let value = |column, row| {
                    let here = |point: &&Outcome| point.point[x] == column && point.point[y] == row;
                    let means = self.points.iter().filter(here).map(|point| point.mean(metric));
                    means.fold(None, |best, mean| aim.better(best, mean)).map(|mean| format.value(mean))
                };
                let sides = [(first.short(), &first.values[..]), (second.short(), &second.values[..])];
                drawn.push(surface(sides[0], sides[1], format.digits(), value)?);
            }
        }
        Ok(html! {
            @for svg in &drawn { figure {
                (PreEscaped(svg))
                figcaption { b { (format.title) } (of_rest) "." }
            } }
        })
    }
}

/// Recipes of a sweep may differ in the condition, so that its metrics are not named after one.
fn format(metric: &str) -> MetricFormat {
    MetricFormat::of(metric, "condition")
}
