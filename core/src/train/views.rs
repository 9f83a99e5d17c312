//! The views of images for steps and probes.

use std::ops::Range;

use burn::tensor::{Device, Tensor};
use rand::Rng;

use crate::augment::{Augmentation, ImageBatch, ImageStore, Normalisation};
use crate::data::{DatasetError, ImageSet};
use crate::error::Result;
use crate::step_stage::StepStage;

/// The settings of views: augmentation, then normalisation.
#[derive(Debug, Clone)]
pub struct ViewMaker {
    augmentation: Augmentation,
    normalisation: Normalisation,
}

impl ViewMaker {
    /// Views with these settings.
    pub fn new(augmentation: Augmentation, normalisation: Normalisation) -> Self {
        Self { augmentation, normalisation }
    }

    /// Two random views of images, a batch or a tensor (`[n, channels, height, width]`, 0 to 1), normalised, for
    /// [`Trainer::step`](super::Trainer::step). `rng` is [`Trainer::rng`](super::Trainer::rng), so that the views of a step
    /// follow from its number. `stretches` are those of squeezed pictures, see [`ImageSet::stretches`].
    ///
    /// # Errors
    /// The images do not support the views.
    pub fn pair(
        &self,
        images: impl Into<ImageBatch>,
        stretches: Option<&[f64]>,
        rng: &mut impl Rng,
    ) -> Result<(Tensor<4>, Tensor<4>)> {
        let images = images.into();
        let samples = images.dims()[0];
        self.pair_of(images, (samples, &[0..samples]), stretches, rng)
    }

    /// As [`pair`](Self::pair), but `images` are only the samples `rows` of a batch of `samples`. Parameters are drawn for the
    /// whole batch, so that the views do not depend on the division; `stretches` are those of the whole batch.
    ///
    /// # Errors
    /// As [`pair`](Self::pair).
    pub fn pair_of(
        &self,
        images: impl Into<ImageBatch>,
        (samples, rows): (usize, &[Range<usize>]),
        stretches: Option<&[f64]>,
        rng: &mut impl Rng,
    ) -> Result<(Tensor<4>, Tensor<4>)> {
        let _span = StepStage::Views.enter();
        let images = images.into();
        let mut view = || self.view(images.clone(), (samples, rows), stretches, rng);
        Ok((view()?, view()?))
    }

    /// One random view of images, normalised. If the augmentation has no step, they are only normalised.
    ///
    /// # Errors
    /// As [`pair`](Self::pair).
    pub fn single(
        &self,
        images: impl Into<ImageBatch>,
        stretches: Option<&[f64]>,
        rng: &mut impl Rng,
    ) -> Result<Tensor<4>> {
        let _span = StepStage::Views.enter();
        let images = images.into();
        let samples = images.dims()[0];
        self.view(images, (samples, &[0..samples]), stretches, rng)
    }

    /// One random view of the samples of a batch, as in [`pair_of`](Self::pair_of).
    fn view(
        &self,
        images: ImageBatch,
        samples: (usize, &[Range<usize>]),
        stretches: Option<&[f64]>,
        rng: &mut impl Rng,
    ) -> Result<Tensor<4>> {
        self.augmentation.normalised_view(images, samples, stretches, &self.normalisation, rng)
    }
}

/// Images on a device, of the encoder's size, or larger if views are resized, with the settings of their views. Their pixels
/// are taken to be square.
#[derive(Debug, Clone)]
pub struct ViewSource {
    store: ImageStore,
    views: ViewMaker,
}

