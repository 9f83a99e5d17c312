//! The median distance of conditioning values, a bandwidth for data of any unit.

use simile_kernels::cpu::vectors::squared_distance;

use crate::error::{Error, Result};
use crate::numeric::matrix::Matrix;

/// Most rows whose distances give a median.
pub(super) const MEDIAN_ROWS: usize = 1000;
/// The fractional part of the golden ratio, whose multiples fill the unit interval most evenly.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;
/// Distances that differ by less than this share of the larger one are the same but for their rounding.
const ROUNDING: f64 = 1e-9;

/// The rows whose distances give the median: all of `rows`, or one of each of 1,000 equal parts, at a place in it that multiples of
/// the golden ratio spread evenly. If every n-th row were taken, and rows alternated between two groups, all could be of one group.
/// The PyTorch of the objectives takes the same rows.
pub(super) fn median_rows(rows: usize) -> Vec<usize> {
    if rows <= MEDIAN_ROWS {
        return (0..rows).collect();
    }
    let start = |part: usize| part * rows / MEDIAN_ROWS;
    let within = |part: usize| (part as f64 * GOLDEN_RATIO).fract() * (start(part + 1) - start(part)) as f64;
    (0..MEDIAN_ROWS).map(|part| start(part) + within(part) as usize).collect()
}

/// The median of the pairwise Euclidean distances of the rows of `z`, without those of equal rows; of an even number the upper one
/// of the two in the middle. A bandwidth `sigma` for data of any unit.
///
/// Beyond 1,000 rows it is that of 1,000 of them, so that at most half a million distances are formed.
///
/// # Errors
/// [`Error::Degenerate`] if fewer than two rows differ.
pub fn median_distance(z: &Matrix) -> Result<f64> {
    let mut distances = squared_distances(z);
    if distances.is_empty() {
        return Err(Error::Degenerate {
            reason: "all conditioning values are equal, so there is no median distance".into(),
            remedy: "give the bandwidth as a number".into(),
        });
    }
    let middle = distances.len() / 2;
    let (_, median, _) = distances.select_nth_unstable_by(middle, f64::total_cmp);
    Ok(median.sqrt())
}

/// True if all pairs of rows that differ have the same distance, as one-hot rows do: a kernel of the distance has one value for all of
/// them, whatever its bandwidth. Of more than 1,000 rows, 1,000 are compared.
pub(super) fn differ_equally(z: &Matrix) -> bool {
    let distances = squared_distances(z).into_iter().map(f64::sqrt);
    let (low, high) = distances.fold((f64::INFINITY, 0.0_f64), |(low, high), d| (low.min(d), high.max(d)));
    high - low <= ROUNDING * high
}

/// The squared distances of the rows that give the median, without those of equal rows.
fn squared_distances(z: &Matrix) -> Vec<f64> {
    let rows: Vec<&[f64]> = median_rows(z.rows()).into_iter().map(|row| z.row(row)).collect();
    (rows.iter().enumerate())
        .flat_map(|(i, a)| rows[..i].iter().map(move |b| squared_distance(a, b)))
        .filter(|&d| d > 0.0)
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_many_rows_sees_groups_that_come_in_turn() {
        let in_turn = Matrix::from_fn(1200, 1, |i, _| 100.0 * (i % 2) as f64);
        assert_eq!(median_distance(&in_turn).unwrap(), 100.0);
        let rows = median_rows(4096);
        assert_eq!(rows.len(), MEDIAN_ROWS);
        assert!(rows.is_sorted_by(|a, b| a < b) && *rows.last().unwrap() < 4096);
        let odd = rows.iter().filter(|row| *row % 2 == 1).count();
        assert!((450..550).contains(&odd), "{odd}");
    }

    #[test]
    fn one_hot_rows_differ_equally_and_numbers_do_not() {
        assert!(differ_equally(&Matrix::from_fn(5, 4, |i, j| f64::from(u8::from(i % 4 == j)))));
        assert!(!differ_equally(&Matrix::from_fn(3, 1, |i, _| i as f64)));
    }

    /* Equivalent Python: `median_rows` of loss/cclk/condition_weights.py */
    #[test]
    fn the_pytorch_of_the_objectives_takes_the_same_rows() {
        let rows = median_rows(4096);
        assert_eq!(rows[..8], [0, 6, 8, 15, 17, 20, 26, 29]);
        assert_eq!(rows.iter().sum::<usize>(), 2_047_004);
    }
}
