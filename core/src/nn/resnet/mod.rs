//! Residual networks (He et al., *Deep Residual Learning for Image Recognition*, 2016, table 1) with torchvision's
//! layers and tensor names, without the classifier: `[n, 512]` for 18 and 34 layers, `[n, 2048]` for 50 and 101 at the paper's
//! width of 64 channels. Other widths multiply the channels of all layers, as in SimCLR (Chen et al. 2020, figure 7).
//!
//! As in torchvision, the stride of a bottleneck lies in its 3×3 convolution ("v1.5"), convolutions have no bias
//! and start from a normal of variance `2 / (k² out)` (He et al. 2015, fan-out), and the gain of the last
//! normalisation of a block starts at 1. The four works change the [`Stem`]; Decoupled Uniformity adds a linear
//! layer of 2048 features at the end, which is part of the encoder and of its evaluation.

mod design;
#[cfg(test)]
mod step_tests;

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use simile_kernels::{Epilogue, Windows, convolve, max_pool, mean_pool};

pub(crate) use self::design::{
    ResNet18Design, ResNet34Design, ResNet50Design, ResNet101Design, layers_and_blocks,
};
pub use super::design::Stem;
use super::gradient_sections::Section;
use super::initial::InitialValues;
use super::layers::{BatchNorm, Linear, in_type_of, normal_fan_out};
use super::norm_steps::{Flow, Segment, Step};
use super::work::Window;

/// Number of layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// 8 blocks of two convolutions.
    Eighteen,
    /// 16 blocks of two convolutions.
    ThirtyFour,
    /// 16 blocks of three convolutions.
    Fifty,
    /// 33 blocks of three convolutions.
    HundredOne,
}

/// The layers of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Two 3×3 convolutions.
    Basic,
    /// 1×1, 3×3 and 1×1, the last of which has four times the width.
    Bottleneck,
}

/// Channels of the first stage in the paper.
const WIDTH: usize = 64;
/// The windows of a 3×3 convolution, or of the maximum after the stem.
const THREE: Window = Window { kernel: 3, stride: 1, padding: 1 };
const HALVING: Window = Window { stride: 2, ..THREE };

impl Depth {
    /// The kind of all blocks, and how many each stage has (table 1 of the paper).
    fn stages(self) -> (Kind, [usize; 4]) {
        match self {
            Self::Eighteen => (Kind::Basic, [2, 2, 2, 2]),
            Self::ThirtyFour => (Kind::Basic, [3, 4, 6, 3]),
            Self::Fifty => (Kind::Bottleneck, [3, 4, 6, 3]),
            Self::HundredOne => (Kind::Bottleneck, [3, 4, 23, 3]),
        }
    }

    fn kind(self) -> Kind {
        self.stages().0
    }

    fn blocks(self) -> [usize; 4] {
        self.stages().1
    }
}

impl Kind {
    /// Outputs of a block for each of its width.
    fn expansion(self) -> usize {
        match self {
            Self::Basic => 1,
            Self::Bottleneck => 4,
        }
    }
}

/// A convolution without bias, `weight` `[out, in, k, k]`.
#[derive(Module, Debug)]
pub struct PlainConvolution {
    weight: Param<Tensor<4>>,
    stride: usize,
    padding: usize,
}

/// Shape of a [`PlainConvolution`].
#[derive(Debug, Clone, Copy)]
struct Shape {
    inputs: usize,
    outputs: usize,
    kernel: usize,
    stride: usize,
}

impl PlainConvolution {
    /// A convolution padded by half of the kernel.
    fn new(shape: Shape, device: &Device, initial: &mut impl InitialValues) -> Self {
        let Shape { inputs, outputs, kernel, stride } = shape;
        let weight = normal_fan_out([outputs, inputs, kernel, kernel], device, initial);
        Self { weight, stride, padding: kernel / 2 }
    }

