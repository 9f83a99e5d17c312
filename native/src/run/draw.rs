//! The pictures of a run's report, made while data and encoders are at hand.

use anyhow::Result;
use simile_core::augment::{Augmentation, ImageStore};
use simile_core::conditional::Operator;
use simile_core::dataset::{Condition, Dataset, Images};
use simile_core::evaluate::projection::Pca;
use simile_core::matrix::Matrix;
use simile_core::objective::{Estimate, KernelWeights};
use simile_core::train::{Purpose, stream};

use crate::recipe::sections::Arm;
use crate::report::figures::{KernelFigure, MapFigure, Sheet};
use crate::report::picture::{contact_sheet, heat_map, strip};

/// Images in a row of samples.
const SAMPLES: usize = 12;
/// Samples of the batch whose kernel is drawn.
const BATCH: usize = 96;
/// Points of a map: enough to see structure, few enough to load fast.
const POINTS: usize = 600;

/// The first training images and two views of each, as training sees them.
///
/// # Errors
/// If a view cannot be made.
pub(crate) fn samples(
    train: &Dataset,
    augmentation: &Augmentation,
    seed: u64,
    device: &burn::tensor::Device,
) -> Result<Vec<Sheet>> {
    let count = SAMPLES.min(train.len());
    let first: Vec<usize> = (0..count).collect();
    let images = train.images.select(&first);
    let store = ImageStore::new(&images, device);
    let mut rng = stream(seed, Purpose::Augmentation, 0);
    let mut sheets = vec![Sheet { caption: "image".into(), picture: contact_sheet(&images, count)? }];
    for caption in ["view a", "view b"] {
        let view = augmentation.view(store.batch(&first)?, &mut rng)?;
        let [_, channels, height, width] = view.dims();
        let bytes: Vec<u8> = view
            .permute([0, 2, 3, 1])
            .into_data()
            .iter::<f32>()
            .map(|value| (value * 255.0).round() as u8)
            .collect();
        let picture = contact_sheet(&Images::new(height, width, channels, bytes)?, count)?;
        sheets.push(Sheet { caption: caption.into(), picture });
    }
    Ok(sheets)
}

/// The kernel of a sorted batch beside its weights; `None` if the arm's objective has no kernel of a condition.
///
/// # Errors
/// If the weights cannot be solved for.
pub(crate) fn kernel(arm: &Arm, train: &Dataset) -> Result<Option<KernelFigure>> {
    let section = &arm.objective;
    let Some(condition) = train.conditions.get(&section.condition) else { return Ok(None) };
    let mut parameters = serde_json::to_value(&section.parameters)?;
    if let (Some(variant), Some(object)) = (&section.variant, parameters.as_object_mut()) {
        object.insert("variant".into(), variant.clone().into());
    }
    let (true, Ok(settings)) =
        (section.name.ends_with("cclk"), serde_json::from_value::<KernelWeights>(parameters))
    else {
        return Ok(None);
    };

    let values = condition.to_matrix();
    let mut order: Vec<usize> = (0..BATCH.min(values.rows())).collect();
    let colours = colours(condition);
    match &colours {
        Some(colours) => order.sort_by(|&a, &b| hue(colours[a]).total_cmp(&hue(colours[b]))),
        None => order
            .sort_by(|&a, &b| values.row(a).partial_cmp(values.row(b)).unwrap_or(std::cmp::Ordering::Equal)),
    }
    let z = values.select(&order);
    let mut gram = settings.kernel.gram(&z);
    let operator = if settings.variant == Estimate::Released {
        (0..gram.rows()).for_each(|i| gram[(i, i)] = 1.0);
        Operator::with_unit_diagonal(&settings.kernel, &z, settings.lambda)?
    } else {
        Operator::new(&settings.kernel, &z, settings.lambda)?
    };
    let written = match section.parameters.get("kernel") {
        Some(kernel) => serde_json::to_value(kernel)?,
        None => serde_json::to_value(&settings.kernel)?,
    };
    let by = if colours.is_some() { "hue" } else { "value" };
    Ok(Some(KernelFigure {
        arm: arm.name.clone(),
        caption: format!(
            "K compares the {} of two images; {}, λ = {}.",
            section.condition,
            in_words(&written),
            settings.lambda
        ),
        order: format!("The first {} training images, sorted by {by}.", order.len()),
        strip: colours
            .map(|colours| strip(&order.iter().map(|&i| colours[i]).collect::<Vec<_>>()))
            .transpose()?,
        gram: heat_map(&gram)?,
        weights: heat_map(&operator.to_matrix())?,
    }))
}

