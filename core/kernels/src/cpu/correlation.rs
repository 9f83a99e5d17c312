//! Sums of shifted planes, the convolutions of few channels: `sum_t weight[o][t] plane[i + offset[t]]`.
//!
//! Adjacent values of a plane are adjacent places, so that a vector of the processor holds several places, and a
//! window is a set of offsets. No window is copied: that would take as long as the sums where channels are few. At the
//! end of a row, places are computed whose windows go on in the next row; the caller ignores them.

use pulp::{Arch, Simd, WithSimd};

use super::lanes::LANES;

/// Number of offsets whose products are in registers together.
const OFFSETS: usize = 5;

/// The weights of a correlation in the order in which they are read.
#[derive(Debug)]
pub(crate) struct Weights {
    six: bool,
    outputs: usize,
    /// `[groups of outputs, offsets, outputs of a group]`, with zeros for outputs that do not exist.
    values: Vec<f32>,
}

impl Weights {
    /// The weights `of(output, offset)`.
    pub(crate) fn new(outputs: usize, offsets: usize, of: impl Fn(usize, usize) -> f32) -> Self {
        // With two vectors of places, the sums of six outputs are in registers. Four leave fewer outputs that do not
        // exist.
        let six = outputs.is_multiple_of(6);
        let group = if six { 6 } else { 4 };
        let mut values = Vec::with_capacity(outputs.next_multiple_of(group) * offsets);
        for first in (0..outputs).step_by(group) {
            for offset in 0..offsets {
                let offset_weights =
                    (first..first + group).map(|at| if at < outputs { of(at, offset) } else { 0.0 });
                values.extend(offset_weights);
            }
        }
        Self { six, outputs, values }
    }
}

/// Writes `start[o] + sum_t weight[o][t] planes[i + offsets[t]]` to `target`, `[outputs, length]`, with a `length` that is
/// a multiple of [`LANES`]. The planes have `length` values from every offset on.
pub(crate) fn correlate(
    planes: &[f32],
    offsets: &[usize],
    weights: &Weights,
    start: &[f32],
    target: &mut [f32],
) {
    Arch::new().dispatch(Correlate { planes, offsets, weights, start, target });
}

struct Correlate<'a> {
    planes: &'a [f32],
    offsets: &'a [usize],
    weights: &'a Weights,
    start: &'a [f32],
    target: &'a mut [f32],
}

impl WithSimd for Correlate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if self.weights.six { self.groups::<S, 6>(simd) } else { self.groups::<S, 4>(simd) }
    }
}

impl Correlate<'_> {
    #[inline(always)]
    fn groups<S: Simd, const OUTPUTS: usize>(self, simd: S) {
        let Self { planes, offsets, weights, start, target } = self;
        let length = target.len() / weights.outputs.max(1);
        let weights_by_group = weights.values.chunks_exact(OUTPUTS * offsets.len());
        for (at, (target, weights)) in target.chunks_mut(OUTPUTS * length).zip(weights_by_group).enumerate() {
            let start: [f32; OUTPUTS] =
                std::array::from_fn(|output| start.get(at * OUTPUTS + output).copied().unwrap_or_default());
            let (weights, _) = weights.as_chunks::<OUTPUTS>();
            let mut place = 0;
            for vectors in runs(length / S::F32_LANES, most::<S>(4, 2)) {
                let run = Run { planes: &planes[place..], offsets, weights, start, length, place };
                match vectors {
                    4 => run.write::<S, 4>(simd, target),
                    3 => run.write::<S, 3>(simd, target),
                    2 => run.write::<S, 2>(simd, target),
                    _ => run.write::<S, 1>(simd, target),
                }
                place += vectors * S::F32_LANES;
            }
        }
    }
}

/// The number that a processor with 32 registers of 16 values takes together, and the number of another.
#[inline(always)]
fn most<S: Simd>(wide: usize, narrow: usize) -> usize {
    if S::F32_LANES == LANES { wide } else { narrow }
}

/// `count` in the fewest runs of `most` at most, of almost equal lengths: a short run waits for its own sums.
#[inline(always)]
fn runs(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let parts = count.div_ceil(most);
    (0..parts).map(move |at| (count + at) / parts)
}

/// Adjacent places of a group of outputs.
struct Run<'a, const OUTPUTS: usize> {
    /// The planes, from the first place on.
    planes: &'a [f32],
    offsets: &'a [usize],
    weights: &'a [[f32; OUTPUTS]],
    start: [f32; OUTPUTS],
    /// Number of places of an output.
    length: usize,
    place: usize,
}

impl<const OUTPUTS: usize> Run<'_, OUTPUTS> {
    /// Writes the sums of the outputs that exist.
    #[inline(always)]
    fn write<S: Simd, const VECTORS: usize>(&self, simd: S, target: &mut [f32]) {
        let sums = self.sums::<S, VECTORS>(simd);
        for (target, sums) in target.chunks_exact_mut(self.length).zip(sums) {
            let (vectors, _) = S::as_mut_simd_f32s(&mut target[self.place..]);
            if let Some(target) = vectors.first_chunk_mut::<VECTORS>() {
                *target = sums;
            }
        }
    }

    #[inline(always)]
    fn sums<S: Simd, const VECTORS: usize>(&self, simd: S) -> [[S::f32s; VECTORS]; OUTPUTS] {
        let mut sums = self.start.map(|start| [simd.splat_f32s(start); VECTORS]);
        for (offset, weights) in self.offsets.iter().zip(self.weights) {
            let (vectors, _) = S::as_simd_f32s(&self.planes[*offset..]);
            let Some(values) = vectors.first_chunk::<VECTORS>() else { break };
            for (sums, weight) in sums.iter_mut().zip(weights) {
                let weight = simd.splat_f32s(*weight);
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = add_product(simd, weight, *value, *sum);
                }
            }
        }
        sums
    }
}

