//! Products of small `f32` matrices on the host, in row order, each on the calling thread.
//!
//! Burn's own product returns its result in a new tensor and cannot add to an existing one; for loops over parts
//! that stay in the cache, that takes most of the time. faer also uses AVX-512.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Number of parallel sums, which the compiler keeps in vector registers.
const LANES: usize = 16;

/// A matrix with contiguous rows of `columns` values.
pub fn matrix(values: &[f32], columns: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice(values, rows(values, columns), columns)
}

/// A matrix with rows of `columns` values that begin `stride` values apart.
pub fn spread(values: &[f32], rows: usize, columns: usize, stride: usize) -> MatRef<'_, f32> {
    MatRef::from_row_major_slice_with_stride(values, rows, columns, stride)
}

/// `target = left right`.
pub fn assign(target: &mut [f32], left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    write(target, Accum::Replace, left, right);
}

/// `target += left right`.
pub fn add(target: &mut [f32], left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    write(target, Accum::Add, left, right);
}

/// `left right`.
pub fn gemm(left: MatRef<'_, f32>, right: MatRef<'_, f32>) -> Vec<f32> {
    let mut target = vec![0.0; left.nrows() * right.ncols()];
    assign(&mut target, left, right);
    target
}

/// The inner product of two rows of one length.
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    vectorised!({
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let mut lanes = [0.0_f32; LANES];
        for (a, b) in a.iter().zip(b) {
            lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
        }
        let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
        lanes.iter().sum::<f32>() + rest
    })
}

fn write(target: &mut [f32], how: Accum, left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    let columns = right.ncols();
    let target = MatMut::from_row_major_slice_mut(target, left.nrows(), columns);
    matmul(target, how, left, right, 1.0, Par::Seq);
}

fn rows(values: &[f32], columns: usize) -> usize {
    values.len().checked_div(columns).unwrap_or_default()
}
