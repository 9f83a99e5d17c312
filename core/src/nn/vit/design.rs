//! Finds vision transformers by name and by their tensors, and computes their cost for one image.

use burn::tensor::Device;

use super::block::EPSILON;
use super::foreign::{TORCHVISION, resampled};
use super::{HIDDEN, PATCH, Vit, VitConfig};
use crate::nn::activations::Activations;
use crate::nn::design::{Design, Settings, Shapes};
use crate::nn::initial::InitialValues;
use crate::nn::norm_steps::Segments;
use crate::nn::operations::Operation;
use crate::nn::work::Work;

/// Both sizes in PyTorch.
const PYTORCH: &str = include_str!("vit.py");
/// Blocks of both sizes.
const BLOCKS: usize = 12;
/// Numbers of a head.
const HEAD: usize = 64;
/// Attention keeps the square of the number of tokens, 4097 at this side.
const LARGEST_SIDE: usize = 1024;

/// The network of tokens of `width` numbers for images of the settings.
pub(super) fn config(width: usize, settings: &Settings) -> VitConfig {
    let Settings { side, channels, .. } = *settings;
    VitConfig { side, channels, width, blocks: BLOCKS, heads: width / HEAD }
}

impl VitConfig {
    pub(super) fn activations(&self) -> Activations {
        let Self { side, channels, width, blocks, heads } = *self;
        let tokens = self.tokens();
        let (rows, scores) = (tokens * width, heads * tokens.pow(2));
        let mut activations = Activations::from_image(channels, side);
        for _ in 0..blocks {
            activations = activations
                // A norm: centred rows, those of unit variance, and its result.
                .and(2 * 3, rows)
                // Queries, keys and values; scores before and after their division by their sum; the mixed values.
                .and(3 + 1, rows)
                .and(2, scores)
                // The hidden layer, its argument of the error function, the factor of the activation, and their product.
                .and(4, HIDDEN * rows)
                .and_between(rows);
        }
        activations.and(3, width).and_between(rows)
    }

    pub(super) fn work(&self) -> Work {
        let Self { channels, width, blocks, heads, .. } = *self;
        let tokens = self.tokens();
        let (rows, scores) = (tokens * width, heads * tokens.pow(2));
        let linear = |rows: usize, inputs: usize, outputs: usize| Work {
            multiply_adds: (rows * inputs * outputs) as u64,
            traffic: (rows * (inputs + outputs)) as u64,
            weights: (inputs * outputs) as u64,
        };
        let moves = |numbers: usize| Work { traffic: numbers as u64, ..Work::default() };
        let attention = Work {
            multiply_adds: 2 * (tokens * rows) as u64,
            // Queries and keys to scores, their softmax, and with the values to mixed ones.
            traffic: (3 * rows + scores + 2 * scores + scores + rows) as u64,
            weights: 0,
        };
        let block = [
            moves(3 * rows),
            linear(tokens, width, 3 * width),
            attention,
            linear(tokens, width, width),
            moves(3 * rows + rows),
            linear(tokens, width, HIDDEN * width),
            moves(2 * HIDDEN * rows),
            linear(tokens, HIDDEN * width, width),
            moves(rows),
        ];
        let patches = linear(tokens - 1, channels * PATCH.pow(2), width);
        let block_moves = std::iter::repeat_n(block, blocks).flatten();
        [patches, moves(2 * rows)].into_iter().chain(block_moves).chain([moves(3 * width)]).sum()
    }

    pub(super) fn operations(&self) -> Vec<Operation> {
        let tokens = self.tokens();
        let norm = |name: String| Operation::LayerNorm { name, epsilon: EPSILON };
        let block = |at: usize| {
            let name = format!("blocks.{at}");
            let (attention, heads) = (format!("{name}.attn"), self.heads);
            let mixed =
                vec![norm(format!("{name}.norm1")), Operation::Attention { name: attention, heads, tokens }];
            let changed = vec![
                norm(format!("{name}.norm2")),
                Operation::linear(format!("{name}.mlp.fc1")),
                Operation::Gelu,
                Operation::linear(format!("{name}.mlp.fc2")),
            ];
            [mixed, changed].map(|branch| Operation::Sum([branch, Vec::new()]))
        };
        let mut operations = vec![
            Operation::convolution("patch_embed.proj", PATCH, 0),
            Operation::Tokens { class: "cls_token".into(), positions: "pos_embed".into() },
        ];
        operations.extend((0..self.blocks).flat_map(block));
        operations.extend([Operation::FirstToken { tokens }, norm("norm".into())]);
        operations
    }
}

/// True if tensors of these shapes are those of a network with 12 blocks and tokens of `width` numbers.
fn recognises(shapes: &Shapes<'_>, width: usize) -> bool {
    let has = |block: usize| shapes.contains_key(format!("blocks.{block}.attn.qkv.weight").as_str());
    matches!(shapes.get("cls_token"), Some([1, 1, token_width]) if *token_width == width)
        && has(BLOCKS - 1)
        && !has(BLOCKS)
}

macro_rules! designs {
    ($($(#[$about:meta])* $design:ident: $name:literal, $title:literal = $width:literal,)+) => {$(
        $(#[$about])*
        pub(crate) struct $design;

        impl Design for $design {
            type Network = Vit;
            const NAME: &'static str = $name;
            const TITLE: &'static str = $title;
            const PYTORCH: &'static str = PYTORCH;
            const ALSO_NAMED: &'static [(&'static str, &'static str)] = TORCHVISION;
            const SEGMENTS: Option<Segments<Self::Network>> = Some(Vit::segments);

            fn features(_settings: &Settings) -> usize {
                $width
            }

            fn init(settings: &Settings, device: &Device, initial: &mut impl InitialValues) -> Vit {
                Vit::new(&config($width, settings), device, initial)
            }

            fn min_parameters(settings: &Settings) -> u64 {
                config($width, settings).work().weights
            }

            fn activations(settings: &Settings) -> Activations {
                config($width, settings).activations()
            }

            fn work(settings: &Settings) -> Work {
                config($width, settings).work()
            }

            fn operations(settings: &Settings) -> Vec<Operation> {
                config($width, settings).operations()
            }

            fn recognises(shapes: &Shapes<'_>) -> bool {
                recognises(shapes, $width)
            }

            fn for_side(
                settings: &Settings,
                name: &str,
                shape: &[usize],
                values: &[f32],
            ) -> Option<(Vec<usize>, Vec<f32>)> {
                resampled(settings.side / PATCH, name, shape, values)
            }

            fn check_side(side: usize) -> Result<(), String> {
                let is_taken = side.is_multiple_of(PATCH) && (PATCH..=LARGEST_SIDE).contains(&side);
                is_taken.then_some(()).ok_or_else(|| "expected a multiple of 16, from 16 to 1024".into())
            }
        }
    )+};
}

designs! {
    /// The design of ViT-S/16.
    VitS16Design: "vit-s16", "vision transformer ViT-S/16" = 384,
    /// The design of ViT-B/16.
    VitB16Design: "vit-b16", "vision transformer ViT-B/16" = 768,
}
