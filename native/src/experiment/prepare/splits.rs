//! The training images of a run, those on which probes are measured, and those by which the encoder is chosen.

use std::collections::BTreeSet;

use simile_core::data::Dataset;

use crate::data::EvaluationSplit;
use crate::run_folder::record::ImageCounts;
use crate::words::some;

/// The images of a run.
#[derive(Debug)]
pub(crate) struct Splits {
    pub(crate) train: Dataset,
    pub(crate) evaluated: Evaluated,
    /// Images by which the encoder is chosen: held-out training images, or the official validation split.
    pub(crate) to_choose: Option<Dataset>,
}

/// The images on which probes are measured.
#[derive(Debug)]
pub(crate) struct Evaluated {
    pub(crate) dataset: Dataset,
    pub(crate) split: EvaluationSplit,
}

impl Splits {
    /// A warning of classes without an image to test on, or to train on.
    pub(crate) fn lack(&self) -> Option<String> {
        let lack = |split: &Dataset, purpose: &str| {
            let counts = split.classes.iter().zip(split.class_counts());
            let absent = counts.filter(|(_, count)| *count == 0).map(|(class, _)| format!("`{class}`"));
            let absent: Vec<String> = absent.collect();
            (!absent.is_empty()).then(|| format!("no picture to {purpose} on is of {}", some(&absent)))
        };
        let lacks = [lack(&self.evaluated.dataset, "test"), lack(&self.train, "train")];
        let lacks: Vec<String> = lacks.into_iter().flatten().collect();
        (!lacks.is_empty()).then(|| {
            format!(
                "{}: an accuracy says nothing of these classes; add pictures of them, or divide the pictures in another way",
                lacks.join("; ")
            )
        })
    }

    /// The numbers of images, and of the subjects of those to evaluate on.
    pub(crate) fn counts(&self) -> ImageCounts {
        let Evaluated { dataset, .. } = &self.evaluated;
        let subjects = dataset.subjects.as_ref();
        let test_subjects = subjects.map(|subjects| subjects.iter().collect::<BTreeSet<_>>().len());
        ImageCounts { train: self.train.len(), test: dataset.len(), test_subjects }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use simile_core::data::Images;

    use super::*;

    fn of(labels: &[usize]) -> Dataset {
        let images = Images::new(1, 1, 1, vec![0; labels.len()]).unwrap();
        let classes = (0..12).map(|class| format!("c{class}")).collect();
        Dataset::new(images, labels.to_vec(), classes).unwrap()
    }

    #[test]
    fn classes_that_a_part_lacks_are_named() {
        let all: Vec<usize> = (0..12).collect();
        let lack = |train: &[usize], test: &[usize]| {
            let evaluated = Evaluated { dataset: of(test), split: EvaluationSplit::Test };
            Splits { train: of(train), evaluated, to_choose: None }.lack()
        };
        assert_eq!(lack(&all, &all), None);
        let text = lack(&all[1..], &all[..11]).unwrap();
        assert!(
            text.starts_with("no picture to test on is of `c11`; no picture to train on is of `c0`:"),
            "{text}"
        );
        let text = lack(&all, &[0, 0]).unwrap();
        assert!(text.starts_with("no picture to test on is of `c1`, `c2`, "), "{text}");
        assert!(text.contains("`c8`, and 3 more: an accuracy") && !text.contains("to train on"), "{text}");
    }
}
