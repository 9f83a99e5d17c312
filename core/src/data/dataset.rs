//! Images with their classes and conditions.

use std::collections::BTreeMap;

use super::{Condition, DatasetError, ImageSet, Result};
use crate::numeric::split::{hold_out, select};

/// Images, the class of each, and the attributes of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dataset {
    /// The images.
    pub images: ImageSet,
    /// The class of each image, an index into `classes`.
    pub labels: Vec<usize>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The attributes of each image, by name: `colour`, `palette`, `bias`, ...
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

    /// Adds an attribute.
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
    /// [`split_subjects`](crate::numeric::split::split_subjects).
    ///
    /// # Errors
    /// [`DatasetError::Parameter`] if one of the parts would be empty.
    pub fn split(&self, held_out: usize, seed: u64) -> Result<(Self, Self)> {
        let (rest, held_out) = hold_out(self.len(), self.subjects.as_deref(), held_out, seed)
            .map_err(|fault| DatasetError::parameter("held_out", held_out, &fault.reason("samples")))?;
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
pub(super) fn digit_names() -> Vec<String> {
    (0..10).map(|digit| digit.to_string()).collect()
}

/// Checks that every label is below `classes`.
pub(super) fn check_labels(origin: &str, labels: &[usize], classes: usize) -> Result<()> {
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
    use crate::data::Images;
    use crate::numeric::matrix::Matrix;

    fn numbered(n: usize) -> Dataset {
        let images = Images::new(1, 2, 1, (0..n).flat_map(|i| [i as u8, 255 - i as u8]).collect()).unwrap();
        let labels = (0..n).map(|i| i % 3).collect();
        let colour = Condition::Numeric(Matrix::from_fn(n, 1, |i, _| i as f64).into());
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
        let short = Condition::Numeric(Matrix::zeros(1, 3).into());
        assert!(text(numbered(4).with_condition("colour", short)).contains("condition `colour`"));
        assert!(text(numbered(4).subset(&[4])).contains("below 4"));
        assert!(numbered(4).split(0, 1).is_err() && numbered(4).split(4, 1).is_err());
        assert!(Images::new(2, 2, 1, vec![0; 5]).is_err() && Images::new(0, 2, 1, vec![]).is_err());
    }
}
