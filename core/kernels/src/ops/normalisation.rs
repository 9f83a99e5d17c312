//! Normalisation by the statistics of a batch.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, TensorMetadata, backend_extension};
use burn::tensor::{Shape, Tensor};

use super::optional::Optional;
use super::precision::{narrowed, widened};
use super::shapes::check_channels;

/// Batch normalisation in training and its gradient. `x` is `[n, channels, ...]`; gain, shift and statistics are
/// `[channels]`, in `f64` if `x` is and in `f32` otherwise; bodies check no shapes.
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
pub trait NormalisationOps: Backend {
    /// Output, mean and biased variance.
    #[fusion(meta = |x, gain, _shift, _epsilon| (x.clone(), gain.clone(), gain.clone()))]
    fn normalise_batch(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        plain_normalise_batch::<Self>(x, gain, shift, epsilon)
    }

    /// As [`Self::normalise_batch`] of rows `[n, channels]`, plus `identity`, the shortcut of a residual block, of their shape and type,
    /// if it is given, and then 0 in place of negative values if `rectified`.
    #[fusion(meta = |x, gain, _shift, _identity, _epsilon, _rectified| (x.clone(), gain.clone(), gain.clone()))]
    fn normalise_with_epilogue(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        #[extension_type] identity: Optional<Self>,
        epsilon: f64,
        rectified: bool,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        plain_normalise_with_epilogue::<Self>(x, [gain, shift], identity, epsilon, rectified)
    }
}

/// The gradients of [`NormalisationOps`]. Autodiff calls them on the backend below it. They have no gradient themselves: Burn panics
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
pub trait NormalisationGradients: NormalisationOps {
    /// The gradients with respect to `x`, gain and shift, from the statistics and the gradient with respect to the
    /// output.
    #[fusion(meta = |x, gain, _mean, _variance, _gradient, _epsilon| (x.clone(), gain.clone(), gain.clone()))]
    fn normalise_batch_backward(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        plain_normalise_batch_backward::<Self>(x, gain, mean, variance, gradient, epsilon)
    }

    /// As [`Self::normalise_batch_backward`], from the gradient with respect to the output of
    /// [`NormalisationOps::normalise_with_epilogue`], rectified and without an `identity`. Which outputs were above 0
    /// follows from `x`.
    #[fusion(meta = |x, gain, _shift, _mean, _variance, _gradient, _epsilon| (x.clone(), gain.clone(), gain.clone()))]
    fn normalise_rectified_backward(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let statistics = [mean, variance];
        plain_normalise_rectified_backward::<Self>(x, [gain, shift], statistics, gradient, epsilon)
    }
}

/// [`NormalisationOps::normalise_batch`] in Burn's operations, which read and write about 100 bytes for each value of `f32`.
pub(crate) fn plain_normalise_batch<B: Backend>(
    x: FloatTensor<B>,
    gain: FloatTensor<B>,
    shift: FloatTensor<B>,
    epsilon: f64,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let dtype = x.dtype();
    let normalised = B::batch_norm_train(widened::<B>(x), gain, shift, epsilon);
    (narrowed::<B>(normalised.output, dtype), normalised.mean, normalised.variance)
}

/// [`NormalisationGradients::normalise_batch_backward`] in Burn's operations.
pub(crate) fn plain_normalise_batch_backward<B: Backend>(
    x: FloatTensor<B>,
    gain: FloatTensor<B>,
    mean: FloatTensor<B>,
    variance: FloatTensor<B>,
    gradient: FloatTensor<B>,
    epsilon: f64,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let dtype = x.dtype();
    let (x, gradient) = (widened::<B>(x), widened::<B>(gradient));
    let grads = B::batch_norm_train_backward(x, gain, mean, variance, epsilon, gradient);
    (narrowed::<B>(grads.x_grad, dtype), grads.gamma_grad, grads.beta_grad)
}

