//! Convolutions with the next steps of a block, and pools.
//!
//! Maps are `[n, height, width, channels]` everywhere: a convolution is a product over the channels of a position, so both the CPU
//! and the GPU kernels need contiguous channels; Burn gets maps `[n, channels, height, width]` as a view. A network permutes its
//! images once; no layer copies its maps into another order. The convolutions of few channels in
//! [`convolve_tanh_pool`](crate::convolve_tanh_pool) are faster with adjacent places: on the CPU they take images as they come, and
//! their results are such views too.
#![allow(clippy::type_complexity, reason = "Burn routes tuples of tensors, and no name for them")]

mod functions;
pub(crate) mod plain;

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, ExtensionType, backend_extension};

pub use self::functions::{
    Epilogue, Norm, Statistics, convolve, convolve_normalised, convolve_normalised_by, convolve_tanh_pool,
    max_pool, mean_pool,
};
use self::plain::{
    plain_convolve, plain_convolve_backward, plain_convolve_normalised, plain_convolve_normalised_backward,
    plain_convolve_normalised_by, plain_convolve_tanh_pool, plain_convolve_tanh_pool_backward,
    plain_convolve_weight_backward, plain_max_pool, plain_max_pool_backward, plain_mean_pool,
    plain_mean_pool_backward,
};
use super::normalisation::{NormalisationGradients, NormalisationOps};
use super::optional::Optional;

/// The windows of a convolution or a pool, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Number of positions from one window to the next.
    pub stride: usize,
    /// Number of positions added around the maps: zeros for a convolution, ignored by a pool.
    pub padding: usize,
}

/// Settings of a convolution joined with its normalisation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConvNormSettings {
    /// The windows.
    pub windows: Windows,
    /// Added to variances.
    pub epsilon: f64,
    /// True if negative results become 0.
    pub rectified: bool,
}

/// Gain and shift of each channel, `[channels]`.
#[derive(Debug, Clone, ExtensionType)]
pub struct Affine<B: Backend> {
    /// `γ`.
    pub gain: FloatTensor<B>,
    /// `β`.
    pub shift: FloatTensor<B>,
}

/// Mean and biased variance of each channel, `[channels]`.
#[derive(Debug, Clone, ExtensionType)]
pub struct ChannelStatistics<B: Backend> {
    /// Mean.
    pub mean: FloatTensor<B>,
    /// Variance.
    pub variance: FloatTensor<B>,
}

/// The data for the gradient of a convolution with its normalisation.
#[derive(Debug, Clone, ExtensionType)]
pub struct SavedForBackward<B: Backend> {
    /// The input.
    pub maps: FloatTensor<B>,
    /// `[out, in, k, k]`.
    pub weight: FloatTensor<B>,
    /// `γ`.
    pub gain: FloatTensor<B>,
    /// `β`.
    pub shift: FloatTensor<B>,
    /// The result of the convolution.
    pub convolution: FloatTensor<B>,
    /// Its mean.
    pub mean: FloatTensor<B>,
    /// Its biased variance.
    pub variance: FloatTensor<B>,
    /// The output if an identity was added and the sum rectified: its values mask the gradient. Without an identity, the input of the
    /// rectifier follows from the convolution.
    #[extension_type]
    pub output: Optional<B>,
}

