//! Convolutions and pools of tensors, with gradients.

use burn::backend::Dispatch;
use burn::tensor::Tensor;

use super::{Affine, ChannelStatistics, ConvNormSettings, ConvolutionOps, Windows};
use crate::ops::optional::Optional;
use crate::ops::shapes::{check, check_channels};

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

/// The steps of a residual block after a normalised convolution: the sum with an identity, then the rectifier.
#[derive(Debug, Clone, Default)]
pub struct Epilogue {
    /// The identity, of the shape of the convolution.
    pub added: Option<Tensor<4>>,
    /// True if negative values become 0.
    pub rectified: bool,
}

impl Epilogue {
    /// No further step.
    pub fn none() -> Self {
        Self::default()
    }

    /// The rectifier alone.
    pub fn rectified() -> Self {
        Self { added: None, rectified: true }
    }

    /// The sum with an identity, rectified.
    pub fn added_and_rectified(identity: Tensor<4>) -> Self {
        Self { added: Some(identity), rectified: true }
    }
}

/// The shape of a convolution's result. Panics unless maps and weight fit each other.
#[track_caller]
fn checked_shape(operation: &str, maps: &Tensor<4>, weight: &Tensor<4>, windows: Windows) -> [usize; 4] {
    let ([n, height, width, inputs], [outputs, channels, down, across]) = (maps.dims(), weight.dims());
    let Windows { stride, padding } = windows;
    let [padded_height, padded_width] = [height, width].map(|side| side + 2 * padding);
    let fits = channels == inputs && stride > 0 && padded_height >= down && padded_width >= across;
    check(operation, fits, || {
        let (maps, weight) = (maps.dims(), weight.dims());
        format!("Maps {maps:?} and a weight {weight:?} do not fit each other with {windows:?}.")
    });
    [n, (padded_height - down) / stride + 1, (padded_width - across) / stride + 1, outputs]
}

/// As [`checked_shape`]. Panics too unless gain and shift have one number a channel of the result, and an identity its shape.
#[track_caller]
fn check_normalised(
    operation: &str,
    maps: &Tensor<4>,
    weight: &Tensor<4>,
    windows: Windows,
    norm: &Norm,
    epilogue: &Epilogue,
) {
    let shape = checked_shape(operation, maps, weight, windows);
    check_channels(operation, shape[3], [("gain", &norm.gain), ("shift", &norm.shift)]);
    if let Some(identity) = &epilogue.added {
        let given = identity.dims();
        check(operation, given == shape, || {
            format!("The identity must have the shape of the convolution: {shape:?}, not {given:?}.")
        });
    }
}

