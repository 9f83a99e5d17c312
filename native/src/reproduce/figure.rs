//! The rows of a figure as charts, ours beside the published ones.

use std::path::Path;

use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use super::compare::{Cell, ComparedRow};
use super::table::{FigureSection, Metric};
use crate::metrics::mean_std::MeanStd;
use crate::report::charts::{Line, lines};
use crate::report::{curves, gallery, maps};
use crate::run_folder::figures::{Gallery, MapFigure};
use crate::run_folder::finished::FinishedRun;

/// The source of the value of a row.
type Source = fn(&Cell) -> Option<MeanStd>;

/// A chart of each metric that was measured or published; empty for figures that are not charts.
///
/// # Errors
/// If a chart cannot be drawn.
pub(super) fn figures(figure: &FigureSection, rows: &[ComparedRow], metrics: &[Metric]) -> Result<Markup> {
    let (x_name, places, series) = match figure {
        FigureSection::Lines { x } => {
            let places = in_order(distinct(rows, |row| row.x.as_ref()));
            (x, places, distinct(rows, |row| row.series.as_ref()))
        }
        FigureSection::Spread { over } => (over, distinct(rows, |row| row.series.as_ref()), Vec::new()),
        _ => return Ok(html! {}),
    };
    let ours: Source = |cell| cell.mean.map(|mean| MeanStd { mean, std: cell.std });
    let published: Source = |cell| cell.published.map(|mean| MeanStd { mean, std: cell.published_std });
    let mut charts = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        for (whose, source) in [("ours", ours), ("published", published)] {
            let value = |row: &ComparedRow| row.cells.get(index).and_then(source);
            if rows.iter().all(|row| value(row).is_none()) {
                continue;
            }
            let drawn = if series.is_empty() {
                vec![over_rows(&places, rows, value)]
            } else {
                series.iter().map(|name| line(name, &places, rows, value)).collect()
            };
            let (places, drawn) = with_values(&places, drawn);
            let x_name = if series.is_empty() { "" } else { x_name.as_str() };
            charts.push((&metric.title, whose, lines(x_name, &places, &metric.title, &drawn)?));
        }
    }
    Ok(html! {
        @if series.len() > 1 {
            (curves::key(series.iter()))
        }
        div.pair style="margin-bottom: 1.2rem" { @for (title, whose, svg) in &charts { figure {
            (PreEscaped(svg))
            figcaption { b { (title) } ", " (whose) @if series.is_empty() { ": mean and standard deviation over " (x_name) } "." }
        } } }
    })
}

/// The pictures that the first run of each row stored; empty for figures of other kinds.
///
/// # Errors
/// If a run cannot be read.
pub(super) fn pictures(figure: &FigureSection, rows: &[ComparedRow]) -> Result<Markup> {
    let (mut maps, mut galleries, mut ways) = (Vec::new(), Vec::new(), Vec::new());
    let is_of_runs =
        matches!(figure, FigureSection::Maps | FigureSection::Negatives | FigureSection::Evaluations);
    for row in rows.iter().filter(|_| is_of_runs) {
        let Some(run) = row.runs.first() else { continue };
        let FinishedRun { figures, result, .. } = FinishedRun::read(Path::new(run))?;
        maps.extend(figures.maps.into_iter().map(|map| MapFigure { variant: row.name.clone(), ..map }));
        let named = |gallery| Gallery { variant: row.name.clone(), ..gallery };
        galleries.extend(figures.galleries.into_iter().map(named));
        let way = result.variants.iter().flat_map(|variant| &variant.evaluations);
        ways.push((row.name.clone(), way.map(|one| (one.iteration as f64, one.value * 100.0)).collect()));
    }
    Ok(match figure {
        FigureSection::Maps => maps::section(0, &maps, None, maps.len()),
        FigureSection::Negatives => gallery::section(&galleries, galleries.len()),
        FigureSection::Evaluations => curves::iteration_curves("validation accuracy in %", ways)?,
        _ => html! {},
    })
}

/// The points of a series; a row without a place holds everywhere.
fn line(
    name: &str,
    places: &[String],
    rows: &[ComparedRow],
    value: impl Fn(&ComparedRow) -> Option<MeanStd>,
) -> Line {
    let at = |place: &String| {
        let here = |row: &&ComparedRow| {
            row.series.as_deref() == Some(name) && row.x.as_ref().is_none_or(|x| x == place)
        };
        rows.iter().find(here).and_then(&value)
    };
    Line { points: places.iter().map(at).collect(), joined: true }
}

