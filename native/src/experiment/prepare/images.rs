//! The images of a data set in the input form of a network, and its outputs for them.

use anyhow::Result;
use burn::tensor::Device;
use simile_core::augment::Normalisation;
use simile_core::augment::preprocess::middle;
use simile_core::data::resize::{Interpolation, resize};
use simile_core::data::{DatasetError, ImageSet, Images};
use simile_core::nn::checkpoint::Metadata;
use simile_core::nn::{Encoder, EncoderConfig, Model};
use simile_core::numeric::matrix::Matrix;
use simile_core::train::{embed_each, score};

use super::prefetch::Prefetcher;
use crate::experiment::features::{Collector, Features};
use crate::experiment::memory::pass::images_of_pass;

/// The form in which an encoder takes images.
pub(crate) struct ImageForm<'a> {
    pub(crate) encoder: &'a EncoderConfig,
    /// The larger side to which images are resized first, if the encoder sees the centre crop of that.
    pub(crate) resize: Option<usize>,
    pub(crate) normalisation: Normalisation,
}

impl<'a> From<&'a Metadata> for ImageForm<'a> {
    fn from(metadata: &'a Metadata) -> Self {
        Self { encoder: &metadata.encoder, resize: metadata.resize, normalisation: metadata.normalisation() }
    }
}

/// Images that are brought to the form of an encoder when they are needed, batch by batch.
pub(crate) struct PreparedImages<'a> {
    images: ImageSet,
    form: &'a ImageForm<'a>,
    /// Images in one forward pass.
    pass: usize,
    device: Device,
}

impl<'a> PreparedImages<'a> {
    /// Images of another side are resized to the input of the encoder; with a larger side, to that one, of which the encoder sees the
    /// centre crop.
    pub(crate) fn new(images: &ImageSet, form: &'a ImageForm<'a>, device: &Device) -> Self {
        let pass = images_of_pass(form.encoder, images.shape().bytes(), simile_kernels::memory(device));
        Self { images: images.clone(), form, pass, device: device.clone() }
    }

    /// The representation of every image, `[n, embedding size]`.
    ///
    /// # Errors
    /// If an image cannot be read or does not fit the encoder, a value is not finite, or there is no room for the features.
    pub(crate) fn features(&self, encoder: &Encoder) -> Result<Features> {
        self.features_while(encoder, &|| Ok(()))
    }

    /// As [`features`](Self::features), for as long as a check before each batch finds no error.
    ///
    /// # Errors
    /// As [`features`](Self::features), and as the check.
    pub(crate) fn features_while(
        &self,
        encoder: &Encoder,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Features> {
        let (count, mut batches) = (self.images.len(), self.batches()?);
        let mut collector = None;
        let keep = |rows: &[f32], columns: usize| {
            let collector = match &mut collector {
                Some(collector) => collector,
                none => none.insert(Collector::new(count, columns)?),
            };
            collector.push(rows)
        };
        let images = |_| {
            check()?;
            Ok(self.form.normalisation.apply(batches.next()?.1.into_tensor())?)
        };
        pollster::block_on(embed_each(encoder, (count, self.pass), images, keep))?;
        collector.map_or_else(|| Collector::new(0, 0), Ok)?.finish()
    }

    /// The class scores of every image, `[n, classes]`, for as long as a check before each batch finds no error.
    ///
    /// # Errors
    /// As [`features`](Self::features), and as the check.
    pub(crate) fn scores_while(&self, model: &Model, check: &dyn Fn() -> Result<()>) -> Result<Matrix> {
        let mut batches = self.batches()?;
        pollster::block_on(score(model, self.images.len(), self.pass, |_| {
            check()?;
            Ok(self.form.normalisation.apply(batches.next()?.1.into_tensor())?)
        }))
    }

    /// All images in order, pass by pass.
    fn batches(&self) -> Result<Prefetcher> {
        let (count, pass) = (self.images.len(), self.pass);
        let (side, larger) = (self.form.encoder.input_size, self.form.resize);
        let plan = (0..count).step_by(pass).map(move |start| (start..(start + pass).min(count)).collect());
        Prefetcher::new(
            self.images.for_evaluation()?,
            plan,
            Some(Box::new(move |images| fitted(images, side, larger))),
            &self.device,
        )
    }
}

/// Images of a side, or of the middle of a larger one.
fn fitted(images: Images, side: usize, larger: Option<usize>) -> Result<Images, DatasetError> {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use simile_core::augment::preprocess::{fit_middle, fit_whole};

    use super::*;
    use crate::config::{Changes, Recipe};
    use crate::data::keys::values::Fit;
    use crate::experiment::prepare::splits::Splits;

    /// A photograph of 4:3: colours that change smoothly over it, and from picture to picture.
    fn photograph(shade: u8) -> image::RgbImage {
        image::RgbImage::from_fn(400, 300, |x, y| {
            let waves = (f64::from(x) / 40.0).sin() * (f64::from(y) / 35.0).cos();
            image::Rgb([(x * 255 / 399) as u8, (128.0 + 100.0 * waves) as u8, shade])
        })
    }

    /// The form of the encoder of a recipe, without a normalisation.
    fn form(recipe: &Recipe) -> ImageForm<'_> {
        let normalisation = Normalisation::identity(3);
        ImageForm { encoder: &recipe.encoder.config, resize: recipe.data.resize(), normalisation }
    }

