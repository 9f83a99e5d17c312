//! The gradient of the cross-entropy of a batch of rows, for the probe that descends.
//!
//! All threads read rows, in the order in which they lie, and compute columns of the products. Each number is the same sum in the
//! same order as with one thread, and with rows that are read in the order of the batch.

use faer::{MatMut, MatRef};
use simile_kernels::cpu::exp::exp_f64;
use simile_kernels::cpu::parallel;

use super::blocks::accumulate;
use super::dense;
use crate::error::Result;
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Rows};

/// Values that a thread reads at once, or whose exponentials it computes: 256 KiB.
const VALUES: usize = 1 << 15;
/// Columns of a product that a thread computes at once; the last ones are up to twice as many.
const COLUMNS: usize = 96;
/// A product with fewer multiplications is computed sooner than another thread starts.
const SMALL: usize = 1 << 20;

/// The gradient of a batch, and memory that the next batch uses again.
pub(super) struct BatchGradient {
    /// By the weights, `[classes, d]`.
    pub(super) weight: Matrix,
    /// By the bias, `[classes]`.
    pub(super) bias: Vec<f64>,
    /// The features of the batch, `[samples, d]`.
    rows: Vec<f64>,
    /// The scores of the batch, and then the derivatives of the loss by them, `[samples, classes]`.
    residual: Vec<f64>,
}

impl BatchGradient {
    /// Memory for a probe of `classes`, one or more, on rows of `columns` features.
    pub(super) fn new(classes: usize, columns: usize) -> Self {
        let weight = Matrix::zeros(classes, columns);
        Self { weight, bias: vec![0.0; classes], rows: Vec::new(), residual: Vec::new() }
    }

    /// Computes the gradient of the mean cross-entropy of the samples `batch`, at a probe's weights and bias.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn compute(
        &mut self,
        (weight, bias): (&Matrix, &[f64]),
        features: &dyn Rows,
        labels: &[usize],
        batch: &[usize],
    ) -> Result<()> {
        let (samples, classes, columns) = (batch.len(), weight.rows(), weight.columns());
        self.rows.resize(samples * columns, 0.0);
        self.residual.resize(samples * classes, 0.0);
        read(features, batch, &mut self.rows)?;
        let rows = MatRef::from_row_major_slice(&self.rows[..], samples, columns);
        let scores = MatMut::from_row_major_slice_mut(&mut self.residual[..], samples, classes);
        gemm_by_columns(scores, rows, dense::view(weight).transpose());

        let together = (VALUES / classes).max(1);
        let groups = self.residual.chunks_mut(together * classes).zip(batch.chunks(together));
        parallel::map(groups, |(scores, group)| {
            for (scores, &sample) in scores.chunks_exact_mut(classes).zip(group) {
                accumulate(scores, bias);
                let total = exponentials(scores);
                scores.iter_mut().for_each(|score| *score /= total);
                scores[labels[sample]] -= 1.0;
                scores.iter_mut().for_each(|score| *score /= samples as f64);
            }
        });
        self.bias.fill(0.0);
        self.residual.chunks_exact(classes).for_each(|slopes| accumulate(&mut self.bias, slopes));

        let residual = MatRef::from_row_major_slice(&self.residual[..], samples, classes);
        gemm_by_columns(dense::view_mut(&mut self.weight), residual.transpose(), rows);
        Ok(())
    }
}

/// Replaces every score by `exp(score - largest score)` and returns their sum. NaN stays NaN. `exp_f64` is vectorised; `f64::exp`
/// took twenty times as long as the matrix products around it.
fn exponentials(scores: &mut [f64]) -> f64 {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = exp_f64(*score - most));
    scores.iter().sum()
}

/// Writes the rows `batch` to `out`, in this order. A thread reads some of them, one after another as they lie.
fn read(features: &dyn Rows, batch: &[usize], out: &mut [f64]) -> Result<()> {
    let columns = features.columns().max(1);
    let mut places: Vec<(usize, &mut [f64])> =
        batch.iter().copied().zip(out.chunks_exact_mut(columns)).collect();
    places.sort_unstable_by_key(|(sample, _)| *sample);
    let of_group = |group: &mut [(usize, &mut [f64])]| {
        group.iter_mut().try_for_each(|(sample, row)| features.read(*sample, Buffer::Double(row)))
    };
    parallel::map(places.chunks_mut((VALUES / columns).max(1)), of_group).into_iter().collect()
}

