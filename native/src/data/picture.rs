//! One picture file of any size, fitted to an encoder's input.

use std::path::Path;

use image::{DynamicImage, ImageDecoder as _, ImageReader, Limits};
use simile_core::dataset::Images;
use simile_core::preprocess::{fit, squeeze};

use super::pictures::Framing;
use super::settings::Fit;
use super::{DataError, Result};

/// Pixels of the largest picture that is decoded, 8192 x 8192: a file of a few hundred kilobytes can announce so many that
/// no memory holds them, and several are decoded at once.
const MOST_PIXELS: u64 = 1 << 26;
/// Memory that a decoder may take beside the picture itself.
const SCRATCH: u64 = 512 << 20;

/// Reads a picture and fits it as the page does, so that the same file gives the same numbers. Its content says its
/// format: published data sets have a PNG or two under a JPEG's name.
///
/// # Errors
/// [`DataError::Image`] if the file cannot be read or is no picture, [`DataError::LargePicture`] if it has more pixels than
/// are decoded.
pub(crate) fn read_picture(path: &Path, framing: Framing) -> Result<Images> {
    let failed = |source: image::ImageError| DataError::Image { path: path.into(), source };
    let reader = ImageReader::open(path).and_then(ImageReader::with_guessed_format);
    let mut reader = reader.map_err(|error| failed(error.into()))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(SCRATCH);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(failed)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(DataError::LargePicture { path: path.into(), reason: too_large(width, height) });
    }
    let picture = DynamicImage::from_decoder(decoder).map_err(failed)?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (stored, pixels) = match picture {
        DynamicImage::ImageLuma8(grey) => (1, grey.into_raw()),
        DynamicImage::ImageRgb8(colour) => (3, colour.into_raw()),
        other => (4, other.into_rgba8().into_raw()),
    };
    let picture = Images::new(height, width, stored, pixels)?;
    let Framing { side, channels, .. } = framing;
    Ok(match framing.fit {
        Fit::Middle => fit(&picture, side, side, channels)?,
        Fit::Whole => squeeze(&picture, side, side, channels)?,
    })
}

fn too_large(width: u32, height: u32) -> String {
    let most = MOST_PIXELS / 1_000_000;
    format!("it has {width}x{height} pixels, and at most {most} million are decoded; make it smaller first")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A part of a PNG file.
    fn chunk(name: &[u8], content: &[u8]) -> Vec<u8> {
        let mut sum = flate2::Crc::new();
        sum.update(name);
        sum.update(content);
        let length = (content.len() as u32).to_be_bytes();
        [&length[..], name, content, &sum.sum().to_be_bytes()].concat()
    }

    /// A PNG whose head announces grey pixels, and that has none.
    fn announced(width: u32, height: u32) -> Vec<u8> {
        let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
        [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &head), chunk(b"IDAT", &[]), chunk(b"IEND", &[])]
            .concat()
    }

    #[test]
    fn a_small_file_of_many_pixels_is_refused_before_it_is_decoded() {
        let place = tempfile::tempdir().unwrap();
        let framing = Framing { side: 4, channels: 3, fit: Fit::Middle };
        let path = place.path().join("scan.png");
        let complaint = |width, height| {
            std::fs::write(&path, announced(width, height)).unwrap();
            read_picture(&path, framing).unwrap_err().to_string()
        };
        let text = complaint(20_000, 20_000);
        assert!(text.contains("scan.png") && text.contains("20000x20000"), "{text}");
        assert!(text.contains("at most 67 million") && text.contains("smaller"), "{text}");
        // What is not too large is decoded, and found to be empty.
        let text = complaint(8192, 8192);
        assert!(text.contains("scan.png") && !text.contains("million"), "{text}");
    }
}
