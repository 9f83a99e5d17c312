//! The linear probe: the accuracy with which one linear layer predicts a label from frozen features.
//!
//! ```text
//! classes  J(W, b) = 1/n Σ_i [ log Σ_k exp(W_k x_i + b_k) - (W_{y_i} x_i + b_{y_i}) ] + λ Σ W²
//! values   J(W, b) = 1/(n m) Σ_i |W x_i + b - t_i|²                                    + λ Σ W²
//! ```
//!
//! `x_i` is a row of the features `[n, d]`, `W` is `[m, d]` with one row for each of the `m` classes or
//! outputs. The bias is not penalised and λ is not halved, as in the released CCL-K probe
//! (`evaluate/lbfgs.py`). `J` is convex and, for λ > 0, has one minimiser up to a constant added to every
//! class bias.
//!
//! Difference from released code: that runs 500 steps of PyTorch's L-BFGS (20 iterations each) without a line
//! search, which stops early (up to 2e-6 above the minimum) and can diverge on features of different scales. This
//! one is L-BFGS with the same history of 100 and the same budget, but its line search satisfies the strong Wolfe
//! conditions, and it starts from the inverse of the features' second moments, not from the identity. Both have the
//! same minimiser: compare objectives and class-centred weights. Released code reports the best **test** accuracy
//! over the steps; this one reports the minimiser.
//!
//! Features may be any [`Rows`]. Every evaluation of J is one pass over them, in blocks: scores, losses and gradient of a block
//! while it is in the cache, sums in `f64`. Products are in the type of the features. Where that is `f32`, the minimisation goes
//! on with products in `f64`, from where rounding ends the first, to the same tolerances: the result is the minimiser for the
//! features as given, in `f64`. Beside the features, memory is that of the past steps, at most 1 GiB, and of
//! the sums of the parts of the rows, from 8 to 64 times the parameters in `f64`, below 1 GiB for 1000 classes of 2048 features.
//!
//! Standardise the features first ([`Standardise`](super::standardise::Standardise)).

use faer::MatMut;
use faer::linalg::solvers::Llt;
use faer::prelude::Solve as _;
use serde::{Deserialize, Serialize};
use simile_kernels::cpu::parallel;
use simile_kernels::cpu::vectors::{add_scaled, dot};

use super::blocks::{check_any, check_finite};
use super::lbfgs::{History, Point, line_search};
pub use super::probe_objective::Target;
use super::probe_objective::{Evaluation, Problem, factor};
use super::{check_matrix, check_size, metrics, regression};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Real, Rows};

/// Inner iterations of one PyTorch `LBFGS.step()`.
const ITERATIONS_A_STEP: usize = 20;
/// Maximum number of trials of one line search.
const TRIALS: usize = 40;
/// Fewest outputs whose systems are solved in one pass over the factor: each pass reads all of it.
const OUTPUTS_TOGETHER: usize = 4;
/// Most parts of the outputs, which threads solve side by side.
const PARTS: usize = 16;
/// Fewest products of a part: a thread computes fewer sooner than another thread starts.
const PRODUCTS: usize = 1 << 18;
/// The decrease, relative to 1 + J, below which products in `f32` are not precise enough to find it.
const SINGLE: f64 = 1e-10;

/// Settings of the linear probe.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearProbeConfig {
    /// λ, the weight of the squared weights; 0 or more. Default: `1e-6` (CCL-K for Fair and HardNeg; 1e-5 for
    /// WeaklySup).
    pub regularisation: f64,
    /// Maximum number of steps of 20 iterations. Default: `500`.
    pub steps: usize,
    /// Number of past steps that L-BFGS uses, 1 or more. Default: `100`.
    pub history: usize,
    /// Stop when no entry of the gradient is larger than this. Default: `1e-7`.
    pub gradient_tolerance: f64,
    /// Stop when the decrease predicted by the quadratic model is below this, relative to 1 + J. Default: `1e-12`.
    pub decrease_tolerance: f64,
}

impl Default for LinearProbeConfig {
    fn default() -> Self {
        Self {
            regularisation: 1e-6,
            steps: 500,
            history: 100,
            gradient_tolerance: 1e-7,
            decrease_tolerance: 1e-12,
        }
    }
}

