//! Principal components: the plane in which a map of the embeddings is drawn.

use faer::{MatRef, Side};
use simile_kernels::cpu::vectors::dot;

use super::{check_matrix, check_size, dense};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;

/// Directions of largest variance.
///
/// Signs are fixed so that the same data give the same map: in every component the coordinate of largest
/// absolute value (the first of them) is positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Pca {
    mean: Vec<f64>,
    components: Matrix,
    variance: Vec<f64>,
    total_variance: f64,
}

impl Pca {
    /// Computes `count` components of `features` (`[n, d]`) from the eigenvectors of the covariance, or of the Gram
    /// matrix of the samples if that is smaller.
    ///
    /// Components without variance are zero if the Gram matrix is used, and arbitrary otherwise; the
    /// projection on them is zero in both cases.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs, [`Error::Parameter`] if `count` is 0 or
    /// above `min(n, d)`, [`Error::Degenerate`] if the eigenvalues do not converge, as with values that
    /// overflow when squared.
    pub fn fit(features: &Matrix, count: usize) -> Result<Self> {
        check_matrix("features", features)?;
        let (n, d) = (features.rows(), features.columns());
        if count == 0 || count > n.min(d) {
            let range = format!("expected 1 to {}, the smaller side of the features", n.min(d));
            return Err(Error::parameter("components", count, &range));
        }
        let mean = dense::column_means(features);
        let centred = dense::centred(features, &mean);
        let divisor = (n - 1).max(1) as f64;
        let total_variance = dot(centred.data(), centred.data()) / divisor;
        let (mut components, variance) = if d <= n {
            from_covariance(&centred, count, divisor)?
        } else {
            from_gram(&centred, count, divisor)?
        };
        for k in 0..count {
            fix_sign(components.row_mut(k));
        }
        Ok(Self { mean, components, variance, total_variance })
    }

    /// Coordinates of `features` (`[m, d]`) in the components: `[m, count]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of features differs.
    pub fn project(&self, features: &Matrix) -> Result<Matrix> {
        check_size("features", features, features.rows(), self.mean.len())?;
        let centred = dense::centred(features, &self.mean);
        Ok(dense::times_transpose(dense::view(&centred), dense::view(&self.components)))
    }

    /// `[count, d]`, orthonormal rows.
    pub fn components(&self) -> &Matrix {
        &self.components
    }

    /// Variance along every component (divisor `n - 1`), largest first.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// Fraction of the variance of all features along every component; 0 for constant features.
    pub fn variance_ratio(&self) -> Vec<f64> {
        let total = if self.total_variance > 0.0 { self.total_variance } else { 1.0 };
        self.variance.iter().map(|v| v / total).collect()
    }
}

fn from_covariance(centred: &Matrix, count: usize, divisor: f64) -> Result<(Matrix, Vec<f64>)> {
    let moments = dense::transpose_times(centred, centred);
    let (vectors, values) = eigen(&moments, count)?;
    Ok((vectors, values.iter().map(|v| v.max(0.0) / divisor).collect()))
}

fn from_gram(centred: &Matrix, count: usize, divisor: f64) -> Result<(Matrix, Vec<f64>)> {
    let gram = dense::times_transpose(dense::view(centred), dense::view(centred));
    let (vectors, values) = eigen(&gram, count)?;
    let mut components = Matrix::zeros(count, centred.columns());
    dense::gemm(dense::view_mut(&mut components), dense::view(&vectors), dense::view(centred), 1.0);
    let smallest = f64::EPSILON * centred.rows() as f64 * values.iter().copied().fold(0.0, f64::max);
    for (k, &value) in values.iter().enumerate() {
        let scale = if value > smallest { 1.0 / value.sqrt() } else { 0.0 };
        components.row_mut(k).iter_mut().for_each(|v| *v *= scale);
    }
    Ok((components, values.iter().map(|v| v.max(0.0) / divisor).collect()))
}