/// Convolutions and pools that backends implement. Maps are `[n, height, width, channels]`, weights `[out, in, k,
/// k]`; bodies check no shapes.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
)]
#[diagnostic::on_unimplemented(
    note = "for `Fusion<_>`: name the feature `fusion` of simile-core or simile-kernels, as `burn` has it"
)]
pub trait ConvolutionOps: NormalisationOps {
    /// `convolution(maps, weight) + bias`.
    #[fusion(default)]
    fn convolve(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] bias: Optional<Self>,
        windows: Windows,
    ) -> FloatTensor<Self> {
        plain_convolve::<Self>(maps, weight, bias, windows)
    }

    /// A convolution, normalised by the mean and variance of its channels, with the identity added, rectified. Returns the
    /// output, the convolution itself, mean and biased variance.
    #[fusion(default)]
    fn convolve_normalised(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        #[extension_type] identity: Optional<Self>,
        settings: ConvNormSettings,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        plain_convolve_normalised::<Self>(maps, weight, affine, identity, settings)
    }

    /// A convolution, normalised by a given mean and variance, with the identity added, rectified.
    #[fusion(default)]
    fn convolve_normalised_by(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        #[extension_type] statistics: ChannelStatistics<Self>,
        #[extension_type] identity: Optional<Self>,
        settings: ConvNormSettings,
    ) -> FloatTensor<Self> {
        plain_convolve_normalised_by::<Self>(maps, weight, affine, statistics, identity, settings)
    }

    /// `avg_pool2(tanh(convolution(maps, weight) + bias))`, and the `tanh`, in the form that this backend's
    /// gradient needs.
    #[fusion(default)]
    fn convolve_tanh_pool(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        plain_convolve_tanh_pool::<Self>(maps, weight, bias)
    }

    /// The largest value of each window of `side` × `side` positions, and its source, in the form that this
    /// backend's gradient needs.
    #[fusion(default)]
    fn max_pool(
        maps: FloatTensor<Self>,
        side: usize,
        windows: Windows,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        plain_max_pool::<Self>(maps, side, windows)
    }

    /// The mean over the positions of each map, `[n, channels]`.
    #[fusion(default)]
    fn mean_pool(maps: FloatTensor<Self>) -> FloatTensor<Self> {
        plain_mean_pool::<Self>(maps)
    }
}

/// The gradients of [`ConvolutionOps`]. Autodiff calls them on the backend below it. They have no gradient themselves: Burn panics
/// if autodiff is enabled for a tensor.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
)]
#[diagnostic::on_unimplemented(
    note = "for `Fusion<_>`: name the feature `fusion` of simile-core or simile-kernels, as `burn` has it"
)]
pub trait ConvolutionGradients: ConvolutionOps + NormalisationGradients {
    /// The requested gradients of maps, weight and bias.
    #[fusion(default)]
    fn convolve_backward(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
        windows: Windows,
        wanted: [bool; 3],
    ) -> (Option<FloatTensor<Self>>, Option<FloatTensor<Self>>, Option<FloatTensor<Self>>) {
        plain_convolve_backward::<Self>(maps, weight, upstream, windows, wanted)
    }

    /// The gradient of the weight alone, in its shape and type.
    #[fusion(dtype = weight, shape = weight)]
    fn convolve_weight_backward(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
        windows: Windows,
    ) -> FloatTensor<Self> {
        plain_convolve_weight_backward::<Self>(maps, weight, upstream, windows)
    }

    /// The requested gradients of maps, weight, gain, shift and identity.
    #[fusion(default)]
    fn convolve_normalised_backward(
        #[extension_type] context: SavedForBackward<Self>,
        upstream: FloatTensor<Self>,
        settings: ConvNormSettings,
        wanted: [bool; 5],
    ) -> (
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
    ) {
        plain_convolve_normalised_backward::<Self>(context, upstream, settings, wanted)
    }

    /// The requested gradients of maps, weight and bias.
    #[fusion(default)]
    fn convolve_tanh_pool_backward(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        tanh: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
        wanted: [bool; 3],
    ) -> (Option<FloatTensor<Self>>, Option<FloatTensor<Self>>, Option<FloatTensor<Self>>) {
        plain_convolve_tanh_pool_backward::<Self>(maps, weight, tanh, upstream, wanted)
    }

    /// The gradient with respect to maps of `sides`.
    #[fusion(default)]
    fn mean_pool_backward(upstream: FloatTensor<Self>, sides: [usize; 2]) -> FloatTensor<Self> {
        plain_mean_pool_backward::<Self>(upstream, sides)
    }

    /// The gradient with respect to the maps.
    #[fusion(default)]
    fn max_pool_backward(
        maps: FloatTensor<Self>,
        sources: IntTensor<Self>,
        upstream: FloatTensor<Self>,
        side: usize,
        windows: Windows,
    ) -> FloatTensor<Self> {
        plain_max_pool_backward::<Self>(maps, sources, upstream, side, windows)
    }
}
