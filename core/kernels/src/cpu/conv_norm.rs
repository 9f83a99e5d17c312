//! Batch normalisation of maps `[places, channels]` with the next steps of a residual block: the sum with the
//! identity, and the rectifier.
//!
//! ```text
//! z = γ x̂ + β [+ identity],  x̂ = (y - mean) / sqrt(var + ε),  output = max(z, 0)
//! dL/dy = γ / sqrt(var + ε) ( dz - mean(dz) - x̂ mean(dz x̂) ),  dL/dγ = sum(dz x̂),  dL/dβ = sum(dz)
//! ```

use std::ops::Range;

use super::moments::Moments;
use super::parallel;
use super::upstream::Upstream;

/// Number of positions in one iteration of a loop.
const PART: usize = 512;
/// Number of positions that are read twice in a row, so that they lie in a core's nearest cache the second time.
const RUN: usize = 8;

/// The moments of maps, on the calling thread.
pub(crate) fn moments(maps: &[f32], channels: usize) -> Moments {
    Moments::joined(maps.chunks(PART * channels).map(|part| moments_of_part(part, channels)), channels)
}

fn moments_of_part(part: &[f32], channels: usize) -> Moments {
    let count = part.len() / channels;
    let mut means = vec![0.0_f32; channels];
    let mut squares = vec![0.0_f32; channels];
    vectorised!({
        for row in part.chunks_exact(channels) {
            add_row(&mut means, row);
        }
        means.iter_mut().for_each(|sum| *sum /= count as f32);
        for row in part.chunks_exact(channels) {
            add_squares(&mut squares, row, &means);
        }
    });
    Moments { count, means, squares }
}

/// The parameters by which a normalisation changes each channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Norm<'a> {
    /// `γ`.
    pub gains: &'a [f32],
    /// `β`.
    pub shifts: &'a [f32],
    pub means: &'a [f32],
    pub variances: &'a [f32],
    /// `ε`.
    pub epsilon: f32,
}

impl Norm<'_> {
    /// `1 / sqrt(var + ε)`.
    fn scales(&self) -> Vec<f32> {
        self.variances.iter().map(|variance| (variance + self.epsilon).sqrt().recip()).collect()
    }

    /// The function that the normalisation and the following steps apply at a position.
    pub(crate) fn activation<'a>(&self, identity: Option<&'a [f32]>, rectified: bool) -> Activation<'a> {
        let factors: Vec<f32> =
            self.gains.iter().zip(self.scales()).map(|(gain, scale)| gain * scale).collect();
        let means = self.means.iter().zip(&factors).zip(self.shifts);
        let offsets = means.map(|((mean, factor), shift)| shift - mean * factor).collect();
        Activation { factors, offsets, identity, rectified }
    }

    /// The backward pass, from the maps before the normalisation and the gradient of the output.
    pub(crate) fn backward<'a>(&self, maps: &'a [f32], upstream: Masked<'a>) -> Backward<'a> {
        let channels = self.gains.len();
        let (means, scales) = (self.means, self.scales());
        let [grad_shift, mut grad_gain] = sums(maps, &upstream, means);
        grad_gain.iter_mut().zip(&scales).for_each(|(sum, scale)| *sum *= scale);

        // The term that a channel subtracts is linear in y: a slope, and an offset that includes its mean.
        let share = channels as f32 / maps.len() as f32;
        let factors = self.gains.iter().zip(&scales).map(|(gain, scale)| gain * scale).collect();
        let slopes: Vec<f32> =
            grad_gain.iter().zip(&scales).map(|(sum, scale)| sum * scale * share).collect();
        let offset = |(sum, (mean, slope)): (&f32, (&f32, &f32))| sum * share - mean * slope;
        let offsets = grad_shift.iter().zip(means.iter().zip(&slopes)).map(offset).collect();
        Backward { grad_gain, grad_shift, grad_maps: GradMaps { maps, upstream, factors, slopes, offsets } }
    }
}

/// `max(factor y + offset [+ identity], 0)` by channel.
#[derive(Debug)]
pub(crate) struct Activation<'a> {
    factors: Vec<f32>,
    offsets: Vec<f32>,
    identity: Option<&'a [f32]>,
    rectified: bool,
}

