//! One picture file of any size, fitted to an encoder's input.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use image::ImageError;
use simile_core::augment::preprocess::{fit, squeeze};
use simile_core::data::Images;
use simile_core::data::formats::picture::{self, PictureError, decode};

use super::resize::ResizeSpec;
use super::writer::{Decoded, Fault};
use crate::data::error::{DataError, Result};
use crate::data::keys::values::Fit;

/// Reads a picture and fits it as the page does, so that the same file gives the same numbers. The format is detected
/// from the content: some PNG files in published data sets have the name of a JPEG.
///
/// # Errors
/// [`DataError::Read`] if the file cannot be read, [`DataError::Image`] if it is missing or not a picture, [`DataError::Unreadable`] if
/// it has more pixels than are decoded.
pub(crate) fn read_picture(path: &Path, spec: ResizeSpec) -> Result<Images> {
    fitted(&original(path)?, spec)
}

/// A picture in its own size.
///
/// # Errors
/// [`DataError::Read`] if there is a file and it cannot be read, which may be over the next time; otherwise as [`read_picture`].
fn original(path: &Path) -> Result<Images> {
    let failed = |source: ImageError| DataError::Image { path: path.into(), source };
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => failed(error.into()),
        _ => DataError::Read { path: path.into(), source: error },
    })?;
    decode(&bytes).map_err(|error| match error {
        PictureError::Image(source) => failed(source),
        PictureError::Empty(source) => source.into(),
        PictureError::Large { .. } => DataError::Unreadable { path: path.into(), reason: error.to_string() },
    })
}

fn fitted(picture: &Images, spec: ResizeSpec) -> Result<Images> {
    let ResizeSpec { side, channels, .. } = spec;
    Ok(match spec.fit {
        Fit::Middle => fit(picture, side, side, channels)?,
        Fit::Whole | Fit::Aspect | Fit::Crops => squeeze(picture, side, side, channels)?,
    })
}

/// Reads a picture into its place among others; gives its stretch, 1 where it is not squeezed or that is of no concern.
///
/// # Errors
/// The reason for which it cannot be read, without the name of the file.
pub(super) fn read_into(path: &Path, spec: ResizeSpec, pixels: &mut [u8]) -> Decoded {
    // A panic of a decoder affects only its own picture.
    let read = catch_unwind(AssertUnwindSafe(|| {
        let original = original(path)?;
        Ok((fitted(&original, spec)?, spec.stretch(original.height, original.width)))
    }));
    let read = read.map_err(|_| Fault::Broken("its decoder failed".into()))?;
    let (picture, stretch) = read.map_err(|error: DataError| match error {
        DataError::Read { source, .. } => Fault::Unread(source.to_string()),
        DataError::Image { source, .. } => Fault::Broken(source.to_string()),
        DataError::Unreadable { reason, .. } => Fault::Broken(reason),
        error => Fault::Broken(error.to_string()),
    })?;
    if picture.pixels.len() != pixels.len() {
        return Err(Fault::Broken("it has another size than asked for".into()));
    }
    pixels.copy_from_slice(&picture.pixels);
    Ok(stretch)
}

/// The least and the largest value of a picture file with 16 bits a value; none of any other, and of one that cannot be read.
pub(in crate::data) fn range_of_16_bits(path: &Path) -> Option<(u16, u16)> {
    let bytes = std::fs::read(path).ok()?;
    // A panic of a decoder affects only its own picture.
    catch_unwind(|| picture::range_of_16_bits(&bytes)).ok().flatten()
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

    /// A PNG whose header announces grey pixels, but which has none.
    fn announced(width: u32, height: u32) -> Vec<u8> {
        let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
        [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &head), chunk(b"IDAT", &[]), chunk(b"IEND", &[])]
            .concat()
    }

    #[test]
    fn a_palette_of_half_a_colour_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("icon.png");
        let head = [&2_u32.to_be_bytes()[..], &2_u32.to_be_bytes(), &[8, 3, 0, 0, 0]].concat();
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &[0; 6]).unwrap();
        let pixels = packed.finish().unwrap();
        let picture = |palette: &[u8]| {
            let parts = [
                chunk(b"IHDR", &head),
                chunk(b"PLTE", palette),
                chunk(b"IDAT", &pixels),
                chunk(b"IEND", &[]),
            ];
            std::fs::write(&path, [b"\x89PNG\r\n\x1a\n".to_vec(), parts.concat()].concat()).unwrap();
            read_picture(&path, ResizeSpec { side: 2, channels: 3, fit: Fit::Middle })
        };
        assert_eq!(picture(&[1, 2, 3]).unwrap().pixels[..3], [1, 2, 3]);
        for palette in [&[1, 2][..], &[1, 2, 3, 4]] {
            let text = format!("{:#}", anyhow::Error::from(picture(palette).unwrap_err()));
            assert!(text.contains("icon.png") && text.contains("palette"), "{text}");
        }
    }

    /// A photograph of these sides as JPEG.
    fn photograph(width: u32, height: u32) -> Vec<u8> {
        let picture = image::RgbImage::from_fn(width, height, |x, y| {
            image::Rgb([(x * 7 + y * y) as u8, (x * y) as u8, (x * x + 3 * y) as u8])
        });
        let mut bytes = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut bytes, image::ImageFormat::Jpeg).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_jpeg_without_its_end_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("photo.jpg");
        let spec = ResizeSpec { side: 8, channels: 3, fit: Fit::Middle };
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_picture(&path, spec)
        };
        let whole = photograph(90, 60);
        let pixels = read(&whole).unwrap().pixels;
        assert_eq!(read(&[&whole[..], b"more"].concat()).unwrap().pixels, pixels);
        // A thumbnail has an end of its own.
        let thumbnail = photograph(16, 16);
        let head = [0xff, 0xe1].into_iter().chain((thumbnail.len() as u16 + 2).to_be_bytes());
        let with_thumbnail = [&whole[..2], &head.collect::<Vec<_>>(), &thumbnail, &whole[2..]].concat();
        assert_eq!(read(&with_thumbnail).unwrap().pixels, pixels);
        let cut = [
            &whole[..whole.len() / 2],
            &whole[..whole.len() - 2],
            &with_thumbnail[..with_thumbnail.len() - whole.len() / 4],
        ];
        for bytes in cut {
            let text = format!("{:#}", anyhow::Error::from(read(bytes).unwrap_err()));
            assert!(text.contains("photo.jpg") && text.contains("it is cut off"), "{text}");
        }
    }

    #[test]
    fn a_small_file_of_many_pixels_is_refused_before_it_is_decoded() {
        let place = tempfile::tempdir().unwrap();
        let spec = ResizeSpec { side: 4, channels: 3, fit: Fit::Middle };
        let path = place.path().join("scan.png");
        let complaint = |width, height| {
            std::fs::write(&path, announced(width, height)).unwrap();
            read_picture(&path, spec).unwrap_err().to_string()
        };
        let text = complaint(20_000, 20_000);
        assert!(text.contains("scan.png") && text.contains("20000x20000"), "{text}");
        assert!(text.contains("at most 67 million") && text.contains("smaller"), "{text}");
        // A picture within the limit is decoded, which then fails because it is empty.
        let text = complaint(8192, 8192);
        assert!(text.contains("scan.png") && !text.contains("million"), "{text}");
    }
}
