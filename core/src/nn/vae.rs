//! The convolutional variational autoencoder; its code is the prior of Decoupled Uniformity's kernel.
//!
//! | encoder | decoder |
//! |---|---|
//! | 3×3 at stride 2, batch norm, ReLU: 32, 64, 128, 256 channels | linear to 256 maps of the last side |
//! | linear to the mean and to the logarithm of the variance | upsampled by 2, 3×3, batch norm, ReLU: 128, 64, 32 channels |
//! | | upsampled by 2, 3×3 to the channels of an image |
//!
//! The embedding is the mean. The authors released neither network nor settings; these are ours.

use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use simile_kernels::Windows;

use super::activations::Activations;
use super::design::{Design, Settings, Shapes, check_flat_side};
use super::initial::InitialValues;
use super::layers::{BatchNorm, Convolution, Linear};
use super::operations::Operation;
use super::work::{Layers, Window, Work};

/// Channels after each convolution.
const WIDTHS: [usize; 4] = [32, 64, 128, 256];
/// The windows of the encoder.
const HALVING: Window = Window { kernel: 3, stride: 2, padding: 1 };
/// Default number of features.
const EMBEDDING_SIZE: usize = 128;

/// A convolution with its batch norm.
#[derive(Module, Debug)]
struct Layer {
    conv: Convolution,
    bn: BatchNorm,
}

impl Layer {
    fn new(inputs: usize, outputs: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        Self {
            conv: Convolution::new(inputs, outputs, 3, device, initial),
            bn: BatchNorm::new(outputs, device),
        }
    }

    /// The block on maps `[n, h, w, channels]`.
    fn forward(&self, maps: Tensor<4>, stride: usize) -> Tensor<4> {
        self.conv.normalised(&self.bn, maps, Windows { stride, padding: 1 })
    }
}

/// Side of the maps between encoder and decoder.
fn last_side(side: usize) -> usize {
    WIDTHS.iter().fold(side, |side, _| side.div_ceil(2))
}

/// Number of values of the last maps of images of a side.
pub(super) fn flattened(side: usize) -> usize {
    WIDTHS[3] * last_side(side).pow(2)
}

/// Images to codes.
#[derive(Module, Debug)]
pub struct VaeEncoder {
    layers: Vec<Layer>,
    mean: Linear,
    log_variance: Linear,
}

impl VaeEncoder {
    /// A network for square images.
    pub fn new(
        channels: usize,
        side: usize,
        latents: usize,
        device: &Device,
        initial: &mut impl InitialValues,
    ) -> Self {
        let inputs = std::iter::once(channels).chain(WIDTHS);
        let layers = inputs
            .zip(WIDTHS)
            .map(|(inputs, outputs)| Layer::new(inputs, outputs, device, initial))
            .collect();
        let features = flattened(side);
        let mean = Linear::new(features, latents, device, initial);
        Self { layers, mean, log_variance: Linear::new(features, latents, device, initial) }
    }

    /// `[n, channels, side, side]` to the means of the codes, `[n, latents]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        self.mean.forward(self.features(images))
    }

    /// Means of the codes and logarithms of their variances.
    pub fn posterior(&self, images: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let features = self.features(images);
        (self.mean.forward(features.clone()), self.log_variance.forward(features))
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        let images = images.permute([0, 2, 3, 1]);
        let maps = self.layers.iter().fold(images, |maps, layer| layer.forward(maps, 2));
        maps.permute([0, 3, 1, 2]).flatten(1, 3)
    }
}

/// Codes to images.
#[derive(Module, Debug)]
pub struct VaeDecoder {
    first: Linear,
    layers: Vec<Layer>,
    last: Convolution,
    side: usize,
}

impl VaeDecoder {
    /// The network that mirrors an encoder of the same settings.
    pub fn new(
        channels: usize,
        side: usize,
        latents: usize,
        device: &Device,
        initial: &mut impl InitialValues,
    ) -> Self {
        let first = Linear::new(latents, WIDTHS[3] * last_side(side).pow(2), device, initial);
        let pairs = WIDTHS.windows(2).rev();
        let layers = pairs.map(|pair| Layer::new(pair[1], pair[0], device, initial)).collect();
        Self { first, layers, last: Convolution::new(WIDTHS[0], channels, 3, device, initial), side }
    }

    /// The numbers that a training step keeps of one image with `channels` channels and `side` pixels a side.
    pub fn activations(channels: usize, side: usize) -> Activations {
        // The input of the first rectifier; its result is only doubled.
        let start = (last_side(side), Activations::default().and(1, flattened(side)));
        let (last, activations) = WIDTHS.windows(2).rev().fold(start, |(side, activations), pair| {
            let positions = (2 * side).pow(2);
            // The doubled maps, and the convolution: nothing reads its normalised maps again once they are doubled.
            (2 * side, activations.and(1, pair[1] * positions).and(1, pair[0] * positions))
        });
        activations.and(1, WIDTHS[0] * (2 * last).pow(2)).and(1, channels * side.pow(2))
    }

    /// The forward pass of one code.
    pub(crate) fn work(channels: usize, side: usize, latents: usize) -> Work {
        let window = Window { stride: 1, ..HALVING };
        let side = last_side(side);
        let first = Layers::from_row(latents).linear(WIDTHS[3] * side.pow(2)).activated();
        let maps = Layers::from_maps(WIDTHS[3], side).beside(first);
        let maps = (WIDTHS[..3].iter().rev())
            .fold(maps, |maps, width| maps.doubled().convolution(*width, window).normalised());
        maps.doubled().convolution(channels, window).work
    }

