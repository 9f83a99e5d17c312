//! The section of maps: every arm by t-SNE and by principal components, shown by class, by condition or by error. The
//! switches are plain form controls for the style sheet: no script runs.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::charts::series_colour;
use crate::run_folder::figures::MapFigure;

/// Side of a map in its own unit.
const SIDE: f64 = 1000.0;
/// Most points of all maps of a page, so that it stays small.
const BUDGET: usize = 5000;

/// The maps of a run. `group` distinguishes its switches from those of other runs, and `maps` is the number of maps on
/// the page.
pub(crate) fn section(group: usize, figures: &[MapFigure], maps: usize) -> Markup {
    let every = (maps * 600).div_ceil(BUDGET).max(1);
    let any = |has: fn(&MapFigure) -> bool| figures.iter().any(has);
    let planes: Vec<(&str, &str)> =
        [("tsne", "t-SNE", any(|map| !map.neighbours.is_empty())), ("pca", "Principal components", true)]
            .into_iter()
            .filter_map(|(value, name, there)| there.then_some((value, name)))
            .collect();
    let shown: Vec<(&str, &str)> = [
        ("class", "Class", true),
        ("condition", "Condition", any(|map| map.colours.is_some() || map.kinds.is_some())),
        ("error", "Error", any(|map| !map.guesses.is_empty())),
    ]
    .into_iter()
    .filter_map(|(value, name, there)| there.then_some((value, name)))
    .collect();
    html! {
        div.maps {
            div.switches {
                (switch(&format!("plane-{group}"), "Map", &planes))
                (switch(&format!("shown-{group}"), "Shown", &shown))
            }
            div.pair { @for figure in figures { (one(figure, every)) } }
        }
    }
}

fn switch(name: &str, title: &str, choices: &[(&str, &str)]) -> Markup {
    html! {
        fieldset { legend { (title) } @for (index, (value, text)) in choices.iter().enumerate() {
            label { input type="radio" name=(name) value=(value) checked[index == 0]; (text) }
        } }
    }
}

fn one(figure: &MapFigure, every: usize) -> Markup {
    let share = figure.explained.iter().sum::<f64>() * 100.0;
    let wrong = figure.guesses.iter().zip(&figure.classes).filter(|(guess, class)| guess != class).count();
    let plane = |points: &[[f64; 2]]| PreEscaped(drawing(figure, points, every));
    html! {
        figure.map {
            @if !figure.neighbours.is_empty() { div.plane.tsne { (plane(&figure.neighbours)) } }
            div.plane.pca { (plane(&figure.points)) }
            figcaption {
                b { (figure.arm) }
                span.of-pca { ". The plane holds " (format!("{share:.0}")) " % of the variance." }
                span.of-tsne { ". Near neighbours stay near; distances between groups say little." }
                " The first " (figure.points.len()) " test images"
                @if every > 1 { ", one in " (every) " of them drawn" } "."
                span.of-class { (legend(&figure.names)) }
                span.of-condition {
                    @match &figure.kinds {
                        Some(kinds) => { (legend(&kinds.names)) }
                        None => { " Each point has the colour of its condition: a gradient can be read off." }
                    }
                }
                span.of-error { " " (wrong) " of " (figure.guesses.len()) " wrong, written as what the linear probe takes them for." }
            }
        }
    }
}

/// The names for the numbers of a map, where they differ from the numbers.
fn legend(names: &[String]) -> Markup {
    let plain = names.iter().enumerate().all(|(index, name)| *name == index.to_string());
    html! {
        @if !plain && names.len() <= 30 { span.legend {
            @for (index, name) in names.iter().enumerate() {
                " " span style=(format!("color: {}", series_colour(index))) { b { (index) } " " (name) }
            }
        } }
    }
}

