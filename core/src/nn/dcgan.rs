//! The two networks of a deep convolutional generative adversarial network (Radford et al., *Unsupervised Representation
//! Learning with Deep Convolutional Generative Adversarial Networks*, 2016), without biases.
//!
//! | discriminator, the encoder | generator |
//! |---|---|
//! | 4×4 at stride 2, leaky ReLU 0.2: 64 channels | 100 normal numbers, 4×4 to the widest of the discriminator's maps, batch norm, ReLU |
//! | 4×4 at stride 2, batch norm, leaky ReLU: twice as many each time, until a side of 4 | transposed 4×4 at stride 2, batch norm, ReLU: half as many each time, to 64 |
//! | (a linear layer to one score: the head) | transposed 4×4 at stride 2 to an image, hyperbolic tangent |
//!
//! For 64×64 images both are those of PyTorch's example. The embedding is the last maps, flattened: 4096 features
//! of 32×32 images, 8192 of 64×64. Decoupled Uniformity names such a model as a prior of its kernel, but releases
//! neither its network nor the choice of features; here they are the discriminator's, as in Radford et al.

use burn::module::{Module, Param};
use burn::tensor::activation::{leaky_relu, relu};
use burn::tensor::module::conv_transpose2d;
use burn::tensor::ops::ConvTransposeOptions;
use burn::tensor::{Device, Tensor};
use simile_kernels::{Epilogue, Windows, convolve};

use super::activations::Activations;
use super::design::{Design, Settings, Shapes};
use super::initial::{InitialValues, Normal};
use super::layers::{BatchNorm, in_type_of};
use super::operations::Operation;
use super::work::{Layers, Window, Work};

/// Supported sides of the images.
pub const SIDES: [usize; 4] = [16, 32, 64, 128];
/// Number of inputs of the generator.
pub const LATENTS: usize = 100;
/// Channels of the discriminator's first maps.
const FIRST: usize = 64;
/// Side of its last maps.
const LAST_SIDE: usize = 4;
/// Side of every kernel.
const KERNEL: usize = 4;
/// Slope of the leaky ReLU.
const SLOPE: f64 = 0.2;
/// Standard deviation of initial weights.
const DEVIATION: f64 = 0.02;

/// Channels after each of the discriminator's convolutions.
fn widths(side: usize) -> Vec<usize> {
    let halvings = (side / LAST_SIDE).max(2).ilog2();
    (0..halvings).map(|step| FIRST << step).collect()
}

/// Number of features of the embedding of images of a side.
pub fn embedding_size(side: usize) -> usize {
    widths(side).last().map_or(0, |width| width * LAST_SIDE * LAST_SIDE)
}

fn normal<const D: usize>(
    mean: f64,
    shape: [usize; D],
    device: &Device,
    initial: &mut impl InitialValues,
) -> Param<Tensor<D>> {
    initial.parameter(shape, device, Normal { mean, deviation: DEVIATION })
}

/// Batch norm with an initial gain near 1.
fn batch_norm(features: usize, device: &Device, initial: &mut impl InitialValues) -> BatchNorm {
    let mut layer = BatchNorm::new(features, device);
    layer.weight = Some(normal(1.0, [features], device, initial));
    layer
}

/// A convolution with its batch norm; transposed in the generator.
#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<4>>,
    bn: Option<BatchNorm>,
}

impl Layer {
    /// A weight of `planes` × 4 × 4, `[outputs, inputs]` of a convolution and `[inputs, outputs]` of a transposed one, with a batch
    /// norm of so many channels, if there is one.
    fn new(
        planes: [usize; 2],
        normed_channels: Option<usize>,
        device: &Device,
        initial: &mut impl InitialValues,
    ) -> Self {
        let weight = normal(0.0, [planes[0], planes[1], KERNEL, KERNEL], device, initial);
        Self { weight, bn: normed_channels.map(|channels| batch_norm(channels, device, initial)) }
    }

    /// Maps `[n, h, w, channels]` at half the side.
    fn halved(&self, maps: Tensor<4>) -> Tensor<4> {
        let weight = in_type_of(&self.weight, &maps);
        let windows = Windows { stride: 2, padding: 1 };
        match &self.bn {
            Some(bn) => bn.after_convolution(maps, (weight, None), windows, Epilogue::none()),
            None => convolve(maps, weight, None, windows),
        }
    }

