//! The shape of a representation: alignment, uniformity, effective rank, silhouette.

use simile_kernels::cpu::exp::exp_of_slice;
use simile_kernels::cpu::vectors::squared_distance;

use super::blocks::check_finite;
use super::cluster::rename_by_occurrence;
use super::triangle::condensed;
use super::{check_labels, check_matrix, check_size, dense};
use crate::error::{Error, Result, positive};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::Rows;

/// Alignment (Wang & Isola, ICML 2020): mean over positive pairs of `|a_i - b_i|^alpha`. Both are `[n, d]`,
/// normally of unit rows. 0 is perfect.
///
/// # Errors
/// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs, [`Error::Parameter`] unless `alpha` is above
/// 0.
pub fn alignment(view_a: &Matrix, view_b: &Matrix, alpha: f64) -> Result<f64> {
    check_matrix("view_a", view_a)?;
    check_matrix("view_b", view_b)?;
    check_size("view_b", view_b, view_a.rows(), view_a.columns())?;
    positive("alpha", alpha)?;
    let pairs = view_a.iter_rows().zip(view_b.iter_rows());
    let total: f64 = pairs.map(|(a, b)| squared_distance(a, b).powf(alpha / 2.0)).sum();
    Ok(total / view_a.rows() as f64)
}

/// Uniformity (Wang & Isola, ICML 2020): logarithm of the mean over pairs `i < j` of `exp(-t |x_i - x_j|²)`, of `rows`, `[n, d]`, as
/// given. Lower is more uniform; 0 where all rows coincide. Of unit rows it is never below `-2 t n / (n - 1)`, and about
/// `-2 t + 2 t² / d` if they are spread over the sphere of many dimensions `d`.
///
/// # Errors
/// [`Error::Shape`] with fewer than two rows, [`Error::NotFinite`], [`Error::Parameter`] unless `t` is above
/// 0.
pub fn uniformity(rows: &Matrix, t: f64) -> Result<f64> {
    check_matrix("features", rows)?;
    positive("t", t)?;
    if rows.rows() < 2 {
        return Err(Error::shape("features", "at least two rows", "one"));
    }
    let (mut most, mut total) = (f64::NEG_INFINITY, 0.0);
    let mut terms = Vec::with_capacity(rows.rows());
    dense::for_each_distance_row(rows, |i, distances| {
        terms.clear();
        terms.extend(distances[i + 1..].iter().map(|distance| -t * distance));
        let nearest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if nearest > most {
            total *= (most - nearest).exp();
            most = nearest;
        }
        terms.iter_mut().for_each(|term| *term -= most);
        exp_of_slice(&mut terms);
        total += terms.iter().sum::<f64>();
    });
    let pairs = rows.rows() as f64 * (rows.rows() - 1) as f64 / 2.0;
    Ok(most + (total / pairs).ln())
}

/// Effective rank (Roy & Vetterli 2007; RankMe, Garrido et al. 2023): the exponential of the entropy of the
/// singular values, normalised to sum one, of `features` (`[n, d]`) as given. From 1 (collapsed) to `min(n,
/// d)`. They are read by blocks, and the memory is that of a few times `d²` numbers.
///
/// # Errors
/// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs, [`Error::Degenerate`] if all values are 0.
pub fn effective_rank(features: &dyn Rows) -> Result<f64> {
    check_finite("features", features)?;
    let values = dense::view(&condensed(features)?).singular_values().map_err(|_| Error::Degenerate {
        reason: "the singular values of the features did not converge".into(),
        remedy: "scale the features to moderate size".into(),
    })?;
    let total: f64 = values.iter().sum();
    if total <= 0.0 {
        return Err(Error::Degenerate {
            reason: "all features are 0, which has no rank".into(),
            remedy: "check the encoder for collapse".into(),
        });
    }
    let entropy: f64 = values.iter().map(|v| v / total).filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum();
    Ok(entropy.exp())
}

