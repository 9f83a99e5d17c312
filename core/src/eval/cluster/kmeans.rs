//! k-means by Lloyd's iterations from k-means++ (Arthur & Vassilvitskii, SODA 2007), best of several
//! restarts.
//!
//! ```text
//! inertia = Σ_i min_c |x_i - m_c|²
//! ```
//!
//! Each further centre is the best of `2 + ln k` candidates drawn with probability proportional to the squared
//! distance to the nearest centre so far, as in scikit-learn. A cluster that loses all its points takes the point
//! that is farthest from its own centre. Clusters are numbered in the order in which they first occur in the data,
//! so that the same partition has the same ids for every seed.
//!
//! CCL-K did not release its k-means. Cl-InfoNCE has faiss, with 20 iterations and 5 restarts, on the features of each epoch. The
//! defaults here are scikit-learn's.

use rand::{Rng, RngExt as _};
use simile_kernels::cpu::vectors::squared_distance;

use super::rename_by_occurrence;
use crate::error::{Error, Result};
use crate::numeric::matrix::{Matrix, check_values};

/// Settings of k-means.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansConfig {
    /// Number of clusters, from 1 to the number of points.
    pub k: usize,
    /// Number of runs from new centres, 1 or more; the best is kept. Default: `10`.
    pub restarts: usize,
    /// Maximum number of iterations of a run, 1 or more. Default: `300`.
    pub iterations: usize,
}

/// A partition into `k` clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    /// `[k, d]`, the mean of every cluster.
    pub centres: Matrix,
    /// Cluster of every point, numbered in the order in which they first occur.
    pub labels: Vec<usize>,
    /// Sum of squared distances to the centres.
    pub inertia: f64,
    /// True if the best run ended because no point changed its cluster.
    pub converged: bool,
}

impl KMeans {
    /// Number of points in every cluster.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.centres.rows()];
        self.labels.iter().for_each(|&label| sizes[label] += 1);
        sizes
    }

    /// The nearest centre of every row of `points` (`[m, d]`); the lower cluster where two are equally near.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of columns differs or there is no row, [`Error::NotFinite`] or [`Error::TooLarge`], of a
    /// value above 1e100 in size, naming the first bad row.
    pub fn assign(&self, points: &Matrix) -> Result<Vec<usize>> {
        check(points)?;
        if points.columns() != self.centres.columns() {
            let expected = format!("{} columns, as in the points clustered", self.centres.columns());
            return Err(Error::shape("points", expected, format!("{} columns", points.columns())));
        }
        Ok(points.iter_rows().map(|point| nearest(point, &self.centres).0).collect())
    }
}

impl KMeansConfig {
    /// `k` clusters with the default restarts and iterations.
    pub fn new(k: usize) -> Self {
        Self { k, restarts: 10, iterations: 300 }
    }

