//! Accuracy of a classifier: top-k, the confusion matrix, per class.
//!
//! All accuracies are fractions in 0..=1. A class without samples has no accuracy (`None`): it is left out of
//! means and minima, never counted as 0 or as NaN.

use super::{check_labels, check_matrix, check_table};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;

/// The class with the largest score of every row of `scores` (`[n, classes]`); the lower class where two are
/// equal.
///
/// # Errors
/// [`Error::Shape`] without rows or classes, [`Error::NotFinite`] naming the first bad row.
pub fn predictions(scores: &Matrix) -> Result<Vec<usize>> {
    check_scores(scores)?;
    Ok(scores.iter_rows().map(largest).collect())
}

/// Fraction of rows whose label is among the `k` largest scores. Among equal scores the lower class comes
/// first.
///
/// `k` above the number of classes counts as all of them, so that top-5 of three classes is 1.
///
/// # Errors
/// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs, [`Error::Parameter`] if `k` is 0.
pub fn top_k_accuracy(scores: &Matrix, labels: &[usize], k: usize) -> Result<f64> {
    check_scores(scores)?;
    check_labels("labels", labels, scores.rows(), scores.columns())?;
    if k == 0 {
        return Err(Error::parameter("k", 0, "expected at least 1"));
    }
    let hits = scores.iter_rows().zip(labels).filter(|(row, label)| rank(row, **label) < k).count();
    Ok(hits as f64 / labels.len() as f64)
}

/// Mean cross-entropy of the softmax of `scores` (`[n, classes]`) with integer labels, natural logarithm.
///
/// # Errors
/// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs.
pub fn cross_entropy(scores: &Matrix, labels: &[usize]) -> Result<f64> {
    check_scores(scores)?;
    check_labels("labels", labels, scores.rows(), scores.columns())?;
    let total: f64 = scores
        .iter_rows()
        .zip(labels)
        .map(|(row, &label)| {
            let most = row[largest(row)];
            most - row[label] + row.iter().map(|s| (s - most).exp()).sum::<f64>().ln()
        })
        .sum();
    Ok(total / labels.len() as f64)
}

/// Counts of true class against predicted class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfusionMatrix {
    counts: Vec<Vec<usize>>,
}

impl ConfusionMatrix {
    /// Counts `predictions` against `labels`, both below `classes`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ, there is no sample, or a value is not below `classes`;
    /// [`Error::Parameter`] for more classes than a table of them holds.
    pub fn new(predictions: &[usize], labels: &[usize], classes: usize) -> Result<Self> {
        if labels.is_empty() {
            return Err(Error::shape("labels", "at least one entry", "none"));
        }
        check_labels("labels", labels, labels.len(), classes)?;
        check_labels("predictions", predictions, labels.len(), classes)?;
        check_table("classes", classes, classes)?;
        let mut counts = vec![vec![0; classes]; classes];
        for (&prediction, &label) in predictions.iter().zip(labels) {
            counts[label][prediction] += 1;
        }
        Ok(Self { counts })
    }

    /// `counts[true class][predicted class]`.
    pub fn counts(&self) -> &[Vec<usize>] {
        &self.counts
    }

    /// Fraction of samples on the diagonal.
    pub fn accuracy(&self) -> f64 {
        let hits: usize = self.counts.iter().enumerate().map(|(k, row)| row[k]).sum();
        hits as f64 / self.counts.iter().flatten().sum::<usize>() as f64
    }

    /// Accuracy (recall) of every class, `None` where the class has no sample.
    pub fn class_accuracy(&self) -> Vec<Option<f64>> {
        self.counts.iter().enumerate().map(|(k, row)| fraction(row[k], row.iter().sum())).collect()
    }

    /// Mean of the accuracies of the classes that occur.
    pub fn mean_class_accuracy(&self) -> f64 {
        mean(self.class_accuracy())
    }

    /// Lowest accuracy among the classes that occur.
    pub fn worst_class_accuracy(&self) -> f64 {
        lowest(self.class_accuracy())
    }
}

