//! Kernels of unit rows: a cube has one row, in the two passes over it that its length takes.

use cubecl::prelude::*;

/// Number of units that share a row.
pub(crate) const UNITS: usize = 32;

/// Rows divided by their lengths, and the reciprocals of the lengths; 0 for rows whose entries are all at most
/// `smallest`. Entries are first scaled to a largest one of 1, so that no square overflows.
#[cube(launch_unchecked)]
pub(crate) fn unit_rows(
    x: &Tensor<f32>,
    unit: &mut Tensor<f32>,
    scale: &mut Tensor<f32>,
    smallest: f32,
    width: usize,
) {
    let row = CUBE_POS_X as usize;
    let lane = UNIT_POS_X as usize;
    let first = row * width;

    let mut tops = Shared::<[f32]>::new_slice(32usize);
    let mut sums = Shared::<[f32]>::new_slice(32usize);
    let mut largest = f32::new(0.0_f32);
    let mut k = lane;
    while k < width {
        let magnitude = x[first + k].abs();
        if magnitude > largest {
            largest = magnitude;
        }
        k += 32usize;
    }
    tops[lane] = largest;
    sync_cube();
    let mut top = tops[0];
    for t in 1..32usize {
        if tops[t] > top {
            top = tops[t];
        }
    }
    let is_zero = top <= smallest;
    let divisor = select(is_zero, f32::new(1.0_f32), top);

    let mut sum = f32::new(0.0_f32);
    let mut k = lane;
    while k < width {
        let value = x[first + k] / divisor;
        sum += value * value;
        k += 32usize;
    }
    sums[lane] = sum;
    sync_cube();
    let mut total = f32::new(0.0_f32);
    for t in 0..32usize {
        total += sums[t];
    }
    let length = select(is_zero, f32::new(1.0_f32), total.sqrt());
    let factor = select(is_zero, f32::new(0.0_f32), f32::new(1.0_f32) / length);

    let mut k = lane;
    while k < width {
        unit[first + k] = x[first + k] / divisor * factor;
        k += 32usize;
    }
    if lane == 0 {
        scale[row] = factor / divisor;
    }
}

/// `(g - (g . u) u) scale` for each row `u` of unit length.
#[cube(launch_unchecked)]
pub(crate) fn pull_back_unit_rows(
    unit: &Tensor<f32>,
    scale: &Tensor<f32>,
    gradient: &Tensor<f32>,
    out: &mut Tensor<f32>,
    width: usize,
) {
    let row = CUBE_POS_X as usize;
    let lane = UNIT_POS_X as usize;
    let first = row * width;

    let mut sums = Shared::<[f32]>::new_slice(32usize);
    let mut sum = f32::new(0.0_f32);
    let mut k = lane;
    while k < width {
        sum += gradient[first + k] * unit[first + k];
        k += 32usize;
    }
    sums[lane] = sum;
    sync_cube();
    let mut radial = f32::new(0.0_f32);
    for t in 0..32usize {
        radial += sums[t];
    }
    let mut k = lane;
    while k < width {
        out[first + k] = (gradient[first + k] - radial * unit[first + k]) * scale[row];
        k += 32usize;
    }
}
