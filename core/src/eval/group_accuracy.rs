//! Accuracy in the cells of label × bias: unbiased accuracy and worst group.
//!
//! A classifier that uses a shortcut is right where label and bias agree and wrong elsewhere, which plain accuracy
//! hides. The *unbiased accuracy* (Hong & Yang, NeurIPS 2021; LfF) is the mean over the cells that occur, the
//! *worst group* (WCL, group-DRO) their minimum. Released code takes the mean over non-empty cells in one place
//! (`get_unbiased_acc`) and over all cells, with NaN, in others; this code always leaves empty cells out.

use super::{check_labels, check_table, metrics};
use crate::error::{Error, Result};

/// Hits and samples in every cell of label × bias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupAccuracy {
    hits: Vec<Vec<usize>>,
    counts: Vec<Vec<usize>>,
}

impl GroupAccuracy {
    /// Counts where `predictions` equals `labels` (below `classes`) for every value of `bias` (below `bias_count`).
    ///
    /// # Errors
    /// [`Error::Shape`] if lengths differ, there is no sample, or a value is out of range; [`Error::Parameter`] for
    /// more cells than a table holds.
    pub fn new(
        predictions: &[usize],
        labels: &[usize],
        bias: &[usize],
        classes: usize,
        bias_count: usize,
    ) -> Result<Self> {
        if labels.is_empty() {
            return Err(Error::shape("labels", "at least one entry", "none"));
        }
        check_labels("labels", labels, labels.len(), classes)?;
        check_labels("predictions", predictions, labels.len(), classes)?;
        check_labels("bias", bias, labels.len(), bias_count)?;
        check_table("biases", bias_count, classes)?;
        let mut hits = vec![vec![0; bias_count]; classes];
        let mut counts = hits.clone();
        for ((&prediction, &label), &value) in predictions.iter().zip(labels).zip(bias) {
            counts[label][value] += 1;
            hits[label][value] += usize::from(prediction == label);
        }
        Ok(Self { hits, counts })
    }

    /// Samples, `[label][bias]`.
    pub fn counts(&self) -> &[Vec<usize>] {
        &self.counts
    }

    /// Accuracy, `[label][bias]`; `None` where the cell is empty.
    pub fn accuracy(&self) -> Vec<Vec<Option<f64>>> {
        let rows = self.hits.iter().zip(&self.counts);
        rows.map(|(h, c)| h.iter().zip(c).map(|(&h, &c)| metrics::fraction(h, c)).collect()).collect()
    }

    /// Mean of the accuracies of the cells that occur.
    pub fn unbiased_accuracy(&self) -> f64 {
        metrics::mean(self.accuracy().into_iter().flatten())
    }

    /// Label, bias and accuracy of the worst cell that occurs; the first in row order where several are
    /// equal.
    pub fn worst(&self) -> (usize, usize, f64) {
        let mut worst = (0, 0, f64::INFINITY);
        for (label, row) in self.accuracy().iter().enumerate() {
            for (bias, cell) in row.iter().enumerate() {
                if let Some(accuracy) = cell.filter(|&a| a < worst.2) {
                    worst = (label, bias, accuracy);
                }
            }
        }
        worst
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_shortcut_is_invisible_to_accuracy_and_not_to_groups() {
        let labels: Vec<usize> = (0..100).map(|i| i % 2).collect();
        let bias: Vec<usize> =
            labels.iter().enumerate().map(|(i, &y)| if i < 4 { 1 - y } else { y }).collect();
        let groups = GroupAccuracy::new(&bias, &labels, &bias, 2, 2).unwrap();
        assert_eq!(groups.unbiased_accuracy(), 0.5);
        assert_eq!(groups.worst(), (0, 1, 0.0));
        assert_eq!(groups.counts(), [[48, 2], [2, 48]]);
    }

    #[test]
    fn empty_cells_are_left_out() {
        let groups = GroupAccuracy::new(&[0, 1], &[0, 0], &[0, 2], 2, 3).unwrap();
        assert_eq!(groups.accuracy()[0], [Some(1.0), None, Some(0.0)]);
        assert_eq!(groups.unbiased_accuracy(), 0.5);
    }

    #[test]
    fn out_of_range_bias_is_an_error() {
        assert!(matches!(GroupAccuracy::new(&[0], &[0], &[3], 2, 3), Err(Error::Shape { .. })));
        assert!(matches!(GroupAccuracy::new(&[], &[], &[], 2, 3), Err(Error::Shape { .. })));
    }
}
