//! The layers of a block: normalised attention and two normalised linear layers, each added to its input.

use std::f64::consts::FRAC_1_SQRT_2;

use burn::module::{Module, Param};
use burn::tensor::module::{attention, layer_norm};
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Tensor};
use simile_kernels::is_half;

use super::HIDDEN;
use crate::nn::initial::{InitialValues, Normal};
use crate::nn::layers::{Linear, in_type_of, widen};

/// The constant that layer normalisation adds to the variance.
pub(super) const EPSILON: f64 = 1e-6;
/// Standard deviation of a weight at initialisation.
const DEVIATION: f64 = 0.02;

/// A parameter at initialisation: normal with standard deviation 0.02. timm and DINO cut it at ±2, a hundred deviations, where
/// no number comes.
pub(super) fn normal<const D: usize>(
    shape: [usize; D],
    device: &Device,
    initial: &mut impl InitialValues,
) -> Param<Tensor<D>> {
    initial.parameter(shape, device, Normal { mean: 0.0, deviation: DEVIATION })
}

/// A linear layer at initialisation.
fn linear(inputs: usize, outputs: usize, device: &Device, initial: &mut impl InitialValues) -> Linear {
    let bias = Param::from_tensor(Tensor::zeros([outputs], device));
    Linear { weight: normal([outputs, inputs], device, initial), bias: Some(bias) }
}

/// Layer normalisation of rows (Ba et al., *Layer Normalization*, 2016): `γ (x − mean) / √(variance + 1e-6) + β`, mean and biased
/// variance of each row.
#[derive(Module, Debug)]
pub(super) struct LayerNorm {
    weight: Param<Tensor<1>>,
    bias: Param<Tensor<1>>,
}

impl LayerNorm {
    pub(super) fn new(width: usize, device: &Device) -> Self {
        Self {
            weight: Param::from_tensor(Tensor::ones([width], device)),
            bias: Param::from_tensor(Tensor::zeros([width], device)),
        }
    }

    /// `[n, width]` to the same. Statistics are never in half precision.
    pub(super) fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        let dtype = rows.dtype();
        let rows = widen(rows);
        let (gain, shift) = (in_type_of(&self.weight, &rows), in_type_of(&self.bias, &rows));
        let normalised = layer_norm(rows, gain, Some(shift), EPSILON);
        if is_half(dtype) { normalised.cast(dtype) } else { normalised }
    }
}

/// Attention between the tokens of an image (Vaswani et al., *Attention Is All You Need*, 2017, section 3.2): for each head
/// `softmax(q kᵀ / √e) v`, with `q`, `k` and `v` of `e` numbers from one linear layer.
#[derive(Module, Debug)]
struct Attention {
    qkv: Linear,
    proj: Linear,
    heads: usize,
}

impl Attention {
    fn new(width: usize, heads: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let qkv = linear(width, 3 * width, device, initial);
        Self { qkv, proj: linear(width, width, device, initial), heads }
    }

    /// Tokens of `n` images, `[n tokens, width]`, to the same.
    fn forward(&self, rows: Tensor<2>, n: usize) -> Tensor<2> {
        let [all, width] = rows.dims();
        let (heads, each, tokens) = (self.heads, width / self.heads, all / n.max(1));
        let qkv = self.qkv.forward(rows).reshape([n, tokens, 3, heads, each]).permute([2, 0, 3, 1, 4]);
        let [query, key, value] =
            [0, 1, 2].map(|at| qkv.clone().narrow(0, at, 1).reshape([n, heads, tokens, each]));
        let scale = Some((each as f64).sqrt().recip());
        let options = AttentionModuleOptions { scale, ..AttentionModuleOptions::default() };
        let mixed = attention(query, key, value, None, None, options);
        self.proj.forward(mixed.permute([0, 2, 1, 3]).reshape([all, width]))
    }
}

/// Two linear layers with the Gaussian error linear unit between them.
#[derive(Module, Debug)]
struct Mlp {
    fc1: Linear,
    fc2: Linear,
}

impl Mlp {
    fn new(width: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let fc1 = linear(width, HIDDEN * width, device, initial);
        Self { fc1, fc2: linear(HIDDEN * width, width, device, initial) }
    }

    fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        self.fc2.forward(gelu(self.fc1.forward(rows)))
    }
}

/// `x Φ(x)` (Hendrycks & Gimpel, *Gaussian Error Linear Units*, 2016) with the error function itself. Burn's own function has on
/// some backends the gradient of an approximation by the hyperbolic tangent.
fn gelu(rows: Tensor<2>) -> Tensor<2> {
    let below = (rows.clone() * FRAC_1_SQRT_2).erf() * 0.5 + 0.5;
    rows * below
}

/// `x + attention(norm(x))`, then `x + mlp(norm(x))`.
#[derive(Module, Debug)]
pub(super) struct Block {
    norm1: LayerNorm,
    attn: Attention,
    norm2: LayerNorm,
    mlp: Mlp,
}

impl Block {
    pub(super) fn new(width: usize, heads: usize, device: &Device, initial: &mut impl InitialValues) -> Self {
        let attn = Attention::new(width, heads, device, initial);
        let [norm1, norm2] = [(); 2].map(|()| LayerNorm::new(width, device));
        Self { norm1, attn, norm2, mlp: Mlp::new(width, device, initial) }
    }

    /// Tokens of `n` images, `[n tokens, width]`, to the same.
    pub(super) fn forward(&self, rows: Tensor<2>, n: usize) -> Tensor<2> {
        let rows = rows.clone() + self.attn.forward(self.norm1.forward(rows), n);
        rows.clone() + self.mlp.forward(self.norm2.forward(rows))
    }
}
