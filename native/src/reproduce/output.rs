//! The comparison as text, Markdown, CSV, JSON and HTML.

use anyhow::Result;
use maud::html;
use serde::Serialize;

use super::compare::{Cell, ComparedRow};
use super::figure::{figures, pictures};
use super::table::{FigureSection, Metric, Scale, Table};
use crate::experiment::several::task::Missing;
use crate::markdown;
use crate::metrics::two_sample::in_words;
use crate::report::{document, table, with_code};
use crate::units::NOTHING;

/// A table with everything that is needed to read it.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison<'t> {
    pub(crate) name: &'t str,
    pub(crate) title: &'t str,
    pub(crate) paper: &'t str,
    pub(crate) notes: &'t str,
    pub(crate) scale: Scale,
    /// The reduction of the scale in words; none at full scale.
    pub(crate) reduction: Option<&'t str>,
    pub(crate) seeds: u64,
    pub(crate) device: String,
    pub(crate) version: &'static str,
    pub(crate) command: String,
    pub(crate) metrics: &'t [Metric],
    /// The figure for the rows.
    pub(crate) figure: Option<&'t FigureSection>,
    pub(crate) rows: Vec<ComparedRow>,
    /// Runs without a result.
    #[serde(rename = "missing", skip_serializing_if = "Vec::is_empty")]
    pub(crate) absent: Vec<Missing>,
}

impl<'t> Comparison<'t> {
    /// The reduction of a scale of a table, in words.
    pub(crate) fn reduction(table: &'t Table, scale: Scale) -> Option<&'t str> {
        match (table.scale.get(&scale), scale) {
            (Some(section), _) => Some(&section.note),
            (None, Scale::Smoke) => Some("two steps on 256 images: no number means anything"),
            (None, _) => None,
        }
    }

    /// Heads of the columns: the row, then for each metric ours, the published value, their difference, and ours against
    /// the first row of the block.
    fn heads(&self) -> Vec<String> {
        let of_metric = |metric: &Metric| {
            let title = &metric.title;
            [title.clone(), format!("{title}, published"), "difference".into(), "against the first".into()]
        };
        std::iter::once(String::new()).chain(self.metrics.iter().flat_map(of_metric)).collect()
    }

    fn cells(&self, row: &ComparedRow) -> Vec<String> {
        let of_cell = |(cell, metric): (&Cell, &Metric)| {
            let digits = metric.digits;
            let number = |value: Option<f64>, std: Option<f64>| match (value, std) {
                (Some(value), Some(std)) => format!("{value:.digits$} ± {std:.digits$}"),
                (Some(value), None) => format!("{value:.digits$}"),
                (None, _) => NOTHING.into(),
            };
            let within = if cell.within == Some(true) { ", within ±" } else { "" };
            if !self.scale.is_comparable() {
                // At this scale the numbers mean nothing, so that they are not shown beside published ones.
                return [number(cell.mean, cell.std), NOTHING.into(), NOTHING.into(), NOTHING.into()];
            }
            [
                number(cell.mean, cell.std),
                number(cell.published, cell.published_std),
                cell.difference.map_or_else(|| NOTHING.into(), |d| format!("{d:+.digits$}{within}")),
                cell.against.as_ref().map_or_else(|| NOTHING.into(), |against| against.text(digits)),
            ]
        };
        std::iter::once(row.name.clone())
            .chain(row.cells.iter().zip(self.metrics).flat_map(of_cell))
            .collect()
    }

    /// Heads and rows, without empty columns.
    fn columns(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| self.cells(row)).collect();
        let filled = |at: usize| at == 0 || rows.iter().any(|row| row[at] != NOTHING);
        let columns: Vec<usize> = (0..self.heads().len()).filter(|&at| filled(at)).collect();
        let of = |cells: &[String]| columns.iter().map(|&at| cells[at].clone()).collect();
        (of(&self.heads()), rows.iter().map(|row| of(row)).collect())
    }

