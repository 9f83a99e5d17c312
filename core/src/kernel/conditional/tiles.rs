//! A symmetric positive definite matrix `A` in `f32`, in square tiles on and below the diagonal, and its inverse.
//!
//! Blocks are runs of 256 indices; the last one may be shorter. Tile `(i, j)` holds `A_ij`, the rows of block `i` in the columns of
//! block `j`; one above the diagonal is the transpose of the stored `(j, i)`.
//!
//! **The inverse.** The sweep operator takes one block after the other as the pivot `P`, with all other rows as `R`, those of
//! earlier pivots included:
//!
//! ```text
//! B = A_PP^-1   in f64, rounded to f32
//! A_RP' = A_RP B,   A_RR' = A_RR - A_RP' A_PR,   A_PP' = -B
//! ```
//!
//! Each step leaves the matrix symmetric, and the last one leaves `-A^-1`. All of them take `n^3` operations, nearly all in
//! products of tiles.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::DenseSolveCore;
use faer::prelude::ReborrowMut;
use faer::{Accum, Mat, MatMut, MatRef, Par, RowRef, Side};
use simile_kernels::cpu::parallel;

/// Rows of a tile: three tiles fit into the cache of a core.
const TILE: usize = 256;

/// A symmetric matrix; tile `(i, j)` with `i >= j` lies at `i (i + 1) / 2 + j`, in row order. Tiles on the diagonal are whole.
pub(super) struct SymmetricTiles {
    rows: usize,
    tiles: Vec<Vec<f32>>,
}

impl SymmetricTiles {
    /// The matrix of `rows` rows; `tile` gives the entries of a range of rows in a range of columns, in row order.
    pub(super) fn new(
        rows: usize,
        tile: impl Fn(Range<usize>, Range<usize>) -> Vec<f32> + Sync + Send,
    ) -> Self {
        let indices = (0..rows.div_ceil(TILE)).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let tiles = parallel::map_one_by_one(indices, |(i, j)| tile(span(rows, i), span(rows, j)));
        Self { rows, tiles }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.rows.div_ceil(TILE)
    }

    /// The indices of a block.
    pub(super) fn span(&self, block: usize) -> Range<usize> {
        span(self.rows, block)
    }

    /// `A_ij`, the rows of block `i` in the columns of block `j`.
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

    /// `-A^-1`, by sweeping all blocks. `None` if a pivot is not positive definite.
    pub(super) fn negative_inverse(&self) -> Option<Self> {
        let tiles = parallel::map_one_by_one(&self.tiles, Vec::clone);
        let mut swept = Self { rows: self.rows, tiles };
        let mut pivot_inverse = swept.tiles.first().and_then(|tile| inverse(tile, self.span(0).len()));
        for pivot in 0..self.blocks() {
            pivot_inverse = swept.sweep(pivot, pivot_inverse?);
        }
        Some(swept)
    }

    /// Sweeps block `pivot` with `B`, the inverse of its tile. Returns the inverse of the next pivot's tile; `None` if there is
    /// no next pivot, or it is not positive definite.
    fn sweep(&mut self, pivot: usize, pivot_inverse: Vec<f32>) -> Option<Vec<f32>> {
        let panel = self.take_panel(pivot);
        let swept_panel = panel.times(&pivot_inverse);
        // The tile of the next pivot is updated first and inverted at once, while other threads update the other tiles.
        let next = (pivot + 1 < self.blocks()).then(|| tile_index(pivot + 1, pivot + 1));
        let first = next.unwrap_or(0);
        let mut tiles: Vec<_> = std::mem::take(&mut self.tiles).into_iter().enumerate().collect();
        tiles.swap(0, first);
        let updated = parallel::map_one_by_one(tiles, |(at, mut tile)| {
            let (i, j) = blocks_of_tile(at);
            if i != pivot && j != pivot {
                // `A_RR' = A_RR - A_RP' A_PR`.
                let (left, right) = (swept_panel.tile(i), panel.tile(j).transpose());
                if i == j {
                    subtract_symmetric(&mut tile, left, right);
                } else {
                    let out = MatMut::from_row_major_slice_mut(&mut tile, left.nrows(), right.ncols());
                    matmul(out, Accum::Add, left, right, -1.0, Par::Seq);
                }
            }
            let inverted = if next == Some(at) { inverse(&tile, self.span(i).len()) } else { None };
            (tile, inverted)
        });
        let (tiles, inverted): (Vec<_>, Vec<_>) = updated.into_iter().unzip();
        self.tiles = tiles;
        self.tiles.swap(0, first);
        for (i, tile) in swept_panel.tiles.into_iter().enumerate().filter(|(i, _)| *i != pivot) {
            self.tiles[tile_index(i.max(pivot), i.min(pivot))] = tile;
        }
        self.tiles[tile_index(pivot, pivot)] = pivot_inverse.into_iter().map(|value| -value).collect();
        inverted.into_iter().next().flatten()
    }

