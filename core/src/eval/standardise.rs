//! Zero mean and unit variance for every feature, fitted on the training set and applied to any other.
//!
//! ```text
//! x'_j = (x_j - mean_j) / deviation_j
//! ```
//!
//! The deviation is that of the population (divisor n), as in scikit-learn's `StandardScaler`. A feature that is
//! constant on the training set carries no information: it becomes 0 there, up to rounding, and is only shifted on other
//! data.
//!
//! The released CCL-K probe does not standardise. This one does, because a ridge penalty on features of different
//! scales is a different penalty for each.

use super::blocks::{Block, accumulate, check_any, check_columns, check_finite, fold};
use super::moments;
use crate::error::Result;
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Real, Rows, to_matrix};

/// A deviation below this fraction of the mean's size is rounding: the feature counts as constant.
pub const CONSTANT: f64 = 1e-10;
/// A feature with a deviation below this counts as constant too: its reciprocal is not in `f32`.
pub const SMALLEST: f64 = 1e-37;

/// Shift and scale of every feature.
#[derive(Debug, Clone, PartialEq)]
pub struct Standardise {
    mean: Vec<f64>,
    deviation: Vec<f64>,
}

impl Standardise {
    /// Measures mean and deviation of every column of `features` (`[n, d]`), in two passes.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::error::Error::Shape) without rows, [`Error::NotFinite`](crate::error::Error::NotFinite) naming the first
    /// bad row.
    pub fn fit(features: &dyn Rows) -> Result<Self> {
        check_any("features", features)?;
        let mean = moments::means(features)?;
        if mean.iter().any(|mean| !mean.is_finite()) {
            check_finite("features", features)?;
        }
        let columns = features.columns();
        let add = |squares: &mut Vec<f64>, block: Block<'_, f64>| {
            for row in block.values.chunks_exact(columns.max(1)) {
                let values = row.iter().zip(&mean);
                squares
                    .iter_mut()
                    .zip(values)
                    .for_each(|(sum, (value, mean))| *sum += (value - mean).powi(2));
            }
            Ok(())
        };
        let mut deviation = vec![0.0; columns];
        for part in fold(features, columns, || vec![0.0; columns], add)? {
            accumulate(&mut deviation, &part);
        }
        for (total, centre) in deviation.iter_mut().zip(&mean) {
            *total = (*total / features.rows() as f64).sqrt();
            if *total <= (CONSTANT * centre.abs()).max(SMALLEST) {
                *total = 0.0;
            }
        }
        Ok(Self { mean, deviation })
    }

    /// Raises the deviations of the features from `first` on to this fraction of the largest of them, so that features that hardly vary on
    /// the training set are not magnified on others.
    #[must_use]
    pub fn with_least(mut self, first: usize, fraction: f64) -> Self {
        let raised = self.deviation.get_mut(first..).unwrap_or_default();
        let least = fraction * raised.iter().copied().fold(0.0, f64::max);
        raised.iter_mut().for_each(|deviation| *deviation = deviation.max(least));
        self
    }

    /// Applies the fitted shift and scale to `features` (`[m, d]`).
    ///
    /// # Errors
    /// [`Error::Shape`](crate::error::Error::Shape) if the number of columns differs from the one fitted.
    pub fn apply(&self, features: &Matrix) -> Result<Matrix> {
        to_matrix(&self.of(features)?)
    }

    /// Rows (`[m, d]`) with the fitted shift and scale, which are applied where the rows are read: nothing is copied.
    ///
    /// # Errors
    /// As [`Standardise::apply`].
    pub fn of<R: Rows>(&self, rows: R) -> Result<Standardised<R>> {
        check_columns(&rows, self.mean.len())?;
        let scale = self.deviation.iter().map(|&d| if d > 0.0 { 1.0 / d } else { 1.0 }).collect();
        Ok(Standardised { rows, mean: self.mean.clone(), scale })
    }

    /// Mean of every feature.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Standard deviation of every feature (divisor n); 0 for a constant one.
    pub fn deviation(&self) -> &[f64] {
        &self.deviation
    }
}

/// Rows that are standardised where they are read.
#[derive(Debug, Clone)]
pub struct Standardised<R> {
    rows: R,
    mean: Vec<f64>,
    scale: Vec<f64>,
}

impl<R: Rows> Rows for Standardised<R> {
    fn is_single(&self) -> bool {
        self.rows.is_single()
    }

    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn columns(&self) -> usize {
        self.rows.columns()
    }

