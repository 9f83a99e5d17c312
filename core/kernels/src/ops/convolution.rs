//! Convolutions with the next steps of a block, and pools.
//!
//! Maps are `[n, height, width, channels]` everywhere: a convolution is a product over the channels of a position,
//! so both the CPU and the GPU kernels need contiguous channels; Burn gets maps `[n, channels, height, width]` as a
//! view. A network permutes its images once; no layer copies its maps into another order. The convolutions of few
//! channels in [`convolve_tanh_pool`](crate::convolve_tanh_pool) are faster with adjacent places: on the CPU they take images as they come, and
//! their results are such views too.
#![allow(clippy::type_complexity, reason = "Burn routes tuples of tensors, and no name for them")]

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{
    Backend, Dispatch, ExtensionType, TensorMetadata, backend_extension, get_or_init_device_settings,
};
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Shape, Tensor};

use super::activation::plain_tanh_backward;
use super::normalisation::NormalisationOps;
use super::precision::{narrowed, widened};

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
pub struct Joined {
    /// The windows.
    pub windows: Windows,
    /// Added to variances.
    pub epsilon: f64,
    /// True if negative results become 0.
    pub rectified: bool,
}

/// An optional tensor.
#[derive(Debug, Clone, ExtensionType)]
pub enum Optional<B: Backend> {
    /// None.
    Nothing,
    /// One.
    Just(FloatTensor<B>),
}

impl<B: Backend> Optional<B> {
    pub(crate) fn of(tensor: Option<FloatTensor<B>>) -> Self {
        tensor.map_or(Self::Nothing, Self::Just)
    }

    pub(crate) fn into_option(self) -> Option<FloatTensor<B>> {
        match self {
            Self::Nothing => None,
            Self::Just(tensor) => Some(tensor),
        }
    }
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
pub struct Moments<B: Backend> {
    /// Mean.
    pub mean: FloatTensor<B>,
    /// Variance.
    pub variance: FloatTensor<B>,
}

/// The data for the gradient of a convolution with its normalisation.
#[derive(Debug, Clone, ExtensionType)]
pub struct Kept<B: Backend> {
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
    /// The output.
    pub output: FloatTensor<B>,
    /// True if an identity was added. Without one, the input of the rectifier follows from the convolution.
    pub is_added: bool,
}

/// Convolutions and pools that backends implement. Maps are `[n, height, width, channels]`, weights `[out, in, k,
/// k]`.
#[backend_extension(
    Flex: cfg(feature = "flex"),
    NdArray: cfg(feature = "ndarray"),
    Cube: cfg(feature = "cube"),
    Fusion: cfg(feature = "fusion"),
    Autodiff,
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

    /// A convolution, normalised by the mean and variance of its channels, with the identity added, rectified. Returns the
    /// output, the convolution itself, mean and biased variance.
    #[fusion(default)]
    fn convolve_normalised(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        #[extension_type] identity: Optional<Self>,
        joined: Joined,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        plain_convolve_normalised::<Self>(maps, weight, affine, identity, joined)
    }

    /// The requested gradients of maps, weight, gain, shift and identity.
    #[fusion(default)]
    fn convolve_normalised_backward(
        #[extension_type] context: Kept<Self>,
        upstream: FloatTensor<Self>,
        joined: Joined,
        wanted: [bool; 5],
    ) -> (
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
        Option<FloatTensor<Self>>,
    ) {
        plain_convolve_normalised_backward::<Self>(context, upstream, joined, wanted)
    }

