//! Products of small `f32` matrices on the host, row by row in memory, each on the thread that asks for it.
//!
//! Burn's own product hands a result to the caller in a new tensor and cannot add to an old one; for loops over parts
//! that stay in the cache that is most of the time. faer has AVX-512 besides.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// The matrix whose rows of `columns` values lie one after the other.
pub(crate) fn matrix(values: &[f32], columns: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(values, rows(values, columns), columns)
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
pub(crate) fn product(left: MatRef<'_, f32>, right: MatRef<'_, f32>) -> Vec<f32> {
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
