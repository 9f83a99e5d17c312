//! Sums over the positions of each channel of `[outer, channels, inner]`, and functions of these sums for each
//! value.
//!
//! Reductions run in two kernels: cubes process shares of the positions, then one unit a channel combines the
//! shares. Units of a cube lie along the contiguous axis in memory: `lanes` channels for rows of channels,
//! positions of one channel for maps.

use cubecl::prelude::*;

/// Number of units of a cube of the reductions.
pub(crate) const UNITS: usize = 256;

/// The index of position `at` of a channel.
#[cube]
fn place(
    at: usize,
    channel: usize,
    channels: usize,
    inner: usize,
    #[comptime] rows_of_channels: bool,
) -> usize {
    if rows_of_channels {
        at * channels + channel
    } else {
        (at / inner * channels + channel) * inner + at % inner
    }
}

/// Mean and variance of each channel over each share of the positions: `partials` is `[2, shares, channels]`. A unit
/// uses Welford's recurrence, and units are combined as by Chan, Golub & LeVeque (1983).
#[cube(launch)]
pub(crate) fn moments<F: Float>(
    x: &Tensor<F>,
    partials: &mut Tensor<f32>,
    channels: usize,
    inner: usize,
    positions: usize,
    share: usize,
    #[comptime] lanes: usize,
    #[comptime] rows_of_channels: bool,
    #[define(F)] _dtype: ElemType,
) {
    let rows = comptime!(UNITS / lanes);
    let halvings = comptime!(rows.ilog2() as usize);
    let row = UNIT_POS_Y as usize;
    let channel = CUBE_POS_X as usize * lanes + UNIT_POS_X as usize;
    let first = CUBE_POS_Y as usize * share;
    let end = first + share;
    let last = if end < positions { end } else { positions };
    let mut count = 0.0_f32;
    let mut mean = 0.0_f32;
    let mut square = 0.0_f32;
    if channel < channels {
        let mut at = first + row;
        while at < last {
            let value = f32::cast_from(x[place(at, channel, channels, inner, rows_of_channels)]);
            count += 1.0_f32;
            let difference = value - mean;
            mean += difference / count;
            square += difference * (value - mean);
            at += rows;
        }
    }

    let mut counts = Shared::<[f32]>::new_slice(UNITS);
    let mut means = Shared::<[f32]>::new_slice(UNITS);
    let mut squares = Shared::<[f32]>::new_slice(UNITS);
    let slot = UNIT_POS as usize;
    counts[slot] = count;
    means[slot] = mean;
    squares[slot] = square;
    #[unroll]
    for step in 0..halvings {
        let half = comptime!(rows >> (step + 1));
        sync_cube();
        if row < half {
            let other = slot + half * lanes;
            let theirs = counts[other];
            if theirs > 0.0_f32 {
                let ours = counts[slot];
                let part = theirs / (ours + theirs);
                let difference = means[other] - means[slot];
                means[slot] = means[slot] + difference * part;
                squares[slot] = squares[slot] + squares[other] + difference * difference * ours * part;
                counts[slot] = ours + theirs;
            }
        }
    }
    if row == 0 && channel < channels {
        let at = CUBE_POS_Y as usize * channels + channel;
        partials[at] = means[slot];
        partials[CUBE_COUNT_Y as usize * channels + at] = squares[slot] / counts[slot];
    }
}

/// Mean and variance of each channel from those of the shares.
#[cube(launch)]
pub(crate) fn join_moments(
    partials: &Tensor<f32>,
    means: &mut Tensor<f32>,
    variances: &mut Tensor<f32>,
    channels: usize,
    shares: usize,
    positions: usize,
    share: usize,
) {
    let channel = ABSOLUTE_POS;
    if channel >= channels {
        terminate!();
    }
    let mut count = 0.0_f32;
    let mut mean = 0.0_f32;
    let mut square = 0.0_f32;
    for i in 0..shares {
        let mut theirs = f32::cast_from(share);
        if (i + 1) * share > positions {
            theirs = f32::cast_from(positions - i * share);
        }
        let part = theirs / (count + theirs);
        let difference = partials[i * channels + channel] - mean;
        mean += difference * part;
        square +=
            partials[(shares + i) * channels + channel] * theirs + difference * difference * count * part;
        count += theirs;
    }
    means[channel] = mean;
    variances[channel] = square / count;
}

