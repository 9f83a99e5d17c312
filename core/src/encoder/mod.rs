//! Encoders: images in, embeddings out, and the heads between an embedding and an objective.

pub mod head;
pub mod layers;
pub mod lenet;
pub(crate) mod names;
mod tanh;

pub(crate) use tanh::is_host;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Gradients, Tensor};
use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Name of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    /// [`lenet::LeNet5`], 84 features.
    #[default]
    #[serde(rename = "lenet5")]
    LeNet5,
}

impl Architecture {
    /// The name as a recipe and a checkpoint write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LeNet5 => "lenet5",
        }
    }

    /// Number of features of the embedding.
    pub fn embedding_size(self) -> usize {
        match self {
            Self::LeNet5 => lenet::EMBEDDING_SIZE,
        }
    }
}

/// Settings of an encoder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// Which network. Default: `lenet5`.
    #[serde(default)]
    pub name: Architecture,
    /// Side of the square input in pixels. Default: 32.
    #[serde(default = "default_input_size")]
    pub input_size: usize,
    /// Channels of the input. Default: 3.
    #[serde(default = "default_channels")]
    pub channels: usize,
}

fn default_input_size() -> usize {
    lenet::INPUT_SIZE
}

fn default_channels() -> usize {
    3
}

impl Default for EncoderConfig {
    fn default() -> Self {
        Self { name: Architecture::default(), input_size: default_input_size(), channels: default_channels() }
    }
}

impl EncoderConfig {
    /// Number of features of the embedding.
    pub fn embedding_size(&self) -> usize {
        self.name.embedding_size()
    }

    /// Checks that the network can take such images.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming `encoder.input_size` or `encoder.channels`.
    pub fn validate(&self) -> Result<()> {
        match self.name {
            Architecture::LeNet5 if self.input_size != lenet::INPUT_SIZE => {
                Err(Error::parameter("encoder.input_size", self.input_size, "lenet5 takes 32"))
            }
            _ if !(1..=MOST_CHANNELS).contains(&self.channels) => {
                Err(Error::parameter("encoder.channels", self.channels, "expected 1 to 64"))
            }
            _ => Ok(()),
        }
    }

    /// A network initialised as PyTorch does, from the caller's generator. On an autodiff device it is ready to train.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init(&self, device: &Device, rng: &mut impl Rng) -> Result<Encoder> {
        self.validate()?;
        Ok(match self.name {
            Architecture::LeNet5 => Encoder::LeNet5(lenet::LeNet5::new(self.channels, device, rng)),
        })
    }
}

/// More than any camera has; a limit, because a checkpoint's header decides how much memory is asked for.
const MOST_CHANNELS: usize = 64;

/// A network that maps images to embeddings.
#[derive(Module, Debug)]
pub enum Encoder {
    /// LeNet-5.
    LeNet5(lenet::LeNet5),
}

impl Encoder {
    /// Images `[n, channels, size, size]` to embeddings `[n, embedding_size]`.
    ///
    /// Layers with two behaviours (batch norm) follow the module and the device of the images: see
    /// [`layers::BatchNorm`].
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        match self {
            Self::LeNet5(network) => network.forward(images),
        }
    }

    /// As [`forward`](Self::forward) for one training step on the device's fastest path: after `backward`, the
    /// gradients of the parameters come from [`Recording::finish`].
    pub fn record(&self, images: Tensor<4>) -> Recording {
        match self {
            Self::LeNet5(network) => {
                let (embedding, tape) = network.record(images);
                Recording { embedding, tape }
            }
        }
    }
}

/// An embedding on its way through a training step.
#[derive(Debug)]
pub struct Recording {
    /// `[n, embedding_size]`, a node of the autodiff graph.
    pub embedding: Tensor<2>,
    tape: Option<lenet::Tape>,
}

impl Recording {
    /// Adds to `parameters`, which holds what autodiff found, the gradients of those parameters of the encoder that
    /// autodiff does not know of. Without it they would not be trained.
    pub fn finish(self, gradients: &mut Gradients, parameters: &mut GradientsParams) {
        if let Some(tape) = self.tape {
            tape.finish(gradients, parameters);
        }
    }
}
