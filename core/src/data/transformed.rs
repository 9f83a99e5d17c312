//! Images that are transformed each time that they are read: resized, or cropped to the middle of the picture that was squeezed into
//! a square.

use std::sync::Arc;

use simile_kernels::cpu::parallel;

use super::image_set::{ImageFile, ImageSet, ImageSource};
use super::resize::{Interpolation, resize};
use super::{DatasetError, ImageShape, Images, Result};

impl ImageSet {
    /// The images resized to `height` x `width`: at once if they lie in memory, else each time that they are read.
    ///
    /// # Errors
    /// As [`resize`].
    pub fn resized(&self, height: usize, width: usize, interpolation: Interpolation) -> Result<Self> {
        if (height, width) == (self.height(), self.width()) {
            return Ok(self.clone());
        }
        let resized = if self.is_in_memory() {
            Self::from(resize(&*self.in_memory()?, height, width, interpolation)?)
        } else {
            Self::new(Arc::new(Transformed::resized(self.clone(), height, width, interpolation)))?
        };
        Ok(resized.derived_from(self))
    }

    /// The same images with the stretch of each, its aspect ratio relative to the image; see [`ImageSource::stretches`].
    ///
    /// # Errors
    /// [`DatasetError::Count`] if there is not one an image.
    pub fn stretched(&self, stretches: Vec<f32>) -> Result<Self> {
        if stretches.len() != self.len() {
            let (expected, found) = (self.len(), stretches.len());
            return Err(DatasetError::Count { what: "aspect ratios".into(), expected, found });
        }
        Self::new(Arc::new(Transformed::stretched(self.clone(), stretches)))
    }

    /// The images as an evaluation reads them. If pictures of other shapes are squeezed into the images: the middle of each picture,
    /// in its own aspect ratio, unless the set is [`evaluated_squeezed`](Self::evaluated_squeezed). Else the images as they are.
    ///
    /// # Errors
    /// The set is too large.
    pub fn for_evaluation(&self) -> Result<Self> {
        if !self.is_cropped_for_evaluation() {
            return Ok(self.clone());
        }
        Self::new(Arc::new(Transformed::middles(self.clone())))
    }
}

/// Images that are transformed when they are read.
#[derive(Debug)]
struct Transformed {
    images: ImageSet,
    shape: ImageShape,
    transform: Option<Transform>,
    stretches: Option<Vec<f32>>,
}

/// The transform of a read.
#[derive(Debug)]
enum Transform {
    /// Resizes.
    Resize(Interpolation),
    /// Crops to the middle of each picture.
    Middle,
}

impl Transformed {
    /// Images in another size; a picture that is squeezed into one stays so.
    fn resized(images: ImageSet, height: usize, width: usize, by: Interpolation) -> Self {
        let shape = ImageShape { height, width, channels: images.channels() };
        let stretches = images.stretches(&(0..images.len()).collect::<Vec<_>>());
        let stretches = stretches.map(|all| all.into_iter().map(|stretch| stretch as f32).collect());
        Self { images, shape, transform: Some(Transform::Resize(by)), stretches }
    }

    /// Images with the stretch of each, their pixels as they are.
    fn stretched(images: ImageSet, stretches: Vec<f32>) -> Self {
        let shape = images.shape();
        Self { images, shape, transform: None, stretches: Some(stretches) }
    }

    /// The middles of the pictures that are squeezed into images.
    fn middles(images: ImageSet) -> Self {
        let shape = images.shape();
        Self { images, shape, transform: Some(Transform::Middle), stretches: None }
    }

    /// The middle of the picture that is squeezed into an image.
    fn middle(image: &Images, stretch: f64) -> Result<Images> {
        let ImageShape { height, width, .. } = image.shape();
        let high = ((height as f64 * stretch).round() as usize).clamp(1, height);
        let wide = ((width as f64 / stretch).round() as usize).clamp(1, width);
        let (top, left) = ((height - high) / 2, (width - wide) / 2);
        let middle = image.rectangle((top, left), (high, wide))?;
        resize(&middle, height, width, Interpolation::Bilinear)
    }
}

