//! Sums over the rows of `[rows, channels]` for each channel, and functions of these sums for each value.
//!
//! A unit reads a few adjacent channels as one vector. The units of a cube lie `across` the vectors of a row, and in as many
//! lines of rows as are left of them; a cube has a share of the rows. Sums run in two kernels: the first has partial sums of each
//! share, the second, with a cube for each vector, joins them.

use cubecl::prelude::*;

/// Number of units of a cube.
pub(crate) const UNITS: usize = 256;

/// The shares of the rows of `[rows, channels]`, and the units of a cube.
#[derive(CubeType, CubeLaunch)]
pub(crate) struct RowShares {
    /// Number of vectors of a row.
    pub(crate) vectors: usize,
    pub(crate) rows: usize,
    /// Number of rows of a share.
    pub(crate) share: usize,
    /// Number of units across the vectors of a row; separate kernels are compiled for each.
    #[cube(comptime)]
    pub(crate) across: usize,
}

/// The sum of `value` over the lines of a cube, in each of its columns of vectors.
#[cube]
fn sum_over_lines<N: Size>(value: Vector<f32, N>, #[comptime] across: usize) -> Vector<f32, N> {
    let lines = comptime!(UNITS / across);
    let halvings = comptime!(lines.ilog2() as usize);
    let (line, slot) = (UNIT_POS_Y as usize, UNIT_POS as usize);
    let mut sums = Shared::<[Vector<f32, N>]>::new_slice(UNITS);
    sums[slot] = value;
    #[unroll]
    for step in 0..halvings {
        let half = comptime!(lines >> (step + 1));
        sync_cube();
        if line < half {
            sums[slot] = sums[slot] + sums[slot + half * across];
        }
    }
    sync_cube();
    let sum = sums[UNIT_POS_X as usize];
    // The next sum may take the same memory.
    sync_cube();
    sum
}

/// Mean and variance of each channel over each share of the rows: `partials` is `[2, shares, channels]`.
///
/// Sums are of the differences from the first row of the share, a value of the same channel, so that a mean far from 0 costs no
/// digits: with `n` rows, the squared distance of that value from their mean is at most `n - 1` times their variance.
#[cube(launch_unchecked)]
pub(crate) fn moments<F: Float, N: Size>(
    x: &Tensor<Vector<F, N>>,
    partials: &mut Tensor<Vector<f32, N>>,
    shares: &RowShares,
    #[define(F)] _dtype: ElemType,
) {
    let across = comptime!(shares.across);
    let lines = comptime!(UNITS / across);
    let vector = CUBE_POS_X as usize * across + UNIT_POS_X as usize;
    let first = CUBE_POS_Y as usize * shares.share;
    let last = select(first + shares.share < shares.rows, first + shares.share, shares.rows);
    let is_there = vector < shares.vectors;
    let mut origin = Vector::<f32, N>::new(0.0_f32);
    let mut sum = Vector::<f32, N>::new(0.0_f32);
    let mut squares = Vector::<f32, N>::new(0.0_f32);
    if is_there {
        origin = Vector::cast_from(x[first * shares.vectors + vector]);
        let mut row = first + UNIT_POS_Y as usize;
        while row < last {
            let difference = Vector::<f32, N>::cast_from(x[row * shares.vectors + vector]) - origin;
            sum += difference;
            squares += difference * difference;
            row += lines;
        }
    }
    let count = Vector::new(f32::cast_from(last - first));
    let offset = sum_over_lines::<N>(sum, across) / count;
    let square = sum_over_lines::<N>(squares, across) / count;
    if UNIT_POS_Y == 0 && is_there {
        let at = CUBE_POS_Y as usize * shares.vectors + vector;
        partials[at] = origin + offset;
        // Rounding may leave less than nothing.
        partials[CUBE_COUNT_Y as usize * shares.vectors + at] =
            max(square - offset * offset, Vector::new(0.0_f32));
    }
}

/// The number of rows of a share.
#[cube]
fn rows_of(index: usize, share: usize, rows: usize) -> f32 {
    f32::cast_from(select((index + 1) * share < rows, share, rows - index * share))
}

