//! The report's charts as inline SVG. Colours are the page's own variables, so that one drawing serves light
//! pages, dark pages and paper.

mod curves;
mod lines;
mod surface;
mod trade_off;

use plotters::prelude::{IntoFont as _, RGBColor};
use plotters::style::TextStyle;

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

fn letters() -> TextStyle<'static> {
    TextStyle::from(("sans-serif", FONT).into_font()).color(&INK.0)
}

/// The smallest range that holds the finite values, widened by `margin` of itself on both sides. Around a constant it is so
/// wide that the labels of its ticks differ.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    let room = match low.abs() {
        _ if high > low => (high - low) * margin,
        size if size == 0.0 || (1.0..100.0).contains(&size) => 0.5,
        size => 0.5 * size,
    };
    (low - room, high + room)
}

fn short(value: f64) -> String {
    match value.abs() {
        // A tick at zero, computed as a sum of steps.
        size if size < 1e-12 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.1e}").replace(".0e", "e"),
    }
}

/// Replaces the placeholder colours by the page's variables.
fn themed(svg: String) -> String {
    [INK, RULE].iter().chain(SERIES.iter()).fold(svg, |svg, Ink(RGBColor(r, g, b), variable)| {
        svg.replace(&format!("\"#{r:02X}{g:02X}{b:02X}\""), &format!("\"{variable}\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_at_zero_is_zero() {
        assert_eq!([-3e-20, 0.0, 0.004, 0.25, 120.0].map(short), ["0", "0", "4e-3", "0.25", "120"]);
        assert_eq!([5e-4, 1e-3, 1.5e-3, -2e-3].map(short), ["5e-4", "1e-3", "1.5e-3", "-2e-3"]);
    }

    #[test]
    fn a_constant_is_told_from_the_ticks_beside_it() {
        for value in [2e-4, 0.3, 1.0, 95.0, -95.0, 300.0, 0.0] {
            let (low, high) = range([value, value].into_iter(), 0.05);
            assert!(low < value && value < high, "{low} {value} {high}");
            let quarter = (high - low) / 4.0;
            let ticks = [1.0, 2.0, 3.0].map(|place| short(low + place * quarter));
            assert!(ticks[0] != ticks[1] && ticks[1] != ticks[2], "{value}: {ticks:?}");
        }
    }
}
