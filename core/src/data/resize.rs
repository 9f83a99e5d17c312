//! Pillow's resampling, which torchvision uses for images: a filter that widens with the reduction (antialias),
//! applied along rows and then along columns. Its weights are those of [`Filter`].

use serde::{Deserialize, Serialize};
use simile_kernels::Filter;

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

impl From<Interpolation> for Filter {
    fn from(interpolation: Interpolation) -> Self {
        match interpolation {
            Interpolation::Bilinear => Self::Bilinear,
            Interpolation::Bicubic => Self::Bicubic,
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
        Filter::from(interpolation).weights(input, output, |_, first, weights| {
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

    /// A 5 x 7 image of 3 channels with values over the whole range.
    fn image() -> Images {
        Images::new(5, 7, 3, (0..105_u32).map(|i| (i * i * 7 % 256) as u8).collect()).unwrap()
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
