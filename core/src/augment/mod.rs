//! Random views of a batch of images, on the device that holds them.
//!
//! The random parameters of each view are drawn on the host from the run's own generator
//! ([`Augmentation::draw`]); then the whole batch is transformed at once ([`Augmentation::apply`]), each image by
//! its own parameters, by [`simile_kernels::augment`]: a few numbers an image go to the device. A CPU makes the same views from
//! bytes, by [`simile_kernels::augment_pixels`]. The definitions are torchvision's; for given parameters the results agree
//! within 2/255.
//!
//! Steps, in this order: crop and resize, rotation, horizontal flip, colour jitter, grey, blur. Each is optional.
//! [`Normalisation`] comes after all of them and belongs to the encoder's input, not to the view.

mod batch;
mod blur;
mod colour;
mod crop;
mod normalise;
mod planes;
pub mod preprocess;
mod preset;
mod store;

use std::ops::Range;

use burn::tensor::Tensor;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use simile_kernels::{View, Views};

pub use batch::{HostImages, ImageBatch};
pub use blur::Blur;
pub use colour::{ColourChange, ColourJitter, ColourStep};
pub use crop::{Crop, Window};
pub use normalise::Normalisation;
pub use planes::Change;
pub use preset::PRESETS;
pub use store::ImageStore;

use crate::error::{Error, Result, within};

/// The steps of a random view. Absent steps are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Augmentation {
    /// Height and width of the view, 1 or more. Default: those of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    /// Random resized crop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<Crop>,
    /// The middle `size` x `size` pixels of an image take the place of the whole of it, as torchvision's `CenterCrop`. Not
    /// beside `crop`. Default: `false`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub centre_crop: bool,
    /// Rotation by up to this many degrees, 0 to 180, in either direction, about the centre. Default: `0`.
    pub rotation: f64,
    /// Probability of a horizontal flip. Default: `0`.
    pub flip: f64,
    /// Colour jitter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<ColourJitter>,
    /// Probability of conversion to grey. Default: `0`.
    pub grey: f64,
    /// Gaussian blur.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blur: Option<Blur>,
}

/// The parameters drawn for one view. The default changes nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ViewParameters {
    /// The part of the image that is kept; `None` for all of it.
    pub window: Option<Window>,
    /// Counter-clockwise rotation in degrees.
    pub rotation: f64,
    /// True if left and right are exchanged.
    pub flip: bool,
    /// Change of colour.
    pub colour: Option<ColourChange>,
    /// True if the image becomes grey.
    pub grey: bool,
    /// Standard deviation of the blur in pixels; `None` without a blur.
    pub blur_sigma: Option<f64>,
}

impl Augmentation {
    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the first parameter outside its range.
    pub fn validate(&self) -> Result<()> {
        if self.size == Some(0) {
            return Err(Error::parameter("size", 0, "expected at least 1"));
        }
        if self.centre_crop && (self.crop.is_some() || self.size.is_none()) {
            let reason =
                "expected `size`, the side of the middle, and no `crop`, of which it takes the place";
            return Err(Error::parameter("centre_crop", true, reason));
        }
        within("rotation", self.rotation, 0.0, 180.0)?;
        within("flip", self.flip, 0.0, 1.0)?;
        within("grey", self.grey, 0.0, 1.0)?;
        self.crop.as_ref().map_or(Ok(()), Crop::validate)?;
        self.jitter.as_ref().map_or(Ok(()), ColourJitter::validate)?;
        self.blur.as_ref().map_or(Ok(()), Blur::validate)
    }

