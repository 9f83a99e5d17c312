use burn::backend::Flex;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, TensorData};
use burn_flex::FlexTensor;

use super::memory::{contiguous, floats, in_place, is_f32, tensor};
use crate::cpu::conv_norm::{self, Masked};
use crate::cpu::convolution::{convolve, convolve_backward};
use crate::cpu::geometry::Geometry;
use crate::cpu::moments::Moments;
use crate::cpu::parallel;
use crate::cpu::pool;
use crate::cpu::tanh_pool::Block;
use crate::ops::convolution::plain::{
    places, plain_convolve, plain_convolve_backward, plain_convolve_normalised,
    plain_convolve_normalised_backward, plain_convolve_normalised_by, plain_convolve_tanh_pool,
    plain_convolve_tanh_pool_backward, plain_max_pool, plain_max_pool_backward, plain_mean_pool,
    plain_mean_pool_backward, planes,
};
use crate::ops::convolution::{
    Affine, ChannelStatistics, ConvNormSettings, ConvolutionGradients, ConvolutionOps, SavedForBackward,
    Windows,
};
use crate::ops::optional::Optional;

/// The convolution, if the loops of [`crate::cpu`] support it: `f32`, and a square kernel.
fn geometry(maps: &FlexTensor, weight: &FlexTensor, windows: Windows) -> Option<Geometry> {
    let [n, height, width, inputs] = dims(maps)?;
    let [outputs, channels, kernel, across] = dims(weight)?;
    let Windows { stride, padding } = windows;
    let geometry = Geometry { n, height, width, inputs, outputs, kernel, stride, padding };
    let fits = channels == inputs && across == kernel && geometry.is_valid();
    (fits && is_f32(maps) && is_f32(weight)).then_some(geometry)
}

fn dims<const D: usize>(tensor: &FlexTensor) -> Option<[usize; D]> {
    tensor.layout().shape().as_slice().try_into().ok()
}

fn are_f32<'a>(tensors: impl IntoIterator<Item = &'a FlexTensor>) -> bool {
    tensors.into_iter().all(is_f32)
}

/// The normalisation by gain, shift and statistics of channels.
fn norm_of<'a>(
    [gain, shift]: [&'a FlexTensor; 2],
    [means, variances]: [&'a [f32]; 2],
    epsilon: f64,
) -> conv_norm::Norm<'a> {
    let (gains, shifts) = (floats(gain), floats(shift));
    conv_norm::Norm { gains, shifts, means, variances, epsilon: epsilon as f32 }
}

/// Adds a bias to each position.
fn add_bias(maps: &mut [f32], bias: &[f32]) {
    for place in maps.chunks_exact_mut(bias.len().max(1)) {
        place.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
    }
}

impl ConvolutionOps for Flex {
    fn convolve(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Optional<Self>,
        windows: Windows,
    ) -> FloatTensor<Self> {
        let bias = bias.into_option();
        let Some(geometry) = geometry(&maps, &weight, windows).filter(|_| are_f32(&bias)) else {
            return plain_convolve::<Self>(maps, weight, Optional::of(bias), windows);
        };
        let (maps, weight, bias) = (contiguous(maps), contiguous(weight), bias.map(contiguous));
        let mut output = parallel::zeros(geometry.results());
        convolve(floats(&maps), floats(&weight), &geometry, &mut output, |_, part| {
            if let Some(bias) = &bias {
                add_bias(part, floats(bias));
            }
        });
        tensor(output, geometry.shape())
    }

