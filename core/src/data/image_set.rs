//! The images of a data set, which need not lie in memory: a selection of those of a source.

use std::fmt::Debug;
use std::sync::Arc;

use super::{DatasetError, ImageShape, Images, Result};

/// A file that holds an image and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    /// Its path.
    pub path: String,
    /// Its size, 0 if that is not known.
    pub bytes: u64,
}

/// Images of one size that are read by their numbers, such as the records of a file.
pub trait ImageSource: Debug + Send + Sync {
    /// The size of each image.
    fn shape(&self) -> ImageShape;

    /// Number of images.
    fn count(&self) -> usize;

    /// Reads the images `numbers`, one after the other, each row-major `[height, width, channels]`, into `pixels`, which
    /// has room for exactly as many.
    ///
    /// # Errors
    /// [`DatasetError::Unreadable`] if an image cannot be read.
    fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<()>;

    /// The stretch of each image, if pictures of other shapes are squeezed into the images: the aspect ratio (width over height) of
    /// the picture, divided by that of the image.
    fn stretches(&self) -> Option<&[f32]> {
        None
    }

    /// The file that an image was read from, if it was a file of its own.
    fn file(&self, _number: u32) -> Option<ImageFile> {
        None
    }
}

/// Images of one size, in memory or in another [`ImageSource`]. Subsets are lists of numbers: they share the source, and no
/// pixel is copied until a batch is read.
#[derive(Debug, Clone)]
pub struct ImageSet {
    source: Source,
    /// The images of the source, in order; `None` for all of them.
    selected: Option<Arc<[u32]>>,
    /// The file of each image of the source, where the source does not know it.
    files: Option<Arc<[ImageFile]>>,
    /// True if an evaluation reads squeezed pictures as they are.
    evaluated_squeezed: bool,
}

#[derive(Debug, Clone)]
enum Source {
    Memory(Arc<Images>),
    Elsewhere(Arc<dyn ImageSource>),
}

impl Source {
    fn shape(&self) -> ImageShape {
        match self {
            Self::Memory(images) => images.shape(),
            Self::Elsewhere(source) => source.shape(),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Memory(images) => images.len(),
            Self::Elsewhere(source) => source.count(),
        }
    }
}

impl From<Images> for ImageSet {
    fn from(images: Images) -> Self {
        Self {
            source: Source::Memory(Arc::new(images)),
            selected: None,
            files: None,
            evaluated_squeezed: false,
        }
    }
}

impl Default for ImageSet {
    fn default() -> Self {
        Images::default().into()
    }
}

/// Images in memory are compared by their pixels. Others are equal if they are the same images of one source.
impl PartialEq for ImageSet {
    fn eq(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (Source::Memory(own), Source::Memory(others)) => {
                let image = |images: &ImageSet, at| images.number(at).map(|number| number as usize);
                self.shape() == other.shape()
                    && self.len() == other.len()
                    && (0..self.len()).all(|at| {
                        image(self, at).map(|i| own.image(i)) == image(other, at).map(|i| others.image(i))
                    })
            }
            (Source::Elsewhere(own), Source::Elsewhere(others)) => {
                std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(others)) && self.selected == other.selected
            }
            _ => false,
        }
    }
}

impl ImageSet {
    /// All images of a source.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] for more than 2³² images.
    pub fn new(source: Arc<dyn ImageSource>) -> Result<Self> {
        let count = source.count();
        if u32::try_from(count).is_err() {
            return Err(DatasetError::parameter("images", count, "expected at most 2^32"));
        }
        Ok(Self { source: Source::Elsewhere(source), selected: None, files: None, evaluated_squeezed: false })
    }

    /// The size of each image.
    pub fn shape(&self) -> ImageShape {
        self.source.shape()
    }

    /// Rows of pixels of an image.
    pub fn height(&self) -> usize {
        self.shape().height
    }

    /// Pixels of a row.
    pub fn width(&self) -> usize {
        self.shape().width
    }

