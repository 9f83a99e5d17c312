//! Residual networks on the host, with their gradient written by hand.
//!
//! Burn's convolutions on the CPU take two to four times as long as those of PyTorch. Here the channels of a place lie
//! side by side, 3×3 convolutions at stride 1 have a quarter of the products ([`winograd`]), and what follows a
//! convolution passes over its maps once.

mod convolution;
mod lanes;
mod norm;
mod pool;
mod unfold;
mod winograd;
mod workspace;

use std::sync::Arc;

use burn::module::Param;
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Gradients, Tensor, TensorData};

use self::convolution::Convolution;
use self::norm::Norm;
use self::workspace::Workspace;
use super::{Block, PlainConvolution, ResNet, Shortcut};
use crate::encoder::layers::BatchNorm;
use crate::encoder::maps::{Maps, floats};
use crate::host::is_host;

/// Whether the network can be evaluated here: 32-bit floats in the host's memory, and no gradient of images wanted.
pub(super) fn applies(network: &ResNet, images: &Tensor<4>) -> bool {
    let [n, channels, height, width] = images.dims();
    let [_, expected, ..] = network.conv1.weight.dims();
    images.dtype() == DType::F32
        && network.conv1.weight.val().dtype() == DType::F32
        && n >= FEWEST
        && channels == expected
        && height.min(width) >= SMALLEST_SIDE
        && !images.is_tracked()
        && is_host(&images.device())
}

/// Each image is the work of one thread: fewer than this go by operations that share one out. Where there are no other
/// threads, as in a page, one is enough.
const FEWEST: usize = if cfg!(feature = "rayon") { 8 } else { 1 };
/// Below this a stride has nothing left to step over.
const SMALLEST_SIDE: usize = 8;

/// The pooled maps of the last stage by the running statistics, without a gradient.
pub(super) fn evaluate(network: &ResNet, images: Tensor<4>) -> Tensor<2> {
    let device = images.device();
    let workspace = &mut Workspace::default();
    let images = Maps::of_images(images);
    let mut maps = layer(&network.conv1, &network.bn1, &images, None, true, workspace);
    if network.pool {
        let (maxima, _) = pool::maximum(&maps);
        workspace.recycle(std::mem::replace(&mut maps, maxima));
    }
    for block in network.blocks() {
        let shortcut = match block.downsample.as_slice() {
            [Shortcut::Convolution(conv), Shortcut::Normalisation(norm)] => {
                Some(layer(conv, norm, &maps, None, false, workspace))
            }
            _ => None,
        };
        let identity = Some(shortcut.as_ref().unwrap_or(&maps));
        let mut hidden = layer(&block.conv1, &block.bn1, &maps, None, true, workspace);
        let (mut conv, mut norm) = (&block.conv2, &block.bn2);
        if let (Some(conv3), Some(bn3)) = (&block.conv3, &block.bn3) {
            let next = layer(conv, norm, &hidden, None, true, workspace);
            workspace.recycle(std::mem::replace(&mut hidden, next));
            (conv, norm) = (conv3, bn3);
        }
        let output = layer(conv, norm, &hidden, identity, true, workspace);
        workspace.recycle(hidden);
        if let Some(shortcut) = shortcut {
            workspace.recycle(shortcut);
        }
        workspace.recycle(std::mem::replace(&mut maps, output));
    }
    pooled_features(&maps, &device)
}

/// A convolution with its normalisation by the running statistics, and what follows it.
fn layer(
    convolution: &PlainConvolution,
    norm: &BatchNorm,
    maps: &Maps,
    identity: Option<&Maps>,
    rectified: bool,
    workspace: &mut Workspace,
) -> Maps {
    let mut maps = Convolution::new(convolution).forward(maps, workspace);
    norm::evaluate(norm, &mut maps, identity, rectified);
    maps
}