/// A convolution of maps `[n, h, w, in]` with a weight `[out, in, k, k]`, and `bias` `[out]` added:
/// `[n, (h + 2 padding - k) / stride + 1, .., out]`.
///
/// `2 k² in out` operations a position of the result; on the CPU a quarter of them if the kernel is 3×3 at stride 1
/// with a padding of 1 and both numbers of channels are multiples of 16.
///
/// # Panics
/// The weight has not the input channels of the maps or is larger than the padded maps, or the bias has not one number an output.
pub fn convolve(maps: Tensor<4>, weight: Tensor<4>, bias: Option<Tensor<1>>, windows: Windows) -> Tensor<4> {
    let [.., outputs] = checked_shape("convolve", &maps, &weight, windows);
    if let Some(bias) = &bias {
        check_channels("convolve", outputs, [("bias", bias)]);
    }
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
/// The output and the identity have the shape of the convolution, `[n, (h + 2 padding - k) / stride + 1, .., out]`; the
/// statistics, mean and biased variance of each channel, are `[out]`.
///
/// In addition to the convolution, the CPU takes one pass over its result (8 bytes a value), and two for the
/// gradient; one more if an identity is added and its gradient is shared.
///
/// # Panics
/// As [`convolve`]; gain or shift has not one number an output, or the identity has not the shape of the convolution.
pub fn convolve_normalised(
    maps: Tensor<4>,
    weight: Tensor<4>,
    windows: Windows,
    norm: Norm,
    epilogue: Epilogue,
) -> (Tensor<4>, Statistics) {
    check_normalised("convolve_normalised", &maps, &weight, windows, &norm, &epilogue);
    let Norm { gain, shift, epsilon } = norm;
    let Epilogue { added, rectified } = epilogue;
    let affine = Affine { gain: gain.into_dispatch(), shift: shift.into_dispatch() };
    let identity = Optional::of(added.map(Tensor::into_dispatch));
    let settings = ConvNormSettings { windows, epsilon, rectified };
    let (output, _, mean, variance) = <Dispatch as ConvolutionOps>::convolve_normalised(
        maps.into_dispatch(),
        weight.into_dispatch(),
        affine,
        identity,
        settings,
    );
    let statistics =
        Statistics { mean: Tensor::from_dispatch(mean), variance: Tensor::from_dispatch(variance) };
    (Tensor::from_dispatch(output), statistics)
}

/// As [`convolve_normalised`] with given statistics, as in the evaluation of a network. Without gradients, the CPU
/// takes one pass over the result.
///
/// # Panics
/// As [`convolve_normalised`]; mean or variance has not one number an output.
pub fn convolve_normalised_by(
    maps: Tensor<4>,
    weight: Tensor<4>,
    windows: Windows,
    norm: Norm,
    statistics: Statistics,
    epilogue: Epilogue,
) -> Tensor<4> {
    let operation = "convolve_normalised_by";
    check_normalised(operation, &maps, &weight, windows, &norm, &epilogue);
    let of_outputs = [("mean", &statistics.mean), ("variance", &statistics.variance)];
    check_channels(operation, weight.dims()[0], of_outputs);
    let Norm { gain, shift, epsilon } = norm;
    let Epilogue { added, rectified } = epilogue;
    let Statistics { mean, variance } = statistics;
    let output = <Dispatch as ConvolutionOps>::convolve_normalised_by(
        maps.into_dispatch(),
        weight.into_dispatch(),
        Affine { gain: gain.into_dispatch(), shift: shift.into_dispatch() },
        ChannelStatistics { mean: mean.into_dispatch(), variance: variance.into_dispatch() },
        Optional::of(added.map(Tensor::into_dispatch)),
        ConvNormSettings { windows, epsilon, rectified },
    );
    Tensor::from_dispatch(output)
}

/// `avg_pool2(tanh(convolution(maps, weight) + bias))` of maps `[n, h, w, in]`, with a kernel of `k` × `k` at stride 1 and
/// without padding: `[n, (h + 1 - k) / 2, .., out]`, a block of LeNet-5.
///
/// `8 k² in out` operations a pooled value, on the CPU and in Burn; the CPU also computes the last `k - 1` columns of each row, which
/// are not read, and stores 16 bytes a value of the result for the gradient.
///
/// # Panics
/// As [`convolve`]; a side of the convolved maps is less than 2.
pub fn convolve_tanh_pool(maps: Tensor<4>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<4> {
    let dense = Windows { stride: 1, padding: 0 };
    let [_, height, width, outputs] = checked_shape("convolve_tanh_pool", &maps, &weight, dense);
    check("convolve_tanh_pool", height.min(width) >= 2, || {
        format!("The sides of the convolved maps must be at least 2, not {height} and {width}.")
    });
    check_channels("convolve_tanh_pool", outputs, [("bias", &bias)]);
    let (maps, weight, bias) = (maps.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
    let (pooled, _) = <Dispatch as ConvolutionOps>::convolve_tanh_pool(maps, weight, bias);
    Tensor::from_dispatch(pooled)
}

/// The largest value of each window of `side` × `side` positions, by channel: `[n, h, w, channels]` to
/// `[n, (h + 2 padding - side) / stride + 1, .., channels]`.
///
/// Cost: `side²` comparisons a value of the result, and as many in the gradient. The CPU reads 4 bytes a value of the maps
/// and writes 5 a value of the result: the maximum, and its place in the window. The gradient reads 5 bytes a value of the
/// result and writes 4 a value of the maps.
///
/// # Panics
/// The windows have no positions or are larger than the padded maps, or the stride is 0.
pub fn max_pool(maps: Tensor<4>, side: usize, windows: Windows) -> Tensor<4> {
    let ([_, height, width, _], Windows { stride, padding }) = (maps.dims(), windows);
    let fits = stride > 0 && side > 0 && height.min(width) + 2 * padding >= side;
    check("max_pool", fits, || {
        format!("Maps of {height} × {width} have no windows of {side} × {side} with {windows:?}.")
    });
    let (maxima, _) = <Dispatch as ConvolutionOps>::max_pool(maps.into_dispatch(), side, windows);
    Tensor::from_dispatch(maxima)
}

/// The mean over the positions of each map, `[n, h, w, channels]` to `[n, channels]`.
///
/// Cost: an addition and 4 bytes read a value of the maps; in the gradient a multiplication and 4 bytes written.
pub fn mean_pool(maps: Tensor<4>) -> Tensor<2> {
    Tensor::from_dispatch(<Dispatch as ConvolutionOps>::mean_pool(maps.into_dispatch()))
}