    /// A convolution, normalised by a given mean and variance, with the identity added, rectified.
    #[fusion(default)]
    fn convolve_normalised_by(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        #[extension_type] affine: Affine<Self>,
        #[extension_type] moments: Moments<Self>,
        #[extension_type] identity: Optional<Self>,
        joined: Joined,
    ) -> FloatTensor<Self> {
        plain_convolve_normalised_by::<Self>(maps, weight, affine, moments, identity, joined)
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

fn options(Windows { stride, padding }: Windows) -> ConvOptions<2> {
    ConvOptions::new([stride; 2], [padding; 2], [1; 2], 1)
}

/// `[n, channels, height, width]`, Burn's layout; a view.
pub(crate) fn planes<B: Backend>(maps: FloatTensor<B>) -> FloatTensor<B> {
    B::float_permute(maps, &[0, 3, 1, 2])
}

/// The inverse of [`planes`].
pub(crate) fn places<B: Backend>(planes: FloatTensor<B>) -> FloatTensor<B> {
    B::float_permute(planes, &[0, 2, 3, 1])
}

/// `[places, channels]`.
fn rows<B: Backend>(maps: FloatTensor<B>) -> FloatTensor<B> {
    let shape = maps.shape();
    let channels = shape[shape.num_dims() - 1];
    let count = shape.num_elements() / channels.max(1);
    B::float_reshape(maps, Shape::new([count, channels]))
}

/// `[1, channels]`, for use with [`rows`].
fn row<B: Backend>(values: FloatTensor<B>) -> FloatTensor<B> {
    let channels = values.shape().num_elements();
    B::float_reshape(values, Shape::new([1, channels]))
}

/// `[channels]` again.
fn vector<B: Backend>(row: FloatTensor<B>) -> FloatTensor<B> {
    let channels = row.shape().num_elements();
    B::float_reshape(row, Shape::new([channels]))
}

/// [`ConvolutionOps::convolve`] in Burn's operations.
pub(crate) fn plain_convolve<B: Backend>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: Optional<B>,
    windows: Windows,
) -> FloatTensor<B> {
    places::<B>(B::conv2d(planes::<B>(maps), weight, bias.into_option(), options(windows)))
}

/// [`ConvolutionOps::convolve_backward`] in Burn's operations.
pub(crate) fn plain_convolve_backward<B: Backend>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    upstream: FloatTensor<B>,
    windows: Windows,
    [grad_maps, grad_weight, grad_bias]: [bool; 3],
) -> (Option<FloatTensor<B>>, Option<FloatTensor<B>>, Option<FloatTensor<B>>) {
    let (maps, gradient) = (planes::<B>(maps), planes::<B>(upstream.clone()));
    let grad_maps = grad_maps.then(|| {
        let grad_planes =
            B::conv2d_x_backward(maps.clone(), weight.clone(), gradient.clone(), options(windows));
        places::<B>(grad_planes)
    });
    let grad_weight =
        grad_weight.then(|| B::conv2d_weight_backward(maps, weight, gradient, options(windows)));
    let grad_bias = grad_bias.then(|| vector::<B>(B::float_sum_dim(rows::<B>(upstream), 0)));
    (grad_maps, grad_weight, grad_bias)
}

/// [`ConvolutionOps::convolve_normalised`] in other operations.
pub(crate) fn plain_convolve_normalised<B: ConvolutionOps>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    Affine { gain, shift }: Affine<B>,
    identity: Optional<B>,
    joined: Joined,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let convolution = B::convolve(maps, weight, Optional::Nothing, joined.windows);
    let shape = convolution.shape();
    let (output, mean, variance) =
        B::normalise_batch(rows::<B>(convolution.clone()), gain, shift, joined.epsilon);
    let output = joined_output::<B>(B::float_reshape(output, shape), identity, joined.rectified);
    (output, convolution, mean, variance)
}

/// [`ConvolutionOps::convolve_normalised_by`] in Burn's operations.
pub(crate) fn plain_convolve_normalised_by<B: ConvolutionOps>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    affine: Affine<B>,
    moments: Moments<B>,
    identity: Optional<B>,
    joined: Joined,
) -> FloatTensor<B> {
    let convolution = B::convolve(maps, weight, Optional::Nothing, joined.windows);
    plain_activation::<B>(convolution, affine, moments, identity, joined)
}

