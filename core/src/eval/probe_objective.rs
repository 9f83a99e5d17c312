//! J of the linear probe and its gradient, in one pass over the features.

use faer::linalg::solvers::Llt;
use faer::{MatMut, MatRef, Side};
use simile_kernels::cpu::exp::exp_f64;
use simile_kernels::cpu::vectors::dot;

use super::blocks::{Block, accumulate, fold};
use super::moments::{Every, Moments};
use super::{check_labels, check_matrix, check_size, dense};
use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Real, Rows};

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

/// The covariance is estimated from about this many rows: it only affects the path of the minimisation.
const COVARIANCE_ROWS: usize = 8192;
/// Added to the diagonal of the covariance, relative to its mean, so that collinear features can be inverted.
const RIDGE: f64 = 1e-9;
/// Rows whose losses are computed together: their scores stay in the cache.
const STRIPE: usize = 64;

/// Features and targets. Parameters are `m` rows of `d` weights and a bias.
pub(super) struct Problem<'a> {
    pub(super) features: &'a dyn Rows,
    pub(super) target: Target<'a>,
}

/// J and its gradient at some parameters.
pub(super) struct Evaluation {
    pub(super) objective: f64,
    pub(super) gradient: Vec<f64>,
}

impl Evaluation {
    pub(super) fn is_finite(&self) -> bool {
        self.objective.is_finite() && self.gradient.iter().all(|slope| slope.is_finite())
    }
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

    /// `Σ W²`.
    pub(super) fn squared_weights(&self, parameters: &[f64]) -> f64 {
        let d = self.features.columns();
        parameters.chunks(d + 1).map(|row| dot(&row[..d], &row[..d])).sum()
    }

    /// The curvature of the loss at zero weights for one output: the mean second moments of features and bias, times
    /// that of the loss by the score. Exact for [`Target::Values`] up to [`COVARIANCE_ROWS`] rows.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn curvature(&self) -> Result<Matrix> {
        let (n, d, width) = (self.features.rows(), self.features.columns(), self.width());
        let stride = (n / COVARIANCE_ROWS.max(8 * width)).max(1);
        let sample = Every { source: self.features, stride };
        let moments = Moments::of(&sample, &vec![0.0; d], &Matrix::zeros(sample.rows(), 0))?;
        let outputs = self.target.outputs() as f64;
        let loss_scale = match self.target {
            Target::Classes { .. } => 1.0 / outputs,
            Target::Values(_) => 2.0 / outputs,
        };
        let scale = loss_scale / sample.rows() as f64;
        Ok(Matrix::from_fn(width, width, |i, j| match (i == d, j == d) {
            (true, true) => loss_scale,
            (true, false) => scale * moments.sums[j],
            (false, true) => scale * moments.sums[i],
            (false, false) => scale * moments.products[(i.max(j), i.min(j))],
        }))
    }

    /// J with the penalty `regularisation` and its gradient, with products in the type `T` and sums in `f64`.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn evaluate<T: Real>(&self, parameters: &[f64], regularisation: f64) -> Result<Evaluation> {
        let (d, width, outputs) = (self.features.columns(), self.width(), self.target.outputs());
        let weights: Vec<T> =
            parameters.chunks(width).flat_map(|row| &row[..d]).map(|&weight| T::of(weight)).collect();
        let bias: Vec<f64> = parameters.chunks(width).map(|row| row[d]).collect();
        let begin = || Sums::<T>::new(parameters.len(), outputs);
        let add = |sums: &mut Sums<T>, block: Block<'_, T>| {
            let features = MatRef::from_row_major_slice(block.values, block.rows, d);
            let weights = MatRef::from_row_major_slice(&weights[..], outputs, d);
            sums.scores.resize(outputs * block.rows, T::default());
            let scores = MatMut::from_row_major_slice_mut(&mut sums.scores, outputs, block.rows);
            T::multiply(scores, weights, features.transpose());
            for first in (0..block.rows).step_by(STRIPE) {
                sums.stripe.set(&sums.scores, &bias, block.rows, first);
                let rows = block.first + first..;
                sums.loss += match self.target {
                    Target::Classes { labels, .. } => sums.stripe.cross_entropy(&labels[rows]),
                    Target::Values(targets) => sums.stripe.squared_error(targets, rows.start),
                };
                sums.stripe.add_to_bias(&mut sums.gradient, width);
                sums.stripe.get(&mut sums.scores, block.rows, first);
            }
            sums.product.resize(outputs * d, T::default());
            let product = MatMut::from_row_major_slice_mut(&mut sums.product, outputs, d);
            let residuals = MatRef::from_row_major_slice(&sums.scores[..], outputs, block.rows);
            T::multiply(product, residuals, features);
            for (total, row) in sums.gradient.chunks_mut(width).zip(sums.product.chunks(d.max(1))) {
                total.iter_mut().zip(row).for_each(|(total, &value)| *total += value.into());
            }
            Ok(())
        };
        let (mut loss, mut gradient) = (0.0, vec![0.0; parameters.len()]);
        for part in fold(self.features, parameters.len(), begin, add)? {
            loss += part.loss;
            accumulate(&mut gradient, &part.gradient);
        }
        let n = self.features.rows() as f64;
        for (slopes, row) in gradient.chunks_mut(width).zip(parameters.chunks(width)) {
            slopes.iter_mut().for_each(|slope| *slope /= n);
            slopes[..d].iter_mut().zip(row).for_each(|(slope, w)| *slope += 2.0 * regularisation * w);
        }
        Ok(Evaluation { objective: loss / n + regularisation * self.squared_weights(parameters), gradient })
    }
}

