//! Rows compared with themselves.
//!
//! If anchors and candidates are the same rows, similarities are symmetric, and half of them is enough if the
//! weights of both directions are known together. The gradient then takes one product instead of two:
//!
//! ```text
//! d / d z_i  sum_k l_k  =  1 / temperature  sum_j H_ij z_j,   H_ij = exp(p s_ij) (W_ij c_i + W_ji c_j)
//! c_i = p (d l_i / d m_i) / sum_j W_ij exp(p s_ij)
//! ```
//!
//! summed over the terms, each with its power `p`.
//!
//! The `c_i` need all row sums, so the terms are computed twice, block by block, and never stored: some rows of a
//! block at a time, whose similarities stay in the cache until they are processed.
//!
//! The terms are computed relative to `exp(p L)`, with `L` the largest possible similarity, and not relative to the
//! largest of each row as in a softmax, which would cost a pass and make `T` differ from row to row. In `f32` that
//! is safe as long as no term can fall below the smallest normal number: `SPAN` bounds `2 p L`. At lower
//! temperatures, and for any other kind of term, there is no [`SymmetricPairs`].

mod block;
mod term;

use std::ops::Range;

use self::block::Block;
use self::term::{BlockWeights, Term};
use super::{PART, Weights};
use crate::cpu::exp::exp;
use crate::cpu::gemm::{add as add_product, gemm, matrix};
use crate::cpu::parallel;
use crate::cpu::vectors::LANES;
use crate::pair_terms::{Comparison, EMPTY};

/// The largest difference of two similarities: with `exp(-60)` = 9e-27 a term keeps all of its digits in `f32` for
/// weights down to 1e-11. `LONGEST_SPAN` of core's `loss/cclk/weights_of_views.rs` follows it.
const SPAN: f32 = 60.0;
/// Number of rows of a block, unless the caller chooses it.
const BLOCK: usize = 512;
/// A comparison of rows with themselves.
pub(crate) struct SymmetricPairs<'h> {
    terms: Vec<Term<'h>>,
    /// The powers of the terms, each once.
    powers: Vec<f32>,
    /// `[views * samples, width]`.
    rows: &'h [f32],
    /// The rows divided by the temperature.
    scaled: Vec<f32>,
    scale: f32,
    width: usize,
    samples: usize,
    views: usize,
    /// Samples of each block; the blocks of a view are contiguous, and so are the views.
    blocks: Vec<Range<usize>>,
    limit: f32,
    /// The weights of a row if they are 1.
    ones: Vec<f32>,
}

impl<'h> SymmetricPairs<'h> {
    /// The comparison of rows of `width` values with themselves, if this method supports it.
    pub(crate) fn of(
        rows: &'h [f32],
        width: usize,
        weights: &'h Weights<'h>,
        comparison: &'h Comparison,
    ) -> Option<Self> {
        let n = rows.len().checked_div(width)?;
        let prepare = |term| Term::of(term, n, weights);
        let terms = comparison.terms.iter().map(prepare).collect::<Option<Vec<_>>>()?;
        let samples = terms.iter().find_map(|term| term.samples).unwrap_or(n);
        let suit = terms.iter().all(|term| term.suits(samples));
        if samples == 0 || !n.is_multiple_of(samples) || !suit {
            return None;
        }
        let mut powers: Vec<f32> = terms.iter().map(|term| term.power).collect();
        powers.sort_by(f32::total_cmp);
        powers.dedup();
        let scale = comparison.scale as f32;
        let lengths = rows.chunks(width).map(|row| row.iter().map(|x| x * x).sum::<f32>());
        let limit = lengths.fold(0.0, f32::max) * scale;
        let is_safe = 2.0 * limit * powers.last().copied().unwrap_or_default() <= SPAN;
        if !is_safe {
            return None;
        }

        let scaled = rows.iter().map(|x| x * scale).collect();
        let size = comparison.tile.unwrap_or(BLOCK).clamp(1, samples);
        let blocks = parallel::parts(0..samples, size).collect();
        let (views, ones) = (n / samples, vec![1.0; size]);
        Some(Self { terms, powers, rows, scaled, scale, width, samples, views, blocks, limit, ones })
    }

