//! t-SNE (van der Maaten & Hinton, JMLR 2008): a map that keeps near neighbours near.
//!
//! ```text
//! p_ij = (p_{j|i} + p_{i|j}) / 2n        p_{j|i} ∝ exp(-β_i |x_i - x_j|²), with β_i such that it has the perplexity
//! q_ij ∝ 1 / (1 + |y_i - y_j|²)
//! KL(P || Q) → min over y
//! ```
//!
//! All pairs are computed, n² work an iteration: enough for the hundreds of points of a map. It starts from the
//! principal components (Kobak & Berens, Nature Communications 2019), so that they determine the large structure
//! and nothing is random: the same features give the same map.

use simile_kernels::cpu::exp::exp_of_slice;
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::tsne::Forces;

use super::projection::Pca;
use super::{check_matrix, dense};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;

/// Settings of the map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TsneConfig {
    /// Effective number of neighbours of a point; at most a third of the number of points is used.
    pub perplexity: f64,
    /// Steps of descent.
    pub iterations: usize,
}

impl Default for TsneConfig {
    fn default() -> Self {
        Self { perplexity: 30.0, iterations: 750 }
    }
}

/// Number of steps in which `P` is exaggerated, so that clusters form.
const EARLY: usize = 250;
/// The factor of the exaggeration.
const EXAGGERATION: f64 = 12.0;
/// Standard deviation of the initial positions.
const START: f64 = 1e-4;
/// Most steps of the search for β. It needs all where more neighbours than the perplexity are equally near, and 5 to 12 elsewhere.
const SEARCH: usize = 64;
/// Difference of the entropy from the wanted one, in nats, with which the search ends.
const PRECISION: f64 = 1e-10;
/// The largest `β d_j` that is told from larger ones. A weight there is 1e-304 of the nearest neighbour's.
const FAR: f64 = 700.0;
/// Largest step of the search in ln β.
const LARGEST_STEP: f64 = 2.0;
/// Fewest pairs of points whose forces are a thread's: it computes fewer sooner than another thread starts.
const PAIRS: usize = 1 << 14;

impl TsneConfig {
    /// Positions in the plane of the rows of `features` (`[n, d]`): `[n, 2]`.
    ///
    /// Fewer than four rows, or features of one dimension, give their principal components.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for unusable features, [`Error::Parameter`] if the perplexity is not above
    /// 0, [`Error::Degenerate`] as [`Pca::fit`].
    pub fn embed(&self, features: &Matrix) -> Result<Matrix> {
        check_matrix("features", features)?;
        if self.perplexity <= 0.0 || !self.perplexity.is_finite() {
            return Err(Error::parameter("perplexity", self.perplexity, "expected a number above 0"));
        }
        let count = features.rows();
        let axes = 2.min(count.min(features.columns()));
        let plane = Pca::fit(features, axes)?.project(features)?;
        let mut positions = Matrix::from_fn(count, 2, |i, k| if k < axes { plane[(i, k)] } else { 0.0 });
        if count < 4 || axes < 2 {
            return Ok(positions);
        }
        let spread = (0..count).map(|i| positions[(i, 0)].powi(2)).sum::<f64>() / count as f64;
        let scale = START / spread.sqrt().max(f64::MIN_POSITIVE);
        positions.data_mut().iter_mut().for_each(|coordinate| *coordinate *= scale);
        let joint = joint(features, self.perplexity.min((count - 1) as f64 / 3.0));
        self.descend(&joint, &mut positions);
        Ok(positions)
    }