/// The pooled maps of the last stage as a leaf of the autodiff graph, with what continues from its gradient.
///
/// `None` unless the network trains, all of it.
pub(super) fn record(network: &ResNet, images: Tensor<4>) -> Option<Tape> {
    let device = images.device();
    if !network.bn1.trains(&device) || network.wanted().contains(&false) {
        return None;
    }
    let mut blocks = Vec::new();
    let Walk { stem, pooled, last } = walk(network, images, |block| blocks.push(block))?;
    let features = pooled_features(&last, &device).require_grad();
    Some(Tape { stem, pooled, blocks, last, features })
}

/// The pooled maps of the last stage by the statistics of the batch, of a network that follows another one.
///
/// `None` if a gradient is wanted of any of it.
pub(super) fn observe(network: &ResNet, images: Tensor<4>) -> Option<Tensor<2>> {
    let device = images.device();
    if !network.bn1.trains(&device) || network.wanted().contains(&true) {
        return None;
    }
    walk(network, images, drop).map(|Walk { last, .. }| pooled_features(&last, &device))
}

/// What the ends of a pass leave.
struct Walk {
    stem: Layer,
    pooled: Option<Vec<u8>>,
    last: Arc<Maps>,
}

/// A pass by the statistics of the batch, which the running ones follow; every block is handed to `keep`.
fn walk(network: &ResNet, images: Tensor<4>, mut keep: impl FnMut(KeptBlock)) -> Option<Walk> {
    let images = Arc::new(Maps::of_images(images));
    let workspace = &mut Workspace::default();
    let (stem, mut maps) = Layer::forward(&network.conv1, &network.bn1, &images, None, true, workspace)?;
    let mut pooled = None;
    if network.pool {
        let (maxima, sources) = pool::maximum(&maps);
        pooled = Some(sources);
        maps = Arc::new(maxima);
    }
    for block in network.blocks() {
        let (kept, output) = KeptBlock::forward(block, &maps, workspace)?;
        keep(kept);
        maps = output;
    }
    Some(Walk { stem, pooled, last: maps })
}

fn pooled_features(maps: &Maps, device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(pool::mean(maps), [maps.n, maps.channels]), device)
}

impl ResNet {
    fn blocks(&self) -> impl Iterator<Item = &Block> {
        [&self.layer1, &self.layer2, &self.layer3, &self.layer4].into_iter().flatten()
    }

    /// Of each convolution and normalisation, whether its gradient is wanted.
    fn wanted(&self) -> Vec<bool> {
        let (mut convolutions, mut norms) = (vec![&self.conv1], vec![&self.bn1]);
        for block in self.blocks() {
            convolutions.extend([&block.conv1, &block.conv2].into_iter().chain(&block.conv3));
            norms.extend([&block.bn1, &block.bn2].into_iter().chain(&block.bn3));
            for layer in &block.downsample {
                match layer {
                    Shortcut::Convolution(convolution) => convolutions.push(convolution),
                    Shortcut::Normalisation(norm) => norms.push(norm),
                }
            }
        }
        let of_norms = norms.into_iter().flat_map(|norm| [&norm.weight, &norm.bias]);
        let of_norms = of_norms.map(|parameter| parameter.as_ref().is_some_and(is_wanted));
        convolutions.into_iter().map(|convolution| is_wanted(&convolution.weight)).chain(of_norms).collect()
    }
}

fn is_wanted<const D: usize>(parameter: &Param<Tensor<D>>) -> bool {
    parameter.val().is_require_grad()
}

/// What a training step keeps to carry the gradient of the features back through the network.
#[derive(Debug)]
pub(crate) struct Tape {
    stem: Layer,
    /// Where the maxima after the first convolution came from, if it has a pool.
    pooled: Option<Vec<u8>>,
    blocks: Vec<KeptBlock>,
    /// The maps before the last pool.
    last: Arc<Maps>,
    features: Tensor<2>,
}

impl Tape {
    /// The leaf, `[n, features]`.
    pub(super) fn features(&self) -> Tensor<2> {
        self.features.clone()
    }

