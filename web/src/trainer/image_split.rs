//! Images on a device with their labels and colours: digits that core draws, or images of the page.

use std::collections::BTreeSet;
use std::sync::Arc;

use burn::tensor::Device;
use simile_core::augment::Normalisation;
use simile_core::data::{Condition, Dataset, DatasetError, Images};
use simile_core::error::Result;
use simile_core::loss::batch::Batch;
use simile_core::nn::Encoder;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::FeatureTable;
use simile_core::train::{ViewMaker, ViewSource, embed};

use super::settings::{CONDITION, Settings};

/// Images in one forward pass.
const CHUNK: usize = 256;

/// The training images, or the test images.
#[derive(Debug)]
pub(super) struct ImageSplit {
    pub(super) images: ViewSource,
    /// The class of each image, an index into `numbers`.
    pub(super) labels: Vec<usize>,
    /// The number by which the page names each class.
    pub(super) numbers: Vec<u16>,
    /// Colours of the backgrounds of digits, else the mean colour of each image, `[n, 3]`, 0 to 255.
    pub(super) colours: Arc<Matrix>,
}

impl ImageSplit {
    /// Puts images on a device.
    ///
    /// # Errors
    /// If an image cannot be read.
    pub(super) fn new(dataset: Dataset, device: &Device) -> std::result::Result<Self, DatasetError> {
        let colours = dataset.conditions.get(CONDITION).map(Condition::to_matrix);
        // Classes are named by their numbers, of images of the page and of digits.
        let number = |(at, name): (usize, &String)| name.parse().unwrap_or(at as u16);
        let numbers = dataset.classes.iter().enumerate().map(number).collect();
        let views = ViewMaker::new(Settings::augmentation(), normalisation());
        Ok(Self {
            images: ViewSource::new(&dataset.images, views, device)?,
            labels: dataset.labels,
            numbers,
            colours: colours.unwrap_or_default(),
        })
    }

    /// The inputs of an objective beside the views; the colours only if it `needs_condition`.
    pub(super) fn context(&self, indices: &[usize], needs_condition: bool) -> Batch {
        let labels = indices.iter().filter_map(|&at| self.labels.get(at).copied()).collect();
        let batch = Batch::default().with_indices("labels", labels).with_indices("samples", indices.to_vec());
        if needs_condition { batch.with_condition("z", self.colours.select(indices)) } else { batch }
    }

    /// The representations of the first `count` images.
    ///
    /// # Errors
    /// The device failed, or the network has diverged.
    pub(super) async fn features(&self, encoder: &Encoder, count: usize) -> Result<FeatureTable> {
        embed(encoder, count, CHUNK, |range| self.images.plain(range)).await
    }
}

/// Images of the page, `[n, side, side, 3]`, whose condition is their mean colour.
///
/// # Errors
/// If `pixels` is not a whole number of images, or there is not one label an image.
pub(super) fn page_images(
    pixels: Vec<u8>,
    side: usize,
    labels: Vec<usize>,
) -> std::result::Result<Dataset, DatasetError> {
    let images = Images::new(side, side, 3, pixels)?;
    let mean = |image: &[u8], channel| {
        image.iter().skip(channel).step_by(3).map(|&value| f64::from(value)).sum::<f64>()
            / (side * side) as f64
    };
    let colours = Matrix::from_fn(images.len(), 3, |image, channel| mean(images.image(image), channel));
    // Labels need not follow each other: a probe has a row for each class.
    let names: Vec<usize> = labels.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let classes = labels.iter().filter_map(|label| names.binary_search(label).ok()).collect();
    let names = names.iter().map(ToString::to_string).collect();
    Dataset::new(images, classes, names)?.with_condition(CONDITION, Condition::Numeric(colours.into()))
}

/// Training images are not normalised.
pub(super) fn normalisation() -> Normalisation {
    Normalisation::identity(3)
}