/// [`NormalisationOps::normalise_with_epilogue`] by [`NormalisationOps::normalise_batch`] and operations of Burn.
pub(crate) fn plain_normalise_with_epilogue<B: NormalisationOps>(
    x: FloatTensor<B>,
    [gain, shift]: [FloatTensor<B>; 2],
    identity: Optional<B>,
    epsilon: f64,
    rectified: bool,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let (y, mean, variance) = B::normalise_batch(x, gain, shift, epsilon);
    let y = match identity {
        Optional::Just(identity) => B::float_add(y, identity),
        Optional::Nothing => y,
    };
    (if rectified { B::relu(y) } else { y }, mean, variance)
}

/// [`NormalisationGradients::normalise_rectified_backward`] by [`NormalisationGradients::normalise_batch_backward`] and operations of
/// Burn.
pub(crate) fn plain_normalise_rectified_backward<B: NormalisationGradients>(
    x: FloatTensor<B>,
    [gain, shift]: [FloatTensor<B>; 2],
    [mean, variance]: [FloatTensor<B>; 2],
    gradient: FloatTensor<B>,
    epsilon: f64,
) -> (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) {
    let affine = (gain.clone(), shift);
    let output = plain_normalise_by::<B>(x.clone(), affine, (mean.clone(), variance.clone()), epsilon);
    let gradient = B::relu_backward(B::relu(output), gradient);
    B::normalise_batch_backward(x, gain, mean, variance, gradient, epsilon)
}

/// Rows `[n, channels]` normalised by a given mean and variance, in Burn's operations.
pub(crate) fn plain_normalise_by<B: Backend>(
    x: FloatTensor<B>,
    (gain, shift): (FloatTensor<B>, FloatTensor<B>),
    (mean, variance): (FloatTensor<B>, FloatTensor<B>),
    epsilon: f64,
) -> FloatTensor<B> {
    let dtype = x.dtype();
    let row = |values: FloatTensor<B>| {
        let channels = values.shape().num_elements();
        B::float_reshape(values, Shape::new([1, channels]))
    };
    let scale = B::float_recip(B::float_sqrt(B::float_add_scalar(variance, epsilon.into())));
    let centred = B::float_sub(widened::<B>(x), row(mean));
    let normalised = B::float_mul(centred, row(B::float_mul(scale, gain)));
    narrowed::<B>(B::float_add(normalised, row(shift)), dtype)
}

/// Batch normalisation with the statistics of the batch itself, which are returned (Ioffe & Szegedy, 2015):
///
/// ```text
/// y = γ (x - mean) / sqrt(var + ε) + β
/// ```
///
/// `x` is `[n, channels]` or `[n, channels, ...]`, in any float type; maps with contiguous channels are passed as
/// `[n * places, channels]`. Gain, shift, mean and biased variance are `[channels]` and in `f32` for `x` in half
/// precision, whose sums are never in half precision. Gradients reach `x`, gain and shift; mean and variance are
/// constants.
///
/// Cost: 8 operations a value and 10 in the gradient. The CPU (`f32`) and CubeCL (`f32` and half precision) have
/// their own bodies; these read a value of `f32` twice and write it once, and for the gradient read four times and
/// write once: 12 and 20 bytes.
///
/// # Panics
/// Gain or shift has not one number a channel.
pub fn batch_norm_train<const D: usize>(
    x: Tensor<D>,
    gain: Tensor<1>,
    shift: Tensor<1>,
    epsilon: f64,
) -> (Tensor<D>, Tensor<1>, Tensor<1>) {
    check_channels("batch_norm_train", x.dims()[1], [("gain", &gain), ("shift", &shift)]);
    let (gain, shift) = (gain.into_dispatch(), shift.into_dispatch());
    let (y, mean, variance) =
        <Dispatch as NormalisationOps>::normalise_batch(x.into_dispatch(), gain, shift, epsilon);
    (Tensor::from_dispatch(y), Tensor::from_dispatch(mean), Tensor::from_dispatch(variance))
}