    /// Maps `[n, channels, h, w]`, enlarged by a transposed convolution.
    fn enlarged(&self, maps: Tensor<4>, stride: usize, padding: usize) -> Tensor<4> {
        let options = ConvTransposeOptions::new([stride; 2], [padding; 2], [0; 2], [1; 2], 1);
        let maps = conv_transpose2d(maps, self.weight.val(), None, options);
        match &self.bn {
            Some(bn) => bn.forward(maps),
            None => maps,
        }
    }
}

/// The discriminator: images to the features that separate real from generated images.
#[derive(Module, Debug)]
pub struct Discriminator {
    layers: Vec<Layer>,
}

impl Discriminator {
    /// A network for square images of one of [`SIDES`].
    pub fn new(channels: usize, side: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let widths = widths(side);
        let inputs = std::iter::once(channels).chain(widths.iter().copied());
        let layers = inputs
            .zip(&widths)
            .enumerate()
            .map(|(at, (inputs, &outputs))| {
                Layer::new([outputs, inputs], (at > 0).then_some(outputs), device, initial)
            })
            .collect();
        Self { layers }
    }

    /// `[n, channels, side, side]` to `[n, embedding_size(side)]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let images = images.permute([0, 2, 3, 1]);
        let maps = self.layers.iter().fold(images, |maps, layer| leaky_relu(layer.halved(maps), SLOPE));
        maps.permute([0, 3, 1, 2]).flatten(1, 3)
    }
}

/// The generator: random numbers to images.
#[derive(Module, Debug)]
pub struct Generator {
    layers: Vec<Layer>,
}

impl Generator {
    /// The generator for a [`Discriminator`] of the same settings.
    pub fn new(channels: usize, side: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let outputs: Vec<usize> = widths(side).into_iter().rev().chain([channels]).collect();
        let inputs = std::iter::once(LATENTS).chain(outputs.iter().copied());
        let last = outputs.len() - 1;
        let layers = inputs
            .zip(&outputs)
            .enumerate()
            .map(|(at, (inputs, &outputs))| {
                Layer::new([inputs, outputs], (at < last).then_some(outputs), device, initial)
            })
            .collect();
        Self { layers }
    }

    /// The numbers that a training step keeps of one image with `channels` channels and `side` pixels a side.
    pub(crate) fn activations(channels: usize, side: usize) -> Activations {
        let start = (LAST_SIDE, Activations::default());
        let (_, activations) = widths(side).into_iter().rev().fold(start, |(side, activations), width| {
            // Before and after the normalisation, and activated.
            (2 * side, activations.and(3, width * side.pow(2)))
        });
        activations.and(1, channels * side.pow(2))
    }

    /// The work of a forward pass of one image with `channels` channels and `side` pixels a side.
    pub(crate) fn work(channels: usize, side: usize) -> Work {
        let outputs = widths(side).into_iter().rev();
        let (maps, side) = outputs.fold((Layers::from_row(LATENTS), LAST_SIDE), |(maps, side), width| {
            (maps.transposed(width, KERNEL, side).normalised(), 2 * side)
        });
        maps.transposed(channels, KERNEL, side).activated().work
    }

    /// `[n, LATENTS]` to `[n, channels, side, side]`, from −1 to 1.
    pub fn forward(&self, numbers: Tensor<2>) -> Tensor<4> {
        let [n, latents] = numbers.dims();
        let mut maps: Tensor<4> = numbers.reshape([n, latents, 1, 1]);
        for (at, layer) in self.layers.iter().enumerate() {
            let (stride, padding) = if at == 0 { (1, 0) } else { (2, 1) };
            let larger = layer.enlarged(maps, stride, padding);
            maps = if layer.bn.is_some() { relu(larger) } else { larger.tanh() };
        }
        maps
    }
}

/// The design of [`Discriminator`].
pub(crate) struct DcganDesign;

impl Design for DcganDesign {
    type Network = Discriminator;
    const NAME: &'static str = "dcgan";
    const TITLE: &'static str = "discriminator of a DCGAN";
    const PYTORCH: &'static str = include_str!("dcgan.py");

    fn features(settings: &Settings) -> usize {
        embedding_size(settings.side)
    }

    fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> Discriminator {
        Discriminator::new(settings.channels, settings.side, device, initial)
    }

    /// The weights of the last convolution, about three quarters of all parameters.
    fn min_parameters(settings: &Settings) -> u64 {
        (embedding_size(settings.side) as u64).pow(2) / 32
    }