    /// Gradient descent with momentum and a gain for each coordinate, as in the original.
    fn descend(&self, joint: &Matrix, positions: &mut Matrix) {
        let rate = (positions.rows() as f64 / EXAGGERATION / 4.0).max(50.0);
        let mut velocity = vec![0.0; positions.data().len()];
        let mut gains = vec![1.0_f64; velocity.len()];
        for iteration in 0..self.iterations {
            let (exaggeration, momentum) = if iteration < EARLY { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
            let gradient = gradient(joint, positions, exaggeration);
            let state = velocity.iter_mut().zip(&mut gains).zip(positions.data_mut());
            for (((velocity, gain), coordinate), slope) in state.zip(gradient.data()) {
                let is_reversed = (*slope > 0.0) == (*velocity > 0.0);
                *gain = if is_reversed { (*gain * 0.8).max(0.01) } else { *gain + 0.2 };
                *velocity = momentum * *velocity - rate * *gain * slope;
                *coordinate += *velocity;
            }
        }
    }
}

/// The symmetric neighbourhoods `p_ij`, of sum 1.
fn joint(features: &Matrix, perplexity: f64) -> Matrix {
    let count = features.rows();
    let mut rows: Vec<(usize, Vec<f64>)> = Vec::with_capacity(count);
    dense::for_each_distance_row(features, |i, distances| rows.push((i, distances.to_vec())));
    let mut conditional = Matrix::zeros(count, count);
    for (i, row) in parallel::map(rows, |(i, squares)| (i, neighbourhood(&squares, i, perplexity))) {
        conditional.row_mut(i).copy_from_slice(&row);
    }
    Matrix::from_fn(count, count, |i, j| (conditional[(i, j)] + conditional[(j, i)]) / (2 * count) as f64)
}

/// `p_{j|i}` at the β whose entropy is that of the perplexity, by Newton's method in ln β. With `s_j = β d_j` for the distances `d_j`
/// beyond the nearest neighbour's, and the weights `w_j = exp(-s_j)`, the entropy is `ln Σ w + E[s]`, and its slope `-Var[s]`.
fn neighbourhood(squares: &[f64], own: usize, perplexity: f64) -> Vec<f64> {
    let others = || squares.iter().enumerate().filter(|(j, _)| *j != own).map(|(_, square)| *square);
    let least = others().fold(f64::INFINITY, f64::min);
    let mean_distance = others().map(|square| square - least).sum::<f64>() / (squares.len() - 1) as f64;
    let target_entropy = perplexity.ln();
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut beta = if mean_distance.recip().is_normal() { mean_distance.recip() } else { 1.0 };
    let mut weights = vec![0.0; squares.len()];
    for _ in 0..SEARCH {
        // The distance to the point itself may be the smallest, and others may be infinite.
        let scaled = |square: f64| (beta * (square - least)).clamp(0.0, FAR);
        weights.iter_mut().zip(squares).for_each(|(weight, square)| *weight = -scaled(*square));
        exp_of_slice(&mut weights);
        weights[own] = 0.0;
        let [mut sum, mut first, mut second] = [0.0; 3];
        for (weight, distance) in weights.iter().zip(squares.iter().map(|square| scaled(*square))) {
            sum += weight;
            first += weight * distance;
            second += weight * distance * distance;
        }
        weights.iter_mut().for_each(|weight| *weight /= sum);
        let mean = first / sum;
        let excess = sum.ln() + mean - target_entropy;
        if excess.abs() < PRECISION {
            break;
        }
        if excess > 0.0 {
            low = beta;
        } else {
            high = beta;
        }
        // Where the entropy hardly changes, the step would lead too far.
        let step = excess / (second / sum - mean * mean);
        let newton = beta * step.clamp(-LARGEST_STEP, LARGEST_STEP).exp();
        beta = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
    }
    weights
}

/// `dKL/dy_i = 4 Σ_j (p_ij - q_ij) (y_i - y_j) / (1 + |y_i - y_j|²)`
fn gradient(joint: &Matrix, positions: &Matrix, exaggeration: f64) -> Matrix {
    let count = positions.rows();
    let axis = |k: usize| -> Vec<f64> { positions.iter_rows().map(|position| position[k]).collect() };
    let axes = [axis(0), axis(1)];
    let on = |i: usize| Forces::on([axes[0][i], axes[1][i]], [&axes[0], &axes[1]], joint.row(i));
    let together = PAIRS.div_ceil(count);
    let part = |first: usize| -> Vec<Forces> { (first..count.min(first + together)).map(on).collect() };
    let forces = parallel::map((0..count).step_by(together), part).concat();
    // Each point counts itself with a nearness of 1, which the sum leaves out.
    let sum: f64 = forces.iter().map(|forces| forces.near - 1.0).sum();
    Matrix::from_fn(count, 2, |i, k| {
        4.0 * (exaggeration * forces[i].attraction[k] - forces[i].repulsion[k] / sum)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::{RngExt as _, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Three groups of 20 points in five dimensions, 10 apart.
    fn groups() -> Matrix {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        Matrix::from_fn(60, 5, |i, j| rng.random::<f64>() + if j == i % 3 { 10.0 } else { 0.0 })
    }

    fn divergence(joint: &Matrix, positions: &Matrix) -> f64 {
        let count = positions.rows();
        let near = |i: usize, j: usize| {
            let squares: f64 = (0..2).map(|k| (positions[(i, k)] - positions[(j, k)]).powi(2)).sum();
            if i == j { 0.0 } else { 1.0 / (1.0 + squares) }
        };
        let pairs = || (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|(i, j)| i != j);
        let sum: f64 = pairs().map(|(i, j)| near(i, j)).sum();
        pairs()
            .filter(|&(i, j)| joint[(i, j)] > 0.0)
            .map(|(i, j)| joint[(i, j)] * (joint[(i, j)] * sum / near(i, j)).ln())
            .sum()
    }

    fn assert_perplexity(squares: &[f64], perplexity: f64) {
        let p = neighbourhood(squares, 0, perplexity);
        let entropy: f64 = p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        assert!(
            (entropy.exp() / perplexity - 1.0).abs() < 1e-9,
            "{}, not {perplexity}: {squares:?}",
            entropy.exp()
        );
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12 && p[0] == 0.0, "{p:?}");
    }

    #[test]
    fn neighbourhoods_of_any_shape_have_the_perplexity() {
        let even = |j: u32| f64::from(j * j) / 7.0;
        // Groups whose distances are of different orders, between which the entropy hardly changes.
        let groups = |j: u32| 10_f64.powi(3 * (j / 8) as i32) * (1.0 + f64::from(j % 8) / 8.0);
        let far = |j: u32| if j < 4 { f64::from(j) } else { 1e9 + f64::from(j) };
        for perplexity in [1.5, 3.0, 10.0, 15.9] {
            for distance in [even as fn(u32) -> f64, groups, far] {
                for unit in [1.0, 1e-100, 1e100] {
                    let squares: Vec<f64> = (0..49).map(|j| distance(j) * unit).collect();
                    assert_perplexity(&squares, perplexity);
                }
            }
        }
        assert_perplexity(&[0.0, 1.0, 2.0, 3.0, f64::INFINITY], 1.5);
    }

    #[test]
    fn neighbours_that_are_equally_near_share_a_neighbourhood() {
        let squares: Vec<f64> = (0..30).map(|j| if j <= 12 { 2.0 } else { 5.0 }).collect();
        let p = neighbourhood(&squares, 0, 5.0);
        assert!(p[1..=12].iter().all(|p| (p * 12.0 - 1.0).abs() < 1e-12), "{p:?}");
        assert!(p[13..].iter().all(|p| *p < 1e-12) && p[0] == 0.0);
        let same = neighbourhood(&[0.0; 10], 3, 3.0);
        assert!(
            same.iter().enumerate().all(|(j, p)| (p - if j == 3 { 0.0 } else { 1.0 / 9.0 }).abs() < 1e-12)
        );
    }

    #[test]
    fn neighbourhoods_have_the_perplexity_and_sum_to_one() {
        let squares: Vec<f64> = (0..50).map(|j| f64::from(j * j) / 7.0).collect();
        let p = neighbourhood(&squares, 0, 10.0);
        let entropy: f64 = p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
        assert!((entropy.exp() - 10.0).abs() < 1e-6 && p[0] == 0.0);
        let joint = joint(&groups(), 8.0);
        assert!((joint.data().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((joint[(1, 7)] - joint[(7, 1)]).abs() < 1e-18);
    }

    #[test]
    fn the_gradient_is_that_of_the_divergence() {
        let joint = joint(&groups(), 8.0);
        let positions = Matrix::from_fn(60, 2, |i, k| ((i * (k + 2) * 37) % 23) as f64 / 9.0);
        let gradient = gradient(&joint, &positions, 1.0);
        for at in [0, 17, 58, 119] {
            let moved = |by: f64| {
                let mut positions = positions.clone();
                positions.data_mut()[at] += by;
                divergence(&joint, &positions)
            };
            let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let slope = gradient.data()[at];
            assert!((slope - expected).abs() < 1e-7 * (1.0 + expected.abs()), "{slope} and {expected}");
        }
    }

    #[test]
    fn the_nearest_point_of_the_map_is_of_the_same_group() {
        let config = TsneConfig { perplexity: 10.0, ..TsneConfig::default() };
        let positions = config.embed(&groups()).unwrap();
        assert_eq!(positions, config.embed(&groups()).unwrap());
        let square =
            |i: usize, j: usize| (0..2).map(|k| (positions[(i, k)] - positions[(j, k)]).powi(2)).sum::<f64>();
        for i in 0..60 {
            let nearest = (0..60).filter(|&j| j != i).min_by(|&a, &b| square(i, a).total_cmp(&square(i, b)));
            assert_eq!(nearest.unwrap() % 3, i % 3);
        }
        let start = joint(&groups(), 10.0);
        assert!(divergence(&start, &positions) < 0.6, "{}", divergence(&start, &positions));
    }

    #[test]
    fn few_equal_and_broken_points_are_no_trouble() {
        for rows in [1, 2, 3, 4, 7] {
            let same = TsneConfig::default().embed(&Matrix::from_fn(rows, 3, |_, j| j as f64)).unwrap();
            assert_eq!((same.rows(), same.first_not_finite()), (rows, None));
        }
        let line = TsneConfig::default().embed(&Matrix::from_fn(6, 1, |i, _| i as f64)).unwrap();
        assert!(line[(5, 0)] != line[(0, 0)]);
        assert!(TsneConfig::default().embed(&Matrix::from_fn(6, 2, |_, _| f64::NAN)).is_err());
        assert!(TsneConfig { perplexity: 0.0, iterations: 1 }.embed(&groups()).is_err());
    }
}