impl Activation<'_> {
    /// Applies it in place to a part of the maps that begins with value `first`.
    pub(crate) fn apply(&self, first: usize, maps: &mut [f32]) {
        let Self { factors, offsets, .. } = self;
        let channels = factors.len();
        let least = if self.rectified { 0.0 } else { f32::NEG_INFINITY };
        vectorised!(match self.identity {
            Some(identity) => {
                let rows = maps.chunks_exact_mut(channels).zip(identity[first..].chunks_exact(channels));
                for (row, identity) in rows {
                    activate_sum(row, identity, [factors, offsets], least);
                }
            }
            None => {
                for row in maps.chunks_exact_mut(channels) {
                    activate(row, [factors, offsets], least);
                }
            }
        });
    }

    /// Applies it to all maps and writes to `output`.
    pub(crate) fn write(&self, maps: &[f32], output: &mut [f32]) {
        let channels = self.factors.len();
        let [size, run] = [PART, RUN].map(|places| places * channels);
        let parts = output.chunks_mut(size).zip(maps.chunks(size)).enumerate();
        parallel::map(parts, |(part, (output, maps))| {
            for (at, (output, maps)) in output.chunks_mut(run).zip(maps.chunks(run)).enumerate() {
                output.copy_from_slice(maps);
                self.apply(part * size + at * run, output);
            }
        });
    }

    /// The gradient `upstream` of a row where the rectifier has let the row of `maps` through, 0 elsewhere.
    #[inline(always)]
    fn mask_row(&self, target: &mut [f32], upstream: &[f32], maps: &[f32]) {
        let constants = self.factors.iter().zip(&self.offsets);
        for (((target, g), y), (factor, offset)) in target.iter_mut().zip(upstream).zip(maps).zip(constants) {
            let g = *g;
            *target = if y * factor + offset > 0.0 { g } else { 0.0 };
        }
    }
}

/// `max(factor y + offset, least)` of a row.
#[inline(always)]
fn activate(row: &mut [f32], [factors, offsets]: [&[f32]; 2], least: f32) {
    for ((y, factor), offset) in row.iter_mut().zip(factors).zip(offsets) {
        *y = rectify(*y * factor + offset, least);
    }
}

/// `max(factor y + offset + identity, least)` of a row.
#[inline(always)]
fn activate_sum(row: &mut [f32], identity: &[f32], [factors, offsets]: [&[f32]; 2], least: f32) {
    for ((y, identity), (factor, offset)) in row.iter_mut().zip(identity).zip(factors.iter().zip(offsets)) {
        *y = rectify(*y * factor + offset + identity, least);
    }
}

/// Adds a row to sums by channel.
#[inline(always)]
fn add_row(sums: &mut [f32], row: &[f32]) {
    sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
}

/// Adds the squared deviations of a row from means to sums by channel.
#[inline(always)]
fn add_squares(squares: &mut [f32], row: &[f32], means: &[f32]) {
    for ((square, y), mean) in squares.iter_mut().zip(row).zip(means) {
        *square += (y - mean) * (y - mean);
    }
}

/// Adds a gradient times the deviation of its row from means to sums by channel.
#[inline(always)]
fn add_along(along: &mut [f32], gradient: &[f32], row: &[f32], means: &[f32]) {
    for ((along, g), (y, mean)) in along.iter_mut().zip(gradient).zip(row.iter().zip(means)) {
        *along += g * (y - mean);
    }
}

/// Puts the gradient of a row before the normalisation in place of the one after it.
#[inline(always)]
fn pull_back(gradient: &mut [f32], row: &[f32], factors: &[f32], [slopes, offsets]: [&[f32]; 2]) {
    let constants = factors.iter().zip(slopes.iter().zip(offsets));
    for ((g, y), (factor, (slope, offset))) in gradient.iter_mut().zip(row).zip(constants) {
        *g = factor * (*g - offset - y * slope);
    }
}

/// The larger of both; NaN propagates, unlike with `max`.
#[inline(always)]
fn rectify(value: f32, least: f32) -> f32 {
    if value < least { least } else { value }
}

/// The gradient of the sum before the rectifier, if only the normalisation needs it.
#[derive(Debug)]
pub(crate) struct Masked<'a> {
    upstream: &'a [f32],
    /// The input of the rectifier, if there is one: recomputed from the maps, which takes less time than reading
    /// it.
    activation: Option<Activation<'a>>,
}