    /// Draws the parameters of `count` images of `height` x `width` pixels.
    ///
    /// # Errors
    /// As [`Augmentation::validate`].
    pub fn draw(
        &self,
        count: usize,
        height: usize,
        width: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<ViewParameters>> {
        self.draw_stretched(&vec![1.0; count], (height, width), rng)
    }

    /// Draws the parameters of images of `height` x `width` pixels into which whole pictures of another shape are
    /// squeezed: the width of picture `i` over its height is `stretches[i]` times that of its image. Crops have their
    /// distribution in the pictures; without a crop the view is the middle of the picture.
    ///
    /// # Errors
    /// As [`Augmentation::validate`], and [`Error::Parameter`] if `centre_crop` wants more than an image has.
    pub fn draw_stretched(
        &self,
        stretches: &[f64],
        (height, width): (usize, usize),
        rng: &mut impl Rng,
    ) -> Result<Vec<ViewParameters>> {
        self.validate()?;
        let shape = self.size.map_or(width as f64 / height as f64, |_| 1.0);
        let middle = |stretch: f64| Window::middle((height, width), shape / stretch);
        let centre = self.centre(height.min(width))?;
        let window = |stretch: f64, rng: &mut _| match (&self.crop, centre) {
            (Some(crop), _) => Some(crop.draw((height, width), stretch, rng)),
            (None, Some(share)) => Some(middle(stretch).middle_of(share)),
            (None, None) if stretch == 1.0 => None,
            (None, None) => Some(middle(stretch)),
        };
        let view = |&stretch: &f64| ViewParameters {
            window: window(stretch, rng),
            rotation: if self.rotation > 0.0 {
                rng.random_range(-self.rotation..=self.rotation)
            } else {
                0.0
            },
            flip: self.flip > 0.0 && rng.random_bool(self.flip),
            colour: self.jitter.as_ref().and_then(|jitter| jitter.draw(rng)),
            grey: self.grey > 0.0 && rng.random_bool(self.grey),
            blur_sigma: self.blur.as_ref().and_then(|blur| blur.draw(rng)),
        };
        Ok(stretches.iter().map(view).collect())
    }

    /// The part of each side of the largest middle window that a centre crop has, if there is one; `side` is the image's shorter one.
    fn centre(&self, side: usize) -> Result<Option<f64>> {
        match self.size.filter(|_| self.centre_crop) {
            Some(size) if size > side => {
                let reason = format!("expected at most the {side} pixels of an image, for `centre_crop`");
                Err(Error::parameter("size", size, &reason))
            }
            size => Ok(size.map(|size| size as f64 / side as f64)),
        }
    }

    /// The count of numbers that go to a device for each view of an image of `height` x `width` pixels.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a blur wider than the view.
    pub fn numbers(&self, [height, width]: [usize; 2]) -> Result<usize> {
        let size = self.size.map_or([height, width], |side| [side, side]);
        let radius = self.blur.as_ref().map_or(Ok(0), |blur| blur.radius(size))?;
        Ok(Views::numbers_of_each(radius))
    }

    /// Transforms `images`, a batch or a tensor (`[n, channels, height, width]`, 0 to 1), by the parameters of each, to
    /// `[n, channels, size, size]`, 0 to 1. Views are constants: no gradient reaches the images.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not parameters for each image, if a window does not lie in the image, or if a step
    /// that needs colour gets images without three channels; [`Error::Parameter`] for a blur wider than the view.
    pub fn apply(&self, images: impl Into<ImageBatch>, parameters: &[ViewParameters]) -> Result<Tensor<4>> {
        let images = images.into();
        let unchanged = Normalisation::identity(images.dims()[1]);
        self.transform(images, parameters, &unchanged)
    }

    /// As [`apply`](Self::apply), then normalised.
    fn transform(
        &self,
        images: ImageBatch,
        parameters: &[ViewParameters],
        normalisation: &Normalisation,
    ) -> Result<Tensor<4>> {
        let [n, channels, height, width] = images.dims();
        if n != parameters.len() {
            return Err(Error::shape(
                "parameters",
                format!("{n} entries"),
                format!("{} entries", parameters.len()),
            ));
        }
        let needs_colour = parameters.iter().any(|view| view.colour.is_some() || view.grey);
        if needs_colour && channels != 3 {
            return Err(Error::shape(
                "images",
                "three channels for colour jitter and grey",
                channels.to_string(),
            ));
        }
        let size = self.size.map_or([height, width], |side| [side, side]);
        // Without parameters there is no blur.
        let blur = self.blur.as_ref().filter(|_| parameters.iter().any(|view| view.blur_sigma.is_some()));
        let radius = blur.map_or(Ok(0), |blur| blur.radius(size))?;
        let view = |drawn: &ViewParameters| {
            Ok(View {
                window: drawn.window.map(|window| window.within(height, width)).transpose()?,
                angle: drawn.rotation,
                flip: drawn.flip,
                colour: drawn.colour.as_ref().map(ColourChange::steps),
                grey: drawn.grey,
                sigma: drawn.blur_sigma.filter(|_| blur.is_some()),
            })
        };
        let views = parameters.iter().map(view).collect::<Result<_>>()?;
        let filter = self.crop.as_ref().map(|crop| crop.interpolation).unwrap_or_default().into();
        images.views(&Views { size, filter, radius, views }, normalisation)
    }

    /// Draws parameters for each of `images`, a batch or a tensor (`[n, channels, height, width]`, 0 to 1), and transforms them.
    ///
    /// # Errors
    /// As [`Augmentation::draw`] and [`Augmentation::apply`].
    pub fn view(&self, images: impl Into<ImageBatch>, rng: &mut impl Rng) -> Result<Tensor<4>> {
        self.view_stretched(images, None, rng)
    }

    /// As [`view`](Self::view), but for pictures that were squeezed into the size of the images; see
    /// [`draw_stretched`](Self::draw_stretched).
    ///
    /// # Errors
    /// As [`view`](Self::view).
    pub fn view_stretched(
        &self,
        images: impl Into<ImageBatch>,
        stretches: Option<&[f64]>,
        rng: &mut impl Rng,
    ) -> Result<Tensor<4>> {
        let images = images.into();
        let [samples, channels, ..] = images.dims();
        let unchanged = Normalisation::identity(channels);
        self.normalised_view(images, (samples, &[0..samples]), stretches, &unchanged, rng)
    }

    /// As [`view_stretched`](Self::view_stretched), then [normalised](Normalisation::apply). `images` are only the samples `rows` of a
    /// batch of `samples`; parameters are drawn for the whole batch, so that a view does not depend on the division. `stretches` are
    /// those of the whole batch.
    ///
    /// # Errors
    /// As [`view`](Self::view) and [`Normalisation::apply`].
    pub fn normalised_view(
        &self,
        images: impl Into<ImageBatch>,
        (samples, rows): (usize, &[Range<usize>]),
        stretches: Option<&[f64]>,
        normalisation: &Normalisation,
        rng: &mut impl Rng,
    ) -> Result<Tensor<4>> {
        let images = images.into();
        let [_, _, height, width] = images.dims();
        let of_batch = match stretches {
            Some(stretches) => self.draw_stretched(stretches, (height, width), rng)?,
            None => self.draw(samples, height, width, rng)?,
        };
        let own: Vec<ViewParameters> =
            rows.iter().filter_map(|rows| of_batch.get(rows.clone())).flatten().cloned().collect();
        self.transform(images, &own, normalisation)
    }
}

#[cfg(test)]
mod tests;
