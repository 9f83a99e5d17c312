use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend as _, Backend, TensorMetadata as _};

use super::record::record;
use crate::ops::convolution::plain::plain_convolve_normalised_by;
use crate::ops::convolution::{
    Affine, ChannelStatistics, ConvNormSettings, ConvolutionGradients, ConvolutionOps, SavedForBackward,
    Windows,
};
use crate::ops::optional::Optional;

impl<B: Backend + ConvolutionGradients, C: CheckpointStrategy> ConvolutionOps for Autodiff<B, C> {
    fn convolve(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Optional<Self>,
        windows: Windows,
    ) -> FloatTensor<Self> {
        let ((maps, maps_node), (weight, weight_node)) = (maps.into_parts(), weight.into_parts());
        let (bias, bias_node) = bias.into_option().map(FloatTensor::<Self>::into_parts).unzip();
        let output = B::convolve(maps.clone(), weight.clone(), Optional::of(bias), windows);
        let gradients = move |upstream, wanted| {
            let (maps, weight, bias) = B::convolve_backward(maps, weight, upstream, windows, wanted);
            [maps, weight, bias]
        };
        match bias_node {
            Some(bias_node) => record::<B, C, 3>([maps_node, weight_node, bias_node], output, gradients),
            None => record::<B, C, 2>([maps_node, weight_node], output, |upstream, [maps, weight]| {
                let [maps, weight, _] = gradients(upstream, [maps, weight, false]);
                [maps, weight]
            }),
        }
    }

    fn convolve_normalised(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        affine: Affine<Self>,
        identity: Optional<Self>,
        settings: ConvNormSettings,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let ((maps, maps_node), (weight, weight_node)) = (maps.into_parts(), weight.into_parts());
        let ((gain, gain_node), (shift, shift_node)) = (affine.gain.into_parts(), affine.shift.into_parts());
        let (identity, identity_node) = identity.into_option().map(FloatTensor::<Self>::into_parts).unzip();
        let (output, convolution, mean, variance) = B::convolve_normalised(
            maps.clone(),
            weight.clone(),
            Affine { gain: gain.clone(), shift: shift.clone() },
            Optional::of(identity),
            settings,
        );
        let constant = |tensor: &FloatTensor<B>| Self::from_inner(tensor.clone());
        let besides = [constant(&convolution), constant(&mean), constant(&variance)];
        // Only a rectified sum is masked by its own values. In other cases no gradient reads the output, so it is not kept.
        let is_mask = identity_node.is_some() && settings.rectified;
        let context = SavedForBackward {
            maps,
            weight,
            gain,
            shift,
            convolution,
            mean,
            variance,
            output: Optional::of(is_mask.then(|| output.clone())),
        };
        let gradients = move |upstream, wanted| {
            let gradients = B::convolve_normalised_backward(context, upstream, settings, wanted);
            [gradients.0, gradients.1, gradients.2, gradients.3, gradients.4]
        };
        let nodes = [maps_node, weight_node, gain_node, shift_node];
        let output = match identity_node {
            Some(identity_node) => {
                let [maps, weight, gain, shift] = nodes;
                record::<B, C, 5>([maps, weight, gain, shift, identity_node], output, gradients)
            }
            None => record::<B, C, 4>(nodes, output, |upstream, [maps, weight, gain, shift]| {
                let [maps, weight, gain, shift, _] = gradients(upstream, [maps, weight, gain, shift, false]);
                [maps, weight, gain, shift]
            }),
        };
        let [convolution, mean, variance] = besides;
        (output, convolution, mean, variance)
    }

    /// One operation if no gradient is needed; else the convolution is one operation, and the following steps are
    /// Burn's.
    fn convolve_normalised_by(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        affine: Affine<Self>,
        statistics: ChannelStatistics<Self>,
        identity: Optional<Self>,
        settings: ConvNormSettings,
    ) -> FloatTensor<Self> {
        let identity = identity.into_option();
        let tensors = [&maps, &weight, &affine.gain, &affine.shift, &statistics.mean, &statistics.variance];
        if tensors.into_iter().chain(&identity).any(FloatTensor::<Self>::is_tracked) {
            let identity = Optional::of(identity);
            return plain_convolve_normalised_by::<Self>(
                maps, weight, affine, statistics, identity, settings,
            );
        }
        Self::from_inner(B::convolve_normalised_by(
            maps.into_primitive(),
            weight.into_primitive(),
            Affine { gain: affine.gain.into_primitive(), shift: affine.shift.into_primitive() },
            ChannelStatistics {
                mean: statistics.mean.into_primitive(),
                variance: statistics.variance.into_primitive(),
            },
            Optional::of(identity.map(FloatTensor::<Self>::into_primitive)),
            settings,
        ))
    }

    fn convolve_tanh_pool(
        maps: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let ((maps, maps_node), (weight, weight_node)) = (maps.into_parts(), weight.into_parts());
        let (bias, bias_node) = bias.into_parts();
        let (output, tanh) = B::convolve_tanh_pool(maps.clone(), weight.clone(), bias);
        let constant = Self::from_inner(tanh.clone());
        let nodes = [maps_node, weight_node, bias_node];
        let output = record::<B, C, 3>(nodes, output, |upstream, wanted| {
            let (maps, weight, bias) = B::convolve_tanh_pool_backward(maps, weight, tanh, upstream, wanted);
            [maps, weight, bias]
        });
        (output, constant)
    }

    fn mean_pool(maps: FloatTensor<Self>) -> FloatTensor<Self> {
        let (maps, node) = maps.into_parts();
        let [_, height, width, _] = maps.shape().dims();
        let output = B::mean_pool(maps);
        record::<B, C, 1>([node], output, move |upstream, _| {
            [Some(B::mean_pool_backward(upstream, [height, width]))]
        })
    }

    fn max_pool(
        maps: FloatTensor<Self>,
        side: usize,
        windows: Windows,
    ) -> (FloatTensor<Self>, IntTensor<Self>) {
        let (maps, node) = maps.into_parts();
        let (output, sources) = B::max_pool(maps.clone(), side, windows);
        let backward_sources = sources.clone();
        let output = record::<B, C, 1>([node], output, move |upstream, _| {
            [Some(B::max_pool_backward(maps, backward_sources, upstream, side, windows))]
        });
        (output, sources)
    }
}
