//! Names of metrics in `result.json`.

/// Accuracy of the linear probe on the test images, 0..1.
pub(crate) const TOP1: &str = "top1";
/// Accuracy of the linear probe of a categorical condition, 0..1.
pub(crate) const NAMED: &str = "condition_top1";
/// The name of the row of predicting the most frequent value and the mean.
pub(crate) const BASE_RATE: &str = "Chance";
/// Squared error of the ridge regression of the condition, mean over its columns, in its own units squared.
pub(crate) const MSE: &str = "condition_mse";
/// R² of the same regression, relative to predicting the mean: 1 for a perfect prediction, 0 for none.
pub(crate) const R2: &str = "condition_r2";
