//! From a picture of any size to the input of an encoder. `simile embed` and the page both use this code, so that
//! the same picture gives the same numbers; a picture that already has the size is left unchanged, as in training.

use std::borrow::Cow;

use crate::data::resize::{Interpolation, resize};
use crate::data::{DatasetError, Images, Result};

/// Fits one picture of 1 (grey), 3 (RGB) or 4 (RGBA, not premultiplied) channels to `height` x `width` pixels of
/// `channels` 1 or 3.
///
/// Transparent pixels become white. The middle of the picture with the aspect ratio of the input is resized with an
/// antialiased bilinear filter, as torchvision does. Colour becomes grey by ITU-R 601 luma, with Pillow's integer
/// weights.
///
/// # Errors
/// [`DatasetError::Parameter`] if there is not exactly one picture, a side is zero, or a number of channels is not
/// one of these.
pub fn fit(picture: &Images, height: usize, width: usize, channels: usize) -> Result<Images> {
    let picture = opaque(picture)?;
    let cropped = crop(&picture, height, width)?;
    sized(&cropped, height, width, channels)
}

/// One picture for an encoder that was evaluated on the middle of larger images: [`fit`] to `resize`, then the
/// middle `side`, as torchvision's `Resize` and `CenterCrop`, which resize all of the picture before they cut. Where an odd number of
/// rows or columns is cut off, [`fit`] may begin one before torchvision. Without `resize` it is [`fit`] to `side`.
///
/// # Errors
/// As [`fit`], and if `resize` is less than `side`.
pub fn fit_middle(picture: &Images, resize: Option<usize>, side: usize, channels: usize) -> Result<Images> {
    let larger = resize.unwrap_or(side);
    middle(&fit(picture, larger, larger, channels)?, side)
}

/// As [`fit_middle`], but of the whole picture: [`squeeze`] to `resize`, then the middle `side`.
///
/// # Errors
/// As [`fit_middle`].
pub fn fit_whole(picture: &Images, resize: Option<usize>, side: usize, channels: usize) -> Result<Images> {
    let larger = resize.unwrap_or(side);
    middle(&squeeze(picture, larger, larger, channels)?, side)
}

/// The middle `side` x `side` pixels of each image.
///
/// # Errors
/// [`DatasetError::Parameter`] if the images are smaller.
pub fn middle(images: &Images, side: usize) -> Result<Images> {
    let Images { height, width, .. } = *images;
    if (height, width) == (side, side) {
        return Ok(images.clone());
    }
    if side == 0 || height < side || width < side {
        let size = format!("{height}x{width}");
        return Err(DatasetError::parameter("size", size, &format!("its middle {side}x{side} is asked for")));
    }
    // A half is rounded to the even number, as in Python.
    let start = |length: usize| ((length - side) as f64 / 2.0).round_ties_even() as usize;
    images.rectangle((start(height), start(width)), (side, side))
}

/// As [`fit`], but of the whole picture, ignoring its aspect ratio: Pillow's `resize((width, height))`.
///
/// # Errors
/// As [`fit`].
pub fn squeeze(picture: &Images, height: usize, width: usize, channels: usize) -> Result<Images> {
    let picture = opaque(picture)?;
    sized(&picture, height, width, channels)
}

fn opaque(picture: &Images) -> Result<Cow<'_, Images>> {
    if picture.len() != 1 {
        return Err(DatasetError::parameter("pictures", picture.len(), "expected one at a time"));
    }
    match picture.channels {
        1 | 3 => Ok(Cow::Borrowed(picture)),
        4 => over_white(picture).map(Cow::Owned),
        other => Err(DatasetError::parameter("channels of the picture", other, "expected 1, 3 or 4")),
    }
}

fn sized(picture: &Images, height: usize, width: usize, channels: usize) -> Result<Images> {
    let resized = resize(picture, height, width, Interpolation::Bilinear)?;
    match (resized.channels, channels) {
        (from, to) if from == to => Ok(resized),
        (1, 3) => {
            let pixels = resized.pixels.iter().flat_map(|&grey| [grey; 3]).collect();
            Images::new(height, width, 3, pixels)
        }
        (3, 1) => Images::new(height, width, 1, resized.pixels.chunks_exact(3).map(luma).collect()),
        (_, other) => {
            Err(DatasetError::parameter("channels of the encoder", other, "expected 1 or 3 for a picture"))
        }
    }
}

fn over_white(picture: &Images) -> Result<Images> {
    let blend = |value: u8, alpha: u8| {
        let (value, alpha) = (u32::from(value), u32::from(alpha));
        ((value * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    let pixels =
        picture.pixels.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, a]| [r, g, b].map(|v| blend(v, a)));
    Images::new(picture.height, picture.width, 3, pixels.collect())
}

/// The largest central part that has the aspect ratio of `height` x `width`.
fn crop(picture: &Images, height: usize, width: usize) -> Result<Cow<'_, Images>> {
    if height == 0 || width == 0 {
        return Err(DatasetError::parameter(
            "size",
            format!("{height}x{width}"),
            "every side must be at least 1",
        ));
    }
    let wide = (picture.height * width / height).clamp(1, picture.width);
    let high = (picture.width * height / width).clamp(1, picture.height);
    if (high, wide) == (picture.height, picture.width) {
        return Ok(Cow::Borrowed(picture));
    }
    let (top, left) = ((picture.height - high) / 2, (picture.width - wide) / 2);
    picture.rectangle((top, left), (high, wide)).map(Cow::Owned)
}

