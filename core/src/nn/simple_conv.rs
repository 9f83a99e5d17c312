//! The network of BiasedMNIST: four convolutions at full resolution, each with batch norm and ReLU, and a global
//! average: `[n, 128]` (Bahng et al., *Learning De-biased Representations with Biased Representations*, 2020; used by
//! Hong and Yang 2021 and ConTeX). With 7×7 kernels it sees the digit; with 1×1 kernels it only sees colour; this
//! is the biased network of ReBias and SoftCon.

use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use simile_kernels::{Windows, mean_pool};

use super::activations::Activations;
use super::design::{Design, Settings, Shapes};
use super::initial::InitialValues;
use super::layers::{BatchNorm, Convolution, in_type_of, normal_fan_out};
use super::norm_steps::{Flow, Segment, Segments, Step};
use super::operations::Operation;
use super::work::{Layers, Window, Work};

/// Channels after each convolution.
const WIDTHS: [usize; 4] = [16, 32, 64, 128];
/// Number of features.
const EMBEDDING_SIZE: usize = WIDTHS[3];

/// One convolution with its batch norm.
#[derive(Module, Debug)]
struct Layer {
    conv: Convolution,
    bn: BatchNorm,
}

/// The network; tensor names are `layers.0.conv.weight`, `layers.0.bn.weight`, ...
#[derive(Module, Debug)]
pub struct SimpleConv {
    layers: Vec<Layer>,
    padding: usize,
}

impl Layer {
    fn segment(&self, windows: Windows) -> Segment<'_> {
        let convolution = Step::of(move |flow| flow.through(|maps| self.conv.unbiased(maps, windows)));
        let rectified = Step::of(|flow| flow.through(relu));
        vec![convolution, rectified.after_biased(&self.bn, self.conv.bias.val())]
    }
}

impl SimpleConv {
    /// A network for images of `channels` channels with kernels of `kernel` × `kernel`, an odd number; weights are
    /// normal with variance `2 / (k² out)`, as released.
    pub fn new(channels: usize, kernel: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let inputs = std::iter::once(channels).chain(WIDTHS);
        let layers = inputs.zip(WIDTHS).map(|(inputs, outputs)| {
            let mut conv = Convolution::new(inputs, outputs, kernel, device, initial);
            conv.weight = normal_fan_out([outputs, inputs, kernel, kernel], device, initial);
            Layer { conv, bn: BatchNorm::new(outputs, device) }
        });
        Self { layers: layers.collect(), padding: kernel / 2 }
    }

    /// `[n, channels, h, w]` to `[n, 128]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        if self.padding == 0 { self.by_matrix_products(images) } else { self.by_convolutions(images) }
    }

    /// A segment for each convolution with the norm after it.
    fn segments(&self) -> Vec<Segment<'_>> {
        let windows = Windows { stride: 1, padding: self.padding };
        let images = vec![Step::of(|flow| flow.through(|images| images.permute([0, 2, 3, 1])))];
        let pooled = vec![Step::of(|flow| Flow::from_rows(mean_pool(flow.maps)))];
        std::iter::once(images)
            .chain(self.layers.iter().map(|layer| layer.segment(windows)))
            .chain([pooled])
            .collect()
    }

    fn by_convolutions(&self, images: Tensor<4>) -> Tensor<2> {
        let windows = Windows { stride: 1, padding: self.padding };
        let images = images.permute([0, 2, 3, 1]);
        mean_pool(
            self.layers.iter().fold(images, |maps, Layer { conv, bn }| conv.normalised(bn, maps, windows)),
        )
    }

    /// With kernels of one pixel a layer is one matrix product over all positions of all images, which takes less
    /// time than convolutions.
    fn by_matrix_products(&self, images: Tensor<4>) -> Tensor<2> {
        let [n, channels, height, width] = images.dims();
        let positions = height * width;
        let maps: Tensor<3> = images.permute([1, 0, 2, 3]).reshape([1, channels, n * positions]);
        let maps = self.layers.iter().fold(maps, |maps, Layer { conv, bn }| {
            let [outputs, inputs, ..] = conv.weight.dims();
            let weight = in_type_of(&conv.weight, &maps).reshape([1, outputs, inputs]);
            let bias = in_type_of(&conv.bias, &maps).reshape([1, outputs, 1]);
            relu(bn.forward(weight.matmul(maps) + bias))
        });
        maps.reshape([EMBEDDING_SIZE, n, positions]).mean_dim(2).reshape([EMBEDDING_SIZE, n]).transpose()
    }
}

/// The design of [`SimpleConv`] with kernels of `KERNEL` × `KERNEL`, 7 or 1.
pub(crate) struct SimpleConvDesign<const KERNEL: usize>;

