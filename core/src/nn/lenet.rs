//! LeNet-5 as in the released code of CCL-K (Tsai et al. 2022, `networks/lenet`): 3→6 conv 5×5, tanh, average pool 2,
//! 6→16 conv 5×5, tanh, average pool 2, 16→120 conv 5×5, tanh, linear 120→84, no activation after the last layer
//! and no classifier. 32×32 images in, 84 features out.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use simile_kernels::{convolve_tanh_pool, tanh};

use super::activations::Activations;
use super::design::{Design, Settings, Shapes};
use super::initial::InitialValues;
use super::layers::{Convolution, Linear, in_type_of};
use super::norm_steps::{Flow, Segment, Segments, Step};
use super::operations::Operation;
use super::work::{Layers, Window, Work};

/// Side of the square input.
pub(super) const INPUT_SIZE: usize = 32;
/// Number of features.
const EMBEDDING_SIZE: usize = 84;

const KERNEL: usize = 5;
const WINDOW: Window = Window { kernel: KERNEL, stride: 1, padding: 0 };
/// Channels after each convolution.
const WIDTHS: [usize; 3] = [6, 16, 120];

/// LeNet-5; tensor names are `conv1`, `conv2`, `conv3`, `fc`, each with `.weight` and `.bias`.
#[derive(Module, Debug)]
pub struct LeNet5 {
    conv1: Convolution,
    conv2: Convolution,
    conv3: Convolution,
    fc: Linear,
}

impl LeNet5 {
    /// A network for images of `channels` channels, initialised as PyTorch does.
    pub fn new(channels: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let [first, second, third] = WIDTHS;
        Self {
            conv1: Convolution::new(channels, first, KERNEL, device, initial),
            conv2: Convolution::new(first, second, KERNEL, device, initial),
            conv3: Convolution::new(second, third, KERNEL, device, initial),
            fc: Linear::new(third, EMBEDDING_SIZE, device, initial),
        }
    }

    /// `[n, channels, 32, 32]` to `[n, 84]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let block = |maps: Tensor<4>, layer: &Convolution| {
            let (weight, bias) = (in_type_of(&layer.weight, &maps), in_type_of(&layer.bias, &maps));
            convolve_tanh_pool(maps, weight, bias)
        };
        let maps = block(block(images.permute([0, 2, 3, 1]), &self.conv1), &self.conv2);
        // The third kernel covers the whole map, so it is a linear layer.
        let maps: Tensor<2> = maps.flatten(1, 3);
        let [_, features] = maps.dims();
        let kernel =
            in_type_of(&self.conv3.weight, &maps).permute([0, 2, 3, 1]).reshape([WIDTHS[2], features]);
        let bias = in_type_of(&self.conv3.bias, &maps);
        self.fc.forward(tanh(maps.matmul(kernel.transpose()) + bias.unsqueeze()))
    }

    /// One segment: it has no batch norm.
    fn segments(&self) -> Vec<Segment<'_>> {
        vec![vec![Step::of(|flow| Flow::from_rows(self.forward(flow.maps)))]]
    }
}

/// The design of [`LeNet5`].
pub(crate) struct LeNet5Design;

impl Design for LeNet5Design {
    type Network = LeNet5;
    const NAME: &'static str = "lenet5";
    const TITLE: &'static str = "LeNet-5 as CCL-K released it";
    const COMPUTES_IN_HALF: bool = false;
    const PYTORCH: &'static str = include_str!("lenet.py");
    const SEGMENTS: Option<Segments<Self::Network>> = Some(LeNet5::segments);

    fn features(_settings: &Settings) -> usize {
        EMBEDDING_SIZE
    }

    fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> LeNet5 {
        LeNet5::new(settings.channels, device, initial)
    }

    fn min_parameters(settings: &Settings) -> u64 {
        (WIDTHS[0] * KERNEL * KERNEL * settings.channels) as u64
    }