    /// Clusters `points` (`[n, d]`).
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`] or, of a value above 1e100 in size, [`Error::TooLarge`] for unusable points,
    /// [`Error::Parameter`] if `k` is 0 or above `n`, or if `restarts` or `iterations` is 0, [`Error::Degenerate`] if fewer than `k`
    /// points are distinct; it reports the largest possible `k`.
    pub fn fit(&self, points: &Matrix, rng: &mut impl Rng) -> Result<KMeans> {
        check(points)?;
        if self.k == 0 || self.k > points.rows() {
            let range = format!("expected 1 to {}, the number of points", points.rows());
            return Err(Error::parameter("k", self.k, &range));
        }
        if self.restarts == 0 {
            return Err(Error::parameter("restarts", 0, "expected at least 1"));
        }
        if self.iterations == 0 {
            return Err(Error::parameter("iterations", 0, "expected at least 1"));
        }
        let mut best = self.run(points, rng)?;
        for _ in 1..self.restarts {
            let run = self.run(points, rng)?;
            if run.inertia < best.inertia {
                best = run;
            }
        }
        rename_by_occurrence(&mut best.labels);
        best.centres = means(points, &best.labels, self.k);
        Ok(best)
    }

    fn run(&self, points: &Matrix, rng: &mut impl Rng) -> Result<KMeans> {
        let mut centres = self.seed(points, rng)?;
        let mut labels = vec![usize::MAX; points.rows()];
        let mut distances = vec![0.0; points.rows()];
        let mut converged = false;
        for _ in 0..self.iterations {
            let mut changed = false;
            for (i, point) in points.iter_rows().enumerate() {
                let (label, distance) = nearest(point, &centres);
                changed |= label != labels[i];
                (labels[i], distances[i]) = (label, distance);
            }
            changed |= fill_empty(&mut labels, &mut distances, self.k);
            if !changed {
                converged = true;
                break;
            }
            centres = means(points, &labels, self.k);
        }
        let inertia =
            points.iter_rows().zip(&labels).map(|(p, &label)| squared_distance(p, centres.row(label))).sum();
        Ok(KMeans { centres, labels, inertia, converged })
    }

    /// k-means++ with the best of several candidates for every centre.
    fn seed(&self, points: &Matrix, rng: &mut impl Rng) -> Result<Matrix> {
        let n = points.rows();
        let candidates = 2 + (self.k as f64).ln() as usize;
        let mut chosen = vec![rng.random_range(0..n)];
        let mut nearest: Vec<f64> =
            points.iter_rows().map(|p| squared_distance(p, points.row(chosen[0]))).collect();
        while chosen.len() < self.k {
            let total: f64 = nearest.iter().sum();
            if total <= 0.0 {
                return Err(Error::Degenerate {
                    reason: format!(
                        "`points` has only {} distinct rows for {} clusters",
                        chosen.len(),
                        self.k
                    ),
                    remedy: format!("set `k` to at most {}", chosen.len()),
                });
            }
            let mut best: Option<(f64, usize, Vec<f64>)> = None;
            for _ in 0..candidates {
                let candidate = pick(&nearest, rng.random::<f64>() * total);
                let centre = points.row(candidate);
                let updated: Vec<f64> = points
                    .iter_rows()
                    .zip(&nearest)
                    .map(|(p, d)| d.min(squared_distance(p, centre)))
                    .collect();
                let potential = updated.iter().sum();
                if best.as_ref().is_none_or(|b| potential < b.0) {
                    best = Some((potential, candidate, updated));
                }
            }
            if let Some((_, candidate, updated)) = best {
                chosen.push(candidate);
                nearest = updated;
            }
        }
        Ok(points.select(&chosen))
    }
}

fn check(points: &Matrix) -> Result<()> {
    if points.rows() == 0 {
        return Err(Error::shape("points", "at least one row", "none"));
    }
    check_values("points", points)
}

fn nearest(point: &[f64], centres: &Matrix) -> (usize, f64) {
    centres.iter_rows().enumerate().fold((0, f64::INFINITY), |best, (k, centre)| {
        let d = squared_distance(point, centre);
        if d < best.1 { (k, d) } else { best }
    })
}

/// Index of the weight in which `target`, a number below the sum of the weights, falls; never one of weight
/// 0.
fn pick(weights: &[f64], target: f64) -> usize {
    let mut below = 0.0;
    let index = weights.iter().position(|w| {
        below += w;
        *w > 0.0 && target < below
    });
    index.or_else(|| weights.iter().rposition(|&w| w > 0.0)).unwrap_or(0)
}

/// Gives every cluster without points the point that is farthest from its centre; returns true if there was such a
/// cluster.
fn fill_empty(labels: &mut [usize], distances: &mut [f64], k: usize) -> bool {
    let mut sizes = vec![0_usize; k];
    labels.iter().for_each(|&label| sizes[label] += 1);
    let mut has_filled = false;
    for empty in 0..k {
        if sizes[empty] > 0 {
            continue;
        }
        let candidates = (0..labels.len()).filter(|&i| sizes[labels[i]] > 1);
        let farthest = candidates.fold(None, |best: Option<usize>, i| match best {
            Some(b) if distances[b] >= distances[i] => best,
            _ => Some(i),
        });
        if let Some(i) = farthest {
            sizes[labels[i]] -= 1;
            sizes[empty] = 1;
            (labels[i], distances[i]) = (empty, 0.0);
            has_filled = true;
        }
    }
    has_filled
}

/// The mean of the points of every cluster; every cluster has one.
fn means(points: &Matrix, labels: &[usize], k: usize) -> Matrix {
    let mut centres = Matrix::zeros(k, points.columns());
    let mut sizes = vec![0.0_f64; k];
    for (point, &label) in points.iter_rows().zip(labels) {
        sizes[label] += 1.0;
        centres.row_mut(label).iter_mut().zip(point).for_each(|(c, p)| *c += p);
    }
    for (label, size) in sizes.iter().enumerate() {
        centres.row_mut(label).iter_mut().for_each(|c| *c /= size.max(1.0));
    }
    centres
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    fn blobs(count: usize) -> Matrix {
        Matrix::from_fn(30 * count, 2, |i, j| {
            let centre = [(i % count) as f64 * 10.0, ((i % count) * (i % count)) as f64][j];
            centre + ((i * 17 + j * 5) as f64).sin()
        })
    }

    #[test]
    fn separated_groups_are_found_and_numbered_by_occurrence() {
        let points = blobs(4);
        for seed in 0..5 {
            let clusters = KMeansConfig::new(4).fit(&points, &mut rng(seed)).unwrap();
            assert!(clusters.labels.iter().enumerate().all(|(i, &label)| label == i % 4));
            assert_eq!(clusters.sizes(), [30; 4]);
            assert_eq!(clusters.assign(&points).unwrap(), clusters.labels);
            assert!(clusters.converged);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_clusters() {
        let points = Matrix::from_fn(100, 3, |i, j| ((i * 3 + j) as f64 * 1.3).sin());
        let fit =
            |seed| KMeansConfig { restarts: 2, ..KMeansConfig::new(7) }.fit(&points, &mut rng(seed)).unwrap();
        assert_eq!(fit(3), fit(3));
    }

    #[test]
    fn more_restarts_and_more_clusters_never_raise_the_inertia() {
        let points = Matrix::from_fn(120, 2, |i, j| ((i * 2 + j) as f64 * 2.1).sin() * 3.0);
        let fit = |k, restarts| {
            KMeansConfig { restarts, ..KMeansConfig::new(k) }.fit(&points, &mut rng(1)).unwrap().inertia
        };
        assert!(fit(9, 20) <= fit(9, 1));
        let by_count: Vec<f64> = (1..12).map(|k| fit(k, 10)).collect();
        assert!(by_count.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)));
    }

    #[test]
    fn every_centre_is_the_mean_of_its_points_and_every_point_is_with_its_nearest_centre() {
        let points = Matrix::from_fn(80, 3, |i, j| ((i * 3 + j) as f64 * 0.9).cos() * (j + 1) as f64);
        let clusters = KMeansConfig::new(5).fit(&points, &mut rng(0)).unwrap();
        assert_eq!(clusters.assign(&points).unwrap(), clusters.labels);
        let expected = means(&points, &clusters.labels, 5);
        assert_eq!(clusters.centres, expected);
    }

    #[test]
    fn as_many_clusters_as_points_leave_no_inertia() {
        let points = Matrix::column(&[5.0, 1.0, 9.0]);
        let clusters = KMeansConfig::new(3).fit(&points, &mut rng(0)).unwrap();
        assert_eq!((clusters.inertia, clusters.labels), (0.0, vec![0, 1, 2]));
    }

    #[test]
    fn an_emptied_cluster_takes_the_farthest_point() {
        let mut labels = vec![0, 0, 0, 2];
        let mut distances = vec![1.0, 9.0, 4.0, 99.0];
        assert!(fill_empty(&mut labels, &mut distances, 3));
        assert_eq!(labels, [0, 1, 0, 2]);
        assert!(!fill_empty(&mut labels, &mut distances, 3));
    }

    #[test]
    fn degenerate_inputs_are_typed_errors() {
        let same = Matrix::column(&[2.0, 2.0, 3.0]);
        let error = KMeansConfig::new(3).fit(&same, &mut rng(0)).unwrap_err();
        assert!(error.to_string().contains("only 2 distinct rows"));
        assert!(matches!(KMeansConfig::new(4).fit(&same, &mut rng(0)), Err(Error::Parameter { .. })));
        assert!(matches!(KMeansConfig::new(0).fit(&same, &mut rng(0)), Err(Error::Parameter { .. })));
        let bad = Matrix::column(&[1.0, f64::INFINITY]);
        assert!(matches!(KMeansConfig::new(1).fit(&bad, &mut rng(0)), Err(Error::NotFinite { row: 1, .. })));
    }
}
