//! The statistics of a batch norm's inputs over all chunks of a batch, on all devices and in all processes, and the gradients
//! with respect to these statistics.

use std::ops::Range;

use burn::tensor::{DType, Device, Gradients, Tensor};
use simile_kernels::Statistics;

use crate::error::Result;
use crate::nn::layers::widen;
use crate::nn::{Flow, Moments, PendingNorm, Step};
use crate::peers::{Peers, sum_tensor};

/// The statistics of a step's inputs, with the number of positions over which they were computed.
#[derive(Debug, Clone)]
pub(super) struct BatchMoments {
    pub(super) moments: Moments,
    pub(super) counts: [usize; 2],
}

/// Computes the statistics of the inputs of a step's norms, and updates the running statistics with them.
pub(super) fn moments_of(step: &Step, flows: &[Flow], peers: &dyn Peers) -> Result<BatchMoments> {
    let [norm_of_maps, norm_of_branch] = step.norms();
    let maps = flows.iter().map(|flow| &flow.maps).collect::<Vec<_>>();
    let branch = flows.iter().filter_map(|flow| flow.branch.as_ref()).collect::<Vec<_>>();
    let mut batch_moments = BatchMoments { moments: [None, None], counts: [0; 2] };
    for (at, (norm, inputs)) in [(norm_of_maps, maps), (norm_of_branch, branch)].into_iter().enumerate() {
        let Some(norm) = norm else { continue };
        let (moments, count) = statistics(&inputs, norm, peers)?;
        norm.update_running_statistics(&moments, count);
        batch_moments.moments[at] = Some(moments);
        batch_moments.counts[at] = count;
    }
    Ok(batch_moments)
}

/// Mean and biased variance of each channel over all chunks, on the device of the first chunk of this process, with the number
/// of positions. The mean is computed first and subtracted before squaring, so that large means cost no digits.
fn statistics(inputs: &[&Tensor<4>], norm: &PendingNorm, peers: &dyn Peers) -> Result<(Statistics, usize)> {
    let device = inputs.first().map_or_else(|| norm.device(), |input| input.device());
    let count = positions_of_all(inputs.iter().copied(), peers)?;
    let mean_of = |of: &dyn Fn(Tensor<2>) -> Tensor<2>| {
        let sum = |input: &&Tensor<4>| {
            let [n, height, width, channels] = input.dims();
            let rows = widen((*input).clone()).reshape([n * height * width, channels]);
            of(rows).sum_dim(0).reshape([channels]).to_device(&device)
        };
        let own = inputs.iter().map(sum).reduce(|sum, one| sum + one);
        let own = own.unwrap_or_else(|| Tensor::zeros([norm.channels()], (&device, DType::F32)));
        Ok(sum_tensor(peers, own)? / count as f64)
    };
    let mean: Tensor<1> = mean_of(&|rows| rows)?;
    let variance = mean_of(&|rows| {
        let mean = mean.clone().to_device(&rows.device()).unsqueeze();
        (rows - mean).square()
    })?;
    Ok((Statistics { mean, variance }, count))
}

/// The number of positions in the maps of all processes.
fn positions_of_all<'f>(maps: impl Iterator<Item = &'f Tensor<4>>, peers: &dyn Peers) -> Result<usize> {
    /// The number is sent as two numbers below this one, which are exact in `f32`, as are their sums over a few thousand processes.
    const PART: usize = 1 << 12;
    let own = positions(maps);
    if peers.count() == 1 {
        return Ok(own);
    }
    let mut parts = [own % PART, own / PART % PART, own / PART / PART].map(|part| part as f32);
    peers.sum(&mut parts)?;
    let [low, middle, high] = parts.map(|part| part as usize);
    Ok(low + PART * (middle + PART * high))
}

/// The number of positions of maps, over which statistics are taken.
fn positions<'f>(maps: impl Iterator<Item = &'f Tensor<4>>) -> usize {
    maps.map(|maps| maps.dims()[..3].iter().product::<usize>()).sum()
}

/// Applies a function to mean and variance.
pub(super) fn map_statistics(
    Statistics { mean, variance }: Statistics,
    of: impl Fn(Tensor<1>) -> Tensor<1>,
) -> Statistics {
    Statistics { mean: of(mean), variance: of(variance) }
}

/// Adds means and variances, on the device of the first.
pub(super) fn add_statistics(a: Statistics, b: Statistics) -> Statistics {
    let device = a.mean.device();
    let b = map_statistics(b, |numbers| numbers.to_device(&device));
    Statistics { mean: a.mean + b.mean, variance: a.variance + b.variance }
}

/// Copies statistics to a device.
pub(super) fn on_device(moments: &Moments, device: &Device) -> Moments {
    moments.clone().map(|statistics| {
        statistics.map(|statistics| map_statistics(statistics, |numbers| numbers.to_device(device)))
    })
}

/// The gradients with respect to statistics that were variables of a graph.
pub(super) fn gradient_of(variables: Statistics, gradients: &mut Gradients) -> Statistics {
    let mut of = |numbers: Tensor<1>| match numbers.grad_remove(gradients) {
        Some(gradient) => gradient,
        None => numbers.without_autodiff().zeros_like(),
    };
    Statistics { mean: of(variables.mean), variance: of(variables.variance) }
}

/// Sums the gradients with respect to the statistics over the chunks of all processes.
pub(super) fn sum_over_processes(own: Moments, moments: &Moments, peers: &dyn Peers) -> Result<Moments> {
    if peers.count() == 1 {
        return Ok(own);
    }
    let [own_maps, own_branch] = own;
    let [maps, branch] = moments;
    let sum_over_all = |own: Option<Statistics>, values: &Option<Statistics>| -> Result<Option<Statistics>> {
        let Some(values) = values else { return Ok(None) };
        let zeros = |like: &Tensor<1>| like.zeros_like();
        let own = own
            .unwrap_or_else(|| Statistics { mean: zeros(&values.mean), variance: zeros(&values.variance) });
        let [channels] = own.mean.dims();
        let both = sum_tensor(peers, Tensor::cat(vec![own.mean, own.variance], 0))?;
        let part = |rows: Range<usize>| both.clone().slice([rows]);
        Ok(Some(Statistics { mean: part(0..channels), variance: part(channels..2 * channels) }))
    };
    Ok([sum_over_all(own_maps, maps)?, sum_over_all(own_branch, branch)?])
}

/// Adds to the gradient of an input the terms that come through the statistics of `count` positions and their gradients.
pub(super) fn add_statistics_terms(
    gradient: Tensor<4>,
    input: &Tensor<4>,
    statistics: Option<(Statistics, Statistics)>,
    count: usize,
) -> Tensor<4> {
    let Some((values, gradients)) = statistics else { return gradient };
    let dtype = gradient.dtype();
    let row = |numbers: Tensor<1>| {
        let [channels] = numbers.dims();
        numbers.reshape([1, 1, 1, channels])
    };
    let centred = widen(input.clone()) - row(values.mean);
    let terms = centred * row(gradients.variance * (2.0 / count as f64)) + row(gradients.mean / count as f64);
    (widen(gradient) + terms).cast(dtype)
}