fn luma(pixel: &[u8]) -> u8 {
    let weighted: u32 =
        pixel.iter().zip([19595, 38470, 7471]).map(|(&value, weight)| u32::from(value) * weight).sum();
    ((weighted + 0x8000) >> 16) as u8
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_the_right_size_is_left_as_it_is() {
        let picture = Images::new(4, 4, 3, (0..48).collect()).unwrap();
        assert_eq!(fit(&picture, 4, 4, 3).unwrap(), picture);
        let opaque = picture.pixels.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect();
        assert_eq!(fit(&Images::new(4, 4, 4, opaque).unwrap(), 4, 4, 3).unwrap(), picture);
    }

    #[test]
    fn the_middle_of_a_wide_or_high_picture_is_taken() {
        // Columns 0..6 of one line; the middle two are 2 and 3.
        let wide = Images::new(2, 6, 1, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5].to_vec()).unwrap();
        assert_eq!(fit(&wide, 2, 2, 1).unwrap().pixels, [2, 3, 2, 3]);
        let high = Images::new(6, 2, 1, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5].to_vec()).unwrap();
        assert_eq!(fit(&high, 2, 2, 1).unwrap().pixels, [2, 2, 3, 3]);
    }

    #[test]
    fn all_of_a_wide_picture_can_be_taken() {
        let wide = Images::new(1, 4, 1, vec![0, 10, 20, 30]).unwrap();
        let squeezed = squeeze(&wide, 1, 2, 1).unwrap();
        assert_eq!(squeezed, resize(&wide, 1, 2, Interpolation::Bilinear).unwrap());
        assert_ne!(squeezed, fit(&wide, 1, 2, 1).unwrap());
        assert!(squeeze(&wide, 0, 2, 1).is_err());
        let whole = fit_whole(&wide, Some(3), 1, 1).unwrap();
        assert_eq!(whole, middle(&squeeze(&wide, 3, 3, 1).unwrap(), 1).unwrap());
    }

    #[test]
    fn the_middle_of_a_larger_image_is_left() {
        let images = Images::new(4, 4, 1, (0..32).collect()).unwrap();
        assert_eq!(middle(&images, 2).unwrap().pixels, [5, 6, 9, 10, 21, 22, 25, 26]);
        assert_eq!(middle(&images, 4).unwrap(), images);
        // torchvision.transforms.functional.center_crop of 5 x 5 to 2 x 2 begins at round(1.5) = 2.
        let odd = Images::new(5, 5, 1, (0..25).collect()).unwrap();
        assert_eq!(middle(&odd, 2).unwrap().pixels, [12, 13, 17, 18]);
        assert!(middle(&odd, 6).unwrap_err().to_string().contains("6x6"));
        let picture = Images::new(8, 8, 3, (0..192).collect()).unwrap();
        let expected = middle(&fit(&picture, 6, 6, 3).unwrap(), 4).unwrap();
        assert_eq!(fit_middle(&picture, Some(6), 4, 3).unwrap(), expected);
        assert_eq!(fit_middle(&picture, None, 4, 3).unwrap(), fit(&picture, 4, 4, 3).unwrap());
    }

    #[test]
    fn transparency_shows_white() {
        let picture = Images::new(1, 2, 4, vec![9, 9, 9, 0, 100, 200, 0, 128]).unwrap();
        // 100 * 128/255 + 127 = 177.2
        assert_eq!(fit(&picture, 1, 2, 3).unwrap().pixels, [255, 255, 255, 177, 227, 127]);
    }

    #[test]
    fn colours_become_grey_as_in_pillow() {
        /* Equivalent python: Image.fromarray(np.uint8([[[10, 20, 30], [255, 0, 0], [0, 255, 0]]])).convert("L") */
        let picture = Images::new(1, 3, 3, vec![10, 20, 30, 255, 0, 0, 0, 255, 0]).unwrap();
        assert_eq!(fit(&picture, 1, 3, 1).unwrap().pixels, [18, 76, 150]);
        let grey = Images::new(1, 1, 1, vec![7]).unwrap();
        assert_eq!(fit(&grey, 1, 1, 3).unwrap().pixels, [7, 7, 7]);
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let pair = Images::new(1, 1, 3, vec![0; 6]).unwrap();
        assert!(fit(&pair, 1, 1, 3).unwrap_err().to_string().contains("pictures"));
        let odd = Images::new(1, 1, 2, vec![0; 2]).unwrap();
        assert!(fit(&odd, 1, 1, 3).unwrap_err().to_string().contains("channels"));
        assert!(fit(&Images::new(1, 1, 3, vec![0; 3]).unwrap(), 0, 1, 3).is_err());
    }
}