/// `hits / count`, if there is anything to count.
pub(super) fn fraction(hits: usize, count: usize) -> Option<f64> {
    (count > 0).then(|| hits as f64 / count as f64)
}

/// Mean of the values that are present.
pub(super) fn mean(values: impl IntoIterator<Item = Option<f64>>) -> f64 {
    let (total, count) = values.into_iter().flatten().fold((0.0, 0), |(t, c), v| (t + v, c + 1));
    total / f64::from(count)
}

/// Lowest of the values that are present.
pub(super) fn lowest(values: impl IntoIterator<Item = Option<f64>>) -> f64 {
    values.into_iter().flatten().fold(f64::INFINITY, f64::min)
}

fn check_scores(scores: &Matrix) -> Result<()> {
    if scores.columns() == 0 {
        return Err(Error::shape("scores", "at least one class", "none"));
    }
    check_matrix("scores", scores)
}

fn largest(row: &[f64]) -> usize {
    row.iter().enumerate().fold(0, |best, (k, &score)| if score > row[best] { k } else { best })
}

/// Number of classes that rank before `label`.
fn rank(row: &[f64], label: usize) -> usize {
    let own = row[label];
    row.iter().enumerate().filter(|&(k, &s)| s > own || (s == own && k < label)).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn scores() -> Matrix {
        Matrix::new(4, 3, vec![3.0, 2.0, 1.0, 1.0, 2.0, 3.0, 0.0, 5.0, 1.0, 2.0, 2.0, 0.0]).unwrap()
    }

    #[test]
    fn top_k_grows_with_k_and_ends_at_one() {
        let labels = [0, 0, 2, 1];
        assert_eq!(top_k_accuracy(&scores(), &labels, 1).unwrap(), 0.25);
        assert_eq!(top_k_accuracy(&scores(), &labels, 2).unwrap(), 0.75);
        assert_eq!(top_k_accuracy(&scores(), &labels, 5).unwrap(), 1.0);
        assert!(top_k_accuracy(&scores(), &labels, 0).is_err());
    }

    #[test]
    fn equal_scores_go_to_the_lower_class_in_predictions_and_in_top_one() {
        assert_eq!(predictions(&scores()).unwrap(), [0, 2, 1, 0]);
        let own = top_k_accuracy(&scores(), &predictions(&scores()).unwrap(), 1).unwrap();
        assert_eq!(own, 1.0);
    }

    #[test]
    fn classes_without_samples_are_left_out() {
        let confusion = ConfusionMatrix::new(&[0, 1, 1, 3], &[0, 0, 1, 1], 4).unwrap();
        assert_eq!(confusion.class_accuracy(), [Some(0.5), Some(0.5), None, None]);
        assert_eq!(confusion.mean_class_accuracy(), 0.5);
        assert_eq!(confusion.worst_class_accuracy(), 0.5);
        assert_eq!(confusion.accuracy(), 0.5);
        assert_eq!(confusion.counts()[1], [0, 1, 0, 1]);
    }

    #[test]
    fn unusable_inputs_are_typed_errors() {
        assert!(matches!(ConfusionMatrix::new(&[0], &[0, 1], 2), Err(Error::Shape { .. })));
        assert!(matches!(ConfusionMatrix::new(&[], &[], 2), Err(Error::Shape { .. })));
        assert!(matches!(top_k_accuracy(&scores(), &[0, 1, 2, 3], 1), Err(Error::Shape { .. })));
        let bad = Matrix::new(1, 2, vec![f64::NAN, 0.0]).unwrap();
        assert!(matches!(predictions(&bad), Err(Error::NotFinite { row: 0, .. })));
    }

    #[test]
    fn cross_entropy_of_large_scores_is_finite() {
        let sharp = Matrix::new(1, 2, vec![1000.0, -1000.0]).unwrap();
        assert_eq!(cross_entropy(&sharp, &[1]).unwrap(), 2000.0);
        let flat = Matrix::zeros(3, 4);
        assert!((cross_entropy(&flat, &[0, 1, 3]).unwrap() - 4_f64.ln()).abs() < 1e-15);
    }
}
