//! Curves over iterations.

use anyhow::Result;
use plotters::prelude::{ChartBuilder, IntoDrawingArea as _, LineSeries, SVGBackend};
use plotters::style::Color as _;

use super::{SIZE, label_room, range, ruled, series, short, themed};

/// Most points of a curve in a drawing of this size.
const POINTS: usize = 400;

/// One curve over iterations.
pub(crate) struct Series {
    pub(crate) points: Vec<(f64, f64)>,
    /// True if it is drawn faintly under its running mean.
    pub(crate) noisy: bool,
    /// The index of its colour among the page's colours.
    pub(crate) ink: usize,
}

/// A drawing and the ranges of its axes.
pub(crate) struct Chart {
    pub(crate) svg: String,
    /// Left, right, top and bottom of the part with the curves, in the drawing's unit.
    pub(crate) area: [i32; 4],
    /// The values at left and right.
    pub(crate) x: (f64, f64),
    /// The values at the bottom and at the top.
    pub(crate) y: (f64, f64),
}

/// Curves over iterations in one drawing.
///
/// # Errors
/// If the drawing fails.
pub(crate) fn curves(y_name: &str, all: &[Series]) -> Result<Chart> {
    let mut svg = String::new();
    let points = || all.iter().flat_map(|series| series.points.iter().copied());
    let (x, y) = (range(points().map(|point| point.0), 0.0), range(points().map(|point| point.1), 0.05));
    let area;
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(label_room(y))
            .build_cartesian_2d(x.0..x.1, y.0..y.1)?;
        ruled(&mut chart.configure_mesh())
            .disable_x_mesh()
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|tick| short(*tick, y))
            .x_desc("iteration")
            .y_desc(y_name)
            .draw()?;
        for one in all {
            let colour = series(one.ink).0;
            if one.noisy {
                chart.draw_series(LineSeries::new(thinned(&one.points), colour.mix(0.25)))?;
            }
            chart.draw_series(LineSeries::new(shown(one), colour.stroke_width(2)))?;
        }
        let (columns, rows) = chart.plotting_area().get_pixel_range();
        area = [columns.start, columns.end, rows.start, rows.end];
        root.present()?;
    }
    Ok(Chart { svg: themed(svg), area, x, y })
}

/// The line of a curve: its points, or the running mean of one that is noisy.
pub(crate) fn shown(series: &Series) -> Vec<(f64, f64)> {
    thinned(&if series.noisy { running_mean(&series.points) } else { series.points.clone() })
}

/// At most as many evenly spaced points as are visible, including the last.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let thinned = points.iter().enumerate().filter(|(at, _)| (last - at).is_multiple_of(every));
    thinned.map(|(_, point)| *point).collect()
}

/// Mean over the last twentieth of the curve.
fn running_mean(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let window = (points.len() / 20).max(1);
    let mut sum = 0.0;
    (0..points.len())
        .map(|at| {
            let part = &points[at.saturating_sub(window - 1)..=at];
            sum += points[at].1;
            if at >= window {
                sum -= points[at - window].1;
            }
            // A value that is not finite would remain in the sum.
            if !sum.is_finite() {
                sum = part.iter().map(|point| point.1).sum();
            }
            (points[at].0, sum / part.len() as f64)
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Series {
        Series { points: points.to_vec(), noisy: true, ink: 0 }
    }

    #[test]
    fn a_chart_takes_its_colours_from_the_page() {
        let other = Series { ink: 1, ..line(&[(0.0, 3.0), (10.0, 2.5)]) };
        let svg = curves("loss", &[line(&[(0.0, 2.0), (10.0, 1.0)]), other]).unwrap().svg;
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
            assert!(curves("loss", &[line(&points)]).unwrap().svg.contains("<svg"));
        }
    }

    #[test]
    fn a_long_curve_keeps_its_ends_and_no_more_than_can_be_seen() {
        let points: Vec<_> = (0..100_001).map(|i| (f64::from(i), 1.0)).collect();
        let left = thinned(&points);
        assert!(left.len() <= POINTS + 1 && left.last() == points.last(), "{}", left.len());
        let svg = curves("loss", &[line(&points)]).unwrap().svg;
        assert!(svg.len() < 40_000, "{} bytes", svg.len());
    }

    #[test]
    fn the_running_mean_keeps_length_and_level() {
        let points: Vec<_> = (0..400).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let smooth = running_mean(&points);
        assert_eq!(smooth.len(), 400);
        assert!(smooth[50..].iter().all(|point| (point.1 - 0.5).abs() < 1e-9));
    }
}
