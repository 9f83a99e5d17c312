//! Colour jitter and grey, as torchvision defines them on float images.
//!
//! Brightness, contrast and saturation are one operation, `clamp(r x + (1 − r) base)` with the base black, the mean
//! grey of the image, or the grey of each pixel; hue turns the colour circle. A sample has them in its own random
//! order. The batch goes through four rounds: in each, every sample takes its next step, blends all at once as 3 x 3
//! matrices, and those whose turn is hue as a slice of their own, because hue costs more than the other three.

use burn::tensor::{Int, Tensor, TensorData};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::Sample;
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

/// Weights of red, green and blue in torchvision's `rgb_to_grayscale`.
pub(super) const LUMINANCE: [f32; 3] = [0.2989, 0.587, 0.114];

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

    let [n, channels, height, width] = images.dims();
    let pixels = height * width;
    let mut colours = select(images.reshape([n, channels, pixels]), &order);
    let mut start = 0;
    for turn in 0..4 {
        colours = blend(colours, &sorted, turn);
        let count = order.iter().filter(|&&i| round(i) == turn).count();
        if count > 0 {
            let turned = sorted.get(start..start + count).unwrap_or_default();
            let slice = turn_hue(colours.clone().narrow(0, start, count), turned);
            colours = colours.slice_assign([start..start + count, 0..channels, 0..pixels], slice);
            start += count;
        }
    }
    select(colours, &back).reshape([n, channels, height, width])
}

/// Takes the colour away from the samples that ask for it.
pub(super) fn grey(images: Tensor<4>, samples: &[Sample]) -> Tensor<4> {
    let [n, channels, height, width] = images.dims();
    let colours = images.reshape([n, channels, height * width]);
    let mix = |sample: &Sample| if sample.grey { (0.0, 1.0) } else { (1.0, 0.0) };
    matrices(&colours, samples, mix).matmul(colours).reshape([n, channels, height, width])
}

/// `[n, 3, 3]`: `a I + b 1 wᵀ` with the `(a, b)` of each sample and `w` the weights of the luminance. It keeps `a`
/// of a colour and adds `b` of its grey to each channel.
fn matrices(colours: &Tensor<3>, samples: &[Sample], mix: impl Fn(&Sample) -> (f32, f32)) -> Tensor<3> {
    let matrix = |sample: &Sample| {
        let (kept, grey) = mix(sample);
        (0..9)
            .map(move |at| if at % 4 == 0 { kept } else { 0.0 })
            .zip(LUMINANCE.into_iter().cycle())
            .map(move |(kept, weight)| kept + grey * weight)
    };
    let values: Vec<f32> = samples.iter().flat_map(matrix).collect();
    Tensor::from_data(TensorData::new(values, [samples.len(), 3, 3]), (&colours.device(), colours.dtype()))
}

/// The step that is not hue of each sample in one round: one product of 3 x 3 matrices with all pixels, one with the
/// mean colour of each image.
fn blend(colours: Tensor<3>, samples: &[Sample], turn: usize) -> Tensor<3> {
    let step = |sample: &Sample| {
        let change = sample.colour.as_ref()?;
        let step = change.order.get(turn).copied()?;
        let factor = match step {
            ColourStep::Brightness => change.brightness,
            ColourStep::Contrast => change.contrast,
            ColourStep::Saturation => change.saturation,
            ColourStep::Hue => return None,
        };
        Some((step, factor as f32))
    };
    let of_pixel = matrices(&colours, samples, |sample| match step(sample) {
        Some((ColourStep::Saturation, factor)) => (factor, 1.0 - factor),
        Some((_, factor)) => (factor, 0.0),
        None => (1.0, 0.0),
    });
    let of_mean = matrices(&colours, samples, |sample| match step(sample) {
        Some((ColourStep::Contrast, factor)) => (0.0, 1.0 - factor),
        _ => (0.0, 0.0),
    });
    let mean = colours.clone().mean_dim(2);
    (of_pixel.matmul(colours) + of_mean.matmul(mean)).clamp(0.0, 1.0)
}

/// Turns the hue of every sample.
fn turn_hue(colours: Tensor<3>, samples: &[Sample]) -> Tensor<3> {
    let place = (&colours.device(), colours.dtype());
    let turn = samples.iter().map(|s| s.colour.as_ref().map_or(0.0, |change| 6.0 * change.hue as f32));
    let turn = TensorData::new(turn.collect::<Vec<f32>>(), [samples.len(), 1, 1]);
    let turn = Tensor::<3>::from_data(turn, place);
    let channel = |at: usize| colours.clone().narrow(1, at, 1);
    let (red, green, blue) = (channel(0), channel(1), channel(2));
    let value = red.clone().max_pair(green.clone()).max_pair(blue.clone());
    let chroma = value.clone() - red.clone().min_pair(green.clone()).min_pair(blue.clone());
    let divisor = chroma.clone().mask_fill(chroma.clone().equal_elem(0.0), 1.0);
    let is_red = red.clone().equal(value.clone());
    let is_green = green.clone().equal(value.clone());
    // The place on the colour circle, in six sectors, counted from the channel that is largest.
    let ahead = |a: &Tensor<3>, b: &Tensor<3>| (a.clone() - b.clone()) / divisor.clone();
    let sector = ahead(&red, &green).add_scalar(4.0);
    let sector = sector.mask_where(is_green, ahead(&blue, &red).add_scalar(2.0));
    let sector = sector.mask_where(is_red, ahead(&green, &blue)) + turn;
    let sector = sector.clone() - sector.div_scalar(6.0).floor().mul_scalar(6.0);
    // How much of the chroma a channel has: red 1 at both ends of 0..6 and none from 2 to 4, green and blue 1 about
    // 2 and 4, falling to none over the second sector away.
    let constants =
        |values: [f32; 3]| Tensor::<3>::from_data(TensorData::new(values.to_vec(), [1, 3, 1]), place);
    let distance = (sector - constants([3.0, 2.0, 4.0])).abs();
    let share = (distance * constants([1.0, -1.0, -1.0]) + constants([-1.0, 2.0, 2.0])).clamp(0.0, 1.0);
    (share.sub_scalar(1.0) * chroma + value).clamp(0.0, 1.0)
}

fn select(colours: Tensor<3>, order: &[usize]) -> Tensor<3> {
    let indices: Vec<i32> = order.iter().map(|&i| i as i32).collect();
    let count = indices.len();
    let indices = Tensor::<1, Int>::from_data(TensorData::new(indices, [count]), &colours.device());
    colours.select(0, indices)
}
