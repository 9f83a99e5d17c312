//! Functions of contiguous rows: unit length, softmax, and the backward passes of both. Every row is read and
//! written while it is in the cache.

use super::exp::exp_or_zero;
use super::parallel;
use super::vectors::{LANES, dot_f32, sum_f32};

/// Rows whose entries are all at most this in size count as zero.
pub const SMALLEST_NORM: f64 = 1e-12;

/// Number of values in one iteration of a loop over rows.
const PART: usize = 1 << 14;

/// Number of values in the whole rows of one iteration.
fn round(width: usize) -> usize {
    width.max(1) * (PART / width.max(1)).max(1)
}

/// Divides rows of `width` numbers by their lengths, and returns the reciprocals of the lengths; both are 0 for a
/// zero row.
pub(crate) fn unit_rows(rows: &mut [f32], width: usize) -> Vec<f32> {
    let of_part = |part: &mut [f32]| part.chunks_exact_mut(width).map(unit).collect::<Vec<f32>>();
    parallel::map(rows.chunks_mut(round(width)), of_part).concat()
}

fn unit(row: &mut [f32]) -> f32 {
    vectorised!({
        let largest = row.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        // A maximum ignores NaN, which must not be taken for zero.
        if largest <= SMALLEST_NORM as f32 && !row.iter().any(|x| x.is_nan()) {
            row.fill(0.0);
            return 0.0;
        }
        row.iter_mut().for_each(|x| *x /= largest);
        let length = dot_f32(row, row).sqrt();
        row.iter_mut().for_each(|x| *x /= length);
        (largest * length).recip()
    })
}

/// `(g - (g . u) u) scale`, written row by row over the gradients `g` with respect to the unit rows `u`.
pub(crate) fn unit_rows_backward(gradient: &mut [f32], unit: &[f32], scale: &[f32]) {
    let width = unit.len() / scale.len().max(1);
    let size = round(width);
    let rows = size / width.max(1);
    let parts = gradient.chunks_mut(size).zip(unit.chunks(size)).zip(scale.chunks(rows));
    parallel::map(parts, |((gradient, unit), scale)| {
        let rows = gradient.chunks_exact_mut(width).zip(unit.chunks_exact(width)).zip(scale);
        for ((gradient, unit), scale) in rows {
            let radial = dot_f32(gradient, unit);
            let project = |(g, u): (&mut f32, &f32)| *g = (*g - radial * u) * scale;
            vectorised!(gradient.iter_mut().zip(unit).for_each(project));
        }
    });
}

/// Replaces rows of `columns` numbers by their softmax, and returns their log-sum-exps.
pub(crate) fn row_softmax(rows: &mut [f32], columns: usize) -> Vec<f32> {
    let of_part = |part: &mut [f32]| part.chunks_exact_mut(columns).map(normalise).collect::<Vec<f32>>();
    parallel::map(rows.chunks_mut(round(columns)), of_part).concat()
}

/// `(g - (g . p)) p`, written row by row over the gradients `g` with respect to the softmax `p`.
pub(crate) fn row_softmax_backward(gradient: &mut [f32], softmax: &[f32], columns: usize) {
    let size = round(columns);
    parallel::map(gradient.chunks_mut(size).zip(softmax.chunks(size)), |(gradient, softmax)| {
        let rows = gradient.chunks_exact_mut(columns).zip(softmax.chunks_exact(columns));
        for (gradient, softmax) in rows {
            let mean = dot_f32(gradient, softmax);
            let backward = |(g, p): (&mut f32, &f32)| *g = (*g - mean) * p;
            vectorised!(gradient.iter_mut().zip(softmax).for_each(backward));
        }
    });
}

/// The cross-entropies of scores times `scale` with target weights `q`, `mass lse - (q . s)` of each row. Their
/// gradients with respect to the scaled scores, `mass softmax - q`, replace the scores.
pub(crate) fn soft_cross_entropy(
    scores: &mut [f32],
    targets: &[f32],
    columns: usize,
    scale: f32,
) -> Vec<f32> {
    let size = round(columns);
    let losses = parallel::map(scores.chunks_mut(size).zip(targets.chunks(size)), |(scores, targets)| {
        let rows = scores.chunks_exact_mut(columns).zip(targets.chunks_exact(columns));
        let losses = rows.map(|(row, target)| {
            vectorised!(row.iter_mut().for_each(|x| *x *= scale));
            let (agreed, mass) = (dot_f32(row, target), sum_f32(target));
            let log_sum = normalise(row);
            vectorised!(row.iter_mut().zip(target).for_each(|(p, q)| *p = mass * *p - q));
            mass * log_sum - agreed
        });
        losses.collect::<Vec<f32>>()
    });
    losses.concat()
}

/// Replaces a row by its softmax and returns its log-sum-exp.
fn normalise(row: &mut [f32]) -> f32 {
    vectorised!({
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut lanes = [0.0_f32; LANES];
        let (parts, rest) = row.as_chunks_mut::<LANES>();
        for part in parts {
            for (lane, x) in lanes.iter_mut().zip(part) {
                *x = exp_or_zero(*x - largest);
                *lane += *x;
            }
        }
        let mut sum: f32 = lanes.iter().sum();
        for x in rest {
            *x = exp_or_zero(*x - largest);
            sum += *x;
        }
        let scale = sum.recip();
        row.iter_mut().for_each(|x| *x *= scale);
        largest + sum.ln()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_passes_through() {
        for at in [0, 20] {
            let mut row = [0.5; 21];
            row[at] = f32::NAN;
            let mut rows = row;
            assert!(row_softmax(&mut rows, 21)[0].is_nan() && rows.iter().all(|x| x.is_nan()));
            assert!(unit_rows(&mut row, 21)[0].is_nan());
        }
    }
}
