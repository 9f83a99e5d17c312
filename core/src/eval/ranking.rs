//! The area under the ROC curve.

use crate::error::{Error, Result};

/// Probability that a positive sample scores above a negative one; equal scores count one half.
///
/// ```text
/// AUC = (rank sum of the positives - p (p + 1) / 2) / (p q)
/// ```
///
/// with mean ranks within ties, `p` positives and `q` negatives. Equal to scikit-learn's `roc_auc_score`.
///
/// # Errors
/// [`Error::Shape`] if the lengths differ, [`Error::NotFinite`] for a score that is not a number,
/// [`Error::Degenerate`] if one of the two classes does not occur.
pub fn roc_auc(scores: &[f64], positive: &[bool]) -> Result<f64> {
    if scores.len() != positive.len() {
        return Err(Error::shape(
            "labels",
            format!("{} entries", scores.len()),
            format!("{} entries", positive.len()),
        ));
    }
    if let Some(row) = scores.iter().position(|s| s.is_nan()) {
        return Err(Error::NotFinite { input: "scores".into(), row });
    }
    let positives = positive.iter().filter(|&&p| p).count();
    let negatives = positive.len() - positives;
    if positives == 0 || negatives == 0 {
        return Err(Error::Degenerate {
            reason: "the ROC curve needs positive and negative samples".into(),
            remedy: "evaluate on samples of both".into(),
        });
    }
    let mut order: Vec<(f64, bool)> = scores.iter().copied().zip(positive.iter().copied()).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut doubled, mut below) = (0_u128, 0_usize);
    for tie in order.chunk_by(|a, b| a.0 == b.0) {
        let ups = tie.iter().filter(|(_, p)| *p).count();
        let downs = tie.len() - ups;
        doubled += (ups as u128) * (2 * below + downs) as u128;
        below += downs;
    }
    Ok(doubled as f64 / (2.0 * positives as f64 * negatives as f64))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_order_is_one_its_reverse_zero_and_no_order_one_half() {
        let positive = [false, false, true, true];
        assert_eq!(roc_auc(&[1.0, 2.0, 3.0, 4.0], &positive).unwrap(), 1.0);
        assert_eq!(roc_auc(&[4.0, 3.0, 2.0, 1.0], &positive).unwrap(), 0.0);
        assert_eq!(roc_auc(&[7.0; 4], &positive).unwrap(), 0.5);
        assert_eq!(roc_auc(&[0.0, -0.0], &[true, false]).unwrap(), 0.5);
    }

    #[test]
    fn equals_the_fraction_of_ordered_pairs_with_ties_one_half() {
        let scores: Vec<f64> = (0..60).map(|i| ((i * 37) % 13) as f64).collect();
        let positive: Vec<bool> = (0..60).map(|i| (i * i) % 7 < 3).collect();
        let (mut wins, mut pairs) = (0.0, 0.0);
        for i in (0..60).filter(|&i| positive[i]) {
            for j in (0..60).filter(|&j| !positive[j]) {
                pairs += 1.0;
                wins += if scores[i] > scores[j] {
                    1.0
                } else {
                    f64::from(u8::from(scores[i] == scores[j])) / 2.0
                };
            }
        }
        assert!((roc_auc(&scores, &positive).unwrap() - wins / pairs).abs() < 1e-15);
    }

    #[test]
    fn one_class_or_a_nan_is_a_typed_error() {
        assert!(matches!(roc_auc(&[1.0, 2.0], &[true, true]), Err(Error::Degenerate { .. })));
        assert!(matches!(roc_auc(&[], &[]), Err(Error::Degenerate { .. })));
        assert!(matches!(roc_auc(&[1.0, f64::NAN], &[true, false]), Err(Error::NotFinite { row: 1, .. })));
        assert!(matches!(roc_auc(&[1.0], &[]), Err(Error::Shape { .. })));
    }
}