    fn convolve_normalised(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        affine: Affine<Self>,
        identity: Optional<Self>,
        settings: ConvNormSettings,
    ) -> (FlexTensor, FlexTensor, FlexTensor, FlexTensor) {
        let identity = identity.into_option();
        let are_f32 = are_f32([&affine.gain, &affine.shift].into_iter().chain(&identity));
        let Some(geometry) = geometry(&maps, &weight, settings.windows).filter(|_| are_f32) else {
            let identity = Optional::of(identity);
            return plain_convolve_normalised::<Self>(maps, weight, affine, identity, settings);
        };
        let [maps, weight, gain, shift] = [maps, weight, affine.gain, affine.shift].map(contiguous);
        let identity = identity.map(contiguous);
        let outputs = geometry.outputs;
        let mut convolution = parallel::zeros(geometry.results());
        let parts = convolve(floats(&maps), floats(&weight), &geometry, &mut convolution, |_, part| {
            conv_norm::moments(part, outputs)
        });
        let [means, variances] = Moments::joined(parts, outputs).into_mean_and_variance();
        let norm = norm_of([&gain, &shift], [&means, &variances], settings.epsilon);
        let mut output = parallel::zeros(convolution.len());
        norm.activation(identity.as_ref().map(floats), settings.rectified).write(&convolution, &mut output);
        let shape = geometry.shape();
        let (output, convolution) = (tensor(output, shape), tensor(convolution, shape));
        (output, convolution, tensor(means, [outputs]), tensor(variances, [outputs]))
    }

    fn convolve_normalised_by(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        affine: Affine<Self>,
        statistics: ChannelStatistics<Self>,
        identity: Optional<Self>,
        settings: ConvNormSettings,
    ) -> FloatTensor<Self> {
        let identity = identity.into_option();
        let others = [&affine.gain, &affine.shift, &statistics.mean, &statistics.variance];
        let are_f32 = are_f32(others.into_iter().chain(&identity));
        let Some(geometry) = geometry(&maps, &weight, settings.windows).filter(|_| are_f32) else {
            let identity = Optional::of(identity);
            return plain_convolve_normalised_by::<Self>(
                maps, weight, affine, statistics, identity, settings,
            );
        };
        let [maps, weight, gain, shift] = [maps, weight, affine.gain, affine.shift].map(contiguous);
        let [mean, variance] = [statistics.mean, statistics.variance].map(contiguous);
        let identity = identity.map(contiguous);
        let norm = norm_of([&gain, &shift], [floats(&mean), floats(&variance)], settings.epsilon);
        let activation = norm.activation(identity.as_ref().map(floats), settings.rectified);
        let mut output = parallel::zeros(geometry.results());
        convolve(floats(&maps), floats(&weight), &geometry, &mut output, |first, part| {
            activation.apply(first, part);
        });
        tensor(output, geometry.shape())
    }

    fn convolve_tanh_pool(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> (FlexTensor, FlexTensor) {
        let Some((n, block)) = block(&maps, &weight).filter(|_| is_f32(&bias)) else {
            return plain_convolve_tanh_pool::<Self>(maps, weight, bias);
        };
        let [maps, weight, bias] = [planes::<Self>(maps), weight, bias].map(contiguous);
        let [pooled, tanh] = block.convolve_tanh_pool(floats(&maps), floats(&weight), floats(&bias));
        let [height, width] = block.pooled();
        let pooled = tensor(pooled, [n, block.out, height, width]);
        (places::<Self>(pooled), tensor(tanh, [n, block.out, block.span()]))
    }

    fn max_pool(
        maps: FloatTensor<Self>,
        side: usize,
        windows: Windows,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let Some(geometry) = geometry_of_pool(&maps, side, windows) else {
            return plain_max_pool::<Self>(maps, side, windows);
        };
        let (maxima, sources) = pool::max_pool(floats(&contiguous(maps)), &geometry);
        let shape = geometry.shape();
        (tensor(maxima, shape), FlexTensor::from_data(TensorData::new(sources, shape)))
    }

    fn mean_pool(maps: FloatTensor<Self>) -> FloatTensor<Self> {
        match dims(&maps) {
            Some([n, height, width, channels]) if is_f32(&maps) && n * height * width * channels > 0 => {
                let maps = contiguous(maps);
                tensor(pool::mean_pool(floats(&maps), height * width, channels), [n, channels])
            }
            _ => plain_mean_pool::<Self>(maps),
        }
    }
}

impl ConvolutionGradients for Flex {
    fn convolve_backward(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
        windows: Windows,
        wanted: [bool; 3],
    ) -> (Option<FlexTensor>, Option<FlexTensor>, Option<FlexTensor>) {
        let Some(geometry) = geometry(&maps, &weight, windows).filter(|_| is_f32(&upstream)) else {
            return plain_convolve_backward::<Self>(maps, weight, upstream, windows, wanted);
        };
        let [maps, weight, upstream] = [maps, weight, upstream].map(contiguous);
        let [grad_maps, grad_weight, grad_bias] = wanted;
        let upstream = &floats(&upstream);
        let grads =
            convolve_backward(floats(&maps), floats(&weight), &geometry, upstream, [grad_maps, grad_weight]);
        let [grad_maps, grad_weight] = gradient_tensors(grads, &geometry);
        let outputs = geometry.outputs;
        let grad_bias = grad_bias.then(|| tensor(conv_norm::sum_of_places(upstream, outputs), [outputs]));
        (grad_maps, grad_weight, grad_bias)
    }

