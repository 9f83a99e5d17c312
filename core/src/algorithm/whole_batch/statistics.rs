//! The statistics of a batch norm's inputs over all chunks of a batch, on all devices and in all processes, and the gradients
//! with respect to these statistics.

use std::ops::Range;

use burn::tensor::{DType, Device, Gradients, Tensor};
use simile_kernels::{Statistics, is_half};

use crate::algorithm::gather::summed;
use crate::error::Result;
use crate::nn::{Flow, Moments, Pending, Step};
use crate::peers::Peers;

/// The statistics of a step's inputs, with the number of places over which they were computed.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) moments: Moments,
    pub(super) counts: [usize; 2],
}

/// Computes the statistics of the inputs of a step's norms, and updates the running statistics with them.
pub(super) fn moments_of(step: &Step, flows: &[Flow], peers: &dyn Peers) -> Result<Known> {
    let [of_maps, of_branch] = step.norms();
    let maps = flows.iter().map(|flow| &flow.maps).collect::<Vec<_>>();
    let branch = flows.iter().filter_map(|flow| flow.branch.as_ref()).collect::<Vec<_>>();
    let mut known = Known { moments: [None, None], counts: [0; 2] };
    for (at, (norm, inputs)) in [(of_maps, maps), (of_branch, branch)].into_iter().enumerate() {
        let Some(norm) = norm else { continue };
        let (moments, count) = statistics(&inputs, norm, peers)?;
        norm.observe(&moments, count);
        known.moments[at] = Some(moments);
        known.counts[at] = count;
    }
    Ok(known)
}

/// Mean and biased variance of each channel over all chunks, on the device of the first chunk of this process, with the number
/// of places. The mean is computed first and subtracted before squaring, so that large means cost no digits.
fn statistics(inputs: &[&Tensor<4>], norm: &Pending, peers: &dyn Peers) -> Result<(Statistics, usize)> {
    let device = inputs.first().map_or_else(|| norm.device(), |input| input.device());
    let count = places_of_all(inputs.iter().copied(), peers)?;
    let mean_of = |of: &dyn Fn(Tensor<2>) -> Tensor<2>| {
        let sum = |input: &&Tensor<4>| {
            let [n, height, width, channels] = input.dims();
            let rows = wide((*input).clone()).reshape([n * height * width, channels]);
            of(rows).sum_dim(0).reshape([channels]).to_device(&device)
        };
        let own = inputs.iter().map(sum).reduce(|sum, one| sum + one);
        let own = own.unwrap_or_else(|| Tensor::zeros([norm.channels()], (&device, DType::F32)));
        Ok(summed(peers, own)? / count as f64)
    };
    let mean: Tensor<1> = mean_of(&|rows| rows)?;
    let variance = mean_of(&|rows| {
        let mean = mean.clone().to_device(&rows.device()).unsqueeze();
        (rows - mean).square()
    })?;
    Ok((Statistics { mean, variance }, count))
}

/// The number of places in the maps of all processes.
fn places_of_all<'f>(maps: impl Iterator<Item = &'f Tensor<4>>, peers: &dyn Peers) -> Result<usize> {
    /// The number is sent as two numbers below this one, which are exact in `f32`, as are their sums over a few thousand processes.
    const PART: usize = 1 << 12;
    let own = places(maps);
    if peers.count() == 1 {
        return Ok(own);
    }
    let mut parts = [own % PART, own / PART % PART, own / PART / PART].map(|part| part as f32);
    peers.sum(&mut parts)?;
    let [low, middle, high] = parts.map(|part| part as usize);
    Ok(low + PART * (middle + PART * high))
}

/// The number of places of maps, over which statistics are taken.
fn places<'f>(maps: impl Iterator<Item = &'f Tensor<4>>) -> usize {
    maps.map(|maps| maps.dims()[..3].iter().product::<usize>()).sum()
}

/// A tensor in a float type of enough bits for sums.
fn wide(tensor: Tensor<4>) -> Tensor<4> {
    if is_half(tensor.dtype()) { tensor.cast(DType::F32) } else { tensor }
}

pub(super) fn changed(
    Statistics { mean, variance }: Statistics,
    of: impl Fn(Tensor<1>) -> Tensor<1>,
) -> Statistics {
    Statistics { mean: of(mean), variance: of(variance) }
}

pub(super) fn plus(a: Statistics, b: Statistics) -> Statistics {
    let device = a.mean.device();
    let b = changed(b, |numbers| numbers.to_device(&device));
    Statistics { mean: a.mean + b.mean, variance: a.variance + b.variance }
}

pub(super) fn on_device(moments: &Moments, device: &Device) -> Moments {
    moments.clone().map(|known| known.map(|known| changed(known, |numbers| numbers.to_device(device))))
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
pub(super) fn due_by_all(own: Moments, known: &Moments, peers: &dyn Peers) -> Result<Moments> {
    if peers.count() == 1 {
        return Ok(own);
    }
    let [of_maps, of_branch] = own;
    let [maps, branch] = known;
    let of_all = |own: Option<Statistics>, known: &Option<Statistics>| -> Result<Option<Statistics>> {
        let Some(known) = known else { return Ok(None) };
        let zeros = |like: &Tensor<1>| like.zeros_like();
        let own =
            own.unwrap_or_else(|| Statistics { mean: zeros(&known.mean), variance: zeros(&known.variance) });
        let [channels] = own.mean.dims();
        let both = summed(peers, Tensor::cat(vec![own.mean, own.variance], 0))?;
        let part = |rows: Range<usize>| both.clone().slice([rows]);
        Ok(Some(Statistics { mean: part(0..channels), variance: part(channels..2 * channels) }))
    };
    Ok([of_all(of_maps, maps)?, of_all(of_branch, branch)?])
}

/// Adds to the gradient of an input the terms that come through the statistics of `count` places and their gradients.
pub(super) fn with_due(
    gradient: Tensor<4>,
    input: &Tensor<4>,
    statistics: Option<(Statistics, Statistics)>,
    count: usize,
) -> Tensor<4> {
    let Some((known, of_known)) = statistics else { return gradient };
    let dtype = gradient.dtype();
    let row = |numbers: Tensor<1>| {
        let [channels] = numbers.dims();
        numbers.reshape([1, 1, 1, channels])
    };
    let centred = wide(input.clone()) - row(known.mean);
    let due = centred * row(of_known.variance * (2.0 / count as f64)) + row(of_known.mean / count as f64);
    (wide(gradient) + due).cast(dtype)
}