/// All three colourings of the points, one above the other.
fn drawing(figure: &MapFigure, points: &[[f64; 2]], every: usize) -> String {
    let places = placed(points);
    let shown = || places.iter().enumerate().step_by(every);
    let mut svg = format!(
        r#"<svg viewBox="0 0 {SIDE} {SIDE}" role="img" aria-label="Map of the embeddings of {}">"#,
        escaped(&figure.arm)
    );
    svg += r#"<g class="by-class">"#;
    numbers(&mut svg, shown(), &figure.classes, series_colour);
    svg += r#"</g><g class="by-condition">"#;
    match (&figure.colours, &figure.kinds) {
        (Some(colours), _) => {
            for (at, (x, y)) in shown() {
                let [r, g, b] = colours.get(at).copied().unwrap_or_default();
                let _ = write!(svg, r##"<circle cx="{x}" cy="{y}" r="8" fill="#{r:02x}{g:02x}{b:02x}"/>"##);
            }
        }
        (None, Some(kinds)) => numbers(&mut svg, shown(), &kinds.values, series_colour),
        (None, None) => {}
    }
    svg += r#"</g><g class="by-error"><g class="right">"#;
    let right = |at: usize| figure.guesses.get(at) == figure.classes.get(at);
    for (_, (x, y)) in shown().filter(|(at, _)| right(*at)) {
        let _ = write!(svg, r#"<circle cx="{x}" cy="{y}" r="6"/>"#);
    }
    svg += "</g>";
    numbers(&mut svg, shown().filter(|(at, _)| !right(*at)), &figure.guesses, |_| "var(--wrong)");
    svg += "</g></svg>";
    svg
}

/// The value of each point as text at its place, readable without distinguishing colours.
fn numbers<'p>(
    svg: &mut String,
    places: impl Iterator<Item = (usize, &'p (i32, i32))>,
    values: &[usize],
    colour: impl Fn(usize) -> &'static str,
) {
    let mut sorted: Vec<(usize, (i32, i32))> =
        places.filter_map(|(at, place)| Some((*values.get(at)?, *place))).collect();
    sorted.sort_by_key(|(value, _)| *value);
    for group in sorted.chunk_by(|a, b| a.0 == b.0) {
        let value = group[0].0;
        let _ = write!(svg, r#"<g fill="{}">"#, colour(value));
        for (_, (x, y)) in group {
            let _ = write!(svg, r#"<text x="{x}" y="{y}">{value}</text>"#);
        }
        *svg += "</g>";
    }
}

/// Points in the drawing's unit, both directions by the same scale.
fn placed(points: &[[f64; 2]]) -> Vec<(i32, i32)> {
    let ends = |k: usize| {
        points
            .iter()
            .map(|point| point[k])
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (x, y) = (ends(0), ends(1));
    let span = (x.1 - x.0).max(y.1 - y.0);
    let scale = if span > 0.0 { 0.94 * SIDE / span } else { 1.0 };
    let place = |value: f64, (low, high): (f64, f64)| SIDE / 2.0 + (value - f64::midpoint(low, high)) * scale;
    points.iter().map(|point| (place(point[0], x) as i32, (SIDE - place(point[1], y)) as i32)).collect()
}

fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> MapFigure {
        MapFigure {
            arm: "A \"<b>".into(),
            points: vec![[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]],
            neighbours: vec![[0.0, 0.0], [-1.0, 2.0], [3.0, 1.0]],
            classes: vec![7, 8, 9],
            names: (0..10).map(|digit: usize| digit.to_string()).collect(),
            guesses: vec![7, 8, 1],
            colours: Some(vec![[255, 0, 0], [1, 0, 1], [0, 0, 255]]),
            ..MapFigure::default()
        }
    }

    #[test]
    fn a_map_writes_classes_paints_conditions_and_names_errors() {
        let html = section(0, &[figure()], 1).into_string();
        assert_eq!(html.matches("<svg").count(), 2, "t-SNE and principal components");
        assert_eq!(html.matches("fill=\"#010001\"").count(), 2);
        assert_eq!(html.matches(">1</text>").count(), 2, "the wrong guess");
        assert_eq!(html.matches("type=\"radio\"").count(), 5);
        assert!(
            html.contains("1 of 3 wrong")
                && !html.contains("<b>\"")
                && !html.contains("aria-label=\"Map of the embeddings of A \"")
        );
        assert!(!html.contains("class=\"legend\""), "digits are their own names");
    }

    #[test]
    fn what_an_older_run_did_not_keep_is_not_offered() {
        let old = MapFigure { neighbours: vec![], guesses: vec![], colours: None, ..figure() };
        let html = section(0, &[old], 1).into_string();
        assert_eq!((html.matches("type=\"radio\"").count(), html.matches("<svg").count()), (2, 1));
    }

    #[test]
    fn many_maps_have_fewer_points_each() {
        let points: Vec<[f64; 2]> = (0..600).map(|i| [f64::from(i), f64::from(i * i % 97)]).collect();
        let many = MapFigure {
            classes: vec![0; 600],
            guesses: vec![0; 600],
            neighbours: points.clone(),
            points,
            ..MapFigure::default()
        };
        let (few, many) =
            (section(0, std::slice::from_ref(&many), 1).into_string(), section(0, &[many], 60).into_string());
        assert!(60 * many.len() < 2 << 20 && many.len() < few.len() / 3, "{} and {}", few.len(), many.len());
    }

    #[test]
    fn both_directions_have_one_scale_and_equal_points_are_placed() {
        assert_eq!(placed(&[[0.0, 0.0], [2.0, 1.0]]), [(30, 735), (970, 265)]);
        assert_eq!(placed(&[[1.0, 1.0], [1.0, 1.0]]), [(500, 500); 2]);
        assert!(placed(&[]).is_empty());
    }
}