/// The reason for which the minimisation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Every entry of the gradient is within the tolerance.
    Gradient,
    /// The model predicts no further decrease.
    Decrease,
    /// Rounding hides any further decrease.
    Precision,
    /// The budget of iterations is spent: the probe is not at its minimum.
    Budget,
}

/// A fitted linear layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearProbe {
    /// `[m, d]`, one row for every class or output. For classes every column has mean zero.
    pub weight: Matrix,
    /// `[m]`.
    pub bias: Vec<f64>,
    /// J at these weights.
    pub objective: f64,
    /// J at the initial weights.
    pub initial_objective: f64,
    /// Largest absolute entry of the gradient of J.
    pub gradient_norm: f64,
    /// Iterations of L-BFGS.
    pub iterations: usize,
    /// The reason for which it ended.
    pub stop: Stop,
}

impl LinearProbe {
    /// `W x + b` for every row of `features` (`[n, d]`): `[n, m]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of features differs.
    pub fn scores(&self, features: &dyn Rows) -> Result<Matrix> {
        regression::affine(features, &self.weight, &self.bias)
    }

    /// The class with the largest score for every row of `features`; the lower class where two are equal.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of features differs, [`Error::NotFinite`] if a score is not a number.
    pub fn predictions(&self, features: &dyn Rows) -> Result<Vec<usize>> {
        metrics::predictions(&self.scores(features)?)
    }
}

impl LinearProbeConfig {
    /// Minimises J from zero weights.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`] or [`Error::Parameter`] for unusable inputs,
    /// [`Error::Degenerate`] if the squared features overflow.
    pub fn fit(&self, features: &dyn Rows, target: Target<'_>) -> Result<LinearProbe> {
        self.path(features, target)?.fit(self.regularisation)
    }

    /// Minimises J from `weight` (`[m, d]`) and `bias` (`[m]`), which only affect the path: the minimiser is the
    /// same, except that the class mean of the bias stays as given.
    ///
    /// # Errors
    /// As [`LinearProbeConfig::fit`].
    pub fn fit_from(
        &self,
        features: &dyn Rows,
        target: Target<'_>,
        weight: &Matrix,
        bias: &[f64],
    ) -> Result<LinearProbe> {
        self.path(features, target)?.starting_at(weight, bias)?.fit(self.regularisation)
    }

    /// Probes of one target with several penalties, from zero weights.
    ///
    /// # Errors
    /// As [`LinearProbeConfig::fit`].
    pub fn path<'a>(&self, features: &'a dyn Rows, target: Target<'a>) -> Result<ProbePath<'a>> {
        self.check()?;
        check_any("features", features)?;
        target.check(features.rows())?;
        let problem = Problem { features, target };
        let parameters = vec![0.0; target.outputs() * problem.width()];
        Ok(ProbePath { config: self.clone(), problem, curvature: None, parameters })
    }

    fn check(&self) -> Result<()> {
        crate::error::within("gradient_tolerance", self.gradient_tolerance, 0.0, f64::MAX)?;
        crate::error::within("decrease_tolerance", self.decrease_tolerance, 0.0, f64::MAX)?;
        if self.history == 0 {
            return Err(Error::parameter("history", 0, "L-BFGS has to remember at least one step"));
        }
        Ok(())
    }
}

/// Probes of one target with one penalty after another: each fit starts from the minimiser of the last one, and all use the
/// same second moments of the features. Take the strongest penalty first: it is the quickest to fit.
pub struct ProbePath<'a> {
    config: LinearProbeConfig,
    problem: Problem<'a>,
    /// Measured by the first fit.
    curvature: Option<Matrix>,
    parameters: Vec<f64>,
}