/// The steps after a convolution, with given statistics.
fn plain_activation<B: Backend>(
    convolution: FloatTensor<B>,
    Affine { gain, shift }: Affine<B>,
    Moments { mean, variance }: Moments<B>,
    identity: Optional<B>,
    Joined { epsilon, rectified, .. }: Joined,
) -> FloatTensor<B> {
    let (shape, dtype) = (convolution.shape(), convolution.dtype());
    let scale = B::float_recip(B::float_sqrt(B::float_add_scalar(variance, epsilon.into())));
    let centred = B::float_sub(widened::<B>(rows::<B>(convolution)), row::<B>(mean));
    let normalised = B::float_mul(centred, row::<B>(B::float_mul(scale, gain)));
    let output = B::float_reshape(B::float_add(normalised, row::<B>(shift)), shape);
    let output = narrowed::<B>(output, dtype);
    joined_output::<B>(output, identity, rectified)
}

/// The steps after a normalisation.
fn joined_output<B: Backend>(
    normalised: FloatTensor<B>,
    identity: Optional<B>,
    rectified: bool,
) -> FloatTensor<B> {
    let output = match identity {
        Optional::Just(identity) => B::float_add(normalised, identity),
        Optional::Nothing => normalised,
    };
    if rectified { B::relu(output) } else { output }
}

/// The gradients of [`ConvolutionOps::convolve_normalised_backward`].
type OfNormalised<T> = (Option<T>, Option<T>, Option<T>, Option<T>, Option<T>);

/// [`ConvolutionOps::convolve_normalised_backward`] in other operations.
pub(crate) fn plain_convolve_normalised_backward<B: ConvolutionOps>(
    context: Kept<B>,
    upstream: FloatTensor<B>,
    Joined { windows, epsilon, rectified }: Joined,
    [grad_maps, grad_weight, grad_gain, grad_shift, grad_identity]: [bool; 5],
) -> OfNormalised<FloatTensor<B>> {
    let Kept { maps, weight, gain, convolution, mean, variance, output, .. } = context;
    let upstream = if rectified { B::relu_backward(output, upstream) } else { upstream };
    let shape = convolution.shape();
    let (convolution, gradient) = (rows::<B>(convolution), rows::<B>(upstream.clone()));
    let (grad_convolution, gain, shift) =
        B::normalise_batch_backward(convolution, gain, mean, variance, gradient, epsilon);
    let (found_maps, found_weight) = if grad_maps || grad_weight {
        let grad_convolution = B::float_reshape(grad_convolution, shape);
        let grads =
            B::convolve_backward(maps, weight, grad_convolution, windows, [grad_maps, grad_weight, false]);
        (grads.0, grads.1)
    } else {
        (None, None)
    };
    let (gain, shift) = (grad_gain.then_some(gain), grad_shift.then_some(shift));
    (found_maps, found_weight, gain, shift, grad_identity.then_some(upstream))
}

/// Adjacent windows, without zeros around the maps.
const DENSE: Windows = Windows { stride: 1, padding: 0 };

/// [`ConvolutionOps::convolve_tanh_pool`] in Burn's operations.
pub(crate) fn plain_convolve_tanh_pool<B: ConvolutionOps>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: FloatTensor<B>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let tanh = B::float_tanh(B::convolve(maps, weight, Optional::Just(bias), DENSE));
    let pooled = B::avg_pool2d(planes::<B>(tanh.clone()), [2; 2], [2; 2], [0; 2], true, false);
    (places::<B>(pooled), tanh)
}

/// [`ConvolutionOps::convolve_tanh_pool_backward`] in Burn's operations.
pub(crate) fn plain_convolve_tanh_pool_backward<B: ConvolutionOps>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    tanh: FloatTensor<B>,
    upstream: FloatTensor<B>,
    wanted: [bool; 3],
) -> (Option<FloatTensor<B>>, Option<FloatTensor<B>>, Option<FloatTensor<B>>) {
    let (of_pool, upstream) = (planes::<B>(tanh.clone()), planes::<B>(upstream));
    let grad_tanh = B::avg_pool2d_backward(of_pool, upstream, [2; 2], [2; 2], [0; 2], true, false);
    let slope = plain_tanh_backward::<B>(tanh, places::<B>(grad_tanh));
    B::convolve_backward(maps, weight, slope, DENSE, wanted)
}

