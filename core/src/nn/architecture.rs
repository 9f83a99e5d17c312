//! The table of networks, and the functions on each.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};

use super::activations::Activations;
use super::design::{Design, Settings, Shapes};
use super::gradient_sections::Section;
use super::initial::InitialValues;
use super::layers::widen;
use super::norm_steps::{Flow, Segment, Step};
use super::operations::Operation;
use super::work::Work;
use crate::step_stage::StepStage;

macro_rules! networks {
    ($($(#[$about:meta])* $name:ident: $network:ty = $design:ty,)+) => {
        /// Name of a network.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub enum Architecture {
            $($(#[$about])* $name,)+
        }

        /// A network that maps images to embeddings.
        #[derive(Module, Debug)]
        pub enum Encoder {
            $(#[doc = concat!("That of [`Architecture::", stringify!($name), "`].")] $name($network),)+
        }

        impl Architecture {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),+];
            const NAMES: &[&str] = &[$(<$design>::NAME),+];

            /// The name in recipes and checkpoints.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => <$design>::NAME),+ }
            }

            /// The title in the book, a few words.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => <$design>::TITLE),+ }
            }

            /// True if it can compute in 16-bit floats.
            pub fn computes_in_half(self) -> bool {
                match self { $(Self::$name => <$design>::COMPUTES_IN_HALF),+ }
            }

            /// True if its layers are divided into steps between batch norms, which can take the statistics of a whole batch.
            pub fn divides_into_steps(self) -> bool {
                match self { $(Self::$name => <$design>::SEGMENTS.is_some()),+ }
            }

            /// The network in PyTorch: the source of a class `Network`, which reads the constants `ENCODER`, its settings
            /// as a checkpoint has them, and `SIDE`, that of its images.
            pub fn pytorch(self) -> &'static str {
                match self { $(Self::$name => <$design>::PYTORCH),+ }
            }

            pub(super) fn family(self) -> &'static str {
                match self { $(Self::$name => <$design>::FAMILY),+ }
            }

            pub(super) fn has_stem(self) -> bool {
                match self { $(Self::$name => <$design>::HAS_STEM),+ }
            }

            pub(super) fn has_width(self) -> bool {
                match self { $(Self::$name => <$design>::HAS_WIDTH),+ }
            }

            pub(super) fn has_output(self) -> bool {
                match self { $(Self::$name => <$design>::HAS_OUTPUT),+ }
            }

            pub(super) fn check_side(self, side: usize) -> Result<(), String> {
                match self { $(Self::$name => <$design>::check_side(side)),+ }
            }

            /// Number of features of the network, without the layer that
            /// [`EncoderConfig::output`](super::EncoderConfig::output) adds.
            pub(super) fn features(self, settings: &Settings) -> usize {
                match self { $(Self::$name => <$design>::features(settings)),+ }
            }

            pub(super) fn min_parameters(self, settings: &Settings) -> u64 {
                match self { $(Self::$name => <$design>::min_parameters(settings)),+ }
            }

            pub(super) fn activations(self, settings: &Settings) -> Activations {
                match self { $(Self::$name => <$design>::activations(settings)),+ }
            }

            pub(super) fn work(self, settings: &Settings) -> Work {
                match self { $(Self::$name => <$design>::work(settings)),+ }
            }

            pub(super) fn operations(self, settings: &Settings) -> Vec<Operation> {
                match self { $(Self::$name => <$design>::operations(settings)),+ }
            }

            /// Parts of tensor names in another program, with those here.
            pub(crate) fn also_named(self) -> &'static [(&'static str, &'static str)] {
                match self { $(Self::$name => <$design>::ALSO_NAMED),+ }
            }

            pub(super) fn for_side(
                self,
                settings: &Settings,
                name: &str,
                shape: &[usize],
                values: &[f32],
            ) -> Option<(Vec<usize>, Vec<f32>)> {
                match self { $(Self::$name => <$design>::for_side(settings, name, shape, values)),+ }
            }

            pub(crate) fn recognises(self, shapes: &Shapes<'_>) -> bool {
                match self { $(Self::$name => <$design>::recognises(shapes)),+ }
            }

            pub(super) fn init(self, settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> Encoder {
                match self { $(Self::$name => Encoder::$name(<$design>::init(settings, device, initial))),+ }
            }
        }

        impl Encoder {
            /// The layers in steps between batch norms; the last gives embeddings, in `f32`. `None` if the network cannot be
            /// taken in steps.
            pub(crate) fn segments(&self) -> Option<Vec<Segment<'_>>> {
                let mut segments = match self { $(Self::$name(network) => <$design>::SEGMENTS?(network)),+ };
                segments.push(vec![Step::of(|flow: Flow| flow.map(widen))]);
                Some(segments)
            }

            /// The layers in sections, from images to embeddings, in `f32`.
            pub(crate) fn sections(&self) -> Vec<Section<'_>> {
                let mut sections = match self { $(Self::$name(network) => {
                    let whole = || Section::of(|images| Flow::from_rows(network.forward(images)).maps).with(network);
                    <$design>::sections(network).unwrap_or_else(|| vec![whole()])
                }),+ };
                sections.push(Section::of(widen));
                sections
            }

            /// Images `[n, channels, size, size]` to embeddings `[n, embedding_size]`.
            ///
            /// Layers with two behaviours (batch norm) follow the module and the device of the images: see
            /// [`BatchNorm`](crate::nn::layers::BatchNorm). The network computes in half precision for images in half precision;
            /// embeddings are always `f32`.
            ///
            /// # Panics
            /// Most networks panic on images of another size; see
            /// [`EncoderConfig::check_images`](super::EncoderConfig::check_images).
            pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
                let _span = StepStage::Forward.enter();
                let embedding = match self { $(Self::$name(network) => network.forward(images)),+ };
                widen(embedding)
            }
        }
    };
}

