//! Data sets: images of one size with a class each, and the variables that an objective conditions on.
//!
//! Formats are parsed from bytes; the caller reads the files. Random values are drawn by a portable generator from
//! a seed given by the caller, so that the same seed gives the same pixels on every platform.
//!
//! | module | contents |
//! |---|---|
//! | [`idx`](formats::idx) | MNIST's file format |
//! | [`cifar`](formats::cifar) | the binary layout of CIFAR-10 and CIFAR-100 |
//! | [`colour_mnist`](synthetic::colour_mnist) | digits on coloured backgrounds; the condition is the colour |
//! | [`biased_mnist`](synthetic::biased_mnist) | digits whose background colour agrees with the class in a fraction ρ of cases |
//! | [`digits`](synthetic::digits) | digits drawn from strokes, without a download |
//! | [`attributes`](synthetic::attributes) | a table of binary attributes made from a variable |
//! | [`stl10`](formats::stl10), [`imagenet32`](formats::imagenet32) | the binary layouts of two more |
//! | [`catalogue`] | metadata of picture files before they are opened |
//! | [`features`](formats::features), [`npy`](formats::npy) | features of another network as a variable |
//! | [`lines`](formats::lines) | annotation files, with errors that name the line |
//! | [`ImageSet`] | the images of a data set, in memory or read when they are needed |
//! | `formats::picture` | PNG, JPEG and WebP; needs the feature `pictures` |
//! | [`resize`] | Pillow's resampling of 8-bit images |

pub mod catalogue;
mod error;
pub mod formats;
mod image_set;
pub mod resize;
pub mod synthetic;
mod transformed;

use std::collections::BTreeMap;

pub use catalogue::{Catalogue, Split};
pub use error::{DatasetError, Result};
pub use image_set::{ImageFile, ImageSet, ImageShape, ImageSource};

use crate::numeric::matrix::Matrix;
use crate::numeric::split::{select, split_indices, split_subjects};

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
            let found = images.pixels.len();
            return Err(DatasetError::Records { origin: "images".into(), record: size, found });
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
}

/// A variable known for every image: to condition on, to remove, or to report on.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Numbers, one row an image: a colour, attributes, features of another network.
    Numeric(Matrix),
    /// One of several named values.
    Categorical {
        /// The value of each image, an index into `names`.
        values: Vec<usize>,
        /// The names of the values.
        names: Vec<String>,
    },
}

impl Condition {
    /// Number of images for which the variable is known.
    pub fn len(&self) -> usize {
        match self {
            Self::Numeric(matrix) => matrix.rows(),
            Self::Categorical { values, .. } => values.len(),
        }
    }

    /// True if it is known for no image.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The variable of the images named by `indices`, in that order. Indices must be below [`Condition::len`].
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        match self {
            Self::Numeric(matrix) => Self::Numeric(matrix.select(indices)),
            Self::Categorical { values, names } => Self::Categorical {
                values: indices.iter().filter_map(|&i| values.get(i).copied()).collect(),
                names: names.clone(),
            },
        }
    }

    /// The variable as numbers: unchanged if numeric, or one indicator column for each named value.
    pub fn to_matrix(&self) -> Matrix {
        match self {
            Self::Numeric(matrix) => matrix.clone(),
            Self::Categorical { values, names } => {
                Matrix::from_fn(
                    values.len(),
                    names.len(),
                    |i, j| {
                        if values.get(i) == Some(&j) { 1.0 } else { 0.0 }
                    },
                )
            }
        }
    }
}

/// Images, the class of each, and the variables known for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dataset {
    /// The images.
    pub images: ImageSet,
    /// The class of each image, an index into `classes`.
    pub labels: Vec<usize>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Variables known for each image, by name: `colour`, `palette`, `bias`, ...
    pub conditions: BTreeMap<String, Condition>,
    /// The number of the subject of each image, such as the patient, where images of one subject stay in one split.
    pub subjects: Option<Vec<usize>>,
}

impl Dataset {
    /// A data set without conditions.
    ///
    /// # Errors
    /// [`DatasetError::Empty`] without images or classes, [`DatasetError::Count`] if there is not one label an
    /// image, [`DatasetError::Label`] for a label outside the classes.
    pub fn new(images: impl Into<ImageSet>, labels: Vec<usize>, classes: Vec<String>) -> Result<Self> {
        let dataset = Self { images: images.into(), labels, classes, ..Self::default() };
        for (missing, none) in [("images", dataset.is_empty()), ("classes", dataset.classes.is_empty())] {
            if none {
                return Err(DatasetError::Empty { origin: "the data set".into(), missing });
            }
        }
        dataset.check_count("labels", dataset.labels.len())?;
        check_labels("labels", &dataset.labels, dataset.classes.len())?;
        Ok(dataset)
    }

    /// Adds a variable.
    ///
    /// # Errors
    /// [`DatasetError::Count`] if it is not known for every image, [`DatasetError::Label`] for a value without a
    /// name.
    pub fn with_condition(mut self, name: &str, condition: Condition) -> Result<Self> {
        self.check_count(&format!("condition `{name}`"), condition.len())?;
        if let Condition::Categorical { values, names } = &condition {
            check_labels(&format!("condition `{name}`"), values, names.len())?;
        }
        self.conditions.insert(name.into(), condition);
        Ok(self)
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// True if there is no image.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// The samples named by `indices`, in that order. Their images are those of this data set, and not copied.
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] for an index past the end.
    pub fn subset(&self, indices: &[usize]) -> Result<Self> {
        let range = format!("expected an index below {}", self.len());
        if let Some(&at) = indices.iter().find(|&&i| i >= self.len()) {
            return Err(DatasetError::parameter("sample", at, &range));
        }
        Ok(Self {
            images: self.images.select(indices),
            labels: indices.iter().filter_map(|&i| self.labels.get(i).copied()).collect(),
            classes: self.classes.clone(),
            conditions: self.conditions.iter().map(|(name, c)| (name.clone(), c.select(indices))).collect(),
            subjects: self.subjects.as_deref().map(|subjects| select(subjects, indices)),
        })
    }