/// [`ConvolutionOps::max_pool`] in Burn's operations.
pub(crate) fn plain_max_pool<B: Backend>(
    maps: FloatTensor<B>,
    side: usize,
    Windows { stride, padding }: Windows,
) -> (FloatTensor<B>, IntTensor<B>) {
    let dtype = get_or_init_device_settings::<B>(&maps.device()).int_dtype;
    let maps = planes::<B>(maps);
    let pooled = B::max_pool2d_with_indices(maps, [side; 2], [stride; 2], [padding; 2], [1; 2], false, dtype);
    (places::<B>(pooled.output), pooled.indices)
}

/// [`ConvolutionOps::max_pool_backward`] in Burn's operations.
pub(crate) fn plain_max_pool_backward<B: Backend>(
    maps: FloatTensor<B>,
    sources: IntTensor<B>,
    upstream: FloatTensor<B>,
    side: usize,
    Windows { stride, padding }: Windows,
) -> FloatTensor<B> {
    let (maps, upstream) = (planes::<B>(maps), planes::<B>(upstream));
    let (sides, strides, paddings) = ([side; 2], [stride; 2], [padding; 2]);
    let grads =
        B::max_pool2d_with_indices_backward(maps, sides, strides, paddings, [1; 2], false, upstream, sources);
    places::<B>(grads.x_grad)
}

/// [`ConvolutionOps::mean_pool`] in Burn's operations.
pub(crate) fn plain_mean_pool<B: Backend>(maps: FloatTensor<B>) -> FloatTensor<B> {
    let [n, height, width, channels] = maps.shape().dims();
    let means = B::float_mean_dim(B::float_reshape(maps, Shape::new([n, height * width, channels])), 1);
    B::float_reshape(means, Shape::new([n, channels]))
}

/// [`ConvolutionOps::mean_pool_backward`] in Burn's operations.
pub(crate) fn plain_mean_pool_backward<B: Backend>(
    upstream: FloatTensor<B>,
    [height, width]: [usize; 2],
) -> FloatTensor<B> {
    let [n, channels] = upstream.shape().dims();
    let share = B::float_mul_scalar(upstream, (1.0 / (height * width) as f64).into());
    let share = B::float_reshape(share, Shape::new([n, 1, 1, channels]));
    B::float_expand(share, Shape::new([n, height, width, channels]))
}

/// The affine transform of the normalised channels of a convolution.
#[derive(Debug, Clone)]
pub struct Norm {
    /// `γ`, `[out]`.
    pub gain: Tensor<1>,
    /// `β`, `[out]`.
    pub shift: Tensor<1>,
    /// `ε`, added to the variance.
    pub epsilon: f64,
}

/// Statistics of the channels of a convolution over the positions of a batch; at least in `f32`, and without a
/// gradient.
#[derive(Debug, Clone)]
pub struct Statistics {
    /// `[out]`.
    pub mean: Tensor<1>,
    /// `[out]`, biased.
    pub variance: Tensor<1>,
}

/// A convolution of maps `[n, h, w, in]` with a weight `[out, in, k, k]`, and `bias` `[out]` added:
/// `[n, (h + 2 padding - k) / stride + 1, .., out]`.
///
/// `2 k² in out` operations a position of the result; on the CPU a quarter of them if the kernel is 3×3 at stride 1
/// with a padding of 1 and both numbers of channels are multiples of 16.
pub fn convolve(maps: Tensor<4>, weight: Tensor<4>, bias: Option<Tensor<1>>, windows: Windows) -> Tensor<4> {
    let (maps, weight) = (maps.into_dispatch(), weight.into_dispatch());
    let bias = Optional::of(bias.map(Tensor::into_dispatch));
    Tensor::from_dispatch(<Dispatch as ConvolutionOps>::convolve(maps, weight, bias, windows))
}

