//! Normalisation of channels by the statistics of a batch; each step is one pass over memory.
//!
//! ```text
//! x̂ = (x - mean) / sqrt(var + ε),  y = γ x̂ + β
//! dx = γ / sqrt(var + ε) ( g - mean(g) - x̂ mean(g x̂) ),  dγ = sum(g x̂),  dβ = sum(g)
//! ```

use super::moments::Moments;
use super::parallel;
use super::vectors::{LANES, sum_of};

/// Number of values in one iteration of a loop: they stay in a core's own cache between two passes.
const PART: usize = 1 << 15;

/// The layout of the values of channels: `[outer, channels, inner]`, in row order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Channels {
    channels: usize,
    inner: usize,
}

impl Channels {
    /// A layout of `channels` channels with `inner` contiguous values each: 1 for rows of features or for maps with
    /// contiguous channels, the number of positions for maps with contiguous planes.
    pub(crate) fn new(channels: usize, inner: usize) -> Self {
        Self { channels: channels.max(1), inner: inner.max(1) }
    }

    fn row(&self) -> usize {
        self.channels * self.inner
    }

    /// Number of values in one iteration, whole rows.
    fn part(&self) -> usize {
        (PART / self.row()).max(1) * self.row()
    }
}

/// Mean and biased variance by channel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statistics {
    pub means: Vec<f32>,
    pub variances: Vec<f32>,
}

/// The statistics of each channel, those of parts [joined](Moments::joined). One pass over memory, 5 operations a value.
pub(crate) fn statistics(x: &[f32], layout: Channels) -> Statistics {
    let parts = parallel::map(x.chunks(layout.part()), |part| moments(part, layout));
    let total = Moments::joined(parts, layout.channels);
    let share = 1.0 / total.count.max(1) as f32;
    Statistics { means: total.means, variances: total.squares.iter().map(|square| square * share).collect() }
}

/// Writes `γ x̂ + β`. One pass with reads and writes, 3 operations a value.
pub(crate) fn normalise(
    x: &[f32],
    layout: Channels,
    statistics: &Statistics,
    (gains, shifts): (&[f32], &[f32]),
    epsilon: f32,
    output: &mut [f32],
) {
    let Statistics { means, variances } = statistics;
    let factors: Vec<f32> = gains.iter().zip(scales(variances, epsilon)).map(|(gain, s)| gain * s).collect();
    let parts = output.chunks_mut(layout.part()).zip(x.chunks(layout.part()));
    parallel::map(parts, |(output, x)| {
        vectorised!({
            let rows = output.chunks_exact_mut(layout.row()).zip(x.chunks_exact(layout.row()));
            for (output, x) in rows {
                if layout.inner == 1 {
                    let constants = means.iter().zip(&factors).zip(shifts);
                    for ((y, x), ((mean, factor), shift)) in output.iter_mut().zip(x).zip(constants) {
                        *y = (x - mean) * factor + shift;
                    }
                } else {
                    let constants = means.iter().zip(&factors).zip(shifts);
                    let planes = output.chunks_exact_mut(layout.inner).zip(x.chunks_exact(layout.inner));
                    for ((output, x), ((mean, factor), shift)) in planes.zip(constants) {
                        output.iter_mut().zip(x).for_each(|(y, x)| *y = (x - mean) * factor + shift);
                    }
                }
            }
        });
    });
}

/// Replaces the gradient with respect to the output by the gradient with respect to `x`, in place; returns the gradients of gain and
/// shift. Two passes: the first reads both, the second also writes; 10 operations a value.
pub(crate) fn normalise_batch_backward(
    x: &[f32],
    layout: Channels,
    statistics: &Statistics,
    gains: &[f32],
    epsilon: f32,
    gradient: &mut [f32],
) -> [Vec<f32>; 2] {
    let Statistics { means, variances } = statistics;
    let scales: Vec<f32> = scales(variances, epsilon).collect();
    let parts = parallel::map(gradient.chunks(layout.part()).zip(x.chunks(layout.part())), |(g, x)| {
        vectorised!(sums(g, x, layout, means))
    });
    let (grad_shift, along): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let grad_shift = parallel::sum(grad_shift, layout.channels);
    let along = parallel::sum(along, layout.channels);
    let grad_gain: Vec<f32> = along.iter().zip(&scales).map(|(sum, scale)| sum * scale).collect();

    let share = layout.channels as f32 / x.len().max(1) as f32;
    let factors: Vec<f32> = gains.iter().zip(&scales).map(|(gain, scale)| gain * scale).collect();
    let middles: Vec<f32> = grad_shift.iter().map(|sum| sum * share).collect();
    let slopes: Vec<f32> = grad_gain.iter().zip(&scales).map(|(sum, scale)| sum * scale * share).collect();
    let parts = gradient.chunks_mut(layout.part()).zip(x.chunks(layout.part()));
    parallel::map(parts, |(g, x)| {
        vectorised!({
            for (g, x) in g.chunks_exact_mut(layout.row()).zip(x.chunks_exact(layout.row())) {
                let constants = factors.iter().zip(means).zip(middles.iter().zip(&slopes));
                if layout.inner == 1 {
                    let values = g.iter_mut().zip(x).zip(constants);
                    for ((g, x), ((factor, mean), (middle, slope))) in values {
                        *g = factor * (*g - middle - (x - mean) * slope);
                    }
                } else {
                    let planes = g.chunks_exact_mut(layout.inner).zip(x.chunks_exact(layout.inner));
                    for ((g, x), ((factor, mean), (middle, slope))) in planes.zip(constants) {
                        let values = g.iter_mut().zip(x);
                        values.for_each(|(g, x)| *g = factor * (*g - middle - (x - mean) * slope));
                    }
                }
            }
        });
    });
    [grad_gain, grad_shift]
}

