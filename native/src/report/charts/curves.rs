//! Curves over iterations.

use anyhow::Result;
use plotters::prelude::{ChartBuilder, IntoDrawingArea as _, LineSeries, SVGBackend};
use plotters::style::Color as _;

use super::{RULE, SIZE, letters, range, series, short, themed};

/// One curve over iterations.
pub(crate) struct Series {
    pub(crate) points: Vec<(f64, f64)>,
    /// Whether it is drawn faintly under its running mean.
    pub(crate) noisy: bool,
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
    fn the_running_mean_keeps_length_and_level() {
        let points: Vec<_> = (0..400).map(|i| (f64::from(i), f64::from(i % 2))).collect();
        let smooth = running_mean(&points);
        assert_eq!(smooth.len(), 400);
        assert!(smooth[50..].iter().all(|point| (point.1 - 0.5).abs() < 1e-9));
    }
}