    /// Splits into two parts at random: `(the rest, held_out)` with `held_out` samples in the second, both in the
    /// order of this data set. The same seed gives the same parts. If samples have subjects, the second part holds whole ones, as in
    /// [`split_subjects`].
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] if one of the parts would be empty.
    pub fn split(&self, held_out: usize, seed: u64) -> Result<(Self, Self)> {
        if held_out == 0 || held_out >= self.len() {
            let range = format!("expected 1 to {} of {} samples", self.len().saturating_sub(1), self.len());
            return Err(DatasetError::parameter("held_out", held_out, &range));
        }
        let (rest, held_out) = match &self.subjects {
            Some(subjects) => split_subjects(subjects, held_out, seed).ok_or_else(|| {
                let reason = "all samples are of one subject, which is held out as a whole; name other subjects, or none";
                DatasetError::parameter("held_out", held_out, reason)
            })?,
            None => split_indices(self.len(), held_out, seed),
        };
        Ok((self.subset(&rest)?, self.subset(&held_out)?))
    }

    /// Number of samples of each class: entry `c` counts label `c`.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &label in &self.labels {
            if let Some(count) = counts.get_mut(label) {
                *count += 1;
            }
        }
        counts
    }

    fn check_count(&self, what: &str, count: usize) -> Result<()> {
        let expected = self.len();
        if count == expected {
            Ok(())
        } else {
            Err(DatasetError::Count { what: what.into(), expected, found: count })
        }
    }
}

/// The names `0` to `9`.
pub fn digit_names() -> Vec<String> {
    (0..10).map(|digit| digit.to_string()).collect()
}

/// Checks that every label is below `classes`.
fn check_labels(origin: &str, labels: &[usize], classes: usize) -> Result<()> {
    match labels.iter().position(|&label| label >= classes) {
        None => Ok(()),
        Some(sample) => {
            Err(DatasetError::Label { origin: origin.into(), sample, label: labels[sample], classes })
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn numbered(n: usize) -> Dataset {
        let images = Images::new(1, 2, 1, (0..n).flat_map(|i| [i as u8, 255 - i as u8]).collect()).unwrap();
        let labels = (0..n).map(|i| i % 3).collect();
        let colour = Condition::Numeric(Matrix::from_fn(n, 1, |i, _| i as f64));
        let parity = Condition::Categorical {
            values: (0..n).map(|i| i % 2).collect(),
            names: vec!["even".into(), "odd".into()],
        };
        Dataset::new(images, labels, vec!["a".into(), "b".into(), "c".into()])
            .and_then(|d| d.with_condition("number", colour))
            .and_then(|d| d.with_condition("parity", parity))
            .unwrap()
    }

    #[test]
    fn a_subset_keeps_image_label_and_conditions_together() {
        let subset = numbered(20).subset(&[7, 3, 19]).unwrap();
        assert_eq!(subset.images.in_memory().unwrap().pixels, [7, 248, 3, 252, 19, 236]);
        assert_eq!(subset.labels, [1, 0, 1]);
        assert_eq!(subset.conditions["number"].to_matrix().data(), [7.0, 3.0, 19.0]);
        assert_eq!(subset.conditions["parity"].to_matrix().data(), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn a_data_set_is_split_by_samples_or_by_subjects() {
        let (rest, held_out) = numbered(20).split(5, 1).unwrap();
        assert_eq!((rest.len(), held_out.len()), (15, 5));
        let of_pairs = Dataset { subjects: Some((0..20).map(|i| i / 2).collect()), ..numbered(20) };
        let (rest, held_out) = of_pairs.split(5, 1).unwrap();
        assert_eq!((rest.len(), held_out.len()), (16, 4));
        let shared = |subject: &usize| rest.subjects.as_ref().unwrap().contains(subject);
        assert!(!held_out.subjects.unwrap().iter().any(shared));
    }

    #[test]
    fn what_does_not_fit_together_is_refused_by_name() {
        let images = || Images::new(1, 1, 1, vec![0, 1]).unwrap();
        let classes = || vec!["a".to_string(), "b".to_string()];
        let text = |e: Result<Dataset>| e.unwrap_err().to_string();
        assert!(text(Dataset::new(images(), vec![0], classes())).contains("labels has 1 entries"));
        assert!(
            text(Dataset::new(images(), vec![0, 2], classes()))
                .contains("label 2 of sample 1 is outside 0..2")
        );
        assert!(text(Dataset::new(images(), vec![0, 0], vec![])).contains("no classes"));
        assert!(text(Dataset::new(Images::default(), vec![], classes())).contains("no images"));
        let short = Condition::Numeric(Matrix::zeros(1, 3));
        assert!(text(numbered(4).with_condition("colour", short)).contains("condition `colour`"));
        assert!(text(numbered(4).subset(&[4])).contains("below 4"));
        assert!(numbered(4).split(0, 1).is_err() && numbered(4).split(4, 1).is_err());
        assert!(Images::new(2, 2, 1, vec![0; 5]).is_err() && Images::new(0, 2, 1, vec![]).is_err());
    }
}
