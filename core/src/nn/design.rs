//! The description of a network, independent of its weights. A new network is a file with its layers and a [`Design`], its
//! PyTorch source beside it, and a line in the table of `architecture`.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::activations::Activations;
use super::gradient_sections::Section;
use super::initial::InitialValues;
use super::norm_steps::Segments;
use super::operations::Operation;
use super::work::{Window, Work};

/// Below this side nothing is left after the strides of a residual network.
const SMALLEST_SIDE: usize = 8;
const LARGEST_SIDE: usize = 4096;
const LARGEST_FLAT_SIDE: usize = 256;

/// Shapes of tensors by name, without the prefix of the network.
pub(crate) type Shapes<'a> = BTreeMap<&'a str, &'a [usize]>;

/// The first layers of a residual network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stem {
    /// 7×7 at stride 2, then a 3×3 maximum at stride 2: images of 224 pixels.
    #[default]
    Imagenet,
    /// 3×3 at stride 1 and no pool: images of 32 pixels (CCL-K, difficulty-based, and ConTeX's `resnet50t4`). ConTeX's `resnet50` has
    /// the ImageNet stem on CIFAR too; which of the two its tables have is not stated.
    Cifar,
    /// The same with a padding of 2, as Decoupled Uniformity released it.
    CifarPadded,
}

impl Stem {
    /// The windows of the first convolution.
    pub(super) fn window(self) -> Window {
        match self {
            Self::Imagenet => Window { kernel: 7, stride: 2, padding: 3 },
            Self::Cifar => Window { kernel: 3, stride: 1, padding: 1 },
            Self::CifarPadded => Window { kernel: 3, stride: 1, padding: 2 },
        }
    }
}

/// The settings that a network is made with, which were checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// Side of the square input in pixels.
    pub(crate) side: usize,
    /// Channels of the input.
    pub(crate) channels: usize,
    pub(crate) stem: Option<Stem>,
    /// Channels of the first stage, where the network has one of any width.
    pub(crate) width: Option<usize>,
    /// Width of the last layer, where the network has one of any width.
    pub(crate) output: Option<usize>,
}

/// A network: its name, its input, its construction, and the recognition of its tensors.
pub(crate) trait Design {
    /// Its layers, with `forward` from images `[n, channels, side, side]` to embeddings `[n, features]`.
    type Network: Module;

    /// As recipes and checkpoints write it.
    const NAME: &'static str;
    /// Its title in the book, a few words.
    const TITLE: &'static str;
    /// The kind of network that messages speak of.
    const FAMILY: &'static str = Self::NAME;
    /// True if it begins with a [`Stem`].
    const HAS_STEM: bool = false;
    /// True if `encoder.width` sets the channels of its stages.
    const HAS_WIDTH: bool = false;
    /// True if `encoder.output` sets the width of its last layer.
    const HAS_OUTPUT: bool = false;
    /// True if it can compute in 16-bit floats.
    const COMPUTES_IN_HALF: bool = true;
    /// The class `Network` in PyTorch, of the constants `ENCODER` and `SIDE` that stand before it.
    const PYTORCH: &'static str;

    /// Parts of tensor names in another program, with those here. They are replaced in this order in a file that has the first.
    const ALSO_NAMED: &'static [(&'static str, &'static str)] = &[];

    /// Its layers in steps between batch norms, from images to maps of one place; none if it cannot be taken in steps.
    const SEGMENTS: Option<Segments<Self::Network>> = None;

    /// Number of features, where `encoder.output` says nothing.
    fn features(settings: &Settings) -> usize;

    /// A network initialised as PyTorch does.
    fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> Self::Network;

    /// A lower bound of the number of parameters: those of the layers that grow with the settings.
    fn min_parameters(settings: &Settings) -> u64;

    /// The numbers of one image that a training step keeps on its device.
    fn activations(settings: &Settings) -> Activations;

    /// The forward pass of one image.
    fn work(settings: &Settings) -> Work;

    /// Its layers in evaluation, from images to embeddings.
    fn operations(settings: &Settings) -> Vec<Operation>;

    /// Its layers in sections, from images to maps of one place; none if it is one section.
    fn sections(_network: &Self::Network) -> Option<Vec<Section<'_>>> {
        None
    }

    /// True if tensors of these shapes belong to it.
    fn recognises(shapes: &Shapes<'_>) -> bool;

    /// Shape and values of a tensor whose values were learned for images of another side, for these images. None for others.
    fn for_side(
        _settings: &Settings,
        _name: &str,
        _shape: &[usize],
        _values: &[f32],
    ) -> Option<(Vec<usize>, Vec<f32>)> {
        None
    }

    /// Checks that it supports images of a side.
    ///
    /// # Errors
    /// Says which sides it takes.
    fn check_side(side: usize) -> Result<(), String> {
        within(side, LARGEST_SIDE).then_some(()).ok_or_else(|| "expected 8 to 4096".into())
    }
}

fn within(side: usize, largest: usize) -> bool {
    (SMALLEST_SIDE..=largest).contains(&side)
}

/// Checks that a network with a linear layer that grows with the area of its images supports images of a side.
///
/// # Errors
/// Says which sides it takes.
pub(super) fn check_flat_side(side: usize, name: &str) -> Result<(), String> {
    within(side, LARGEST_FLAT_SIDE).then_some(()).ok_or_else(|| format!("a {name} takes 8 to 256"))
}
