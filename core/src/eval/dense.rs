//! Products of host matrices by faer, on one thread, so that sums are always taken in the same order.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use simile_kernels::cpu::vectors::{dot, squared_distance};

use crate::numeric::matrix::Matrix;

/// Fraction of its terms below which a difference has lost too many digits to cancellation.
const CANCELLED: f64 = 1e-5;

/// The matrix as a read-only view for faer.
pub(super) fn view(matrix: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(matrix.data(), matrix.rows(), matrix.columns())
}

/// The matrix as a mutable view for faer.
pub(super) fn view_mut(matrix: &mut Matrix) -> MatMut<'_, f64> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    MatMut::from_row_major_slice_mut(matrix.data_mut(), rows, columns)
}

/// `out = scale * left * right`.
pub(super) fn gemm(out: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>, scale: f64) {
    matmul(out, Accum::Replace, left, right, scale, Par::Seq);
}

/// `out += left * right`.
pub(super) fn add_gemm(out: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    matmul(out, Accum::Add, left, right, 1.0, Par::Seq);
}

/// `left * right^T`, `[left rows, right rows]`.
pub(super) fn times_transpose(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Matrix {
    let mut out = Matrix::zeros(left.nrows(), right.nrows());
    gemm(view_mut(&mut out), left, right.transpose(), 1.0);
    out
}

/// `left^T * right`, `[left columns, right columns]`, which sums over blocks must equal.
#[cfg(test)]
pub(super) fn transpose_times(left: &Matrix, right: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(left.columns(), right.columns());
    gemm(view_mut(&mut out), view(left).transpose(), view(right), 1.0);
    out
}

/// The mean of every column; zeros for a matrix without rows.
pub(super) fn column_means(matrix: &Matrix) -> Vec<f64> {
    let mut mean = vec![0.0; matrix.columns()];
    for row in matrix.iter_rows() {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v);
    }
    mean.iter_mut().for_each(|m| *m /= matrix.rows().max(1) as f64);
    mean
}

/// The matrix with `mean` subtracted from every row.
pub(super) fn centred(matrix: &Matrix, mean: &[f64]) -> Matrix {
    let mut out = matrix.clone();
    centre(&mut out, mean);
    out
}

/// Subtracts `mean` from every row.
pub(super) fn centre(matrix: &mut Matrix, mean: &[f64]) {
    for i in 0..matrix.rows() {
        matrix.row_mut(i).iter_mut().zip(mean).for_each(|(v, m)| *v -= m);
    }
}

/// Number of rows of a table with `columns` columns that fit a block of about four megabytes.
fn block_rows(columns: usize) -> usize {
    (524_288 / columns.max(1)).clamp(1, 4096)
}

/// Calls `visit(i, distances)` with the squared Euclidean distances of row `i` to every row of `points`.
///
/// Distances come from `|x|² + |y|² - 2 x.y` of the centred points, in blocks. Where the result is less than
/// [`CANCELLED`] of its terms, the distance is summed directly: points that coincide have distance 0 exactly.
pub(super) fn for_each_distance_row(points: &Matrix, mut visit: impl FnMut(usize, &[f64])) {
    let points = &centred(points, &column_means(points));
    let n = points.rows();
    let squares: Vec<f64> = points.iter_rows().map(|row| dot(row, row)).collect();
    let step = block_rows(n);
    for start in (0..n).step_by(step) {
        let rows = step.min(n - start);
        let mut gram = times_transpose(view(points).subrows(start, rows), view(points));
        for r in 0..rows {
            let i = start + r;
            let row = gram.row_mut(r);
            for (j, (value, square)) in row.iter_mut().zip(&squares).enumerate() {
                let terms = squares[i] + square;
                *value = terms - 2.0 * *value;
                if *value < CANCELLED * terms {
                    *value = squared_distance(points.row(i), points.row(j));
                }
            }
            visit(i, row);
        }
    }
}
