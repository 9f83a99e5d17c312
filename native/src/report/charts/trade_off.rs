//! Accuracy against leak.

use anyhow::Result;
use plotters::prelude::{ChartBuilder, Circle, IntoDrawingArea as _, SVGBackend};
use plotters::style::Color as _;

use super::{SIZE, label_room, range, ruled, series, short, themed};

/// Accuracy in percent over the `leak` of the condition, from 0 to 1, with the index of each point's series.
///
/// # Errors
/// If the drawing fails.
pub(crate) fn trade_off(leak: &str, points: &[(f64, f64, usize)]) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let (x_low, x_high) = range(points.iter().map(|point| point.0).chain([0.0, 1.0]), 0.03);
        let y = range(points.iter().map(|point| point.1), 0.1);
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(label_room(y))
            .build_cartesian_2d(x_low..x_high, y.0..y.1)?;
        ruled(&mut chart.configure_mesh())
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&|x| format!("{x:.1}"))
            .y_label_formatter(&|tick| short(*tick, y))
            .x_desc(leak)
            .y_desc("top-1 in %")
            .draw()?;
        chart.draw_series(
            points.iter().map(|&(x, y, index)| Circle::new((x, y), 5, series(index).0.filled())),
        )?;
        root.present()?;
    }
    Ok(themed(svg))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_trade_off_has_one_dot_a_run() {
        let svg = trade_off("R²", &[(0.9, 96.0, 0), (0.2, 95.0, 1), (0.21, 95.0, 1)]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("var(--series-2)").count(), 2);
    }
}