    fn activations(settings: &Settings) -> Activations {
        let start = (settings.side, Activations::from_image(settings.channels, settings.side));
        // The activated maps and their averages.
        let (side, activations) = WIDTHS[..2].iter().fold(start, |(side, activations), width| {
            let side = WINDOW.after(side);
            (side / 2, activations.and(1, width * side.pow(2)).and(1, width * (side / 2).pow(2)))
        });
        // The last averages once more, in a row.
        activations.and(1, WIDTHS[1] * side.pow(2)).and(1, WIDTHS[2]).and(1, EMBEDDING_SIZE)
    }

    fn work(settings: &Settings) -> Work {
        let halved = Window { kernel: 2, stride: 2, padding: 0 };
        let image = Layers::from_maps(settings.channels, settings.side);
        let maps =
            WIDTHS[..2].iter().fold(image, |maps, width| maps.convolution(*width, WINDOW).pool(halved));
        maps.linear(WIDTHS[2]).activated().linear(EMBEDDING_SIZE).work
    }

    fn operations(_settings: &Settings) -> Vec<Operation> {
        let convolution = |name| Operation::convolution(name, 1, 0);
        vec![
            convolution("conv1"),
            Operation::Tanh,
            Operation::AvgPool { side: 2 },
            convolution("conv2"),
            Operation::Tanh,
            Operation::AvgPool { side: 2 },
            convolution("conv3"),
            Operation::Tanh,
            Operation::Flatten,
            Operation::linear("fc"),
        ]
    }

    fn recognises(shapes: &Shapes<'_>) -> bool {
        matches!(shapes.get("conv3.weight"), Some([120, 16, KERNEL, KERNEL]))
    }

    fn check_side(side: usize) -> Result<(), String> {
        if side == INPUT_SIZE { Ok(()) } else { Err(format!("lenet5 takes {INPUT_SIZE}")) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use burn::module::{ModuleMapper, Param, ParamGroup};
    use burn::optim::GradientsParams;
    use burn::tensor::module::{avg_pool2d, conv2d};
    use burn::tensor::ops::{AvgPoolOptions, ConvOptions};
    use burn::tensor::{DType, TensorData};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// The same network in the plain operations.
    fn plain(network: &LeNet5, images: Tensor<4>) -> Tensor<2> {
        let pool = |x: Tensor<4>| avg_pool2d(x, AvgPoolOptions::new([2, 2]));
        let conv = |x, layer: &Convolution| {
            let options = ConvOptions::new([1, 1], [0, 0], [1, 1], 1);
            conv2d(x, layer.weight.val(), Some(layer.bias.val()), options)
        };
        let maps = pool(conv(images, &network.conv1).tanh());
        let maps = pool(conv(maps, &network.conv2).tanh());
        network.fc.forward(conv(maps, &network.conv3).tanh().flatten(1, 3))
    }

    fn values(tensor: impl Into<Option<Tensor<1>>>) -> Vec<f64> {
        tensor.into().expect("a gradient").into_data().iter::<f64>().collect()
    }

    fn wave(count: usize, step: f64, phase: f64) -> Vec<f64> {
        (0..count).map(|i| (step * i as f64 + phase).sin()).collect()
    }

    /// The gradients of all parameters.
    fn gradients(network: &LeNet5, loss: Tensor<1>) -> Vec<Vec<f64>> {
        let mut grads = loss.backward();
        let gradients = GradientsParams::from_module(&mut grads, network);
        let mut all = vec![];
        for layer in [&network.conv1, &network.conv2, &network.conv3] {
            all.push(values(gradients.get::<4>(layer.weight.id).map(|g| g.flatten::<1>(0, 3))));
            all.push(values(gradients.get::<1>(layer.bias.id)));
        }
        all.push(values(gradients.get::<2>(network.fc.weight.id).map(|g| g.flatten::<1>(0, 1))));
        all.push(values(gradients.get::<1>(network.fc.bias.as_ref().expect("a bias").id)));
        all
    }

    /// `sin(1.3 i + 0.7 k) * 1.7 / √fan_in` in tensor `k`.
    struct Wave<'a> {
        options: (&'a Device, DType),
        next: usize,
    }

    impl ModuleMapper for Wave<'_> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let fan_in = [75.0, 150.0, 400.0, 120.0_f64][self.next / 2];
            let shape = param.shape();
            let wave = wave(shape.num_elements(), 1.3, 0.7 * self.next as f64);
            let data: Vec<f64> = wave.iter().map(|v| v * 1.7 / fan_in.sqrt()).collect();
            self.next += 1;
            Param::from_tensor(Tensor::from_data(TensorData::new(data, shape), self.options))
        }
    }

