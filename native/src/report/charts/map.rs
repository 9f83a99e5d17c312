//! Maps of the plane.

use anyhow::Result;
use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea as _, IntoFont as _, RGBColor, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, TextStyle};

use super::{SQUARE, range, series, themed};

/// How the points of a map are drawn.
pub(crate) enum Marks<'a> {
    /// The class itself, written at the point: readable without telling colours apart.
    Classes(&'a [usize]),
    /// A dot of the sample's own colour.
    Colours(&'a [[u8; 3]]),
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_map_writes_classes_and_paints_colours() {
        let points = [[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]];
        let svg = map(&points, &Marks::Classes(&[7, 8, 9])).unwrap();
        assert_eq!(svg.matches("<text").count(), 3);
        let svg = map(&points, &Marks::Colours(&[[255, 0, 0], [1, 0, 1], [0, 0, 255]])).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(!svg.contains("var(--ink)"), "a sample's colour was taken for a placeholder");
    }
}
