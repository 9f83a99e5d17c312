//! Separable filters with a few weights a pixel: Pillow's resampling, and Gaussian blur.
//!
//! For an output of `m` pixels from an input of `n`, with `s = n / m`, output `i` has its centre at `(i + ½) s` and
//!
//! ```text
//! w_j ∝ f((j + ½ − (i + ½) s) / max(s, 1)),      Σ_j w_j = 1
//! ```
//!
//! over the input pixels within the filter's support.

use super::pixels::intensity;
use super::turn::{Column, LINES, turn, turn_back};

/// The filter of a resampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// `1 − |x|` on `|x| < 1`.
    #[default]
    Bilinear,
    /// Keys' cubic with `a = −½` on `|x| < 2`.
    Bicubic,
}

impl Filter {
    fn support(self) -> f64 {
        match self {
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
        }
    }

    fn value(self, x: f64) -> f64 {
        let x = x.abs();
        match self {
            Self::Bilinear => (1.0 - x).max(0.0),
            Self::Bicubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Self::Bicubic if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Self::Bicubic => 0.0,
        }
    }

    /// Calls `write(i, first, weights)` for each output pixel `i` of `output`: input pixel `first + k` of `input`
    /// has weight `weights[k]`. The weights of an output sum to 1.
    pub fn weights(self, input: usize, output: usize, mut write: impl FnMut(usize, usize, &[f64])) {
        let scale = input as f64 / output as f64;
        let stretch = scale.max(1.0);
        let support = self.support() * stretch;
        let mut weights = Vec::new();
        for i in 0..output {
            let centre = (i as f64 + 0.5) * scale;
            // A negative number becomes 0 in this conversion, as in Pillow.
            let first = (centre - support + 0.5) as usize;
            let last = ((centre + support + 0.5) as usize).min(input);
            weights.clear();
            weights.extend((first..last).map(|j| self.value((j as f64 - centre + 0.5) / stretch)));
            let total: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w /= total);
            write(i, first, &weights);
        }
    }
}

/// Scratch memory of a filter along lines: some of them, turned.
#[derive(Debug, Default)]
pub(super) struct TurnedLines {
    bytes: Vec<Column<u8>>,
    before: Vec<Column<f32>>,
    after: Vec<Column<f32>>,
}

/// The sources of each pixel of a line: the first source pixel, and the weights from there on.
#[derive(Debug, Default)]
pub(super) struct Taps {
    firsts: Vec<usize>,
    ends: Vec<usize>,
    weights: Vec<f32>,
}

impl Taps {
    fn clear(&mut self) {
        self.firsts.clear();
        self.ends.clear();
        self.weights.clear();
    }

    /// The sources for a part of a line, `length` pixels from `start` on, resampled to `output` pixels.
    pub(super) fn resample(&mut self, filter: Filter, (start, length): (usize, usize), output: usize) {
        self.clear();
        filter.weights(length, output, |_, first, weights| {
            self.firsts.push(start + first);
            self.weights.extend(weights.iter().map(|&weight| weight as f32));
            self.ends.push(self.weights.len());
        });
    }

    /// The sources for a blur with [`gaussian`] weights of a line of `side` pixels, reflected at both ends without
    /// repeating the end pixels: -1 is 1 and `side` is `side - 2`.
    pub(super) fn blur(&mut self, weights: &[f32], side: usize) {
        self.clear();
        let radius = weights.len().saturating_sub(1);
        for i in 0..side {
            let (first, last) = (i.saturating_sub(radius), (i + radius).min(side - 1));
            let start = self.weights.len();
            self.firsts.push(first);
            self.weights.resize(start + last - first + 1, 0.0);
            for at in -(radius as isize)..=radius as isize {
                let pixel = (i as isize + at).unsigned_abs();
                let pixel = if pixel < side { pixel } else { 2 * side - 2 - pixel };
                if let Some(entry) = self.weights.get_mut(start + pixel - first) {
                    *entry += weights[at.unsigned_abs()];
                }
            }
            self.ends.push(self.weights.len());
        }
    }

    fn iter(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let taps = self.firsts.iter().zip(starts.zip(&self.ends));
        taps.map(|(&first, (start, &end))| (first, &self.weights[start..end]))
    }

    /// The first source of all pixels, and the end of the sources of the last one; none without pixels.
    fn span(&self) -> Option<(usize, usize)> {
        let (last, weights) = self.iter().last()?;
        Some((*self.firsts.first()?, last + weights.len()))
    }

    /// Filters along lines of `stride` values, to lines of one value for each entry.
    #[inline(always)]
    pub(super) fn along(&self, lines: &[f32], stride: usize, scratch: &mut TurnedLines, output: &mut [f32]) {
        let Some((start, end)) = self.span() else { return };
        let TurnedLines { before, after, .. } = scratch;
        before.resize(end - start, [0.0; LINES]);
        after.resize(self.firsts.len(), [0.0; LINES]);
        let blocks = output.chunks_mut(LINES * after.len());
        for (lines, output) in lines.chunks(LINES * stride).zip(blocks) {
            turn(lines, stride, start, before);
            self.along_turned(before, after);
            turn_back(after, output);
        }
    }

