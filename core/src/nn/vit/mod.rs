//! Vision transformers (Dosovitskiy et al., *An Image is Worth 16x16 Words*, 2021) with the layers and the tensor names of timm
//! and DINO, without the classifier: `[n, 384]` for ViT-S/16 (Touvron et al., *Training data-efficient image transformers*, 2021,
//! table 1), `[n, 768]` for ViT-B/16.
//!
//! ```text
//! tokens     [class, patches of 16 × 16 pixels through one linear layer] + positions      [1 + (side / 16)², width]
//! block      x ← x + attention(norm(x)),   x ← x + mlp(norm(x)),                          12 of them, heads of 64
//! embedding  norm(class token)
//! ```
//!
//! Positions are learned for one side; `for_side` of the design brings them to another one.

mod block;
mod design;
mod foreign;
#[cfg(test)]
mod tests;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use self::block::{Block, LayerNorm, normal};
pub(crate) use self::design::{VitB16Design, VitS16Design};
use super::initial::InitialValues;
use super::layers::{Convolution, in_type_of};
use super::norm_steps::{Flow, Segment, Step};

/// Side of a patch in pixels.
const PATCH: usize = 16;
/// Width of a block's hidden layer for each number of a token.
const HIDDEN: usize = 4;

/// timm's `patch_embed`: one convolution of patches that do not overlap.
#[derive(Module, Debug)]
struct Patches {
    proj: Convolution,
}

/// A vision transformer. Tensor names are timm's and DINO's.
#[derive(Module, Debug)]
pub struct Vit {
    cls_token: Param<Tensor<3>>,
    pos_embed: Param<Tensor<3>>,
    patch_embed: Patches,
    blocks: Vec<Block>,
    norm: LayerNorm,
}

/// Settings of a [`Vit`].
#[derive(Debug, Clone, Copy)]
pub struct VitConfig {
    /// Side of the images in pixels, a multiple of 16.
    pub side: usize,
    /// Channels of the images.
    pub channels: usize,
    /// Numbers of a token, a multiple of the heads.
    pub width: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Heads of each block's attention.
    pub heads: usize,
}

impl VitConfig {
    /// Tokens of an image, the class token included.
    fn tokens(&self) -> usize {
        1 + (self.side / PATCH).pow(2)
    }
}

impl Vit {
    /// A network with DINO's initialisation, drawn from the caller's generator: normal with standard deviation 0.02, no bias, and
    /// PyTorch's default for the patches.
    pub fn new(config: &VitConfig, device: &Device, initial: &mut impl InitialValues) -> Self {
        let VitConfig { channels, width, blocks, heads, .. } = *config;
        Self {
            cls_token: normal([1, 1, width], device, initial),
            pos_embed: normal([1, config.tokens(), width], device, initial),
            patch_embed: Patches { proj: Convolution::new(channels, width, PATCH, device, initial) },
            blocks: (0..blocks).map(|_| Block::new(width, heads, device, initial)).collect(),
            norm: LayerNorm::new(width, device),
        }
    }

    /// `[n, channels, side, side]` to `[n, width]`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let n = images.dims()[0];
        let rows = self.tokens(images);
        self.end(self.blocks.iter().fold(rows, |rows, block| block.forward(rows, n)), n)
    }

    /// The first block's input, `[n tokens, width]`.
    fn tokens(&self, images: Tensor<4>) -> Tensor<2> {
        let [n, channels, height, width] = images.dims();
        let (down, across) = (height / PATCH, width / PATCH);
        let Convolution { weight, bias } = &self.patch_embed.proj;
        let (weight, bias) = (in_type_of(weight, &images), in_type_of(bias, &images));
        let class = in_type_of(&self.cls_token, &images);
        let positions = in_type_of(&self.pos_embed, &images);
        // A convolution whose windows do not overlap is one matrix product of the patches.
        let pixels = channels * PATCH * PATCH;
        let patches = images.reshape([n, channels, down, PATCH, across, PATCH]).permute([0, 2, 4, 1, 3, 5]);
        let patches: Tensor<2> = patches.reshape([n * down * across, pixels]);
        let features = bias.dims()[0];
        let embedded = patches.matmul(weight.reshape([features, pixels]).transpose()) + bias.unsqueeze();
        let tokens = vec![class.expand([n, 1, features]), embedded.reshape([n, down * across, features])];
        (Tensor::cat(tokens, 1) + positions).flatten(0, 1)
    }

    /// The embedding, of the last block's output.
    fn end(&self, rows: Tensor<2>, n: usize) -> Tensor<2> {
        let [all, width] = rows.dims();
        let class = rows.reshape([n, all / n.max(1), width]).narrow(1, 0, 1);
        self.norm.forward(class.reshape([n, width]))
    }

    /// One segment for the patches, one for each block, and one for the end. Without a batch norm, chunks do not depend on each other.
    fn segments(&self) -> Vec<Segment<'_>> {
        let to_flow = |rows: Tensor<2>, n: usize| {
            let [all, width] = rows.dims();
            Flow::from(rows.reshape([n, 1, all / n.max(1), width]))
        };
        let rows = |maps: Tensor<4>| {
            let [n, _, tokens, width] = maps.dims();
            (maps.reshape([n * tokens, width]), n)
        };
        let patches = Step::of(move |flow| {
            let n = flow.maps.dims()[0];
            to_flow(self.tokens(flow.maps), n)
        });
        let blocks = self.blocks.iter().map(|block| {
            Step::of(move |flow| {
                let (rows, n) = rows(flow.maps);
                to_flow(block.forward(rows, n), n)
            })
        });
        let end = Step::of(move |flow| {
            let (rows, n) = rows(flow.maps);
            Flow::from_rows(self.end(rows, n))
        });
        std::iter::once(patches).chain(blocks).chain([end]).map(|step| vec![step]).collect()
    }
}