/// A convolution as [`convolve`] without a bias, normalised by the statistics of the batch, with the next steps of
/// a residual block:
///
/// ```text
/// y = convolution(maps, weight),  z = γ (y - mean(y)) / sqrt(var(y) + ε) + β [+ identity],  output = max(z, 0) or z
/// ```
///
/// In addition to the convolution, the CPU takes one pass over its result (8 bytes a value), and two for the
/// gradient; one more if an identity is added and its gradient is shared.
pub fn convolve_normalised(
    maps: Tensor<4>,
    weight: Tensor<4>,
    windows: Windows,
    norm: Norm,
    identity: Option<Tensor<4>>,
    rectified: bool,
) -> (Tensor<4>, Statistics) {
    let Norm { gain, shift, epsilon } = norm;
    let affine = Affine { gain: gain.into_dispatch(), shift: shift.into_dispatch() };
    let identity = Optional::of(identity.map(Tensor::into_dispatch));
    let joined = Joined { windows, epsilon, rectified };
    let (output, _, mean, variance) = <Dispatch as ConvolutionOps>::convolve_normalised(
        maps.into_dispatch(),
        weight.into_dispatch(),
        affine,
        identity,
        joined,
    );
    let statistics =
        Statistics { mean: Tensor::from_dispatch(mean), variance: Tensor::from_dispatch(variance) };
    (Tensor::from_dispatch(output), statistics)
}

/// As [`convolve_normalised`] with given statistics, as in the evaluation of a network. Without gradients, the CPU
/// takes one pass over the result.
pub fn convolve_normalised_by(
    maps: Tensor<4>,
    weight: Tensor<4>,
    windows: Windows,
    norm: Norm,
    statistics: Statistics,
    identity: Option<Tensor<4>>,
    rectified: bool,
) -> Tensor<4> {
    let Norm { gain, shift, epsilon } = norm;
    let Statistics { mean, variance } = statistics;
    let output = <Dispatch as ConvolutionOps>::convolve_normalised_by(
        maps.into_dispatch(),
        weight.into_dispatch(),
        Affine { gain: gain.into_dispatch(), shift: shift.into_dispatch() },
        Moments { mean: mean.into_dispatch(), variance: variance.into_dispatch() },
        Optional::of(identity.map(Tensor::into_dispatch)),
        Joined { windows, epsilon, rectified },
    );
    Tensor::from_dispatch(output)
}

/// `avg_pool2(tanh(convolution(maps, weight) + bias))` of maps `[n, h, w, in]`, with a kernel of `k` × `k` at stride 1 and
/// without padding: `[n, (h + 1 - k) / 2, .., out]`, a block of LeNet-5.
///
/// `8 (k + 1)² in out` operations a position of the result on the CPU, where four kernels share a window, `8 k² in
/// out` in Burn; the CPU stores 16 bytes a value of the result for the gradient.
pub fn convolve_tanh_pool(maps: Tensor<4>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<4> {
    let (maps, weight, bias) = (maps.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
    let (pooled, _) = <Dispatch as ConvolutionOps>::convolve_tanh_pool(maps, weight, bias);
    Tensor::from_dispatch(pooled)
}

/// The largest value of each window of `side` × `side` positions, by channel: `[n, h, w, channels]` to
/// `[n, (h + 2 padding - side) / stride + 1, .., channels]`. `side²` comparisons a value of the result.
pub fn max_pool(maps: Tensor<4>, side: usize, windows: Windows) -> Tensor<4> {
    let (maxima, _) = <Dispatch as ConvolutionOps>::max_pool(maps.into_dispatch(), side, windows);
    Tensor::from_dispatch(maxima)
}

/// The mean over the positions of each map, `[n, h, w, channels]` to `[n, channels]`; one pass, and one for the
/// gradient.
pub fn mean_pool(maps: Tensor<4>) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as ConvolutionOps>::mean_pool(maps.into_dispatch()))
}
