//! The windows of a convolution, written out as rows.
#![allow(clippy::too_many_arguments, reason = "a kernel takes its numbers one by one")]

use cubecl::prelude::*;

/// `rows[(n, y, x), (i, j, c)] = maps[n, stride y + i - padding, stride x + j - padding, c]` for `[n, height, width, channels]`, and 0 beside
/// the maps and in columns past the last window. A unit writes one vector of channels.
#[cube(launch_unchecked)]
pub(crate) fn unfold<F: Float, N: Size>(
    maps: &Tensor<Vector<F, N>>,
    rows: &mut Tensor<Vector<F, N>>,
    height: usize,
    width: usize,
    out_height: usize,
    out_width: usize,
    vectors: usize,
    columns: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    count: usize,
    #[define(F)] _dtype: ElemType,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let (row, column) = (at / columns, at % columns);
    let (place, x) = (row / out_width, row % out_width);
    let (image, y) = (place / out_height, place % out_height);
    let (tap, vector) = (column / vectors, column % vectors);
    let line = y * stride + tap / kernel;
    let spot = x * stride + tap % kernel;
    let mut value = Vector::<F, N>::new(F::new(0.0_f32));
    if tap < kernel * kernel
        && line >= padding
        && line < height + padding
        && spot >= padding
        && spot < width + padding
    {
        value = maps[((image * height + line - padding) * width + spot - padding) * vectors + vector];
    }
    rows[at] = value;
}
