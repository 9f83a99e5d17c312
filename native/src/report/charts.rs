//! The report's charts as inline SVG. Colours are the page's own variables, so that one drawing serves light
//! pages, dark pages and paper.

use anyhow::Result;
use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea as _, IntoFont as _, LineSeries, RGBColor, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, TextStyle};

/// A placeholder colour and the variable of `style.css` that takes its place in the drawing.
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
const SQUARE: (u32, u32) = (400, 400);
const FONT: u32 = 15;

/// One curve over iterations.
pub(crate) struct Series {
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether it is drawn faintly under its running mean.
    pub(crate) noisy: bool,
}

/// How the points of a map are drawn.
pub(crate) enum Marks<'a> {
    /// The class itself, written at the point: readable without telling colours apart.
    Classes(&'a [usize]),
    /// A dot of the sample's own colour.
    Colours(&'a [[u8; 3]]),
}

/// The variable that colours series `index`; the eleventh starts again.
pub(crate) fn series_colour(index: usize) -> &'static str {
    series(index).1
}

fn series(index: usize) -> &'static Ink {
    &SERIES[index % SERIES.len()]
}

/// Curves over iterations in one drawing.
///
/// # Errors
/// If the drawing fails.
pub(crate) fn curves(y_name: &str, all: &[Series]) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let points = || all.iter().flat_map(|series| series.points.iter().copied());
        let (x_low, x_high) = range(points().map(|point| point.0), 0.0);
        let (y_low, y_high) = range(points().map(|point| point.1), 0.05);
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(x_low..x_high, y_low..y_high)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(RULE.0.mix(0.0))
            .bold_line_style(RULE.0)
            .axis_style(RULE.0)
            .x_labels(6)
            .y_labels(6)
            .label_style(letters())
            .axis_desc_style(letters())
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| short(*y))
            .x_desc("iteration")
            .y_desc(y_name)
            .draw()?;
        for (index, one) in all.iter().enumerate() {
            let colour = series(index).0;
            if one.noisy {
                chart.draw_series(LineSeries::new(one.points.iter().copied(), colour.mix(0.25)))?;
            }
            let line = if one.noisy { running_mean(&one.points) } else { one.points.clone() };
            chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
        }
        root.present()?;
    }
    Ok(themed(svg))
}

/// Accuracy in percent over the R² of what should not leak, with the index of each point's series.
///
/// # Errors
/// If the drawing fails.
pub(crate) fn trade_off(points: &[(f64, f64, usize)]) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let (x_low, x_high) = range(points.iter().map(|point| point.0).chain([0.0, 1.0]), 0.03);
        let (y_low, y_high) = range(points.iter().map(|point| point.1), 0.1);
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(64)
            .build_cartesian_2d(x_low..x_high, y_low..y_high)?;
        chart
            .configure_mesh()
            .light_line_style(RULE.0.mix(0.0))
            .bold_line_style(RULE.0)
            .axis_style(RULE.0)
            .x_labels(6)
            .y_labels(6)
            .label_style(letters())
            .axis_desc_style(letters())
            .x_label_formatter(&|x| format!("{x:.1}"))
            .y_label_formatter(&|y| format!("{y:.1}"))
            .x_desc("R² of the condition")
            .y_desc("top-1 in %")
            .draw()?;
        chart.draw_series(
            points.iter().map(|&(x, y, index)| Circle::new((x, y), 5, series(index).0.filled())),
        )?;
        root.present()?;
    }
    Ok(themed(svg))
}

