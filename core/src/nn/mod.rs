//! Encoders: images in, embeddings out, and the heads between an embedding and an objective.

pub mod checkpoint;
pub mod dcgan;
pub mod head;
pub mod layers;
pub mod lenet;
pub mod mlp;
mod model;
pub(crate) mod names;
pub mod resnet;
pub mod simple_conv;
pub mod vae;

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use rand::Rng;
use serde::{Deserialize, Serialize};

pub use self::model::Model;
use self::resnet::{Depth, ResNet, ResNetConfig, Stem};
use self::simple_conv::SimpleConv;
use crate::error::{Error, Result};

/// Name of a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    /// [`lenet::LeNet5`], 84 features.
    #[default]
    #[serde(rename = "lenet5")]
    LeNet5,
    /// [`resnet::ResNet`] of 18 layers, 512 features.
    #[serde(rename = "resnet18")]
    ResNet18,
    /// [`resnet::ResNet`] of 50 layers, 2048 features.
    #[serde(rename = "resnet50")]
    ResNet50,
    /// [`simple_conv::SimpleConv`] with 7×7 kernels, 128 features.
    #[serde(rename = "simple-conv")]
    SimpleConv,
    /// [`simple_conv::SimpleConv`] with 1×1 kernels, which sees colours alone.
    #[serde(rename = "simple-conv-1x1")]
    SimpleConv1x1,
    /// [`mlp::Mlp`], 100 features.
    #[serde(rename = "mlp")]
    Mlp,
    /// [`vae::VaeEncoder`], 128 features unless [`EncoderConfig::output`] says another number.
    #[serde(rename = "vae")]
    Vae,
    /// [`dcgan::Discriminator`], 4096 features of 32×32 images.
    #[serde(rename = "dcgan")]
    Dcgan,
}

