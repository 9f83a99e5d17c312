//! Where the values of a window lie: a 2×2 block of outputs of a 5×5 convolution sees one 6×6 window, so windows are
//! taken at stride two and the kernel is placed at four offsets in each.

use super::{KERNEL, WINDOW};

/// The four offsets of the kernel in its window, in the order of the outputs.
const OFFSETS: [(usize, usize); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];

/// Sizes of `avg_pool2(tanh(conv(maps)))` for maps `[n, side, side * channels]`, channels last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Geometry {
    pub(super) side: usize,
    pub(super) channels: usize,
    pub(super) out: usize,
}

impl Geometry {
    /// Side of the output.
    pub(super) fn pooled(self) -> usize {
        (self.side + 1 - KERNEL) / 2
    }

    /// Values of one image before the block.
    pub(super) fn image(self) -> usize {
        self.side * self.side * self.channels
    }

    /// Values of one image after the block.
    pub(super) fn features(self) -> usize {
        self.pooled() * self.pooled() * self.out
    }

    /// Values of one row of a window, which lie side by side.
    pub(super) fn run(self) -> usize {
        WINDOW * self.channels
    }

    /// Values of a window: its six rows, and a 1 that carries the bias.
    pub(super) fn window(self) -> usize {
        WINDOW * self.run() + 1
    }

    /// Columns of the kernel matrix.
    pub(super) fn columns(self) -> usize {
        OFFSETS.len() * self.out
    }

    /// Where the six rows of each window of an image begin.
    pub(super) fn windows(self) -> impl Iterator<Item = [usize; WINDOW]> {
        let (pooled, row) = (self.pooled(), self.side * self.channels);
        let corner = move |at| 2 * ((at / pooled) * row + (at % pooled) * self.channels);
        (0..pooled * pooled).map(move |at| std::array::from_fn(|y| corner(at) + y * row))
    }

    /// The windows of some images, one after the other.
    pub(super) fn unfold(self, maps: &[f32]) -> Vec<f32> {
        let images = maps.len() / self.image();
        let mut windows = Vec::with_capacity(images * self.pooled() * self.pooled() * self.window());
        for image in maps.chunks_exact(self.image()) {
            for rows in self.windows() {
                for start in rows {
                    windows.extend_from_slice(&image[start..start + self.run()]);
                }
                windows.push(1.0);
            }
        }
        windows
    }

    /// Adds the values of windows to the places of the maps that they were taken from.
    #[inline(always)]
    pub(super) fn fold(self, windows: &[f32], maps: &mut [f32]) {
        let per_image = self.pooled() * self.pooled() * self.window();
        for (image, windows) in maps.chunks_exact_mut(self.image()).zip(windows.chunks_exact(per_image)) {
            for (rows, window) in self.windows().zip(windows.chunks_exact(self.window())) {
                for (start, values) in rows.into_iter().zip(window.chunks_exact(self.run())) {
                    let target = &mut image[start..start + self.run()];
                    target.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
        }
    }

    /// Positions in the kernel matrix `[window, 4 * out]` of each weight of `[out, channels, 5, 5]`.
    fn positions(self) -> impl Iterator<Item = [usize; OFFSETS.len()]> {
        let per_filter = self.channels * KERNEL * KERNEL;
        (0..self.out * per_filter).map(move |at| {
            let (x, y) = (at % KERNEL, at / KERNEL % KERNEL);
            let (channel, filter) = (at % per_filter / (KERNEL * KERNEL), at / per_filter);
            std::array::from_fn(|offset| {
                let (top, left) = OFFSETS[offset];
                let row = ((y + top) * WINDOW + x + left) * self.channels + channel;
                row * self.columns() + offset * self.out + filter
            })
        })
    }

    /// The kernel matrix of a weight and a bias, whose row is the last.
    pub(super) fn kernel(self, weight: &[f32], bias: &[f32]) -> Vec<f32> {
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
    pub(super) fn gradients(self, kernel: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let weight = self.positions().map(|positions| positions.iter().map(|&at| kernel[at]).sum()).collect();
        let last = &kernel[(self.window() - 1) * self.columns()..];
        let bias = (0..self.out).map(|filter| last.iter().skip(filter).step_by(self.out).sum()).collect();
        (weight, bias)
    }
}