    /// The sums, and `sum_j W_ij exp(power (s_ij - limit))`, the divisor of the gradient; `[rows, terms]` both.
    pub(crate) fn sums(&self) -> (Vec<f32>, Vec<f32>) {
        let n = self.samples * self.views;
        let mut sums = vec![vec![0.0_f64; n]; self.terms.len()];
        self.for_each_pair(&self.powers, |p, q, weights| {
            for block in self.blocks_of(p, q) {
                let parts = parallel::map(block.parts(), |part| self.sums_of_part(&block, part, weights));
                for (part, term_sums) in block.parts().zip(parts) {
                    for (sums, (row_sums, column_sums)) in sums.iter_mut().zip(term_sums) {
                        add(&mut sums[part.clone()], &row_sums);
                        if !block.same {
                            add(&mut sums[block.columns.clone()], &column_sums);
                        }
                    }
                }
            }
        });
        let value = |term: &Term, sum: f64| match sum {
            // A sum that is NaN is not empty: it makes the loss NaN.
            0.0 => EMPTY as f32,
            _ => (sum.ln() + f64::from(term.power * self.limit)) as f32,
        };
        let by_row =
            || (0..n).flat_map(|i| self.terms.iter().zip(&sums).map(move |(term, sums)| (term, sums[i])));
        (
            by_row().map(|(term, sum)| value(term, sum)).collect(),
            by_row().map(|(_, sum)| sum as f32).collect(),
        )
    }

    /// For each term, its sums by row and by column over the rows `part` of a block.
    fn sums_of_part(
        &self,
        block: &Block,
        part: Range<usize>,
        weights: &[BlockWeights],
    ) -> Vec<(Vec<f32>, Vec<f32>)> {
        let width = block.columns.len();
        let empty = |_: &BlockWeights| (Vec::new(), vec![0.0; width]);
        let mut sums: Vec<(Vec<f32>, Vec<f32>)> = weights.iter().map(empty).collect();
        for (power, mut exponentials) in self.exponentials(&self.powers, block, part.clone()) {
            let terms = self.terms.iter().zip(weights).zip(&mut sums);
            for ((term, weights), (by_row, by_column)) in terms.filter(|((term, _), _)| term.power == power) {
                for (i, row) in part.clone().zip(exponentials.chunks_exact_mut(width)) {
                    let [own, other] = self.weights_of_row(weights, block, i);
                    let left_out = block.left_out(term, i);
                    let exponential = left_out.map(|at| std::mem::take(&mut row[at]));
                    by_row.push(add_products(row, own, other, by_column));
                    left_out.zip(exponential).into_iter().for_each(|(at, exponential)| row[at] = exponential);
                }
            }
        }
        sums
    }

    /// The gradient with respect to the rows, from the second result of [`sums`](Self::sums) and the gradient of
    /// its first result.
    pub(crate) fn gradient(&self, sums: &[f32], gradient: &[f32]) -> Vec<f32> {
        let count = self.terms.len();
        let factors: Vec<Vec<f32>> = (self.terms.iter().enumerate())
            .map(|(at, term)| {
                let factor = f64::from(term.power) * f64::from(self.scale);
                let by_anchor = gradient.chunks_exact(count).zip(sums.chunks_exact(count));
                let grads_and_sums =
                    by_anchor.map(|(gradient, sums)| (f64::from(gradient[at]), f64::from(sums[at])));
                grads_and_sums
                    .map(|(g, sum)| if sum == 0.0 { 0.0 } else { (factor * g / sum) as f32 })
                    .collect()
            })
            .collect();
        let moves = |power: &f32| {
            let terms = self.terms.iter().zip(&factors).filter(|(term, _)| term.power == *power);
            terms.flat_map(|(_, factors)| factors).any(|factor| *factor != 0.0)
        };
        let powers: Vec<f32> = self.powers.iter().copied().filter(moves).collect();
        let mut grad_rows = vec![0.0; self.rows.len()];
        if powers.is_empty() {
            return grad_rows;
        }
        self.for_each_pair(&powers, |p, q, weights| {
            for block in self.blocks_of(p, q) {
                self.add_gradient(&mut grad_rows, &block, weights, (&powers, &factors));
            }
        });
        grad_rows
    }