    /*
    Equivalent PyTorch, float64:

    for k, (name, p) in enumerate(net.named_parameters()):   # conv1, conv2, conv3: Conv2d; fc: Linear
        p.data = (torch.sin(1.3 * torch.arange(p.numel()) + 0.7 * k) * 1.7 / math.sqrt(fan_in)).reshape(p.shape)
    x = (0.5 + 0.5 * torch.sin(0.37 * torch.arange(2 * 3 * 1024))).reshape(2, 3, 32, 32)
    pool = AvgPool2d(2)
    y = fc(tanh(conv3(pool(tanh(conv2(pool(tanh(conv1(x)))))))).flatten(1))
    (y * torch.cos(0.11 * torch.arange(168)).reshape(2, 84)).sum().backward()
    y[0, :4], y[1, 80:], and for each p: p.grad.norm(), (p.grad.flatten() * torch.cos(0.05 * torch.arange(p.numel()))).sum()
    */
    fn assert_equals_pytorch(network: &LeNet5, output: Tensor<2>, tolerance: f64) {
        let row: Vec<f64> = output.clone().into_data().iter::<f64>().collect();
        let expected = [
            0.456_042_672_884,
            0.707_839_294_889,
            0.216_930_287_721,
            -0.562_643_727_134,
            -0.369_697_700_823,
            0.251_078_777_451,
            0.621_865_219_099,
            0.398_871_582_419,
        ];
        for (value, expected) in row[..4].iter().chain(&row[164..]).zip(expected) {
            assert!((value - expected).abs() < tolerance, "{value} {expected}");
        }

        let weights = wave(168, 0.11, std::f64::consts::FRAC_PI_2);
        let weights = TensorData::new(weights, [2, 84]);
        let weights = Tensor::<2>::from_data(weights, (&output.device(), output.dtype()));
        let expected = [
            (2.047_060_905_519e-2, -1.349_317_549_011e-3),
            (7.776_202_375_271e-4, -4.908_207_697_573e-4),
            (1.114_339_284_860e-1, -1.415_723_130_963e-3),
            (1.207_352_930_404e-3, -3.790_339_900_578e-4),
            (1.384_470_894_893e-1, -1.215_299_227_709e-1),
            (3.643_262_564_186e-2, 1.447_866_183_565e-3),
            (9.202_786_004_127e-1, -4.757_822_794_445e-2),
            (1.206_317_763_417, -1.340_607_267_390),
        ];
        for (gradient, (norm, projection)) in
            gradients(network, (output * weights).sum()).iter().zip(expected)
        {
            let gradient_norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            let gradient_projection: f64 =
                gradient.iter().enumerate().map(|(i, g)| g * (0.05 * i as f64).cos()).sum();
            assert!((gradient_norm - norm).abs() < tolerance * norm, "{gradient_norm} {norm}");
            assert!(
                (gradient_projection - projection).abs() < tolerance * norm,
                "{gradient_projection} {projection}"
            );
        }
    }

