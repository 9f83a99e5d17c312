//! Few rows with the singular values of many rows, which are read by blocks.
//!
//! Rows `A = Q R` have the singular values of their triangle `R`. A *stack* has the triangle of the rows so far, and below it the next
//! rows; the triangle of the stack is that of all of them. The eigenvalues of `Aᵀ A` would take less time and have half of the digits.

use std::ops::Range;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::{Mat, MatMut, MatRef, Par};
use simile_kernels::cpu::parallel;

use super::blocks::rows_of_block;
use crate::error::Result;
use crate::numeric::matrix::Matrix;
use crate::numeric::rows::{Buffer, Rows, to_matrix};

/// Rows of a stack for each column: with more the triangle is decomposed again less often, and the stack takes more memory.
const TALL: usize = 3;
/// Least values of a stack, a megabyte of `f64`.
const LEAST: usize = 1 << 17;
/// Most values of all stacks, 256 MiB of `f64`, unless a single one has more.
const MOST: usize = 1 << 25;
/// Most parts of the rows, each with a stack of its own.
const PARTS: usize = 8;

/// Rows with the singular values of `source`: `source` itself if it fits a stack, or at most as many rows as a stack.
///
/// # Errors
/// If rows cannot be read.
pub(super) fn condensed(source: &dyn Rows) -> Result<Matrix> {
    let most = rows_of_stack(source.columns());
    if source.rows() <= most {
        return to_matrix(source);
    }
    let mut rows = triangles(source)?;
    while rows.rows() > most {
        rows = triangles(&rows)?;
    }
    Ok(rows)
}

fn rows_of_stack(columns: usize) -> usize {
    (TALL * columns).max(LEAST / columns.max(1))
}

/// The triangles of parts of `source`, below each other. It has more rows than a stack, and they have at most a third as many.
fn triangles(source: &dyn Rows) -> Result<Matrix> {
    let (rows, columns) = (source.rows(), source.columns());
    let most = rows_of_stack(columns);
    // Each part fills a stack at least.
    let parts = (MOST / (most * columns).max(1)).clamp(1, PARTS).min(rows / most);
    let of_part = |part: usize| triangle(source, rows * part / parts..rows * (part + 1) / parts);
    let triangles = parallel::map(0..parts, of_part).into_iter().collect::<Result<Vec<_>>>()?;
    Matrix::new(parts * columns, columns, triangles.concat())
}

/// The triangle of some rows, in row order. They fill a stack at least.
fn triangle(source: &dyn Rows, range: Range<usize>) -> Result<Vec<f64>> {
    let columns = source.columns();
    let most = rows_of_stack(columns);
    let (mut stack, mut filled) = (Mat::<f64>::zeros(most, columns), 0);
    let (mut block, mut next) = (Vec::new(), range.start);
    while next < range.end {
        let rows = rows_of_block(columns).min(range.end - next).min(most - filled);
        block.resize(rows * columns, 0.0);
        source.read(next, Buffer::Double(&mut block))?;
        stack.subrows_mut(filled, rows).copy_from(MatRef::from_row_major_slice(&block[..], rows, columns));
        filled += rows;
        next += rows;
        if filled == most || next == range.end {
            decompose(stack.subrows_mut(0, filled));
            filled = columns;
        }
    }
    Ok((0..columns)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|at| stack[at])
        .collect())
}

/// Writes the triangle of rows over the first of them, as many as there are columns.
fn decompose(mut rows: MatMut<'_, f64>) {
    let (height, columns) = (rows.nrows(), rows.ncols());
    let size = recommended_block_size::<f64>(height, columns);
    let scratch = qr_in_place_scratch::<f64>(height, columns, size, Par::Seq, Default::default());
    let mut scratch = MemBuffer::new(scratch);
    let mut reflections = Mat::<f64>::zeros(size, columns);
    let (reflections, scratch) = (reflections.as_mut(), MemStack::new(&mut scratch));
    qr_in_place(rows.as_mut(), reflections, Par::Seq, scratch, Default::default());
    // It keeps the reflections below the diagonal.
    for column in 0..columns {
        for row in column + 1..columns {
            rows[(row, column)] = 0.0;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::eval::blocks::testing::InBlocks;
    use crate::eval::dense;

    /// Columns of very different scales, of which some are zero or equal.
    fn table(rows: usize, columns: usize) -> Matrix {
        let value = |i: usize, j: usize| ((i * i + 31 * j * j + 13 * i * j) % 1009) as f64 / 1009.0 - 0.4;
        Matrix::from_fn(rows, columns, |i, j| match j % 10 {
            0 => 0.0,
            1 => value(i, 1),
            _ => value(i, j) / (1 + j) as f64,
        })
    }

    fn singular_values(rows: &Matrix) -> Vec<f64> {
        dense::view(rows).singular_values().unwrap()
    }

    /// The first has triangles that are decomposed once more, and no part of the second fills its last stack.
    #[test]
    fn the_singular_values_are_those_of_all_rows_which_are_read_by_blocks() {
        for (rows, columns) in [(6000, 220), (70_000, 15)] {
            let all = table(rows, columns);
            let few = condensed(&InBlocks(&all)).unwrap();
            assert!(few.rows() <= rows_of_stack(columns) && few.rows() < rows, "{}", few.rows());
            let (expected, found) = (singular_values(&all), singular_values(&few));
            assert_eq!(expected.len(), found.len());
            let off = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12 * expected[0], "{rows}x{columns}: {off:.1e}");
        }
    }

    #[test]
    fn what_fits_a_stack_is_left_as_it_is() {
        for (rows, columns) in [(1, 1), (40, 60), (60, 40), (900, 300), (0, 3), (3, 0)] {
            let all = table(rows, columns);
            assert_eq!(condensed(&all).unwrap(), all);
        }
    }
}