    fn convolve_normalised_backward(
        context: SavedForBackward<Self>,
        upstream: FloatTensor<Self>,
        settings: ConvNormSettings,
        wanted: [bool; 5],
    ) -> (Option<FlexTensor>, Option<FlexTensor>, Option<FlexTensor>, Option<FlexTensor>, Option<FlexTensor>)
    {
        let others = [
            &upstream,
            &context.gain,
            &context.shift,
            &context.convolution,
            &context.mean,
            &context.variance,
        ];
        let are_f32 = are_f32(others);
        let Some(geometry) = geometry(&context.maps, &context.weight, settings.windows).filter(|_| are_f32)
        else {
            return plain_convolve_normalised_backward::<Self>(context, upstream, settings, wanted);
        };
        let SavedForBackward { maps, weight, gain, shift, convolution, mean, variance, output } = context;
        let [grad_maps, grad_weight, grad_gain, grad_shift, grad_identity] = wanted;
        let [maps, weight, convolution] = [maps, weight, convolution].map(contiguous);
        let [gain, shift, mean, variance] = [gain, shift, mean, variance].map(contiguous);
        let output = output.into_option().map(contiguous);
        let upstream = match &output {
            // In place of the upstream gradient, which is also the gradient of the identity.
            Some(output) => in_place(upstream, |upstream| conv_norm::mask(upstream, floats(output))).0,
            None => contiguous(upstream),
        };
        let norm = norm_of([&gain, &shift], [floats(&mean), floats(&variance)], settings.epsilon);
        let masked = if settings.rectified && output.is_none() {
            Masked::from_rectified(floats(&upstream), norm.activation(None, true))
        } else {
            Masked::of(floats(&upstream))
        };
        let conv_norm::Backward { grad_gain: gains, grad_shift: shifts, grad_maps: slope } =
            norm.backward(floats(&convolution), masked);
        let grads =
            convolve_backward(floats(&maps), floats(&weight), &geometry, &slope, [grad_maps, grad_weight]);
        let [grad_maps, grad_weight] = gradient_tensors(grads, &geometry);
        let vector =
            |values: Vec<f32>, is_wanted: bool| is_wanted.then(|| tensor(values, [geometry.outputs]));
        let (grad_gain, grad_shift) = (vector(gains, grad_gain), vector(shifts, grad_shift));
        (grad_maps, grad_weight, grad_gain, grad_shift, grad_identity.then_some(upstream))
    }

