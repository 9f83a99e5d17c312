//! J of the linear probe during its minimisation: scores, gradient, curvature, and the ray of a line search.

use faer::linalg::solvers::Llt;
use faer::{MatMut, MatRef, Side};

use super::lbfgs::{Point, add_scaled, line_search};
use super::softmax::exponentials;
use super::{check_labels, check_matrix, check_size, dense};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;

/// The targets of a probe.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// Softmax cross-entropy with integer labels.
    Classes {
        /// One label below `classes` for every row of the features.
        labels: &'a [usize],
        /// Number of classes, including those that do not occur.
        classes: usize,
    },
    /// Mean squared error with numeric targets `[n, m]`, averaged over samples and outputs.
    Values(&'a Matrix),
}

impl Target<'_> {
    pub(super) fn outputs(&self) -> usize {
        match self {
            Self::Classes { classes, .. } => *classes,
            Self::Values(targets) => targets.columns(),
        }
    }

    pub(super) fn check(&self, rows: usize) -> Result<()> {
        match self {
            Self::Classes { classes, .. } if *classes < 2 => {
                Err(Error::parameter("classes", classes, "a classifier needs at least 2"))
            }
            Self::Classes { labels, classes } => check_labels("labels", labels, rows, *classes),
            Self::Values(targets) => {
                check_matrix("targets", targets)?;
                check_size("targets", targets, rows, targets.columns().max(1))
            }
        }
    }
}

/// Maximum number of trials of one line search.
const TRIALS: usize = 40;
/// The covariance is estimated from about this many rows: it only affects the first direction.
const COVARIANCE_ROWS: usize = 8192;
/// Added to the diagonal of the covariance, relative to its mean, so that collinear features can be inverted.
const RIDGE: f64 = 1e-9;

/// Features, targets and penalty. Parameters are `m` rows of `d` weights and a bias.
pub(super) struct Problem<'a> {
    pub(super) features: &'a Matrix,
    pub(super) target: Target<'a>,
    pub(super) regularisation: f64,
}

impl Problem<'_> {
    /// Weights of one output, the bias included.
    pub(super) fn width(&self) -> usize {
        self.features.columns() + 1
    }

    pub(super) fn parameters(&self, weight: &Matrix, bias: &[f64]) -> Vec<f64> {
        weight.iter_rows().zip(bias).flat_map(|(row, b)| row.iter().copied().chain([*b])).collect()
    }

    pub(super) fn layer(&self, parameters: &[f64]) -> (Matrix, Vec<f64>) {
        let d = self.features.columns();
        let weight = Matrix::from_fn(self.target.outputs(), d, |k, j| parameters[k * (d + 1) + j]);
        (weight, parameters.chunks(d + 1).map(|row| row[d]).collect())
    }

    /// Subtracts the class mean from the weights. This does not change the cross-entropy, and can only lower the
    /// penalty.
    pub(super) fn centre_classes(&self, parameters: &mut [f64]) {
        if let Target::Classes { classes, .. } = self.target {
            let width = self.width();
            for j in 0..width - 1 {
                let mean = parameters.iter().skip(j).step_by(width).sum::<f64>() / classes as f64;
                parameters.iter_mut().skip(j).step_by(width).for_each(|w| *w -= mean);
            }
        }
    }

    /// Cholesky factor of an approximate Hessian of J for one output: the second moments of features and bias
    /// by the curvature of the loss at zero weights, and the penalty. Exact for [`Target::Values`] up to
    /// [`COVARIANCE_ROWS`] rows.
    pub(super) fn covariance(&self) -> Result<Llt<f64>> {
        let (n, width) = (self.features.rows(), self.width());
        let stride = (n / COVARIANCE_ROWS.max(8 * width)).max(1);
        let rows: Vec<usize> = (0..n).step_by(stride).collect();
        let sample = Matrix::from_fn(rows.len(), width, |r, j| {
            self.features.row(rows[r]).get(j).copied().unwrap_or(1.0)
        });
        let mut moments = dense::transpose_times(&sample, &sample);
        let outputs = self.target.outputs() as f64;
        let curvature = match self.target {
            Target::Classes { .. } => 1.0 / outputs,
            Target::Values(_) => 2.0 / outputs,
        };
        moments.data_mut().iter_mut().for_each(|v| *v *= curvature / rows.len() as f64);
        let ridge = RIDGE * (0..width).map(|j| moments[(j, j)]).sum::<f64>() / width as f64;
        for j in 0..width {
            moments[(j, j)] += ridge + if j + 1 < width { 2.0 * self.regularisation } else { 0.0 };
        }
        dense::view(&moments).llt(Side::Lower).map_err(|_| Error::Degenerate {
            reason: "the covariance of the features is not a finite positive matrix".into(),
            remedy: "standardise the features before probing".into(),
        })
    }

    /// `features W^T`, plus the bias.
    fn forward(&self, parameters: &[f64]) -> Matrix {
        let (d, width, outputs) = (self.features.columns(), self.width(), self.target.outputs());
        let weight = MatRef::from_row_major_slice_with_stride(parameters, outputs, d, width);
        let mut scores = dense::times_transpose(dense::view(self.features), weight);
        let bias: Vec<f64> = parameters.iter().skip(d).step_by(width).copied().collect();
        scores.data_mut().chunks_mut(outputs).for_each(|row| add_scaled(row, 1.0, &bias));
        scores
    }

    /// Gradient of J from the derivative of the loss by the scores.
    fn backward(&self, residual: &Matrix, parameters: &[f64], gradient: &mut [f64]) {
        let (d, width, outputs) = (self.features.columns(), self.width(), self.target.outputs());
        // Transposed, because the row-major constructor with a stride of faer 0.24.4 swaps its strides and
        // writes out of bounds.
        let weight = MatMut::from_column_major_slice_with_stride_mut(gradient, d, outputs, width);
        dense::product(weight, dense::view(self.features).transpose(), dense::view(residual), 1.0);
        let mut bias = vec![0.0; outputs];
        residual.iter_rows().for_each(|row| add_scaled(&mut bias, 1.0, row));
        for (k, row) in gradient.chunks_mut(width).enumerate() {
            add_scaled(&mut row[..d], 2.0 * self.regularisation, &parameters[k * width..k * width + d]);
            row[d] = bias[k];
        }
    }

    /// Loss of row `i` without its divisor, its slope along `direction`, and its derivative by the scores, which
    /// overwrites the scores.
    fn row_loss(&self, i: usize, scores: &mut [f64], direction: &[f64]) -> (f64, f64) {
        match self.target {
            Target::Classes { labels, .. } => {
                let at_label = scores[labels[i]];
                let (most, total) = exponentials(scores);
                scores.iter_mut().for_each(|s| *s /= total);
                scores[labels[i]] -= 1.0;
                (most - at_label + total.ln(), dense::dot(scores, direction))
            }
            Target::Values(targets) => {
                add_scaled(scores, -1.0, targets.row(i));
                let loss = dense::dot_self(scores) / scores.len() as f64;
                let scale = 2.0 / scores.len() as f64;
                scores.iter_mut().for_each(|s| *s *= scale);
                (loss, dense::dot(scores, direction))
            }
        }
    }
}

