//! Probes of a representation: a linear classifier of the digit and a ridge regression of the colour, both on
//! standardised features, as in `simile train` and `simile evaluate`.

use simile_core::error::Result;
use simile_core::eval::linear_probe::{LinearProbeConfig, Target};
use simile_core::eval::metrics::top_k_accuracy;
use simile_core::eval::projection::Pca;
use simile_core::eval::ridge::Ridge;
use simile_core::eval::standardise::Standardise;
use simile_core::eval::unit::unit_rows;
use simile_core::nn::Encoder;
use simile_core::numeric::rows::{FeatureTable, Rows, to_matrix};
use wasm_bindgen::prelude::wasm_bindgen;

use super::image_split::ImageSplit;

/// Test images that a map shows: enough to see structure, few enough to follow.
pub(super) const MAPPED: usize = 400;

/// The results of the probes.
#[wasm_bindgen]
#[derive(Debug, Clone)]
pub struct Probe {
    /// Accuracy of the digit on the test images, 0 to 1.
    pub accuracy: f64,
    /// R² of the colour of the background; 0 where colours do not vary.
    pub leak: f64,
    map: Vec<f32>,
}

#[wasm_bindgen]
impl Probe {
    /// The projection of the first test images onto the two main directions of the representations, `[n, 2]`.
    #[wasm_bindgen(getter)]
    pub fn map(&self) -> Vec<f32> {
        self.map.clone()
    }
}

impl Probe {
    /// Fits on the first `fitted` images of `train`, or with the full budget of the command line on all of them;
    /// measures on `test`.
    ///
    /// # Errors
    /// The device failed, or the network has diverged.
    pub(super) async fn run(
        encoder: &Encoder,
        train: &ImageSplit,
        test: &ImageSplit,
        fitted: Option<usize>,
    ) -> Result<Self> {
        let count = fitted.unwrap_or(usize::MAX).clamp(1, train.labels.len());
        let features = train.features(encoder, count).await?;
        let scale = Standardise::fit(&features)?;
        let train_features = scale.of(features)?;
        let test_features = scale.of(test.features(encoder, test.labels.len()).await?)?;

        let full = LinearProbeConfig::default();
        let penalty = full.regularisation;
        let config = match fitted {
            Some(_) => LinearProbeConfig { steps: 10, gradient_tolerance: 1e-4, ..full },
            None => full,
        };
        let labels = train.labels.get(..count).unwrap_or_default();
        let classifier =
            config.fit(&train_features, Target::Classes { labels, classes: train.numbers.len() })?;
        let accuracy = top_k_accuracy(&classifier.scores(&test_features)?, &test.labels, 1)?;

        let colours = train.colours.select(&(0..count).collect::<Vec<_>>());
        let regression = Ridge::fit(&train_features, &colours, penalty)?;
        let leak = regression.evaluate(&test_features, &test.colours)?.r2.unwrap_or_default();
        Ok(Self { accuracy, leak, map: map(&test_features)? })
    }
}

/// The rows are normalised, because embeddings are compared by their angles.
fn map<R: Rows>(rows: &R) -> Result<Vec<f32>> {
    let first: Vec<usize> = (0..MAPPED.min(rows.rows())).collect();
    let shown = unit_rows(&to_matrix(&FeatureTable::gather(rows, &first)?)?);
    let plane = Pca::fit(&shown, 2)?.project(&shown)?;
    Ok(plane.data().iter().map(|&value| value as f32).collect())
}

#[cfg(test)]
mod tests {
    use simile_core::eval::standardise::{CONSTANT, SMALLEST};

    #[test]
    fn the_pages_and_the_probes_take_the_same_dimensions_for_constant() {
        let of_pages = include_str!("../../../www/src/standardise.ts");
        for (name, limit) in [("CONSTANT", CONSTANT), ("SMALLEST", SMALLEST)] {
            let line = format!("const {name} = {limit:e};");
            assert!(of_pages.contains(&line), "www/src/standardise.ts lacks `{line}`");
        }
    }
}