    /// As Waterbirds is released: views are crops of pictures in their own shape, and the test sees all of a picture, squeezed.
    #[test]
    fn shapes_that_are_kept_for_crops_are_not_those_of_the_evaluation() {
        let place = tempfile::tempdir().unwrap();
        for (at, file) in ["train/a/0", "train/b/1", "val/a/2", "val/b/3"].into_iter().enumerate() {
            let path = place.path().join(file).with_extension("png");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            photograph(at as u8 * 60).save(path).unwrap();
        }
        let set = ["data.fit=crops".to_owned()];
        let recipe = Recipe::load("imagenet-100", &Changes { set: &set, ..Changes::default() }).unwrap();
        let splits = Splits::of(&recipe, Some(place.path())).unwrap();
        assert_eq!(splits.train.images.stretches(&[0, 1]), Some(vec![f64::from(4.0_f32 / 3.0); 2]));
        let form = form(&recipe);
        for (images, shades) in
            [(&splits.train.images, [0, 60]), (&splits.evaluated.dataset.images, [120, 180])]
        {
            let prepared = PreparedImages::new(images, &form, &Device::flex());
            let judged = prepared.batches().unwrap().next().unwrap().1;
            let judged: Vec<f32> =
                judged.into_tensor().permute([0, 2, 3, 1]).into_data().iter::<f32>().collect();
            for (judged, shade) in judged.chunks_exact(224 * 224 * 3).zip(shades) {
                let original = Images::new(300, 400, 3, photograph(shade).into_raw()).unwrap();
                let expected = fit_whole(&original, Some(256), 224, 3).unwrap();
                let apart =
                    judged.iter().zip(&expected.pixels).map(|(a, &b)| (a * 255.0 - f32::from(b)).abs());
                let worst = apart.fold(0.0, f32::max);
                // The larger picture that is kept is rounded to bytes, and resized once more.
                assert!(worst < 3.0, "{worst} of 255");
            }
        }
        let set = [set[0].clone(), "augment={ size = 224, flip = 0.5 }".to_owned()];
        let error = Recipe::load("imagenet-100", &Changes { set: &set, ..Changes::default() }).unwrap_err();
        assert!(error.to_string().contains("there is none"), "{error}");
    }

    /// Crops were taken of pictures as small as evaluation sees them: enlarged and blurred, while the test was sharp.
    #[test]
    fn crops_see_a_texture_that_is_too_fine_for_the_evaluation() {
        let place = tempfile::tempdir().unwrap();
        for (file, amplitude) in [("train/a/0", 60), ("train/b/1", 0), ("val/a/2", 60), ("val/b/3", 0)] {
            let path = place.path().join(file).with_extension("png");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let shade =
                |x: u32, y: u32| if (x + y).is_multiple_of(2) { 128 + amplitude } else { 128 - amplitude };
            image::GrayImage::from_fn(500, 500, |x, y| image::Luma([shade(x, y)])).save(path).unwrap();
        }
        let recipe = Recipe::load("imagenet-100", &Changes::default()).unwrap();
        let splits = Splits::of(&recipe, Some(place.path())).unwrap();
        let contrast = |pixels: &[u8]| {
            let [least, most] = [pixels.iter().min(), pixels.iter().max()].map(|value| *value.unwrap());
            most - least
        };
        let stored = splits.train.images.read(&[0, 1]).unwrap();
        assert_eq!([0, 1].map(|at| contrast(stored.image(at))), [120, 0]);
        let sides = (recipe.encoder.config.input_size, recipe.data.resize());
        assert_eq!(sides, (224, Some(256)), "torchvision's Resize(256) and CenterCrop(224)");
        let kept = splits.evaluated.dataset.images.for_evaluation().unwrap().read(&[0, 1]).unwrap();
        let judged = fitted(kept, sides.0, sides.1).unwrap();
        assert_eq!((judged.height, judged.width), (224, 224));
        assert!(contrast(judged.image(0)) < 60, "{}", contrast(judged.image(0)));
    }

    #[test]
    fn imagenet_100_crops_whole_pictures_and_is_judged_by_the_centre_as_in_torchvision() {
        let place = tempfile::tempdir().unwrap();
        for (at, file) in ["train/a/0", "train/b/1", "val/a/2", "val/b/3"].into_iter().enumerate() {
            let path = place.path().join(file).with_extension("png");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            photograph(at as u8 * 60).save(path).unwrap();
        }
        let recipe = Recipe::load("imagenet-100", &Changes::default()).unwrap();
        assert_eq!(recipe.data.fit, Fit::Aspect);
        let splits = Splits::of(&recipe, Some(place.path())).unwrap();
        assert_eq!(splits.train.images.stretches(&[0, 1]), Some(vec![f64::from(4.0_f32 / 3.0); 2]));
        let stored = splits.train.images.read(&[0]).unwrap();
        let side = stored.width;
        let red = |image: &[u8], x: usize| image[(side / 2 * side + x) * 3];
        assert!(
            red(stored.image(0), 0) < 3 && red(stored.image(0), side - 1) > 252,
            "both edges of the picture"
        );

        let form = form(&recipe);
        let prepared = PreparedImages::new(&splits.evaluated.dataset.images, &form, &Device::flex());
        assert_eq!(prepared.pass, 32, "512 of them took more memory than training");
        let judged = prepared.batches().unwrap().next().unwrap().1;
        assert_eq!(judged.dims(), [2, 3, 224, 224]);
        let judged: Vec<f32> = judged.into_tensor().permute([0, 2, 3, 1]).into_data().iter::<f32>().collect();
        for (judged, shade) in judged.chunks_exact(224 * 224 * 3).zip([120, 180]) {
            let photograph = photograph(shade);
            let original = Images::new(300, 400, 3, photograph.into_raw()).unwrap();
            let expected = fit_middle(&original, Some(256), 224, 3).unwrap();
            let apart = judged.iter().zip(&expected.pixels).map(|(a, &b)| (a * 255.0 - f32::from(b)).abs());
            let worst = apart.fold(0.0, f32::max);
            assert!(worst < 4.0, "{worst} of 255");
        }
    }
}