    fn activations(settings: &Settings) -> Activations {
        let start = (settings.side, Activations::from_image(settings.channels, settings.side));
        let layers = widths(settings.side).into_iter().enumerate();
        let (_, activations) = layers.fold(start, |(side, activations), (at, width)| {
            let (side, normed) = (side / 2, u64::from(at > 0));
            let values = width * side.pow(2);
            // Before the normalisation, and activated, the last as the embedding. The activation keeps signs alone: at least a quarter
            // of a number each, a byte in `f32`.
            (side, activations.and(normed + 1, values).and(1, values / 4))
        });
        activations
    }

    fn work(settings: &Settings) -> Work {
        let window = Window { kernel: KERNEL, stride: 2, padding: 1 };
        let image = Layers::from_maps(settings.channels, settings.side);
        let layers = widths(settings.side).into_iter().enumerate();
        let maps = layers.fold(image, |maps, (at, width)| {
            let maps = maps.convolution(width, window);
            if at > 0 { maps.normalised() } else { maps }.activated()
        });
        maps.work
    }

    fn operations(settings: &Settings) -> Vec<Operation> {
        let layer = |at: usize| {
            let norm = (at > 0).then(|| Operation::batch_norm(format!("layers.{at}.bn")));
            let convolution = Operation::convolution(format!("layers.{at}"), 2, 1);
            [convolution].into_iter().chain(norm).chain([Operation::LeakyRelu { slope: SLOPE }])
        };
        (0..widths(settings.side).len()).flat_map(layer).chain([Operation::Flatten]).collect()
    }

    fn recognises(shapes: &Shapes<'_>) -> bool {
        matches!(shapes.get("layers.0.weight"), Some([_, _, .., KERNEL]))
    }

    fn check_side(side: usize) -> Result<(), String> {
        if SIDES.contains(&side) { Ok(()) } else { Err("a dcgan takes 16, 32, 64 or 128".into()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /* Python:
    d = lambda n, c=3: [nn.Conv2d(c, 64, 4, 2, 1, bias=False)] + sum([[nn.Conv2d(64 << i, 128 << i, 4, 2, 1, bias=False),
        nn.BatchNorm2d(128 << i)] for i in range(n - 1)], [])
    g = lambda n, c=3: [nn.ConvTranspose2d(100, 32 << n, 4, 1, 0, bias=False), nn.BatchNorm2d(32 << n)] + sum([[
        nn.ConvTranspose2d(64 << i, 32 << i, 4, 2, 1, bias=False), nn.BatchNorm2d(32 << i)] for i in range(n - 1, 0, -1)],
        []) + [nn.ConvTranspose2d(64, c, 4, 2, 1, bias=False)]
    sum(p.numel() for p in nn.Sequential(*d(4)).parameters())  # and so on; 4 for a side of 64, 3 for 32
    */
    #[test]
    fn both_networks_have_the_parameters_of_pytorch() {
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (channels, side, down, up) in
            [(3, 64, 2_757_376, 3_576_704), (3, 32, 659_200, 1_068_928), (1, 32, 657_152, 1_066_880)]
        {
            let discriminator = Discriminator::new(channels, side, &device, &mut rng);
            let generator = Generator::new(channels, side, &device, &mut rng);
            // Burn counts the running statistics of batch norm, two a channel, PyTorch does not.
            let statistics = |layers: &[Layer]| -> usize {
                layers.iter().filter_map(|layer| layer.bn.as_ref()).map(|bn| bn.num_params() / 2).sum()
            };
            let counted = |all: usize, layers: &[Layer]| all - statistics(layers);
            assert_eq!(counted(discriminator.num_params(), &discriminator.layers), down, "{side}");
            assert_eq!(counted(generator.num_params(), &generator.layers), up, "{side}");
        }
    }

    #[test]
    fn images_are_made_in_the_size_that_is_judged() {
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for side in [16, 32] {
            let images =
                Generator::new(3, side, &device, &mut rng).forward(Tensor::ones([2, LATENTS], &device));
            assert_eq!(images.dims(), [2, 3, side, side]);
            let largest = images.clone().abs().max().into_scalar::<f32>();
            assert!(largest <= 1.0, "{largest}");
            let features = Discriminator::new(3, side, &device, &mut rng).forward(images);
            assert_eq!(features.dims(), [2, embedding_size(side)]);
        }
        assert_eq!((embedding_size(32), embedding_size(64)), (4096, 8192));
    }
}