impl Architecture {
    /// The name as a recipe and a checkpoint write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LeNet5 => "lenet5",
            Self::ResNet18 => "resnet18",
            Self::ResNet50 => "resnet50",
            Self::SimpleConv => "simple-conv",
            Self::SimpleConv1x1 => "simple-conv-1x1",
            Self::Mlp => "mlp",
            Self::Vae => "vae",
            Self::Dcgan => "dcgan",
        }
    }

    /// Number of features of the network for images of a side, without the layer that [`EncoderConfig::output`] adds.
    pub fn features(self, side: usize) -> usize {
        match self {
            Self::LeNet5 => lenet::EMBEDDING_SIZE,
            Self::ResNet18 => Depth::Eighteen.features(),
            Self::ResNet50 => Depth::Fifty.features(),
            Self::SimpleConv | Self::SimpleConv1x1 => simple_conv::EMBEDDING_SIZE,
            Self::Mlp => mlp::EMBEDDING_SIZE,
            Self::Vae => vae::EMBEDDING_SIZE,
            Self::Dcgan => dcgan::embedding_size(side),
        }
    }

    fn depth(self) -> Option<Depth> {
        match self {
            Self::ResNet18 => Some(Depth::Eighteen),
            Self::ResNet50 => Some(Depth::Fifty),
            _ => None,
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
    /// How a residual network begins. Default: `imagenet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stem: Option<Stem>,
    /// Width of a linear layer at the end of a residual network; none by default. Decoupled Uniformity has 2048. Of the
    /// autoencoder, the number of latents.
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

    /// Checks that the network can take such images.
    ///
    /// # Errors
    /// [`Error::Parameter`] naming `encoder.input_size` or `encoder.channels`.
    pub fn validate(&self) -> Result<()> {
        let is_residual = self.name.depth().is_some();
        let refuse = |name, value: &dyn std::fmt::Display, reason: &str| {
            Err(Error::parameter(name, value.to_string(), reason))
        };
        match (self.stem, self.output) {
            (Some(_), _) if !is_residual => {
                return refuse("encoder.stem", &"given", "expected none, only a resnet has one");
            }
            (_, Some(output)) if !is_residual && self.name != Architecture::Vae => {
                return refuse("encoder.output", &output, "expected none, only a resnet or a vae has one");
            }
            (_, Some(output)) if !(1..=WIDEST).contains(&output) => {
                return refuse("encoder.output", &output, "expected 1 to 65536");
            }
            _ => {}
        }
        if !(1..=MOST_CHANNELS).contains(&self.channels) {
            return refuse("encoder.channels", &self.channels, "expected 1 to 64");
        }
        match self.name {
            Architecture::LeNet5 if self.input_size != lenet::INPUT_SIZE => {
                refuse("encoder.input_size", &self.input_size, "lenet5 takes 32")
            }
            _ if !(SMALLEST_SIDE..=LARGEST_SIDE).contains(&self.input_size) => {
                refuse("encoder.input_size", &self.input_size, "expected 8 to 4096")
            }
            Architecture::Dcgan if !dcgan::SIDES.contains(&self.input_size) => {
                refuse("encoder.input_size", &self.input_size, "a dcgan takes 16, 32, 64 or 128")
            }
            // Their first, or last, linear layer grows with the area.
            Architecture::Mlp | Architecture::Vae if self.input_size > LARGEST_FLAT_SIDE => {
                refuse("encoder.input_size", &self.input_size, "a mlp or a vae takes 8 to 256")
            }
            _ => Ok(()),
        }
    }

    /// Numbers in the layers that grow with the settings, and in those of a residual network: no more than the network has.
    /// What comes out of a file is compared with them before a network is made that the file cannot fill.
    pub(crate) fn least_numbers(&self) -> u64 {
        let [side, channels, features] =
            [self.input_size, self.channels, self.embedding_size()].map(|number| number as u64);
        let output = self.output.map_or(0, |output| output as u64);
        match self.name {
            Architecture::LeNet5 => 150 * channels,
            Architecture::ResNet18 => 11_000_000 + output * Depth::Eighteen.features() as u64,
            Architecture::ResNet50 => 23_000_000 + output * Depth::Fifty.features() as u64,
            Architecture::SimpleConv => 784 * channels,
            Architecture::SimpleConv1x1 => 16 * channels,
            Architecture::Mlp => channels * side * side * mlp::EMBEDDING_SIZE as u64,
            Architecture::Vae => 2 * features * vae::flattened(self.input_size) as u64,
            // The last convolution has four thirds of all numbers.
            Architecture::Dcgan => features * features / 32,
        }
    }

    /// A network initialised as PyTorch does, from the caller's generator. On an autodiff device it is ready to train.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init(&self, device: &Device, rng: &mut impl Rng) -> Result<Encoder> {
        self.validate()?;
        let (channels, output) = (self.channels, self.output);
        let stem = self.stem.unwrap_or_default();
        let residual = |depth, rng| ResNet::new(&ResNetConfig { depth, stem, channels, output }, device, rng);
        Ok(match self.name {
            Architecture::LeNet5 => Encoder::LeNet5(lenet::LeNet5::new(channels, device, rng)),
            Architecture::ResNet18 => Encoder::ResNet(residual(Depth::Eighteen, rng)),
            Architecture::ResNet50 => Encoder::ResNet(residual(Depth::Fifty, rng)),
            Architecture::SimpleConv => Encoder::SimpleConv(SimpleConv::new(channels, 7, device, rng)),
            Architecture::SimpleConv1x1 => Encoder::SimpleConv(SimpleConv::new(channels, 1, device, rng)),
            Architecture::Mlp => {
                let values = channels * self.input_size * self.input_size;
                Encoder::Mlp(mlp::Mlp::new(values, device, rng))
            }
            Architecture::Vae => {
                let latents = self.embedding_size();
                Encoder::Vae(vae::VaeEncoder::new(channels, self.input_size, latents, device, rng))
            }
            Architecture::Dcgan => {
                Encoder::Dcgan(dcgan::Discriminator::new(channels, self.input_size, device, rng))
            }
        })
    }
}

/// More than any camera has; a limit, because a checkpoint's header decides how much memory is asked for.
const MOST_CHANNELS: usize = 64;
/// More than any layer of the literature has, for the same reason.
const WIDEST: usize = 65_536;
/// Below this nothing is left after the strides of a residual network.
const SMALLEST_SIDE: usize = 8;
const LARGEST_SIDE: usize = 4096;
const LARGEST_FLAT_SIDE: usize = 256;

/// A network that maps images to embeddings.
#[derive(Module, Debug)]
pub enum Encoder {
    /// LeNet-5.
    LeNet5(lenet::LeNet5),
    /// A residual network.
    ResNet(ResNet),
    /// The network of BiasedMNIST.
    SimpleConv(SimpleConv),
    /// Three layers on the pixels.
    Mlp(mlp::Mlp),
    /// The half of an autoencoder that makes codes.
    Vae(vae::VaeEncoder),
    /// The half of adversarial networks that tells images apart.
    Dcgan(dcgan::Discriminator),
}

impl Encoder {
    /// Images `[n, channels, size, size]` to embeddings `[n, embedding_size]`.
    ///
    /// Layers with two behaviours (batch norm) follow the module and the device of the images: see
    /// [`layers::BatchNorm`].
    /// Images in half precision are computed in it, and their embeddings are `f32`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let embedding = match self {
            Self::LeNet5(network) => network.forward(images),
            Self::ResNet(network) => network.forward(images),
            Self::SimpleConv(network) => network.forward(images),
            Self::Mlp(network) => network.forward(images),
            Self::Vae(network) => network.forward(images),
            Self::Dcgan(network) => network.forward(images),
        };
        if layers::is_half(embedding.dtype()) { embedding.cast(DType::F32) } else { embedding }
    }
}
