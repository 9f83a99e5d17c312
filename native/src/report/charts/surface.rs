//! A value over two named settings.

use anyhow::Result;
use plotters::coord::ranged1d::{IntoSegmentedCoord as _, SegmentValue};
use plotters::prelude::{ChartBuilder, IntoDrawingArea as _, IntoFont as _, Rectangle, SVGBackend, Text};
use plotters::style::colors::colormaps::{ColorMap as _, ViridisRGB};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color as _, TextStyle, WHITE};

use super::lines::{name_of, places};
use super::{SIZE, range, ruled, themed};

/// Most cells with their values written into them.
const WRITTEN: usize = 64;

/// A setting and the names of its values.
pub(crate) type Side<'a> = (&'a str, &'a [String]);

/// A value, and whether it is not told apart from the best one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: f64,
    pub(crate) is_best: bool,
}

/// A heat map of `value(x, y)`, dark where it is small and light where it is large, with the values written in. Those that are not
/// told apart from the best one have its colour and a mark. Cells without a value stay empty.
///
/// # Errors
/// If the drawing fails.
pub(crate) fn surface(
    x: Side<'_>,
    y: Side<'_>,
    digits: usize,
    value: impl Fn(usize, usize) -> Option<Cell>,
) -> Result<String> {
    let ((x_name, columns), (y_name, rows)) = (x, y);
    let cells: Vec<(usize, usize, Cell)> = (0..columns.len())
        .flat_map(|column| (0..rows.len()).map(move |row| (column, row)))
        .filter_map(|(column, row)| Some((column, row, value(column, row)?)))
        .collect();
    let share = shares(&cells);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(84)
            .build_cartesian_2d(
                places(columns.len()).into_segmented(),
                places(rows.len()).into_segmented(),
            )?;
        ruled(&mut chart.configure_mesh())
            .disable_mesh()
            .x_labels(columns.len().min(8))
            .y_labels(rows.len().min(12))
            .x_label_formatter(&|place| name_of(place, columns))
            .y_label_formatter(&|place| name_of(place, rows))
            .x_desc(x_name)
            .y_desc(y_name)
            .draw()?;
        chart.draw_series(cells.iter().map(|&(column, row, value)| {
            let corners = [
                (SegmentValue::Exact(column), SegmentValue::Exact(row)),
                (edge(column + 1, columns.len()), edge(row + 1, rows.len())),
            ];
            Rectangle::new(corners, ViridisRGB.get_color(share(value) as f32).filled())
        }))?;
        let written = if cells.len() <= WRITTEN { &cells[..] } else { &[] };
        chart.draw_series(written.iter().map(|&(column, row, value)| {
            let centre = (SegmentValue::CenterOf(column), SegmentValue::CenterOf(row));
            // The lower half of Viridis is dark.
            let ink = if share(value) < 0.6 { &WHITE } else { &BLACK };
            let style = TextStyle::from(("sans-serif", 13).into_font()).color(ink);
            let mark = if value.is_best { " =" } else { "" };
            Text::new(
                format!("{:.digits$}{mark}", value.value),
                centre,
                style.pos(Pos::new(HPos::Center, VPos::Center)),
            )
        }))?;
        root.present()?;
    }
    Ok(themed(svg))
}

/// The place of a value among those of all cells, from 0 for the smallest to 1.
fn shares(cells: &[(usize, usize, Cell)]) -> impl Fn(Cell) -> f64 {
    let (low, high) = range(cells.iter().map(|(.., cell)| cell.value), 0.0);
    let best: Vec<f64> =
        cells.iter().filter(|(.., cell)| cell.is_best).map(|(.., cell)| cell.value).collect();
    // The mean of those at the best end: noise among them has no colour.
    let best_mean = best.iter().sum::<f64>() / best.len().max(1) as f64;
    move |cell| {
        let value = if cell.is_best { best_mean } else { cell.value };
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// The end of a cell.
fn edge(at: usize, count: usize) -> SegmentValue<usize> {
    if at < count { SegmentValue::Exact(at) } else { SegmentValue::Last }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_drawn_with_its_value_and_the_others_stay_empty() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let (columns, rows) = (names(&["0.1", "1"]), names(&["5", "10", "20"]));
        let cell = |x: usize, y: usize| Cell { value: (10 * x + y) as f64, is_best: x == 1 };
        let value = |x: usize, y: usize| (x + y < 3).then_some(cell(x, y));
        let svg = surface(("lambda", &columns), ("sigma", &rows), 1, value).unwrap();
        for written in ["0.0", "1.0", "2.0", "10.0 =", "11.0 ="] {
            assert!(svg.contains(&format!("\n{written}\n")), "no {written} in {svg}");
        }
        assert!(!svg.contains("\n12.0"));
        assert!(columns.iter().chain(&rows).all(|name| svg.contains(&format!("\n{name}\n"))), "{svg}");
        assert!(svg.contains("#440154") || svg.contains("#440255"), "the smallest is dark: {svg}");
    }
}
