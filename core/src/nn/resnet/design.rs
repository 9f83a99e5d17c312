//! Finds residual networks by name and by their tensors, and computes their cost for one image.

use std::collections::BTreeSet;

use burn::tensor::Device;

use super::{Depth, HALVING, Kind, ResNet, ResNetConfig, Stem, THREE, WIDTH};
use crate::nn::activations::Activations;
use crate::nn::design::{Design, Settings, Shapes};
use crate::nn::gradient_sections::Section;
use crate::nn::initial::InitialValues;
use crate::nn::norm_steps::Segments;
use crate::nn::operations::Operation;
use crate::nn::work::{Layers, Window, Work};

/// The kind of network that messages speak of.
const FAMILY: &str = "resnet";
/// All depths in PyTorch.
const PYTORCH: &str = include_str!("resnet.py");

impl ResNetConfig {
    fn of(depth: Depth, settings: &Settings) -> Self {
        let Settings { channels, stem, width, output, .. } = *settings;
        Self { depth, stem: stem.unwrap_or_default(), channels, width: width.unwrap_or(WIDTH), output }
    }

    fn activations(&self, side: usize) -> Activations {
        let image = Activations::from_image(self.channels, side);
        let mut side = self.stem.window().after(side);
        let mut activations = image.and(2, self.width * side.pow(2));
        if self.stem == Stem::Imagenet {
            // Values and their sources.
            side = HALVING.after(side);
            activations = activations.and(2, self.width * side.pow(2));
        }
        let (kind, mut inputs) = (self.depth.kind(), self.width);
        for (width, stride) in self.plan() {
            let outputs = width * kind.expansion();
            let after = Window { stride, ..THREE }.after(side);
            activations = match kind {
                Kind::Basic => activations.and(4, width * after.pow(2)),
                Kind::Bottleneck => activations
                    .and(2, width * side.pow(2))
                    .and(2, width * after.pow(2))
                    .and(2, outputs * after.pow(2)),
            };
            if stride > 1 || inputs != outputs {
                // The normalised shortcut is added, and no gradient needs it.
                activations = activations.and(1, outputs * after.pow(2));
            }
            activations = activations.and_between(inputs * side.pow(2));
            (side, inputs) = (after, outputs);
        }
        activations = activations.and_between(inputs * side.pow(2));
        activations.and(1, self.features()).and(1, self.output.unwrap_or(0))
    }

    fn work(&self, side: usize) -> Work {
        let image = Layers::from_maps(self.channels, side);
        let mut maps = image.convolution(self.width, self.stem.window()).normalised();
        if self.stem == Stem::Imagenet {
            maps = maps.pool(HALVING);
        }
        let kind = self.depth.kind();
        for (width, stride) in self.plan() {
            let (outputs, strided) = (width * kind.expansion(), Window { stride, ..THREE });
            let mut block = match kind {
                Kind::Basic => {
                    maps.convolution(width, strided).normalised().convolution(width, THREE).normalised()
                }
                Kind::Bottleneck => maps
                    .convolution(width, Window::PLACE)
                    .normalised()
                    .convolution(width, strided)
                    .normalised()
                    .convolution(outputs, Window::PLACE)
                    .normalised(),
            };
            if stride > 1 || maps.channels != outputs {
                let shortcut = maps.branch().convolution(outputs, Window { stride, ..Window::PLACE });
                block = block.beside(shortcut.normalised());
            }
            maps = block.added();
        }
        let pooled = maps.averaged();
        self.output.map_or(pooled, |output| pooled.linear(output)).work
    }

    fn operations(&self) -> Vec<Operation> {
        let Window { stride, padding, .. } = self.stem.window();
        let mut operations = convolved("conv1", "bn1", stride, padding);
        operations.push(Operation::Relu);
        if self.stem == Stem::Imagenet {
            let Window { kernel: side, stride, padding } = HALVING;
            operations.push(Operation::MaxPool { side, stride, padding });
        }
        let mut inputs = self.width;
        for (stage, width) in self.widths().into_iter().enumerate() {
            let stage_blocks = self.plan().filter(|(block_width, _)| *block_width == width);
            for (block, (_, stride)) in stage_blocks.enumerate() {
                let name = format!("layer{}.{block}.", stage + 1);
                let outputs = width * self.depth.kind().expansion();
                let shortcut = if stride > 1 || inputs != outputs {
                    convolved(&format!("{name}downsample.0"), &format!("{name}downsample.1"), stride, 0)
                } else {
                    Vec::new()
                };
                operations
                    .extend([Operation::Sum([self.depth.block(&name, stride), shortcut]), Operation::Relu]);
                inputs = outputs;
            }
        }
        operations.push(Operation::GlobalAvgPool);
        operations.extend(self.output.map(|_| Operation::linear("fc")));
        operations
    }
}

