//! The values of the keys of `[data]` for every data set, except its name.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use simile_core::augment::Normalisation;

/// The handling of a picture that cannot be read, or of a row without a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Broken {
    /// End with an error that names it
    #[default]
    Refuse,
    /// Name it and go on without it
    Skip,
}

impl Broken {
    /// True if the run is refused.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(in crate::data) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The conversion of a picture to a square.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fit {
    /// Its middle, resized.
    #[default]
    Middle,
    /// All of it, squeezed.
    Whole,
    /// All of it, squeezed, with its shape beside it: random crops are drawn in the shape of the picture, as torchvision's
    /// `RandomResizedCrop` draws them, and other views and evaluation see its middle, as after `Resize` and `CenterCrop`. The
    /// longer side has as many pixels as the shorter one.
    Aspect,
    /// As `Aspect` in random crops, and as `Whole` in evaluation.
    Crops,
}

impl Fit {
    /// True if the shape of a picture is kept beside its square.
    pub(in crate::data) fn keeps_shape(self) -> bool {
        matches!(self, Self::Aspect | Self::Crops)
    }
}

/// `data.centre_crop`: the middle of a picture that evaluation sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`centre_crop` is true, false, or the side in pixels to which evaluation resizes a picture before it takes its middle"
)]
pub(crate) enum CentreCrop {
    /// True for the middle of a picture of `data.side`; false for all of it, resized.
    OfStored(bool),
    /// The middle of a picture that is resized to this side.
    Of(usize),
}

impl Default for CentreCrop {
    fn default() -> Self {
        Self::OfStored(false)
    }
}

/// The split on which a representation is evaluated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum JudgedBy {
    #[default]
    Test,
    /// The official validation split, as in work that reports on it.
    Validation,
}

/// `[data.features]`: features of another network as an attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeaturesSection {
    /// A `.npy` or `.safetensors` file in the data folder, one row per picture.
    pub(crate) file: PathBuf,
    /// A text file in the data folder with the path of the picture of each row.
    pub(crate) paths: PathBuf,
    /// Name of the attribute.
    #[serde(default = "features_name")]
    pub(crate) name: String,
}

fn features_name() -> String {
    "features".into()
}

/// `[data.attributes]`: adds an attribute `attributes` of synthetic binary attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AttributesSection {
    /// The values that they encode: `class`, or a categorical attribute of the data set.
    pub(crate) of: String,
    pub(crate) count: usize,
    /// Fraction of flipped attributes, 0 to 0.5.
    pub(crate) noise: f64,
    /// Seed of the attributes of each value.
    pub(crate) seed: u64,
}

impl Default for AttributesSection {
    fn default() -> Self {
        Self { of: "class".into(), count: 32, noise: 0.1, seed: 0 }
    }
}

/// `data.normalise`: the published constants of a data set by name, or a mean and deviation for each channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`normalise` is a name, such as \"cifar-10\", or { mean = [...], std = [...] }"
)]
pub(crate) enum Normalise {
    /// A name of [`sets::constants`](crate::data::sets::constants).
    Named(String),
    /// One value a channel each, of pixels from 0 to 1.
    Own(Normalisation),
}
