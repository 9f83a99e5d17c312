//! Pillow's resampling, which torchvision uses for images: a filter that widens with the reduction (antialias),
//! applied along rows and then along columns, by [`simile_kernels::cpu::resize`]. Its weights are those of [`Filter`].

use serde::{Deserialize, Serialize};
use simile_kernels::Filter;
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::resize::Resize;

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

/// Resizes every image to `height` x `width`, bit for bit as `Image.resize` of Pillow 11.3. Pillow 13.0 begins with the columns of
/// pictures that are clearly higher than wide, so some of their values differ by one.
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
    let sides = ([images.height, images.width], [height, width]);
    let mut pixels = vec![0; images.len() * height * width * channels];
    let resized = pixels.chunks_exact_mut((height * width * channels).max(1));
    let begin = || Resize::new(interpolation.into(), sides.0, sides.1, channels);
    parallel::map_in(images.iter().zip(resized), begin, |one, (image, resized)| one.apply(image, resized));
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
