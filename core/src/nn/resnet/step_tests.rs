//! Training steps of residual networks, compared with the same steps in Burn's own operations.
#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::activation::relu;
use burn::tensor::module::{batch_norm, batch_norm_train, conv2d, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Block, Depth, PlainConvolution, ResNet, ResNetConfig, Shortcut, Stem};
use crate::nn::checkpoint::flattened;
use crate::nn::layers::BatchNorm;

const IMAGES: usize = 3;

fn network((depth, stem, width): (Depth, Stem, usize), device: &Device) -> ResNet {
    let config = ResNetConfig { depth, stem, channels: 3, width, output: None };
    ResNet::new(&config, device, &mut ChaCha8Rng::seed_from_u64(1))
}

fn images(side: usize, device: &Device) -> Tensor<4> {
    let values: Vec<f32> = (0..IMAGES * 3 * side * side).map(|i| (i as f32 * 0.37).sin()).collect();
    Tensor::from_data(TensorData::new(values, [IMAGES, 3, side, side]), device)
}

/// Length of the difference, relative to the length of the expected vector.
fn error(vector: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(vector.len(), expected.len());
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let difference = square(&mut vector.iter().zip(expected).map(|(a, b)| a - b));
    (difference / square(&mut expected.iter().copied()).max(1e-30)).sqrt()
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.without_autodiff().into_data().iter::<f64>().collect()
}

/// The network in Burn's operations on maps `[n, c, h, w]` of `f64`.
struct Plain<'a> {
    network: &'a ResNet,
    is_training: bool,
}

impl Plain<'_> {
    fn layer(&self, convolution: &PlainConvolution, norm: &BatchNorm, maps: Tensor<4>) -> Tensor<4> {
        let PlainConvolution { weight, stride, padding } = convolution;
        let options = ConvOptions::new([*stride; 2], [*padding; 2], [1; 2], 1);
        let maps = conv2d(maps, weight.val().cast(DType::F64), None, options);
        let of = |parameter: &Option<_>| -> Tensor<1> {
            let parameter: &burn::module::Param<Tensor<1>> = parameter.as_ref().unwrap();
            parameter.val().cast(DType::F64)
        };
        let (gain, shift) = (of(&norm.weight), of(&norm.bias));
        if !self.is_training {
            let running = |value: Tensor<1>| value.cast(DType::F64);
            let (mean, variance) = (norm.running_mean.value_sync(), norm.running_var.value_sync());
            return batch_norm(maps, gain, shift, running(mean), running(variance), 1e-5);
        }
        let [n, _, height, width] = maps.dims();
        let batch = batch_norm_train(maps, gain, shift, 1e-5);
        let of_batch = |value: Tensor<1>| value.cast(DType::F32);
        norm.update_running_statistics(of_batch(batch.mean), of_batch(batch.variance), n * height * width);
        batch.output
    }

    fn block(&self, block: &Block, maps: Tensor<4>) -> Tensor<4> {
        let identity = match block.downsample.as_slice() {
            [Shortcut::Convolution(conv), Shortcut::Normalisation(norm)] => {
                self.layer(conv, norm, maps.clone())
            }
            _ => maps.clone(),
        };
        let hidden = relu(self.layer(&block.conv1, &block.bn1, maps));
        let hidden = self.layer(&block.conv2, &block.bn2, hidden);
        relu(
            identity
                + match (&block.conv3, &block.bn3) {
                    (Some(conv3), Some(bn3)) => self.layer(conv3, bn3, relu(hidden)),
                    _ => hidden,
                },
        )
    }

    fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let network = self.network;
        let mut maps = relu(self.layer(&network.conv1, &network.bn1, images.cast(DType::F64)));
        if network.pool {
            maps = max_pool2d(maps, MaxPoolOptions::new([3; 2]).with_stride([2; 2]).with_padding([1; 2]));
        }
        maps = blocks(network).fold(maps, |maps, block| self.block(block, maps));
        maps.mean_dim(2).mean_dim(3).flatten(1, 3)
    }
}

