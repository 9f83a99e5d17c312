//! The images of a data set in the input form of a network, and its outputs for them.

use anyhow::Result;
use burn::tensor::Device;
use simile_core::augment::Normalisation;
use simile_core::augment::preprocess::middle;
use simile_core::data::resize::{Interpolation, resize};
use simile_core::data::{DatasetError, ImageSet, Images};
use simile_core::nn::Encoder;
use simile_core::nn::Model;
use simile_core::numeric::matrix::Matrix;
use simile_core::train::{embed_each, score};

use super::ahead::Ahead;
use crate::experiment::features::{Collector, Features};

/// Images in one forward pass.
const BATCH: usize = 512;

/// Images that are brought to the input size of an encoder and normalised when they are needed, batch by batch.
pub(crate) struct PreparedImages<'a> {
    images: ImageSet,
    sides: (usize, Option<usize>),
    normalisation: &'a Normalisation,
    device: Device,
}

impl<'a> PreparedImages<'a> {
    /// Resizes the images if they have another side; with a larger side, to that one and then to its centre crop.
    pub(crate) fn new(
        images: &ImageSet,
        sides: (usize, Option<usize>),
        normalisation: &'a Normalisation,
        device: &Device,
    ) -> Self {
        Self { images: images.clone(), sides, normalisation, device: device.clone() }
    }

    /// The representation of every image, `[n, embedding size]`.
    ///
    /// # Errors
    /// If an image cannot be read or does not fit the encoder, a value is not finite, or there is no room for the features.
    pub(crate) fn features(&self, encoder: &Encoder) -> Result<Features> {
        let (count, mut batches) = (self.images.len(), self.batches()?);
        let mut collector = None;
        let keep = |rows: &[f32], columns: usize| {
            let collector = match &mut collector {
                Some(collector) => collector,
                none => none.insert(Collector::new(count, columns)?),
            };
            collector.push(rows)
        };
        let images = |_| Ok(self.normalisation.apply(batches.next()?.1)?);
        pollster::block_on(embed_each(encoder, (count, BATCH), images, keep))?;
        collector.map_or_else(|| Collector::new(0, 0), Ok)?.finish()
    }

    /// The class scores of every image, `[n, classes]`.
    ///
    /// # Errors
    /// As [`features`](Self::features).
    pub(crate) fn scores(&self, model: &Model) -> Result<Matrix> {
        let mut batches = self.batches()?;
        pollster::block_on(score(model, self.images.len(), BATCH, |_| {
            Ok(self.normalisation.apply(batches.next()?.1)?)
        }))
    }

    /// All images in order, in batches of [`BATCH`].
    fn batches(&self) -> Result<Ahead> {
        let (count, sides) = (self.images.len(), self.sides);
        let plan = (0..count).step_by(BATCH).map(move |start| (start..(start + BATCH).min(count)).collect());
        Ahead::new(self.images.upright()?, plan, move |images| fitted(images, sides), &self.device)
    }
}

/// Images of a side, or of the middle of a larger one.
fn fitted(images: Images, (side, larger): (usize, Option<usize>)) -> Result<Images, DatasetError> {
    let whole = larger.unwrap_or(side);
    let resized = if (images.height, images.width) == (whole, whole) {
        images
    } else {
        resize(&images, whole, whole, Interpolation::Bilinear)?
    };
    match larger {
        Some(_) => middle(&resized, side),
        None => Ok(resized),
    }
}