/// Mean and variance of each channel from those of the shares.
#[cube(launch_unchecked)]
pub(crate) fn join_moments<N: Size>(
    partials: &Tensor<Vector<f32, N>>,
    means: &mut Tensor<Vector<f32, N>>,
    variances: &mut Tensor<Vector<f32, N>>,
    vectors: usize,
    rows: usize,
    share: usize,
    shares: usize,
) {
    let vector = CUBE_POS_X as usize;
    let all = Vector::new(f32::cast_from(rows));
    let mut sum = Vector::<f32, N>::new(0.0_f32);
    let mut index = UNIT_POS_Y as usize;
    while index < shares {
        sum += partials[index * vectors + vector] * Vector::new(rows_of(index, share, rows));
        index += UNITS;
    }
    let mean = sum_over_lines::<N>(sum, 1_usize) / all;
    let mut squares = Vector::<f32, N>::new(0.0_f32);
    let mut index = UNIT_POS_Y as usize;
    while index < shares {
        let difference = partials[index * vectors + vector] - mean;
        let square = partials[(shares + index) * vectors + vector] + difference * difference;
        squares += square * Vector::new(rows_of(index, share, rows));
        index += UNITS;
    }
    let variance = sum_over_lines::<N>(squares, 1_usize) / all;
    if UNIT_POS_Y == 0 {
        means[vector] = mean;
        variances[vector] = variance;
    }
}

/// `y = γ (x - mean) / sqrt(var + ε) + β`, plus the identity if it is `added`, and 0 in place of less if it is `rectified`.
#[cube(launch_unchecked)]
pub(crate) fn normalise<F: Float, N: Size>(
    x: &Tensor<Vector<F, N>>,
    identity: &Tensor<Vector<F, N>>,
    means: &Tensor<Vector<f32, N>>,
    variances: &Tensor<Vector<f32, N>>,
    gains: &Tensor<Vector<f32, N>>,
    shifts: &Tensor<Vector<f32, N>>,
    y: &mut Tensor<Vector<F, N>>,
    epsilon: f32,
    shares: &RowShares,
    #[comptime] added: bool,
    #[comptime] rectified: bool,
    #[define(F)] _dtype: ElemType,
) {
    let across = comptime!(shares.across);
    let lines = comptime!(UNITS / across);
    let vector = CUBE_POS_X as usize * across + UNIT_POS_X as usize;
    if vector >= shares.vectors {
        terminate!();
    }
    let first = CUBE_POS_Y as usize * shares.share;
    let last = select(first + shares.share < shares.rows, first + shares.share, shares.rows);
    let (mean, shift) = (means[vector], shifts[vector]);
    let factor = gains[vector] / (variances[vector] + Vector::new(epsilon)).sqrt();
    let mut row = first + UNIT_POS_Y as usize;
    while row < last {
        let at = row * shares.vectors + vector;
        let mut value = (Vector::<f32, N>::cast_from(x[at]) - mean) * factor + shift;
        if comptime!(added) {
            value += Vector::<f32, N>::cast_from(identity[at]);
        }
        if comptime!(rectified) {
            value = positive::<N>(value, value);
        }
        y[at] = Vector::cast_from(value);
        row += lines;
    }
}

/// `values` where `signs` are above 0 or no numbers, else 0.
#[cube]
fn positive<N: Size>(values: Vector<f32, N>, signs: Vector<f32, N>) -> Vector<f32, N> {
    let zero = Vector::<f32, N>::new(0.0_f32);
    select_many(signs.less_equal(&zero), zero, values)
}

/// The sums over each share of the rows of each channel, of the gradients and of the gradients times `x - mean`: `partials`
/// is `[2, shares, channels]`. If the output was `rectified`, gradients of zeros count for nothing.
#[cube(launch_unchecked)]
pub(crate) fn grad_sums<F: Float, N: Size>(
    x: &Tensor<Vector<F, N>>,
    gradient: &Tensor<Vector<F, N>>,
    means: &Tensor<Vector<f32, N>>,
    variances: &Tensor<Vector<f32, N>>,
    gains: &Tensor<Vector<f32, N>>,
    shifts: &Tensor<Vector<f32, N>>,
    partials: &mut Tensor<Vector<f32, N>>,
    epsilon: f32,
    shares: &RowShares,
    #[comptime] rectified: bool,
    #[define(F)] _dtype: ElemType,
) {
    let across = comptime!(shares.across);
    let lines = comptime!(UNITS / across);
    let vector = CUBE_POS_X as usize * across + UNIT_POS_X as usize;
    let first = CUBE_POS_Y as usize * shares.share;
    let last = select(first + shares.share < shares.rows, first + shares.share, shares.rows);
    let is_there = vector < shares.vectors;
    let mut sum = Vector::<f32, N>::new(0.0_f32);
    let mut along = Vector::<f32, N>::new(0.0_f32);
    if is_there {
        let mean = means[vector];
        let mut shift = Vector::<f32, N>::new(0.0_f32);
        let mut factor = Vector::<f32, N>::new(0.0_f32);
        if comptime!(rectified) {
            shift = shifts[vector];
            factor = gains[vector] / (variances[vector] + Vector::new(epsilon)).sqrt();
        }
        let mut row = first + UNIT_POS_Y as usize;
        while row < last {
            let at = row * shares.vectors + vector;
            let difference = Vector::<f32, N>::cast_from(x[at]) - mean;
            let mut g = Vector::<f32, N>::cast_from(gradient[at]);
            if comptime!(rectified) {
                g = positive::<N>(g, difference * factor + shift);
            }
            sum += g;
            along += g * difference;
            row += lines;
        }
    }
    let sum = sum_over_lines::<N>(sum, across);
    let along = sum_over_lines::<N>(along, across);
    if UNIT_POS_Y == 0 && is_there {
        let at = CUBE_POS_Y as usize * shares.vectors + vector;
        partials[at] = sum;
        partials[CUBE_COUNT_Y as usize * shares.vectors + at] = along;
    }
}