/// Mean silhouette (Rousseeuw 1987) of the classes in Euclidean distance, from -1 to 1: `(b - a) / max(a, b)`
/// with `a` the mean distance to the own class and `b` to the nearest other class. A class of one sample
/// scores 0. Equal to scikit-learn's `silhouette_score`; `n²` distances in blocks.
///
/// # Errors
/// [`Error::Shape`] or [`Error::NotFinite`] for unusable inputs, [`Error::Degenerate`] unless between 2 and
/// `n - 1` classes occur.
pub fn silhouette(features: &Matrix, labels: &[usize]) -> Result<f64> {
    check_matrix("features", features)?;
    let mut labels = labels.to_vec();
    let classes = rename_by_occurrence(&mut labels);
    check_labels("labels", &labels, features.rows(), classes)?;
    let mut counts = vec![0_usize; classes];
    labels.iter().for_each(|&label| counts[label] += 1);
    if classes < 2 || classes >= labels.len() {
        return Err(Error::Degenerate {
            reason: format!("{classes} classes in {} samples have no silhouette", labels.len()),
            remedy: "evaluate at least 2 classes, fewer than samples".into(),
        });
    }
    let mut total = 0.0;
    dense::for_each_distance_row(features, |i, distances| {
        let mut sums = vec![0.0; classes];
        distances.iter().zip(&labels).for_each(|(d, &label)| sums[label] += d.sqrt());
        let own = labels[i];
        if counts[own] > 1 {
            let inner = sums[own] / (counts[own] - 1) as f64;
            let outer = (0..classes)
                .filter(|&c| c != own)
                .map(|c| sums[c] / counts[c] as f64)
                .fold(f64::INFINITY, f64::min);
            let larger = inner.max(outer);
            total += if larger > 0.0 { (outer - inner) / larger } else { 0.0 };
        }
    });
    Ok(total / labels.len() as f64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use crate::eval::blocks::testing::InBlocks;
    use crate::eval::unit::unit_rows;

    /// `np.array([[((7*i*i+31*j*j+13*i*j+s*i+s) % 23)/5 for j in range(d)] for i in range(n)])`
    fn table(n: usize, d: usize, s: usize) -> Matrix {
        Matrix::from_fn(n, d, |i, j| ((7 * i * i + 31 * j * j + 13 * i * j + s * i + s) % 23) as f64 / 5.0)
    }

    /* Equivalent Python, X = table(30, 4, 3), xn = X / np.linalg.norm(X, axis=1, keepdims=True):
    np.log(np.exp(-2 * scipy.spatial.distance.pdist(xn)**2).mean())
    (np.linalg.norm(xn[:15] - xn[15:], axis=1)**1.5).mean()
    s = np.linalg.svd(X, compute_uv=False); p = s / s.sum(); np.exp(-(p * np.log(p)).sum())
    L = [(i*i) % 3 if i != 7 else 4 for i in range(30)]; silhouette_score(cdist(X, X), L, metric="precomputed")
    (from the features themselves, scikit-learn puts samples that coincide 1e-7 apart) */
    #[test]
    fn agrees_with_numpy_and_scikit_learn() {
        let x = table(30, 4, 3);
        let unit = unit_rows(&x);
        let (first, second): (Vec<usize>, Vec<usize>) = ((0..15).collect(), (15..30).collect());
        assert!((uniformity(&unit, 2.0).unwrap() + 0.783945945989387).abs() < 1e-12);
        let alignment = alignment(&unit.select(&first), &unit.select(&second), 1.5).unwrap();
        assert!((alignment - 0.5842591618724742).abs() < 1e-12);
        assert!((effective_rank(&x).unwrap() - 3.317553452470123).abs() < 1e-12);
        let labels: Vec<usize> = (0..30).map(|i| if i == 7 { 4 } else { i * i % 3 }).collect();
        assert!((silhouette(&x, &labels).unwrap() + 0.0570340038499854).abs() < 1e-12);
    }

    #[test]
    fn a_collapsed_representation_has_rank_one_and_an_orthonormal_one_full_rank() {
        let collapsed = Matrix::from_fn(10, 4, |i, j| (i + 1) as f64 * (j + 1) as f64);
        assert!((effective_rank(&collapsed).unwrap() - 1.0).abs() < 1e-6);
        let identity = Matrix::from_fn(5, 5, |i, j| f64::from(u8::from(i == j)));
        assert!((effective_rank(&identity).unwrap() - 5.0).abs() < 1e-12);
        assert!(matches!(effective_rank(&Matrix::zeros(3, 2)), Err(Error::Degenerate { .. })));
    }

    /// All of them were copied to `f64` at once.
    #[test]
    fn the_effective_rank_of_many_rows_is_read_by_blocks() {
        let x = Matrix::from_fn(30_000, 30, |i, j| {
            ((i * i + 31 * j * j + 13 * i * j) % 1009) as f64 / (1 + j) as f64
        });
        let values = dense::view(&x).singular_values().unwrap();
        let total: f64 = values.iter().sum();
        let expected = values.iter().map(|v| v / total).map(|p| -p * p.ln()).sum::<f64>().exp();
        let found = effective_rank(&InBlocks(&x)).unwrap();
        assert!((found - expected).abs() < 1e-9 * expected && found > 2.0, "{found} {expected}");
        let mut bad = x;
        bad[(29_000, 7)] = f64::NAN;
        let error = effective_rank(&InBlocks(&bad));
        assert_eq!(error, Err(Error::NotFinite { input: "features".into(), row: 29_000 }));
    }

    #[test]
    fn coinciding_rows_are_aligned_and_not_uniform() {
        let same = unit_rows(&Matrix::from_fn(6, 3, |_, j| (j + 1) as f64));
        assert_eq!(alignment(&same, &same, 2.0).unwrap(), 0.0);
        assert!(uniformity(&same, 2.0).unwrap().abs() < 1e-12);
    }

    #[test]
    fn a_sharp_uniformity_does_not_underflow() {
        let far = Matrix::column(&[0.0, 100.0, 250.0]);
        let expected = -1e4 - 3_f64.ln();
        assert!((uniformity(&far, 1.0).unwrap() - expected).abs() < 1e-9);
    }

    #[test]
    fn silhouette_grows_with_separation_and_ignores_where_the_origin_is() {
        let at = |gap: f64, shift: f64| {
            let points =
                Matrix::from_fn(20, 2, |i, j| ((i * 7 + j) as f64).sin() + gap * (i % 2) as f64 + shift);
            silhouette(&points, &(0..20).map(|i| i % 2).collect::<Vec<_>>()).unwrap()
        };
        assert!(at(10.0, 0.0) > at(3.0, 0.0) && at(3.0, 0.0) > at(0.0, 0.0));
        assert!((at(3.0, 0.0) - at(3.0, 1e6)).abs() < 1e-6);
    }

    #[test]
    fn one_class_or_one_class_a_sample_has_no_silhouette() {
        let points = Matrix::column(&[1.0, 2.0, 3.0]);
        for labels in [[0, 0, 0], [0, 1, 2]] {
            assert!(matches!(silhouette(&points, &labels), Err(Error::Degenerate { .. })));
        }
        assert!(matches!(silhouette(&points, &[0, 1]), Err(Error::Shape { .. })));
        assert_eq!(silhouette(&Matrix::column(&[1.0, 1.0, 1.0]), &[0, 0, 1]).unwrap(), 0.0);
    }

    #[test]
    fn a_silhouette_does_not_depend_on_the_numbers_of_the_classes() {
        let points = Matrix::column(&[1.0, 2.0, 7.0, 9.0]);
        let far_apart = silhouette(&points, &[usize::MAX, usize::MAX, 3, 3]).unwrap();
        assert_eq!(far_apart, silhouette(&points, &[0, 0, 1, 1]).unwrap());
    }

    #[test]
    fn distances_do_not_depend_on_the_block() {
        let points = Matrix::from_fn(1500, 2, |i, j| ((i * 2 + j) as f64).sin());
        dense::for_each_distance_row(&points, |i, row| {
            let j = (i * 31) % 1500;
            let direct: f64 = points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b).powi(2)).sum();
            assert!((row[j] - direct).abs() < 1e-12);
        });
    }
}
