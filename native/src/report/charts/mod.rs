//! The report's charts as inline SVG. Colours are the page's own variables, so that one drawing serves light
//! pages, dark pages and paper.

mod curves;
mod lines;
mod surface;
mod trade_off;

use plotters::chart::MeshStyle;
use plotters::prelude::{DrawingBackend, IntoFont as _, RGBColor, Ranged};
use plotters::style::{Color as _, TextStyle};

use crate::extremes::extremes;

pub(crate) use curves::{Chart, Series, curves, shown};
pub(crate) use lines::{Line, lines};
pub(crate) use surface::{Cell, surface};
pub(crate) use trade_off::trade_off;

/// A placeholder colour and the variable of `style.css` that replaces it in the drawing.
struct Ink(RGBColor, &'static str);

const INK: Ink = Ink(RGBColor(1, 0, 1), "var(--ink)");
const RULE: Ink = Ink(RGBColor(1, 0, 2), "var(--rule)");
const SERIES: [Ink; 10] = [
    Ink(RGBColor(1, 1, 1), "var(--series-1)"),
    Ink(RGBColor(1, 1, 2), "var(--series-2)"),
    Ink(RGBColor(1, 1, 3), "var(--series-3)"),
    Ink(RGBColor(1, 1, 4), "var(--series-4)"),
    Ink(RGBColor(1, 1, 5), "var(--series-5)"),
    Ink(RGBColor(1, 1, 6), "var(--series-6)"),
    Ink(RGBColor(1, 1, 7), "var(--series-7)"),
    Ink(RGBColor(1, 1, 8), "var(--series-8)"),
    Ink(RGBColor(1, 1, 9), "var(--series-9)"),
    Ink(RGBColor(1, 1, 10), "var(--series-10)"),
];

/// Drawn small, because on a phone the letters shrink with the drawing.
const SIZE: (u32, u32) = (460, 300);
const FONT: u32 = 15;

/// The variable that colours series `index`; the eleventh starts again.
pub(crate) fn series_colour(index: usize) -> &'static str {
    series(index).1
}

fn series(index: usize) -> &'static Ink {
    &SERIES[index % SERIES.len()]
}

/// Rounds a coordinate to five significant digits, more than a chart shows.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

fn letters() -> TextStyle<'static> {
    TextStyle::from(("sans-serif", FONT).into_font()).color(&INK.0)
}

/// The lines and letters of the axes of every chart.
fn ruled<'m, 'a, 'b, X: Ranged, Y: Ranged, B: DrawingBackend>(
    mesh: &'m mut MeshStyle<'a, 'b, X, Y, B>,
) -> &'m mut MeshStyle<'a, 'b, X, Y, B> {
    mesh.light_line_style(RULE.0.mix(0.0))
        .bold_line_style(RULE.0)
        .axis_style(RULE.0)
        .label_style(letters())
        .axis_desc_style(letters())
}

/// The smallest range that holds the finite values, widened by `margin` of itself on both sides. Around a constant it is so
/// wide that the labels of its ticks differ.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = extremes(values.filter(|value| value.is_finite()));
    if low > high {
        return (0.0, 1.0);
    }
    let room = if high > low { (high - low) * margin } else { around(low.abs()) };
    (low - room, high + room)
}

/// Room on both sides of a constant of this size.
fn around(size: f64) -> f64 {
    if size == 0.0 || (1.0..100.0).contains(&size) { 0.5 } else { 0.5 * size }
}

/// The label of a tick, with as many digits as the ticks of its axis differ in.
fn short(value: f64, (low, high): (f64, f64)) -> String {
    // Six ticks at most are 1, 2 or 5 times a power of ten apart, which is this one or a greater one.
    let digits = -((high - low) / 3.5).log10().floor();
    let fixed = format!("{value:.*}", digits.clamp(0.0, 300.0) as usize);
    match fixed.parse().unwrap_or(value) {
        // A tick at zero is computed as a sum of steps.
        0.0 => "0".into(),
        _ if (0.01..1e6).contains(&low.abs().max(high.abs())) => fixed,
        rounded => format!("{rounded:e}"),
    }
}

/// The width of the labels of an upright axis and of its name.
fn label_room(axis: (f64, f64)) -> u32 {
    let longest = [axis.0, axis.1].map(|end| short(end, axis).len()).into_iter().fold(5, usize::max);
    24 + 8 * longest.min(20) as u32
}

/// Replaces the placeholder colours by the page's variables.
fn themed(svg: String) -> String {
    [INK, RULE].iter().chain(SERIES.iter()).fold(svg, |svg, Ink(RGBColor(r, g, b), variable)| {
        svg.replace(&format!("\"#{r:02X}{g:02X}{b:02X}\""), &format!("\"{variable}\""))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_label_has_the_digits_of_its_axis() {
        let small = (-1e-3, 2e-3);
        assert_eq!(
            [-3e-20, 5e-4, 1e-3, 1.5e-3].map(|tick| short(tick, small)),
            ["0", "5e-4", "1e-3", "1.5e-3"]
        );
        assert_eq!([0.0, 0.2, 1.0].map(|tick| short(tick, (0.0, 1.05))), ["0", "0.2", "1.0"]);
        assert_eq!([120.0, 3e7].map(|tick| short(tick, (0.0, 2.0 * tick))), ["120", "3e7"]);
    }

    /// The labels of the upright axis of a drawing.
    fn labels(svg: &str) -> Vec<&str> {
        let texts = svg.split("<text ").skip(1).filter(|text| text.contains("text-anchor=\"end\""));
        texts.filter_map(|text| text.split(['>', '<']).nth(1)).map(str::trim).collect()
    }

    #[test]
    fn ticks_are_told_apart() {
        let ranges =
            [(0.6230, 0.6236), (1000.1, 1000.4), (-0.031, 0.094), (1e-14, 6e-14), (3e7, 4e7), (0.0, 9.0)];
        let constants = [2e-4, 0.3, 1.0, 95.0, -95.0, 300.0, 0.0].map(|value| (value, value));
        for (low, high) in ranges.into_iter().chain(constants) {
            let points = vec![(0.0, low), (1.0, high)];
            let svg = curves("loss", &[Series { points, noisy: false, ink: 0 }]).unwrap().svg;
            let labels = labels(&svg);
            let distinct: HashSet<&&str> = labels.iter().collect();
            assert!(labels.len() > 2 && distinct.len() == labels.len(), "{low} to {high}: {labels:?}");
        }
    }
}