impl<'a> Masked<'a> {
    /// Takes a gradient that is already masked, or the gradient of an output that is not rectified.
    pub(crate) fn of(upstream: &'a [f32]) -> Self {
        Self { upstream, activation: None }
    }

    /// Masks the gradient of the rectified output of an [`Activation`] without an identity.
    pub(crate) fn from_rectified(upstream: &'a [f32], activation: Activation<'a>) -> Self {
        Self { upstream, activation: Some(activation) }
    }
}

/// Sets the gradient to 0 where the rectifier's output is 0.
pub(crate) fn mask(upstream: &mut [f32], output: &[f32]) {
    let size = PART * 64;
    parallel::map(upstream.chunks_mut(size).zip(output.chunks(size)), |(upstream, output)| {
        let keep = |(g, y): (&mut f32, &f32)| *g = if *y > 0.0 { *g } else { 0.0 };
        vectorised!(upstream.iter_mut().zip(output).for_each(keep));
    });
}

/// The sum over all positions by channel.
pub(crate) fn sum_of_places(maps: &[f32], channels: usize) -> Vec<f32> {
    let sums = parallel::map(maps.chunks(PART * channels), |part| {
        let mut sum = vec![0.0_f32; channels];
        vectorised!(part.chunks_exact(channels).for_each(|row| add_row(&mut sum, row)));
        sum
    });
    parallel::sum(sums, channels)
}

/// `sum(dz)` and `sum(dz (y - mean))` by channel.
fn sums(maps: &[f32], upstream: &Masked, means: &[f32]) -> [Vec<f32>; 2] {
    let channels = means.len();
    let size = PART * channels;
    let parts = upstream.upstream.chunks(size).zip(maps.chunks(size));
    let sums = parallel::map(parts, |(upstream_part, maps)| {
        let [mut sum, mut along] = [vec![0.0_f32; channels], vec![0.0_f32; channels]];
        let rows = || upstream_part.chunks_exact(channels).zip(maps.chunks_exact(channels));
        vectorised!(match &upstream.activation {
            None => {
                for (g, y) in rows() {
                    add_row(&mut sum, g);
                    add_along(&mut along, g, y, means);
                }
            }
            Some(activation) => {
                let mut masked = vec![0.0_f32; channels];
                for (g, y) in rows() {
                    activation.mask_row(&mut masked, g, y);
                    add_row(&mut sum, &masked);
                    add_along(&mut along, &masked, y, means);
                }
            }
        });
        (sum, along)
    });
    let (sum, along): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
    [parallel::sum(sum, channels), parallel::sum(along, channels)]
}

/// The gradients of a normalisation.
#[derive(Debug)]
pub(crate) struct Backward<'a> {
    /// With respect to `γ`.
    pub grad_gain: Vec<f32>,
    /// With respect to `β`.
    pub grad_shift: Vec<f32>,
    /// With respect to the maps before it.
    pub grad_maps: GradMaps<'a>,
}

/// The gradient with respect to the maps before a normalisation, computed where it is used.
#[derive(Debug)]
pub(crate) struct GradMaps<'a> {
    maps: &'a [f32],
    upstream: Masked<'a>,
    factors: Vec<f32>,
    slopes: Vec<f32>,
    offsets: Vec<f32>,
}

impl Upstream for GradMaps<'_> {
    fn part<'a>(&'a self, range: Range<usize>, scratch: &'a mut Vec<f32>) -> &'a [f32] {
        let channels = self.factors.len();
        let (maps, upstream) = (&self.maps[range.clone()], &self.upstream.upstream[range]);
        scratch.resize(maps.len(), 0.0);
        let Self { factors, slopes, offsets, .. } = self;
        vectorised!({
            let rows = scratch.chunks_exact_mut(channels).zip(upstream.chunks_exact(channels));
            for ((gradient, g), y) in rows.zip(maps.chunks_exact(channels)) {
                match &self.upstream.activation {
                    None => gradient.copy_from_slice(g),
                    Some(activation) => activation.mask_row(gradient, g, y),
                }
                pull_back(gradient, y, factors, [slopes, offsets]);
            }
        });
        scratch
    }
}