    /// `[n, latents]` to `[n, channels, side, side]`.
    pub fn forward(&self, codes: Tensor<2>) -> Tensor<4> {
        let [n, _] = codes.dims();
        let side = last_side(self.side);
        let maps = relu(self.first.forward(codes)).reshape([n, WIDTHS[3], side, side]);
        let maps = maps.permute([0, 2, 3, 1]);
        let maps = self.layers.iter().fold(maps, |maps, layer| layer.forward(doubled(maps), 1));
        let images = self.last.forward(doubled(maps), Windows { stride: 1, padding: 1 });
        let images = images.permute([0, 3, 1, 2]);
        let channels = images.dims()[1];
        // If a side was odd in the encoder, the decoder has one line more.
        images.slice([0..n, 0..channels, 0..self.side, 0..self.side])
    }
}

/// Repeats each position of maps `[n, h, w, channels]` four times.
fn doubled(maps: Tensor<4>) -> Tensor<4> {
    let [n, height, width, channels] = maps.dims();
    let maps: Tensor<6> = maps.reshape([n, height, 1, width, 1, channels]);
    maps.repeat_dim(2, 2).repeat_dim(4, 2).reshape([n, 2 * height, 2 * width, channels])
}

/// The design of [`VaeEncoder`].
pub(crate) struct VaeDesign;

impl VaeDesign {
    fn latents(settings: &Settings) -> usize {
        settings.output.unwrap_or(EMBEDDING_SIZE)
    }
}

impl Design for VaeDesign {
    type Network = VaeEncoder;
    const NAME: &'static str = "vae";
    const TITLE: &'static str = "encoder of a variational autoencoder, with our settings";
    const HAS_OUTPUT: bool = true;
    const COMPUTES_IN_HALF: bool = false;
    const PYTORCH: &'static str = include_str!("vae.py");

    fn features(_settings: &Settings) -> usize {
        EMBEDDING_SIZE
    }

    fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> VaeEncoder {
        VaeEncoder::new(settings.channels, settings.side, Self::latents(settings), device, initial)
    }

    fn min_parameters(settings: &Settings) -> u64 {
        2 * Self::latents(settings) as u64 * flattened(settings.side) as u64
    }

    fn activations(settings: &Settings) -> Activations {
        let start = (settings.side, Activations::from_image(settings.channels, settings.side));
        let (_, activations) = WIDTHS.iter().fold(start, |(side, activations), width| {
            let side = HALVING.after(side);
            (side, activations.and(2, width * side.pow(2)))
        });
        // The last maps are kept in a row.
        activations.and(2, Self::latents(settings))
    }

    fn work(settings: &Settings) -> Work {
        let image = Layers::from_maps(settings.channels, settings.side);
        let maps = WIDTHS.iter().fold(image, |maps, width| maps.convolution(*width, HALVING).normalised());
        // A step of the autoencoder also takes the logarithm of the variance.
        let log_variance = maps.branch().linear(Self::latents(settings));
        maps.linear(Self::latents(settings)).beside(log_variance).work
    }

    fn operations(_settings: &Settings) -> Vec<Operation> {
        let layer = |at: usize| {
            [
                Operation::convolution(format!("layers.{at}.conv"), HALVING.stride, HALVING.padding),
                Operation::batch_norm(format!("layers.{at}.bn")),
                Operation::Relu,
            ]
        };
        let layers = (0..WIDTHS.len()).flat_map(layer);
        layers.chain([Operation::Flatten, Operation::linear("mean")]).collect()
    }

    fn recognises(shapes: &Shapes<'_>) -> bool {
        matches!(shapes.get("layers.0.conv.weight"), Some([.., 3])) && shapes.contains_key("mean.weight")
    }

    fn check_side(side: usize) -> Result<(), String> {
        check_flat_side(side, Self::NAME)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::TensorData;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn images_of_any_side_come_back_in_their_size() {
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (channels, side) in [(3, 32), (1, 28), (3, 17)] {
            let encoder = VaeEncoder::new(channels, side, 10, &device, &mut rng);
            let images = Tensor::ones([2, channels, side, side], &device);
            let (mean, log_variance) = encoder.posterior(images.clone());
            assert_eq!((mean.dims(), log_variance.dims()), ([2, 10], [2, 10]));
            assert_eq!(mean.clone().into_data(), encoder.forward(images).into_data());
            let decoder = VaeDecoder::new(channels, side, 10, &device, &mut rng);
            assert_eq!(decoder.forward(mean).dims(), [2, channels, side, side]);
        }
    }

    #[test]
    fn a_decoder_keeps_the_doubled_maps_and_the_convolutions() {
        let doubled = 256 * 4 * 4 + 128 * 8 * 8 + 64 * 16 * 16 + 32 * 32 * 32;
        let convolutions = 128 * 4 * 4 + 64 * 8 * 8 + 32 * 16 * 16 + 3 * 32 * 32;
        // And the input of the rectifier of the linear layer.
        assert_eq!(VaeDecoder::activations(3, 32).kept, 256 * 2 * 2 + doubled + convolutions);
    }

    #[test]
    fn a_doubled_map_repeats_each_place() {
        let map =
            Tensor::<4>::from_data(TensorData::new(vec![1.0, 2.0, 3.0, 4.0], [1, 2, 2, 1]), &Device::flex());
        let values: Vec<f32> = doubled(map).into_data().iter::<f32>().collect();
        assert_eq!(values, [1., 1., 2., 2., 1., 1., 2., 2., 3., 3., 4., 4., 3., 3., 4., 4.]);
    }
}