    /// Takes the panel `A_RP` of block `pivot` out of the matrix.
    fn take_panel(&mut self, pivot: usize) -> Panel {
        let mut take = |i: usize| std::mem::take(&mut self.tiles[tile_index(i.max(pivot), i.min(pivot))]);
        let tiles =
            (0..self.rows.div_ceil(TILE)).map(|i| if i == pivot { Vec::new() } else { take(i) }).collect();
        Panel { rows: self.rows, pivot, tiles }
    }

    /// `A x`, with sums in `f64`. A stored tile below the diagonal also stands for its transpose: it adds `A_ij x_j` to block `i`
    /// of the product and `A_ij^T x_i` to block `j`.
    pub(super) fn times(&self, x: &Mat<f64>) -> Mat<f64> {
        let x_of = |i: usize| x.submatrix(self.span(i).start, 0, self.span(i).len(), x.ncols());
        let products = parallel::map_one_by_one(0..self.tiles.len(), |at| {
            let (i, j) = blocks_of_tile(at);
            let (rows, columns) = (self.span(i).len(), self.span(j).len());
            let values: Vec<f64> = self.tiles[at].iter().map(|&value| f64::from(value)).collect();
            let tile = MatRef::from_row_major_slice(&values, rows, columns);
            (product_f64(tile, x_of(j)), (i != j).then(|| product_f64(tile.transpose(), x_of(i))))
        });
        let mut sum = Mat::zeros(self.rows, x.ncols());
        let mut add = |block: usize, product: &Mat<f64>| {
            let span = self.span(block);
            let mut rows = sum.submatrix_mut(span.start, 0, span.len(), x.ncols());
            rows += product;
        };
        for (at, (own_product, transposed_product)) in products.iter().enumerate() {
            let (i, j) = blocks_of_tile(at);
            add(i, own_product);
            transposed_product.iter().for_each(|product| add(j, product));
        }
        sum
    }

    /// `A x` for `x`, `[rows, width]` in row order.
    pub(super) fn times_f32(&self, x: &[f32], width: usize) -> Vec<f32> {
        let of_block = |i: usize| {
            let rows = self.span(i).len();
            let mut product = vec![0.0; rows * width];
            for j in 0..self.blocks() {
                let span = self.span(j);
                let x_of_block = &x[span.start * width..span.end * width];
                let x_of_block = MatRef::from_row_major_slice(x_of_block, span.len(), width);
                let out = MatMut::from_row_major_slice_mut(&mut product, rows, width);
                matmul(out, Accum::Add, self.tile(i, j), x_of_block, 1.0, Par::Seq);
            }
            product
        };
        parallel::map_one_by_one(0..self.blocks(), of_block).concat()
    }