    /// Remarks on the whole table.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![self.paper.to_owned()];
        remarks.extend(self.reduction.map(|reduction| format!("Not the published budget: {reduction}.")));
        if !self.scale.is_comparable() {
            remarks.push(
                "Nothing is compared at this scale, which only shows that every row runs; `--scale cpu` and \
                 `--scale full` stand beside the published values."
                    .into(),
            );
        }
        remarks.extend((!self.notes.is_empty()).then(|| self.notes.to_owned()));
        let missing_of = |row: &ComparedRow| {
            let (runs, reason) = (row.seeds + row.diverged.len(), row.missing.as_ref()?);
            let runs_in_words = if runs > 0 { format!(", {runs} of {}", self.seeds) } else { String::new() };
            Some((runs > 0, format!("{}{runs_in_words}: {reason}", row.name)))
        };
        for (head, has_runs) in [("Not run", false), ("Run with fewer seeds", true)] {
            let missing_rows = self.rows.iter().filter_map(missing_of).filter(|(has, _)| *has == has_runs);
            let missing: Vec<String> = missing_rows.map(|(_, words)| words).collect();
            if !missing.is_empty() {
                remarks.push(format!("{head}: {}.", missing.join("; ")));
            }
        }
        let absent: Vec<&str> = self.absent.iter().map(|one| one.folder.as_str()).collect();
        if !absent.is_empty() {
            remarks.push(format!("Without a result: {}.", absent.join(", ")));
        }
        let diverged = self.rows.iter().flat_map(|row| {
            row.diverged.iter().map(|reason| format!("{}, {reason}", row.name)).collect::<Vec<_>>()
        });
        let diverged: Vec<String> = diverged.collect();
        if !diverged.is_empty() {
            remarks.push(format!("Diverged, and not counted: {}.", diverged.join("; ")));
        }
        remarks.push(format!(
            "{}{}{} {}, simile {}: `{}`",
            match self.seeds {
                1 => "One seed.".into(),
                seeds => format!("Mean ± standard deviation of {seeds} seeds (n − 1)."),
            },
            if self.scale.is_comparable() { " Difference: ours minus the published mean." } else { "" },
            self.test_in_words(),
            self.device,
            self.version,
            self.command,
        ));
        remarks
    }

    /// The comparison of rows with the first of their block, in words.
    fn test_in_words(&self) -> String {
        let compared = self.rows.iter().flat_map(|row| &row.cells).filter_map(|cell| cell.against.as_ref());
        let Some(words) = in_words(compared) else { return String::new() };
        let mut baselines: Vec<&str> = Vec::new();
        for name in self.rows.iter().filter_map(|row| row.baseline.as_deref()) {
            if !baselines.contains(&name) {
                baselines.push(name);
            }
        }
        let first = match baselines.as_slice() {
            [one] => format!("the first row, {one}"),
            _ => "the first row of the same block (the same data set, bias or place on the line)".to_owned(),
        };
        format!(" Against {first}: {words}.")
    }

    /// The comparison as text for a terminal.
    pub(crate) fn text(&self) -> String {
        let (heads, rows) = self.columns();
        let mut table = crate::console::table(heads.iter().map(String::as_str));
        table.add_rows(rows);
        format!("{}\n{table}\n{}", self.title, self.remarks().join("\n"))
    }

    /// The comparison as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let (heads, rows) = self.columns();
        format!("## {}\n\n{}\n{}\n", self.title, markdown::table(&heads, rows), self.remarks().join("\n\n"))
    }

    /// The comparison as CSV: one line a row, metric and seed, then the published value.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn csv(&self) -> Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["row", "metric", "seed", "value", "published", "published_std"])?;
        let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        for row in &self.rows {
            for cell in &row.cells {
                for (seed, value) in cell.seeds.iter().zip(&cell.values) {
                    writer.write_record([
                        row.name.clone(),
                        cell.metric.clone(),
                        seed.to_string(),
                        value.to_string(),
                        text(cell.published),
                        text(cell.published_std),
                    ])?;
                }
            }
        }
        Ok(writer.into_inner()?)
    }

    /// The comparison as a self-contained page.
    ///
    /// # Errors
    /// If a chart cannot be drawn.
    pub(crate) fn html(&self) -> Result<String> {
        let mut rows = self.rows.clone();
        if !self.scale.is_comparable() {
            rows.iter_mut().flat_map(|row| &mut row.cells).for_each(|cell| cell.published = None);
        }
        let figures = match self.figure {
            Some(figure) => html! {
                (figures(figure, &rows, self.metrics)?)
                (pictures(figure, &rows)?)
            },
            None => html! {},
        };
        let (heads, rows) = self.columns();
        let body = html! {
            (figures)
            (table(
                "Results beside the published ones",
                &html! { @for head in &heads { th { (head) } } },
                &html! { @for row in &rows { tr { @for cell in row { td { (cell) } } } } },
            ))
            @for remark in self.remarks() { p.soft { (with_code(&remark)) } }
        };
        Ok(document(self.name, &html! { h1 { (self.title) } }, &body))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn comparison(scale: Scale, metrics: &[Metric]) -> Comparison<'_> {
        let cell = Cell {
            metric: "top1".into(),
            seeds: vec![1],
            values: vec![84.2],
            mean: Some(84.2),
            std: None,
            published: Some(84.1),
            published_std: Some(1.8),
            difference: Some(0.1),
            within: Some(true),
            against: None,
        };
        let row = ComparedRow {
            name: "InfoNCE".into(),
            series: None,
            x: None,
            missing: None,
            baseline: None,
            seeds: 1,
            cells: vec![cell],
            runs: Vec::new(),
            diverged: vec![],
        };
        Comparison {
            name: "t",
            title: "Table",
            paper: "Paper.",
            notes: "",
            scale,
            reduction: None,
            seeds: 1,
            device: "cpu".into(),
            version: "0",
            command: "simile reproduce t".into(),
            metrics,
            figure: None,
            rows: vec![row],
            absent: vec![],
        }
    }

    fn text(scale: Scale, metrics: &[Metric]) -> String {
        let comparison = comparison(scale, metrics);
        comparison.text() + &comparison.markdown() + &comparison.html().unwrap()
    }

    #[test]
    fn a_value_has_the_seed_of_its_run() {
        let csv = comparison(Scale::Full, &[]).csv().unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(csv.lines().nth(1), Some("InfoNCE,top1,1,84.2,84.1,1.8"));
    }

    #[test]
    fn a_row_with_runs_is_not_among_those_that_were_not_run() {
        let mut comparison = comparison(Scale::Full, &[]);
        (comparison.seeds, comparison.rows[0].missing) = (3, Some("its data are gone".into()));
        let text = comparison.text();
        let fewer = "Run with fewer seeds: InfoNCE, 1 of 3: its data are gone.";
        assert!(text.contains(fewer) && !text.contains("Not run"), "{text}");
        comparison.rows[0].seeds = 0;
        let text = comparison.text();
        assert!(text.contains("Not run: InfoNCE: its data are gone.") && !text.contains("fewer"), "{text}");
    }

    #[test]
    fn one_seed_has_no_deviation_and_a_command_no_backticks_on_the_page() {
        let mut comparison = comparison(Scale::Full, &[]);
        let html = comparison.html().unwrap();
        assert!(html.contains("One seed.") && !html.contains("standard deviation"), "{html}");
        assert!(html.contains("<code>simile reproduce t</code>") && !html.contains('`'), "{html}");
        comparison.seeds = 3;
        assert!(comparison.text().contains("Mean ± standard deviation of 3 seeds (n − 1)."));
    }

    #[test]
    fn a_smoke_run_is_compared_with_nothing() {
        let metrics = [Metric { name: "top1".into(), title: "Top-1".into(), unit: 100.0, digits: 1 }];
        let full = text(Scale::Full, &metrics);
        assert!(full.contains("within ±") && full.contains("84.1 ± 1.8") && full.contains("published mean"));
        let smoke = text(Scale::Smoke, &metrics);
        assert!(smoke.contains("84.2") && smoke.contains("Nothing is compared at this scale"), "{smoke}");
        for word in ["within", "84.1", "+0.1", "published mean"] {
            assert!(!smoke.contains(word), "{word} in {smoke}");
        }
    }
}
