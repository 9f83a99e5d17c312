//! Pillow's resampling, which torchvision uses for images: a filter that widens with the reduction (antialias),
//! applied along rows and then along columns.
//!
//! For an output of `m` pixels from an input of `n`, with `s = n / m`, output `i` has its centre at `(i + ½) s` and
//!
//! ```text
//! w_j ∝ f((j + ½ − (i + ½) s) / max(s, 1)),      Σ_j w_j = 1
//! ```
//!
//! over the input pixels within the filter's support.

use serde::{Deserialize, Serialize};

use super::{DatasetError, Images, Result};

/// The filter of a resampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interpolation {
    /// `1 − |x|` on `|x| < 1`.
    #[default]
    Bilinear,
    /// Keys' cubic with `a = −½` on `|x| < 2`, as in Pillow and in torchvision with antialias.
    Bicubic,
}

impl Interpolation {
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
            // A negative number becomes 0 in this conversion, as Pillow asks for.
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

/// Fraction bits of Pillow's fixed-point weights.
const PRECISION: u32 = 22;

/// The weights of one axis as Pillow rounds them.
struct Axis {
    taps: Vec<(usize, Vec<i32>)>,
}

impl Axis {
    fn new(interpolation: Interpolation, input: usize, output: usize) -> Self {
        let mut taps = Vec::with_capacity(output);
        interpolation.weights(input, output, |_, first, weights| {
            let fixed = weights.iter().map(|w| (w * f64::from(1 << PRECISION)).round() as i32).collect();
            taps.push((first, fixed));
        });
        Self { taps }
    }

    /// Resamples lines of `channels` interleaved values.
    fn rows(&self, input: &[u8], channels: usize, output: &mut [u8]) {
        for (pixel, (first, weights)) in output.chunks_exact_mut(channels).zip(&self.taps) {
            for (channel, value) in pixel.iter_mut().enumerate() {
                let line = input.iter().skip(first * channels + channel).step_by(channels);
                *value = round(line.zip(weights).map(|(&v, &w)| i32::from(v) * w).sum());
            }
        }
    }

    /// Resamples across lines of `stride` values.
    fn columns(&self, input: &[u8], stride: usize, output: &mut [u8], sums: &mut Vec<i32>) {
        for (line, (first, weights)) in output.chunks_exact_mut(stride).zip(&self.taps) {
            sums.clear();
            sums.resize(stride, 0);
            for (source, &w) in input.chunks_exact(stride).skip(*first).zip(weights) {
                sums.iter_mut().zip(source).for_each(|(sum, &v)| *sum += i32::from(v) * w);
            }
            line.iter_mut().zip(sums.iter()).for_each(|(value, &sum)| *value = round(sum));
        }
    }
}

fn round(sum: i32) -> u8 {
    ((sum + (1 << (PRECISION - 1))) >> PRECISION).clamp(0, 255) as u8
}

/// Resizes every image to `height` x `width`, bit for bit as Pillow's `Image.resize`.
///
/// # Errors
/// [`DatasetError::Parameter`] if a side is zero.
pub fn resize(images: &Images, height: usize, width: usize, interpolation: Interpolation) -> Result<Images> {
    let channels = images.channels;
    if height == 0 || width == 0 {
        return Err(DatasetError::parameter(
            "size",
            format!("{height}x{width}"),
            "every side must be at least 1",
        ));
    }
    if (height, width) == (images.height, images.width) {
        return Ok(images.clone());
    }
    let horizontal = Axis::new(interpolation, images.width, width);
    let vertical = Axis::new(interpolation, images.height, height);
    let mut pixels = vec![0; images.len() * height * width * channels];
    let mut narrowed = vec![0; images.height * width * channels];
    let mut sums = Vec::new();
    for (image, resized) in images.iter().zip(pixels.chunks_exact_mut(height * width * channels)) {
        let lines = image.chunks_exact(images.width * channels);
        for (line, narrow) in lines.zip(narrowed.chunks_exact_mut(width * channels)) {
            horizontal.rows(line, channels, narrow);
        }
        vertical.columns(&narrowed, width * channels, resized, &mut sums);
    }
    Images::new(height, width, channels, pixels)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A 5 x 7 image of 3 channels with values all over the range.
    fn image() -> Images {
        Images::new(5, 7, 3, (0..105_u32).map(|i| (i * i * 7 % 256) as u8).collect()).unwrap()
    }

    #[test]
    fn weights_sum_to_one_and_the_identity_is_exact() {
        for interpolation in [Interpolation::Bilinear, Interpolation::Bicubic] {
            for (input, output) in [(28, 32), (32, 32), (9, 32), (100, 7), (1, 5)] {
                interpolation.weights(input, output, |i, first, weights| {
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
    fn equals_pillow_bit_for_bit() {
        /* Equivalent python (Pillow 13.0.0):
        i = np.arange(105); a = (i * i * 7 % 256).astype(np.uint8).reshape(5, 7, 3)
        for size, mode in [((9, 8), BILINEAR), ((9, 8), BICUBIC), ((3, 2), BICUBIC)]:  # (width, height)
            b = np.asarray(Image.fromarray(a).resize(size, mode)).ravel()
            print((b.astype(np.uint64) * (np.arange(b.size) + 1)).sum(), b[:6])
        */
        let cases = [
            ((8, 9), Interpolation::Bilinear, 3287253, [0, 7, 28, 42, 77, 126]),
            ((8, 9), Interpolation::Bicubic, 3293320, [0, 0, 14, 22, 84, 128]),
            ((2, 3), Interpolation::Bicubic, 24288, [90, 86, 143, 155, 145, 124]),
        ];
        for ((height, width), interpolation, sum, start) in cases {
            let resized = resize(&image(), height, width, interpolation).unwrap();
            let pixels = &resized.pixels;
            let weighted: u64 = pixels.iter().zip(1..).map(|(&v, i)| u64::from(v) * i).sum();
            assert_eq!((weighted, &pixels[..6]), (sum, &start[..]), "{height}x{width} {interpolation:?}");
        }
    }
}