/// `out = left right`, some columns of it by each thread.
fn gemm_by_columns(out: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    let is_small = out.nrows() * out.ncols() * left.ncols() < SMALL;
    let parts = if is_small { 1 } else { (out.ncols() / COLUMNS).max(1) };
    let (mut columns, mut rest) = (Vec::with_capacity(parts), out);
    for _ in 1..parts {
        let (part, others) = rest.split_at_col_mut(COLUMNS);
        columns.push(part);
        rest = others;
    }
    columns.push(rest);
    parallel::map(columns.into_iter().enumerate(), |(at, part)| {
        let right = right.subcols(at * COLUMNS, part.ncols());
        dense::gemm(part, left, right, 1.0);
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::eval::regression::affine;

    #[test]
    fn the_largest_score_has_weight_one_however_large() {
        let mut scores = [1e6, 1e6 - 2.0, -1e6];
        let total = exponentials(&mut scores);
        assert_eq!(scores[0], 1.0);
        assert!((total - (1.0 + (-2_f64).exp())).abs() < 1e-15);
    }

    /// The gradient with products on one thread, of rows that are read in the order of the batch.
    fn in_order(
        (weight, bias): (&Matrix, &[f64]),
        features: &dyn Rows,
        labels: &[usize],
        batch: &[usize],
    ) -> (Matrix, Vec<f64>) {
        let mut rows = Matrix::zeros(batch.len(), features.columns());
        for (at, &sample) in batch.iter().enumerate() {
            features.read(sample, Buffer::Double(rows.row_mut(at))).unwrap();
        }
        let mut residual = affine(&rows, weight, bias).unwrap();
        let mut slopes = vec![0.0; bias.len()];
        for (row, &sample) in batch.iter().enumerate() {
            let scores = residual.row_mut(row);
            let total = exponentials(scores);
            scores.iter_mut().for_each(|score| *score /= total);
            scores[labels[sample]] -= 1.0;
            scores.iter_mut().for_each(|score| *score /= batch.len() as f64);
            slopes.iter_mut().zip(scores.iter()).for_each(|(sum, score)| *sum += score);
        }
        (dense::transpose_times(&residual, &rows), slopes)
    }

    #[test]
    fn the_gradient_is_that_of_one_thread_to_the_last_bit() {
        let wave = |step: f64| move |i: usize, j: usize| ((i * 331 + j) as f64 * step).sin();
        for (classes, columns) in [(210, 240), (3, 7)] {
            let features = Matrix::from_fn(400, columns, wave(0.37));
            let (weight, bias) = (Matrix::from_fn(classes, columns, wave(0.11)), vec![0.25; classes]);
            let labels: Vec<usize> = (0..400).map(|i| i * 7 % classes).collect();
            let order: Vec<usize> = (0..400).map(|i| i * 37 % 400).collect();
            let mut gradient = BatchGradient::new(classes, columns);
            // The last batch is short, in memory that the others have used.
            for batch in order.chunks(160) {
                gradient.compute((&weight, &bias), &features, &labels, batch).unwrap();
                let (by_weight, by_bias) = in_order((&weight, &bias), &features, &labels, batch);
                assert!(gradient.weight == by_weight && gradient.bias == by_bias, "{} rows", batch.len());
            }
        }
    }

    /// Rows that note which of them are read.
    struct Noted {
        rows: Matrix,
        read: Mutex<Vec<usize>>,
    }

    impl Rows for Noted {
        fn is_single(&self) -> bool {
            false
        }

        fn rows(&self) -> usize {
            self.rows.rows()
        }

        fn columns(&self) -> usize {
            self.rows.columns()
        }

        fn read(&self, first: usize, out: Buffer<'_>) -> Result<()> {
            self.read.lock().unwrap().push(first);
            self.rows.read(first, out)
        }
    }

    #[test]
    fn rows_are_read_as_they_lie_and_written_in_the_order_of_the_batch() {
        let features =
            Noted { rows: Matrix::from_fn(9, 2, |i, j| (2 * i + j) as f64), read: Mutex::default() };
        let mut out = [0.0; 8];
        read(&features, &[7, 0, 8, 3], &mut out).unwrap();
        assert_eq!(out, [14.0, 15.0, 0.0, 1.0, 16.0, 17.0, 6.0, 7.0]);
        assert_eq!(*features.read.lock().unwrap(), [0, 3, 7, 8]);
        assert!(read(&features, &[1, 9], &mut out[..4]).is_err());
    }
}