    /// Filters along lines of interleaved bytes, as numbers from 0 to 1, to the lines of one channel after another.
    #[inline(always)]
    pub(super) fn along_pixels(
        &self,
        lines: &[u8],
        (width, channels): (usize, usize),
        scratch: &mut TurnedLines,
        output: &mut [f32],
    ) {
        let Some((start, end)) = self.span() else { return };
        let TurnedLines { bytes, before, after } = scratch;
        bytes.resize((end - start) * channels, [0; LINES]);
        before.resize(end - start, [0.0; LINES]);
        after.resize(self.firsts.len(), [0.0; LINES]);
        let (stride, of_channel) = (width * channels, output.len() / channels);
        for (at, lines) in lines.chunks(LINES * stride).enumerate() {
            turn(lines, stride, start * channels, bytes);
            for (channel, output) in output.chunks_exact_mut(of_channel).enumerate() {
                let columns = bytes.iter().skip(channel).step_by(channels);
                for (column, bytes) in before.iter_mut().zip(columns) {
                    *column = bytes.map(intensity);
                }
                self.along_turned(before, after);
                if let Some(output) = output.chunks_mut(LINES * after.len()).nth(at) {
                    turn_back(after, output);
                }
            }
        }
    }

    /// Filters along turned lines, whose first column is the first source of all pixels.
    #[inline(always)]
    fn along_turned(&self, before: &[Column<f32>], after: &mut [Column<f32>]) {
        let start = self.firsts.first().copied().unwrap_or_default();
        for (after, (first, weights)) in after.iter_mut().zip(self.iter()) {
            let mut sums = [0.0; LINES];
            for (column, weight) in before[first - start..].iter().zip(weights) {
                sums.iter_mut().zip(column).for_each(|(sum, value)| *sum += value * weight);
            }
            *after = sums;
        }
    }

    /// Filters across lines of `width` pixels; the first is line `top` of the whole.
    #[inline(always)]
    pub(super) fn across(&self, lines: &[f32], top: usize, width: usize, output: &mut [f32]) {
        for (output, (first, weights)) in output.chunks_exact_mut(width).zip(self.iter()) {
            output.fill(0.0);
            for (line, weight) in lines[(first - top) * width..].chunks_exact(width).zip(weights) {
                // Not by a closure, which would be compiled without the caller's vector instructions.
                for (sum, value) in output.iter_mut().zip(line) {
                    *sum += value * weight;
                }
            }
        }
    }
}

/// Weights of a Gaussian of a standard deviation at distances of 0, 1, ... `radius` pixels; the weights of both
/// sides sum to 1.
pub(crate) fn gaussian(sigma: f64, radius: usize) -> Vec<f32> {
    let weight = |distance: usize| (-0.5 * (distance as f64 / sigma).powi(2)).exp();
    let total = weight(0) + 2.0 * (1..=radius).map(weight).sum::<f64>();
    (0..=radius).map(|distance| (weight(distance) / total) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_the_identity_is_exact() {
        for filter in [Filter::Bilinear, Filter::Bicubic] {
            for (input, output) in [(28, 32), (32, 32), (9, 32), (100, 7), (1, 5)] {
                filter.weights(input, output, |i, first, weights| {
                    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    assert!(first + weights.len() <= input);
                    if input == output {
                        weights.iter().enumerate().for_each(|(k, &w)| {
                            assert_eq!(w, if first + k == i { 1.0 } else { 0.0 });
                        });
                    }
                });
            }
        }
    }

    #[test]
    fn lines_filtered_together_are_what_each_is_alone() {
        // The window of an image in which it lies, with fewer and more lines and columns than are turned at once.
        for (height, width, left, length, target) in
            [(37, 53, 4, 41, 24), (16, 40, 0, 40, 90), (5, 9, 8, 1, 3)]
        {
            for (filter, channels) in [(Filter::Bilinear, 3), (Filter::Bicubic, 1)] {
                let mut taps = Taps::default();
                taps.resample(filter, (left, length), target);
                let values = height * width * channels;
                let image: Vec<u8> =
                    (0..values as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
                let mut output = vec![f32::NAN; height * target * channels];
                let mut scratch = TurnedLines::default();
                taps.along_pixels(&image, (width, channels), &mut scratch, &mut output);
                for (channel, output) in output.chunks_exact(height * target).enumerate() {
                    let plane: Vec<f32> = image[channel..]
                        .iter()
                        .step_by(channels)
                        .map(|&byte| f32::from(byte) / 255.0)
                        .collect();
                    let alone = plane.chunks_exact(width).flat_map(|line| {
                        taps.iter().map(|(first, weights)| {
                            line[first..]
                                .iter()
                                .zip(weights)
                                .map(|(value, weight)| value * weight)
                                .sum::<f32>()
                        })
                    });
                    assert!(alone.eq(output.iter().copied()), "{height}x{width}, channel {channel}");
                    let mut of_numbers = vec![f32::NAN; height * target];
                    taps.along(&plane, width, &mut scratch, &mut of_numbers);
                    assert_eq!(of_numbers, output);
                }
            }
        }
    }

    #[test]
    fn a_blur_reflects_at_both_ends() {
        let weights = gaussian(1.3, 2);
        let line = [0.1_f32, 0.9, 0.4, 0.7];
        let mut taps = Taps::default();
        taps.blur(&weights, 4);
        let mut blurred = [0.0; 4];
        taps.along(&line, 4, &mut TurnedLines::default(), &mut blurred);
        let reflected = [0.4, 0.9, 0.1, 0.9, 0.4, 0.7, 0.4, 0.9];
        for (value, around) in blurred.iter().zip(reflected.windows(5)) {
            let expected: f32 = around.iter().zip([2, 1, 0, 1, 2]).map(|(v, d)| v * weights[d]).sum();
            assert!((value - expected).abs() < 1e-6, "{value} {expected}");
        }
    }
}