/// Adds `sum_i slopes[o][i] planes[i + offsets[t]]` to `sums`, `[outputs, offsets, LANES]`: the sum of the [`LANES`]
/// numbers of a place is the result. The slopes are `[outputs, length]` with a `length` that is a multiple of
/// [`LANES`]; the planes have `length` values from every offset on.
pub(crate) fn add_products(
    planes: &[f32],
    offsets: &[usize],
    slopes: &[f32],
    length: usize,
    sums: &mut [f32],
) {
    Arch::new().dispatch(AddProducts { planes, offsets, slopes, length, sums });
}

struct AddProducts<'a> {
    planes: &'a [f32],
    offsets: &'a [usize],
    slopes: &'a [f32],
    length: usize,
    sums: &'a mut [f32],
}

impl WithSimd for AddProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { planes, offsets, slopes, length, sums } = self;
        let sums_per_output = offsets.len() * LANES;
        let (mut slopes, mut sums) = (slopes, sums);
        for outputs in runs(slopes.len() / length, most::<S>(4, 2)) {
            let (these, slopes_left) = slopes.split_at(outputs * length);
            let (targets, sums_left) = sums.split_at_mut(outputs * sums_per_output);
            match outputs {
                4 => add_group::<S, 4>(simd, planes, offsets, these, targets),
                3 => add_group::<S, 3>(simd, planes, offsets, these, targets),
                2 => add_group::<S, 2>(simd, planes, offsets, these, targets),
                _ => add_group::<S, 1>(simd, planes, offsets, these, targets),
            }
            (slopes, sums) = (slopes_left, sums_left);
        }
    }
}

/// Adds the products of a group of outputs with all offsets.
#[inline(always)]
fn add_group<S: Simd, const OUTPUTS: usize>(
    simd: S,
    planes: &[f32],
    offsets: &[usize],
    slopes: &[f32],
    sums: &mut [f32],
) {
    let length = slopes.len() / OUTPUTS;
    let slopes: [&[f32]; OUTPUTS] = std::array::from_fn(|output| &slopes[output * length..][..length]);
    let mut sums = sums.chunks_exact_mut(offsets.len() * LANES);
    let mut targets: [&mut [f32]; OUTPUTS] = std::array::from_fn(|_| sums.next().unwrap_or_default());
    let (fives, rest) = offsets.as_chunks::<OFFSETS>();
    for offsets in fives {
        let these = targets.each_mut().map(|target| split_off(target, OFFSETS * LANES));
        products(simd, planes, offsets, slopes, these);
    }
    for offset in rest {
        let these = targets.each_mut().map(|target| split_off(target, LANES));
        products(simd, planes, &[*offset], slopes, these);
    }
}

/// The first `length` numbers, which `rest` then lacks.
#[inline(always)]
fn split_off<'a>(rest: &mut &'a mut [f32], length: usize) -> &'a mut [f32] {
    rest.split_off_mut(..length).unwrap_or_default()
}

/// Adds the products of some outputs with some offsets.
#[inline(always)]
fn products<S: Simd, const OUTPUTS: usize, const COUNT: usize>(
    simd: S,
    planes: &[f32],
    offsets: &[usize; COUNT],
    slopes: [&[f32]; OUTPUTS],
    targets: [&mut [f32]; OUTPUTS],
) {
    let slopes = slopes.map(|slopes| S::as_simd_f32s(slopes).0);
    let count = slopes.iter().map(|slopes| slopes.len()).min().unwrap_or_default();
    let slopes = slopes.map(|slopes| &slopes[..count]);
    let planes = offsets.map(|offset| &S::as_simd_f32s(&planes[offset..]).0[..count]);
    let mut sums = [[simd.splat_f32s(0.0); COUNT]; OUTPUTS];
    for at in 0..count {
        let slopes: [S::f32s; OUTPUTS] = std::array::from_fn(|output| slopes[output][at]);
        for (offset, plane) in planes.iter().enumerate() {
            let value = plane[at];
            for (sums, slope) in sums.iter_mut().zip(slopes) {
                sums[offset] = add_product(simd, slope, value, sums[offset]);
            }
        }
    }
    for (target, sums) in targets.into_iter().zip(sums) {
        for (target, sum) in target.chunks_exact_mut(LANES).zip(sums) {
            if let ([target, ..], _) = S::as_mut_simd_f32s(target) {
                *target = simd.add_f32s(*target, sum);
            }
        }
    }
}

/// `a b + c`. WebAssembly has no instruction for it, and would call a function for each number.
#[inline(always)]
fn add_product<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
    if cfg!(target_arch = "wasm32") {
        simd.add_f32s(simd.mul_f32s(a, b), c)
    } else {
        simd.mul_add_e_f32s(a, b, c)
    }
}
