//! Colour jitter and grey, as torchvision defines them on float images.
//!
//! Brightness, contrast and saturation are one operation, `clamp(r x + (1 − r) base)` with the base black, the mean
//! grey of the image, or the grey of each pixel; hue turns the colour circle. A sample has them in its own random
//! order. The batch goes through four rounds: in each, every sample takes its next step, blends all at once, and
//! those whose turn is hue as a slice of their own, because hue costs more than the other three together.

use burn::tensor::{Int, Tensor, TensorData};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::{Sample, per_sample};
use crate::error::{Result, within};

/// Parameters of a colour jitter, as torchvision's `RandomApply([ColorJitter(...)], probability)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ColourJitter {
    /// The brightness factor is uniform on `max(0, 1 − b) ..= 1 + b`. Default: `0.4`.
    pub brightness: f64,
    /// The contrast factor, likewise. Default: `0.4`.
    pub contrast: f64,
    /// The saturation factor, likewise. Default: `0.4`.
    pub saturation: f64,
    /// The hue turns by `−h ..= h` of the whole circle, at most `0.5`. Default: `0.1`.
    pub hue: f64,
    /// Probability of any change at all. Default: `0.8`.
    pub probability: f64,
}

impl Default for ColourJitter {
    fn default() -> Self {
        Self { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1, probability: 0.8 }
    }
}

/// One step of a change of colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColourStep {
    /// Towards black.
    Brightness,
    /// Towards the mean grey of the image.
    Contrast,
    /// Towards the grey of each pixel.
    Saturation,
    /// Round the colour circle.
    Hue,
}

/// The change of colour drawn for one sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColourChange {
    /// Factor of the brightness; 1 changes nothing.
    pub brightness: f64,
    /// Factor of the contrast; 1 changes nothing.
    pub contrast: f64,
    /// Factor of the saturation; 1 changes nothing.
    pub saturation: f64,
    /// Turn of the hue, a part of the circle; 0 changes nothing.
    pub hue: f64,
    /// The order of the steps.
    pub order: [ColourStep; 4],
}

impl ColourJitter {
    pub(super) fn validate(&self) -> Result<()> {
        for (name, value) in [
            ("jitter.brightness", self.brightness),
            ("jitter.contrast", self.contrast),
            ("jitter.saturation", self.saturation),
        ] {
            within(name, value, 0.0, 10.0)?;
        }
        within("jitter.hue", self.hue, 0.0, 0.5)?;
        within("jitter.probability", self.probability, 0.0, 1.0)?;
        Ok(())
    }

    /// Draws a change, or none.
    pub(super) fn draw(&self, rng: &mut impl Rng) -> Option<ColourChange> {
        if !rng.random_bool(self.probability) {
            return None;
        }
        let mut order =
            [ColourStep::Brightness, ColourStep::Contrast, ColourStep::Saturation, ColourStep::Hue];
        order.shuffle(rng);
        let mut factor = |strength: f64| rng.random_range((1.0 - strength).max(0.0)..=1.0 + strength);
        let (brightness, contrast, saturation) =
            (factor(self.brightness), factor(self.contrast), factor(self.saturation));
        Some(ColourChange {
            brightness,
            contrast,
            saturation,
            hue: rng.random_range(-self.hue..=self.hue),
            order,
        })
    }
}

impl ColourChange {
    /// The round in which hue has its turn.
    fn hue_round(&self) -> usize {
        self.order.iter().position(|&step| step == ColourStep::Hue).unwrap_or(self.order.len())
    }
}

/// Changes the colours of each sample.
pub(super) fn change(images: Tensor<4>, samples: &[Sample]) -> Tensor<4> {
    // Samples whose hue turns in the same round lie side by side: a slice instead of a gather in each round.
    let round =
        |i: usize| samples.get(i).and_then(|s| s.colour.as_ref()).map_or(usize::MAX, ColourChange::hue_round);
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by_key(|&i| round(i));
    let sorted: Vec<Sample> = order.iter().filter_map(|&i| samples.get(i).cloned()).collect();
    let mut back: Vec<usize> = (0..order.len()).collect();
    back.sort_by_key(|&i| order.get(i));

    let mut images = select(images, &order);
    let mut start = 0;
    for turn in 0..4 {
        images = blend(images, &sorted, turn);
        let count = order.iter().filter(|&&i| round(i) == turn).count();
        if count > 0 {
            let turned = sorted.get(start..start + count).unwrap_or_default();
            let slice = turn_hue(images.clone().narrow(0, start, count), turned);
            let [_, channels, height, width] = images.dims();
            images = images.slice_assign([start..start + count, 0..channels, 0..height, 0..width], slice);
            start += count;
        }
    }
    select(images, &back)
}

