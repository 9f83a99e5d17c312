//! Sinkhorn's algorithm: the exponentials are computed once, and each iteration only computes the factors of rows
//! and columns.

use super::exp::exp;
use super::parallel;
use super::vectors::dot_f32;

/// The largest difference of two logits whose exponentials can be added in `f32`.
const SPAN: f32 = 60.0;
/// Number of rows in one iteration of a loop.
const PART: usize = 32;

/// The largest score, if the exponentials of all scores times `scale` can be added.
pub(crate) fn largest_score(scores: &[f32], scale: f32) -> Option<f32> {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let smallest = scores.iter().copied().fold(f32::INFINITY, f32::min);
    ((largest - smallest) * scale <= SPAN).then_some(largest)
}

/// Replaces scores of `columns` prototypes by the assignments; `largest` is the [largest](largest_score) one.
pub(crate) fn sinkhorn(scores: &mut [f32], columns: usize, largest: f32, scale: f32, iterations: usize) {
    let size = PART * columns;
    parallel::map(scores.chunks_mut(size), |part| {
        vectorised!(part.iter_mut().for_each(|x| *x = exp((*x - largest) * scale)));
    });
    let terms = scores;
    let mut by_row = vec![1.0_f32; terms.len() / columns];
    let mut by_column = vec![1.0_f32; columns];
    for _ in 0..iterations.max(1) {
        // The column's factor needs the sums of all rows; a row's sum then only needs the row.
        let sums = parallel::map(terms.chunks(size).zip(by_row.chunks(PART)), |(part, by_row)| {
            column_sums(part, by_row, columns)
        });
        by_column = parallel::sum(sums, columns);
        by_column.iter_mut().for_each(|sum| *sum = sum.recip());
        let sums = parallel::map(terms.chunks(size), |part| {
            part.chunks_exact(columns).map(|row| dot_f32(row, &by_column).recip()).collect::<Vec<f32>>()
        });
        by_row = sums.concat();
    }
    parallel::map(terms.chunks_mut(size).zip(by_row.chunks(PART)), |(part, by_row)| {
        for (row, row_factor) in part.chunks_exact_mut(columns).zip(by_row) {
            vectorised!(row.iter_mut().zip(&by_column).for_each(|(x, c)| *x = *x * row_factor * c));
        }
    });
}

/// The sums of the columns of some rows, each row times its factor.
fn column_sums(rows: &[f32], factors: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0_f32; columns];
    for (row, factor) in rows.chunks_exact(columns).zip(factors) {
        vectorised!(sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x));
    }
    sums
}
