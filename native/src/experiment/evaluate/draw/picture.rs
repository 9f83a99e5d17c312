//! Pixels of the report: contact sheets of samples and heat maps, as PNG data URIs.

use std::io::Cursor;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, RgbImage};
use plotters::style::colors::colormaps::{ColorMap as _, ViridisRGB};
use simile_core::data::Images;
use simile_core::data::formats::picture::to_jpeg;
use simile_core::numeric::matrix::Matrix;

use crate::run_folder::figures::HeatMap;

/// Images side by side, `columns` in a row, as one PNG.
///
/// # Errors
/// If the PNG cannot be encoded.
pub(crate) fn contact_sheet(images: &Images, columns: usize) -> Result<String> {
    data_uri(&sheet(images, columns))
}

/// The same as PNG or JPEG, whichever is smaller: photographs are large as PNG, and drawings as JPEG.
///
/// # Errors
/// If neither can be encoded.
pub(crate) fn small_sheet(images: &Images, columns: usize) -> Result<String> {
    let sheet = sheet(images, columns);
    let png = data_uri(&sheet)?;
    let bytes = to_jpeg(&sheet, QUALITY).context("encoding a picture of the report")?;
    let jpeg = format!("data:image/jpeg;base64,{}", STANDARD.encode(bytes));
    Ok(if jpeg.len() < png.len() { jpeg } else { png })
}

/// Quality of a JPEG, 1 to 100.
const QUALITY: u8 = 85;

fn sheet(images: &Images, columns: usize) -> RgbImage {
    let (height, width) = (images.height, images.width);
    let rows = images.len().div_ceil(columns.max(1));
    let mut sheet = RgbImage::new((columns * width) as u32, (rows * height) as u32);
    let colours: &mut [u8] = &mut sheet;
    let size = height * width * images.channels;
    for (index, picture) in images.pixels.chunks_exact(size.max(1)).enumerate() {
        let (left, top) = (index % columns * width, index / columns * height);
        for (y, row) in picture.chunks_exact(width * images.channels).enumerate() {
            let start = 3 * ((top + y) * columns * width + left);
            let shown = &mut colours[start..start + 3 * width];
            if images.channels == 3 {
                shown.copy_from_slice(row);
                continue;
            }
            for (colour, pixel) in shown.chunks_exact_mut(3).zip(row.chunks_exact(images.channels)) {
                match *pixel {
                    [r, g, b, ..] => colour.copy_from_slice(&[r, g, b]),
                    [grey, ..] => colour.fill(grey),
                    [] => {}
                }
            }
        }
    }
    sheet
}

/// A square matrix as a picture of one pixel an entry, smallest value dark, largest light. The diagonal, where a
/// kernel has its largest values, is left out of the scale and drawn at its end.
///
/// # Errors
/// If the PNG cannot be encoded.
pub(crate) fn heat_map(matrix: &Matrix) -> Result<HeatMap> {
    let side = matrix.columns();
    let shown = || {
        let entries = matrix.data().iter().copied().enumerate();
        entries.filter(|(at, value)| at / side != at % side && value.is_finite()).map(|(_, value)| value)
    };
    let low = shown().fold(f64::INFINITY, f64::min);
    let high = shown().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
    let mut picture = RgbImage::new(side as u32, matrix.rows() as u32);
    for (pixel, &value) in picture.pixels_mut().zip(matrix.data()) {
        let height = ((value - low) / (high - low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let colour = ViridisRGB.get_color(if height.is_finite() { height as f32 } else { 0.0 });
        *pixel = image::Rgb([colour.0, colour.1, colour.2]);
    }
    Ok(HeatMap { picture: data_uri(&picture)?, low, high })
}

/// A strip of one pixel a colour.
///
/// # Errors
/// If the PNG cannot be encoded.
pub(crate) fn strip(colours: &[[u8; 3]]) -> Result<String> {
    let mut picture = RgbImage::new(colours.len() as u32, 1);
    for (pixel, &colour) in picture.pixels_mut().zip(colours) {
        *pixel = image::Rgb(colour);
    }
    data_uri(&picture)
}

fn data_uri(picture: &RgbImage) -> Result<String> {
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, ImageFormat::Png).context("encoding a picture of the report")?;
    Ok(format!("data:image/png;base64,{}", STANDARD.encode(png.into_inner())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn decode(uri: &str) -> RgbImage {
        let bytes = STANDARD.decode(uri.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        image::load_from_memory(&bytes).unwrap().to_rgb8()
    }

    #[test]
    fn a_contact_sheet_keeps_every_pixel_in_its_place() {
        let pixels = (0..3 * 2 * 2 * 3).map(|value| value as u8 * 5).collect();
        let images = Images { height: 2, width: 2, channels: 3, pixels };
        let sheet = decode(&contact_sheet(&images, 2).unwrap());
        assert_eq!(sheet.dimensions(), (4, 4));
        assert_eq!(sheet.get_pixel(0, 0).0, [0, 5, 10]);
        assert_eq!(sheet.get_pixel(2, 0).0, [60, 65, 70], "second image, right of the first");
        assert_eq!(sheet.get_pixel(1, 3).0, [165, 170, 175], "third image, in the second row");
    }

    #[test]
    fn a_contact_sheet_of_one_channel_is_grey() {
        let images = Images {
            height: 2,
            width: 3,
            channels: 1,
            pixels: (0..2 * 2 * 3).map(|value| value * 20).collect(),
        };
        let sheet = decode(&contact_sheet(&images, 2).unwrap());
        assert_eq!(sheet.dimensions(), (6, 2));
        assert_eq!(sheet.get_pixel(1, 1).0, [80; 3]);
        assert_eq!(sheet.get_pixel(5, 1).0, [220; 3], "second image, right of the first");
    }

    #[test]
    fn a_small_sheet_takes_the_smaller_format() {
        let of = |pixel: fn(usize) -> u8| {
            let images =
                Images { height: 48, width: 48, channels: 3, pixels: (0..48 * 48 * 3).map(pixel).collect() };
            small_sheet(&images, 1).unwrap()
        };
        assert!(of(|_| 7).starts_with("data:image/png"));
        assert!(of(|i| (i * i % 251) as u8).starts_with("data:image/jpeg"));
    }

    #[test]
    fn a_heat_map_leaves_the_diagonal_out_of_its_scale() {
        let matrix = Matrix::new(2, 2, vec![100.0, -1.0, 3.0, f64::NAN]).unwrap();
        let map = heat_map(&matrix).unwrap();
        assert_eq!((map.low, map.high), (-1.0, 3.0));
        let picture = decode(&map.picture);
        let light = |x: u32, y: u32| picture.get_pixel(x, y).0.iter().map(|&v| u32::from(v)).sum::<u32>();
        assert!(light(0, 1) > light(1, 0), "a larger entry is lighter");
        assert_eq!(
            picture.get_pixel(0, 0),
            picture.get_pixel(0, 1),
            "the diagonal is drawn at the end of the scale"
        );
        assert_eq!(
            picture.get_pixel(1, 1),
            picture.get_pixel(1, 0),
            "an entry that is not finite is drawn as the smallest"
        );
    }
}