/// Takes the colour away from the samples that ask for it.
pub(super) fn grey(images: Tensor<4>, samples: &[Sample]) -> Tensor<4> {
    let taken = per_sample(&images, samples, |sample| f32::from(u8::from(sample.grey)));
    let kept = taken.clone().neg().add_scalar(1.0);
    images.clone() * kept + luminance(&images) * taken
}

/// `[n, 1, h, w]`: the weights of torchvision's `rgb_to_grayscale`.
fn luminance(images: &Tensor<4>) -> Tensor<4> {
    let channel = |at: usize, weight: f64| images.clone().narrow(1, at, 1).mul_scalar(weight);
    channel(0, 0.2989) + channel(1, 0.587) + channel(2, 0.114)
}

/// The step that is not hue of each sample in one round.
fn blend(images: Tensor<4>, samples: &[Sample], turn: usize) -> Tensor<4> {
    let factor = |sample: &Sample, wanted: Option<ColourStep>| {
        let change = sample.colour.as_ref()?;
        let step = change.order.get(turn).copied()?;
        let factor = match step {
            ColourStep::Brightness => change.brightness,
            ColourStep::Contrast => change.contrast,
            ColourStep::Saturation => change.saturation,
            ColourStep::Hue => 1.0,
        };
        (wanted.is_none() || wanted == Some(step)).then_some(factor as f32)
    };
    let kept = per_sample(&images, samples, |s| factor(s, None).unwrap_or(1.0));
    let flat = per_sample(&images, samples, |s| 1.0 - factor(s, Some(ColourStep::Contrast)).unwrap_or(1.0));
    let dull = per_sample(&images, samples, |s| 1.0 - factor(s, Some(ColourStep::Saturation)).unwrap_or(1.0));
    let grey = luminance(&images);
    let mean = grey.clone().mean_dims(&[2, 3]);
    (images * kept + (grey * dull + mean * flat)).clamp(0.0, 1.0)
}

/// Turns the hue of every sample.
fn turn_hue(images: Tensor<4>, samples: &[Sample]) -> Tensor<4> {
    let turn = per_sample(&images, samples, |s| s.colour.as_ref().map_or(0.0, |change| change.hue as f32));
    let channel = |at: usize| images.clone().narrow(1, at, 1);
    let value = images.clone().max_dim(1);
    let chroma = value.clone() - images.clone().min_dim(1);
    let grey = chroma.clone().equal_elem(0.0);
    let divisor = chroma.clone().mask_fill(grey, 1.0);
    // Distance of each channel from the largest, in units of the chroma.
    let below = |at: usize| (value.clone() - channel(at)) / divisor.clone();
    let (red, green, blue) = (below(0), below(1), below(2));
    let is_green = channel(1).equal(value.clone());
    let is_red = channel(0).equal(value.clone());
    let sector = (green.clone() - red.clone()).add_scalar(4.0);
    let sector = sector.mask_where(is_green, (red - blue.clone()).add_scalar(2.0));
    let sector = sector.mask_where(is_red, blue - green);
    // Six sectors round the circle; a channel falls by the chroma over one of them, stays for two, and rises again.
    let sector = sector + turn.mul_scalar(6.0);
    let offsets = TensorData::new(vec![5.0_f32, 3.0, 1.0], [1, 3, 1, 1]);
    let offsets = Tensor::<4>::from_data(offsets, (&images.device(), images.dtype()));
    let position = sector.add_scalar(12.0) + offsets;
    let position = position.clone() - position.div_scalar(6.0).floor().mul_scalar(6.0);
    let fall = position.clone().min_pair(position.neg().add_scalar(4.0)).clamp(0.0, 1.0);
    (value - chroma * fall).clamp(0.0, 1.0)
}

fn select(images: Tensor<4>, order: &[usize]) -> Tensor<4> {
    let indices: Vec<i32> = order.iter().map(|&i| i as i32).collect();
    let count = indices.len();
    let indices = Tensor::<1, Int>::from_data(TensorData::new(indices, [count]), &images.device());
    images.select(0, indices)
}
