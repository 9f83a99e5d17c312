//! Lines over named values, such as the settings of a sweep or the rows of a figure.

use std::ops::Range;

use anyhow::Result;
use plotters::coord::ranged1d::{IntoSegmentedCoord as _, SegmentValue};
use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea as _, LineSeries, PathElement, RGBColor, SVGBackend,
};
use plotters::style::Color as _;

use super::{SIZE, label_room, range, ruled, series, short, themed};
use crate::metrics::mean_std::MeanStd;

/// One line: the result at each named value, if there is one.
pub(crate) struct Line {
    pub(crate) points: Vec<Option<MeanStd>>,
    /// True if a line joins the points.
    pub(crate) joined: bool,
}

/// Lines over the values named `names`, evenly apart, with a bar of one standard deviation where there is one.
///
/// # Errors
/// If the drawing fails.
pub(crate) fn lines(x_name: &str, names: &[String], y_name: &str, all: &[Line]) -> Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let ends = |mean_std: &MeanStd| {
            let std = mean_std.std.unwrap_or_default();
            [mean_std.mean - std, mean_std.mean + std]
        };
        let measured = all.iter().flat_map(|line| line.points.iter().flatten());
        let y = range(measured.flat_map(ends), 0.08);
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(label_room(y))
            .build_cartesian_2d(places(names.len()).into_segmented(), y.0..y.1)?;
        ruled(&mut chart.configure_mesh())
            .disable_x_mesh()
            .x_labels(names.len().min(MOST))
            .y_labels(6)
            .x_label_formatter(&|place| name_of(place, names))
            .y_label_formatter(&|tick| short(*tick, y))
            .x_desc(x_name)
            .y_desc(y_name)
            .draw()?;
        for (index, line) in all.iter().enumerate() {
            let colour: RGBColor = series(index).0;
            let points = || {
                let measured = line.points.iter().enumerate();
                measured.filter_map(|(at, mean_std)| {
                    mean_std.as_ref().map(|mean_std| (SegmentValue::CenterOf(at), mean_std))
                })
            };
            let way = points().map(|(place, mean_std)| (place, mean_std.mean));
            if line.joined {
                chart.draw_series(LineSeries::new(way, colour.stroke_width(2)))?;
            }
            chart.draw_series(points().filter(|(_, mean_std)| mean_std.std.is_some()).map(
                |(place, mean_std)| {
                    let bar = ends(mean_std).map(|end| (place.clone(), end));
                    PathElement::new(bar, colour.stroke_width(1))
                },
            ))?;
            chart.draw_series(
                points().map(|(place, mean_std)| Circle::new((place, mean_std.mean), 4, colour.filled())),
            )?;
        }
        root.present()?;
    }
    Ok(themed(svg))
}

/// Most names beside each other on the axis.
const MOST: usize = 8;

/// The places of the labelled names.
pub(super) fn places(count: usize) -> Range<usize> {
    0..count.saturating_sub(1)
}

/// The name that stands at a place.
pub(super) fn name_of(place: &SegmentValue<usize>, names: &[String]) -> String {
    match place {
        SegmentValue::CenterOf(at) | SegmentValue::Exact(at) => names.get(*at).cloned().unwrap_or_default(),
        SegmentValue::Last => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_a_dot_and_those_of_several_runs_a_bar() {
        let names: Vec<String> = ["0.01", "0.1", "1"].map(str::to_owned).to_vec();
        let one = Line { points: vec![MeanStd::of(&[1.0]), None, MeanStd::of(&[2.0, 3.0])], joined: true };
        let svg = lines("lambda", &names, "top-1", &[one]).unwrap();
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(names.iter().all(|name| svg.contains(&format!("\n{name}\n"))), "{svg}");
        assert!(lines("lambda", &names[..1], "top-1", &[]).unwrap().contains("<svg"));
    }
}
