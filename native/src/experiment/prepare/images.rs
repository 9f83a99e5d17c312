//! Images on a device in the input form of a network, and its outputs for them.

use std::borrow::Cow;
use std::ops::Range;

use anyhow::Result;
use burn::tensor::{Device, Tensor};
use simile_core::augment::preprocess::middle;
use simile_core::augment::{ImageStore, Normalisation};
use simile_core::data::Images;
use simile_core::data::resize::{Interpolation, resize};
use simile_core::error::Error;
use simile_core::nn::Encoder;
use simile_core::nn::Model;
use simile_core::numeric::matrix::Matrix;
use simile_core::train::{embed, score};

/// Images in one forward pass.
const BATCH: usize = 512;

/// Images of the input size of an encoder, not yet normalised.
pub(crate) struct PreparedImages<'a> {
    store: ImageStore,
    normalisation: &'a Normalisation,
}

impl<'a> PreparedImages<'a> {
    /// Resizes the images if they have another side; with a `larger` side, to that one and then to its centre crop.
    ///
    /// # Errors
    /// If they cannot be resized.
    pub(crate) fn new(
        images: &Images,
        (side, larger): (usize, Option<usize>),
        normalisation: &'a Normalisation,
        device: &Device,
    ) -> Result<Self> {
        let whole = larger.unwrap_or(side);
        let resized = if (images.height, images.width) == (whole, whole) {
            Cow::Borrowed(images)
        } else {
            Cow::Owned(resize(images, whole, whole, Interpolation::Bilinear)?)
        };
        let store = match larger {
            Some(_) => ImageStore::new(&middle(&resized, side)?, device),
            None => ImageStore::new(&resized, device),
        };
        Ok(Self { store, normalisation })
    }

    /// The representation of every image, `[n, embedding size]`.
    ///
    /// # Errors
    /// If images do not fit the encoder, or a value is not finite.
    pub(crate) fn features(&self, encoder: &Encoder) -> Result<Matrix> {
        Ok(pollster::block_on(embed(encoder, self.store.len(), BATCH, |range| self.batch(range)))?)
    }

    /// The class scores of every image, `[n, classes]`.
    ///
    /// # Errors
    /// As [`features`](Self::features).
    pub(crate) fn scores(&self, model: &Model) -> Result<Matrix> {
        Ok(pollster::block_on(score(model, self.store.len(), BATCH, |range| self.batch(range)))?)
    }

    fn batch(&self, range: Range<usize>) -> Result<Tensor<4>, Error> {
        self.normalisation.apply(self.store.batch(&range.collect::<Vec<_>>())?)
    }
}