/// The Cholesky factor of an approximate Hessian of J for one output: `curvature` and the penalty.
///
/// # Errors
/// [`Error::Degenerate`] if it is not a finite positive matrix.
pub(super) fn factor(curvature: &Matrix, regularisation: f64) -> Result<Llt<f64>> {
    let width = curvature.rows();
    let ridge = RIDGE * (0..width).map(|j| curvature[(j, j)]).sum::<f64>() / width as f64;
    let mut hessian = curvature.clone();
    for j in 0..width {
        hessian[(j, j)] += ridge + if j + 1 < width { 2.0 * regularisation } else { 0.0 };
    }
    dense::view(&hessian).llt(Side::Lower).map_err(|_| Error::Degenerate {
        reason: "the covariance of the features is not a finite positive matrix".into(),
        remedy: "standardise the features before probing".into(),
    })
}

/// The sums of a part of the rows, and memory that is used again for each block.
struct Sums<T> {
    loss: f64,
    gradient: Vec<f64>,
    /// Scores of a block, and then the derivatives of its losses by them, `[m, rows]`.
    scores: Vec<T>,
    /// The products of those derivatives with the features, `[m, d]`.
    product: Vec<T>,
    stripe: Stripe,
}

impl<T: Real> Sums<T> {
    fn new(parameters: usize, outputs: usize) -> Self {
        Self {
            loss: 0.0,
            gradient: vec![0.0; parameters],
            scores: Vec::new(),
            product: Vec::new(),
            stripe: Stripe { values: vec![0.0; outputs * STRIPE], rows: 0 },
        }
    }
}

/// Scores of some rows, in `f64`, with all rows of an output side by side, so that loops over rows become vector
/// instructions however few outputs there are.
struct Stripe {
    /// `[m, STRIPE]`, of which the first `rows` columns are used.
    values: Vec<f64>,
    rows: usize,
}

impl Stripe {
    /// The scores of a block `[m, rows]` from the row `first` on, with the bias.
    fn set<T: Real>(&mut self, scores: &[T], bias: &[f64], rows: usize, first: usize) {
        self.rows = STRIPE.min(rows - first);
        for ((out, row), bias) in self.values.chunks_mut(STRIPE).zip(scores.chunks(rows)).zip(bias) {
            let row = &row[first..first + self.rows];
            out.iter_mut().zip(row).for_each(|(out, &score)| *out = score.into() + bias);
        }
    }

    /// Writes the values back to the block.
    fn get<T: Real>(&self, scores: &mut [T], rows: usize, first: usize) {
        for (row, values) in scores.chunks_mut(rows).zip(self.values.chunks(STRIPE)) {
            let row = &mut row[first..first + self.rows];
            row.iter_mut().zip(values).for_each(|(score, &value)| *score = T::of(value));
        }
    }

    /// The sum of the cross-entropies; their derivatives replace the scores.
    fn cross_entropy(&mut self, labels: &[usize]) -> f64 {
        let (mut most, mut total) = ([f64::NEG_INFINITY; STRIPE], [0.0_f64; STRIPE]);
        for scores in self.values.chunks(STRIPE) {
            most.iter_mut().zip(scores).for_each(|(most, &score)| *most = most.max(score));
        }
        let labels = &labels[..self.rows];
        let mut loss = 0.0;
        for (row, &label) in labels.iter().enumerate() {
            loss += most[row] - self.values[label * STRIPE + row];
        }
        for scores in self.values.chunks_mut(STRIPE) {
            for ((score, most), total) in scores.iter_mut().zip(&most).zip(&mut total) {
                *score = exp_f64(*score - most);
                *total += *score;
            }
        }
        loss += total[..self.rows].iter().map(|total| total.ln()).sum::<f64>();
        for scores in self.values.chunks_mut(STRIPE) {
            scores.iter_mut().zip(&total).for_each(|(score, total)| *score /= total);
        }
        for (row, &label) in labels.iter().enumerate() {
            self.values[label * STRIPE + row] -= 1.0;
        }
        loss
    }

    /// The sum of the squared errors, each the mean over the outputs; their derivatives replace the scores.
    fn squared_error(&mut self, targets: &Matrix, first: usize) -> f64 {
        let outputs = targets.columns() as f64;
        let mut loss = 0.0;
        for (k, scores) in self.values.chunks_mut(STRIPE).enumerate() {
            for (row, score) in scores[..self.rows].iter_mut().enumerate() {
                let error = *score - targets[(first + row, k)];
                loss += error * error / outputs;
                *score = 2.0 / outputs * error;
            }
        }
        loss
    }

    /// Adds the derivatives by the bias, which are in the last place of each row of `gradient`.
    fn add_to_bias(&self, gradient: &mut [f64], width: usize) {
        for (slopes, values) in gradient.chunks_mut(width).zip(self.values.chunks(STRIPE)) {
            slopes[width - 1] += values[..self.rows].iter().sum::<f64>();
        }
    }
}