    /// The convolution of maps `[n, h, w, channels]`.
    fn alone(&self, maps: Tensor<4>) -> Tensor<4> {
        let weight = in_type_of(&self.weight, &maps);
        convolve(maps, weight, None, Windows { stride: self.stride, padding: self.padding })
    }

    /// The convolution of rectified maps, as a step.
    fn rectified(&self) -> Step<'_> {
        Step::of(|flow| flow.through(|maps| self.alone(relu(maps))))
    }

    /// The convolution of maps `[n, h, w, channels]`, normalised, with the next steps of the block.
    fn forward(&self, norm: &BatchNorm, maps: Tensor<4>, epilogue: Epilogue) -> Tensor<4> {
        let weight = in_type_of(&self.weight, &maps);
        let windows = Windows { stride: self.stride, padding: self.padding };
        norm.after_convolution(maps, (weight, None), windows, epilogue)
    }
}

/// One member of torchvision's sequence `downsample`: `downsample.0` or `downsample.1`.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "a network has four pairs of them")]
enum Shortcut {
    Convolution(PlainConvolution),
    Normalisation(BatchNorm),
}

/// A residual block; the third layer is that of a bottleneck.
#[derive(Module, Debug)]
struct Block {
    conv1: PlainConvolution,
    bn1: BatchNorm,
    conv2: PlainConvolution,
    bn2: BatchNorm,
    conv3: Option<PlainConvolution>,
    bn3: Option<BatchNorm>,
    downsample: Vec<Shortcut>,
}

impl Block {
    fn new(
        kind: Kind,
        inputs: usize,
        width: usize,
        stride: usize,
        device: &Device,
        initial: &mut impl InitialValues,
    ) -> Self {
        let outputs = width * kind.expansion();
        let mut convolution = |inputs, outputs, kernel, stride| {
            PlainConvolution::new(Shape { inputs, outputs, kernel, stride }, device, initial)
        };
        let norm = |features| BatchNorm::new(features, device);
        let (conv1, conv2, conv3) = match kind {
            Kind::Basic => (convolution(inputs, width, 3, stride), convolution(width, width, 3, 1), None),
            Kind::Bottleneck => (
                convolution(inputs, width, 1, 1),
                convolution(width, width, 3, stride),
                Some(convolution(width, outputs, 1, 1)),
            ),
        };
        let downsample = if stride == 1 && inputs == outputs {
            Vec::new()
        } else {
            let shortcut = convolution(inputs, outputs, 1, stride);
            vec![Shortcut::Convolution(shortcut), Shortcut::Normalisation(norm(outputs))]
        };
        let bn3 = conv3.is_some().then(|| norm(outputs));
        Self { conv1, bn1: norm(width), conv2, bn2: norm(width), conv3, bn3, downsample }
    }

    /// The block in steps, beside the other branch: each begins with the norm of the convolution before it.
    fn segment(&self) -> Segment<'_> {
        let (shortcut, shortcut_norm) = match self.downsample.as_slice() {
            [Shortcut::Convolution(conv), Shortcut::Normalisation(norm)] => (Some(conv), Some(norm)),
            _ => (None, None),
        };
        let first = Step::of(move |Flow { maps, .. }| {
            let branch = shortcut.map_or_else(|| maps.clone(), |conv| conv.alone(maps.clone()));
            Flow { maps: self.conv1.alone(maps), branch: Some(branch) }
        });
        let last = Step::of(|Flow { maps, branch }| match branch {
            Some(branch) => relu(maps + branch).into(),
            None => relu(maps).into(),
        });
        let second = self.conv2.rectified().after(&self.bn1).after_branch(shortcut_norm);
        match (&self.conv3, &self.bn3) {
            (Some(conv3), Some(bn3)) => {
                vec![first, second, conv3.rectified().after(&self.bn2), last.after(bn3)]
            }
            _ => vec![first, second, last.after(&self.bn2)],
        }
    }

    fn forward(&self, maps: Tensor<4>) -> Tensor<4> {
        let identity = match self.downsample.as_slice() {
            [Shortcut::Convolution(conv), Shortcut::Normalisation(norm)] => {
                conv.forward(norm, maps.clone(), Epilogue::none())
            }
            _ => maps.clone(),
        };
        let hidden = self.conv1.forward(&self.bn1, maps, Epilogue::rectified());
        match (&self.conv3, &self.bn3) {
            (Some(conv3), Some(bn3)) => {
                let hidden = self.conv2.forward(&self.bn2, hidden, Epilogue::rectified());
                conv3.forward(bn3, hidden, Epilogue::added_and_rectified(identity))
            }
            _ => self.conv2.forward(&self.bn2, hidden, Epilogue::added_and_rectified(identity)),
        }
    }
}

