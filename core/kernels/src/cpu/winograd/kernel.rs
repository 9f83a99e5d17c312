//! The kernel of a convolution and its gradient, to the entries of tiles and back.

use pulp::{Arch, Simd, WithSimd};

use super::transforms::{OfKernel, ToKernel, both};
use super::{ENTRIES, INPUTS, KERNEL};
use crate::cpu::geometry::Geometry;
use crate::cpu::lanes::{LANES, Lanes};
use crate::cpu::parallel;

/// Number of outputs whose gradient of the kernel is transformed back in one iteration of a loop.
const BLOCK: usize = 64;

/// Number of values of a [`transform`]ed kernel: four times as many as in the weight.
pub(crate) fn transformed(geometry: &Geometry) -> usize {
    geometry.inputs * ENTRIES * geometry.outputs
}

/// Transforms `[out, in, 3, 3]` into the form `G g G^T`: `[in, 36, out]`, so that the inputs can be transformed in
/// parallel.
pub(crate) fn transform(weight: &[f32], geometry: &Geometry, kernel: &mut [f32]) {
    let Geometry { inputs, outputs, .. } = *geometry;
    let rows = kernel.chunks_exact_mut(ENTRIES * outputs).enumerate();
    parallel::map_in(rows, Vec::new, |taps, (input, entries)| {
        // Output by output first: the values of one vector lie far apart.
        taps.resize(KERNEL * KERNEL * outputs, 0.0);
        for (output, weight) in weight.chunks_exact(inputs * KERNEL * KERNEL).enumerate() {
            let window = &weight[input * KERNEL * KERNEL..(input + 1) * KERNEL * KERNEL];
            taps.iter_mut().skip(output).step_by(outputs).zip(window).for_each(|(tap, value)| *tap = *value);
        }
        Arch::new().dispatch(TransformKernel { taps, entries, outputs });
    });
}

/// `G g G^T` of the windows of one input, `[9, out]` to `[36, out]`.
struct TransformKernel<'a> {
    taps: &'a [f32],
    entries: &'a mut [f32],
    outputs: usize,
}

impl WithSimd for TransformKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { taps, entries, outputs } = self;
        for first in (0..outputs).step_by(S::F32_LANES) {
            both::<S, OfKernel, KERNEL, INPUTS>(
                simd,
                #[inline(always)]
                |row, column| Lanes::load(simd, &taps[(row * KERNEL + column) * outputs + first..]),
                #[inline(always)]
                |row, column, value| value.store(&mut entries[(row * INPUTS + column) * outputs + first..]),
            );
        }
    }
}

/// `G^T u G` of the gradient of the kernel, 36 matrices `[in, out]` that are `stride` values apart: `[out, in, 3, 3]`.
pub(super) fn weight_from_tiles(kernel: &[f32], stride: usize, inputs: usize, outputs: usize) -> Vec<f32> {
    let mut weight = vec![0.0; inputs * outputs * KERNEL * KERNEL];
    let blocks = weight.chunks_mut(BLOCK * inputs * KERNEL * KERNEL).enumerate();
    parallel::map(blocks, |(block, weight)| {
        let first = block * BLOCK;
        Arch::new().dispatch(WeightFromTiles { kernel, stride, weight, first, inputs, outputs });
    });
    weight
}

/// [`weight_from_tiles`] of some outputs.
struct WeightFromTiles<'a> {
    kernel: &'a [f32],
    stride: usize,
    weight: &'a mut [f32],
    /// The first of the outputs.
    first: usize,
    inputs: usize,
    outputs: usize,
}

impl WithSimd for WeightFromTiles<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { kernel, stride, weight, first, inputs, outputs } = self;
        let window = KERNEL * KERNEL;
        let mut taps = [[0.0; LANES]; KERNEL * KERNEL];
        for input in 0..inputs {
            for (at, weight) in weight.chunks_mut(S::F32_LANES * inputs * window).enumerate() {
                let place = input * outputs + first + at * S::F32_LANES;
                both::<S, ToKernel, INPUTS, KERNEL>(
                    simd,
                    #[inline(always)]
                    |row, column| Lanes::load(simd, &kernel[(row * INPUTS + column) * stride + place..]),
                    #[inline(always)]
                    |row, column, value| value.store(&mut taps[row * KERNEL + column]),
                );
                for (lane, weight) in weight.chunks_exact_mut(inputs * window).enumerate() {
                    let weight = &mut weight[input * window..(input + 1) * window];
                    weight.iter_mut().zip(&taps).for_each(|(value, lanes)| *value = lanes[lane]);
                }
            }
        }
    }
}
