//! Means and second moments of rows, in `f64`.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatRef, Par};

use super::blocks::{Block, accumulate, fold};
use super::dense;
use crate::error::Result;
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Rows};

/// Sums over rows `x` of which `centre` is subtracted.
pub(super) struct Moments {
    /// `Σ x`, `[d]`.
    pub(super) sums: Vec<f64>,
    /// The lower triangle of `Σ x xᵀ`, `[d, d]`.
    pub(super) products: Matrix,
    /// `Σ x tᵀ` with the targets `t`, `[d, m]`.
    pub(super) cross: Matrix,
}

impl Moments {
    fn zeros(columns: usize, outputs: usize) -> Self {
        Self {
            sums: vec![0.0; columns],
            products: Matrix::zeros(columns, columns),
            cross: Matrix::zeros(columns, outputs),
        }
    }

    /// The moments of rows `[n, d]`, and those with `targets` `[n, m]`.
    ///
    /// # Errors
    /// If rows cannot be read.
    pub(super) fn of(source: &dyn Rows, centre: &[f64], targets: &Matrix) -> Result<Self> {
        let (columns, outputs) = (source.columns(), targets.columns());
        let begin = || (Self::zeros(columns, outputs), Vec::new());
        let add = |(sums, centred): &mut (Self, Vec<f64>), block: Block<'_, f64>| {
            centred.clear();
            centred.extend_from_slice(block.values);
            for row in centred.chunks_exact_mut(columns.max(1)) {
                row.iter_mut().zip(centre).for_each(|(value, centre)| *value -= centre);
                accumulate(&mut sums.sums, row);
            }
            let x = MatRef::from_row_major_slice(centred, block.rows, columns);
            matmul(
                dense::view_mut(&mut sums.products),
                BlockStructure::TriangularLower,
                Accum::Add,
                x.transpose(),
                BlockStructure::Rectangular,
                x,
                BlockStructure::Rectangular,
                1.0,
                Par::Seq,
            );
            if outputs > 0 {
                let t = dense::view(targets).subrows(block.first, block.rows);
                dense::add_gemm(dense::view_mut(&mut sums.cross), x.transpose(), t);
            }
            Ok(())
        };
        let mut total = Self::zeros(columns, outputs);
        for (part, _) in fold(source, columns * (columns + outputs), begin, add)? {
            accumulate(&mut total.sums, &part.sums);
            accumulate(total.products.data_mut(), part.products.data());
            accumulate(total.cross.data_mut(), part.cross.data());
        }
        Ok(total)
    }
}

/// Mean of every column; zeros without rows.
///
/// # Errors
/// If rows cannot be read.
pub(super) fn means(source: &dyn Rows) -> Result<Vec<f64>> {
    let columns = source.columns();
    let parts = fold(
        source,
        columns,
        || vec![0.0; columns],
        |sums: &mut Vec<f64>, block: Block<'_, f64>| {
            block.values.chunks_exact(columns.max(1)).for_each(|row| accumulate(sums, row));
            Ok(())
        },
    )?;
    let mut mean = vec![0.0; columns];
    parts.iter().for_each(|part| accumulate(&mut mean, part));
    mean.iter_mut().for_each(|mean| *mean /= source.rows().max(1) as f64);
    Ok(mean)
}

/// Every `stride`th row.
pub(super) struct Every<'a> {
    pub(super) source: &'a dyn Rows,
    pub(super) stride: usize,
}

impl Rows for Every<'_> {
    fn is_single(&self) -> bool {
        self.source.is_single()
    }

    fn rows(&self) -> usize {
        self.source.rows().div_ceil(self.stride)
    }

    fn columns(&self) -> usize {
        self.source.columns()
    }

    fn read(&self, first: usize, mut out: Buffer<'_>) -> Result<()> {
        let columns = self.columns();
        (0..out.len() / columns.max(1)).try_for_each(|row| {
            self.source.read((first + row) * self.stride, out.part(row * columns, columns))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_all_rows_whatever_the_blocks() {
        let rows = Matrix::from_fn(3001, 200, |i, j| ((i * 7 + j * j) % 13) as f64 - 5.0);
        let targets = Matrix::from_fn(3001, 2, |i, k| ((i + 3 * k) % 5) as f64);
        let every = Every { source: &rows, stride: 2 };
        assert_eq!(every.rows(), 1501);
        let half: Vec<usize> = (0..3001).step_by(2).collect();
        let (picked, aims) = (rows.select(&half), targets.select(&half));
        let mean = means(&every).unwrap();
        assert!(mean.iter().zip(dense::column_means(&picked)).all(|(a, b)| (a - b).abs() < 1e-12));
        let centre = vec![0.5; 200];
        let moments = Moments::of(&every, &centre, &aims).unwrap();
        let centred = dense::centred(&picked, &centre);
        let products = dense::transpose_times(&centred, &centred);
        let cross = dense::transpose_times(&centred, &aims);
        for i in 0..200 {
            assert!((0..=i).all(|j| (moments.products[(i, j)] - products[(i, j)]).abs() < 1e-8));
            assert!((0..2).all(|k| (moments.cross[(i, k)] - cross[(i, k)]).abs() < 1e-8));
            assert!((moments.sums[i] - 1501.0 * (mean[i] - 0.5)).abs() < 1e-8);
        }
    }
}
