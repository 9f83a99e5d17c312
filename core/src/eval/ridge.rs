//! Ridge regression in closed form: how accurately a linear map predicts a numeric condition from frozen features.
//!
//! ```text
//! J(W, b) = 1/(n m) Σ_i |W x_i + b - t_i|² + λ Σ W²
//! ```
//!
//! This is the objective of [`linear_probe`](super::linear_probe) for values, so that λ has the same meaning in
//! both; the bias is not penalised. In scikit-learn's terms it is `Ridge(alpha=λ n m)`. Standardise the features
//! first.

use faer::Side;
use faer::prelude::Solve as _;
use serde::{Deserialize, Serialize};
use simile_kernels::cpu::vectors::dot;

use super::blocks::{check_any, check_finite};
use super::moments::{self, Moments};
use super::regression::{RegressionReport, affine};
use super::{check_matrix, check_size, dense};
use crate::error::{Error, Result, within};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::Rows;

/// A pivot below this fraction of the largest means that a feature is a combination of others.
const COLLINEAR: f64 = 1e-12;

/// A fitted linear map with bias.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ridge {
    /// `[m, d]`, one row for every output.
    pub weight: Matrix,
    /// `[m]`.
    pub bias: Vec<f64>,
}

impl Ridge {
    /// Fits `targets` (`[n, m]`) from `features` (`[n, d]`).
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs, [`Error::Parameter`] if `regularisation`
    /// is negative, [`Error::Degenerate`] if it is 0 and a feature is constant or a combination of others.
    pub fn fit(features: &dyn Rows, targets: &Matrix, regularisation: f64) -> Result<Self> {
        NormalEquations::of(features, targets)?.solve(regularisation)
    }

    /// `W x + b` for every row of `features` (`[n, d]`): `[n, m]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of features differs.
    pub fn predictions(&self, features: &dyn Rows) -> Result<Matrix> {
        affine(features, &self.weight, &self.bias)
    }

    /// Squared error and R² on `features` (`[n, d]`) and `targets` (`[n, m]`).
    ///
    /// # Errors
    /// [`Error::Shape`] if sizes differ, [`Error::NotFinite`] for targets that are not finite.
    pub fn evaluate(&self, features: &dyn Rows, targets: &Matrix) -> Result<RegressionReport> {
        RegressionReport::of(&self.predictions(features)?, targets)
    }
}

/// Sums over the samples, from which the map for any penalty follows without another pass over them.
pub(super) struct NormalEquations {
    /// Of the features around their means, with the targets around theirs.
    moments: Moments,
    feature_mean: Vec<f64>,
    target_mean: Vec<f64>,
    rows: usize,
}

impl NormalEquations {
    /// Sums `features` (`[n, d]`) and `targets` (`[n, m]`), in two passes over the features.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs.
    pub(super) fn of(features: &dyn Rows, targets: &Matrix) -> Result<Self> {
        check_any("features", features)?;
        check_matrix("targets", targets)?;
        check_size("targets", targets, features.rows(), targets.columns())?;
        let (feature_mean, target_mean) = (moments::means(features)?, dense::column_means(targets));
        if feature_mean.iter().any(|mean| !mean.is_finite()) {
            check_finite("features", features)?;
        }
        let moments = Moments::of(features, &feature_mean, &dense::centred(targets, &target_mean))?;
        Ok(Self { moments, feature_mean, target_mean, rows: features.rows() })
    }

    /// The map with the least J for the penalty `regularisation`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `regularisation` is negative, [`Error::Degenerate`] if it is 0 and a feature is constant
    /// or a combination of others.
    pub(super) fn solve(&self, regularisation: f64) -> Result<Ridge> {
        within("regularisation", regularisation, 0.0, f64::MAX)?;
        let Moments { products, cross, .. } = &self.moments;
        let mut moments = products.clone();
        let alpha = regularisation * (self.rows * cross.columns()) as f64;
        for j in 0..moments.rows() {
            moments[(j, j)] += alpha;
        }
        let factor = dense::view(&moments).llt(Side::Lower).map_err(|_| collinear())?;
        let pivots = (0..moments.rows()).map(|j| factor.L()[(j, j)].powi(2));
        let (least, most) = pivots.fold((f64::INFINITY, 0.0_f64), |(l, m), p| (l.min(p), m.max(p)));
        if regularisation == 0.0 && least <= COLLINEAR * most {
            return Err(collinear());
        }
        let mut solution = cross.clone();
        factor.solve_in_place(dense::view_mut(&mut solution));
        let weight = Matrix::from_fn(cross.columns(), cross.rows(), |k, j| solution[(j, k)]);
        let means = weight.iter_rows().zip(&self.target_mean);
        let bias = means.map(|(w, t)| t - dot(w, &self.feature_mean)).collect();
        Ok(Ridge { weight, bias })
    }
}

