//! Kernels of unit rows. A unit has a row and reads it in vectors: rows are short, and a unit that waits for others costs
//! a GPU in software more than the row.

use cubecl::prelude::*;

/// The sum of the lanes of a vector.
#[cube]
fn total<N: Size>(values: Vector<f32, N>, #[comptime] lanes: usize) -> f32 {
    let mut sum = f32::new(0.0_f32);
    #[unroll]
    for lane in 0..lanes {
        sum += values.extract(lane);
    }
    sum
}

/// Rows divided by their lengths, and the reciprocals of the lengths; 0 for rows whose entries are all at most
/// `smallest`. Entries are first scaled to a largest one of 1, so that no square overflows.
#[cube(launch_unchecked)]
pub(crate) fn unit_rows<N: Size>(
    x: &Tensor<Vector<f32, N>>,
    unit: &mut Tensor<Vector<f32, N>>,
    scale: &mut Tensor<f32>,
    smallest: f32,
    rows: usize,
    #[comptime] vectors: usize,
    #[comptime] lanes: usize,
) {
    let row = ABSOLUTE_POS;
    if row >= rows {
        terminate!();
    }
    let first = row * vectors;
    let mut top = f32::new(0.0_f32);
    for k in 0..vectors {
        let values = x[first + k];
        #[unroll]
        for lane in 0..lanes {
            let magnitude = values.extract(lane).abs();
            if magnitude > top {
                top = magnitude;
            }
        }
    }
    let is_zero = top <= smallest;
    let divisor = select(is_zero, f32::new(1.0_f32), top);
    let mut squares = Vector::<f32, N>::new(0.0_f32);
    for k in 0..vectors {
        let values = x[first + k] / Vector::new(divisor);
        squares += values * values;
    }
    let length = select(is_zero, f32::new(1.0_f32), total::<N>(squares, lanes).sqrt());
    let factor = select(is_zero, f32::new(0.0_f32), f32::new(1.0_f32) / length);
    for k in 0..vectors {
        unit[first + k] = x[first + k] / Vector::new(divisor) * Vector::new(factor);
    }
    scale[row] = factor / divisor;
}

/// `(g - (g . u) u) scale` for each row `u` of unit length.
#[cube(launch_unchecked)]
pub(crate) fn unit_rows_backward<N: Size>(
    unit: &Tensor<Vector<f32, N>>,
    scale: &Tensor<f32>,
    gradient: &Tensor<Vector<f32, N>>,
    out: &mut Tensor<Vector<f32, N>>,
    rows: usize,
    #[comptime] vectors: usize,
    #[comptime] lanes: usize,
) {
    let row = ABSOLUTE_POS;
    if row >= rows {
        terminate!();
    }
    let first = row * vectors;
    let mut products = Vector::<f32, N>::new(0.0_f32);
    for k in 0..vectors {
        products += gradient[first + k] * unit[first + k];
    }
    let radial = Vector::new(total::<N>(products, lanes));
    let factor = Vector::new(scale[row]);
    for k in 0..vectors {
        out[first + k] = (gradient[first + k] - radial * unit[first + k]) * factor;
    }
}
