//! Guesses of a category beside the truth, whether it is the class or the condition.

use anyhow::Result;
use simile_core::eval::ranking::roc_auc;
use simile_core::numeric::matrix::Matrix;

/// True where a guess is right.
pub(super) fn right(guesses: &[usize], truth: &[usize]) -> Vec<bool> {
    guesses.iter().zip(truth).map(|(guess, truth)| guess == truth).collect()
}

/// The area under the ROC curve of the second of two classes; `None` if there are more, or one of them does not occur.
pub(super) fn roc_auc_of_two(scores: &Matrix, labels: &[usize]) -> Result<Option<f64>> {
    let occurs = |class: usize| labels.contains(&class);
    if scores.columns() != 2 || !occurs(0) || !occurs(1) {
        return Ok(None);
    }
    let margins: Vec<f64> = scores.iter_rows().map(|row| row[1] - row[0]).collect();
    let positive: Vec<bool> = labels.iter().map(|&label| label == 1).collect();
    Ok(Some(roc_auc(&margins, &positive)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn two_classes_have_an_area_and_three_have_none() {
        let scores = Matrix::from_fn(4, 2, |i, k| if k == 1 { [0.1, 0.9, 0.4, 0.8][i] } else { 0.5 });
        let area = |labels: &[usize]| roc_auc_of_two(&scores, labels).unwrap();
        assert_eq!(area(&[0, 1, 0, 1]), Some(1.0));
        assert_eq!(area(&[0, 1, 1, 0]), Some(0.75));
        assert_eq!(area(&[1, 1, 1, 1]), None);
        assert_eq!(roc_auc_of_two(&Matrix::zeros(2, 3), &[0, 1]).unwrap(), None);
    }
}
