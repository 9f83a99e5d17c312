//! Errors of numeric predictions: mean squared error, R², and the released colour error.

use faer::{MatMut, MatRef};
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::vectors::{dot, squared_distance};

use super::blocks::{accumulate, rows_of_block};
use super::{check_matrix, check_size, dense};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Rows};

/// A variance below this fraction of the mean square is rounding: the targets count as constant.
const CONSTANT: f64 = 1e-24;

/// `features W^T + b`: `[n, m]` from `features` `[n, d]`, `weight` `[m, d]`, `bias` `[m]`.
///
/// # Errors
/// [`Error::Shape`] if sizes differ.
pub fn affine(features: &dyn Rows, weight: &Matrix, bias: &[f64]) -> Result<Matrix> {
    if features.columns() != weight.columns() {
        let shape = format!("{}x{} values", features.rows(), features.columns());
        return Err(Error::shape("features", format!("{} columns", weight.columns()), shape));
    }
    check_size("bias", &Matrix::column(bias), weight.rows(), 1)?;
    let (columns, outputs) = (features.columns(), weight.rows());
    let mut out = Matrix::zeros(features.rows(), outputs);
    let step = rows_of_block(columns);
    let parts = out.data_mut().chunks_mut((step * outputs).max(1)).enumerate();
    let of_block = |(block, scores): (usize, &mut [f64])| {
        let rows = scores.len() / outputs;
        let mut values = vec![0.0; rows * columns];
        features.read(block * step, Buffer::Double(&mut values))?;
        let x = MatRef::from_row_major_slice(&values[..], rows, columns);
        let scores_of_rows = MatMut::from_row_major_slice_mut(scores, rows, outputs);
        dense::gemm(scores_of_rows, x, dense::view(weight).transpose(), 1.0);
        scores.chunks_mut(outputs).for_each(|row| accumulate(row, bias));
        Ok(())
    };
    parallel::map(parts, of_block).into_iter().collect::<Result<()>>()?;
    Ok(out)
}

/// Squared error averaged over samples and outputs, in squared units of the target. Both are `[n, m]`.
///
/// # Errors
/// [`Error::Shape`] if sizes differ or there is no row, [`Error::NotFinite`] for a bad target.
pub fn mean_squared_error(predictions: &Matrix, targets: &Matrix) -> Result<f64> {
    batched_mean_squared_error(predictions, targets, targets.rows().max(1))
}

/// Mean over batches of the mean squared error of each, as the released CCL-K code reports the colour error
/// (`evaluate/lbfgs.py`, `test_conditional`, batches of 1000).
///
/// It differs from [`mean_squared_error`] if the last batch is short, because its samples then weigh more.
///
/// # Errors
/// [`Error::Shape`] if sizes differ or there is no row, [`Error::NotFinite`] for a bad target,
/// [`Error::Parameter`] if `batch` is 0.
pub fn batched_mean_squared_error(predictions: &Matrix, targets: &Matrix, batch: usize) -> Result<f64> {
    check_matrix("targets", targets)?;
    check_size("predictions", predictions, targets.rows(), targets.columns())?;
    let width = match batch.saturating_mul(targets.columns()) {
        0 if batch == 0 => return Err(Error::parameter("batch", 0, "expected at least 1 sample")),
        0 => return Err(Error::shape("targets", "at least one column", "none")),
        width => width,
    };
    let batches = predictions.data().chunks(width).zip(targets.data().chunks(width));
    let total: f64 = batches.map(|(p, t)| squared_distance(p, t) / t.len() as f64).sum();
    Ok(total / targets.rows().div_ceil(batch) as f64)
}

/// Variance of the targets around their column means, averaged over outputs: the error of predicting the mean.
/// Exactly 0 where only rounding is left.
pub fn variance(targets: &Matrix) -> f64 {
    let centred = dense::centred(targets, &dense::column_means(targets));
    let [spread, size] = [&centred, targets].map(|table| dot(table.data(), table.data()));
    if spread <= CONSTANT * size { 0.0 } else { spread / targets.data().len() as f64 }
}

/// The errors of predictions of numeric targets.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionReport {
    /// Squared error averaged over samples and outputs, in squared units of the target: (0..255)² for
    /// colours.
    pub mse: f64,
    /// `1 - mse / mse_of_mean`, with the mean of the evaluated targets; `None` if these are constant.
    /// scikit-learn's `r2_score(..., multioutput="variance_weighted")`.
    pub r2: Option<f64>,
    /// The squared error of predicting the mean of the evaluated targets.
    pub mse_of_mean: f64,
}

impl RegressionReport {
    /// The errors of predictions, `[n, m]`; R² is scikit-learn's `r2_score(targets, predictions, multioutput="variance_weighted")`.
    ///
    /// # Errors
    /// As [`mean_squared_error`].
    pub fn of(predictions: &Matrix, targets: &Matrix) -> Result<Self> {
        let (mse, mse_of_mean) = (mean_squared_error(predictions, targets)?, variance(targets));
        let r2 = (mse_of_mean > 0.0).then(|| 1.0 - mse / mse_of_mean);
        Ok(Self { mse, r2, mse_of_mean })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_short_last_batch_weighs_more() {
        let (targets, predictions) = (Matrix::zeros(3, 1), Matrix::column(&[0.0, 0.0, 3.0]));
        assert_eq!(mean_squared_error(&predictions, &targets).unwrap(), 3.0);
        assert_eq!(batched_mean_squared_error(&predictions, &targets, 2).unwrap(), 4.5);
        assert_eq!(batched_mean_squared_error(&predictions, &targets, 1000).unwrap(), 3.0);
    }

    #[test]
    fn the_mean_has_an_r_squared_of_zero() {
        let targets = Matrix::from_fn(8, 2, |i, j| (i * i + j * 5) as f64);
        let mean = dense::column_means(&targets);
        let predictions = Matrix::from_fn(8, 2, |_, j| mean[j]);
        assert!(RegressionReport::of(&predictions, &targets).unwrap().r2.unwrap().abs() < 1e-15);
        assert_eq!(RegressionReport::of(&targets, &targets).unwrap().r2, Some(1.0));
        assert_eq!(RegressionReport::of(&predictions, &Matrix::from_fn(8, 2, |_, _| 0.3)).unwrap().r2, None);
    }

    #[test]
    fn empty_and_ill_fitting_inputs_are_errors() {
        assert!(mean_squared_error(&Matrix::zeros(0, 2), &Matrix::zeros(0, 2)).is_err());
        assert!(mean_squared_error(&Matrix::zeros(2, 0), &Matrix::zeros(2, 0)).is_err());
        assert!(mean_squared_error(&Matrix::zeros(2, 1), &Matrix::zeros(2, 2)).is_err());
        assert!(batched_mean_squared_error(&Matrix::zeros(2, 1), &Matrix::zeros(2, 1), 0).is_err());
        assert!(affine(&Matrix::zeros(2, 3), &Matrix::zeros(1, 3), &[0.0, 1.0]).is_err());
    }
}
