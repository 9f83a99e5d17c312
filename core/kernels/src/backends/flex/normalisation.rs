use burn::backend::Flex;
use burn::backend::tensor::FloatTensor;

use super::memory::{contiguous, floats, into_floats, is_f32, tensor};
use crate::cpu::norm::{Channels, Statistics, normalise, normalise_batch_backward, statistics};
use crate::ops::normalisation::{plain_normalise_batch, plain_normalise_batch_backward};
use crate::{NormalisationGradients, NormalisationOps};

impl NormalisationOps for Flex {
    fn normalise_batch(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        if ![&x, &gain, &shift].into_iter().all(is_f32) {
            return plain_normalise_batch::<Self>(x, gain, shift, epsilon);
        }
        let (x, gain, shift) = (contiguous(x), contiguous(gain), contiguous(shift));
        let (layout, shape) = (channels(&x), x.layout().shape().clone());
        let statistics = statistics(floats(&x), layout);
        let mut y = vec![0.0; shape.num_elements()];
        let constants = (floats(&gain), floats(&shift));
        normalise(floats(&x), layout, &statistics, constants, epsilon as f32, &mut y);
        let length = [statistics.means.len()];
        (tensor(y, shape), tensor(statistics.means, length), tensor(statistics.variances, length))
    }
}

impl NormalisationGradients for Flex {
    fn normalise_batch_backward(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        mean: FloatTensor<Self>,
        variance: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        if ![&x, &gain, &gradient].into_iter().all(is_f32) {
            return plain_normalise_batch_backward::<Self>(x, gain, mean, variance, gradient, epsilon);
        }
        let (x, gain) = (contiguous(x), contiguous(gain));
        let (layout, shape) = (channels(&x), x.layout().shape().clone());
        let statistics = Statistics { means: into_floats(mean), variances: into_floats(variance) };
        let mut gradient = into_floats(gradient);
        let [grad_gain, grad_shift] = normalise_batch_backward(
            floats(&x),
            layout,
            &statistics,
            floats(&gain),
            epsilon as f32,
            &mut gradient,
        );
        let length = [grad_gain.len()];
        (tensor(gradient, shape), tensor(grad_gain, length), tensor(grad_shift, length))
    }
}

/// The memory layout of the channels of `[n, channels, ...]`.
fn channels(x: &FloatTensor<Flex>) -> Channels {
    let shape = x.layout().shape();
    let channels = shape.iter().nth(1).copied().unwrap_or(1);
    Channels::new(channels, shape.iter().skip(2).product())
}