impl Depth {
    /// The main branch of a block.
    fn block(self, name: &str, stride: usize) -> Vec<Operation> {
        let windows: &[(usize, usize)] = match self.kind() {
            Kind::Basic => &[(stride, 1), (1, 1)],
            Kind::Bottleneck => &[(1, 0), (stride, 1), (1, 0)],
        };
        let layers = windows.iter().zip(1..).map(|((stride, padding), at)| {
            convolved(&format!("{name}conv{at}"), &format!("{name}bn{at}"), *stride, *padding)
        });
        layers.collect::<Vec<_>>().join(&Operation::Relu)
    }

    fn recognises(self, shapes: &Shapes<'_>) -> bool {
        blocks(shapes) == self.blocks() && has_bottlenecks(shapes) == (self.kind() == Kind::Bottleneck)
    }
}

fn convolved(convolution: &str, norm: &str, stride: usize, padding: usize) -> Vec<Operation> {
    vec![Operation::convolution(convolution, stride, padding), Operation::batch_norm(norm)]
}

macro_rules! designs {
    ($($(#[$about:meta])* $design:ident: $name:literal, $title:literal = $depth:expr,)+) => {$(
        $(#[$about])*
        pub(crate) struct $design;

        impl Design for $design {
            type Network = ResNet;
            const NAME: &'static str = $name;
            const TITLE: &'static str = $title;
            const FAMILY: &'static str = FAMILY;
            const HAS_STEM: bool = true;
            const HAS_WIDTH: bool = true;
            const HAS_OUTPUT: bool = true;
            const PYTORCH: &'static str = PYTORCH;
            const SEGMENTS: Option<Segments<Self::Network>> = Some(ResNet::segments);

            fn features(settings: &Settings) -> usize {
                ResNetConfig::of($depth, settings).features()
            }

            fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> ResNet {
                ResNet::new(&ResNetConfig::of($depth, settings), device, initial)
            }

            fn min_parameters(settings: &Settings) -> u64 {
                ResNetConfig::of($depth, settings).work(settings.side).weights
            }

            fn activations(settings: &Settings) -> Activations {
                ResNetConfig::of($depth, settings).activations(settings.side)
            }

            fn work(settings: &Settings) -> Work {
                ResNetConfig::of($depth, settings).work(settings.side)
            }

            fn operations(settings: &Settings) -> Vec<Operation> {
                ResNetConfig::of($depth, settings).operations()
            }

            fn sections(network: &ResNet) -> Option<Vec<Section<'_>>> {
                Some(network.sections())
            }

            fn recognises(shapes: &Shapes<'_>) -> bool {
                $depth.recognises(shapes)
            }
        }
    )+};
}

designs! {
    /// The design of a residual network of 18 layers.
    ResNet18Design: "resnet18", "residual network of 18 layers" = Depth::Eighteen,
    /// The design of a residual network of 34 layers.
    ResNet34Design: "resnet34", "residual network of 34 layers" = Depth::ThirtyFour,
    /// The design of a residual network of 50 layers.
    ResNet50Design: "resnet50", "residual network of 50 layers" = Depth::Fifty,
    /// The design of a residual network of 101 layers.
    ResNet101Design: "resnet101", "residual network of 101 layers" = Depth::HundredOne,
}

/// The layers and the blocks of each stage that a residual network of such tensors has, whichever depth it is of.
pub(crate) fn layers_and_blocks(shapes: &Shapes<'_>) -> Option<(usize, [usize; 4])> {
    let blocks = blocks(shapes);
    let layers = 2 + blocks.iter().sum::<usize>() * if has_bottlenecks(shapes) { 3 } else { 2 };
    (blocks[0] > 0 && blocks[1] > 0).then_some((layers, blocks))
}

/// Number of blocks of each stage.
fn blocks(shapes: &Shapes<'_>) -> [usize; 4] {
    [1, 2, 3, 4].map(|stage| {
        let start = format!("layer{stage}.");
        let number = |name: &&str| name.strip_prefix(&start)?.split('.').next()?.parse::<usize>().ok();
        shapes.keys().filter_map(number).collect::<BTreeSet<_>>().len()
    })
}

fn has_bottlenecks(shapes: &Shapes<'_>) -> bool {
    shapes.contains_key("layer1.0.conv3.weight")
}