    /// Takes the gradient of the leaf and adds those of all layers.
    pub(crate) fn finish(self, gradients: &mut Gradients, parameters: &mut GradientsParams) {
        let Some(upstream) = self.features.grad_remove(gradients) else { return };
        let mut upstream = pool::of_mean(&self.last, floats(&upstream.into_data()));
        let found = &mut Found { parameters, workspace: Workspace::default() };
        for block in self.blocks.into_iter().rev() {
            upstream = block.backward(upstream, found);
        }
        if let Some(sources) = &self.pooled {
            upstream = pool::of_maximum(&self.stem.output, &upstream, sources);
        }
        self.stem.backward(&mut upstream, None, found);
    }
}

/// What the way back fills.
struct Found<'a> {
    parameters: &'a mut GradientsParams,
    workspace: Workspace,
}

/// A convolution with its normalisation.
#[derive(Debug)]
struct Layer {
    input: Arc<Maps>,
    convolution: Convolution,
    /// What came of the convolution.
    maps: Maps,
    norm: Norm,
    rectified: bool,
    output: Arc<Maps>,
}

impl Layer {
    fn forward(
        convolution: &PlainConvolution,
        norm: &BatchNorm,
        input: &Arc<Maps>,
        identity: Option<&Maps>,
        rectified: bool,
        workspace: &mut Workspace,
    ) -> Option<(Self, Arc<Maps>)> {
        let convolution = Convolution::new(convolution);
        let maps = convolution.forward(input, workspace);
        let norm = Norm::observe(norm, &maps)?;
        let mut output = workspace.maps_like(&maps);
        norm.forward(&maps, identity, rectified, &mut output);
        let output = Arc::new(output);
        let kept = Self { input: input.clone(), convolution, maps, norm, rectified, output: output.clone() };
        Some((kept, output))
    }

    /// Adds the gradient of the input to `of_input`, if it is wanted; `upstream` becomes that of the identity.
    fn backward(self, upstream: &mut Maps, of_input: Option<&mut Maps>, found: &mut Found) {
        let Found { parameters, workspace } = found;
        let output = self.rectified.then_some(&*self.output);
        let mut of_maps = workspace.maps_like(&self.maps);
        self.norm.backward(&self.maps, output, upstream, parameters, &mut of_maps);
        self.convolution.backward(&self.input, &of_maps, of_input, parameters, &mut workspace.kernel);
        workspace.recycle(of_maps);
        workspace.recycle(self.maps);
        // The output of one layer is the input of the next, which has had its turn.
        if let Some(output) = Arc::into_inner(self.output) {
            workspace.recycle(output);
        }
    }
}

/// A block in a training step.
#[derive(Debug)]
struct KeptBlock {
    shortcut: Option<Layer>,
    first: Layer,
    /// The 3×3 convolution of a bottleneck.
    middle: Option<Layer>,
    last: Layer,
}

impl KeptBlock {
    fn forward(block: &Block, input: &Arc<Maps>, workspace: &mut Workspace) -> Option<(Self, Arc<Maps>)> {
        let shortcut = match block.downsample.as_slice() {
            [Shortcut::Convolution(conv), Shortcut::Normalisation(norm)] => {
                Some(Layer::forward(conv, norm, input, None, false, workspace)?.0)
            }
            _ => None,
        };
        let identity = shortcut.as_ref().map_or(input, |layer| &layer.output).clone();
        let (first, hidden) = Layer::forward(&block.conv1, &block.bn1, input, None, true, workspace)?;
        let (conv2, bn2) = (&block.conv2, &block.bn2);
        let (middle, (last, output)) = match (&block.conv3, &block.bn3) {
            (Some(conv3), Some(bn3)) => {
                let (middle, hidden) = Layer::forward(conv2, bn2, &hidden, None, true, workspace)?;
                (Some(middle), Layer::forward(conv3, bn3, &hidden, Some(&identity), true, workspace)?)
            }
            _ => (None, Layer::forward(conv2, bn2, &hidden, Some(&identity), true, workspace)?),
        };
        Some((Self { shortcut, first, middle, last }, output))
    }

