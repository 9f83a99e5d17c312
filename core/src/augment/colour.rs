//! Colour jitter, as torchvision defines it on float images.
//!
//! Brightness, contrast and saturation are one operation, `clamp(r x + (1 − r) base)` with the base black, the mean
//! grey of the image, or the grey of each pixel; hue turns the colour circle. Each sample has its own random order
//! of these steps.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use simile_kernels::Colour;

use crate::error::{Result, within};

/// Parameters of a colour jitter, as torchvision's `RandomApply([ColorJitter(...)], probability)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ColourJitter {
    /// The brightness factor is uniform on `max(0, 1 − b) ..= 1 + b`, with `b` from 0 to 10. Default: `0.4`.
    pub brightness: f64,
    /// The contrast factor, likewise. Default: `0.4`.
    pub contrast: f64,
    /// The saturation factor, likewise. Default: `0.4`.
    pub saturation: f64,
    /// The hue turns by `−h ..= h` of the whole circle, at most `0.5`. Default: `0.1`.
    pub hue: f64,
    /// Probability of a change. Default: `0.8`.
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
    /// The steps in their order, each with its factor.
    pub(super) fn steps(&self) -> [Colour; 4] {
        self.order.map(|step| match step {
            ColourStep::Brightness => Colour::Brightness(self.brightness as f32),
            ColourStep::Contrast => Colour::Contrast(self.contrast as f32),
            ColourStep::Saturation => Colour::Saturation(self.saturation as f32),
            ColourStep::Hue => Colour::Hue(self.hue as f32),
        })
    }
}