impl<const KERNEL: usize> Design for SimpleConvDesign<KERNEL> {
    type Network = SimpleConv;
    const NAME: &'static str = if KERNEL == 1 { "simple-conv-1x1" } else { "simple-conv" };
    const TITLE: &'static str = if KERNEL == 1 {
        "four convolutions of 1×1, of BiasedMNIST: sees colours alone"
    } else {
        "four convolutions of 7×7, of BiasedMNIST"
    };
    const PYTORCH: &'static str = include_str!("simple_conv.py");
    const SEGMENTS: Option<Segments<Self::Network>> = Some(SimpleConv::segments);

    fn features(_settings: &Settings) -> usize {
        EMBEDDING_SIZE
    }

    fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> SimpleConv {
        SimpleConv::new(settings.channels, KERNEL, device, initial)
    }

    /// The weights of the first convolution.
    fn min_parameters(settings: &Settings) -> u64 {
        (WIDTHS[0] * KERNEL * KERNEL * settings.channels) as u64
    }

    /// Each layer keeps maps of full resolution, before and after their normalisation.
    fn activations(settings: &Settings) -> Activations {
        let image = Activations::from_image(settings.channels, settings.side);
        let pixels = settings.side.pow(2);
        // After the last convolution only the mean of the normalised maps is taken, and no gradient reads them. After the last matrix
        // product the gradient of the rectifier reads its input.
        let copies = |at: usize| if KERNEL > 1 && at + 1 == WIDTHS.len() { 1 } else { 2 };
        let normalised = WIDTHS.iter().enumerate().fold(image, |activations, (at, width)| {
            activations.and(copies(at), width * pixels).and_between(width * pixels)
        });
        // Between matrix products the activated maps are tensors of their own, which the next layer keeps.
        let activated = if KERNEL == 1 { WIDTHS.len() - 1 } else { 0 };
        WIDTHS
            .iter()
            .take(activated)
            .fold(normalised, |activations, width| activations.and(1, width * pixels))
    }

    fn work(settings: &Settings) -> Work {
        let window = Window { kernel: KERNEL, stride: 1, padding: KERNEL / 2 };
        let image = Layers::from_maps(settings.channels, settings.side);
        WIDTHS.iter().fold(image, |maps, width| maps.convolution(*width, window).normalised()).averaged().work
    }

    fn operations(_settings: &Settings) -> Vec<Operation> {
        let layer = |at: usize| {
            [
                Operation::convolution(format!("layers.{at}.conv"), 1, KERNEL / 2),
                Operation::batch_norm(format!("layers.{at}.bn")),
                Operation::Relu,
            ]
        };
        (0..WIDTHS.len()).flat_map(layer).chain([Operation::GlobalAvgPool]).collect()
    }

    fn recognises(shapes: &Shapes<'_>) -> bool {
        matches!(shapes.get("layers.0.conv.weight"), Some([.., side]) if *side == KERNEL)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::TensorData;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn embed(kernel: usize, images: Tensor<4>) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let network = SimpleConv::new(3, kernel, &Device::flex(), &mut rng);
        network.forward(images).into_data().iter::<f32>().collect()
    }

    fn image(order: impl Fn(usize) -> usize) -> Tensor<4> {
        let values: Vec<f32> = (0..3 * 64).map(|i| ((i / 64 * 64 + order(i % 64)) as f32).sin()).collect();
        Tensor::from_data(TensorData::new(values, [1, 3, 8, 8]), &Device::flex())
    }

    /// With 1×1 kernels the order of the pixels cannot matter; with 7×7 kernels it must.
    #[test]
    fn kernels_of_one_pixel_see_colours_alone() {
        let difference = |kernel| {
            let (plain, shuffled) =
                (embed(kernel, image(|i| i)), embed(kernel, image(|i| (i * 27 + 5) % 64)));
            assert_eq!(plain.len(), EMBEDDING_SIZE);
            plain.iter().zip(&shuffled).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        assert!(difference(1) < 1e-5, "{}", difference(1));
        assert!(difference(7) > 1e-2, "{}", difference(7));
    }

    #[test]
    fn kernels_of_one_pixel_are_products_with_their_gradients() {
        let device = Device::flex().autodiff();
        let network = SimpleConv::new(3, 1, &device, &mut ChaCha8Rng::seed_from_u64(2));
        let images = || {
            let values: Vec<f32> = (0..4 * 3 * 35).map(|i| (i as f32 * 0.7).sin()).collect();
            Tensor::from_data(TensorData::new(values, [4, 3, 5, 7]), &device)
        };
        let numbers = |tensor: Tensor<1>| tensor.into_data().iter::<f32>().collect::<Vec<_>>();
        let step = |embedding: Tensor<2>| {
            let gradients = embedding.clone().powi_scalar(2).sum().backward();
            let grad_layers =
                network.layers.iter().map(|Layer { conv, .. }| conv.weight.grad(&gradients).unwrap());
            let grad_layers = grad_layers.map(|gradient| numbers(gradient.flatten(0, 3)));
            std::iter::once(numbers(embedding.flatten(0, 1))).chain(grad_layers).collect::<Vec<_>>()
        };
        let (by_matrix_products, expected) =
            (step(network.by_matrix_products(images())), step(network.by_convolutions(images())));
        for (tensor, expected) in by_matrix_products.iter().zip(&expected) {
            let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
            for (a, b) in tensor.iter().zip(expected) {
                assert!((a - b).abs() <= 1e-4 * largest, "{a} {b} of {largest}");
            }
        }
    }
}
