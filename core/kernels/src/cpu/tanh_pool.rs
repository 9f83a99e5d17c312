//! `avg_pool2(tanh(conv(maps)))`, the block of LeNet-5, for maps `[n, height, width, channels]`.
//!
//! A 2×2 block of outputs of a `k` × `k` convolution reads one window of `(k + 1)²` positions, so windows are taken
//! at stride two, and the kernel is applied at four offsets in each. A few images at a time pass through the block;
//! their windows stay in the cache and are recomputed for the gradient, and only the `tanh` of the block is stored:
//! windows of 512 images are 43 MB, and every further stored intermediate is 10 MB of fresh pages.

use faer::MatRef;

use super::gemm::{assign, matrix, product};
use super::parallel;
use super::tanh::of_slice;

/// Number of images whose windows are computed at once: 0.7 MB in the first block of LeNet-5.
const CHUNK: usize = 8;
/// The four offsets of the kernel in its window, in the order of the outputs.
const OFFSETS: [(usize, usize); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

/// Sizes of the block.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Height and width of the maps.
    pub sides: [usize; 2],
    /// Channels of the maps.
    pub channels: usize,
    /// Channels of the result.
    pub out: usize,
    /// Side of the kernel.
    pub kernel: usize,
}

impl Block {
    /// True if there is a window, and so a result.
    pub fn is_valid(self) -> bool {
        self.sides.into_iter().min() > Some(self.kernel) && self.kernel * self.channels * self.out > 0
    }

    /// Height and width of the result.
    pub fn pooled(self) -> [usize; 2] {
        self.sides.map(|side| (side + 1 - self.kernel) / 2)
    }

    /// Columns of the kernel matrix: four for each output.
    pub fn columns(self) -> usize {
        OFFSETS.len() * self.out
    }

    /// Number of values of one image before the block.
    fn image(self) -> usize {
        self.sides[0] * self.sides[1] * self.channels
    }

    /// Number of windows of one image.
    fn places(self) -> usize {
        self.pooled()[0] * self.pooled()[1]
    }

    /// Number of contiguous values of one row of a window.
    fn run(self) -> usize {
        (self.kernel + 1) * self.channels
    }

    /// Number of values of a window: its rows, and a 1 for the bias.
    fn window(self) -> usize {
        (self.kernel + 1) * self.run() + 1
    }

    /// The start of each row of each window of an image.
    fn windows(self) -> impl Iterator<Item = impl Iterator<Item = usize>> {
        let (across, row) = (self.pooled()[1], self.sides[1] * self.channels);
        let corner = move |at| 2 * ((at / across) * row + (at % across) * self.channels);
        (0..self.places()).map(move |at| (0..=self.kernel).map(move |y| corner(at) + y * row))
    }

    /// Writes the windows of some images, one after the other, to `windows`.
    fn unfold(self, maps: &[f32], windows: &mut Vec<f32>) {
        let images = maps.len() / self.image();
        let length = images * self.places() * self.window();
        windows.resize(length, 0.0);
        let mut at = 0;
        for image in maps.chunks_exact(self.image()) {
            for rows in self.windows() {
                for start in rows {
                    copy_run(&image[start..], self.run(), &mut windows[at..]);
                    at += self.run();
                }
                windows[at] = 1.0;
                at += 1;
            }
        }
    }

