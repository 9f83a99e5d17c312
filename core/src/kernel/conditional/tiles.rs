//! A symmetric positive definite matrix in `f32`, in square tiles on and below the diagonal, and its inverse.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::DenseSolveCore;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use simile_kernels::cpu::parallel;

/// Rows of a tile: three tiles fit into the cache of a core.
const TILE: usize = 256;

/// A symmetric matrix; tile `(i, j)` with `i >= j` lies at `i (i + 1) / 2 + j`, in row order, those on the diagonal whole.
#[derive(Clone)]
pub(super) struct SymmetricTiles {
    rows: usize,
    tiles: Vec<Vec<f32>>,
}

impl SymmetricTiles {
    /// The matrix of `rows` rows whose tile of rows and columns is `tile`.
    pub(super) fn new(
        rows: usize,
        tile: impl Fn(Range<usize>, Range<usize>) -> Vec<f32> + Sync + Send,
    ) -> Self {
        let places = (0..rows.div_ceil(TILE)).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let tiles = parallel::map(places, |(i, j)| tile(span(rows, i), span(rows, j)));
        Self { rows, tiles }
    }

    /// Number of rows of tiles.
    pub(super) fn blocks(&self) -> usize {
        self.rows.div_ceil(TILE)
    }

    /// The rows of a block.
    pub(super) fn span(&self, block: usize) -> Range<usize> {
        span(self.rows, block)
    }

    /// The tile of the rows of block `i` and the columns of block `j`.
    pub(super) fn tile(&self, i: usize, j: usize) -> MatRef<'_, f32> {
        let (low, high) = (i.min(j), i.max(j));
        let stored = &self.tiles[place(high, low)];
        let tile = MatRef::from_row_major_slice(stored, self.span(high).len(), self.span(low).len());
        if i < j { tile.transpose() } else { tile }
    }

    /// `-A^-1` by sweeping one block after the other: with the pivot `P` and the other rows `R`
    ///
    /// ```text
    /// A_PP' = -B,   A_RP' = A_RP B,   A_RR' = A_RR - A_RP B A_PR,   B = A_PP^-1 in f64
    /// ```
    ///
    /// `n^3` operations, nearly all in products of tiles. `None` if a pivot is not positive definite.
    pub(super) fn negative_inverse(mut self) -> Option<Self> {
        for k in 0..self.blocks() {
            let inverse = inverse(self.tile(k, k))?;
            let before = self.take_cross(k);
            let after = before.scaled(&inverse);
            let (rows, tiles) = (self.rows, std::mem::take(&mut self.tiles));
            self.tiles = parallel::map(tiles.into_iter().enumerate(), |(at, mut tile)| {
                let (i, j) = block_of(at);
                if i != k && j != k {
                    let shape = (span(rows, i).len(), span(rows, j).len());
                    let out = MatMut::from_row_major_slice_mut(&mut tile, shape.0, shape.1);
                    matmul(out, Accum::Add, after.rows(i), before.rows(j).transpose(), -1.0, Par::Seq);
                }
                tile
            });
            for (i, tile) in after.tiles.into_iter().enumerate().filter(|(i, _)| *i != k) {
                self.tiles[place(i.max(k), i.min(k))] = tile;
            }
            self.tiles[place(k, k)] = inverse.into_iter().map(|value| -value).collect();
        }
        Some(self)
    }

    /// Takes the tiles of the row and the column of block `k`, without that of `k` itself.
    fn take_cross(&mut self, k: usize) -> Cross {
        let mut take = |i: usize| std::mem::take(&mut self.tiles[place(i.max(k), i.min(k))]);
        let tiles =
            (0..self.rows.div_ceil(TILE)).map(|i| if i == k { Vec::new() } else { take(i) }).collect();
        Cross { of: self.rows, k, tiles }
    }

    /// The product with the columns of `x`, with sums in `f64`.
    pub(super) fn times(&self, x: &Mat<f64>) -> Mat<f64> {
        let part = |i: usize| x.submatrix(self.span(i).start, 0, self.span(i).len(), x.ncols());
        let both = parallel::map(0..self.tiles.len(), |at| {
            let (i, j) = block_of(at);
            let (rows, columns) = (self.span(i).len(), self.span(j).len());
            let values: Vec<f64> = self.tiles[at].iter().map(|&value| f64::from(value)).collect();
            let tile = MatRef::from_row_major_slice(&values, rows, columns);
            (product(tile, part(j)), (i != j).then(|| product(tile.transpose(), part(i))))
        });
        let mut sum = Mat::zeros(self.rows, x.ncols());
        let mut add = |block: usize, product: &Mat<f64>| {
            let span = self.span(block);
            let mut rows = sum.submatrix_mut(span.start, 0, span.len(), x.ncols());
            rows += product;
        };
        for (at, (of_rows, of_columns)) in both.iter().enumerate() {
            let (i, j) = block_of(at);
            add(i, of_rows);
            of_columns.iter().for_each(|product| add(j, product));
        }
        sum
    }

    /// The product with `x`, `[rows, width]` in row order.
    pub(super) fn times_f32(&self, x: &[f32], width: usize) -> Vec<f32> {
        let of_block = |i: usize| {
            let rows = self.span(i).len();
            let mut found = vec![0.0; rows * width];
            for j in 0..self.blocks() {
                let span = self.span(j);
                let part = &x[span.start * width..span.end * width];
                let part = MatRef::from_row_major_slice(part, span.len(), width);
                let out = MatMut::from_row_major_slice_mut(&mut found, rows, width);
                matmul(out, Accum::Add, self.tile(i, j), part, 1.0, Par::Seq);
            }
            found
        };
        parallel::map(0..self.blocks(), of_block).concat()
    }

    /// The largest sum of the absolute values of a row, which no eigenvalue exceeds.
    pub(super) fn largest_row_sum(&self) -> f64 {
        let sums = parallel::map(0..self.tiles.len(), |at| {
            let (i, j) = block_of(at);
            let mut of_rows = vec![0.0; self.span(i).len()];
            let mut of_columns = vec![0.0; self.span(j).len()];
            for (sum, row) in of_rows.iter_mut().zip(self.tiles[at].chunks(of_columns.len())) {
                *sum = row.iter().map(|value| f64::from(value.abs())).sum();
                of_columns.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(value.abs()));
            }
            (of_rows, if i == j { Vec::new() } else { of_columns })
        });
        let mut total = vec![0.0; self.rows];
        for (at, (of_rows, of_columns)) in sums.into_iter().enumerate() {
            let (i, j) = block_of(at);
            total[self.span(i)].iter_mut().zip(of_rows).for_each(|(total, sum)| *total += sum);
            total[self.span(j)].iter_mut().zip(of_columns).for_each(|(total, sum)| *total += sum);
        }
        total.into_iter().fold(0.0, f64::max)
    }
}

