//! Names of metrics in `result.json`.

/// Fraction of test images whose class the linear probe names, 0..1.
pub(crate) const TOP1: &str = "top1";
/// How the row is called of naming the most frequent value and the mean.
pub(crate) const BASE_RATE: &str = "Base rate";
/// Squared error of the ridge regression of the condition, mean over its columns, in its own units squared.
pub(crate) const MSE: &str = "condition_mse";
/// The same as a share of what predicting the mean leaves: 1 is perfectly readable, 0 is not readable.
pub(crate) const R2: &str = "condition_r2";
