//! CubeCL tensors as arguments of kernels.

use burn::tensor::{DType, Shape};
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::{CubeCount, CubeDim};

/// Number of units of a cube that process one value each.
const UNITS: u32 = 256;

/// A tensor on the device of `beside`, without initial values.
pub(super) fn empty(beside: &CubeTensor, shape: impl Into<Shape>, dtype: DType) -> CubeTensor {
    empty_device_contiguous_dtype(beside.client.clone(), beside.device.clone(), shape.into(), dtype)
}

/// Cubes in which each unit processes one of `count` values.
pub(super) fn one_each(on: &CubeTensor, count: usize) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(UNITS);
    (cubecl::calculate_cube_count_elemwise(&on.client, count, dim), dim)
}

/// Number of values that are read at once from rows of `width`.
pub(super) fn lanes(width: usize) -> usize {
    [4, 2].into_iter().find(|lanes| width.is_multiple_of(*lanes)).unwrap_or(1)
}
