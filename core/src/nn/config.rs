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

/// Four times as wide as the widest of SimCLR, for the same reason.
const MOST_WIDTH: usize = 1024;

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
    /// Channels of the input, 1 to 64. Default: 3.
    #[serde(default = "default_channels")]
    pub channels: usize,
    /// The first layers of a residual network. Default: `imagenet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stem: Option<Stem>,
    /// Channels of the first stage of a residual network, 1 to 1024; the others have 2, 4 and 8 times as many. Default: 64, as in
    /// the paper; 128 and 256 are the networks "2×" and "4×" of SimCLR, and fewer train sooner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<usize>,
    /// Width of a linear layer at the end of a residual network, 1 to 65,536; none by default. Decoupled Uniformity has 2048.
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
            width: None,
            output: None,
        }
    }
}

impl EncoderConfig {
    /// Number of features of the embedding.
    pub fn embedding_size(&self) -> usize {
        self.output.unwrap_or_else(|| self.features())
    }

    /// Checks that the network supports images of this size and number of channels.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming the key.
    pub fn validate(&self) -> Result<()> {
        let refuse =
            |key, value: &dyn Display, reason: &str| Err(Error::parameter(key, value.to_string(), reason));
        if self.stem.is_some() && !self.name.has_stem() {
            return refuse("encoder.stem", &"given", &only(Architecture::has_stem));
        }
        if let Some(width) = self.width {
            if !self.name.has_width() {
                return refuse("encoder.width", &width, &only(Architecture::has_width));
            }
            if !(1..=MOST_WIDTH).contains(&width) {
                return refuse("encoder.width", &width, "expected 1 to 1024");
            }
        }
        if let Some(output) = self.output {
            if !self.name.has_output() {
                return refuse("encoder.output", &output, &only(Architecture::has_output));
            }
            if !(1..=WIDEST).contains(&output) {
                return refuse("encoder.output", &output, "expected 1 to 65536");
            }
        }
        if !(1..=MOST_CHANNELS).contains(&self.channels) {
            return refuse("encoder.channels", &self.channels, "expected 1 to 64");
        }
        match self.name.check_side(self.input_size) {
            Ok(()) => Ok(()),
            Err(reason) => refuse("encoder.input_size", &self.input_size, &reason),
        }
    }

    /// Checks that images, `[n, channels, height, width]`, are of the size that the network takes. `name` is that of the input in
    /// the message.
    ///
    /// # Errors
    /// [`Error::Shape`] with both shapes.
    pub fn check_images(&self, name: &str, shape: [usize; 4]) -> Result<()> {
        let expected = [shape[0], self.channels, self.input_size, self.input_size];
        if shape == expected {
            return Ok(());
        }
        Err(Error::shape(name, format!("shape {expected:?}"), format!("shape {shape:?}")))
    }

    fn settings(&self) -> Settings {
        let Self { input_size: side, channels, stem, width, output, .. } = *self;
        Settings { side, channels, stem, width, output }
    }

    /// Number of features before the layer that `output` adds.
    fn features(&self) -> usize {
        self.name.features(&self.settings())
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

    /// A lower bound of the number of parameters: those of the layers that grow with the settings, and all of a residual
    /// network. A file is compared with it before memory is allocated for a network that the file
    /// cannot fill.
    pub(crate) fn min_parameters(&self) -> u64 {
        self.name.min_parameters(&self.settings())
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
        let sizes = |config: &Self| {
            (config.name, config.input_size, config.channels, config.features(), config.embedding_size())
        };
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn images_of_another_size_are_refused_by_their_name() {
        let config = EncoderConfig::default();
        assert_eq!(config.check_images("view_a", [7, 3, 32, 32]), Ok(()));
        for shape in [[7, 3, 28, 28], [7, 3, 32, 28], [7, 1, 32, 32]] {
            let error = config.check_images("view_a", shape).unwrap_err().to_string();
            assert!(error.contains("`view_a`") && error.contains("[7, 3, 32, 32]"), "{error}");
            assert!(error.contains(&format!("{shape:?}")), "{error}");
        }
    }

    #[test]
    fn a_width_belongs_to_a_residual_network_and_decides_its_features() {
        let of = |name, width| EncoderConfig { name, width, ..EncoderConfig::default() };
        let features = |name, width| of(name, width).embedding_size();
        assert_eq!(
            [None, Some(64), Some(5)].map(|width| features(Architecture::ResNet18, width)),
            [512, 512, 40]
        );
        assert_eq!(features(Architecture::ResNet50, Some(128)), 4096);
        let refused = |name, width| of(name, Some(width)).validate().unwrap_err().to_string();
        for width in [0, 1025] {
            let error = refused(Architecture::ResNet34, width);
            assert!(error.contains("encoder.width") && error.contains("1 to 1024"), "{error}");
        }
        let error = refused(Architecture::LeNet5, 64);
        assert!(error.contains("encoder.width") && error.contains("only a resnet has one"), "{error}");
        assert_eq!(of(Architecture::ResNet101, Some(1024)).validate(), Ok(()));
    }
}