fn blocks(network: &ResNet) -> impl Iterator<Item = &Block> {
    [&network.layer1, &network.layer2, &network.layer3, &network.layer4].into_iter().flatten()
}

/// The weighted sum whose gradients are compared.
fn loss(embedding: Tensor<2>) -> Tensor<1> {
    let weights: Vec<f64> = (0..embedding.shape().num_elements()).map(|i| (i as f64 * 1.3).cos()).collect();
    let options = (&embedding.device(), embedding.dtype());
    (embedding.clone() * Tensor::from_data(TensorData::new(weights, embedding.dims()), options)).sum()
}

/// Each parameter's gradient and each running statistic after a step, by name; gradients first.
fn step(network: &ResNet, embedding: Tensor<2>) -> Vec<(String, Vec<f64>)> {
    let mut gradients = loss(embedding).backward();
    let parameters = GradientsParams::from_module(&mut gradients, network);
    let (mut convolutions, mut norms) = (vec![&network.conv1], vec![&network.bn1]);
    for block in blocks(network) {
        convolutions.extend([&block.conv1, &block.conv2].into_iter().chain(&block.conv3));
        norms.extend([&block.bn1, &block.bn2].into_iter().chain(&block.bn3));
        for layer in &block.downsample {
            match layer {
                Shortcut::Convolution(convolution) => convolutions.push(convolution),
                Shortcut::Normalisation(norm) => norms.push(norm),
            }
        }
    }
    let mut tensors = Vec::new();
    for (at, convolution) in convolutions.into_iter().enumerate() {
        let gradient = parameters.get::<4>(convolution.weight.id).unwrap();
        tensors.push((format!("convolution {at}"), numbers(gradient)));
    }
    for (at, norm) in norms.into_iter().enumerate() {
        for parameter in [&norm.weight, &norm.bias].into_iter().flatten() {
            let gradient = parameters.get::<1>(parameter.id).unwrap();
            tensors.push((format!("norm {at}"), numbers(gradient)));
        }
    }
    let statistics = flattened("", network).into_iter().filter(|tensor| tensor.name.contains("running"));
    tensors.extend(statistics.map(|tensor| (tensor.name, numbers(tensor.values))));
    tensors
}

/// Layers, and the side of the images.
const CASES: [((Depth, Stem, usize), usize); 5] = [
    ((Depth::Eighteen, Stem::Cifar, 64), 32),
    ((Depth::Eighteen, Stem::CifarPadded, 5), 19),
    ((Depth::Eighteen, Stem::Imagenet, 16), 70),
    ((Depth::ThirtyFour, Stem::Cifar, 8), 16),
    ((Depth::Fifty, Stem::Cifar, 32), 18),
];

/// With rectifiers, gradients of a deep network are sensitive to the input: the error in `f32` is compared with the
/// change of the `f64` gradients when images change by 1e-5.
#[test]
fn a_training_step_equals_autodiff() {
    let device = Device::flex().autodiff();
    for (layers, side) in CASES {
        let images = images(side, &device);
        let expected = |images: Tensor<4>| {
            let network = network(layers, &device);
            let embedding = Plain { network: &network, is_training: true }.forward(images);
            (numbers(embedding.clone()), step(&network, embedding))
        };
        let (expected_embedding, of_expected) = expected(images.clone());
        let (_, moved) = expected(images.clone() + images.clone().mul_scalar(77.0).sin().mul_scalar(1e-5));

        let ours = network(layers, &device);
        let embedding = ours.forward(images);
        let case = format!("{layers:?} {side}");
        let worst = error(&numbers(embedding.clone()), &expected_embedding);
        assert!(worst < 1e-4, "{case}: {worst}");
        let tensors = step(&ours, embedding);
        for (((name, tensor), (_, expected)), (_, moved)) in tensors.iter().zip(&of_expected).zip(&moved) {
            let (worst, unsure) = (error(tensor, expected), error(moved, expected));
            assert!(worst < 1e-4 + unsure, "{case} {name}: {worst}, unsure {unsure}");
        }
    }
}