/// `rbf kernel (sigma 20)` for `{"name": "rbf", "sigma": 20}`.
fn in_words(kernel: &serde_json::Value) -> String {
    let name = kernel["name"].as_str().unwrap_or("unnamed");
    let settings = kernel.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
    let settings: Vec<String> = settings.map(|(key, value)| format!("{key} {value}")).collect();
    if settings.is_empty() {
        format!("{name} kernel")
    } else {
        format!("{name} kernel ({})", settings.join(", "))
    }
}

/// The plane of largest variance of test features.
///
/// # Errors
/// If it cannot be found.
pub(crate) fn map(arm: &Arm, condition: &str, features: &Matrix, test: &Dataset) -> Result<MapFigure> {
    let shown: Vec<usize> = (0..POINTS.min(features.rows())).collect();
    let plane = Pca::fit(features, 2)?;
    let places = plane.project(&features.select(&shown))?;
    let share = plane.variance_ratio();
    let colours = test.conditions.get(condition).and_then(colours);
    Ok(MapFigure {
        arm: arm.name.clone(),
        points: places.iter_rows().map(|row| [rounded(row[0]), rounded(row[1])]).collect(),
        explained: [share.first().copied().unwrap_or(0.0), share.get(1).copied().unwrap_or(0.0)],
        classes: shown.iter().map(|&i| test.labels[i]).collect(),
        colours: colours.map(|colours| shown.iter().map(|&i| colours[i]).collect()),
    })
}

/// Four digits are more than a map shows.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// The condition as colours, where it has three columns of 0..=255.
fn colours(condition: &Condition) -> Option<Vec<[u8; 3]>> {
    let Condition::Numeric(values) = condition else { return None };
    let is_colour = values.columns() == 3 && values.data().iter().all(|value| (0.0..=255.0).contains(value));
    is_colour
        .then(|| values.iter_rows().map(|row| [0, 1, 2].map(|channel: usize| row[channel] as u8)).collect())
}

/// Place on the colour circle, 0..6; greys come first.
fn hue([r, g, b]: [u8; 3]) -> f64 {
    let (r, g, b) = (f64::from(r), f64::from(g), f64::from(b));
    let (high, low) = (r.max(g).max(b), r.min(g).min(b));
    let span = high - low;
    match span {
        span if span < 16.0 => -1.0 + high / 256.0,
        span if high == r => ((g - b) / span).rem_euclid(6.0),
        span if high == g => (b - r) / span + 2.0,
        span => (r - g) / span + 4.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hues_go_round_the_circle_and_greys_come_first() {
        let circle = [
            [40, 40, 40],
            [200, 200, 200],
            [255, 0, 0],
            [255, 255, 0],
            [0, 255, 0],
            [0, 0, 255],
            [255, 0, 255],
        ];
        assert!(circle.windows(2).all(|pair| hue(pair[0]) < hue(pair[1])), "{:?}", circle.map(hue));
    }

    #[test]
    fn only_rgb_is_drawn_as_colour() {
        let numeric = |columns, value| Condition::Numeric(Matrix::from_fn(2, columns, |_, _| value));
        assert_eq!(colours(&numeric(3, 255.0)), Some(vec![[255; 3]; 2]));
        assert_eq!(colours(&numeric(2, 255.0)), None);
        assert_eq!(colours(&numeric(3, -1.0)), None);
    }

    #[test]
    fn a_kernel_is_named_with_its_settings() {
        let words = in_words(&serde_json::json!({ "name": "rbf", "sigma": 20.0 }));
        assert_eq!(words, "rbf kernel (sigma 20.0)");
        assert_eq!(in_words(&serde_json::json!({ "name": "cosine" })), "cosine kernel");
    }
}
