//! The class scores that objectives read.

use crate::loss;

/// Number of class scores that an objective reads from the network's head, for `classes` and a bias of `bias_count`
/// values; `None` if it compares projections.
pub fn class_scores(objective: &str, classes: usize, bias_count: usize) -> Option<usize> {
    loss::spec(objective).ok().and_then(|spec| spec.head.scores(classes, bias_count))
}
