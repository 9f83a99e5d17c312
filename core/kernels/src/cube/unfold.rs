//! The windows of a convolution, written out as rows.

use cubecl::prelude::*;

/// The sizes of maps and of the rows that hold their windows.
#[derive(CubeType, CubeLaunch)]
pub(crate) struct UnfoldShape {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) out_height: usize,
    pub(crate) out_width: usize,
    /// Number of vectors of channels at a place.
    pub(crate) vectors: usize,
    /// Number of vectors of a row.
    pub(crate) columns: usize,
    /// Number of places along a side of a window.
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
    /// Number of vectors of all rows.
    pub(crate) count: usize,
}

/// `rows[(n, y, x), (i, j, c)] = maps[n, stride y + i - padding, stride x + j - padding, c]` for `[n, height, width, channels]`,
/// and 0 beside the maps and in columns past the last window. A unit writes one vector of channels.
#[cube(launch_unchecked)]
pub(crate) fn unfold<F: Float, N: Size>(
    maps: &Tensor<Vector<F, N>>,
    rows: &mut Tensor<Vector<F, N>>,
    shape: &UnfoldShape,
    #[define(F)] _dtype: ElemType,
) {
    let at = ABSOLUTE_POS;
    if at >= shape.count {
        terminate!();
    }
    let (row, column) = (at / shape.columns, at % shape.columns);
    let (place, x) = (row / shape.out_width, row % shape.out_width);
    let (image, y) = (place / shape.out_height, place % shape.out_height);
    let (tap, vector) = (column / shape.vectors, column % shape.vectors);
    let line = y * shape.stride + tap / shape.kernel;
    let spot = x * shape.stride + tap % shape.kernel;
    let mut value = Vector::<F, N>::new(F::new(0.0_f32));
    if tap < shape.kernel * shape.kernel
        && line >= shape.padding
        && line < shape.height + shape.padding
        && spot >= shape.padding
        && spot < shape.width + shape.padding
    {
        let source = (image * shape.height + line - shape.padding) * shape.width + spot - shape.padding;
        value = maps[source * shape.vectors + vector];
    }
    rows[at] = value;
}
