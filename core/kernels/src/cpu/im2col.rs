//! Convolutions of any kernel, stride and padding as a product of windows with a matrix, some windows at a time so
//! that they stay in the cache. The windows of a 1×1 kernel at stride 1 are the maps.

use std::iter::repeat_with;
use std::ops::Range;

use super::gemm::{add, assign, matrix};
use super::geometry::Geometry;
use super::upstream::Upstream;
use super::{parallel, scratch};

/// Maximum number of positions of a part: enough for an efficient product.
const MOST_PLACES: usize = 512;
/// Minimum number of positions of a part.
const FEWEST_PLACES: usize = 64;
/// Number of values of the windows of a part, between these limits: 1 MB.
const VALUES: usize = 1 << 18;
/// Number of groups of images with separate gradients of the kernel; not more than a pool can process at once,
/// because each is as large as the weight.
const GROUPS: usize = 16;
/// Minimum number of positions of a group.
const PLACES_OF_GROUP: usize = 256;
/// Number of rows or columns of the weight in one iteration of a loop.
const BLOCK: usize = 16;

/// Transforms `[out, in, k, k]` into the layout `[k k in, out]`.
pub(crate) fn transform(weight: &[f32], geometry: &Geometry, kernel: &mut [f32]) {
    let Geometry { inputs, outputs, .. } = *geometry;
    let taps = geometry.taps();
    // In the order of the written rows: the values that a row reads, one of every output, stay in the cache for the
    // next row.
    parallel::map(kernel.chunks_exact_mut(outputs).enumerate(), |(row, values)| {
        let (tap, input) = (row / inputs, row % inputs);
        let column = weight.iter().skip(input * taps + tap).step_by(inputs * taps);
        values.iter_mut().zip(column).for_each(|(value, weight)| *value = *weight);
    });
}

/// The inverse of [`transform`].
fn weight_from_kernel(kernel: &[f32], geometry: &Geometry) -> Vec<f32> {
    let Geometry { inputs, outputs, .. } = *geometry;
    let (taps, window) = (geometry.taps(), geometry.window());
    let mut weight = vec![0.0; kernel.len()];
    parallel::map(weight.chunks_mut(BLOCK * window).enumerate(), |(block, weight)| {
        for (row, values) in kernel.chunks_exact(outputs).enumerate() {
            let at = row % inputs * taps + row / inputs;
            let places = weight.iter_mut().skip(at).step_by(window);
            places.zip(&values[block * BLOCK..]).for_each(|(place, value)| *place = *value);
        }
    });
    weight
}

/// Writes the convolution of maps with a [`transform`]ed kernel to `output`. `after` is called for each part of
/// `output` while it is in the cache, with the index of its first value; its results are returned in order.
pub(crate) fn forward<T: Send>(
    maps: &[f32],
    kernel: &[f32],
    geometry: &Geometry,
    output: &mut [f32],
    after: impl Fn(usize, &mut [f32]) -> T + Sync + Send,
) -> Vec<T> {
    let outputs = geometry.outputs;
    let places = places_of_part(geometry);
    let parts = output.chunks_mut(places * outputs).enumerate();
    parallel::map_in(parts, Vec::new, |windows, (at, part)| {
        let first = at * places;
        let windows = geometry.windows(maps, first..first + part.len() / outputs, windows);
        assign(part, matrix(windows, geometry.window()), matrix(kernel, outputs));
        after(first * outputs, part)
    })
}