#[test]
fn evaluation_equals_autodiff_with_gradients_of_images_and_without() {
    let cases = [((Depth::Eighteen, Stem::Cifar, 64), 32), ((Depth::Fifty, Stem::Imagenet, 12), 65)];
    for (layers, side) in cases {
        let device = Device::flex().autodiff();
        let trained = network(layers, &device);
        // Updates the statistics, so that they differ from the initial ones.
        for _ in 0..20 {
            drop(trained.forward(images(side, &device)));
        }
        let trained = trained.valid();
        let plain = Plain { network: &trained, is_training: false };
        let features = numbers(trained.forward(images(side, &Device::flex())));
        let expected = numbers(plain.forward(images(side, &Device::flex())));
        assert!(error(&features, &expected) < 1e-4, "{layers:?}: {}", error(&features, &expected));

        let gradient = |forward: &dyn Fn(Tensor<4>) -> Tensor<2>, moved: f32| {
            let images = images(side, &device);
            let images = images.clone() + images.mul_scalar(77.0).sin().mul_scalar(moved);
            let images = images.detach().require_grad();
            numbers(images.grad(&loss(forward(images.clone())).backward()).unwrap())
        };
        let expected = gradient(&|images| plain.forward(images), 0.0);
        let unsure = error(&gradient(&|images| plain.forward(images), 1e-5), &expected);
        let worst = error(&gradient(&|images| trained.forward(images), 0.0), &expected);
        assert!(worst < 1e-4 + unsure, "{layers:?}: {worst}, unsure {unsure}");
    }
}

#[test]
fn a_network_without_gradients_sees_what_one_that_trains_does() {
    let device = Device::flex().autodiff();
    let (layers, side) = ((Depth::Eighteen, Stem::Imagenet, 16), 65);
    let trains = network(layers, &device);
    let follows = network(layers, &device).set_require_grad(false);
    let expected = trains.forward(images(side, &device));
    let embedding = follows.forward(images(side, &device));
    assert!(!embedding.is_tracked());
    assert_eq!(numbers(embedding), numbers(expected));
    let running = |network: &ResNet| numbers(network.layer3[1].bn2.running_var.value_sync());
    assert_eq!(running(&follows), running(&trains));
}

/// The rest of the network learns as without the frozen layer's gradient.
#[test]
fn a_frozen_layer_has_no_gradient_and_the_others_keep_theirs() {
    let device = Device::flex().autodiff();
    let gradients = |network: &ResNet| {
        let mut gradients = loss(network.forward(images(16, &device))).backward();
        let parameters = GradientsParams::from_module(&mut gradients, network);
        let block = &network.layer2[0];
        [&network.conv1, &block.conv1, &block.conv2]
            .map(|convolution| parameters.get::<4>(convolution.weight.id).map(numbers))
    };
    let mut network = network((Depth::Eighteen, Stem::Cifar, 8), &device);
    let [stem, first, second] = gradients(&network);
    assert!(second.is_some());
    network.layer2[0].conv2.weight = network.layer2[0].conv2.weight.clone().set_require_grad(false);
    assert_eq!(gradients(&network), [stem, first, None]);
}

/// Half precision uses Burn's operations, with statistics and gradients of parameters in `f32`.
#[test]
fn half_precision_gives_the_features_within_its_own() {
    let device = Device::flex().autodiff();
    let [full, half] = [DType::F32, DType::BF16].map(|dtype| {
        let network = network((Depth::Eighteen, Stem::Cifar, 8), &device);
        let embedding = network.forward(images(16, &device).cast(dtype)).cast(DType::F32);
        let mut gradients = loss(embedding.clone()).backward();
        let parameters = GradientsParams::from_module(&mut gradients, &network);
        let gradient = parameters.get::<4>(network.layer1[0].conv2.weight.id).unwrap();
        assert_eq!(gradient.dtype(), DType::F32);
        numbers(embedding)
    });
    assert!(error(&half, &full) < 0.05, "{}", error(&half, &full));
}