/// The state of the minimisation. It stores the scores, and those of the direction, so that a trial of the line
/// search needs no matrix product.
pub(super) struct State {
    scores: Matrix,
    residual: Matrix,
    pub(super) gradient: Vec<f64>,
    pub(super) objective: f64,
}

impl State {
    pub(super) fn new(problem: &Problem<'_>, parameters: &[f64]) -> Self {
        let empty = Matrix::default();
        let mut state = Self {
            scores: empty.clone(),
            residual: empty,
            gradient: vec![0.0; parameters.len()],
            objective: 0.0,
        };
        state.restart(problem, parameters);
        state
    }

    /// Recomputes everything from the parameters.
    pub(super) fn restart(&mut self, problem: &Problem<'_>, parameters: &[f64]) {
        self.scores = problem.forward(parameters);
        self.residual = Matrix::zeros(self.scores.rows(), self.scores.columns());
        let still = vec![0.0; parameters.len()];
        let ray =
            Ray::new(problem, parameters, &still, Matrix::zeros(self.scores.rows(), self.scores.columns()));
        (self.objective, _) = ray.evaluate(problem, 0.0, &self.scores, &mut self.residual);
        problem.backward(&self.residual, parameters, &mut self.gradient);
    }

    /// Searches along `direction` and takes the step; `None` if there is no measurable decrease.
    pub(super) fn advance(
        &mut self,
        problem: &Problem<'_>,
        parameters: &mut [f64],
        direction: &[f64],
        slope: f64,
    ) -> Option<f64> {
        let ray = Ray::new(problem, parameters, direction, problem.forward(direction));
        let start = Point { step: 0.0, value: self.objective, slope };
        let (scores, residual) = (&self.scores, &mut self.residual);
        let point = line_search(start, 1.0, TRIALS, |step| ray.evaluate(problem, step, scores, residual))?;
        add_scaled(parameters, point.step, direction);
        add_scaled(self.scores.data_mut(), point.step, ray.scores.data());
        self.objective = point.value;
        problem.backward(&self.residual, parameters, &mut self.gradient);
        Some(point.step)
    }
}

/// J along a ray: the scores are linear in the step, and the penalty a parabola.
struct Ray {
    scores: Matrix,
    penalty: [f64; 3],
}

impl Ray {
    fn new(problem: &Problem<'_>, parameters: &[f64], direction: &[f64], scores: Matrix) -> Self {
        let weights = problem.features.columns();
        let mut penalty = [0.0; 3];
        for (p, d) in parameters.chunks(problem.width()).zip(direction.chunks(problem.width())) {
            penalty[0] += dense::dot_self(&p[..weights]);
            penalty[1] += 2.0 * dense::dot(&p[..weights], &d[..weights]);
            penalty[2] += dense::dot_self(&d[..weights]);
        }
        Self { scores, penalty: penalty.map(|v| v * problem.regularisation) }
    }

    /// J and its slope at `step`; `residual` receives the derivative of J by the scores.
    fn evaluate(
        &self,
        problem: &Problem<'_>,
        step: f64,
        scores: &Matrix,
        residual: &mut Matrix,
    ) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        let n = scores.rows() as f64;
        for i in 0..scores.rows() {
            let row = residual.row_mut(i);
            row.copy_from_slice(scores.row(i));
            add_scaled(row, step, self.scores.row(i));
            let (loss, along) = problem.row_loss(i, row, self.scores.row(i));
            row.iter_mut().for_each(|r| *r /= n);
            value += loss;
            slope += along;
        }
        let [constant, linear, square] = self.penalty;
        (value / n + constant + step * (linear + step * square), slope / n + linear + 2.0 * step * square)
    }
}