/// `1 / sqrt(var + ε)`.
fn scales(variances: &[f32], epsilon: f32) -> impl Iterator<Item = f32> {
    variances.iter().map(move |variance| (variance + epsilon).sqrt().recip())
}

/// Sums of a part, by channel: of the gradients, and of the gradients times `x - mean`.
#[inline(always)]
fn sums(g: &[f32], x: &[f32], layout: Channels, means: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (mut sum, mut along) = (vec![0.0_f32; layout.channels], vec![0.0_f32; layout.channels]);
    for (g, x) in g.chunks_exact(layout.row()).zip(x.chunks_exact(layout.row())) {
        let totals = sum.iter_mut().zip(&mut along).zip(means);
        if layout.inner == 1 {
            for (((sum, along), mean), (g, x)) in totals.zip(g.iter().zip(x)) {
                *sum += g;
                *along += g * (x - mean);
            }
        } else {
            let planes = g.chunks_exact(layout.inner).zip(x.chunks_exact(layout.inner));
            for (((sum, along), mean), (g, x)) in totals.zip(planes) {
                *sum += add_up(g, |g| g);
                *along += sum_of(g, x, |g, x| g * (x - mean));
            }
        }
    }
    (sum, along)
}

/// Mean and sum of squared deviations by channel of some whole rows.
fn moments(part: &[f32], layout: Channels) -> Moments {
    let mut moments = Moments::none(layout.channels);
    moments.count = part.len() / layout.channels;
    let share = 1.0 / moments.count.max(1) as f32;
    vectorised!({
        let Moments { means, squares, .. } = &mut moments;
        for row in part.chunks_exact(layout.row()) {
            if layout.inner == 1 {
                means.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            } else {
                let planes = means.iter_mut().zip(row.chunks_exact(layout.inner));
                planes.for_each(|(sum, plane)| *sum += add_up(plane, |x| x));
            }
        }
        means.iter_mut().for_each(|sum| *sum *= share);
        for row in part.chunks_exact(layout.row()) {
            let sums = squares.iter_mut().zip(means.iter());
            if layout.inner == 1 {
                sums.zip(row).for_each(|((square, mean), x)| *square += (x - mean) * (x - mean));
            } else {
                for ((square, mean), plane) in sums.zip(row.chunks_exact(layout.inner)) {
                    *square += add_up(plane, |x| (x - mean) * (x - mean));
                }
            }
        }
    });
    moments
}

/// The sum of a function of each value.
#[inline(always)]
fn add_up(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (runs, rest) = values.as_chunks::<LANES>();
    for run in runs {
        lanes.iter_mut().zip(run).for_each(|(sum, &x)| *sum += term(x));
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&x| term(x)).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean a thousand deviations away from 0: the difference of two sums of squares in `f32` would lose all
    /// digits.
    #[test]
    fn a_mean_far_from_zero_costs_no_digits() {
        for (outer, inner) in [(40_000, 1), (900, 49), (3, 20_000)] {
            let layout = Channels::new(2, inner);
            let value = |i: usize| 1000.0 + ((i * 7919) % 8191) as f32 / 8192.0;
            let x: Vec<f32> = (0..outer * 2 * inner).map(value).collect();
            let statistics = statistics(&x, layout);
            for channel in 0..2 {
                let is_of_channel = |(i, _): &(usize, &f32)| i / inner % 2 == channel;
                let values: Vec<f64> =
                    x.iter().enumerate().filter(is_of_channel).map(|(_, &x)| x.into()).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
                assert!((f64::from(statistics.means[channel]) - mean).abs() < 1e-3);
                assert!((f64::from(statistics.variances[channel]) / variance - 1.0).abs() < 1e-3);
            }
        }
    }
}