/// `y = γ (x - mean) / sqrt(var + ε) + β`.
#[cube(launch)]
pub(crate) fn normalise<F: Float>(
    x: &Tensor<F>,
    means: &Tensor<f32>,
    variances: &Tensor<f32>,
    gains: &Tensor<f32>,
    shifts: &Tensor<f32>,
    y: &mut Tensor<F>,
    epsilon: f32,
    channels: usize,
    inner: usize,
    count: usize,
    #[define(F)] _dtype: ElemType,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let channel = at / inner % channels;
    let factor = gains[channel] / (variances[channel] + epsilon).sqrt();
    y[at] = F::cast_from((f32::cast_from(x[at]) - means[channel]) * factor + shifts[channel]);
}

/// The sums over each share of the positions of each channel, of the gradients and of the gradients times `x -
/// mean`: `partials` is `[2, shares, channels]`.
#[cube(launch)]
pub(crate) fn slopes<F: Float>(
    x: &Tensor<F>,
    gradient: &Tensor<F>,
    means: &Tensor<f32>,
    partials: &mut Tensor<f32>,
    channels: usize,
    inner: usize,
    positions: usize,
    share: usize,
    #[comptime] lanes: usize,
    #[comptime] rows_of_channels: bool,
    #[define(F)] _dtype: ElemType,
) {
    let rows = comptime!(UNITS / lanes);
    let halvings = comptime!(rows.ilog2() as usize);
    let row = UNIT_POS_Y as usize;
    let channel = CUBE_POS_X as usize * lanes + UNIT_POS_X as usize;
    let first = CUBE_POS_Y as usize * share;
    let end = first + share;
    let last = if end < positions { end } else { positions };
    let mut sum = 0.0_f32;
    let mut along = 0.0_f32;
    if channel < channels {
        let mean = means[channel];
        let mut at = first + row;
        while at < last {
            let index = place(at, channel, channels, inner, rows_of_channels);
            let g = f32::cast_from(gradient[index]);
            sum += g;
            along += g * (f32::cast_from(x[index]) - mean);
            at += rows;
        }
    }

    let mut sums = Shared::<[f32]>::new_slice(UNITS);
    let mut alongs = Shared::<[f32]>::new_slice(UNITS);
    let slot = UNIT_POS as usize;
    sums[slot] = sum;
    alongs[slot] = along;
    #[unroll]
    for step in 0..halvings {
        let half = comptime!(rows >> (step + 1));
        sync_cube();
        if row < half {
            sums[slot] = sums[slot] + sums[slot + half * lanes];
            alongs[slot] = alongs[slot] + alongs[slot + half * lanes];
        }
    }
    if row == 0 && channel < channels {
        let at = CUBE_POS_Y as usize * channels + channel;
        partials[at] = sums[slot];
        partials[CUBE_COUNT_Y as usize * channels + at] = alongs[slot];
    }
}

/// The gradients of gain and shift from the sums of the shares, and the constants of [`pull_back`] for each
/// channel: `constants` is `[4, channels]`, factor, mean, middle and slope.
#[cube(launch)]
pub(crate) fn join_slopes(
    partials: &Tensor<f32>,
    gains: &Tensor<f32>,
    means: &Tensor<f32>,
    variances: &Tensor<f32>,
    grad_gain: &mut Tensor<f32>,
    grad_shift: &mut Tensor<f32>,
    constants: &mut Tensor<f32>,
    epsilon: f32,
    channels: usize,
    shares: usize,
    positions: usize,
) {
    let channel = ABSOLUTE_POS;
    if channel >= channels {
        terminate!();
    }
    let mut sum = 0.0_f32;
    let mut along = 0.0_f32;
    for i in 0..shares {
        sum += partials[i * channels + channel];
        along += partials[(shares + i) * channels + channel];
    }
    let scale = 1.0_f32 / (variances[channel] + epsilon).sqrt();
    let count = f32::cast_from(positions);
    grad_gain[channel] = along * scale;
    grad_shift[channel] = sum;
    constants[channel] = gains[channel] * scale;
    constants[channels + channel] = means[channel];
    constants[2 * channels + channel] = sum / count;
    constants[3 * channels + channel] = along * scale * scale / count;
}

/// `dx = factor (g - middle - (x - mean) slope)`.
#[cube(launch)]
pub(crate) fn pull_back<F: Float>(
    x: &Tensor<F>,
    gradient: &Tensor<F>,
    constants: &Tensor<f32>,
    grad_x: &mut Tensor<F>,
    channels: usize,
    inner: usize,
    count: usize,
    #[define(F)] _dtype: ElemType,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let channel = at / inner % channels;
    let deviation = f32::cast_from(x[at]) - constants[channels + channel];
    let g = f32::cast_from(gradient[at]) - constants[2 * channels + channel];
    grad_x[at] = F::cast_from(constants[channel] * (g - deviation * constants[3 * channels + channel]));
}
