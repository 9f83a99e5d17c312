//! A symmetric positive definite matrix in `f32`, in square tiles on and below the diagonal, and its inverse.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::DenseSolveCore;
use faer::prelude::ReborrowMut;
use faer::{Accum, Mat, MatMut, MatRef, Par, RowRef, Side};
use simile_kernels::cpu::parallel;

/// Rows of a tile: three tiles fit into the cache of a core.
const TILE: usize = 256;

/// A symmetric matrix; tile `(i, j)` with `i >= j` lies at `i (i + 1) / 2 + j`, in row order, those on the diagonal whole.
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
        let indices = (0..rows.div_ceil(TILE)).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let tiles = parallel::map_one_by_one(indices, |(i, j)| tile(span(rows, i), span(rows, j)));
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
    fn tile(&self, i: usize, j: usize) -> MatRef<'_, f32> {
        let (low, high) = (i.min(j), i.max(j));
        let stored = &self.tiles[tile_index(high, low)];
        let tile = MatRef::from_row_major_slice(stored, self.span(high).len(), self.span(low).len());
        if i < j { tile.transpose() } else { tile }
    }

    /// The entries of a row in the columns of a block.
    pub(super) fn row(&self, row: usize, block: usize) -> RowRef<'_, f32> {
        self.tile(row / TILE, block).row(row % TILE)
    }

    /// `-A^-1` by sweeping one block after the other: with the pivot `P` and the other rows `R`
    ///
    /// ```text
    /// A_PP' = -B,   A_RP' = A_RP B,   A_RR' = A_RR - A_RP B A_PR,   B = A_PP^-1 in f64
    /// ```
    ///
    /// `n^3` operations, nearly all in products of tiles. `None` if a pivot is not positive definite.
    pub(super) fn negative_inverse(&self) -> Option<Self> {
        let tiles = parallel::map_one_by_one(&self.tiles, Vec::clone);
        let mut swept = Self { rows: self.rows, tiles };
        let mut pivot = swept.tiles.first().and_then(|tile| inverse(tile, span(self.rows, 0).len()));
        for k in 0..self.blocks() {
            let inverse_of_pivot = pivot?;
            let before = swept.take_cross(k);
            let after = before.scaled(&inverse_of_pivot);
            // The next pivot is updated first and inverted at once, while other threads update the other tiles.
            let next = if k + 1 < self.blocks() { tile_index(k + 1, k + 1) } else { 0 };
            let mut tiles: Vec<_> = swept.tiles.into_iter().enumerate().collect();
            tiles.swap(0, next);
            let updated = parallel::map_one_by_one(tiles, |(at, mut tile)| {
                let (i, j) = blocks_of_tile(at);
                let (rows, columns) = (span(self.rows, i).len(), span(self.rows, j).len());
                if i == j && i != k {
                    subtract_symmetric(&mut tile, after.part(i), before.part(i).transpose());
                } else if i != k && j != k {
                    let out = MatMut::from_row_major_slice_mut(&mut tile, rows, columns);
                    matmul(out, Accum::Add, after.part(i), before.part(j).transpose(), -1.0, Par::Seq);
                }
                let inverted = if at == next && next > 0 { inverse(&tile, rows) } else { None };
                (tile, inverted)
            });
            let (tiles, inverted): (Vec<_>, Vec<_>) = updated.into_iter().unzip();
            (swept.tiles, pivot) = (tiles, inverted.into_iter().next().flatten());
            swept.tiles.swap(0, next);
            for (i, tile) in after.tiles.into_iter().enumerate().filter(|(i, _)| *i != k) {
                swept.tiles[tile_index(i.max(k), i.min(k))] = tile;
            }
            swept.tiles[tile_index(k, k)] = inverse_of_pivot.into_iter().map(|value| -value).collect();
        }
        Some(swept)
    }

    /// Takes the tiles of the row and the column of block `k`, without that of `k` itself.
    fn take_cross(&mut self, k: usize) -> Cross {
        let mut take = |i: usize| std::mem::take(&mut self.tiles[tile_index(i.max(k), i.min(k))]);
        let tiles =
            (0..self.rows.div_ceil(TILE)).map(|i| if i == k { Vec::new() } else { take(i) }).collect();
        Cross { of: self.rows, k, tiles }
    }

    /// The product with the columns of `x`, with sums in `f64`.
    pub(super) fn times(&self, x: &Mat<f64>) -> Mat<f64> {
        let part = |i: usize| x.submatrix(self.span(i).start, 0, self.span(i).len(), x.ncols());
        let both = parallel::map_one_by_one(0..self.tiles.len(), |at| {
            let (i, j) = blocks_of_tile(at);
            let (rows, columns) = (self.span(i).len(), self.span(j).len());
            let values: Vec<f64> = self.tiles[at].iter().map(|&value| f64::from(value)).collect();
            let tile = MatRef::from_row_major_slice(&values, rows, columns);
            (product_f64(tile, part(j)), (i != j).then(|| product_f64(tile.transpose(), part(i))))
        });
        let mut sum = Mat::zeros(self.rows, x.ncols());
        let mut add = |block: usize, product: &Mat<f64>| {
            let span = self.span(block);
            let mut rows = sum.submatrix_mut(span.start, 0, span.len(), x.ncols());
            rows += product;
        };
        for (at, (of_rows, of_columns)) in both.iter().enumerate() {
            let (i, j) = blocks_of_tile(at);
            add(i, of_rows);
            of_columns.iter().for_each(|product| add(j, product));
        }
        sum
    }

    /// The product with `x`, `[rows, width]` in row order.
    pub(super) fn times_f32(&self, x: &[f32], width: usize) -> Vec<f32> {
        let of_block = |i: usize| {
            let rows = self.span(i).len();
            let mut product = vec![0.0; rows * width];
            for j in 0..self.blocks() {
                let span = self.span(j);
                let part = &x[span.start * width..span.end * width];
                let part = MatRef::from_row_major_slice(part, span.len(), width);
                let out = MatMut::from_row_major_slice_mut(&mut product, rows, width);
                matmul(out, Accum::Add, self.tile(i, j), part, 1.0, Par::Seq);
            }
            product
        };
        parallel::map_one_by_one(0..self.blocks(), of_block).concat()
    }

    /// The largest sum of the absolute values of a row, which no eigenvalue exceeds.
    pub(super) fn largest_row_sum(&self) -> f64 {
        let sums = parallel::map_one_by_one(0..self.tiles.len(), |at| {
            let (i, j) = blocks_of_tile(at);
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
            let (i, j) = blocks_of_tile(at);
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
    fn part(&self, i: usize) -> MatRef<'_, f32> {
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
            let mut product = vec![0.0; self.tiles[i].len()];
            if i == self.k {
                return product;
            }
            let rows = span(self.of, i).len();
            let out = match i < self.k {
                true => MatMut::from_row_major_slice_mut(&mut product, columns, rows).transpose_mut(),
                false => MatMut::from_row_major_slice_mut(&mut product, rows, columns),
            };
            matmul(out, Accum::Replace, self.part(i), factor, 1.0, Par::Seq);
            product
        };
        Self { of: self.of, k: self.k, tiles: parallel::map_one_by_one(0..self.tiles.len(), of_block) }
    }
}

