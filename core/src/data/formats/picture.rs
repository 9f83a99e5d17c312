//! Pictures in PNG, JPEG or WebP, decoded to their pixels; and pixels as JPEG.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::error::DecodingError;
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, RgbImage};

use crate::data::{DatasetError, Images};

/// Pixels of the largest picture that is decoded, 8192 x 8192: a file of a few hundred kilobytes can announce more than
/// fit into memory, and several are decoded at once.
const MOST_PIXELS: u64 = 1 << 26;
/// Most memory of a decoder beside the picture itself.
const SCRATCH: u64 = 512 << 20;

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

/// Decodes a picture to 1 (grey), 3 (RGB) or 4 (RGBA, not premultiplied) channels of bytes. The format is detected from the
/// content: some PNG files in published data sets have the name of a JPEG.
///
/// # Errors
/// The bytes are not a picture of one of the formats, or one with more than 8192 x 8192 pixels.
pub fn decode(bytes: &[u8]) -> Result<Images, PictureError> {
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(ImageError::IoError)?;
    let damage = match reader.format() {
        Some(format @ ImageFormat::Png) if !has_whole_palette(bytes) => {
            Some((format, "its palette ends in the middle of a colour"))
        }
        Some(format @ ImageFormat::Jpeg) => damage_of_jpeg(bytes).map(|reason| (format, reason)),
        _ => None,
    };
    if let Some((format, reason)) = damage {
        return Err(ImageError::Decoding(DecodingError::new(format.into(), reason)).into());
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(SCRATCH);
    reader.limits(limits);
    let decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(PictureError::Large { width, height });
    }
    let picture = DynamicImage::from_decoder(decoder)?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (channels, pixels) = match picture {
        DynamicImage::ImageLuma8(grey) => (1, grey.into_raw()),
        DynamicImage::ImageRgb8(colour) => (3, colour.into_raw()),
        other => (4, other.into_rgba8().into_raw()),
    };
    Ok(Images::new(height, width, channels, pixels)?)
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

/// What is wrong with a JPEG that zune-jpeg 0.5.15, as image 0.25.10 calls it, takes for sound. It fills one that ends early with
/// grey, which Pillow refuses, except for some that lack the marker of the end alone. Of one that is not progressive and has its
/// colours in separate scans, it makes garbage where they differ in size or have restart markers.
fn damage_of_jpeg(bytes: &[u8]) -> Option<&'static str> {
    const MARK: u8 = 0xff;
    const SCAN: u8 = 0xda;
    const END: [u8; 2] = [MARK, 0xd9];
    let mut rest = bytes.get(2..).unwrap_or_default();
    // Colours that the first scan must have: none if the picture is progressive, because its frame has another marker.
    let mut colours = 0;
    // Segments before the scan are passed over, because a thumbnail in one of them is a JPEG with an end of its own. The decoder
    // reports a file that ends in them, or bytes that are no segment.
    while let Some(at) = rest.windows(2).position(|pair| pair[0] == MARK && !matches!(pair[1], 0 | MARK)) {
        let Some(([_, marker, high, low], content)) = rest[at..].split_first_chunk::<4>() else { break };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        rest = rest.get(at + 2 + length..).unwrap_or_default();
        match *marker {
            // The number of colours follows the depth and both sides.
            0xc0 | 0xc1 => colours = content.get(5).copied().unwrap_or(0),
            // Other bytes may follow the end, so that it is not always the last.
            SCAN if !rest.windows(2).rev().any(|pair| pair == END) => {
                return Some(
                    "it is cut off: its pixels are not followed by the marker of the end; get it again",
                );
            }
            SCAN => {
                let separate = content.first().is_some_and(|&of_scan| of_scan < colours);
                return separate
                    .then_some("its colours lie in separate scans, which are not read; save it anew as PNG");
            }
            _ => {}
        }
    }
    None
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
            let apart = read.pixels.iter().zip(picture.as_raw()).map(|(a, b)| a.abs_diff(*b)).max();
            (file.len(), apart.unwrap())
        };
        let [(small, off), (large, near)] = [30, 95].map(of_quality);
        assert!(
            small < large && near <= 4 && 2 * near < off && off < 40,
            "{near} in {large}, {off} in {small}"
        );
    }

    #[test]
    fn a_picture_that_no_jpeg_can_hold_is_refused() {
        assert!(to_jpeg(&RgbImage::new(65_536, 1), 85).is_err());
    }

    /// A JPEG of 16 x 16 pixels with colours of 8 x 8, from the components and the bits of each scan. A difference of 32 to 63 is
    /// `10` with its six bits; none, and the end of a block, are `0`.
    fn jpeg(frame: u8, scans: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
        bytes.extend([16; 64]);
        bytes.extend([0xff, frame, 0, 17, 8, 0, 16, 0, 16, 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]);
        bytes.extend([0xff, 0xc4, 0, 21, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6]);
        bytes.extend([0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for (components, bits) in scans {
            let count = components.len() as u8;
            bytes.extend([0xff, 0xda, 0, 6 + 2 * count, count]);
            bytes.extend(components.iter().flat_map(|component| [*component, 0]));
            // A progressive picture may end after the mean of each block.
            bytes.extend([0, if frame == 0xc2 { 0 } else { 63 }, 0]);
            bytes.extend(*bits);
        }
        bytes.extend([0xff, 0xd9]);
        bytes
    }

    /// Pillow reads the same pixels from the files that are refused.
    #[test]
    fn a_jpeg_with_a_scan_for_each_colour_is_read_right_or_refused() {
        let together: [(&[u8], &[u8]); 1] = [(&[1, 2, 3], &[0xa8, 0x4b, 0x82, 0x5c, 0x7f])];
        let pixels = decode(&jpeg(0xc0, &together)).unwrap().pixels;
        let (first, last) = (&pixels[..3], &pixels[pixels.len() - 3..]);
        assert!(first.iter().zip([208, 236, 66]).all(|(a, b)| a.abs_diff(b) <= 2), "{first:?}");
        assert!(last.iter().zip([128, 156, 0]).all(|(a, b)| a.abs_diff(b) <= 2), "{last:?}");
        let progressive: [(&[u8], &[u8]); 3] =
            [(&[1], &[0xa8, 0x97, 0x3f]), (&[2], &[0x97]), (&[3], &[0x7f])];
        assert_eq!(decode(&jpeg(0xc2, &progressive)).unwrap().pixels, pixels);
        let each: [(&[u8], &[u8]); 3] = [(&[1], &[0xa8, 0x4b, 0x83]), (&[2], &[0x97, 0x7f]), (&[3], &[0x3f])];
        let grey_first: [(&[u8], &[u8]); 2] = [(&[1], &[0xa8, 0x4b, 0x83]), (&[2, 3], &[0x97, 0x1f])];
        for file in [jpeg(0xc0, &each), jpeg(0xc1, &each), jpeg(0xc0, &grey_first)] {
            let error = decode(&file).unwrap_err().to_string();
            assert!(error.contains("separate scans") && error.contains("save it anew"), "{error}");
        }
    }
}