    /// The gradient of the block's input from that of its output.
    fn backward(self, upstream: Maps, found: &mut Found) -> Maps {
        let mut of_identity = upstream;
        let mut hidden = found.workspace.zeros_like(&self.last.input);
        self.last.backward(&mut of_identity, Some(&mut hidden), found);
        if let Some(middle) = self.middle {
            let mut of_middle = found.workspace.zeros_like(&middle.input);
            middle.backward(&mut hidden, Some(&mut of_middle), found);
            found.workspace.recycle(std::mem::replace(&mut hidden, of_middle));
        }
        let mut of_input = of_identity;
        if let Some(shortcut) = self.shortcut {
            let mut of_shortcut = found.workspace.zeros_like(&shortcut.input);
            shortcut.backward(&mut of_input, Some(&mut of_shortcut), found);
            found.workspace.recycle(std::mem::replace(&mut of_input, of_shortcut));
        }
        self.first.backward(&mut hidden, Some(&mut of_input), found);
        found.workspace.recycle(hidden);
        of_input
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::module::Module;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::super::{Depth, ResNetConfig, Stem};
    use super::*;
    use crate::checkpoint::flattened;

    const IMAGES: usize = 8;

    fn network(depth: Depth, stem: Stem, device: &Device) -> ResNet {
        let config = ResNetConfig { depth, stem, channels: 3, output: None };
        ResNet::new(&config, device, &mut ChaCha8Rng::seed_from_u64(1))
    }

    fn images(side: usize, device: &Device) -> Tensor<4> {
        let values: Vec<f32> = (0..IMAGES * 3 * side * side).map(|i| (i as f32 * 0.37).sin()).collect();
        Tensor::from_data(TensorData::new(values, [IMAGES, 3, side, side]), device)
    }

    /// Length of the difference beside the length of what is expected.
    fn error(found: &[f32], expected: &[f32]) -> f64 {
        assert_eq!(found.len(), expected.len());
        let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
        let difference = square(&mut found.iter().zip(expected).map(|(a, b)| f64::from(a - b)));
        (difference / square(&mut expected.iter().map(|&v| f64::from(v)))).sqrt()
    }

    fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        floats(&tensor.without_autodiff().into_data()).to_vec()
    }

    /// Each parameter's gradient and each running statistic after a step, by name; gradients first.
    fn step(network: &ResNet, embedding: Tensor<2>, tape: Option<Tape>) -> Vec<(String, Vec<f32>)> {
        let weights: Vec<f32> =
            (0..embedding.shape().num_elements()).map(|i| (i as f32 * 1.3).cos()).collect();
        let weights = Tensor::from_data(TensorData::new(weights, embedding.dims()), &embedding.device());
        let mut gradients = (embedding * weights).sum().backward();
        let mut parameters = GradientsParams::from_module(&mut gradients, network);
        if let Some(tape) = tape {
            tape.finish(&mut gradients, &mut parameters);
        }
        let convs =
            [("conv1", &network.conv1.weight)].into_iter().chain(network.blocks().flat_map(|block| {
                let third = block.conv3.as_ref().map(|conv| ("conv3", &conv.weight));
                [("conv1", &block.conv1.weight), ("conv2", &block.conv2.weight)].into_iter().chain(third)
            }));
        let mut found: Vec<(String, Vec<f32>)> = convs
            .map(|(name, weight)| (name.into(), numbers(parameters.get::<4>(weight.id).unwrap())))
            .collect();
        for (at, block) in network.blocks().enumerate() {
            let mut norms = vec![&block.bn1, &block.bn2];
            norms.extend(&block.bn3);
            for layer in &block.downsample {
                match layer {
                    Shortcut::Convolution(conv) => {
                        found
                            .push(("shortcut".into(), numbers(parameters.get::<4>(conv.weight.id).unwrap())));
                    }
                    Shortcut::Normalisation(norm) => norms.push(norm),
                }
            }
            for norm in norms {
                for parameter in [&norm.weight, &norm.bias].into_iter().flatten() {
                    found
                        .push((format!("norm of {at}"), numbers(parameters.get::<1>(parameter.id).unwrap())));
                }
            }
        }
        let statistics = flattened("", network).into_iter().filter(|tensor| tensor.name.contains("running"));
        found.extend(statistics.map(|tensor| (tensor.name, numbers(tensor.values))));
        found
    }