/// A map of points in the plane, without axes: directions of a projection have no unit.
///
/// # Errors
/// If the drawing fails.
pub(crate) fn map(points: &[[f64; 2]], marks: &Marks<'_>) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SQUARE).into_drawing_area();
        let (x_low, x_high) = range(points.iter().map(|point| point[0]), 0.05);
        let (y_low, y_high) = range(points.iter().map(|point| point[1]), 0.05);
        let mut chart = ChartBuilder::on(&root).margin(6).build_cartesian_2d(x_low..x_high, y_low..y_high)?;
        let places = points.iter().map(|point| (point[0], point[1]));
        match marks {
            Marks::Classes(classes) => {
                let style = |class: usize| -> TextStyle<'static> {
                    let centre = Pos::new(HPos::Center, VPos::Center);
                    TextStyle::from(("sans-serif", 13).into_font()).color(&series(class).0).pos(centre)
                };
                chart.draw_series(
                    places
                        .zip(classes.iter())
                        .map(|(place, &class)| Text::new(class.to_string(), place, style(class))),
                )?;
            }
            Marks::Colours(colours) => {
                chart.draw_series(places.zip(colours.iter()).map(|(place, &[r, g, b])| {
                    // Placeholders have a red of 1, so a sample may not.
                    Circle::new(place, 3, RGBColor(if r == 1 { 2 } else { r }, g, b).filled())
                }))?;
            }
        }
        root.present()?;
    }
    Ok(themed(svg))
}

fn letters() -> TextStyle<'static> {
    TextStyle::from(("sans-serif", FONT).into_font()).color(&INK.0)
}

/// The smallest range that holds the finite values, widened by `margin` of itself on both sides.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    let room = if high > low { (high - low) * margin } else { 0.5 };
    (low - room, high + room)
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value == 0.0 => format!("{value:.0}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.0e}"),
    }
}

/// Mean over the last twentieth of the curve.
fn running_mean(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let window = (points.len() / 20).max(1);
    (0..points.len())
        .map(|at| {
            let part = &points[at.saturating_sub(window - 1)..=at];
            (points[at].0, part.iter().map(|point| point.1).sum::<f64>() / part.len() as f64)
        })
        .collect()
}

/// Puts the page's variables in the place of the placeholder colours.
fn themed(svg: String) -> String {
    [INK, RULE].iter().chain(SERIES.iter()).fold(svg, |svg, Ink(RGBColor(r, g, b), variable)| {
        svg.replace(&format!("\"#{r:02X}{g:02X}{b:02X}\""), &format!("\"{variable}\""))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Series {
        Series { points: points.to_vec(), noisy: true }
    }

    #[test]
    fn a_chart_takes_its_colours_from_the_page() {
        let svg =
            curves("loss", &[line(&[(0.0, 2.0), (10.0, 1.0)]), line(&[(0.0, 3.0), (10.0, 2.5)])]).unwrap();
        assert!(
            svg.contains("var(--series-1)") && svg.contains("var(--series-2)") && svg.contains("var(--ink)")
        );
        assert!(!svg.contains("#0100") && !svg.contains("#0101"), "a placeholder was left: {svg}");
    }

    #[test]
    fn empty_constant_and_broken_curves_are_drawn() {
        for points in
            [vec![], vec![(1.0, 5.0)], vec![(1.0, 5.0), (2.0, 5.0)], vec![(1.0, f64::NAN), (2.0, 1.0)]]
        {
            assert!(curves("loss", &[line(&points)]).unwrap().contains("<svg"));
        }
    }

    #[test]
    fn a_trade_off_has_one_dot_a_run() {
        let svg = trade_off(&[(0.9, 96.0, 0), (0.2, 95.0, 1), (0.21, 95.0, 1)]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("var(--series-2)").count(), 2);
    }

    #[test]
    fn a_map_writes_classes_and_paints_colours() {
        let points = [[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]];
        let svg = map(&points, &Marks::Classes(&[7, 8, 9])).unwrap();
        assert_eq!(svg.matches("<text").count(), 3);
        let svg = map(&points, &Marks::Colours(&[[255, 0, 0], [1, 0, 1], [0, 0, 255]])).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(!svg.contains("var(--ink)"), "a sample's colour was taken for a placeholder");
    }

    #[test]
    fn the_running_mean_keeps_length_and_level() {
        let points: Vec<_> = (0..400).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let smooth = running_mean(&points);
        assert_eq!(smooth.len(), 400);
        assert!(smooth[50..].iter().all(|point| (point.1 - 0.5).abs() < 1e-9));
    }
}