    /// Values of a pixel: 1 for grey, 3 for red, green, blue.
    pub fn channels(&self) -> usize {
        self.shape().channels
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.selected.as_ref().map_or_else(|| self.source.count(), |numbers| numbers.len())
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all images.
    pub fn bytes(&self) -> u64 {
        self.len() as u64 * self.shape().bytes() as u64
    }

    /// The images named by `indices`, in that order; indices past the end are left out. No pixel is copied.
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        let numbers = indices.iter().filter_map(|&at| self.number(at)).collect();
        Self { selected: Some(numbers), ..self.clone() }
    }

    /// The images named by `indices`, in that order, read into memory.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] for an index past the end, [`DatasetError::Unreadable`] if one cannot be read.
    pub fn read(&self, indices: &[usize]) -> Result<Images> {
        let range = || format!("expected an index below {}", self.len());
        let number =
            |&at: &usize| self.number(at).ok_or_else(|| DatasetError::parameter("image", at, &range()));
        self.read_numbers(&indices.iter().map(number).collect::<Result<Vec<u32>>>()?)
    }

    /// All images in memory. Images that lie there already are shared, unless they are a selection.
    ///
    /// # Errors
    /// [`DatasetError::Unreadable`] if one cannot be read.
    pub fn in_memory(&self) -> Result<Arc<Images>> {
        match (&self.source, &self.selected) {
            (Source::Memory(images), None) => Ok(Arc::clone(images)),
            (_, Some(numbers)) => self.read_numbers(numbers).map(Arc::new),
            (_, None) => self.read(&(0..self.len()).collect::<Vec<_>>()).map(Arc::new),
        }
    }