    /// Adds the values of windows to their positions in the maps.
    #[inline(always)]
    fn fold(self, windows: &[f32], maps: &mut [f32]) {
        let per_image = self.places() * self.window();
        for (image, windows) in maps.chunks_exact_mut(self.image()).zip(windows.chunks_exact(per_image)) {
            for (rows, window) in self.windows().zip(windows.chunks_exact(self.window())) {
                for (start, values) in rows.zip(window.chunks_exact(self.run())) {
                    let target = &mut image[start..start + self.run()];
                    target.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
        }
    }

    /// Positions in the kernel matrix `[window, 4 * out]` of each weight of `[out, channels, k, k]`.
    fn positions(self) -> impl Iterator<Item = [usize; OFFSETS.len()]> {
        let side = self.kernel;
        let per_filter = self.channels * side * side;
        (0..self.out * per_filter).map(move |at| {
            let (x, y) = (at % side, at / side % side);
            let (channel, filter) = (at % per_filter / (side * side), at / per_filter);
            OFFSETS.map(|(top, left)| {
                let row = ((y + top) * (side + 1) + x + left) * self.channels + channel;
                row * self.columns() + (2 * top + left) * self.out + filter
            })
        })
    }

    /// The kernel matrix of a weight and a bias; the bias is the last row.
    fn matrix(self, weight: &[f32], bias: &[f32]) -> Vec<f32> {
        let mut kernel = vec![0.0; (self.window() - 1) * self.columns()];
        for (weight, positions) in weight.iter().zip(self.positions()) {
            for at in positions {
                kernel[at] = *weight;
            }
        }
        kernel.extend(OFFSETS.iter().flat_map(|_| bias));
        kernel
    }

    /// The gradients of weight and bias from that of the kernel matrix.
    fn of_matrix(self, kernel: &[f32]) -> [Vec<f32>; 2] {
        let weight = self.positions().map(|positions| positions.iter().map(|&at| kernel[at]).sum()).collect();
        let last = &kernel[(self.window() - 1) * self.columns()..];
        let bias = (0..self.out).map(|filter| last.iter().skip(filter).step_by(self.out).sum()).collect();
        [weight, bias]
    }

    /// The result for maps, `[n, pooled, pooled, out]`, and the `tanh` for the gradient, `[n, pooled, pooled, 4
    /// out]`, in which the four outputs of each window are adjacent.
    pub fn forward(self, maps: &[f32], weight: &[f32], bias: &[f32]) -> [Vec<f32>; 2] {
        let kernel = self.matrix(weight, bias);
        let images = maps.len() / self.image();
        let mut pooled = parallel::zeros(images * self.places() * self.out);
        let mut tanh = parallel::zeros(images * self.places() * self.columns());
        let parts = maps
            .chunks(CHUNK * self.image())
            .zip(pooled.chunks_mut(CHUNK * self.places() * self.out))
            .zip(tanh.chunks_mut(CHUNK * self.places() * self.columns()));
        parallel::map_in(parts, Vec::new, |windows, ((maps, pooled), tanh)| {
            self.unfold(maps, windows);
            assign(tanh, matrix(windows, self.window()), matrix(&kernel, self.columns()));
            of_slice(tanh);
            self.pool(tanh, pooled);
        });
        [pooled, tanh]
    }

    /// The mean of the four outputs of each window.
    fn pool(self, tanh: &[f32], pooled: &mut [f32]) {
        vectorised!({
            let rows = tanh.chunks_exact(self.columns());
            for (row, pooled) in rows.zip(pooled.chunks_exact_mut(self.out)) {
                let (top, bottom) = row.split_at(2 * self.out);
                let right = top[self.out..].iter().zip(&bottom[self.out..]);
                let four = top.iter().zip(bottom).zip(right);
                pooled
                    .iter_mut()
                    .zip(four)
                    .for_each(|(mean, ((a, c), (b, d)))| *mean = 0.25 * (a + b + c + d));
            }
        });
    }

    /// The requested gradients of maps, weight and bias, from that of the result.
    pub fn backward(
        self,
        maps: &[f32],
        weight: &[f32],
        tanh: &[f32],
        upstream: &[f32],
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let [is_maps, is_weight, is_bias] = wanted;
        let kernel = self.matrix(weight, &vec![0.0; self.out]);
        let size = CHUNK * self.image();
        let mut of_maps = is_maps.then(|| parallel::zeros(maps.len()));
        let mut targets: Vec<&mut [f32]> = match &mut of_maps {
            Some(of_maps) => of_maps.chunks_mut(size).collect(),
            None => maps.chunks(size).map(|_| Default::default()).collect(),
        };
        let parts = maps
            .chunks(size)
            .zip(targets.drain(..))
            .zip(tanh.chunks(CHUNK * self.places() * self.columns()))
            .zip(upstream.chunks(CHUNK * self.places() * self.out));
        type Scratch = [Vec<f32>; 2];
        let of_kernels = parallel::map_in(
            parts,
            Default::default,
            |[slope, windows]: &mut Scratch, (((maps, target), tanh), upstream)| {
                self.write_slope(tanh, upstream, slope);
                let slope = matrix(slope, self.columns());
                if !target.is_empty() {
                    self.fill(slope, &kernel, windows, target);
                }
                if !is_weight && !is_bias {
                    return Vec::new();
                }
                self.unfold(maps, windows);
                product(matrix(windows, self.window()).transpose(), slope)
            },
        );
        drop(targets);
        if !is_weight && !is_bias {
            return [of_maps, None, None];
        }
        let [of_weight, of_bias] = self.of_matrix(&parallel::sum(of_kernels, kernel.len()));
        [of_maps, is_weight.then_some(of_weight), is_bias.then_some(of_bias)]
    }

    /// Writes the gradient of `conv(maps)`, `[rows, 4 * out]`, from that of the pooled output.
    fn write_slope(self, tanh: &[f32], upstream: &[f32], slope: &mut Vec<f32>) {
        slope.resize(tanh.len(), 0.0);
        vectorised!({
            let rows = slope.chunks_exact_mut(self.columns()).zip(tanh.chunks_exact(self.columns()));
            for ((slope, tanh), pooled) in rows.zip(upstream.chunks_exact(self.out)) {
                for (slope, tanh) in slope.chunks_exact_mut(self.out).zip(tanh.chunks_exact(self.out)) {
                    for ((slope, y), g) in slope.iter_mut().zip(tanh).zip(pooled) {
                        *slope = 0.25 * g * (1.0 - y * y);
                    }
                }
            }
        });
    }

    /// The gradient of some maps, with room for its windows.
    fn fill(self, slope: MatRef<'_, f32>, kernel: &[f32], windows: &mut Vec<f32>, target: &mut [f32]) {
        windows.resize(slope.nrows() * self.window(), 0.0);
        assign(windows, slope, matrix(kernel, self.columns()).transpose());
        vectorised!(self.fold(windows, target));
    }
}

/// Copies a run of values. Values after them may be copied too, and the next run is written over those: copies of one size
/// are two instructions, of any size a call.
#[inline(always)]
fn copy_run(values: &[f32], length: usize, target: &mut [f32]) {
    const PIECE: usize = 32;
    for first in (0..length).step_by(PIECE) {
        let (values, target) = (&values[first..], &mut target[first..]);
        match (values.first_chunk::<PIECE>(), target.first_chunk_mut::<PIECE>()) {
            (Some(values), Some(target)) => *target = *values,
            _ => {
                let rest = (length - first).min(PIECE);
                target[..rest].copy_from_slice(&values[..rest]);
            }
        }
    }
}
