//! Pictures in PNG, JPEG or WebP, decoded to their pixels; and pixels as JPEG.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::error::DecodingError;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, RgbImage};

use super::jpeg::{Headers, to_rgb};
use crate::data::{DatasetError, Images};

/// Pixels of the largest picture that is decoded, 8192 x 8192: a file of a few hundred kilobytes can announce more than
/// fit into memory, and several are decoded at once.
const MOST_PIXELS: u64 = 1 << 26;
/// Most memory of a decoder beside the picture itself.
const SCRATCH: u64 = 512 << 20;
/// Place of the bits a value in a PNG: its header comes first.
const BIT_DEPTH: usize = 24;

/// The reason why a picture could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The bytes are not those of a picture.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// It has no pixel.
    #[error(transparent)]
    Empty(#[from] DatasetError),
    /// It has more pixels than are decoded.
    #[error(
        "it has {width}x{height} pixels, and at most {} million are decoded; make it smaller first",
        MOST_PIXELS / 1_000_000
    )]
    Large {
        /// Pixels of a row.
        width: u32,
        /// Rows.
        height: u32,
    },
}

/// Decodes a picture to 1 (grey), 3 (RGB) or 4 (RGBA, not premultiplied) channels of bytes; values of 16 bits are scaled to 8. The
/// format is detected from the content: some PNG files in published data sets have the name of a JPEG.
///
/// # Errors
/// The bytes are not a picture of one of the formats, or one with more than 8192 x 8192 pixels.
pub fn decode(bytes: &[u8]) -> Result<Images, PictureError> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(ImageError::IoError)?;
    let headers = match reader.format() {
        Some(ImageFormat::Jpeg) => Headers::read(bytes),
        _ => None,
    };
    let damage = match reader.format() {
        Some(format @ ImageFormat::Png) if !has_whole_palette(bytes) => {
            Some((format, "its palette ends in the middle of a colour"))
        }
        Some(format) => headers.as_ref().and_then(Headers::fault).map(|reason| (format, reason)),
        None => None,
    };
    if let Some((format, reason)) = damage {
        return Err(ImageError::Decoding(DecodingError::new(format.into(), reason)).into());
    }
    let picture = within_limits(reader)?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (channels, pixels) = match picture {
        DynamicImage::ImageLuma8(grey) => (1, grey.into_raw()),
        DynamicImage::ImageRgb8(mut colour) => {
            if headers.is_some_and(|headers| headers.is_misread_as_rgb()) {
                to_rgb(&mut colour);
            }
            (3, colour.into_raw())
        }
        other => (4, other.into_rgba8().into_raw()),
    };
    Ok(Images::new(height, width, channels, pixels)?)
}

fn within_limits(mut reader: ImageReader<Cursor<&[u8]>>) -> Result<DynamicImage, PictureError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(SCRATCH);
    reader.limits(limits);
    let decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(PictureError::Large { width, height });
    }
    Ok(DynamicImage::from_decoder(decoder)?)
}

/// The least and the largest value of a PNG with 16 bits a value, its opacity left out; none of any other picture, and of one that
/// cannot be decoded.
pub fn range_of_16_bits(bytes: &[u8]) -> Option<(u16, u16)> {
    let is_deep = bytes.starts_with(b"\x89PNG") && bytes.get(BIT_DEPTH) == Some(&16);
    if !is_deep || !has_whole_palette(bytes) {
        return None;
    }
    let reader = ImageReader::with_format(Cursor::new(bytes), ImageFormat::Png);
    let (values, channels, colours) = match within_limits(reader).ok()? {
        DynamicImage::ImageLuma16(picture) => (picture.into_raw(), 1, 1),
        DynamicImage::ImageLumaA16(picture) => (picture.into_raw(), 2, 1),
        DynamicImage::ImageRgb16(picture) => (picture.into_raw(), 3, 3),
        DynamicImage::ImageRgba16(picture) => (picture.into_raw(), 4, 3),
        _ => return None,
    };
    let colour_values =
        || values.chunks_exact(channels).flat_map(|pixel| pixel.iter().take(colours).copied());
    Some((colour_values().min()?, colour_values().max()?))
}

/// The bytes of a JPEG with a quality from 1 to 100. The encoder is generic, so that it is compiled in the crate that calls it:
/// here it is optimised in tests too, where it would take a fifth of the time of a small run.
///
/// # Errors
/// The picture has more than 65535 pixels in a row or a column.
pub fn to_jpeg(picture: &RgbImage, quality: u8) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    picture.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))?;
    Ok(bytes)
}

/// True if the palette of a PNG, if it has one, consists of complete colours: png 0.18.1 panics on an incomplete one.
fn has_whole_palette(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(8..).unwrap_or_default();
    // The decoder reports a file that ends early.
    while let Some((head, after)) = rest.split_first_chunk::<8>() {
        let [a, b, c, d, name @ ..] = head;
        let length = u32::from_be_bytes([*a, *b, *c, *d]);
        match name {
            b"PLTE" => return length.is_multiple_of(3),
            b"IDAT" | b"IEND" => break,
            _ => rest = after.get(length as usize + 4..).unwrap_or_default(),
        }
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_jpeg_gives_about_the_same_pixels_again() {
        let picture = RgbImage::from_fn(40, 24, |x, y| image::Rgb([4 * x as u8 + 20, 5 * y as u8 + 60, 90]));
        let of_quality = |quality| {
            let file = to_jpeg(&picture, quality).unwrap();
            let read = decode(&file).unwrap();
            assert_eq!((read.width, read.height, read.channels), (40, 24, 3));
            let largest_error = read.pixels.iter().zip(picture.as_raw()).map(|(a, b)| a.abs_diff(*b)).max();
            (file.len(), largest_error.unwrap())
        };
        let [(small, off), (large, near)] = [30, 95].map(of_quality);
        assert!(
            small < large && near <= 4 && 2 * near < off && off < 40,
            "{near} in {large}, {off} in {small}"
        );
    }

    fn png(picture: impl Into<DynamicImage>) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        picture.into().write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn values_of_16_bits_are_scaled_to_8_and_their_range_is_known() {
        let scan = png(image::ImageBuffer::from_fn(27, 27, |x, y| image::Luma([254 + (x * 26 + y) as u16])));
        assert_eq!(range_of_16_bits(&scan), Some((254, 254 + 26 * 27)));
        let levels = decode(&scan).unwrap();
        let grey = || levels.pixels.chunks_exact(4).map(|pixel| pixel[0]);
        assert_eq!((levels.channels, grey().min(), grey().max()), (4, Some(1), Some(4)));
        let opaque = image::ImageBuffer::from_pixel(2, 2, image::Rgba([7_u16, 9, 300, u16::MAX]));
        assert_eq!(range_of_16_bits(&png(opaque)), Some((7, 300)));
        assert_eq!(range_of_16_bits(&png(image::GrayImage::new(2, 2))), None);
        assert_eq!(range_of_16_bits(&scan[..scan.len() / 2]), None);
        assert_eq!(range_of_16_bits(b""), None);
    }

    #[test]
    fn a_picture_that_no_jpeg_can_hold_is_refused() {
        assert!(to_jpeg(&RgbImage::new(65_536, 1), 85).is_err());
    }
}
