//! Products of small `f32` matrices on the host, in row order, each on the calling thread.
//!
//! Burn's own product returns its result in a new tensor and cannot add to an existing one; for loops over parts
//! that stay in the cache, that takes most of the time. faer also uses AVX-512.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// A matrix with contiguous rows of `columns` values.
pub(crate) fn matrix(values: &[f32], columns: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(values, rows(values, columns), columns)
}

/// A matrix with rows of `columns` values that begin `stride` values apart.
pub(crate) fn spread(values: &[f32], rows: usize, columns: usize, stride: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice_with_stride(values, rows, columns, stride)
}

/// `target = left right`.
pub(crate) fn assign(target: &mut [f32], left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    write(target, Accum::Replace, left, right);
}

/// `target += left right`.
pub(crate) fn add(target: &mut [f32], left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    write(target, Accum::Add, left, right);
}

/// `left right`.
pub(crate) fn gemm(left: MatRef<'_, f32>, right: MatRef<'_, f32>) -> Vec<f32> {
    let mut target = vec![0.0; left.nrows() * right.ncols()];
    assign(&mut target, left, right);
    target
}

fn write(target: &mut [f32], how: Accum, left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    let columns = right.ncols();
    let target = MatMut::from_row_major_slice_mut(target, left.nrows(), columns);
    matmul(target, how, left, right, 1.0, Par::Seq);
}

fn rows(values: &[f32], columns: usize) -> usize {
    values.len().checked_div(columns).unwrap_or_default()
}