impl ProbePath<'_> {
    /// The same, starting from `weight` (`[m, d]`) and `bias` (`[m]`).
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for an unusable start.
    pub fn starting_at(mut self, weight: &Matrix, bias: &[f64]) -> Result<Self> {
        check_size("weight", weight, self.problem.target.outputs(), self.problem.features.columns())?;
        check_matrix("weight", weight)?;
        let column = Matrix::column(bias);
        check_size("bias", &column, weight.rows(), 1)?;
        check_matrix("bias", &column)?;
        self.parameters = self.problem.parameters(weight, bias);
        Ok(self)
    }

    /// Minimises J with the penalty `regularisation`, 0 or more.
    ///
    /// # Errors
    /// As [`LinearProbeConfig::fit`].
    pub fn fit(&mut self, regularisation: f64) -> Result<LinearProbe> {
        crate::error::within("regularisation", regularisation, 0.0, f64::MAX)?;
        let squares_before = self.problem.squared_weights(&self.parameters);
        self.problem.centre_classes(&mut self.parameters);
        // The cross-entropy is the same at the centred weights.
        let removed = regularisation * (squares_before - self.problem.squared_weights(&self.parameters));
        let curvature = match self.curvature.take() {
            Some(curvature) => curvature,
            None => self.problem.curvature()?,
        };
        let hessian = match factor(&curvature, regularisation) {
            Ok(hessian) => hessian,
            Err(error) => return Err(check_finite("features", self.problem.features).err().unwrap_or(error)),
        };
        self.curvature = Some(curvature);

        let mut descent = Descent {
            config: &self.config,
            problem: &self.problem,
            regularisation,
            hessian,
            history: History::new(self.config.history, self.parameters.len()),
            iterations: 0,
        };
        let single = match self.problem.features.is_single() {
            true => Some(descent.run::<f32>(&mut self.parameters)?.initial_objective),
            false => None,
        };
        let Minimum { at, initial_objective, stop } = descent.run::<f64>(&mut self.parameters)?;
        let iterations = descent.iterations;
        if !at.is_finite() {
            check_finite("features", self.problem.features)?;
            return Err(Error::Degenerate {
                reason: "the scores of the features overflow".into(),
                remedy: "standardise the features before probing".into(),
            });
        }
        let (weight, bias) = self.problem.layer(&self.parameters);
        let gradient_norm = largest(&at.gradient);
        let initial_objective = single.unwrap_or(initial_objective) + removed;
        Ok(LinearProbe {
            weight,
            bias,
            objective: at.objective,
            initial_objective,
            gradient_norm,
            iterations,
            stop,
        })
    }
}

/// One minimisation: the past steps, which stay when the type of the products changes.
struct Descent<'a> {
    config: &'a LinearProbeConfig,
    problem: &'a Problem<'a>,
    regularisation: f64,
    /// The factor of an approximate Hessian for one output.
    hessian: Llt<f64>,
    history: History,
    iterations: usize,
}

/// The end of a minimisation.
struct Minimum {
    at: Evaluation,
    initial_objective: f64,
    stop: Stop,
}

impl Descent<'_> {
    /// Moves `parameters` to the minimum, as far as products in the type `T` are precise.
    fn run<T: Real>(&mut self, parameters: &mut [f64]) -> Result<Minimum> {
        let Self { config, problem, .. } = *self;
        let tolerance = match T::IS_SINGLE {
            true => config.decrease_tolerance.max(SINGLE),
            false => config.decrease_tolerance,
        };
        let mut at = problem.evaluate::<T>(parameters, self.regularisation)?;
        let initial_objective = at.objective;
        let stop = loop {
            if !at.is_finite() {
                break Stop::Precision;
            }
            if largest(&at.gradient) <= config.gradient_tolerance {
                break Stop::Gradient;
            }
            if self.iterations == config.steps.saturating_mul(ITERATIONS_A_STEP) {
                break Stop::Budget;
            }
            let precondition = |vector: &mut [f64]| self.precondition(vector);
            let direction = self.history.direction(&at.gradient, precondition);
            let slope = dot(&direction, &at.gradient);
            if -slope <= tolerance * (1.0 + at.objective.abs()) {
                break Stop::Decrease;
            }
            match self.advance::<T>(parameters, &at, &direction, slope)? {
                Some((step, next)) => {
                    let change = next.gradient.iter().zip(&at.gradient).map(|(a, b)| a - b).collect();
                    let step = direction.iter().map(|d| d * step).collect();
                    self.remember(step, change);
                    at = next;
                    self.iterations += 1;
                }
                None if self.history.is_empty() || T::IS_SINGLE => break Stop::Precision,
                None => self.history.clear(),
            }
        };
        Ok(Minimum { at, initial_objective, stop })
    }

    /// Searches along `direction` and takes the step, if there is a measurable decrease.
    fn advance<T: Real>(
        &self,
        parameters: &mut [f64],
        at: &Evaluation,
        direction: &[f64],
        slope: f64,
    ) -> Result<Option<(f64, Evaluation)>> {
        let start = Point { step: 0.0, value: at.objective, slope };
        let (from, mut last) = (parameters.to_vec(), None);
        let point = line_search(start, (TRIALS, T::ROUNDING), |step| {
            parameters.copy_from_slice(&from);
            add_scaled(parameters, step, direction);
            let there = self.problem.evaluate::<T>(parameters, self.regularisation)?;
            let value_and_slope = (there.objective, dot(direction, &there.gradient));
            last = Some(there);
            Ok(value_and_slope)
        })?;
        if point.is_none() {
            parameters.copy_from_slice(&from);
        }
        Ok(point.and_then(|point| Some((point.step, last?))))
    }

    fn remember(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let (hessian, width) = (&self.hessian, self.problem.width());
        self.history.push(step, change, |vector| solve(hessian, width, vector));
    }

    fn precondition(&self, vector: &mut [f64]) {
        solve(&self.hessian, self.problem.width(), vector);
    }
}