/// The `count` largest eigenvalues of a symmetric matrix, and their vectors as rows.
fn eigen(symmetric: &Matrix, count: usize) -> Result<(Matrix, Vec<f64>)> {
    let failed = |_| Error::Degenerate {
        reason: "the eigenvalues of the features' covariance did not converge".into(),
        remedy: "scale the features to moderate size".into(),
    };
    if symmetric.first_not_finite().is_some() {
        return Err(failed(()));
    }
    let decomposition = dense::view(symmetric).self_adjoint_eigen(Side::Lower).map_err(|_| failed(()))?;
    let (vectors, values): (MatRef<'_, f64>, _) = (decomposition.U(), decomposition.S().column_vector());
    let last = symmetric.rows() - 1;
    let rows = Matrix::from_fn(count, symmetric.rows(), |k, j| vectors[(j, last - k)]);
    Ok((rows, (0..count).map(|k| values[last - k]).collect()))
}

fn fix_sign(component: &mut [f64]) {
    let largest = component.iter().fold(0.0_f64, |best, &v| if v.abs() > best.abs() { v } else { best });
    if largest < 0.0 {
        component.iter_mut().for_each(|v| *v = -*v);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn wave(rows: usize, columns: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |i, j| {
            ((i * 13 + j * 7) as f64).sin() * (columns - j) as f64 + i as f64 * 0.1
        })
    }

    #[test]
    fn both_routes_agree() {
        let features = wave(5, 5);
        let mean = dense::column_means(&features);
        let centred = dense::centred(&features, &mean);
        let (mut a, va) = from_covariance(&centred, 2, 4.0).unwrap();
        let (mut b, vb) = from_gram(&centred, 2, 4.0).unwrap();
        for k in 0..2 {
            fix_sign(a.row_mut(k));
            fix_sign(b.row_mut(k));
            assert!((va[k] - vb[k]).abs() < 1e-10 * va[0]);
        }
        assert!(a.data().iter().zip(b.data()).all(|(x, y)| (x - y).abs() < 1e-9));
    }

    #[test]
    fn components_are_orthonormal_and_projections_have_their_variance() {
        for features in [wave(40, 6), wave(6, 40)] {
            let pca = Pca::fit(&features, 2).unwrap();
            let gram = dense::times_transpose(dense::view(pca.components()), dense::view(pca.components()));
            assert!((gram[(0, 0)] - 1.0).abs() < 1e-10 && gram[(0, 1)].abs() < 1e-10);
            let map = pca.project(&features).unwrap();
            let first = map.iter_rows().map(|r| r[0] * r[0]).sum::<f64>() / (features.rows() - 1) as f64;
            assert!((first - pca.variance()[0]).abs() < 1e-9 * first);
            assert!(
                pca.variance()[0] >= pca.variance()[1]
                    && pca.variance_ratio().iter().sum::<f64>() <= 1.0 + 1e-12
            );
        }
    }

    #[test]
    fn a_line_is_found_with_a_fixed_sign() {
        let line = Matrix::from_fn(10, 3, |i, j| -(i as f64) * [0.0, 3.0, 4.0][j]);
        let pca = Pca::fit(&line, 1).unwrap();
        assert!(pca.components().data().iter().zip([0.0, 0.6, 0.8]).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!((pca.variance_ratio()[0] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn constant_features_project_to_zero_and_bad_counts_are_errors() {
        for features in [Matrix::from_fn(5, 3, |_, j| j as f64), Matrix::from_fn(3, 5, |_, j| j as f64)] {
            let pca = Pca::fit(&features, 2).unwrap();
            assert_eq!(pca.variance_ratio(), [0.0, 0.0]);
            assert!(pca.project(&features).unwrap().data().iter().all(|v| v.abs() < 1e-12));
            for count in [0, 4] {
                assert!(matches!(Pca::fit(&features, count), Err(Error::Parameter { .. })));
            }
        }
        let huge = Matrix::new(2, 1, vec![1e200, -1e200]).unwrap();
        assert!(matches!(Pca::fit(&huge, 1), Err(Error::Degenerate { .. })));
    }
}
