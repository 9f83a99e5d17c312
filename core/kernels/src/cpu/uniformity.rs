//! The uniformity in one pass over half of the pairs.
//!
//! The result is one sum, so the gradient can be computed in the same pass:
//!
//! ```text
//! e_ij = exp( -t |x_i - x_j|^2 ),   T = sum_{i != j} e_ij,   dU / dx_i = -4 t / T ( x_i sum_j e_ij - sum_j e_ij x_j )
//! ```

use std::ops::Range;

use super::exp::exp;
use super::gemm::{add, gemm, matrix};
use super::parallel;
use super::vectors::LANES;

/// The largest exponent for which terms keep all of their digits.
const SPAN: f32 = 60.0;
/// Rows of a block.
const BLOCK: usize = 512;
/// Number of rows of a block in one iteration of a loop.
const PART: usize = 64;

/// The uniformity of centred rows of `width` values, and its gradient; `None` if they are too far apart for `f32`.
pub(crate) fn uniformity(rows: &[f32], width: usize, t: f64) -> Option<(f32, Vec<f32>)> {
    let n = rows.len().checked_div(width)?;
    let half_square = |row: &[f32]| row.iter().map(|x| x * x).sum::<f32>() / 2.0;
    let half_squares: Vec<f32> = rows.chunks_exact(width).map(half_square).collect();
    // No two rows are farther apart than twice the longest row.
    let farthest = 8.0 * half_squares.iter().copied().fold(0.0, f32::max);
    let is_safe = t as f32 * farthest <= SPAN;
    if !is_safe {
        return None;
    }
    let pairs = Pairs { rows, half_squares: &half_squares, width, factor: 2.0 * t as f32 };
    let Sums { by_row, weighted } = pairs.sums();
    let total: f64 = by_row.iter().sum();
    let scale = -4.0 * t / total;
    let rows_with_sums = rows.chunks_exact(width).zip(weighted.chunks_exact(width)).zip(&by_row);
    let gradient: Vec<f32> = rows_with_sums
        .flat_map(|((row, weighted), sum)| {
            let difference =
                move |(x, w): (&f32, &f32)| (scale * (sum * f64::from(*x) - f64::from(*w))) as f32;
            row.iter().zip(weighted).map(difference)
        })
        .collect();
    Some(((total / (n as f64 * (n - 1) as f64)).ln() as f32, gradient))
}

struct Pairs<'r> {
    rows: &'r [f32],
    half_squares: &'r [f32],
    width: usize,
    /// Factor of inner products of rows: `2 t`.
    factor: f32,
}

/// `sum_j e_ij` and `sum_j e_ij x_j` by row.
struct Sums {
    by_row: Vec<f64>,
    weighted: Vec<f32>,
}

impl Pairs<'_> {
    fn sums(&self) -> Sums {
        let n = self.half_squares.len();
        let mut sums = Sums { by_row: vec![0.0; n], weighted: vec![0.0; self.rows.len()] };
        let blocks: Vec<Range<usize>> = parallel::parts(0..n, BLOCK).collect();
        for (p, rows) in blocks.iter().enumerate() {
            for columns in &blocks[p..] {
                self.add_block(&mut sums, rows, columns);
            }
        }
        sums
    }

    /// Adds the pairs of a block by rows and, unless the block contains them twice, by columns.
    fn add_block(&self, sums: &mut Sums, rows: &Range<usize>, columns: &Range<usize>) {
        let Sums { by_row, weighted } = sums;
        let parts =
            parallel::parts(rows.clone(), PART).zip(weighted[self.span(rows)].chunks_mut(PART * self.width));
        let part_sums = parallel::map(parts, |(part, weighted)| {
            let terms = self.terms(&part, columns);
            add(weighted, matrix(&terms, columns.len()), self.matrix_of(columns));
            let (mut row_sums, mut column_sums) = (Vec::with_capacity(part.len()), vec![0.0; columns.len()]);
            for line in terms.chunks_exact(columns.len()) {
                row_sums.push(add_line(line, &mut column_sums));
            }
            (terms, row_sums, column_sums)
        });
        let all_rows = part_sums.iter().flat_map(|(_, row_sums, _)| row_sums);
        by_row[rows.clone()].iter_mut().zip(all_rows).for_each(|(sum, e)| *sum += f64::from(*e));
        if rows == columns {
            return;
        }
        for (_, _, column_sums) in &part_sums {
            by_row[columns.clone()].iter_mut().zip(column_sums).for_each(|(sum, e)| *sum += f64::from(*e));
        }
        let parts = weighted[self.span(columns)].chunks_mut(PART * self.width);
        parallel::map(parts.enumerate(), |(at, weighted)| {
            for (part, (terms, _, _)) in parallel::parts(rows.clone(), PART).zip(&part_sums) {
                let terms = matrix(terms, columns.len()).subcols(at * PART, weighted.len() / self.width);
                add(weighted, terms.transpose(), self.matrix_of(&part));
            }
        });
    }

    /// `e_ij` of some rows against others, 0 for a row with itself.
    fn terms(&self, rows: &Range<usize>, columns: &Range<usize>) -> Vec<f32> {
        let mut terms = gemm(self.matrix_of(rows), self.matrix_of(columns).transpose());
        for (i, line) in rows.clone().zip(terms.chunks_exact_mut(columns.len())) {
            let (own, others) = (self.half_squares[i], &self.half_squares[columns.clone()]);
            vectorised!({
                line.iter_mut().zip(others).for_each(|(e, other)| *e = exp(self.factor * (*e - own - other)));
            });
            if columns.contains(&i) {
                line[i - columns.start] = 0.0;
            }
        }
        terms
    }

    fn matrix_of(&self, rows: &Range<usize>) -> faer::MatRef<'_, f32> {
        matrix(&self.rows[self.span(rows)], self.width)
    }

    /// The range of the values of some rows.
    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.width..rows.end * self.width
    }
}

/// Adds a line of terms to the sums by column, and returns its own sum.
fn add_line(line: &[f32], columns: &mut [f32]) -> f32 {
    vectorised!({
        let mut lanes = [0.0_f32; LANES];
        let (runs, rest) = line.as_chunks::<LANES>();
        for run in runs {
            lanes.iter_mut().zip(run).for_each(|(sum, e)| *sum += e);
        }
        columns.iter_mut().zip(line).for_each(|(sum, e)| *sum += e);
        lanes.iter().sum::<f32>() + rest.iter().sum::<f32>()
    })
}