/// A residual network. Tensor names are torchvision's, so that its checkpoints load both ways.
#[derive(Module, Debug)]
pub struct ResNet {
    conv1: PlainConvolution,
    bn1: BatchNorm,
    layer1: Vec<Block>,
    layer2: Vec<Block>,
    layer3: Vec<Block>,
    layer4: Vec<Block>,
    fc: Option<Linear>,
    pool: bool,
}

/// Settings of a [`ResNet`].
#[derive(Debug, Clone, Copy)]
pub struct ResNetConfig {
    /// The number of layers.
    pub depth: Depth,
    /// The first layers.
    pub stem: Stem,
    /// Channels of the images.
    pub channels: usize,
    /// Channels of the first stage, 64 in the paper.
    pub width: usize,
    /// Width of a linear layer at the end; without it the embedding is the pooled last stage.
    pub output: Option<usize>,
}

impl ResNetConfig {
    /// Widths of the four stages.
    fn widths(&self) -> [usize; 4] {
        [1, 2, 4, 8].map(|times| times * self.width)
    }

    /// Number of features after the last stage.
    fn features(&self) -> usize {
        self.widths()[3] * self.depth.kind().expansion()
    }

    /// The width and the stride of each block.
    fn plan(&self) -> impl Iterator<Item = (usize, usize)> {
        let stages = self.widths().into_iter().zip(self.depth.blocks()).enumerate();
        stages.flat_map(|(stage, (width, blocks))| {
            (0..blocks).map(move |block| (width, if block == 0 && stage > 0 { 2 } else { 1 }))
        })
    }
}

impl ResNet {
    /// A network with torchvision's initialisation, drawn from the caller's generator.
    pub fn new(config: &ResNetConfig, device: &Device, initial: &mut impl InitialValues) -> Self {
        let ResNetConfig { depth, stem, channels, width, output } = *config;
        let Window { kernel, stride, padding } = stem.window();
        let shape = Shape { inputs: channels, outputs: width, kernel, stride };
        let mut conv1 = PlainConvolution::new(shape, device, initial);
        conv1.padding = padding;
        let mut inputs = width;
        let mut stage = |index: usize| -> Vec<Block> {
            let width = config.widths()[index];
            let blocks = (0..depth.blocks()[index]).map(|block| {
                let stride = if block == 0 && index > 0 { 2 } else { 1 };
                let block = Block::new(depth.kind(), inputs, width, stride, device, initial);
                inputs = width * depth.kind().expansion();
                block
            });
            blocks.collect()
        };
        let [layer1, layer2, layer3, layer4] = [0, 1, 2, 3].map(&mut stage);
        Self {
            conv1,
            bn1: BatchNorm::new(width, device),
            layer1,
            layer2,
            layer3,
            layer4,
            fc: output.map(|outputs| Linear::new(config.features(), outputs, device, initial)),
            pool: stem == Stem::Imagenet,
        }
    }

