//! Sums of shifted planes, the convolutions of few channels: `sum_t weight[o][t] plane[i + offset[t]]`.
//!
//! Adjacent values of a plane are adjacent places, so that a vector of the processor holds several places, and a
//! window is a set of offsets. No window is copied: that would take as long as the sums where channels are few. At the
//! end of a row, places are computed whose windows go on in the next row; the caller ignores them.

use pulp::{Arch, Simd, WithSimd};

/// A number of places that is a multiple of the vector length of every processor.
pub const LANES: usize = 16;
/// Number of vectors of places whose sums are in registers together, for each output of a group.
const VECTORS: usize = 2;
/// Number of offsets whose products are in registers together.
const OFFSETS: usize = 5;

/// The weights of a correlation in the order in which they are read.
#[derive(Debug)]
pub struct Weights {
    six: bool,
    outputs: usize,
    /// `[groups of outputs, offsets, outputs of a group]`, with zeros for outputs that do not exist.
    values: Vec<f32>,
}

impl Weights {
    /// The weights `of(output, offset)`.
    pub fn new(outputs: usize, offsets: usize, of: impl Fn(usize, usize) -> f32) -> Self {
        // With two vectors of places, the sums of six outputs are in registers. Four leave fewer outputs that do not
        // exist.
        let six = outputs.is_multiple_of(6);
        let group = if six { 6 } else { 4 };
        let mut values = Vec::with_capacity(outputs.next_multiple_of(group) * offsets);
        for first in (0..outputs).step_by(group) {
            for offset in 0..offsets {
                let of_group =
                    (first..first + group).map(|at| if at < outputs { of(at, offset) } else { 0.0 });
                values.extend(of_group);
            }
        }
        Self { six, outputs, values }
    }
}

/// Writes `start[o] + sum_t weight[o][t] planes[i + offsets[t]]` to `target`, `[outputs, length]`, with a `length` that is
/// a multiple of [`LANES`]. The planes have `length` values from every offset on.
pub fn correlate(planes: &[f32], offsets: &[usize], weights: &Weights, start: &[f32], target: &mut [f32]) {
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
        let of_groups = weights.values.chunks_exact(OUTPUTS * offsets.len());
        for (at, (target, weights)) in target.chunks_mut(OUTPUTS * length).zip(of_groups).enumerate() {
            let start: [f32; OUTPUTS] =
                std::array::from_fn(|output| start.get(at * OUTPUTS + output).copied().unwrap_or_default());
            let (weights, _) = weights.as_chunks::<OUTPUTS>();
            let mut place = 0;
            while place + VECTORS * S::F32_LANES <= length {
                let planes = &planes[place..];
                let sums = sums::<S, OUTPUTS, VECTORS>(simd, planes, offsets, weights, start);
                write(simd, &sums, target, length, place);
                place += VECTORS * S::F32_LANES;
            }
            while place < length {
                let sums = sums::<S, OUTPUTS, 1>(simd, &planes[place..], offsets, weights, start);
                write(simd, &sums, target, length, place);
                place += S::F32_LANES;
            }
        }
    }
}

#[inline(always)]
fn sums<S: Simd, const OUTPUTS: usize, const VECTORS: usize>(
    simd: S,
    planes: &[f32],
    offsets: &[usize],
    weights: &[[f32; OUTPUTS]],
    start: [f32; OUTPUTS],
) -> [[S::f32s; VECTORS]; OUTPUTS] {
    let mut sums = start.map(|start| [simd.splat_f32s(start); VECTORS]);
    for (offset, weights) in offsets.iter().zip(weights) {
        let (vectors, _) = S::as_simd_f32s(&planes[*offset..]);
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

/// Writes the sums of the outputs that exist.
#[inline(always)]
fn write<S: Simd, const OUTPUTS: usize, const VECTORS: usize>(
    _: S,
    sums: &[[S::f32s; VECTORS]; OUTPUTS],
    target: &mut [f32],
    length: usize,
    place: usize,
) {
    for (target, sums) in target.chunks_exact_mut(length).zip(sums) {
        let (vectors, _) = S::as_mut_simd_f32s(&mut target[place..]);
        if let Some(target) = vectors.first_chunk_mut::<VECTORS>() {
            *target = *sums;
        }
    }
}

/// Adds `sum_i slopes[o][i] planes[i + offsets[t]]` to `sums`, `[outputs, offsets, LANES]`: the sum of the [`LANES`]
/// numbers of a place is the result. The slopes are `[outputs, length]` with a `length` that is a multiple of
/// [`LANES`]; the planes have `length` values from every offset on.
pub fn add_products(planes: &[f32], offsets: &[usize], slopes: &[f32], length: usize, sums: &mut [f32]) {
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
        let of_output = offsets.len() * LANES;
        let pairs = slopes.chunks(2 * length).zip(sums.chunks_mut(2 * of_output));
        for (slopes, sums) in pairs {
            let (first, second) = sums.split_at_mut(of_output);
            let [slopes, others] = [&slopes[..length], slopes.get(length..2 * length).unwrap_or(&[])];
            let runs = offsets.chunks(OFFSETS).zip(first.chunks_mut(OFFSETS * LANES));
            let mut second = second.chunks_mut(OFFSETS * LANES);
            for (offsets, first) in runs {
                let second = second.next().unwrap_or_default();
                match (<&[usize; OFFSETS]>::try_from(offsets), others.is_empty()) {
                    (Ok(offsets), false) => {
                        products(simd, planes, offsets, [slopes, others], [first, second]);
                    }
                    _ => {
                        for (at, offset) in offsets.iter().enumerate() {
                            let lanes = at * LANES..(at + 1) * LANES;
                            products(simd, planes, &[*offset], [slopes], [&mut first[lanes.clone()]]);
                            if !others.is_empty() {
                                products(simd, planes, &[*offset], [others], [&mut second[lanes]]);
                            }
                        }
                    }
                }
            }
        }
    }
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
