//! Drawn digits on a device, with what is known of each.

use burn::tensor::Device;
use simile_core::augment::Normalisation;
use simile_core::batch::Batch;
use simile_core::dataset::colour_mnist::Colours;
use simile_core::dataset::digits::draw_digits;
use simile_core::encoder::Encoder;
use simile_core::error::Result;
use simile_core::matrix::Matrix;
use simile_core::train::{ViewSource, embed};

use super::settings::{CONDITION, Settings};

/// Images that go through the network at once.
const CHUNK: usize = 256;

/// The digits to train on, or those to judge by.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) images: ViewSource,
    pub(super) labels: Vec<usize>,
    pub(super) classes: usize,
    /// Of the grounds, `[n, 3]`, 0 to 255.
    pub(super) colours: Matrix,
}

impl Part {
    /// Draws so many digits.
    ///
    /// # Errors
    /// If there are none.
    pub(super) fn draw(
        count: usize,
        seed: u64,
        device: &Device,
    ) -> std::result::Result<Self, simile_core::dataset::DatasetError> {
        let drawn = draw_digits(count, Colours::Palette, seed)?;
        let normalisation = normalisation();
        let colours = drawn.conditions.get(CONDITION).map(|condition| condition.to_matrix());
        Ok(Self {
            images: ViewSource::new(&drawn.images, Settings::augmentation(), normalisation, device),
            labels: drawn.labels,
            classes: drawn.classes.len(),
            colours: colours.unwrap_or_default(),
        })
    }

    /// What an objective may ask for beside the views.
    pub(super) fn context(&self, indices: &[usize]) -> Batch {
        let labels = indices.iter().filter_map(|&at| self.labels.get(at).copied()).collect();
        Batch::default()
            .with_indices("labels", labels)
            .with_indices("samples", indices.to_vec())
            .with_condition("z", self.colours.select(indices))
    }

    /// The representations of the first `count` images.
    ///
    /// # Errors
    /// The device failed, or the network has diverged.
    pub(super) async fn features(&self, encoder: &Encoder, count: usize) -> Result<Matrix> {
        embed(encoder, count, CHUNK, |range| self.images.plain(range)).await
    }
}

/// The drawn digits are not normalised.
pub(super) fn normalisation() -> Normalisation {
    Normalisation::identity(3)
}
