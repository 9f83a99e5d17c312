//! Principal components: the plane in which a map of the embeddings is drawn.

use faer::{MatRef, Side};
use simile_kernels::cpu::vectors::dot;

use super::blocks::{check_columns, check_finite, rows_of_block};
use super::dense;
use super::moments::{Moments, means};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Rows, to_matrix};

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
    /// matrix of the samples if that is smaller. The covariance is summed by blocks; samples that are fewer than their
    /// features are copied.
    ///
    /// Components without variance are zero if the Gram matrix is used, and arbitrary otherwise; the
    /// projection on them is zero in both cases.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs, [`Error::Parameter`] if `count` is 0 or
    /// above `min(n, d)`, [`Error::Degenerate`] if the eigenvalues do not converge, as with values that
    /// overflow when squared.
    pub fn fit(features: &dyn Rows, count: usize) -> Result<Self> {
        check_finite("features", features)?;
        let (n, d) = (features.rows(), features.columns());
        if count == 0 || count > n.min(d) {
            let range = format!("expected 1 to {}, the smaller side of the features", n.min(d));
            return Err(Error::parameter("components", count, &range));
        }
        let mean = means(features)?;
        let Spectrum { mut components, values, total } = if d <= n {
            from_covariance(features, &mean, count)?
        } else {
            from_gram(features, &mean, count)?
        };
        for k in 0..count {
            fix_sign(components.row_mut(k));
        }
        let divisor = (n - 1).max(1) as f64;
        let variance = values.iter().map(|value| value.max(0.0) / divisor).collect();
        Ok(Self { mean, components, variance, total_variance: total / divisor })
    }

    /// Coordinates of `features` (`[m, d]`) in the components: `[m, count]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of features differs.
    pub fn project(&self, features: &dyn Rows) -> Result<Matrix> {
        to_matrix(&self.of(features)?)
    }

    /// Rows (`[m, d]`) as their coordinates in the components (`[m, count]`), which are computed where the rows are read: nothing is
    /// copied.
    ///
    /// # Errors
    /// As [`Pca::project`].
    pub fn of<R: Rows>(&self, rows: R) -> Result<Projected<'_, R>> {
        check_columns(&rows, self.mean.len())?;
        Ok(Projected { rows, pca: self })
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

/// Rows as their coordinates in components, which are computed where the rows are read.
#[derive(Debug, Clone, Copy)]
pub struct Projected<'a, R> {
    rows: R,
    pca: &'a Pca,
}

impl<R: Rows> Rows for Projected<'_, R> {
    fn is_single(&self) -> bool {
        self.rows.is_single()
    }

    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn columns(&self) -> usize {
        self.pca.components.rows()
    }

    fn read(&self, first: usize, mut out: Buffer<'_>) -> Result<()> {
        let Pca { mean, components, .. } = self.pca;
        let (columns, count) = (mean.len(), components.rows());
        // The block that is asked for can be many rows, because it has fewer columns.
        let (rows, step) = (out.len() / count, rows_of_block(columns));
        for start in (0..rows).step_by(step) {
            let mut block = Matrix::zeros(step.min(rows - start), columns);
            self.rows.read(first + start, Buffer::Double(block.data_mut()))?;
            dense::centre(&mut block, mean);
            let places = dense::times_transpose(dense::view(&block), dense::view(components));
            out.part(start * count, places.data().len()).copy(places.data());
        }
        Ok(())
    }
}

/// The components of centred samples with the largest eigenvalues of their moments, and the sum of all eigenvalues.
struct Spectrum {
    components: Matrix,
    values: Vec<f64>,
    total: f64,
}

fn from_covariance(features: &dyn Rows, mean: &[f64], count: usize) -> Result<Spectrum> {
    let no_targets = Matrix::zeros(features.rows(), 0);
    let moments = Moments::of(features, mean, &no_targets)?.products;
    let total = (0..moments.rows()).map(|j| moments[(j, j)]).sum();
    let (components, values) = eigen(&moments, count)?;
    Ok(Spectrum { components, values, total })
}

fn from_gram(features: &dyn Rows, mean: &[f64], count: usize) -> Result<Spectrum> {
    let mut centred = to_matrix(features)?;
    dense::centre(&mut centred, mean);
    let gram = dense::times_transpose(dense::view(&centred), dense::view(&centred));
    let (vectors, values) = eigen(&gram, count)?;
    let mut components = Matrix::zeros(count, centred.columns());
    dense::gemm(dense::view_mut(&mut components), dense::view(&vectors), dense::view(&centred), 1.0);
    let smallest = f64::EPSILON * centred.rows() as f64 * values.iter().copied().fold(0.0, f64::max);
    for (k, &value) in values.iter().enumerate() {
        let scale = if value > smallest { 1.0 / value.sqrt() } else { 0.0 };
        components.row_mut(k).iter_mut().for_each(|v| *v *= scale);
    }
    let total = dot(centred.data(), centred.data());
    Ok(Spectrum { components, values, total })
}

/// The `count` largest eigenvalues of a symmetric matrix, of which the lower triangle is read, and their vectors as rows.
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
    use crate::eval::blocks::testing::InBlocks;

    fn wave(rows: usize, columns: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |i, j| {
            ((i * 13 + j * 7) as f64).sin() * (columns - j) as f64 + i as f64 * 0.1
        })
    }

    #[test]
    fn both_routes_agree() {
        let features = wave(5, 5);
        let mean = dense::column_means(&features);
        let mut a = from_covariance(&features, &mean, 2).unwrap();
        let mut b = from_gram(&features, &mean, 2).unwrap();
        for k in 0..2 {
            fix_sign(a.components.row_mut(k));
            fix_sign(b.components.row_mut(k));
            assert!((a.values[k] - b.values[k]).abs() < 1e-10 * a.values[0]);
        }
        assert!((a.total - b.total).abs() < 1e-10 * a.total);
        let mut pairs = a.components.data().iter().zip(b.components.data());
        assert!(pairs.all(|(x, y)| (x - y).abs() < 1e-9));
    }

    /// All of them were copied to `f64` at once, and once more around their mean.
    #[test]
    fn many_samples_are_read_by_blocks() {
        let value = |i: usize, j: usize| ((i * i + 31 * j * j + 13 * i * j) % 1009) as f64 / (1 + j) as f64;
        let features = Matrix::from_fn(30_000, 30, value);
        let mean = dense::column_means(&features);
        let centred = dense::centred(&features, &mean);
        let (mut components, values) = eigen(&dense::transpose_times(&centred, &centred), 3).unwrap();
        (0..3).for_each(|k| fix_sign(components.row_mut(k)));
        let pca = Pca::fit(&InBlocks(&features), 3).unwrap();
        let close = |a: &[f64], b: &[f64], scale: f64| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * scale)
        };
        assert!(close(pca.components().data(), components.data(), 1.0));
        let variance: Vec<f64> = values.iter().map(|value| value / 29_999.0).collect();
        assert!(close(pca.variance(), &variance, variance[0]));
        let total = dot(centred.data(), centred.data()) / 29_999.0;
        let ratio: Vec<f64> = variance.iter().map(|variance| variance / total).collect();
        assert!(close(&pca.variance_ratio(), &ratio, 1.0));
        let places = dense::times_transpose(dense::view(&centred), dense::view(&components));
        assert!(close(pca.project(&InBlocks(&features)).unwrap().data(), places.data(), 1e3));
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