/// The tiles of a block's row and column as they are stored, by the other block.
struct Cross {
    /// Rows of the matrix.
    of: usize,
    k: usize,
    tiles: Vec<Vec<f32>>,
}

impl Cross {
    /// The entries in the rows of block `i` and the columns of block `k`.
    fn rows(&self, i: usize) -> MatRef<'_, f32> {
        let (rows, columns) = (span(self.of, i).len(), span(self.of, self.k).len());
        if i < self.k {
            MatRef::from_row_major_slice(&self.tiles[i], columns, rows).transpose()
        } else {
            MatRef::from_row_major_slice(&self.tiles[i], rows, columns)
        }
    }

    /// The entries times a symmetric matrix, stored in the same way.
    fn scaled(&self, factor: &[f32]) -> Self {
        let columns = span(self.of, self.k).len();
        let factor = MatRef::from_row_major_slice(factor, columns, columns);
        let of_block = |i: usize| {
            let mut found = vec![0.0; self.tiles[i].len()];
            if i == self.k {
                return found;
            }
            let rows = span(self.of, i).len();
            let out = match i < self.k {
                true => MatMut::from_row_major_slice_mut(&mut found, columns, rows).transpose_mut(),
                false => MatMut::from_row_major_slice_mut(&mut found, rows, columns),
            };
            matmul(out, Accum::Replace, self.rows(i), factor, 1.0, Par::Seq);
            found
        };
        Self { of: self.of, k: self.k, tiles: parallel::map(0..self.tiles.len(), of_block) }
    }
}

fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut found = Mat::zeros(left.nrows(), right.ncols());
    matmul(found.as_mut(), Accum::Replace, left, right, 1.0, Par::Seq);
    found
}

/// The rows of a block of a matrix of so many rows.
fn span(rows: usize, block: usize) -> Range<usize> {
    block * TILE..((block + 1) * TILE).min(rows)
}

/// The place of tile `(i, j)`, `i >= j`.
fn place(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// The tile at a place.
fn block_of(at: usize) -> (usize, usize) {
    let mut i = (2 * at).isqrt();
    if place(i, 0) > at {
        i -= 1;
    }
    (i, at - place(i, 0))
}

/// The inverse of a positive definite tile, computed in `f64`, in row order.
fn inverse(tile: MatRef<'_, f32>) -> Option<Vec<f32>> {
    let n = tile.nrows();
    let inverse = Mat::from_fn(n, n, |i, j| f64::from(tile[(i, j)])).llt(Side::Lower).ok()?.inverse();
    Some((0..n * n).map(|at| inverse[(at / n, at % n)] as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_tiles_belong_together() {
        let mut at = 0;
        for i in 0..70 {
            for j in 0..=i {
                assert_eq!((place(i, j), block_of(at)), (at, (i, j)));
                at += 1;
            }
        }
    }
}