impl ImageSource for Transformed {
    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn count(&self) -> usize {
        self.images.len()
    }

    fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<()> {
        let indices: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
        let images = self.images.read(&indices)?;
        let ImageShape { height, width, channels } = self.shape;
        let changed = match self.transform {
            None => images,
            Some(Transform::Resize(interpolation)) => resize(&images, height, width, interpolation)?,
            Some(Transform::Middle) => {
                let stretches = self.images.stretches(&indices).unwrap_or_default();
                let middle = |(image, stretch): (&[u8], f64)| -> Result<Vec<u8>> {
                    let image = Images::new(height, width, channels, image.to_vec())?;
                    Ok(Self::middle(&image, stretch)?.pixels)
                };
                let middles = parallel::map(images.iter().zip(stretches), middle);
                let middles = middles.into_iter().collect::<Result<Vec<Vec<u8>>>>()?;
                Images::new(height, width, channels, middles.concat())?
            }
        };
        if changed.pixels.len() != pixels.len() {
            let (origin, record) = ("images".into(), self.shape.bytes());
            return Err(DatasetError::Records { origin, record, found: changed.pixels.len() });
        }
        pixels.copy_from_slice(&changed.pixels);
        Ok(())
    }

    fn stretches(&self) -> Option<&[f32]> {
        self.stretches.as_deref()
    }

    fn file(&self, number: u32) -> Option<ImageFile> {
        self.images.file(number as usize)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_squeezed_picture_is_a_square_of_it() {
        // Pictures of 4 x 8 and 8 x 4 pixels whose values are their columns, squeezed into 4 x 4.
        let wide = Images::new(4, 8, 1, [0, 10, 20, 30, 40, 50, 60, 70].repeat(4)).unwrap();
        let squeezed = resize(&wide, 4, 4, Interpolation::Bilinear).unwrap();
        let high = Images::new(4, 4, 1, [0, 10, 20, 30].repeat(4)).unwrap();
        let both = Images::new(4, 4, 1, [squeezed.pixels.clone(), high.pixels.clone()].concat()).unwrap();
        let set = ImageSet::from(both).stretched(vec![2.0, 0.5]).unwrap();
        assert_eq!(set.stretches(&[1, 0]), Some(vec![0.5, 2.0]));
        assert_eq!(set.select(&[1]).stretches(&[0]), Some(vec![0.5]));
        let squeezed_ones = set.clone().evaluated_squeezed().select(&[1, 0]);
        assert_eq!(squeezed_ones.stretches(&[0, 1]), Some(vec![0.5, 2.0]), "crops have their shapes");
        let whole = squeezed_ones.for_evaluation().unwrap();
        assert_eq!(whole.read(&[0, 1]).unwrap(), squeezed_ones.read(&[0, 1]).unwrap());
        let smaller = squeezed_ones.resized(2, 2, Interpolation::Bilinear).unwrap();
        assert_eq!(smaller.for_evaluation().unwrap().read(&[0]).unwrap(), smaller.read(&[0]).unwrap());
        let upright = set.select(&[1, 0]).for_evaluation().unwrap();
        assert_eq!(upright.stretches(&[0]), None);
        let upright = upright.read(&[0, 1]).unwrap();
        // Rows are the same, so that the middle rows of the high picture are too.
        assert_eq!(upright.image(0), high.pixels);
        let middle = resize(
            &Images::new(
                4,
                2,
                1,
                squeezed.pixels.chunks_exact(4).flat_map(|row| row[1..3].to_vec()).collect(),
            )
            .unwrap(),
            4,
            4,
            Interpolation::Bilinear,
        );
        assert_eq!(upright.image(1), middle.unwrap().pixels);
        assert!(set.stretched(vec![1.0]).is_err());
    }
}