    /// True if the images lie in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.source, Source::Memory(_))
    }

    /// True if pictures of other shapes are squeezed into the images, and an evaluation reads their middles.
    pub(super) fn is_cropped_for_evaluation(&self) -> bool {
        let Source::Elsewhere(source) = &self.source else { return false };
        source.stretches().is_some() && !self.evaluated_squeezed
    }

    /// These images, derived from those of another set in their order: with its files if they lie in memory, and evaluated alike.
    pub(super) fn derived_from(self, other: &Self) -> Self {
        let files = if self.is_in_memory() { other.files_in_order() } else { self.files };
        Self { files, evaluated_squeezed: other.evaluated_squeezed, ..self }
    }

    /// The stretches of the images `indices`, if pictures of other shapes are squeezed into the images.
    pub fn stretches(&self, indices: &[usize]) -> Option<Vec<f64>> {
        let Source::Elsewhere(source) = &self.source else { return None };
        let stretches = source.stretches()?;
        let of_image = |&at: &usize| stretches.get(self.number(at)? as usize).copied();
        Some(indices.iter().map(|at| of_image(at).map_or(1.0, f64::from)).collect())
    }

    /// The same images, which an evaluation reads squeezed, as they are: stretches are for random crops alone.
    #[must_use]
    pub fn evaluated_squeezed(self) -> Self {
        Self { evaluated_squeezed: true, ..self }
    }

    /// The same images with the file of each, for images in memory that were files.
    ///
    /// # Errors
    /// [`DatasetError::Count`] if there is not one an image.
    pub fn with_files(self, files: Vec<ImageFile>) -> Result<Self> {
        if files.len() != self.source.count() {
            let (expected, found) = (self.source.count(), files.len());
            return Err(DatasetError::Count { what: "files".into(), expected, found });
        }
        Ok(Self { files: Some(files.into()), ..self })
    }

    /// The file of image `at`, if it was a file of its own.
    pub fn file(&self, at: usize) -> Option<ImageFile> {
        let number = self.number(at)?;
        match (&self.files, &self.source) {
            (Some(files), _) => files.get(number as usize).cloned(),
            (None, Source::Elsewhere(source)) => source.file(number),
            (None, Source::Memory(_)) => None,
        }
    }

    /// The files in the order of the images, where the source does not know them.
    fn files_in_order(&self) -> Option<Arc<[ImageFile]>> {
        let files = self.files.as_ref()?;
        match &self.selected {
            None => Some(Arc::clone(files)),
            Some(numbers) => {
                Some(numbers.iter().filter_map(|&number| files.get(number as usize).cloned()).collect())
            }
        }
    }

    /// The number of an image in the source.
    fn number(&self, at: usize) -> Option<u32> {
        match &self.selected {
            Some(numbers) => numbers.get(at).copied(),
            None => u32::try_from(at).ok().filter(|_| at < self.source.count()),
        }
    }

    fn read_numbers(&self, numbers: &[u32]) -> Result<Images> {
        let ImageShape { height, width, channels } = self.shape();
        let size = self.shape().bytes();
        let pixels = match &self.source {
            Source::Memory(images) => {
                numbers.iter().fold(Vec::with_capacity(numbers.len() * size), |mut pixels, &number| {
                    pixels.extend_from_slice(images.image(number as usize));
                    pixels
                })
            }
            Source::Elsewhere(source) => {
                let mut pixels = vec![0; numbers.len() * size];
                source.read(numbers, &mut pixels)?;
                pixels
            }
        };
        Images::new(height, width, channels, pixels)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::resize::Interpolation;

    /// A hundred images of two pixels, whose values are their number and the one after it.
    #[derive(Debug)]
    struct Counting;

    impl ImageSource for Counting {
        fn shape(&self) -> ImageShape {
            ImageShape { height: 1, width: 2, channels: 1 }
        }

        fn count(&self) -> usize {
            100
        }

        fn read(&self, numbers: &[u32], pixels: &mut [u8]) -> Result<()> {
            for (&number, image) in numbers.iter().zip(pixels.chunks_exact_mut(2)) {
                if number == 13 {
                    return Err(DatasetError::Unreadable {
                        origin: "record 13".into(),
                        reason: "lost".into(),
                    });
                }
                image.copy_from_slice(&[number as u8, number as u8 + 1]);
            }
            Ok(())
        }
    }

    fn elsewhere() -> ImageSet {
        ImageSet::new(Arc::new(Counting)).unwrap()
    }

    fn in_memory() -> ImageSet {
        Images::new(1, 2, 1, (0..100).flat_map(|i| [i, i + 1]).collect()).unwrap().into()
    }

    #[test]
    fn a_selection_of_a_selection_reads_the_same_images_from_memory_and_from_elsewhere() {
        for images in [in_memory(), elsewhere()] {
            let chosen = images.select(&[90, 4, 4, 7, 100]).select(&[3, 0]);
            assert_eq!((chosen.len(), chosen.bytes()), (2, 4));
            assert_eq!(chosen.read(&[1, 0, 1]).unwrap().pixels, [90, 91, 7, 8, 90, 91]);
            assert_eq!(chosen.in_memory().unwrap().pixels, [7, 8, 90, 91]);
            assert!(chosen.read(&[2]).unwrap_err().to_string().contains("below 2"));
        }
    }

    #[test]
    fn images_elsewhere_are_resized_as_those_in_memory() {
        let numbers = [5, 60, 61];
        let resized =
            |images: ImageSet| images.select(&numbers).resized(2, 3, Interpolation::Bilinear).unwrap();
        let (own, others) = (resized(in_memory()), resized(elsewhere()));
        assert_eq!((others.height(), others.width(), others.len()), (2, 3, 3));
        assert_eq!(own.read(&[2, 0]).unwrap(), others.read(&[2, 0]).unwrap());
    }

    #[test]
    fn an_image_that_cannot_be_read_is_an_error_of_the_batch_that_needs_it() {
        assert!(elsewhere().read(&[12, 14]).is_ok());
        assert!(elsewhere().read(&[12, 13]).unwrap_err().to_string().contains("lost"));
    }

    #[test]
    fn sets_are_equal_if_their_images_are() {
        assert_eq!(in_memory(), in_memory());
        assert_eq!(in_memory().select(&[3, 5]), in_memory().select(&[3, 4, 5]).select(&[0, 2]));
        assert_ne!(in_memory().select(&[3]), in_memory().select(&[4]));
        let images = elsewhere();
        assert_eq!(images.select(&[3]), images.select(&[3]));
        assert_ne!(images, elsewhere());
    }
}
