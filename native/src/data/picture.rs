//! One picture file of any size, fitted to an encoder's input.

use std::path::Path;

use image::{DynamicImage, ImageReader};
use simile_core::dataset::Images;
use simile_core::preprocess::{fit, squeeze};

use super::pictures::Framing;
use super::settings::Fit;
use super::{DataError, Result};

/// Reads a picture and fits it as the page does, so that the same file gives the same numbers. Its content says its
/// format: published data sets have a PNG or two under a JPEG's name.
///
/// # Errors
/// [`DataError::Image`] if the file cannot be read or is no picture.
pub(crate) fn read_picture(path: &Path, framing: Framing) -> Result<Images> {
    let failed = |source: image::ImageError| DataError::Image { path: path.into(), source };
    let reader = ImageReader::open(path).and_then(ImageReader::with_guessed_format);
    let picture = reader.map_err(|error| failed(error.into()))?.decode().map_err(failed)?;
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
