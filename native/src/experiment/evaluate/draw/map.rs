//! Test embeddings in the plane.

use anyhow::Result;
use plotters::style::colors::colormaps::{ColorMap as _, ViridisRGB};
use simile_core::data::Condition;
use simile_core::eval::projection::Pca;
use simile_core::eval::tsne::TsneConfig;
use simile_core::numeric::matrix::Matrix;

use super::Drawing;
use super::colour::colours;
use crate::run_folder::figures::{Kinds, MapFigure};

/// Points of a map: enough to see structure, few enough to load fast.
const POINTS: usize = 600;

/// The projection onto the plane of largest variance and the t-SNE map of the first test images, with the class, guess and
/// condition of each point. The plane is that of all test images.
///
/// # Errors
/// If they cannot be computed.
pub(super) fn map(drawing: &Drawing<'_>, features: &Matrix) -> Result<MapFigure> {
    let Drawing { arm, condition, test, guesses, .. } = drawing;
    let shown: Vec<usize> = (0..POINTS.min(features.rows())).collect();
    let of_shown = features.select(&shown);
    let plane = Pca::fit(features, 2)?;
    let places = plane.project(&of_shown)?;
    let neighbours = TsneConfig::default().embed(&of_shown)?;
    let share = plane.variance_ratio();
    let condition = test.conditions.get(*condition).map(|condition| condition.select(&shown));
    Ok(MapFigure {
        arm: arm.name.clone(),
        points: rounded(&places),
        explained: [share.first().copied().unwrap_or(0.0), share.get(1).copied().unwrap_or(0.0)],
        neighbours: rounded(&neighbours),
        classes: shown.iter().map(|&i| test.labels[i]).collect(),
        names: test.classes.clone(),
        guesses: shown.iter().filter_map(|&i| guesses.get(i).copied()).collect(),
        colours: condition.as_ref().and_then(painted),
        kinds: match condition {
            Some(Condition::Categorical { values, names }) => Some(Kinds { values, names }),
            _ => None,
        },
    })
}

/// A numeric condition as colours: its own, or its place between its least and its greatest value; of several columns, the
/// place along their first principal component.
fn painted(condition: &Condition) -> Option<Vec<[u8; 3]>> {
    let Condition::Numeric(values) = condition else { return None };
    if let Some(colours) = colours(condition) {
        return Some(colours);
    }
    let line = if values.columns() == 1 {
        values.clone()
    } else {
        Pca::fit(values, 1).ok()?.project(values).ok()?
    };
    let (low, high) = line
        .data()
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)));
    let span = (high - low).max(f64::MIN_POSITIVE);
    let paint = |value: &f64| {
        let colour = ViridisRGB.get_color(((value - low) / span) as f32);
        [colour.0, colour.1, colour.2]
    };
    Some(line.data().iter().map(paint).collect())
}

/// Rounds to four digits, more than a map shows.
fn rounded(places: &Matrix) -> Vec<[f64; 2]> {
    let round = |value: f64| format!("{value:.4e}").parse().unwrap_or(value);
    places.iter_rows().map(|row| [round(row[0]), round(row[1])]).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_painted_by_its_place_and_a_colour_as_it_is() {
        let ages = Condition::Numeric(Matrix::column(&[20.0, 70.0, 45.0, 20.0]));
        let painted_ages = painted(&ages).unwrap();
        assert_eq!(painted_ages[0], painted_ages[3]);
        assert!(painted_ages[1][0] > painted_ages[0][0], "viridis ends in yellow");
        let colour = Condition::Numeric(Matrix::new(1, 3, vec![1.0, 2.0, 3.0]).unwrap());
        assert_eq!(painted(&colour).unwrap(), [[1, 2, 3]]);
        let wide = Condition::Numeric(Matrix::from_fn(5, 4, |i, j| (i * j) as f64 - 300.0));
        assert_eq!(painted(&wide).unwrap().len(), 5);
        assert_eq!(painted(&Condition::Categorical { values: vec![0], names: vec!["a".into()] }), None);
    }
}