fn product_f64(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(left.nrows(), right.ncols());
    matmul(product.as_mut(), Accum::Replace, left, right, 1.0, Par::Seq);
    product
}

/// The rows of a block, in a matrix with `rows` rows.
fn span(rows: usize, block: usize) -> Range<usize> {
    block * TILE..((block + 1) * TILE).min(rows)
}

/// The index at which tile `(i, j)`, `i >= j`, is stored.
fn tile_index(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// The rows `i` and columns `j` of the tile that is stored at an index.
fn blocks_of_tile(at: usize) -> (usize, usize) {
    let mut i = (2 * at).isqrt();
    if tile_index(i, 0) > at {
        i -= 1;
    }
    (i, at - tile_index(i, 0))
}

/// Subtracts a symmetric product from a tile in row order, without a quarter of it that lies above the diagonal.
fn subtract_symmetric(tile: &mut [f32], left: MatRef<'_, f32>, right: MatRef<'_, f32>) {
    let (n, half) = (left.nrows(), left.nrows() / 2);
    let mut out = MatMut::from_row_major_slice_mut(tile, n, n);
    for (rows, columns) in [(0..half, 0..half), (half..n, 0..n)] {
        let part = out.rb_mut().submatrix_mut(rows.start, columns.start, rows.len(), columns.len());
        let left = left.subrows(rows.start, rows.len());
        let right = right.subcols(columns.start, columns.len());
        matmul(part, Accum::Add, left, right, -1.0, Par::Seq);
    }
    for i in 0..half {
        for j in half..n {
            out[(i, j)] = out[(j, i)];
        }
    }
}

/// The inverse of a positive definite tile of `n` rows, computed in `f64`, in row order.
fn inverse(tile: &[f32], n: usize) -> Option<Vec<f32>> {
    let inverse = Mat::from_fn(n, n, |i, j| f64::from(tile[i * n + j])).llt(Side::Lower).ok()?.inverse();
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
                assert_eq!((tile_index(i, j), blocks_of_tile(at)), (at, (i, j)));
                at += 1;
            }
        }
    }
}
