//! `[encoder]`: the network and its settings.

use std::fmt::Display;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::activations::Activations;
use super::architecture::{Architecture, Encoder};
use super::design::{Settings, Stem};
use super::initial::InitialValues;
use super::lenet;
use super::operations::Operation;
use super::work::Work;
use crate::error::{Error, Result};

/// More than any camera has; a limit, because a checkpoint's header determines how much memory is allocated.
const MOST_CHANNELS: usize = 64;
/// More than any layer of the literature, for the same reason.
const WIDEST: usize = 65_536;

/// Settings of an encoder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// The network. Default: `lenet5`.
    #[serde(default)]
    pub name: Architecture,
    /// Side of the square input in pixels. Default: 32.
    #[serde(default = "default_input_size")]
    pub input_size: usize,
    /// Channels of the input. Default: 3.
    #[serde(default = "default_channels")]
    pub channels: usize,
    /// The first layers of a residual network. Default: `imagenet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stem: Option<Stem>,
    /// Width of a linear layer at the end of a residual network; none by default. Decoupled Uniformity has 2048.
    /// For the autoencoder it is the number of latents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<usize>,
}

fn default_input_size() -> usize {
    lenet::INPUT_SIZE
}

fn default_channels() -> usize {
    3
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self {
            name: Architecture::default(),
            input_size: default_input_size(),
            channels: default_channels(),
            stem: None,
            output: None,
        }
    }
}

impl EncoderConfig {
    /// Number of features of the embedding.
    pub fn embedding_size(&self) -> usize {
        self.output.unwrap_or_else(|| self.name.features(self.input_size))
    }

    /// Checks that the network supports images of this size and number of channels.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming the key.
    pub fn validate(&self) -> Result<()> {
        let refuse =
            |key, value: &dyn Display, reason: &str| Err(Error::parameter(key, value.to_string(), reason));
        match (self.stem, self.output) {
            (Some(_), _) if !self.name.has_stem() => {
                return refuse("encoder.stem", &"given", &only(Architecture::has_stem));
            }
            (_, Some(output)) if !self.name.has_output() => {
                return refuse("encoder.output", &output, &only(Architecture::has_output));
            }
            (_, Some(output)) if !(1..=WIDEST).contains(&output) => {
                return refuse("encoder.output", &output, "expected 1 to 65536");
            }
            _ => {}
        }
        if !(1..=MOST_CHANNELS).contains(&self.channels) {
            return refuse("encoder.channels", &self.channels, "expected 1 to 64");
        }
        match self.name.check_side(self.input_size) {
            Ok(()) => Ok(()),
            Err(reason) => refuse("encoder.input_size", &self.input_size, &reason),
        }
    }

    fn settings(&self) -> Settings {
        let Self { input_size: side, channels, stem, output, .. } = *self;
        Settings { side, channels, stem, output }
    }

    /// Shape and values of a tensor that was learned for images of another side, for those of these settings; none if it fits
    /// images of any side, or these already.
    pub(crate) fn for_side(
        &self,
        name: &str,
        shape: &[usize],
        values: &[f32],
    ) -> Option<(Vec<usize>, Vec<f32>)> {
        self.name.for_side(&self.settings(), name, shape, values)
    }

    /// A lower bound of the number of values of the network: those of the layers that grow with the settings, and
    /// of a residual network. A file is compared with it before memory is allocated for a network that the file
    /// cannot fill.
    pub(crate) fn least_numbers(&self) -> u64 {
        self.name.least_numbers(&self.settings())
    }

    /// The numbers of one image that a training step keeps on its device, those of the head aside.
    pub fn activations(&self) -> Activations {
        self.name.activations(&self.settings())
    }

    /// The forward pass of one image, that of the head aside.
    pub fn work(&self) -> Work {
        self.name.work(&self.settings())
    }

    /// The layers in evaluation, from images to embeddings, as operations on the tensors of a checkpoint.
    pub fn operations(&self) -> Vec<Operation> {
        self.name.operations(&self.settings())
    }

    /// True if both are settings of the same layers, whether a default is written or left out.
    pub(crate) fn has_layers_of(&self, other: &Self) -> bool {
        let sizes =
            |config: &Self| (config.name, config.input_size, config.channels, config.embedding_size());
        sizes(self) == sizes(other) && self.operations() == other.operations()
    }

    /// A network with PyTorch's initialisation, from the caller's generator. On an autodiff device it is ready to
    /// train.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init(&self, device: &Device, initial: &mut impl InitialValues) -> Result<Encoder> {
        self.validate()?;
        Ok(self.name.init(&self.settings(), device, initial))
    }
}

/// `expected none, only a resnet or a vae has one`.
fn only(has: fn(Architecture) -> bool) -> String {
    let mut families: Vec<String> = Architecture::ALL
        .iter()
        .filter(|name| has(**name))
        .map(|name| format!("a {}", name.family()))
        .collect();
    families.dedup();
    format!("expected none, only {} has one", families.join(" or "))
}