/// The gradients of gain and shift from the sums of the shares, and two constants of [`normalise_backward`] for each channel:
/// `constants` is `[2, channels]`, middle and slope.
#[cube(launch_unchecked)]
pub(crate) fn join_grad_sums<N: Size>(
    partials: &Tensor<Vector<f32, N>>,
    variances: &Tensor<Vector<f32, N>>,
    grad_gain: &mut Tensor<Vector<f32, N>>,
    grad_shift: &mut Tensor<Vector<f32, N>>,
    constants: &mut Tensor<Vector<f32, N>>,
    epsilon: f32,
    vectors: usize,
    rows: usize,
    shares: usize,
) {
    let vector = CUBE_POS_X as usize;
    let mut sum = Vector::<f32, N>::new(0.0_f32);
    let mut along = Vector::<f32, N>::new(0.0_f32);
    let mut index = UNIT_POS_Y as usize;
    while index < shares {
        sum += partials[index * vectors + vector];
        along += partials[(shares + index) * vectors + vector];
        index += UNITS;
    }
    let sum = sum_over_lines::<N>(sum, 1_usize);
    let along = sum_over_lines::<N>(along, 1_usize);
    if UNIT_POS_Y == 0 {
        let scale = Vector::new(1.0_f32) / (variances[vector] + Vector::new(epsilon)).sqrt();
        let all = Vector::new(f32::cast_from(rows));
        grad_gain[vector] = along * scale;
        grad_shift[vector] = sum;
        constants[vector] = sum / all;
        constants[vectors + vector] = along * scale * scale / all;
    }
}

/// `dx = factor (g - middle - (x - mean) slope)` with `factor = γ / sqrt(var + ε)`. If the output was `rectified`, gradients of zeros
/// count for nothing.
#[cube(launch_unchecked)]
pub(crate) fn normalise_backward<F: Float, N: Size>(
    x: &Tensor<Vector<F, N>>,
    gradient: &Tensor<Vector<F, N>>,
    means: &Tensor<Vector<f32, N>>,
    variances: &Tensor<Vector<f32, N>>,
    gains: &Tensor<Vector<f32, N>>,
    shifts: &Tensor<Vector<f32, N>>,
    constants: &Tensor<Vector<f32, N>>,
    grad_x: &mut Tensor<Vector<F, N>>,
    epsilon: f32,
    shares: &RowShares,
    #[comptime] rectified: bool,
    #[define(F)] _dtype: ElemType,
) {
    let across = comptime!(shares.across);
    let lines = comptime!(UNITS / across);
    let vector = CUBE_POS_X as usize * across + UNIT_POS_X as usize;
    if vector >= shares.vectors {
        terminate!();
    }
    let first = CUBE_POS_Y as usize * shares.share;
    let last = select(first + shares.share < shares.rows, first + shares.share, shares.rows);
    let (mean, middle, slope) = (means[vector], constants[vector], constants[shares.vectors + vector]);
    let factor = gains[vector] / (variances[vector] + Vector::new(epsilon)).sqrt();
    let mut shift = Vector::<f32, N>::new(0.0_f32);
    if comptime!(rectified) {
        shift = shifts[vector];
    }
    let mut row = first + UNIT_POS_Y as usize;
    while row < last {
        let at = row * shares.vectors + vector;
        let difference = Vector::<f32, N>::cast_from(x[at]) - mean;
        let mut g = Vector::<f32, N>::cast_from(gradient[at]);
        if comptime!(rectified) {
            g = positive::<N>(g, difference * factor + shift);
        }
        grad_x[at] = Vector::cast_from(factor * (g - middle - difference * slope));
        row += lines;
    }
}
