//! ColorMNIST of CCL-K (Tsai et al., ICLR 2022): black digits on a coloured background. The condition is the colour.
//!
//! Two readings exist. The released generator ([`Colours::Palette`]) takes one of ten palette colours at random,
//! independently of the digit, and adds noise to it; the paper describes a continuous random colour
//! ([`Colours::Uniform`]). Both give, for a grey value `g` and a colour `c`,
//!
//! ```text
//! pixel = ⌊(255 − g) / 255 · c⌋
//! ```
//!
//! Differences from released code: images are drawn from a seed; those for testing take another seed, where
//! released code draws both without one.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::data::resize::{Interpolation, resize};
use crate::data::{Condition, Dataset, DatasetError, ImageSet, ImageShape, Images, Result};
use crate::numeric::matrix::Matrix;

/// The ten colours of the released generator, in its order (the `tab10` colours of Matplotlib).
pub const PALETTE: [[u8; 3]; 10] = [
    [31, 119, 180],
    [255, 127, 14],
    [44, 160, 44],
    [214, 39, 40],
    [148, 103, 189],
    [140, 86, 75],
    [227, 119, 194],
    [127, 127, 127],
    [188, 189, 34],
    [23, 190, 207],
];

/// The names of [`PALETTE`], in its order.
pub const PALETTE_NAMES: [&str; 10] =
    ["blue", "orange", "green", "red", "purple", "brown", "pink", "grey", "olive", "cyan"];

/// Standard deviation of the noise that the released generator adds to each channel of a palette colour.
pub const PALETTE_NOISE: f64 = 40.0;

/// The distribution of the background colour; it never depends on the digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// One of [`PALETTE`], plus `N(0, 40²)` on each channel, truncated toward zero, clipped to 0..=255: the
    /// released generator.
    #[default]
    Palette,
    /// Each channel uniform on 0..=255: the paper's "continuous random colour".
    Uniform,
}

/// Colours drawn for a number of images.
#[derive(Debug, Default)]
pub(in crate::data) struct Backgrounds {
    values: Vec<f64>,
    palette: Vec<usize>,
}

impl Backgrounds {
    /// Draws the colour of the next image.
    pub(in crate::data) fn draw(&mut self, colours: Colours, rng: &mut impl Rng) -> [u8; 3] {
        let colour = match colours {
            Colours::Uniform => std::array::from_fn(|_| rng.random_range(0..=255_u8)),
            Colours::Palette => {
                let at = rng.random_range(0..PALETTE.len() as u32) as usize;
                self.palette.push(at);
                PALETTE.get(at).copied().unwrap_or_default().map(|channel| {
                    let noise: f64 = rng.sample(StandardNormal);
                    (f64::from(channel) + (noise * PALETTE_NOISE).trunc()).clamp(0.0, 255.0) as u8
                })
            }
        };
        self.values.extend(colour.map(f64::from));
        colour
    }

    /// Adds the conditions `colour` and, for palette colours, `palette`.
    pub(in crate::data) fn condition(self, dataset: Dataset) -> Result<Dataset> {
        let mut colour = Matrix::zeros(self.values.len() / 3, 3);
        colour.data_mut().copy_from_slice(&self.values);
        let dataset = dataset.with_condition("colour", Condition::Numeric(colour.into()))?;
        if self.palette.is_empty() {
            return Ok(dataset);
        }
        let names = PALETTE_NAMES.map(String::from).to_vec();
        dataset.with_condition("palette", Condition::Categorical { values: self.palette, names })
    }
}

/// Puts grey `digits` (`[n, h, w, 1]`, 255 is ink) on coloured backgrounds and resizes them to `side` x `side` with
/// Pillow's bilinear filter (32 in the paper; 28 keeps MNIST's own size, from which released code takes its crops).
///
/// Conditions: `colour` (numeric, `[n, 3]`, 0..=255) and, for [`Colours::Palette`], `palette` (categorical). The
/// same seed gives the same images on every platform; take another seed for the test images.
///
/// # Errors
/// [`DatasetError::Shape`] for images that are not grey, [`DatasetError::Parameter`] for a side of zero.
pub fn colour_mnist(digits: &Dataset, colours: Colours, side: usize, seed: u64) -> Result<Dataset> {
    check_grey(&digits.images)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut backgrounds = Backgrounds::default();
    let grey = digits.images.in_memory()?;
    let mut pixels = Vec::with_capacity(3 * grey.pixels.len());
    for image in grey.iter() {
        let colour = backgrounds.draw(colours, &mut rng);
        pixels.extend(image.iter().flat_map(|&grey| {
            let light = f64::from(255 - grey) / 255.0;
            colour.map(|channel| (light * f64::from(channel)) as u8)
        }));
    }
    let images = Images::new(grey.height, grey.width, 3, pixels)?;
    let images = if (images.height, images.width) == (side, side) {
        images
    } else {
        resize(&images, side, side, Interpolation::Bilinear)?
    };
    backgrounds.condition(Dataset::new(images, digits.labels.clone(), digits.classes.clone())?)
}