/// Mean and deviation of each series over its rows.
fn over_rows(
    names: &[String],
    rows: &[ComparedRow],
    value: impl Fn(&ComparedRow) -> Option<MeanStd>,
) -> Line {
    let of_series = |name: &String| {
        let rows = rows.iter().filter(|row| row.series.as_ref() == Some(name));
        let means: Vec<f64> = rows.filter_map(|row| value(row).map(|mean_std| mean_std.mean)).collect();
        MeanStd::of(&means)
    };
    Line { points: names.iter().map(of_series).collect(), joined: false }
}

/// The places at which a line has a value, with the lines over these alone.
fn with_values(places: &[String], lines: Vec<Line>) -> (Vec<String>, Vec<Line>) {
    let has_value = |at: &usize| lines.iter().any(|line| line.points[*at].is_some());
    let shown: Vec<usize> = (0..places.len()).filter(has_value).collect();
    let over_shown = |line: Line| Line { points: shown.iter().map(|&at| line.points[at]).collect(), ..line };
    let places = shown.iter().map(|&at| places[at].clone()).collect();
    (places, lines.into_iter().map(over_shown).collect())
}

/// Places in their order if all of them are numbers, and otherwise in the one in which they are given.
fn in_order(mut places: Vec<String>) -> Vec<String> {
    let number = |place: &String| place.parse::<f64>().ok();
    if places.iter().all(|place| number(place).is_some()) {
        places.sort_by(|a, b| number(a).unwrap_or_default().total_cmp(&number(b).unwrap_or_default()));
    }
    places
}

/// The values of rows in the order in which they first occur.
fn distinct<'r>(rows: &'r [ComparedRow], of: impl Fn(&'r ComparedRow) -> Option<&'r String>) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for value in rows.iter().filter_map(of) {
        if !groups.contains(value) {
            groups.push(value.clone());
        }
    }
    groups
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn row(series: &str, x: &str, mean: Option<f64>, published: Option<f64>) -> ComparedRow {
        let cell = Cell {
            metric: "top1".into(),
            seeds: mean.iter().map(|_| 0).collect(),
            values: mean.into_iter().collect(),
            mean,
            std: None,
            published,
            published_std: None,
            difference: None,
            within: None,
            against: None,
        };
        ComparedRow {
            name: format!("{series}, {x}"),
            series: Some(series.into()),
            x: Some(x.into()),
            missing: None,
            baseline: None,
            seeds: 1,
            diverged: Vec::new(),
            cells: vec![cell],
            runs: Vec::new(),
        }
    }

    #[test]
    fn ours_and_the_published_lines_stand_beside_each_other() {
        let metrics = [Metric { name: "top1".into(), title: "Top-1 %".into(), unit: 100.0, digits: 1 }];
        let rows = [
            row("A", "0.9", Some(80.0), Some(81.0)),
            row("A", "0.99", Some(70.0), Some(71.0)),
            row("B", "0.9", None, Some(90.0)),
        ];
        let lines = FigureSection::Lines { x: "ρ".into() };
        let html = figures(&lines, &rows, &metrics).unwrap().into_string();
        assert_eq!((html.matches("<svg").count(), html.matches("<circle").count()), (2, 5));
        let spread = FigureSection::Spread { over: "ρ".into() };
        let html = figures(&spread, &rows, &metrics).unwrap().into_string();
        assert_eq!(html.matches("<circle").count(), 1 + 2, "a dot for each series that has a value");
        assert!(figures(&FigureSection::Maps, &rows, &metrics).unwrap().into_string().is_empty());
    }

    #[test]
    fn places_stand_in_the_order_of_their_numbers_and_none_without_a_value() {
        let metrics = [Metric { name: "top1".into(), title: "Top-1 %".into(), unit: 100.0, digits: 1 }];
        let at = |series: &str, x: &str| row(series, x, Some(80.0), None);
        let rows = [
            at("A", "3"),
            at("A", "5"),
            at("A", "32"),
            at("B", "3"),
            at("B", "20"),
            row("B", "7", None, None),
        ];
        let lines = FigureSection::Lines { x: "attributes".into() };
        let html = figures(&lines, &rows, &metrics).unwrap().into_string();
        let label = |text: &str| html.lines().position(|line| line.trim() == text);
        let places = ["3", "5", "20", "32"].map(label);
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {html}");
        assert_eq!(label("7"), None, "{html}");
        let named = |names: &[&str]| in_order(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(named(&["10", "9", "0.5"]), ["0.5", "9", "10"]);
        assert_eq!(named(&["SGD", "10", "9"]), ["SGD", "10", "9"]);
    }
}