/// Multiplies by the inverse of the approximate Hessian, of which `width` is the size.
fn solve(hessian: &Llt<f64>, width: usize, vector: &mut [f64]) {
    let fewest = OUTPUTS_TOGETHER.max(PRODUCTS / (width * width));
    let together = (vector.len() / width).div_ceil(PARTS).max(fewest);
    parallel::map(vector.chunks_mut(together * width), |outputs| {
        let columns = outputs.len() / width;
        hessian.solve_in_place(MatMut::from_column_major_slice_mut(outputs, width, columns));
    });
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::eval::ridge::Ridge;
    use crate::eval::standardise::Standardise;
    use crate::numeric::rows::{FeatureTable, to_matrix};

    /// Overlapping classes in features of very different scales.
    fn classes(n: usize, d: usize, count: usize, spread: f64) -> (Matrix, Vec<usize>) {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let labels: Vec<usize> = (0..n).map(|i| i % count).collect();
        let features = Matrix::from_fn(n, d, |i, j| {
            let noise: f64 = (0..4).map(|_| rng.random::<f64>() - 0.5).sum();
            let centre = ((labels[i] * 5 + j * 3) % 7) as f64;
            (centre + spread * noise) * (1.0 + j as f64)
        });
        (features, labels)
    }

    fn objective(config: &LinearProbeConfig, x: &Matrix, target: Target<'_>, w: &Matrix, b: &[f64]) -> f64 {
        let config = LinearProbeConfig { steps: 0, ..config.clone() };
        config.fit_from(x, target, w, b).unwrap().initial_objective
    }

    /// Many outputs of a large system are solved in parts, of which the last may be smaller.
    #[test]
    fn the_system_of_every_output_is_solved() {
        for (width, outputs) in [(5, 1), (5, 4), (5, 101), (200, 10), (200, 70), (200, 101)] {
            let entry = |i, j| if i == j { 4.0 + i as f64 } else { 1.0 / (1 + i + j) as f64 };
            let curvature = Matrix::from_fn(width, width, entry);
            let hessian = factor(&curvature, 0.0).unwrap();
            let given: Vec<f64> = (0..width * outputs).map(|i| (i as f64).sin()).collect();
            let mut solved = given.clone();
            solve(&hessian, width, &mut solved);
            for (given, solved) in given.chunks(width).zip(solved.chunks(width)) {
                for (row, &given) in curvature.iter_rows().zip(given) {
                    assert!((dot(row, solved) - given).abs() < 1e-7, "{outputs} outputs of {width}");
                }
            }
        }
    }

    #[test]
    fn no_neighbour_of_the_minimiser_is_lower() {
        let (features, labels) = classes(90, 3, 3, 8.0);
        let x = Standardise::fit(&features).unwrap().apply(&features).unwrap();
        let values = Matrix::from_fn(90, 2, |i, j| (i as f64 * 0.3).sin() * 50.0 + x.row(i)[j] * 20.0);
        let config = LinearProbeConfig { regularisation: 1e-3, ..LinearProbeConfig::default() };
        for target in [Target::Classes { labels: &labels, classes: 3 }, Target::Values(&values)] {
            let probe = config.fit(&x, target).unwrap();
            assert!(matches!(probe.stop, Stop::Gradient | Stop::Decrease), "{:?}", probe.stop);
            for at in 0..probe.weight.data().len() {
                for change in [-1e-3, 1e-3] {
                    let mut moved = probe.weight.clone();
                    moved.data_mut()[at] += change;
                    assert!(objective(&config, &x, target, &moved, &probe.bias) > probe.objective);
                }
            }
        }
    }

    #[test]
    fn values_agree_with_ridge_regression() {
        let (features, _) = classes(120, 4, 5, 9.0);
        let targets =
            Matrix::from_fn(120, 3, |i, j| 100.0 + features.row(i)[j] * 3.0 + (i as f64).cos() * 40.0);
        let config = LinearProbeConfig { regularisation: 0.01, ..LinearProbeConfig::default() };
        let probe = config.fit(&features, Target::Values(&targets)).unwrap();
        let ridge = Ridge::fit(&features, &targets, 0.01).unwrap();
        for (a, b) in probe.weight.data().iter().zip(ridge.weight.data()) {
            assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{a} {b}");
        }
        assert!(probe.bias.iter().zip(&ridge.bias).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn single_precision_ends_at_the_minimum_for_the_same_numbers_in_double() {
        let (features, labels) = classes(3000, 12, 4, 9.0);
        let x = Standardise::fit(&features).unwrap().apply(&features).unwrap();
        let single = FeatureTable::gather(&x, &(0..3000).collect::<Vec<_>>()).unwrap();
        let double = to_matrix(&single).unwrap();
        let values = Matrix::from_fn(3000, 2, |i, j| 100.0 + x[(i, j)] * 3.0 + (i as f64).cos() * 40.0);
        for target in [Target::Classes { labels: &labels, classes: 4 }, Target::Values(&values)] {
            for regularisation in [1e-1, 1e-6] {
                let config = LinearProbeConfig { regularisation, ..LinearProbeConfig::default() };
                let (a, b) = (config.fit(&single, target).unwrap(), config.fit(&double, target).unwrap());
                assert!((a.objective - b.objective).abs() <= 1e-11 * (1.0 + b.objective), "{a:?} {b:?}");
                assert!(matches!(a.stop, Stop::Gradient | Stop::Decrease), "{:?}", a.stop);
                assert!((a.initial_objective / b.initial_objective - 1.0).abs() < 1e-6);
                assert_eq!(a.gradient_norm <= 1e-7, a.stop == Stop::Gradient);
                let distance = a.weight.data().iter().zip(b.weight.data()).map(|(a, b)| (a - b).abs());
                assert!(distance.fold(0.0, f64::max) < 1e-4, "{:?} {:?}", a.weight, b.weight);
            }
        }
    }

    #[test]
    fn penalties_one_after_another_end_where_each_alone_does() {
        let (features, labels) = classes(400, 6, 3, 8.0);
        let x = Standardise::fit(&features).unwrap().apply(&features).unwrap();
        let target = Target::Classes { labels: &labels, classes: 3 };
        let config = LinearProbeConfig::default();
        let mut path = config.path(&x, target).unwrap();
        for regularisation in [1e-1, 1e-3, 1e-6] {
            let alone = LinearProbeConfig { regularisation, ..config.clone() }.fit(&x, target).unwrap();
            let probe = path.fit(regularisation).unwrap();
            assert!((probe.objective - alone.objective).abs() < 1e-11, "{probe:?} {alone:?}");
        }
        assert!(matches!(path.fit(-1.0), Err(Error::Parameter { .. })));
    }

    #[test]
    fn the_start_does_not_matter() {
        let (features, labels) = classes(80, 3, 4, 9.0);
        let x = Standardise::fit(&features).unwrap().apply(&features).unwrap();
        let target = Target::Classes { labels: &labels, classes: 4 };
        let config = LinearProbeConfig { regularisation: 1e-3, ..LinearProbeConfig::default() };
        let plain = config.fit(&x, target).unwrap();
        let start = Matrix::from_fn(4, 3, |k, j| ((k * 3 + j) as f64).sin() * 5.0);
        let other = config.fit_from(&x, target, &start, &[3.0, -1.0, 0.0, 2.0]).unwrap();
        assert!((plain.objective - other.objective).abs() < 1e-10);
        assert!(plain.weight.data().iter().zip(other.weight.data()).all(|(a, b)| (a - b).abs() < 1e-4));
        assert!((other.bias.iter().sum::<f64>() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn separable_classes_stay_finite_and_are_all_right() {
        let (features, labels) = classes(200, 6, 4, 0.1);
        let x = Standardise::fit(&features).unwrap().apply(&features).unwrap();
        for regularisation in [1e-6, 0.0] {
            let config = LinearProbeConfig { regularisation, ..LinearProbeConfig::default() };
            let probe = config.fit(&x, Target::Classes { labels: &labels, classes: 4 }).unwrap();
            assert_eq!(probe.predictions(&x).unwrap(), labels);
            assert!(probe.objective < 1e-3 && probe.weight.first_not_finite().is_none());
        }
    }

    #[test]
    fn raw_features_of_wild_scales_do_not_diverge() {
        let (mut features, labels) = classes(150, 4, 3, 6.0);
        for i in 0..150 {
            features.row_mut(i)[0] *= 1e6;
            features.row_mut(i)[3] *= 1e-6;
        }
        let probe =
            LinearProbeConfig::default().fit(&features, Target::Classes { labels: &labels, classes: 3 });
        assert!(probe.unwrap().objective < 3_f64.ln());
    }

    #[test]
    fn constant_and_repeated_features_change_no_prediction() {
        let (features, labels) = classes(100, 3, 3, 5.0);
        let x = Standardise::fit(&features).unwrap().apply(&features).unwrap();
        let wide = Matrix::from_fn(100, 6, |i, j| if j == 5 { 0.0 } else { x.row(i)[j % 3] });
        let target = Target::Classes { labels: &labels, classes: 3 };
        let config = LinearProbeConfig::default();
        let (narrow, wide_probe) = (config.fit(&x, target).unwrap(), config.fit(&wide, target).unwrap());
        assert_eq!(narrow.predictions(&x).unwrap(), wide_probe.predictions(&wide).unwrap());
        assert!(wide_probe.weight.iter_rows().all(|row| row[5] == 0.0));
    }

    #[test]
    fn a_class_that_never_occurs_is_never_predicted() {
        let (features, labels) = classes(60, 3, 2, 3.0);
        let x = Standardise::fit(&features).unwrap().apply(&features).unwrap();
        let probe =
            LinearProbeConfig::default().fit(&x, Target::Classes { labels: &labels, classes: 5 }).unwrap();
        assert!(probe.predictions(&x).unwrap().iter().all(|&p| p < 2));
        let same = vec![1; 60];
        let lone =
            LinearProbeConfig::default().fit(&x, Target::Classes { labels: &same, classes: 2 }).unwrap();
        assert_eq!(lone.predictions(&x).unwrap(), same);
        assert!(lone.objective.is_finite());
    }

    #[test]
    fn a_spent_budget_is_said() {
        let (features, labels) = classes(90, 5, 3, 8.0);
        let config = LinearProbeConfig { steps: 0, ..LinearProbeConfig::default() };
        let probe = config.fit(&features, Target::Classes { labels: &labels, classes: 3 }).unwrap();
        assert_eq!((probe.stop, probe.iterations), (Stop::Budget, 0));
        assert!((probe.objective - 3_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn unusable_inputs_are_typed_errors() {
        let x = Matrix::zeros(3, 2);
        let config = LinearProbeConfig::default();
        let fit =
            |labels: &[usize], classes| config.fit(&x, Target::Classes { labels, classes }).unwrap_err();
        assert!(matches!(fit(&[0, 1], 2), Error::Shape { .. }));
        assert!(matches!(fit(&[0, 1, 2], 2), Error::Shape { .. }));
        assert!(matches!(fit(&[0, 0, 0], 1), Error::Parameter { .. }));
        let huge = Matrix::new(2, 1, vec![1e200, -1e200]).unwrap();
        let overflow = config.fit(&huge, Target::Classes { labels: &[0, 1], classes: 2 });
        assert!(matches!(overflow, Err(Error::Degenerate { .. })));
        let negative = LinearProbeConfig { regularisation: -1.0, ..config.clone() };
        assert!(negative.fit(&x, Target::Values(&Matrix::zeros(3, 1))).is_err());
        assert!(config.fit(&x, Target::Values(&Matrix::zeros(2, 1))).is_err());
        let bad = Matrix::new(1, 1, vec![f64::NAN]).unwrap();
        assert!(matches!(config.fit(&bad, Target::Values(&bad)), Err(Error::NotFinite { .. })));
    }
}