    fn convolve_tanh_pool_backward(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        tanh: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
        wanted: [bool; 3],
    ) -> (Option<FlexTensor>, Option<FlexTensor>, Option<FlexTensor>) {
        let is_ours = |block: &Block| dims(&tanh).is_some_and(|[.., last]: [usize; 3]| last == block.span());
        let images_and_block = block(&maps, &weight).filter(|(_, block)| is_ours(block) && is_f32(&upstream));
        let Some((n, block)) = images_and_block else {
            return plain_convolve_tanh_pool_backward::<Self>(maps, weight, tanh, upstream, wanted);
        };
        let [maps, upstream] = [maps, upstream].map(planes::<Self>);
        let [maps, weight, tanh, upstream] = [maps, weight, tanh, upstream].map(contiguous);
        let [maps, weight, tanh, upstream] = [&maps, &weight, &tanh, &upstream].map(floats);
        let [grad_maps, grad_weight, grad_bias] =
            block.convolve_tanh_pool_backward(maps, weight, tanh, upstream, wanted);
        let Block { sides: [height, width], channels, out, kernel } = block;
        let grad_maps = grad_maps.map(|values| places::<Self>(tensor(values, [n, channels, height, width])));
        let grad_weight = grad_weight.map(|values| tensor(values, [out, channels, kernel, kernel]));
        (grad_maps, grad_weight, grad_bias.map(|values| tensor(values, [out])))
    }

    fn mean_pool_backward(upstream: FloatTensor<Self>, sides: [usize; 2]) -> FloatTensor<Self> {
        let [height, width] = sides;
        match dims(&upstream) {
            Some([n, channels]) if is_f32(&upstream) && n * height * width * channels > 0 => {
                let upstream = contiguous(upstream);
                let grad_maps = pool::mean_pool_backward(floats(&upstream), height * width, channels);
                tensor(grad_maps, [n, height, width, channels])
            }
            _ => plain_mean_pool_backward::<Self>(upstream, sides),
        }
    }

    fn max_pool_backward(
        maps: FloatTensor<Self>,
        sources: IntTensor<Self>,
        upstream: FloatTensor<Self>,
        side: usize,
        windows: Windows,
    ) -> FloatTensor<Self> {
        let is_ours = sources.dtype() == DType::U8 && is_f32(&upstream);
        match (geometry_of_pool(&maps, side, windows), sources.as_slice::<u8>()) {
            (Some(geometry), Some(sources)) if is_ours => {
                let grad_maps = pool::max_pool_backward(floats(&contiguous(upstream)), sources, &geometry);
                tensor(grad_maps, [geometry.n, geometry.height, geometry.width, geometry.inputs])
            }
            _ => plain_max_pool_backward::<Self>(maps, sources, upstream, side, windows),
        }
    }
}

/// The gradients of maps and weight as tensors.
fn gradient_tensors(grads: [Option<Vec<f32>>; 2], geometry: &Geometry) -> [Option<FlexTensor>; 2] {
    let Geometry { n, height, width, inputs, outputs, kernel, .. } = *geometry;
    let [grad_maps, grad_weight] = grads;
    let grad_maps = grad_maps.map(|values| tensor(values, [n, height, width, inputs]));
    [grad_maps, grad_weight.map(|values| tensor(values, [outputs, inputs, kernel, kernel]))]
}

/// Number of images and the block, if the loops of [`crate::cpu`] support it.
fn block(maps: &FlexTensor, weight: &FlexTensor) -> Option<(usize, Block)> {
    let windows = Windows { stride: 1, padding: 0 };
    let Geometry { n, height, width, inputs, outputs, kernel, .. } = geometry(maps, weight, windows)?;
    let block = Block { sides: [height, width], channels: inputs, out: outputs, kernel };
    block.is_valid().then_some((n, block))
}

/// A pool, if the loops of [`crate::cpu`] support it.
fn geometry_of_pool(maps: &FlexTensor, side: usize, windows: Windows) -> Option<Geometry> {
    let [n, height, width, channels] = dims(maps)?;
    let Windows { stride, padding } = windows;
    let (inputs, outputs) = (channels, channels);
    let geometry = Geometry { n, height, width, inputs, outputs, kernel: side, stride, padding };
    (is_f32(maps) && side <= LARGEST_POOL && padding < side && geometry.is_valid()).then_some(geometry)
}

/// Source indices are stored in one byte.
const LARGEST_POOL: usize = 16;