    fn read(&self, first: usize, mut out: Buffer<'_>) -> Result<()> {
        self.rows.read(first, out.again())?;
        shift_and_scale(out, &self.mean, &self.scale);
        Ok(())
    }
}

/// `(x - mean) scale` of every row.
fn shift_and_scale(rows: Buffer<'_>, mean: &[f64], scale: &[f64]) {
    fn each<T: Real>(rows: &mut [T], mean: &[f64], scale: &[f64]) {
        let of = |values: &[f64]| values.iter().map(|&value| T::of(value)).collect::<Vec<T>>();
        let (mean, scale) = (of(mean), of(scale));
        for row in rows.chunks_exact_mut(mean.len().max(1)) {
            let terms = mean.iter().zip(&scale);
            row.iter_mut().zip(terms).for_each(|(value, (&mean, &scale))| *value = (*value - mean) * scale);
        }
    }
    match rows {
        Buffer::Single(rows) => each(rows, mean, scale),
        Buffer::Double(rows) => each(rows, mean, scale),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn training_features_get_zero_mean_and_unit_variance() {
        let train = Matrix::from_fn(50, 3, |i, j| ((i * 7 + j * 3) % 11) as f64 * (j + 1) as f64 + 100.0);
        let out = Standardise::fit(&train).unwrap().apply(&train).unwrap();
        for j in 0..3 {
            let column: Vec<f64> = out.iter_rows().map(|r| r[j]).collect();
            let mean = column.iter().sum::<f64>() / 50.0;
            let variance = column.iter().map(|v| v * v).sum::<f64>() / 50.0;
            assert!(mean.abs() < 1e-12 && (variance - 1.0).abs() < 1e-12);
        }
    }

    /// Scores after a softmax can be that small.
    #[test]
    fn a_feature_whose_reciprocal_deviation_no_float_holds_is_constant() {
        let features = Matrix::from_fn(4, 2, |i, j| [i as f64, i as f64 * 1e-44][j]);
        let standardise = Standardise::fit(&features).unwrap();
        assert_eq!(standardise.deviation()[1], 0.0);
        assert!(standardise.apply(&features).unwrap().data().iter().all(|x| x.is_finite() && x.abs() < 2.0));
    }

    #[test]
    fn test_features_use_the_training_statistics() {
        let standardise = Standardise::fit(&Matrix::column(&[1.0, 3.0])).unwrap();
        assert_eq!(standardise.apply(&Matrix::column(&[4.0])).unwrap().data(), &[2.0]);
    }

    #[test]
    fn features_that_hardly_vary_are_not_magnified() {
        let train = Matrix::from_fn(4, 3, |i, j| [1e-3, 1e-3, 2.0][j] * (i % 2) as f64);
        let standardise = Standardise::fit(&train).unwrap().with_least(1, 0.1);
        assert_eq!(standardise.deviation()[1..], [0.1, 1.0]);
        let other = standardise.apply(&Matrix::from_fn(1, 3, |_, _| 1.0)).unwrap();
        assert!(other.row(0)[0] > 1e3 && other.row(0)[1] < 10.0, "{:?}", other.row(0));
        assert_eq!(Standardise::fit(&train).unwrap().with_least(3, 0.1), Standardise::fit(&train).unwrap());
    }

    #[test]
    fn a_constant_feature_becomes_zero() {
        let train = Matrix::from_fn(1000, 2, |i, j| if j == 0 { 0.1 } else { i as f64 });
        let standardise = Standardise::fit(&train).unwrap();
        assert_eq!(standardise.deviation()[0], 0.0);
        assert!(standardise.apply(&train).unwrap().iter_rows().all(|r| r[0].abs() < 1e-12));
    }

    #[test]
    fn bad_input_is_an_error_that_names_the_row() {
        let bad = Matrix::new(2, 1, vec![0.0, f64::NAN]).unwrap();
        assert_eq!(Standardise::fit(&bad), Err(Error::NotFinite { input: "features".into(), row: 1 }));
        assert!(Standardise::fit(&Matrix::zeros(0, 2)).is_err());
        let fitted = Standardise::fit(&Matrix::zeros(2, 2)).unwrap();
        assert!(matches!(fitted.apply(&Matrix::zeros(2, 3)), Err(Error::Shape { .. })));
    }
}