/// The gradient of the weight, `[out, in, k, k]`, if requested, from that of the convolution; adds that of the maps
/// to `grad_maps`, if requested.
pub(crate) fn backward(
    maps: &[f32],
    kernel: &[f32],
    geometry: &Geometry,
    upstream: &impl Upstream,
    grad_maps: Option<&mut [f32]>,
    is_weight_wanted: bool,
) -> Option<Vec<f32>> {
    let (places, outputs) = (geometry.places(), geometry.outputs);
    let images = geometry.n.div_ceil(GROUPS).max(PLACES_OF_GROUP.div_ceil(places));
    let size = images * geometry.image();
    let targets = grad_maps.unwrap_or_default().chunks_mut(size).chain(repeat_with(Default::default));
    let places_per_part = places_of_part(geometry);
    let groups = maps.chunks(size).zip(targets).enumerate();
    let grads_by_group = parallel::map(groups, |(at, (maps, target))| {
        let mut grad_kernel = vec![0.0; if is_weight_wanted { kernel.len() } else { 0 }];
        let [mut slope, mut windows] = [Vec::new(), Vec::new()];
        let (first, count) = (at * images * places, maps.len() / geometry.image() * places);
        for start in (0..count).step_by(places_per_part) {
            let part = start..count.min(start + places_per_part);
            let values = (first + part.start) * outputs..(first + part.end) * outputs;
            let slope = matrix(upstream.part(values, &mut slope), outputs);
            if is_weight_wanted {
                let windows = geometry.windows(maps, part.clone(), &mut windows);
                add(&mut grad_kernel, matrix(windows, geometry.window()).transpose(), slope);
            }
            if target.is_empty() {
                continue;
            }
            let kernel = matrix(kernel, outputs).transpose();
            if geometry.is_plain() {
                let span = part.start * geometry.inputs..part.end * geometry.inputs;
                add(&mut target[span], slope, kernel);
            } else {
                windows.resize(part.len() * geometry.window(), 0.0);
                assign(&mut windows, slope, kernel);
                geometry.fold(&windows, target, part);
            }
        }
        grad_kernel
    });
    if !is_weight_wanted {
        return None;
    }
    let mut sums = scratch::take(kernel.len());
    let size = sums.len().div_ceil(GROUPS).max(1);
    parallel::map(sums.chunks_mut(size).enumerate(), |(at, sum)| {
        sum.fill(0.0);
        for part in &grads_by_group {
            sum.iter_mut().zip(&part[at * size..]).for_each(|(sum, value)| *sum += value);
        }
    });
    let weight = weight_from_kernel(&sums, geometry);
    scratch::give(sums);
    Some(weight)
}

fn places_of_part(geometry: &Geometry) -> usize {
    if geometry.is_plain() {
        return MOST_PLACES;
    }
    (VALUES / geometry.window()).clamp(FEWEST_PLACES, MOST_PLACES)
}

impl Geometry {
    /// True if the windows are the maps.
    fn is_plain(&self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.padding == 0
    }

    /// The windows of a range of positions, `[places, k k in]`; windows that are not the maps are written to
    /// `scratch`.
    fn windows<'a>(&self, maps: &'a [f32], places: Range<usize>, scratch: &'a mut Vec<f32>) -> &'a [f32] {
        if self.is_plain() {
            return &maps[places.start * self.inputs..places.end * self.inputs];
        }
        scratch.clear();
        scratch.resize(places.len() * self.window(), 0.0);
        self.each_run(places, |window, place, length| {
            scratch[window..window + length].copy_from_slice(&maps[place..place + length]);
        });
        scratch
    }

    /// Adds the windows of a range of positions to their positions in the maps.
    fn fold(&self, windows: &[f32], target: &mut [f32], places: Range<usize>) {
        self.each_run(places, |window, place, length| {
            let values = &windows[window..window + length];
            target[place..place + length].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        });
    }

    /// Calls `visit` for each row of each window without its padding, with its start in the windows, its start in
    /// the maps, and its number of values.
    fn each_run(&self, places: Range<usize>, mut visit: impl FnMut(usize, usize, usize)) {
        let [height, width] = self.sides();
        let mut window = 0;
        for at in places {
            let (image, top, left) = (at / (height * width), at / width % height, at % width);
            let skipped = self.padding.saturating_sub(left * self.stride);
            let column = left * self.stride + skipped - self.padding;
            let columns = self.kernel.saturating_sub(skipped).min(self.width.saturating_sub(column));
            for down in 0..self.kernel {
                let row = (top * self.stride + down).checked_sub(self.padding);
                if let Some(row) = row.filter(|&row| row < self.height && columns > 0) {
                    let place = (image * self.height + row) * self.width + column;
                    visit(window + skipped * self.inputs, place * self.inputs, columns * self.inputs);
                }
                window += self.kernel * self.inputs;
            }
        }
    }
}
