//! Convolutions of any kernel, stride and padding as a product of windows with a matrix, a few images at a time so that
//! their windows stay in the cache. The windows of a 1×1 kernel at stride 1 are the maps themselves.

use std::borrow::Cow;

use crate::encoder::maps::Maps;
use simile_kernels::cpu::gemm::{add, assign, matrix, product};
use simile_kernels::cpu::parallel;

/// A part of the batch has at least so many windows.
const WINDOWS: usize = 256;

/// Where the windows of a convolution lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Geometry {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// Side of the kernel.
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
}

/// Brings `[out, in, k, k]` into the form `[k k in, out]`.
pub(super) fn transform(weight: &[f32], geometry: Geometry, kernel: &mut Vec<f32>) {
    let Geometry { inputs, outputs, .. } = geometry;
    let taps = geometry.taps();
    kernel.resize(weight.len(), 0.0);
    // Row by row of what is written: what a row reads, one value of every output, stays in the cache for the next.
    parallel::map(kernel.chunks_exact_mut(outputs).enumerate(), |(row, values)| {
        let (tap, input) = (row / inputs, row % inputs);
        let column = weight.iter().skip(input * taps + tap).step_by(inputs * taps);
        values.iter_mut().zip(column).for_each(|(value, weight)| *value = *weight);
    });
}

/// The way back from [`transform`].
fn of_kernel(kernel: &[f32], geometry: Geometry) -> Vec<f32> {
    let Geometry { inputs, outputs, .. } = geometry;
    let taps = geometry.taps();
    let mut weight = vec![0.0; kernel.len()];
    for (row, values) in kernel.chunks_exact(outputs).enumerate() {
        let (tap, input) = (row / inputs, row % inputs);
        for (output, value) in values.iter().enumerate() {
            weight[(output * inputs + input) * taps + tap] = *value;
        }
    }
    weight
}

/// The convolution of maps with a kernel that is [`transform`]ed, in place of what `found` holds.
pub(super) fn forward(maps: &Maps, kernel: &[f32], geometry: Geometry, found: &mut Maps) {
    let sides = geometry.sides(maps);
    let images = images_of_part(sides);
    let parts = maps
        .values
        .chunks(images * maps.image())
        .zip(found.values.chunks_mut(images * sides[0] * sides[1] * geometry.outputs));
    parallel::map(parts, |(part, found)| {
        let windows = geometry.windows(part, maps);
        assign(found, matrix(&windows, geometry.window()), matrix(kernel, geometry.outputs));
    });
}

/// The gradient of the kernel, `[out, in, k, k]`, from that of the convolution; adds that of the maps to `of_maps`, if it
/// is wanted.
pub(super) fn backward(
    maps: &Maps,
    upstream: &Maps,
    kernel: &[f32],
    geometry: Geometry,
    of_maps: Option<&mut Maps>,
) -> Vec<f32> {
    let sides = geometry.sides(maps);
    let images = images_of_part(sides);
    let size = images * maps.image();
    let mut targets: Vec<&mut [f32]> = match of_maps {
        Some(of_maps) => of_maps.values.chunks_mut(size).collect(),
        None => maps.values.chunks(size).map(|_| Default::default()).collect(),
    };
    let upstream = upstream.values.chunks(images * sides[0] * sides[1] * geometry.outputs);
    let parts = maps.values.chunks(size).zip(upstream).zip(targets.drain(..));
    let of_kernels = parallel::map(parts, |((part, upstream), target)| {
        let upstream = matrix(upstream, geometry.outputs);
        if !target.is_empty() {
            let kernel = matrix(kernel, geometry.outputs).transpose();
            if geometry.is_plain() {
                add(target, upstream, kernel);
            } else {
                geometry.fold(&product(upstream, kernel), target, maps);
            }
        }
        let windows = geometry.windows(part, maps);
        product(matrix(&windows, geometry.window()).transpose(), upstream)
    });
    let mut of_matrix = vec![0.0_f32; kernel.len()];
    let size = of_matrix.len().div_ceil(SUM_PARTS).max(1);
    parallel::map(of_matrix.chunks_mut(size).enumerate(), |(at, sum)| {
        for part in &of_kernels {
            sum.iter_mut().zip(&part[at * size..]).for_each(|(sum, value)| *sum += value);
        }
    });
    of_kernel(&of_matrix, geometry)
}

/// Parts in which the kernels of the parts of a batch are summed.
const SUM_PARTS: usize = 16;

fn images_of_part([height, width]: [usize; 2]) -> usize {
    WINDOWS.div_ceil((height * width).max(1))
}

impl Geometry {
    fn taps(&self) -> usize {
        self.kernel * self.kernel
    }

    /// Values of a window.
    fn window(&self) -> usize {
        self.taps() * self.inputs
    }

    /// Whether the windows are the maps.
    fn is_plain(&self) -> bool {
        self.kernel == 1 && self.stride == 1 && self.padding == 0
    }

    /// Height and width of the convolution.
    pub(super) fn sides(&self, maps: &Maps) -> [usize; 2] {
        [maps.height, maps.width]
            .map(|side| (side + 2 * self.padding).saturating_sub(self.kernel) / self.stride + 1)
    }

    /// `[windows, k k in]` of the maps of some images.
    fn windows<'a>(&self, part: &'a [f32], maps: &Maps) -> Cow<'a, [f32]> {
        if self.is_plain() {
            return Cow::Borrowed(part);
        }
        let [height, width] = self.sides(maps);
        let images = part.len() / maps.image();
        let mut windows = vec![0.0; images * height * width * self.window()];
        self.each_run(maps, images, |window, place, length| {
            windows[window..window + length].copy_from_slice(&part[place..place + length]);
        });
        Cow::Owned(windows)
    }

    /// Adds windows to the places where they lie in the maps of some images.
    fn fold(&self, windows: &[f32], target: &mut [f32], maps: &Maps) {
        self.each_run(maps, target.len() / maps.image(), |window, place, length| {
            let values = &windows[window..window + length];
            target[place..place + length].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        });
    }

    /// Calls `visit` for each row of each window, less what is padding: where it begins in the windows, where in the maps,
    /// and how many values it has.
    fn each_run(&self, maps: &Maps, images: usize, mut visit: impl FnMut(usize, usize, usize)) {
        let [height, width] = self.sides(maps);
        let mut window = 0;
        for (image, top, left) in places(images, height, width) {
            let skipped = self.padding.saturating_sub(left * self.stride);
            let column = left * self.stride + skipped - self.padding;
            let columns = self.kernel.saturating_sub(skipped).min(maps.width.saturating_sub(column));
            for down in 0..self.kernel {
                let row =
                    (top * self.stride + down).checked_sub(self.padding).filter(|&row| row < maps.height);
                if let Some(row) = row.filter(|_| columns > 0) {
                    let place = (image * maps.height + row) * maps.width + column;
                    visit(window + skipped * self.inputs, place * self.inputs, columns * self.inputs);
                }
                window += self.kernel * self.inputs;
            }
        }
    }
}

/// Image, row and column of every output.
fn places(images: usize, height: usize, width: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..images * height * width).map(move |at| (at / (height * width), at / width % height, at % width))
}