/// Checks that all images have one channel.
pub(in crate::data) fn check_grey(images: &ImageSet) -> Result<()> {
    let ImageShape { height, width, channels } = images.shape();
    if channels == 1 {
        return Ok(());
    }
    let (expected, found) = (format!("grey: {height}x{width}x1"), format!("{height}x{width}x{channels}"));
    Err(DatasetError::Shape { origin: "the digits".into(), expected, found })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::digit_names;

    /// Grey images whose first pixel is paper, second is ink and third is half ink.
    fn grey(n: usize) -> Dataset {
        let images = Images::new(1, 3, 1, [0, 255, 128].repeat(n)).unwrap();
        Dataset::new(images, (0..n).map(|i| i % 10).collect(), digit_names()).unwrap()
    }

    fn unresized(n: usize, colours: Colours, seed: u64) -> Dataset {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut backgrounds = Backgrounds::default();
        (0..n).for_each(|_| {
            backgrounds.draw(colours, &mut rng);
        });
        backgrounds.condition(grey(n)).unwrap()
    }

    fn colours_of(dataset: &Dataset) -> Arc<Matrix> {
        dataset.conditions["colour"].to_matrix()
    }

    #[test]
    fn a_pixel_is_the_ground_times_the_light_that_the_ink_leaves() {
        let digits = {
            let images = Images::new(2, 2, 1, vec![0, 255, 128, 64]).unwrap();
            Dataset::new(images, vec![5], digit_names()).unwrap()
        };
        let dataset = colour_mnist(&digits, Colours::Uniform, 2, 3).unwrap();
        let colour = colours_of(&dataset);
        for (pixel, grey) in
            dataset.images.read(&[0]).unwrap().pixels.chunks_exact(3).zip([0.0, 255.0, 128.0, 64.0])
        {
            for (&value, &c) in pixel.iter().zip(colour.row(0)) {
                assert_eq!(f64::from(value), ((255.0 - grey) / 255.0 * c).floor());
            }
        }
        let larger = colour_mnist(&digits, Colours::Uniform, 32, 3).unwrap();
        assert_eq!(larger.images.shape(), ImageShape { height: 32, width: 32, channels: 3 });
        assert_eq!(colours_of(&larger), colour);
    }

    #[test]
    fn palette_colours_have_the_statistics_of_the_released_generator() {
        let n = 40_000;
        let dataset = unresized(n, Colours::Palette, 1);
        let Condition::Categorical { values, .. } = &dataset.conditions["palette"] else { unreachable!() };
        let colour = colours_of(&dataset);
        let mut counts = [0_usize; 10];
        values.iter().for_each(|&at| counts[at] += 1);
        // Five standard deviations of a binomial with p = 1/10.
        let bound = 5.0 * (n as f64 * 0.09).sqrt();
        assert!(counts.iter().all(|&c| (c as f64 - n as f64 / 10.0).abs() < bound), "{counts:?}");
        // Grey (127, 127, 127) is far enough from both ends that clipping hardly matters: the mean stays, and
        // truncation toward zero takes about half a unit from the deviation of 40.
        let grey: Vec<f64> =
            (0..n).filter(|&i| values[i] == 7).flat_map(|i| colour.row(i).to_vec()).collect();
        let mean = grey.iter().sum::<f64>() / grey.len() as f64;
        let deviation = (grey.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / grey.len() as f64).sqrt();
        assert!((mean - 127.0).abs() < 2.0 && (deviation - 39.6).abs() < 1.0, "{mean} {deviation}");
        // Predicting the mean colour leaves about 5450 in (0..255)² a channel (recipes: 5444).
        let spread = (0..3).map(|k| {
            let column: Vec<f64> = colour.iter_rows().map(|row| row[k]).collect();
            let mean = column.iter().sum::<f64>() / n as f64;
            column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64
        });
        let spread = spread.sum::<f64>() / 3.0;
        assert!((spread - 5450.0).abs() < 80.0, "{spread}");
    }

    #[test]
    fn uniform_colours_fill_the_cube() {
        let dataset = unresized(20_000, Colours::Uniform, 1);
        assert!(!dataset.conditions.contains_key("palette"));
        let colour = colours_of(&dataset);
        let mean = colour.data().iter().sum::<f64>() / colour.data().len() as f64;
        let spread =
            colour.data().iter().map(|v| (v - mean).powi(2)).sum::<f64>() / colour.data().len() as f64;
        assert!((mean - 127.5).abs() < 2.0 && (spread - 65535.0 / 12.0).abs() < 120.0, "{mean} {spread}");
    }

    #[test]
    fn the_seed_decides_every_pixel() {
        let make = |seed| colour_mnist(&grey(50), Colours::Palette, 4, seed).unwrap();
        assert_eq!(make(9), make(9));
        assert_ne!(make(9).images, make(10).images);
        // The first colours of seed 0. Other numbers on another platform or after an update would give other
        // images.
        let first: Vec<f64> = colours_of(&unresized(3, Colours::Palette, 0)).data().to_vec();
        assert_eq!(first, [255.0, 120.0, 204.0, 79.0, 123.0, 234.0, 188.0, 255.0, 34.0]);
    }

    #[test]
    fn coloured_images_are_refused() {
        let coloured = colour_mnist(&grey(2), Colours::Uniform, 4, 0).unwrap();
        let error = colour_mnist(&coloured, Colours::Uniform, 4, 0).unwrap_err().to_string();
        assert!(error.contains("4x4x3"), "{error}");
        assert!(colour_mnist(&grey(2), Colours::Uniform, 0, 0).is_err());
    }
}
