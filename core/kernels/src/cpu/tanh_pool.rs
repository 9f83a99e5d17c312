//! `avg_pool2(tanh(conv(maps)))`, the block of LeNet-5, for maps as planes `[n, channels, height, width]`.
//!
//! The convolution is a [`correlation`](super::correlation) of planes with as many values as a row of the maps for each
//! row of the result, so that one offset belongs to each entry of the kernel; the last `k - 1` places of a row are no
//! places of the result. The gradient of the maps is such a sum too, of the slopes with the mirrored kernel. An image
//! passes through the block while it is in the cache; only the `tanh` is stored.

use std::iter::repeat_with;

use super::correlation::{Weights, add_products, correlate};
use super::lanes::LANES;
use super::parallel;
use super::tanh::tanh_in_place;
use super::vectors::sum_f32;

/// Number of images of one iteration of a loop.
const CHUNK: usize = 8;

/// Sizes of the block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
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
    pub(crate) fn is_valid(self) -> bool {
        self.sides.into_iter().min() > Some(self.kernel) && self.kernel * self.channels * self.out > 0
    }

    /// Height and width of the result.
    pub(crate) fn pooled(self) -> [usize; 2] {
        self.sides.map(|side| (side + 1 - self.kernel) / 2)
    }

    /// Number of values of a plane of the maps.
    fn plane(self) -> usize {
        self.sides[0] * self.sides[1]
    }

    /// Number of values of a plane of the result.
    fn places(self) -> usize {
        self.pooled()[0] * self.pooled()[1]
    }

    /// Number of values of a plane of the `tanh`: as many rows as are pooled, each as long as one of the maps.
    pub(crate) fn span(self) -> usize {
        (2 * self.pooled()[0] * self.sides[1]).next_multiple_of(LANES)
    }

    /// The offset of the last entry of a kernel.
    fn reach(self) -> usize {
        (self.kernel - 1) * (self.sides[1] + 1)
    }

    /// Number of values between planes of maps that are read from every offset on.
    fn stride(self) -> usize {
        (self.span() + self.reach()).max(self.plane())
    }

    /// The offset of each entry of a kernel, `[channels, k, k]`.
    fn offsets(self) -> Vec<usize> {
        let taps = self.kernel * self.kernel;
        let of = |at: usize| {
            let (channel, y, x) = (at / taps, at % taps / self.kernel, at % self.kernel);
            channel * self.stride() + y * self.sides[1] + x
        };
        (0..self.channels * taps).map(of).collect()
    }

    /// Writes the planes of an image with zeros after each, as [`offsets`](Self::offsets) expects them.
    fn spread(self, image: &[f32], planes: &mut Vec<f32>) {
        planes.resize(self.channels * self.stride(), 0.0);
        for (to, from) in planes.chunks_exact_mut(self.stride()).zip(image.chunks_exact(self.plane())) {
            to[..from.len()].copy_from_slice(from);
        }
    }

    /// The result for maps, `[n, out, pooled, pooled]`, and the `tanh` for the gradient, `[n, out, span]`.
    pub(crate) fn convolve_tanh_pool(self, maps: &[f32], weight: &[f32], bias: &[f32]) -> [Vec<f32>; 2] {
        let offsets = self.offsets();
        let weights = Weights::new(self.out, offsets.len(), |output, at| weight[output * offsets.len() + at]);
        let image = self.channels * self.plane();
        let images = maps.len() / image;
        let mut pooled = parallel::zeros(images * self.out * self.places());
        let mut tanh = parallel::zeros(images * self.out * self.span());
        let parts = maps
            .chunks(CHUNK * image)
            .zip(pooled.chunks_mut(CHUNK * self.out * self.places()))
            .zip(tanh.chunks_mut(CHUNK * self.out * self.span()));
        parallel::map_in(parts, Vec::new, |planes, ((maps, pooled), tanh)| {
            let image_parts = maps
                .chunks_exact(image)
                .zip(pooled.chunks_exact_mut(self.out * self.places()))
                .zip(tanh.chunks_exact_mut(self.out * self.span()));
            for ((image, pooled), tanh) in image_parts {
                self.spread(image, planes);
                correlate(planes, &offsets, &weights, bias, tanh);
                tanh_in_place(tanh);
                self.pool(tanh, pooled);
            }
        });
        [pooled, tanh]
    }

    /// The mean of each 2×2 places of an image.
    fn pool(self, tanh: &[f32], pooled: &mut [f32]) {
        let (width, [_, across]) = (self.sides[1], self.pooled());
        vectorised!({
            let planes = tanh.chunks_exact(self.span()).zip(pooled.chunks_exact_mut(self.places()));
            for (tanh, pooled) in planes {
                let rows = tanh.chunks_exact(2 * width).zip(pooled.chunks_exact_mut(across));
                for (two, pooled) in rows {
                    let (top, bottom) = two.split_at(width);
                    let four = top.as_chunks::<2>().0.iter().zip(bottom.as_chunks::<2>().0);
                    let mean = |(mean, ([a, b], [c, d])): (&mut f32, (&[f32; 2], &[f32; 2]))| {
                        *mean = 0.25 * (a + b + c + d);
                    };
                    pooled.iter_mut().zip(four).for_each(mean);
                }
            }
        });
    }

    /// The requested gradients of maps, weight and bias, from that of the result.
    pub(crate) fn convolve_tanh_pool_backward(
        self,
        maps: &[f32],
        weight: &[f32],
        tanh: &[f32],
        upstream: &[f32],
        wanted: [bool; 3],
    ) -> [Option<Vec<f32>>; 3] {
        let [is_maps, is_weight, is_bias] = wanted;
        let (image, offsets) = (self.channels * self.plane(), self.offsets());
        let mirrored = self.mirrored(weight);
        let mut grad_maps = is_maps.then(|| parallel::zeros(maps.len()));
        let target = grad_maps.as_deref_mut().unwrap_or_default();
        let targets = target.chunks_mut(CHUNK * image).chain(repeat_with(Default::default));
        let parts = maps
            .chunks(CHUNK * image)
            .zip(targets)
            .zip(tanh.chunks(CHUNK * self.out * self.span()))
            .zip(upstream.chunks(CHUNK * self.out * self.places()));
        let grads_by_part =
            parallel::map_in(parts, Scratch::default, |scratch, (((maps, target), tanh), upstream)| {
                let mut grad_weight = vec![0.0; if is_weight { self.out * offsets.len() * LANES } else { 0 }];
                let mut grad_bias = vec![0.0; self.out];
                let mut targets = target.chunks_exact_mut(image);
                let image_parts = maps
                    .chunks_exact(image)
                    .zip(tanh.chunks_exact(self.out * self.span()))
                    .zip(upstream.chunks_exact(self.out * self.places()));
                for ((image, tanh), upstream) in image_parts {
                    self.write_slopes(tanh, upstream, &mut scratch.slopes);
                    if is_weight {
                        self.spread(image, &mut scratch.planes);
                        add_products(
                            &scratch.planes,
                            &offsets,
                            &scratch.slopes,
                            self.span(),
                            &mut grad_weight,
                        );
                    }
                    if is_bias {
                        let slopes = scratch.slopes.chunks_exact(self.span());
                        grad_bias.iter_mut().zip(slopes).for_each(|(sum, slopes)| *sum += sum_f32(slopes));
                    }
                    if let Some(target) = targets.next() {
                        self.fill(&mirrored, scratch, target);
                    }
                }
                // Lanes may cancel each other, so that their sum is rounded once.
                let sum = |lanes: &[f32]| lanes.iter().map(|&lane| f64::from(lane)).sum::<f64>() as f32;
                (grad_weight.chunks_exact(LANES).map(sum).collect::<Vec<f32>>(), grad_bias)
            });
        let (grad_weights, grad_biases): (Vec<_>, Vec<_>) = grads_by_part.into_iter().unzip();
        let grad_weight = is_weight.then(|| parallel::sum(grad_weights, weight.len()));
        [grad_maps, grad_weight, is_bias.then(|| parallel::sum(grad_biases, self.out))]
    }

    /// Writes the gradient of `conv(maps)` of an image, `[out, span]`; 0 where there is no place.
    fn write_slopes(self, tanh: &[f32], upstream: &[f32], slopes: &mut Vec<f32>) {
        let (width, [_, across]) = (self.sides[1], self.pooled());
        slopes.resize(tanh.len(), 0.0);
        let mut pairs = vec![[0.0; 2]; across];
        vectorised!({
            let planes = slopes.chunks_exact_mut(self.span()).zip(tanh.chunks_exact(self.span()));
            for ((slopes, tanh), upstream) in planes.zip(upstream.chunks_exact(self.places())) {
                let rows = slopes.chunks_exact_mut(2 * width).zip(tanh.chunks_exact(2 * width));
                for ((slopes, tanh), upstream) in rows.zip(upstream.chunks_exact(across)) {
                    pairs.iter_mut().zip(upstream).for_each(|(pair, g)| *pair = [0.25 * g; 2]);
                    for (slopes, tanh) in slopes.chunks_exact_mut(width).zip(tanh.chunks_exact(width)) {
                        let values = slopes.iter_mut().zip(tanh).zip(pairs.as_flattened());
                        values.for_each(|((slope, y), g)| *slope = g * (1.0 - y * y));
                    }
                }
            }
        });
    }

    /// The weights of the gradient of the maps, `[channels, out k k]`, of the slopes at
    /// [`offsets_back`](Self::offsets_back).
    fn mirrored(self, weight: &[f32]) -> Weights {
        let taps = self.kernel * self.kernel;
        Weights::new(self.channels, self.out * taps, |channel, at| {
            let (output, tap) = (at / taps, at % taps);
            weight[(output * self.channels + channel) * taps + taps - 1 - tap]
        })
    }

    /// Number of values between planes of slopes that are read from every offset on.
    fn stride_back(self) -> usize {
        self.reach() + self.plane().next_multiple_of(LANES).max(self.span())
    }

    /// The offset of each entry of the mirrored kernel, `[out, k, k]`, in planes of slopes after as many zeros as the
    /// kernel reaches.
    fn offsets_back(self) -> Vec<usize> {
        let taps = self.kernel * self.kernel;
        let of = |at: usize| {
            let (output, y, x) = (at / taps, at % taps / self.kernel, at % self.kernel);
            output * self.stride_back() + y * self.sides[1] + x
        };
        (0..self.out * taps).map(of).collect()
    }

    /// Writes the gradient of the maps of an image, from its slopes.
    fn fill(self, mirrored: &Weights, scratch: &mut Scratch, target: &mut [f32]) {
        let Scratch { slopes, padded, grad_planes, .. } = scratch;
        padded.resize(self.out * self.stride_back(), 0.0);
        for (to, from) in padded.chunks_exact_mut(self.stride_back()).zip(slopes.chunks_exact(self.span())) {
            to[self.reach()..][..from.len()].copy_from_slice(from);
        }
        let length = self.plane().next_multiple_of(LANES);
        grad_planes.resize(self.channels * length, 0.0);
        correlate(padded, &self.offsets_back(), mirrored, &[], grad_planes);
        for (to, from) in target.chunks_exact_mut(self.plane()).zip(grad_planes.chunks_exact(length)) {
            to.copy_from_slice(&from[..to.len()]);
        }
    }
}

/// Memory for an image, reused for the next.
#[derive(Default)]
struct Scratch {
    planes: Vec<f32>,
    slopes: Vec<f32>,
    padded: Vec<f32>,
    grad_planes: Vec<f32>,
}