    /// Adds the contribution of a block, by rows and, unless the block contains its pairs twice, by columns.
    fn add_gradient(
        &self,
        gradient: &mut [f32],
        block: &Block,
        weights: &[BlockWeights],
        factors: Factors<'_>,
    ) {
        let columns = &self.rows[self.span(&block.columns)];
        let parts = block.parts().zip(gradient[self.span(&block.rows)].chunks_mut(PART * self.width));
        let grad_weights = parallel::map(parts, |(part, gradient)| {
            let grad_weights = self.grad_weights_of_part(block, part, weights, factors);
            add_product(gradient, matrix(&grad_weights, block.columns.len()), matrix(columns, self.width));
            grad_weights
        });
        if block.same {
            return;
        }
        let parts = gradient[self.span(&block.columns)].chunks_mut(PART * self.width);
        parallel::map(parts.enumerate(), |(at, gradient)| {
            for (part, grad_weights) in block.parts().zip(&grad_weights) {
                let grad_weights = matrix(grad_weights, block.columns.len());
                let grad_weights = grad_weights.subcols(at * PART, gradient.len() / self.width);
                add_product(
                    gradient,
                    grad_weights.transpose(),
                    matrix(&self.rows[self.span(&part)], self.width),
                );
            }
        });
    }

    /// The `H_ij` of the [module](self) for the rows `part` of a block.
    fn grad_weights_of_part(
        &self,
        block: &Block,
        part: Range<usize>,
        weights: &[BlockWeights],
        (powers, factors): Factors<'_>,
    ) -> Vec<f32> {
        let width = block.columns.len();
        let mut heights = vec![0.0_f32; width];
        let by_power =
            self.exponentials(powers, block, part.clone()).into_iter().map(|(power, mut grad_weights)| {
                for (i, row) in part.clone().zip(grad_weights.chunks_exact_mut(width)) {
                    heights.fill(0.0);
                    let terms = self.terms.iter().zip(factors).zip(weights);
                    for ((term, factors), weights) in terms.filter(|((term, _), _)| term.power == power) {
                        let left_out = block.left_out(term, i);
                        let height = left_out.map(|at| heights[at]);
                        let weights = self.weights_of_row(weights, block, i);
                        add_heights(&mut heights, weights, factors[i], &factors[block.columns.clone()]);
                        left_out.zip(height).into_iter().for_each(|(at, height)| heights[at] = height);
                    }
                    vectorised!(row.iter_mut().zip(&heights).for_each(|(e, h)| *e *= h));
                }
                grad_weights
            });
        let sum = by_power.reduce(|mut sum, next| {
            vectorised!(sum.iter_mut().zip(&next).for_each(|(sum, next)| *sum += next));
            sum
        });
        sum.unwrap_or_default()
    }

    /// Each power with `exp(power (s - limit))` for the rows `part` of a block; the entry of a row with itself is
    /// 0.
    fn exponentials(&self, powers: &[f32], block: &Block, part: Range<usize>) -> Vec<(f32, Vec<f32>)> {
        let columns = &self.rows[self.span(&block.columns)];
        let rows = matrix(&self.scaled[self.span(&part)], self.width);
        let mut similarities = gemm(rows, matrix(columns, self.width).transpose());
        let (limit, first) = (self.limit, part.start - block.rows.start);
        let mut by_power = Vec::with_capacity(powers.len());
        for (k, &power) in powers.iter().enumerate() {
            let is_last = k + 1 == powers.len();
            let mut terms = if is_last { std::mem::take(&mut similarities) } else { similarities.clone() };
            vectorised!(terms.iter_mut().for_each(|s| *s = exp(power * (*s - limit))));
            if block.same {
                terms.iter_mut().skip(first).step_by(block.columns.len() + 1).for_each(|term| *term = 0.0);
            }
            by_power.push((power, terms));
        }
        by_power
    }