    /// Through rectifiers, gradients of a deep network are as sure as its inputs: ours differ from those of autodiff as those
    /// do from themselves once images have moved by a hundred thousandth.
    #[test]
    fn a_training_step_equals_autodiff() {
        let device = Device::flex().autodiff();
        for (depth, stem, side) in [
            (Depth::Eighteen, Stem::Cifar, 32),
            (Depth::Eighteen, Stem::CifarPadded, 19),
            (Depth::Eighteen, Stem::Imagenet, 70),
            (Depth::Fifty, Stem::Cifar, 18),
        ] {
            let images = images(side, &device);
            let by_autodiff = |images: Tensor<4>| {
                let network = network(depth, stem, &device);
                let embedding = network.forward(images);
                (numbers(embedding.clone()), step(&network, embedding, None))
            };
            let (expected_embedding, expected) = by_autodiff(images.clone());
            let (_, moved) =
                by_autodiff(images.clone() + images.clone().mul_scalar(77.0).sin().mul_scalar(1e-5));

            let ours = network(depth, stem, &device);
            let (embedding, tape) = ours.record(images);
            assert!(tape.is_some());
            let case = format!("{depth:?} {stem:?} {side}");
            let worst = error(&numbers(embedding.clone()), &expected_embedding);
            assert!(worst < 1e-4, "{case}: {worst}");
            let found = step(&ours, embedding, tape);
            for (((name, found), (_, expected)), (_, moved)) in found.iter().zip(&expected).zip(&moved) {
                let (worst, unsure) = (error(found, expected), error(moved, expected));
                assert!(worst < 1e-4 + unsure, "{case} {name}: {worst}, unsure {unsure}");
            }
        }
    }

    #[test]
    fn evaluation_equals_that_of_the_backend() {
        for (depth, stem, side) in [(Depth::Eighteen, Stem::Cifar, 32), (Depth::Fifty, Stem::Imagenet, 65)] {
            let device = Device::flex().autodiff();
            let trained = network(depth, stem, &device);
            // Statistics of a batch, so that they are not those of the start.
            for _ in 0..20 {
                drop(trained.forward(images(side, &device)));
            }
            let trained = trained.valid();
            let found = trained.forward(images(side, &Device::flex()));
            let expected = trained.forward(images(side, &device));
            let worst = error(&numbers(found), &numbers(expected));
            assert!(worst < 1e-4, "{depth:?} {stem:?}: {worst}");
        }
    }

    #[test]
    fn a_network_without_gradients_sees_what_one_that_trains_does() {
        let device = Device::flex().autodiff();
        for (depth, stem, side) in [(Depth::Eighteen, Stem::Cifar, 32), (Depth::Fifty, Stem::Imagenet, 65)] {
            let trains = network(depth, stem, &device);
            let follows = network(depth, stem, &device).set_require_grad(false);
            let expected = trains.forward(images(side, &device));
            assert!(observe(&trains, images(side, &device)).is_none());
            let found = observe(&follows, images(side, &device)).unwrap();
            assert!(!found.is_tracked());
            let worst = error(&numbers(found), &numbers(expected));
            assert!(worst < 1e-4, "{depth:?} {stem:?}: {worst}");
            let running = |network: &ResNet| numbers(network.layer3[1].bn2.running_var.value_sync());
            let worst = error(&running(&follows), &running(&trains));
            assert!(worst < 1e-4, "{depth:?} {stem:?}, running: {worst}");
        }
    }

    #[test]
    fn a_network_of_which_a_part_is_frozen_leaves_no_tape() {
        let device = Device::flex().autodiff();
        let mut frozen = network(Depth::Eighteen, Stem::Cifar, &device);
        assert!(frozen.record(images(16, &device)).1.is_some());
        frozen.layer2[0].conv2.weight = frozen.layer2[0].conv2.weight.clone().set_require_grad(false);
        assert!(frozen.record(images(16, &device)).1.is_none());
        let evaluating = network(Depth::Eighteen, Stem::Cifar, &device).valid();
        assert!(evaluating.record(images(16, &device)).1.is_none());
    }
}