networks! {
    /// [`LeNet5`](super::lenet::LeNet5), 84 features.
    #[default]
    LeNet5: super::lenet::LeNet5 = super::lenet::LeNet5Design,
    /// [`ResNet`](super::resnet::ResNet) of 18 layers, 512 features.
    ResNet18: super::resnet::ResNet = super::resnet::ResNet18Design,
    /// [`ResNet`](super::resnet::ResNet) of 34 layers, 512 features.
    ResNet34: super::resnet::ResNet = super::resnet::ResNet34Design,
    /// [`ResNet`](super::resnet::ResNet) of 50 layers, 2048 features.
    ResNet50: super::resnet::ResNet = super::resnet::ResNet50Design,
    /// [`ResNet`](super::resnet::ResNet) of 101 layers, 2048 features.
    ResNet101: super::resnet::ResNet = super::resnet::ResNet101Design,
    /// [`SimpleConv`](super::simple_conv::SimpleConv) with 7×7 kernels, 128 features.
    SimpleConv: super::simple_conv::SimpleConv = super::simple_conv::SimpleConvDesign<7>,
    /// [`SimpleConv`](super::simple_conv::SimpleConv) with 1×1 kernels, which sees colours alone.
    SimpleConv1x1: super::simple_conv::SimpleConv = super::simple_conv::SimpleConvDesign<1>,
    /// [`Mlp`](super::mlp::Mlp), 100 features.
    Mlp: super::mlp::Mlp = super::mlp::MlpDesign,
    /// [`VaeEncoder`](super::vae::VaeEncoder), 128 features unless
    /// [`EncoderConfig::output`](super::EncoderConfig::output) says another number.
    Vae: super::vae::VaeEncoder = super::vae::VaeDesign,
    /// [`Discriminator`](super::dcgan::Discriminator), 4096 features of 32×32 images.
    Dcgan: super::dcgan::Discriminator = super::dcgan::DcganDesign,
    /// [`Vit`](super::vit::Vit) of small size with patches of 16 pixels, 384 features.
    VitS16: super::vit::Vit = super::vit::VitS16Design,
    /// [`Vit`](super::vit::Vit) of base size with patches of 16 pixels, 768 features.
    VitB16: super::vit::Vit = super::vit::VitB16Design,
}

impl Serialize for Architecture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Architecture {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let named = Self::ALL.iter().copied().find(|architecture| architecture.name() == name);
        named.ok_or_else(|| D::Error::unknown_variant(&name, Self::NAMES))
    }
}