    /// `|A|_inf`, the largest sum of the absolute values of a row, which no eigenvalue exceeds. The rows of a stored tile's
    /// transpose are its columns, so that those are summed too.
    pub(super) fn largest_row_sum(&self) -> f64 {
        let sums = parallel::map_one_by_one(0..self.tiles.len(), |at| {
            let (i, j) = blocks_of_tile(at);
            let mut row_sums = vec![0.0; self.span(i).len()];
            let mut column_sums = vec![0.0; self.span(j).len()];
            for (sum, row) in row_sums.iter_mut().zip(self.tiles[at].chunks(column_sums.len())) {
                *sum = row.iter().map(|value| f64::from(value.abs())).sum();
                column_sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(value.abs()));
            }
            (row_sums, if i == j { Vec::new() } else { column_sums })
        });
        let mut total = vec![0.0; self.rows];
        for (at, (row_sums, column_sums)) in sums.into_iter().enumerate() {
            let (i, j) = blocks_of_tile(at);
            total[self.span(i)].iter_mut().zip(row_sums).for_each(|(total, sum)| *total += sum);
            total[self.span(j)].iter_mut().zip(column_sums).for_each(|(total, sum)| *total += sum);
        }
        total.into_iter().fold(0.0, f64::max)
    }
}

/// `A_RP`: the columns of a pivot block in the rows of the others, as the matrix stores these tiles.
struct Panel {
    /// Rows of the matrix.
    rows: usize,
    /// The pivot block.
    pivot: usize,
    /// The tile of each block; that of the pivot is empty.
    tiles: Vec<Vec<f32>>,
}

impl Panel {
    /// `A_iP`, the rows of block `i`. A tile of a block before the pivot is stored as its transpose, `A_Pi`.
    fn tile(&self, i: usize) -> MatRef<'_, f32> {
        let (rows, columns) = (span(self.rows, i).len(), span(self.rows, self.pivot).len());
        if i < self.pivot {
            MatRef::from_row_major_slice(&self.tiles[i], columns, rows).transpose()
        } else {
            MatRef::from_row_major_slice(&self.tiles[i], rows, columns)
        }
    }

    /// `A_RP B` for a symmetric `B` in row order.
    fn times(&self, b: &[f32]) -> Self {
        let columns = span(self.rows, self.pivot).len();
        let b = MatRef::from_row_major_slice(b, columns, columns);
        let of_block = |i: usize| {
            let mut product = vec![0.0; self.tiles[i].len()];
            if i == self.pivot {
                return product;
            }
            let rows = span(self.rows, i).len();
            let out = match i < self.pivot {
                true => MatMut::from_row_major_slice_mut(&mut product, columns, rows).transpose_mut(),
                false => MatMut::from_row_major_slice_mut(&mut product, rows, columns),
            };
            matmul(out, Accum::Replace, self.tile(i), b, 1.0, Par::Seq);
            product
        };
        let tiles = parallel::map_one_by_one(0..self.tiles.len(), of_block);
        Self { rows: self.rows, pivot: self.pivot, tiles }
    }
}

fn product_f64(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(left.nrows(), right.ncols());
    matmul(product.as_mut(), Accum::Replace, left, right, 1.0, Par::Seq);
    product
}

/// The indices of a block, in a matrix with `rows` rows.
fn span(rows: usize, block: usize) -> Range<usize> {
    block * TILE..((block + 1) * TILE).min(rows)
}

/// The index at which tile `(i, j)`, `i >= j`, is stored.
fn tile_index(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// The blocks `(i, j)` of the tile that is stored at an index, the inverse of [`tile_index`]. As `i (i + 1) <= 2 at <= i (i + 3)`,
/// the root of `2 at`, rounded down, is `i` or `i + 1`.
fn blocks_of_tile(at: usize) -> (usize, usize) {
    let mut i = (2 * at).isqrt();
    if tile_index(i, 0) > at {
        i -= 1;
    }
    (i, at - tile_index(i, 0))
}

/// Subtracts a symmetric product from a tile on the diagonal. The upper right quarter is not computed but copied from the lower left.
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