    /// `[n, channels, h, w]` to `[n, features]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        self.end(self.blocks().fold(self.stem(images), |maps, block| block.forward(maps)))
    }

    fn stem(&self, images: Tensor<4>) -> Tensor<4> {
        let maps = self.conv1.forward(&self.bn1, images.permute([0, 2, 3, 1]), Epilogue::rectified());
        if self.pool { max_pool(maps, 3, Windows { stride: 2, padding: 1 }) } else { maps }
    }

    fn blocks(&self) -> impl Iterator<Item = &Block> {
        [&self.layer1, &self.layer2, &self.layer3, &self.layer4].into_iter().flatten()
    }

    fn end(&self, maps: Tensor<4>) -> Tensor<2> {
        let pooled = mean_pool(maps);
        match &self.fc {
            Some(fc) => fc.forward(pooled),
            None => pooled,
        }
    }

    /// A section for the stem, for each block, and for the end.
    fn sections(&self) -> Vec<Section<'_>> {
        let stem = Section::of(|images| self.stem(images)).with(&self.conv1).with(&self.bn1);
        let blocks = self.blocks().map(|block| Section::of(|maps| block.forward(maps)).with(block));
        let end = Section::of(|maps| Flow::from_rows(self.end(maps)).maps).with(&self.fc);
        std::iter::once(stem).chain(blocks).chain([end]).collect()
    }

    /// A segment for the stem, for each block, and for the end.
    fn segments(&self) -> Vec<Segment<'_>> {
        let convolution =
            Step::of(|flow| flow.through(|images| self.conv1.alone(images.permute([0, 2, 3, 1]))));
        let pooled = Step::of(|flow| {
            flow.through(|maps| match self.pool {
                true => max_pool(relu(maps), 3, Windows { stride: 2, padding: 1 }),
                false => relu(maps),
            })
        });
        let end = Step::of(|flow| Flow::from_rows(self.end(flow.maps)));
        let blocks = self.blocks().map(Block::segment);
        std::iter::once(vec![convolution, pooled.after(&self.bn1)]).chain(blocks).chain([vec![end]]).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, TensorData};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use safetensors::{Dtype, SafeTensors, tensor::TensorView};

    use super::*;
    use crate::nn::checkpoint::{Checkpoint, ImportedEncoder, Metadata, Weights};
    use crate::nn::{EncoderConfig, noise};
    use crate::numeric::matrix::Matrix;

    fn config(depth: Depth, stem: Stem, output: Option<usize>) -> ResNetConfig {
        ResNetConfig { depth, stem, channels: 3, width: WIDTH, output }
    }

    fn network(depth: Depth, stem: Stem, output: Option<usize>) -> ResNet {
        ResNet::new(&config(depth, stem, output), &Device::flex(), &mut ChaCha8Rng::seed_from_u64(1))
    }

    fn images(side: usize) -> Tensor<4> {
        let values: Vec<f32> = (0..2 * 3 * side * side).map(|i| (i as f32 * 0.37).sin()).collect();
        Tensor::from_data(TensorData::new(values, [2, 3, side, side]), (&Device::flex(), DType::F32))
    }

    /// torchvision's counts, 11,689,512 for 18 layers and so on, without the classifier's 1000 · (features + 1).
    #[test]
    fn parameters_are_as_many_as_torchvisions() {
        for (depth, with_classifier) in [
            (Depth::Eighteen, 11_689_512),
            (Depth::ThirtyFour, 21_797_672),
            (Depth::Fifty, 25_557_032),
            (Depth::HundredOne, 44_549_160),
        ] {
            let expected = with_classifier - 1000 * (config(depth, Stem::Imagenet, None).features() + 1);
            // Running statistics are not parameters in torchvision, but tensors in Burn: as many as gains and
            // shifts.
            let network = network(depth, Stem::Imagenet, None);
            let statistics = 2 * norms(&network);
            assert_eq!(network.num_params(), expected + statistics, "{depth:?}");
        }
    }

    /// Features of all normalisations together.
    fn norms(network: &ResNet) -> usize {
        let of = |norm: &BatchNorm| norm.weight.as_ref().map_or(0, |gain| gain.val().dims()[0]);
        let blocks = [&network.layer1, &network.layer2, &network.layer3, &network.layer4];
        let of_block = |block: &Block| {
            let shortcut = block.downsample.iter().map(|layer| match layer {
                Shortcut::Convolution(_) => 0,
                Shortcut::Normalisation(norm) => of(norm),
            });
            of(&block.bn1) + of(&block.bn2) + block.bn3.as_ref().map_or(0, of) + shortcut.sum::<usize>()
        };
        of(&network.bn1) + blocks.into_iter().flatten().map(of_block).sum::<usize>()
    }

    fn value(name: &str, shape: &[usize]) -> Vec<u8> {
        let noise = noise(shape.iter().product(), name.bytes().map(u32::from).sum());
        let scaled = |v: f64| match shape {
            _ if name.ends_with("running_var") => 1.0 + 0.5 * v,
            [_, inputs, height, width] => v * (6.0 / (inputs * height * width) as f64).sqrt(),
            _ if name.ends_with("weight") => 1.0 + 0.2 * v,
            _ => 0.1 * v,
        };
        noise.into_iter().flat_map(|v| (scaled(v) as f32).to_le_bytes()).collect()
    }

    #[derive(serde::Deserialize)]
    struct Reference {
        cases: Vec<Case>,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        encoder: crate::nn::Architecture,
        input_size: usize,
        largest: f64,
        first: Vec<Vec<f64>>,
        sum: Vec<f64>,
    }

    /// The same tensors under torchvision's names give torchvision's features.
    #[test]
    fn an_imported_network_gives_torchvisions_features() {
        let json = include_str!("../../../../tests/vectors/resnet.json");
        for case in serde_json::from_str::<Reference>(json).unwrap().cases {
            let side = case.input_size;
            let config = EncoderConfig { name: case.encoder, input_size: side, ..EncoderConfig::default() };
            let device = Device::flex();
            let encoder = config.init(&device, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
            let metadata = Metadata::new(config, vec![0.0; 3], vec![1.0; 3]);
            let blank = Checkpoint { metadata: metadata.clone(), encoder, head: None };
            let bytes = pollster::block_on(blank.to_bytes()).unwrap();

            let file = SafeTensors::deserialize(&bytes).unwrap();
            let values: Vec<(&str, Vec<usize>, Vec<u8>)> = (file.iter())
                .map(|(name, view)| (name, view.shape().to_vec(), value(name, view.shape())))
                .collect();
            let views = values.iter().map(|(name, shape, bytes)| {
                (*name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap())
            });
            let file = safetensors::serialize(views.collect::<Vec<_>>(), None).unwrap();
            let weights = Weights::from_safetensors(&file).unwrap();
            let ImportedEncoder { checkpoint: imported, unused, .. } =
                weights.into_encoder(metadata, None, &device).unwrap();
            assert!(unused.is_empty(), "{unused:?}");

            let pixels: Vec<f32> = noise(2 * 3 * side * side, 0).into_iter().map(|v| v as f32).collect();
            let images = Tensor::from_data(TensorData::new(pixels, [2, 3, side, side]), &device);
            let features = Matrix::from_data(&imported.encoder.forward(images).into_data()).unwrap();
            for (row, (first, sum)) in features.iter_rows().zip(case.first.iter().zip(&case.sum)) {
                let pairs = row.iter().zip(first);
                let worst = pairs.map(|(feature, expected)| (feature - expected).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-4 * case.largest, "{:?}: {worst}", case.encoder);
                assert!((row.iter().sum::<f64>() - sum).abs() < 1e-4 * sum, "{:?}", case.encoder);
            }
        }
    }

    #[test]
    fn stems_and_ends_decide_the_shapes() {
        for (stem, output, features) in
            [(Stem::Imagenet, None, 512), (Stem::Cifar, None, 512), (Stem::CifarPadded, Some(2048), 2048)]
        {
            assert_eq!(network(Depth::Eighteen, stem, output).forward(images(32)).dims(), [2, features]);
        }
    }
}
