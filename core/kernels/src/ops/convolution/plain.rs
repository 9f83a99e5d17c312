//! Convolutions and pools in Burn's operations, for backends without kernels of their own.

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, TensorMetadata, get_or_init_device_settings};
use burn::tensor::Shape;
use burn::tensor::ops::ConvOptions;

use super::{
    Affine, ChannelStatistics, ConvNormSettings, ConvolutionGradients, ConvolutionOps, SavedForBackward,
    Windows,
};
use crate::ops::activation::plain_tanh_backward;
use crate::ops::normalisation::plain_normalise_by;
use crate::ops::optional::Optional;

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

/// [`ConvolutionGradients::convolve_backward`] in Burn's operations.
pub(crate) fn plain_convolve_backward<B: ConvolutionGradients>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    upstream: FloatTensor<B>,
    windows: Windows,
    [grad_maps, grad_weight, grad_bias]: [bool; 3],
) -> (Option<FloatTensor<B>>, Option<FloatTensor<B>>, Option<FloatTensor<B>>) {
    let grad_maps = grad_maps.then(|| {
        let (maps, gradient) = (planes::<B>(maps.clone()), planes::<B>(upstream.clone()));
        places::<B>(B::conv2d_x_backward(maps, weight.clone(), gradient, options(windows)))
    });
    let grad_weight =
        grad_weight.then(|| B::convolve_weight_backward(maps, weight, upstream.clone(), windows));
    let grad_bias = grad_bias.then(|| vector::<B>(B::float_sum_dim(rows::<B>(upstream), 0)));
    (grad_maps, grad_weight, grad_bias)
}

/// [`ConvolutionGradients::convolve_weight_backward`] in Burn's operations.
pub(crate) fn plain_convolve_weight_backward<B: Backend>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    upstream: FloatTensor<B>,
    windows: Windows,
) -> FloatTensor<B> {
    B::conv2d_weight_backward(planes::<B>(maps), weight, planes::<B>(upstream), options(windows))
}

/// [`ConvolutionOps::convolve_normalised`] in other operations.
pub(crate) fn plain_convolve_normalised<B: ConvolutionOps>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    Affine { gain, shift }: Affine<B>,
    identity: Optional<B>,
    settings: ConvNormSettings,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let ConvNormSettings { windows, epsilon, rectified } = settings;
    let convolution = B::convolve(maps, weight, Optional::Nothing, windows);
    let shape = convolution.shape();
    let places = rows::<B>(convolution.clone());
    let identity = Optional::of(identity.into_option().map(rows::<B>));
    let (output, mean, variance) =
        B::normalise_with_epilogue(places, gain, shift, identity, epsilon, rectified);
    (B::float_reshape(output, shape), convolution, mean, variance)
}

/// [`ConvolutionOps::convolve_normalised_by`] in Burn's operations.
pub(crate) fn plain_convolve_normalised_by<B: ConvolutionOps>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    affine: Affine<B>,
    statistics: ChannelStatistics<B>,
    identity: Optional<B>,
    settings: ConvNormSettings,
) -> FloatTensor<B> {
    let convolution = B::convolve(maps, weight, Optional::Nothing, settings.windows);
    plain_activation::<B>(convolution, affine, statistics, identity, settings)
}

/// The steps after a convolution, with given statistics.
fn plain_activation<B: Backend>(
    convolution: FloatTensor<B>,
    Affine { gain, shift }: Affine<B>,
    ChannelStatistics { mean, variance }: ChannelStatistics<B>,
    identity: Optional<B>,
    ConvNormSettings { epsilon, rectified, .. }: ConvNormSettings,
) -> FloatTensor<B> {
    let shape = convolution.shape();
    let normalised =
        plain_normalise_by::<B>(rows::<B>(convolution), (gain, shift), (mean, variance), epsilon);
    let normalised = B::float_reshape(normalised, shape);
    let output = match identity {
        Optional::Just(identity) => B::float_add(normalised, identity),
        Optional::Nothing => normalised,
    };
    if rectified { B::relu(output) } else { output }
}

/// The gradients of [`ConvolutionGradients::convolve_normalised_backward`].
type NormalisedGradients<T> = (Option<T>, Option<T>, Option<T>, Option<T>, Option<T>);

/// [`ConvolutionGradients::convolve_normalised_backward`] in other operations.
pub(crate) fn plain_convolve_normalised_backward<B: ConvolutionGradients>(
    context: SavedForBackward<B>,
    upstream: FloatTensor<B>,
    ConvNormSettings { windows, epsilon, rectified }: ConvNormSettings,
    [grad_maps, grad_weight, grad_gain, grad_shift, grad_identity]: [bool; 5],
) -> NormalisedGradients<FloatTensor<B>> {
    let SavedForBackward { maps, weight, gain, shift, convolution, mean, variance, output } = context;
    let shape = convolution.shape();
    let places = rows::<B>(convolution);
    let (upstream, (grad_convolution, gain, shift)) = match output.into_option() {
        None if rectified => {
            let gradient = rows::<B>(upstream.clone());
            (
                upstream,
                B::normalise_rectified_backward(places, gain, shift, mean, variance, gradient, epsilon),
            )
        }
        output => {
            let upstream = match output {
                Some(output) => B::relu_backward(output, upstream),
                None => upstream,
            };
            let gradient = rows::<B>(upstream.clone());
            (upstream, B::normalise_batch_backward(places, gain, mean, variance, gradient, epsilon))
        }
    };
    let (maps_gradient, weight_gradient) = if grad_maps || grad_weight {
        let grad_convolution = B::float_reshape(grad_convolution, shape);
        let grads =
            B::convolve_backward(maps, weight, grad_convolution, windows, [grad_maps, grad_weight, false]);
        (grads.0, grads.1)
    } else {
        (None, None)
    };
    let (gain, shift) = (grad_gain.then_some(gain), grad_shift.then_some(shift));
    (maps_gradient, weight_gradient, gain, shift, grad_identity.then_some(upstream))
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

/// [`ConvolutionGradients::convolve_tanh_pool_backward`] in Burn's operations.
pub(crate) fn plain_convolve_tanh_pool_backward<B: ConvolutionGradients>(
    maps: FloatTensor<B>,
    weight: FloatTensor<B>,
    tanh: FloatTensor<B>,
    upstream: FloatTensor<B>,
    wanted: [bool; 3],
) -> (Option<FloatTensor<B>>, Option<FloatTensor<B>>, Option<FloatTensor<B>>) {
    let (tanh_planes, upstream) = (planes::<B>(tanh.clone()), planes::<B>(upstream));
    let grad_tanh = B::avg_pool2d_backward(tanh_planes, upstream, [2; 2], [2; 2], [0; 2], true, false);
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

/// [`ConvolutionGradients::max_pool_backward`] in Burn's operations.
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

/// [`ConvolutionGradients::mean_pool_backward`] in Burn's operations.
pub(crate) fn plain_mean_pool_backward<B: Backend>(
    upstream: FloatTensor<B>,
    [height, width]: [usize; 2],
) -> FloatTensor<B> {
    let [n, channels] = upstream.shape().dims();
    let share = B::float_mul_scalar(upstream, (1.0 / (height * width) as f64).into());
    let share = B::float_reshape(share, Shape::new([n, 1, 1, channels]));
    B::float_expand(share, Shape::new([n, height, width, channels]))
}
