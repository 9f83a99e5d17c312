//! Images of one size in memory.

use super::{DatasetError, Result};

/// Height, width and channels of an image of 8 bits a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageShape {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Values of a pixel: 1 for grey, 3 for red, green, blue.
    pub channels: usize,
}

impl ImageShape {
    /// Bytes of an image.
    pub fn bytes(self) -> usize {
        self.height * self.width * self.channels
    }
}

/// Images of one size in memory, 8 bits a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Images {
    /// Rows of pixels of an image.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
    /// Values of a pixel: 1 for grey, 3 for red, green, blue.
    pub channels: usize,
    /// All values, row-major: `[n, height, width, channels]`.
    pub pixels: Vec<u8>,
}

impl Images {
    /// Images from their pixels, row-major `[n, height, width, channels]`.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] if a side or the number of channels is zero;
    /// [`DatasetError::Records`] if `pixels` is not a whole number of images.
    pub fn new(height: usize, width: usize, channels: usize, pixels: Vec<u8>) -> Result<Self> {
        let images = Self { height, width, channels, pixels };
        let size = images.bytes_per_image();
        if size == 0 {
            let shape = format!("{height}x{width}x{channels}");
            return Err(DatasetError::parameter("image size", shape, "every side must be at least 1"));
        }
        if !images.pixels.len().is_multiple_of(size) {
            let bytes = images.pixels.len();
            return Err(DatasetError::Records { origin: "images".into(), record: size, found: bytes });
        }
        Ok(images)
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.pixels.len().checked_div(self.bytes_per_image()).unwrap_or(0)
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Values of one image: `height * width * channels`.
    pub fn bytes_per_image(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// The values of image `i`, `[height, width, channels]`; empty if there is no such image.
    pub fn image(&self, i: usize) -> &[u8] {
        let size = self.bytes_per_image();
        self.pixels.get(i * size..(i + 1) * size).unwrap_or_default()
    }

    /// The images in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.pixels.chunks_exact(self.bytes_per_image().max(1))
    }

    /// The size of each image.
    pub fn shape(&self) -> ImageShape {
        ImageShape { height: self.height, width: self.width, channels: self.channels }
    }

    /// The pixels of a rectangle of each image, whose first pixel is at (`top`, `left`).
    ///
    /// # Errors
    /// [`DatasetError`] if the rectangle is empty or leaves the images.
    pub(crate) fn rectangle(
        &self,
        (top, left): (usize, usize),
        (height, width): (usize, usize),
    ) -> Result<Self> {
        if top.saturating_add(height) > self.height || left.saturating_add(width) > self.width {
            let rectangle = format!("{height}x{width} at ({top}, {left})");
            return Err(DatasetError::parameter("rectangle", rectangle, "it leaves the images"));
        }
        let columns = left * self.channels..(left + width) * self.channels;
        let mut pixels = Vec::with_capacity(self.len() * height * columns.len());
        for image in self.iter() {
            let rows = image.chunks_exact((self.width * self.channels).max(1)).skip(top).take(height);
            rows.for_each(|row| pixels.extend_from_slice(&row[columns.clone()]));
        }
        Self::new(height, width, self.channels, pixels)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_has_the_pixels_of_each_image() {
        let images = Images::new(2, 3, 2, (0..24).collect()).unwrap();
        let rectangle = images.rectangle((1, 1), (1, 2)).unwrap();
        assert_eq!(rectangle, Images::new(1, 2, 2, vec![8, 9, 10, 11, 20, 21, 22, 23]).unwrap());
        assert_eq!(images.rectangle((0, 0), (2, 3)).unwrap(), images);
        assert!(images.rectangle((0, 0), (0, 3)).is_err());
    }

    #[test]
    fn a_rectangle_that_leaves_the_images_is_refused() {
        let images = Images::new(2, 3, 2, (0..24).collect()).unwrap();
        for (corner, size, named) in [((0, 2), (2, 2), "2x2 at (0, 2)"), ((1, 0), (2, 3), "2x3 at (1, 0)")] {
            let error = images.rectangle(corner, size).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("leaves the images"), "{error}");
        }
    }
}