    /// The weights of row `i` of a block as anchor, and of each column as the anchor of row `i`.
    fn weights_of_row<'w>(&'w self, weights: &'w BlockWeights, block: &Block, i: usize) -> [&'w [f32]; 2] {
        let (at, width) = (i - block.rows.start, block.columns.len());
        block.views.map(|view| {
            let weights = weights.for_view(view);
            weights.get(at * width..(at + 1) * width).unwrap_or(&self.ones[..width])
        })
    }

    /// The range of the values of some rows.
    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.width..rows.end * self.width
    }

    /// Visits every unordered pair of blocks of samples with the weights of each term of some powers.
    fn for_each_pair(&self, powers: &[f32], mut visit: impl FnMut(usize, usize, &[BlockWeights])) {
        for (p, rows) in self.blocks.iter().enumerate() {
            for (q, columns) in self.blocks.iter().enumerate().skip(p) {
                let term_weights = |term: &Term| match powers.contains(&term.power) {
                    true => term.weights(rows, columns),
                    false => BlockWeights::default(),
                };
                let weights: Vec<BlockWeights> = self.terms.iter().map(term_weights).collect();
                visit(p, q, &weights);
            }
        }
    }

    /// A pair of blocks of samples in all views.
    fn blocks_of(&self, p: usize, q: usize) -> impl Iterator<Item = Block> {
        let in_view = move |view: usize, block: usize| {
            let (first, block) = (view * self.samples, &self.blocks[block]);
            first + block.start..first + block.end
        };
        (0..self.views).flat_map(move |first| {
            let seconds = (0..self.views).filter(move |&second| p < q || first <= second);
            seconds.map(move |second| Block {
                rows: in_view(first, p),
                columns: in_view(second, q),
                views: [first, second],
                same_samples: p == q,
                same: p == q && first == second,
            })
        })
    }
}

/// Powers that affect the gradient, and for each term the factor of each row.
type Factors<'f> = (&'f [f32], &'f [Vec<f32>]);

/// Adds to as many sums as there are values.
fn add(sums: &mut [f64], values: &[f32]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += f64::from(*value));
}

/// Adds a row times the weights of its columns to the sums by column; returns the sum of the row times its own weights.
fn add_products(row: &[f32], own: &[f32], other: &[f32], columns: &mut [f32]) -> f32 {
    vectorised!({
        let (row, row_rest) = row.as_chunks::<LANES>();
        let (own, own_rest) = own.as_chunks::<LANES>();
        let (other, other_rest) = other.as_chunks::<LANES>();
        let (columns, columns_rest) = columns.as_chunks_mut::<LANES>();
        let mut lanes = [0.0_f32; LANES];
        for (((row, own), other), columns) in row.iter().zip(own).zip(other).zip(columns) {
            let weights = own.iter().zip(other);
            for (((lane, x), (own, other)), column) in lanes.iter_mut().zip(row).zip(weights).zip(columns) {
                *lane += x * own;
                *column += x * other;
            }
        }
        let mut sum: f32 = lanes.iter().sum();
        for (((x, own), other), column) in row_rest.iter().zip(own_rest).zip(other_rest).zip(columns_rest) {
            sum += x * own;
            *column += x * other;
        }
        sum
    })
}

/// Adds `own weights * own factor + other weights * other factors` to `heights`.
fn add_heights(heights: &mut [f32], [own, other]: [&[f32]; 2], factor: f32, others: &[f32]) {
    vectorised!({
        let factors = own.iter().zip(other).zip(others);
        heights.iter_mut().zip(factors).for_each(|(h, ((w, v), other))| *h += w * factor + v * other);
    });
}