    fn reference(dtype: DType) -> (LeNet5, Tensor<4>) {
        let device = Device::flex().autodiff();
        let network = LeNet5::new(3, &device, &mut ChaCha8Rng::seed_from_u64(0));
        let network = network.map(&mut Wave { options: (&device, dtype), next: 0 });
        let pixels: Vec<f64> = wave(2 * 3 * 1024, 0.37, 0.0).iter().map(|v| 0.5 + 0.5 * v).collect();
        (network, Tensor::from_data(TensorData::new(pixels, [2, 3, 32, 32]), (&device, dtype)))
    }

    #[test]
    fn output_and_gradients_equal_pytorch() {
        let (network, images) = reference(DType::F64);
        let output = network.forward(images);
        assert_equals_pytorch(&network, output, 1e-10);
    }

    #[test]
    fn output_and_gradients_of_a_training_step_equal_pytorch() {
        let (network, images) = reference(DType::F32);
        let output = network.forward(images);
        // PyTorch's own float32 is 1.3e-4 away from its float64.
        assert_equals_pytorch(&network, output, 3e-4);
    }

    #[test]
    fn a_step_equals_plain_convolutions() {
        let device = Device::flex().autodiff();
        for channels in [1, 3] {
            let network = LeNet5::new(channels, &device, &mut ChaCha8Rng::seed_from_u64(7));
            // More than are evaluated at once, and not a multiple of that number.
            let samples = 37;
            let pixels =
                TensorData::new(wave(samples * channels * 1024, 0.61, 0.3), [samples, channels, 32, 32]);
            let images = Tensor::<4>::from_data(pixels, (&device, DType::F32));
            let theirs = plain(&network, images.clone());
            let expected = gradients(&network, theirs.clone().square().mean());

            let evaluated = network.valid().forward(images.clone().inner());
            let difference = (evaluated - theirs.clone().inner()).abs().max().into_scalar::<f32>();
            assert!(difference < 1e-6, "{difference}");

            let ours = network.forward(images);
            let difference = (ours.clone() - theirs.clone()).abs().max().into_scalar::<f32>();
            assert!(difference < 1e-6, "{difference}");
            for (ours, theirs) in gradients(&network, ours.square().mean()).iter().zip(&expected) {
                let largest = theirs.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert!(ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-5 * largest));
            }
        }
    }

    #[test]
    fn two_passes_add_up_and_a_frozen_layer_gets_no_gradient() {
        let (network, images) = reference(DType::F32);
        let gradient = |passes: Vec<Tensor<2>>| {
            let loss = passes.into_iter().map(Tensor::sum).reduce(|a, b| a + b).unwrap();
            gradients(&network, loss)
        };
        let halves = [images.clone().slice([0..1]), images.clone().slice([1..2])];
        let halves_apart = gradient(halves.map(|half| network.forward(half)).into());
        let together = gradient(vec![network.forward(images.clone())]);
        for (halves_apart, together) in halves_apart.iter().zip(&together) {
            assert!(halves_apart.iter().zip(together).all(|(a, b)| (a - b).abs() < 1e-5 * b.abs().max(1e-2)));
        }

        let frozen = network.clone().freeze_group(ParamGroup::ids_from_module(network.conv1.clone()));
        let mut grads = frozen.forward(images).sum().backward();
        let gradients = GradientsParams::from_module(&mut grads, &frozen);
        assert!(gradients.get::<4>(network.conv1.weight.id).is_none());
        let second = values(gradients.get::<4>(network.conv2.weight.id).map(|g| g.flatten::<1>(0, 3)));
        assert_eq!(second, together[2]);
    }

    #[test]
    fn a_seed_gives_the_same_network_and_torch_bounds() {
        let device = Device::flex();
        let draw = |seed| {
            let network = LeNet5::new(3, &device, &mut ChaCha8Rng::seed_from_u64(seed));
            values(network.conv2.weight.val().flatten::<1>(0, 3))
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        let bound = 1.0 / 150.0_f64.sqrt();
        let largest = draw(3).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(largest <= bound && largest > 0.99 * bound);
    }
}