impl ViewSource {
    /// Puts images on a device.
    ///
    /// # Errors
    /// If an image cannot be read.
    pub fn new(images: &ImageSet, views: ViewMaker, device: &Device) -> Result<Self, DatasetError> {
        Ok(Self { store: ImageStore::new(images, device)?, views })
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// Two random views of the images `indices`, see [`ViewMaker::pair`].
    ///
    /// # Errors
    /// An index is past the end, or the images do not support the views.
    pub fn pair(&self, indices: &[usize], rng: &mut impl Rng) -> Result<(Tensor<4>, Tensor<4>)> {
        self.views.pair(self.store.batch(indices)?, None, rng)
    }

    /// The images of a range without augmentation, normalised, for [`embed`](super::embed).
    ///
    /// # Errors
    /// An index past the end.
    pub fn plain(&self, range: Range<usize>) -> Result<Tensor<4>> {
        self.store.batch(&range.collect::<Vec<_>>())?.normalised(&self.views.normalisation)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::{Purpose, stream};
    use super::*;
    use crate::data::synthetic::colour_mnist::Colours;
    use crate::data::synthetic::digits::draw_digits;

    #[test]
    fn a_step_sees_two_views_that_its_number_decides() {
        let images = draw_digits(12, Colours::Palette, 3).unwrap().images;
        let normalisation = Normalisation { mean: vec![0.5; 3], std: vec![0.25; 3] };
        let views = ViewMaker::new(Augmentation::preset("crop").unwrap(), normalisation);
        let source = ViewSource::new(&images, views, &Device::flex()).unwrap();
        assert_eq!((source.len(), source.is_empty()), (12, false));
        let pair = |step| {
            let mut rng = stream(1, Purpose::Augmentation, step);
            let (a, b) = source.pair(&[4, 0, 11], &mut rng).unwrap();
            assert_eq!((a.dims(), b.dims()), ([3, 3, 32, 32], [3, 3, 32, 32]));
            [a, b].map(|view| view.into_data().iter::<f32>().collect::<Vec<f32>>())
        };
        let [a, b] = pair(7);
        assert_ne!(a, b);
        assert_eq!(pair(7), [a.clone(), b]);
        assert_ne!(pair(8)[0], a);
        assert!(source.pair(&[12], &mut stream(1, Purpose::Augmentation, 0)).is_err());

        let plain: Vec<f32> = source.plain(4..5).unwrap().into_data().iter::<f32>().collect();
        let fifth = images.read(&[4]).unwrap();
        let red = fifth.pixels.iter().copied().step_by(3);
        let expected = red.map(|value| (f32::from(value) / 255.0 - 0.5) / 0.25);
        assert!(plain.iter().zip(expected).all(|(pixel, expected)| (pixel - expected).abs() < 1e-5));
    }

    #[test]
    fn the_views_of_some_samples_are_those_that_the_batch_has() {
        let images = draw_digits(7, Colours::Palette, 3).unwrap().images;
        let normalisation = Normalisation { mean: vec![0.5; 3], std: vec![0.25; 3] };
        let maker = ViewMaker::new(Augmentation::preset("crop").unwrap(), normalisation);
        let store = ImageStore::new(&images, &Device::flex()).unwrap();
        let numbers = |views: (Tensor<4>, Tensor<4>), rows: &[usize]| {
            let row = |view: &Tensor<4>, at: usize| view.clone().slice([at..at + 1]).into_data();
            rows.iter().flat_map(|&at| [row(&views.0, at), row(&views.1, at)]).collect::<Vec<_>>()
        };
        let stretches = [1.0, 1.2, 0.8, 1.0, 1.5, 1.0, 0.7];
        for stretches in [None, Some(&stretches[..])] {
            let rng = || stream(1, Purpose::Augmentation, 7);
            let whole =
                maker.pair(store.batch(&[0, 1, 2, 3, 4, 5, 6]).unwrap(), stretches, &mut rng()).unwrap();
            let own = store.batch(&[1, 2, 6]).unwrap();
            let own = maker.pair_of(own, (7, &[1..3, 6..7]), stretches, &mut rng()).unwrap();
            assert_eq!(numbers(own, &[0, 1, 2]), numbers(whole, &[1, 2, 6]));
        }
    }
}
