//! Test embeddings in the plane.

use anyhow::Result;
use plotters::style::colors::colormaps::{ColorMap as _, ViridisRGB};
use simile_core::data::Condition;
use simile_core::eval::projection::Pca;
use simile_core::eval::tsne::TsneConfig;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::{FeatureTable, Rows, to_matrix};
use simile_core::numeric::split::split_indices;

use super::Drawing;
use super::colour::colours;
use crate::extremes::extremes;
use crate::report::charts::rounded;
use crate::run_folder::figures::{Attribute, MapFigure, Values};

/// Most points of a map: enough to see structure, few enough to load fast.
const POINTS: usize = 600;
/// The same images for every run on the same data.
const SEED: u64 = 0;
/// Most attributes that a map can be coloured by.
const ATTRIBUTES: usize = 8;

/// The test images that maps show, in order: drawn at random, because files are often sorted by class.
pub(super) fn sample(images: usize) -> Vec<usize> {
    split_indices(images, POINTS.min(images), SEED).1
}

/// The projection onto the plane of largest variance and the t-SNE map of a sample of the test images, with the class, guess
/// and attributes of each point. The plane is that of all test images.
///
/// # Errors
/// If they cannot be computed.
pub(super) fn map(drawing: &Drawing<'_>) -> Result<MapFigure> {
    let &Drawing { variant, condition, test, features, guesses, .. } = drawing;
    let shown = sample(features.rows());
    let shown_features = to_matrix(&FeatureTable::gather(features, &shown)?)?;
    let (places, explained) = on_plane(features, &shown_features)?;
    let neighbours = TsneConfig::default().embed(&shown_features)?;
    // The probed attribute comes first.
    let mut attributes: Vec<(&String, &Condition)> = test.conditions.iter().collect();
    attributes.sort_by_key(|(name, _)| name.as_str() != condition);
    let attributes = attributes.into_iter().take(ATTRIBUTES).filter_map(|(name, condition)| {
        Some(Attribute { name: name.clone(), values: values(&condition.select(&shown))? })
    });
    Ok(MapFigure {
        variant: variant.name.clone(),
        drawn_from: Some(features.rows()),
        points: points(&places),
        explained,
        neighbours: points(&neighbours),
        classes: shown.iter().map(|&i| test.labels[i]).collect(),
        names: test.classes.clone(),
        guesses: shown.iter().filter_map(|&i| guesses.get(i).copied()).collect(),
        attributes: attributes.collect(),
    })
}

/// The places of some images on the plane of largest variance of all of them, and the share of the variance along each axis. An axis
/// that the features do not have is 0.
///
/// # Errors
/// If the plane cannot be computed.
fn on_plane(features: &dyn Rows, shown_features: &Matrix) -> Result<(Matrix, [f64; 2])> {
    let axes = features.rows().min(features.columns()).min(2);
    let plane = Pca::fit(features, axes)?;
    let projected = plane.project(shown_features)?;
    let coordinate = |i: usize, axis: usize| if axis < axes { projected[(i, axis)] } else { 0.0 };
    let share = plane.variance_ratio();
    let explained = [0, 1].map(|axis: usize| share.get(axis).copied().unwrap_or(0.0));
    Ok((Matrix::from_fn(shown_features.rows(), 2, coordinate), explained))
}

/// The values of an attribute with their colours: of a number its place between the least and the greatest; of several numbers
/// the colour that they are, or the place along their first principal component. None if there is no such component.
fn values(condition: &Condition) -> Option<Values> {
    let values: &Matrix = match condition {
        Condition::Categorical { values, names } => {
            return Some(Values::Categories { values: values.clone(), names: names.clone() });
        }
        Condition::Numeric(values) => values,
    };
    if let Some(colours) = colours(condition) {
        return Some(Values::Colours(colours));
    }
    if values.columns() == 1 {
        let colours = painted(values);
        return Some(Values::Numbers { values: values.data().to_vec(), colours });
    }
    Some(Values::Colours(painted(&Pca::fit(values, 1).ok()?.project(values).ok()?)))
}

/// Numbers as colours, dark at the least and light at the greatest.
fn painted(line: &Matrix) -> Vec<[u8; 3]> {
    let (low, high) = extremes(line.data().iter().copied());
    let span = (high - low).max(f64::MIN_POSITIVE);
    let paint = |value: &f64| {
        let colour = ViridisRGB.get_color(((value - low) / span) as f32);
        [colour.0, colour.1, colour.2]
    };
    line.data().iter().map(paint).collect()
}

/// The points of a map, [`rounded`].
fn points(places: &Matrix) -> Vec<[f64; 2]> {
    places.iter_rows().map(|row| [rounded(row[0]), rounded(row[1])]).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn images_that_are_sorted_by_class_give_points_of_all_classes() {
        let of_class = |shown: &[usize], class: usize| shown.iter().filter(|&&i| i / 500 == class).count();
        let shown = sample(10_000);
        assert_eq!((shown.len(), sample(10_000)), (POINTS, shown.clone()));
        assert!((0..20).all(|class| (10..60).contains(&of_class(&shown, class))), "{shown:?}");
        assert_eq!(sample(40), (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn features_of_one_dimension_lie_on_a_line() {
        let features = Matrix::column(&[1.0, 4.0, 2.0]);
        let (places, explained) = on_plane(&features, &features.select(&[0, 1])).unwrap();
        assert_eq!((places.rows(), places.columns()), (2, 2));
        assert!((places[(1, 0)] - places[(0, 0)] - 3.0).abs() < 1e-12, "{places:?}");
        assert_eq!((places[(0, 1)], places[(1, 1)]), (0.0, 0.0));
        assert!((explained[0] - 1.0).abs() < 1e-12 && explained[1] == 0.0, "{explained:?}");
    }

    #[test]
    fn a_number_is_painted_by_its_place_and_a_colour_as_it_is() {
        let ages = Condition::Numeric(Matrix::column(&[20.0, 70.0, 45.0, 20.0]).into());
        let Some(Values::Numbers { values: numbers, colours }) = values(&ages) else { unreachable!() };
        assert_eq!((numbers[1], colours[0]), (70.0, colours[3]));
        assert!(colours[1][0] > colours[0][0], "viridis ends in yellow");
        let colour = Condition::Numeric(Matrix::new(1, 3, vec![1.0, 2.0, 3.0]).unwrap().into());
        assert_eq!(values(&colour), Some(Values::Colours(vec![[1, 2, 3]])));
        let wide = Condition::Numeric(Matrix::from_fn(5, 4, |i, j| (i * j) as f64 - 300.0).into());
        assert!(matches!(values(&wide), Some(Values::Colours(colours)) if colours.len() == 5));
        let category = Condition::Categorical { values: vec![0], names: vec!["a".into()] };
        assert!(matches!(values(&category), Some(Values::Categories { .. })));
    }
}