fn collinear() -> Error {
    Error::Degenerate {
        reason: "a feature is constant or a combination of others, so its weight is not determined".into(),
        remedy: "set `regularisation` above 0".into(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    /// `np.array([[((7*i*i+31*j*j+13*i*j+s*i+s) % 23)/5 for j in range(d)] for i in range(n)])`
    fn table(n: usize, d: usize, s: usize) -> Matrix {
        Matrix::from_fn(n, d, |i, j| ((7 * i * i + 31 * j * j + 13 * i * j + s * i + s) % 23) as f64 / 5.0)
    }

    /// `np.array([[3*x[0]-x[2]+np.cos(t*i), 100+x[1]*x[3]] for i, x in enumerate(X)])`
    fn targets(x: &Matrix, t: f64) -> Matrix {
        Matrix::from_fn(x.rows(), 2, |i, k| match (x.row(i), k) {
            (row, 0) => 3.0 * row[0] - row[2] + (t * i as f64).cos(),
            (row, _) => 100.0 + row[1] * row[3],
        })
    }

    /* Equivalent Python (scikit-learn 1.9.1), X = table(30, 4, 3), T = table(12, 4, 5), targets with t = 1 and 2:
    m = Ridge(alpha=lam * 30 * 2).fit(X, Y); p = m.predict(T)
    m.coef_, m.intercept_, mean_squared_error(U, p), r2_score(U, p, multioutput="variance_weighted") */
    #[test]
    fn agrees_with_scikit_learn() {
        let expected = [
            (
                0.0,
                [
                    [2.969578032961243, 0.11771747434984012, -1.134820288393685, 0.013731596714721734],
                    [0.2685103874133347, 1.9686084196197702, 0.30971609570155784, 2.255976508012258],
                ],
                [0.023941844671802492, 94.34749442449879],
                1.4423622980595276,
                0.9224429902677443,
            ),
            (
                0.05,
                [
                    [2.773046113081652, 0.11326268573887179, -1.1008424797137033, 0.010199817378008768],
                    [0.2507327550048541, 1.822990015607836, 0.2983032002835655, 2.1101507036856675],
                ],
                [0.4104521712189806, 94.97753142242811],
                1.6542739628080319,
                0.9110483253715603,
            ),
        ];
        let (x, t) = (table(30, 4, 3), table(12, 4, 5));
        for (regularisation, weight, bias, mse, r2) in expected {
            let ridge = Ridge::fit(&x, &targets(&x, 1.0), regularisation).unwrap();
            for k in 0..2 {
                assert!(ridge.weight.row(k).iter().zip(weight[k]).all(|(a, b)| (a - b).abs() < 1e-10));
                assert!((ridge.bias[k] - bias[k]).abs() < 1e-9);
            }
            let report = ridge.evaluate(&t, &targets(&t, 2.0)).unwrap();
            assert!((report.mse - mse).abs() < 1e-10);
            assert!((report.r2.unwrap() - r2).abs() < 1e-10);
        }
    }

    #[test]
    fn an_exact_map_is_recovered_and_an_unrelated_target_is_not() {
        let x = table(40, 3, 2);
        let exact = Matrix::from_fn(40, 1, |i, _| 7.0 - 2.0 * x.row(i)[0] + 0.5 * x.row(i)[2]);
        let report = Ridge::fit(&x, &exact, 0.0).unwrap().evaluate(&x, &exact).unwrap();
        assert!(report.mse < 1e-20 && (report.r2.unwrap() - 1.0).abs() < 1e-12);
        let strong = Ridge::fit(&x, &exact, 1e9).unwrap().evaluate(&x, &exact).unwrap();
        assert!(strong.r2.unwrap().abs() < 1e-6 && (strong.mse - strong.mse_of_mean).abs() < 1e-6);
    }

    #[test]
    fn collinear_features_need_regularisation() {
        let x = Matrix::from_fn(20, 2, |i, j| (i * i % 7) as f64 * (j + 1) as f64);
        let y = Matrix::from_fn(20, 1, |i, _| i as f64);
        assert!(matches!(Ridge::fit(&x, &y, 0.0), Err(Error::Degenerate { .. })));
        assert!(Ridge::fit(&x, &y, 1e-6).is_ok());
        let constant = Matrix::from_fn(20, 1, |_, _| 3.0);
        assert!(matches!(Ridge::fit(&constant, &y, 0.0), Err(Error::Degenerate { .. })));
        let fitted = Ridge::fit(&constant, &y, 1e-6).unwrap();
        assert!((fitted.bias[0] - 9.5).abs() < 1e-9);
    }

    #[test]
    fn constant_targets_have_no_r2_and_bad_inputs_are_errors() {
        let x = table(10, 2, 1);
        let constant = Matrix::from_fn(10, 2, |_, _| 0.1);
        let report = Ridge::fit(&x, &constant, 0.1).unwrap().evaluate(&x, &constant).unwrap();
        assert_eq!((report.r2, report.mse_of_mean), (None, 0.0));
        assert!(matches!(Ridge::fit(&x, &Matrix::zeros(9, 1), 0.1), Err(Error::Shape { .. })));
        assert!(matches!(Ridge::fit(&x, &constant, -0.1), Err(Error::Parameter { .. })));
        assert!(matches!(
            Ridge::fit(&Matrix::zeros(0, 2), &Matrix::zeros(0, 1), 0.1),
            Err(Error::Shape { .. })
        ));
    }
}
