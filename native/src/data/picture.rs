//! One picture file of any size, fitted to an encoder's input.

use std::path::Path;

use image::DynamicImage;
use simile_core::dataset::Images;
use simile_core::preprocess::fit;

use super::{DataError, Result};

/// Reads a picture and fits it as the page does, so that the same file gives the same numbers.
///
/// # Errors
/// [`DataError::Image`] if the file cannot be read or is no picture.
pub(crate) fn read_picture(path: &Path, side: usize, channels: usize) -> Result<Images> {
    let picture = image::open(path).map_err(|source| DataError::Image { path: path.into(), source })?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (stored, pixels) = match picture {
        DynamicImage::ImageLuma8(grey) => (1, grey.into_raw()),
        DynamicImage::ImageRgb8(colour) => (3, colour.into_raw()),
        other => (4, other.into_rgba8().into_raw()),
    };
    Ok(fit(&Images::new(height, width, stored, pixels)?, side, side, channels)?)
}
