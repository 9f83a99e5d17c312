//! Any anchors and candidates, in tiles of similarities that stay in the cache whatever the number of rows is.
//!
//! The forward pass adds tile after tile of an anchor's candidates to its sums, which are relative to the largest
//! exponent `M` so far:
//!
//! ```text
//! M' = max(M, max_j x_j),   S' = S exp(M - M') + sum_j w_j exp(x_j - M'),   log-sum-exp = M + log S
//! ```
//!
//! The backward pass knows the sums. It forms each tile again, replaces its similarities by the derivatives with
//! respect to inner products, and multiplies these by the tile's candidates and by its anchors. Anchors and candidates
//! are divided into as many blocks each. In every round each block of anchors meets another block of candidates, so
//! that no two threads write to the same rows, and the order of additions does not depend on the number of threads.

use std::ops::Range;

use super::Weights;
use crate::cpu::exp::exp_or_zero;
use crate::cpu::gemm::{add as add_product, assign, matrix};
use crate::cpu::parallel::{self, parts};
use crate::cpu::vectors::LANES;
use crate::pair_terms::{Comparison, EMPTY};

/// Limits of the number of anchors of a tile: more make products faster, fewer can be divided among more threads.
const ROWS: [usize; 2] = [64, 128];
/// Number of parts of the anchors from which on tiles have more anchors.
const PARTS: usize = 8;
/// Number of candidates of a tile: with 128 anchors it has 256 KB.
const COLUMNS: usize = 512;
/// Largest number of blocks of anchors and of candidates in the backward pass.
const BLOCKS: usize = 16;

/// Anchors and candidates, in row order.
pub(crate) struct TiledPairs<'w> {
    /// `[n, width]`.
    pub anchors: &'w [f32],
    /// `[m, width]`.
    pub candidates: &'w [f32],
    /// Columns of both.
    pub width: usize,
    /// The weights that the terms refer to.
    pub weights: Weights<'w>,
    /// The terms.
    pub comparison: &'w Comparison,
}

/// The memory of a tile, reused for the next.
#[derive(Default)]
struct Tile {
    /// Anchors times the scale of the comparison.
    scaled: Vec<f32>,
    similarities: Vec<f32>,
    grad_weights: Vec<f32>,
}

/// The sums of a comparison and the gradient of each, `[n, terms]`.
#[derive(Clone, Copy)]
struct SumGradients<'k> {
    sums: &'k [f32],
    gradient: &'k [f32],
}

/// Some rows and their gradient, which is empty if they are constant.
type Block<'b> = (Range<usize>, &'b mut [f32]);

impl TiledPairs<'_> {
    fn rows(&self) -> [usize; 2] {
        [self.anchors, self.candidates].map(|rows| rows.len().checked_div(self.width).unwrap_or_default())
    }

    /// Number of anchors of a tile.
    fn height(&self) -> usize {
        let [n, _] = self.rows();
        let [least, most] = ROWS;
        n.div_ceil(PARTS).next_multiple_of(LANES).clamp(least, most)
    }

    /// The sums, `[n, terms]`.
    pub(crate) fn sums(&self) -> Vec<f32> {
        let [n, _] = self.rows();
        parallel::map_in(parts(0..n, self.height()), Tile::default, |tile, part| {
            self.sums_of_part(&part, tile)
        })
        .concat()
    }

    /// The sums of some anchors.
    fn sums_of_part(&self, part: &Range<usize>, tile: &mut Tile) -> Vec<f32> {
        let ([_, m], terms) = (self.rows(), &self.comparison.terms);
        let mut sums = vec![Running::EMPTY; part.len() * terms.len()];
        self.scale(part, tile);
        for columns in parts(0..m, COLUMNS) {
            self.write_similarities(&columns, tile);
            for (at, term) in terms.iter().enumerate() {
                let weights = self.weights.in_tile(term, part, &columns, m);
                let rows = sums.iter_mut().skip(at).step_by(terms.len());
                for (k, (sum, row)) in rows.zip(tile.similarities.chunks_exact(columns.len())).enumerate() {
                    let weights = weights.as_ref().map(|weights| &weights[k * row.len()..][..row.len()]);
                    sum.add(row, weights, term.power as f32);
                }
            }
        }
        sums.iter().map(Running::logarithm).collect()
    }

    /// Writes the anchors of a tile times the scale.
    fn scale(&self, part: &Range<usize>, tile: &mut Tile) {
        let scale = self.comparison.scale as f32;
        tile.scaled.clear();
        tile.scaled.extend(self.anchors[self.span(part)].iter().map(|x| x * scale));
    }

    /// Writes the similarities of the scaled anchors of a tile with some candidates.
    fn write_similarities(&self, columns: &Range<usize>, tile: &mut Tile) {
        let anchors = matrix(&tile.scaled, self.width);
        tile.similarities.resize(anchors.nrows() * columns.len(), 0.0);
        let candidates = matrix(&self.candidates[self.span(columns)], self.width);
        assign(&mut tile.similarities, anchors, candidates.transpose());
    }

    /// The gradients of anchors and candidates, from the sums and their gradient; that of constant candidates is
    /// empty.
    pub(crate) fn gradients(&self, sums: &[f32], gradient: &[f32]) -> [Vec<f32>; 2] {
        let ([n, m], sum_gradients) = (self.rows(), SumGradients { sums, gradient });
        let is_constant = self.comparison.constant_candidates;
        let mut grad_anchors = vec![0.0; self.anchors.len()];
        let mut grad_candidates = vec![0.0; if is_constant { 0 } else { self.candidates.len() }];
        let count = n.div_ceil(self.height()).clamp(1, BLOCKS);
        let mut anchors = self.blocks(n, count, &mut grad_anchors);
        let mut candidates = self.blocks(m, count, &mut grad_candidates);
        for _ in 0..count {
            let pairs = anchors.iter_mut().zip(&mut candidates);
            parallel::map_in(pairs, Tile::default, |tile, (anchors, candidates)| {
                self.add_gradients(anchors, candidates, sum_gradients, tile);
            });
            candidates.rotate_left(1);
        }
        [grad_anchors, grad_candidates]
    }

    /// The blocks of `rows` rows with their gradients. The last blocks are empty if there are too few rows.
    fn blocks<'b>(&self, rows: usize, count: usize, gradient: &'b mut [f32]) -> Vec<Block<'b>> {
        let size = rows.div_ceil(count).next_multiple_of(LANES).max(LANES);
        let ranges = (0..count).map(|at| (at * size).min(rows)..((at + 1) * size).min(rows));
        let gradients =
            gradient.chunks_mut(size * self.width).chain(std::iter::repeat_with(Default::default));
        ranges.zip(gradients).collect()
    }

    /// Adds the gradients from the pairs of two blocks.
    fn add_gradients(
        &self,
        (anchors, grad_anchors): &mut Block<'_>,
        (candidates, grad_candidates): &mut Block<'_>,
        sum_gradients: SumGradients<'_>,
        tile: &mut Tile,
    ) {
        let grad_parts = grad_anchors.chunks_mut(self.height() * self.width);
        for (part, grad_part) in parts(anchors.clone(), self.height()).zip(grad_parts) {
            self.scale(&part, tile);
            let rows = matrix(&self.anchors[self.span(&part)], self.width);
            for columns in parts(candidates.clone(), COLUMNS) {
                self.write_similarities(&columns, tile);
                self.write_grad_weights(&part, &columns, sum_gradients, tile);
                let grad_weights = matrix(&tile.grad_weights, columns.len());
                add_product(
                    grad_part,
                    grad_weights,
                    matrix(&self.candidates[self.span(&columns)], self.width),
                );
                if !grad_candidates.is_empty() {
                    let within = columns.start - candidates.start..columns.end - candidates.start;
                    add_product(&mut grad_candidates[self.span(&within)], grad_weights.transpose(), rows);
                }
            }
        }
    }

    /// Writes the derivatives with respect to the inner products of a tile.
    fn write_grad_weights(
        &self,
        part: &Range<usize>,
        columns: &Range<usize>,
        sum_gradients: SumGradients<'_>,
        tile: &mut Tile,
    ) {
        let ([_, m], terms) = (self.rows(), &self.comparison.terms);
        let Tile { similarities, grad_weights, .. } = tile;
        grad_weights.clear();
        grad_weights.resize(similarities.len(), 0.0);
        for (at, term) in terms.iter().enumerate().filter(|(_, term)| term.power != 0.0) {
            let weights = self.weights.in_tile(term, part, columns, m);
            let rows =
                similarities.chunks_exact(columns.len()).zip(grad_weights.chunks_exact_mut(columns.len()));
            for (k, ((row, grad_weights), i)) in rows.zip(part.clone()).enumerate() {
                let place = i * terms.len() + at;
                let (sum, gradient) = (sum_gradients.sums[place], sum_gradients.gradient[place]);
                if sum <= (EMPTY / 2.0) as f32 || gradient == 0.0 {
                    continue;
                }
                let factor = gradient * (term.power * self.comparison.scale) as f32;
                let weights = weights.as_ref().map(|weights| &weights[k * row.len()..][..row.len()]);
                add_grad_weights(grad_weights, row, weights, term.power as f32, sum, factor);
            }
        }
    }

    /// The range of the values of some rows.
    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.width..rows.end * self.width
    }
}

/// `sum_j w_j exp(power x_j)` of the pairs so far, as a multiple of `exp(largest)`.
#[derive(Clone, Copy)]
struct Running {
    largest: f32,
    sum: f64,
}

impl Running {
    const EMPTY: Self = Self { largest: f32::NEG_INFINITY, sum: 0.0 };

    /// Adds the pairs of a row.
    fn add(&mut self, row: &[f32], weights: Option<&[f32]>, power: f32) {
        let largest = largest(row, weights);
        if largest == f32::NEG_INFINITY {
            // Without a pair that counts, or with values that are no numbers, which make the sum NaN.
            if weights.is_none_or(|weights| weights.iter().any(|w| *w > 0.0)) {
                self.sum = f64::NAN;
            }
            return;
        }
        let largest = power * largest;
        if largest > self.largest {
            self.sum *= f64::from(self.largest - largest).exp();
            self.largest = largest;
        }
        let largest = self.largest;
        let lanes = vectorised!(match weights {
            None => in_lanes(row, row, 0.0, |sum, x, _| sum + exp_or_zero(power * x - largest)),
            Some(weights) => in_lanes(row, weights, 0.0, |sum, x, w| {
                let term = w * exp_or_zero(power * x - largest);
                sum + if w > 0.0 { term } else { 0.0 }
            }),
        });
        self.sum += f64::from(lanes.iter().sum::<f32>());
    }

    /// The logarithm of the sum, [`EMPTY`] if no pair counted.
    fn logarithm(&self) -> f32 {
        match self.sum {
            0.0 => EMPTY as f32,
            sum => (f64::from(self.largest) + sum.ln()) as f32,
        }
    }
}

/// The largest value with a weight above 0.
fn largest(row: &[f32], weights: Option<&[f32]>) -> f32 {
    // A comparison with NaN is false.
    let larger = |largest: f32, x: f32| if x > largest { x } else { largest };
    let lanes = vectorised!(match weights {
        None => in_lanes(row, row, f32::NEG_INFINITY, |largest, x, _| larger(largest, x)),
        Some(weights) => in_lanes(row, weights, f32::NEG_INFINITY, |largest, x, w| {
            larger(largest, if w > 0.0 { x } else { f32::NEG_INFINITY })
        }),
    });
    lanes.into_iter().fold(f32::NEG_INFINITY, larger)
}

/// Takes in the values of two rows in order, each in the lane of its index.
#[inline(always)]
fn in_lanes(row: &[f32], other: &[f32], start: f32, step: impl Fn(f32, f32, f32) -> f32) -> [f32; LANES] {
    let ((parts, rest), (others, others_rest)) = (row.as_chunks::<LANES>(), other.as_chunks::<LANES>());
    let mut lanes = [start; LANES];
    for (part, other) in parts.iter().zip(others) {
        lanes.iter_mut().zip(part.iter().zip(other)).for_each(|(lane, (x, y))| *lane = step(*lane, *x, *y));
    }
    let rest = lanes.iter_mut().zip(rest.iter().zip(others_rest));
    rest.for_each(|(lane, (x, y))| *lane = step(*lane, *x, *y));
    lanes
}

/// Adds `factor w_j exp(power x_j - sum)`.
fn add_grad_weights(
    grad_weights: &mut [f32],
    row: &[f32],
    weights: Option<&[f32]>,
    power: f32,
    sum: f32,
    factor: f32,
) {
    vectorised!(match weights {
        None => {
            let add =
                |(grad_weight, x): (&mut f32, &f32)| *grad_weight += factor * exp_or_zero(power * x - sum);
            grad_weights.iter_mut().zip(row).for_each(add);
        }
        Some(weights) => {
            let add = |((grad_weight, x), w): ((&mut f32, &f32), &f32)| {
                let term = factor * w * exp_or_zero(power * x - sum);
                *grad_weight += if *w > 0.0 { term } else { 0.0 };
            };
            grad_weights.iter_mut().zip(row).zip(weights).for_each(add);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair_terms::{LogSumExp, Pairs, Weight};

    const WIDTH: usize = 5;
    /// More anchors than a part and more candidates than a tile; views of samples end within tiles.
    const SAMPLES: usize = 350;
    const ROWS_OF_ALL: usize = 2 * SAMPLES;
    const ANCHORS: usize = 400;

    fn noise(count: usize, seed: u32) -> Vec<f32> {
        let hash = |i: u32| (i + 1).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
        let mix = |h: u32| (h ^ (h >> 15)).wrapping_mul(2_246_822_519);
        (0..count as u32).map(|i| mix(hash(i)) as f32 / (1_u32 << 31) as f32 - 1.0).collect()
    }

    /// The weight of a pair in a term, by the definition.
    fn weight(weights: &Weights<'_>, term: &LogSumExp, i: usize, j: usize) -> f64 {
        let counts = match term.pairs {
            Pairs::All => true,
            Pairs::NotCongruent { period } => i % period != j % period,
            Pairs::OtherLabel => weights.group(i) != weights.group(j),
            Pairs::SameLabel => weights.group(i) == weights.group(j),
        };
        let entry = match weights {
            Weights::Ones | Weights::Groups(_) => 1.0,
            Weights::Pairs(entries) => entries[i * ROWS_OF_ALL + j],
            Weights::Samples { entries, samples } => {
                entries[i % entries_rows(entries, *samples) * samples + j % samples]
            }
            Weights::Factors { left, right, width, samples } => {
                let (row, column) =
                    (i % (left.len() / width), i / samples * samples % (left.len() / width) + j % samples);
                (0..*width).map(|k| left[row * width + k] * right[column * width + k]).sum()
            }
        };
        let entry = f64::from(entry);
        let entry = match term.weight {
            Weight::One => 1.0,
            Weight::Above(least) => {
                if entry > least {
                    entry
                } else {
                    0.0
                }
            }
            Weight::Below(least) => {
                if -entry > least {
                    -entry
                } else {
                    0.0
                }
            }
        };
        if counts { entry } else { 0.0 }
    }

    fn entries_rows(entries: &[f32], samples: usize) -> usize {
        entries.len() / samples
    }

    /// Sums and gradients in `f64`, each sum with the gradient 1.
    fn direct(tiled_pairs: &TiledPairs<'_>) -> [Vec<f64>; 3] {
        let [n, m] = tiled_pairs.rows();
        let at = |rows: &[f32], i: usize| -> [f64; WIDTH] {
            std::array::from_fn(|k| f64::from(rows[i * WIDTH + k]))
        };
        let scale = tiled_pairs.comparison.scale;
        let (mut sums, mut grad_anchors, mut grad_candidates) =
            (vec![], vec![0.0; n * WIDTH], vec![0.0; m * WIDTH]);
        for i in 0..n {
            let anchor = at(tiled_pairs.anchors, i);
            for term in &tiled_pairs.comparison.terms {
                let exponent = |j: usize| {
                    let dot: f64 = anchor.iter().zip(at(tiled_pairs.candidates, j)).map(|(a, c)| a * c).sum();
                    term.power * scale * dot
                };
                let pairs: Vec<(usize, f64, f64)> = (0..m)
                    .map(|j| (j, exponent(j), weight(&tiled_pairs.weights, term, i, j)))
                    .filter(|(_, _, weight)| *weight > 0.0)
                    .collect();
                let largest = pairs.iter().fold(f64::NEG_INFINITY, |largest, (_, x, _)| largest.max(*x));
                let sum: f64 = pairs.iter().map(|(_, x, weight)| weight * (x - largest).exp()).sum();
                sums.push(if pairs.is_empty() { EMPTY } else { largest + sum.ln() });
                for (j, x, weight) in pairs {
                    let grad_weight = term.power * scale * weight * (x - largest).exp() / sum;
                    for (k, c) in at(tiled_pairs.candidates, j).iter().enumerate() {
                        grad_anchors[i * WIDTH + k] += grad_weight * c;
                        grad_candidates[j * WIDTH + k] += grad_weight * anchor[k];
                    }
                }
            }
        }
        [sums, grad_anchors, grad_candidates]
    }

    fn tiled(tiled_pairs: &TiledPairs<'_>) -> [Vec<f32>; 3] {
        let sums = tiled_pairs.sums();
        let [grad_anchors, grad_candidates] = tiled_pairs.gradients(&sums, &vec![1.0; sums.len()]);
        [sums, grad_anchors, grad_candidates]
    }

    /// Calls `check` with comparisons of every kind of weight.
    fn for_each_comparison(check: impl Fn(&str, &TiledPairs<'_>)) {
        let rows = noise(ROWS_OF_ALL * WIDTH, 1);
        let groups: Vec<i64> = (0..SAMPLES as i64).map(|i| i * i % 7).collect();
        let entries = noise(ROWS_OF_ALL * ROWS_OF_ALL, 2);
        let factors = noise(2 * SAMPLES * 3, 3);
        let samples = SAMPLES;
        let above = LogSumExp::other_samples(samples).weighted(Weight::Above(0.1));
        let cases = [
            ("all", Weights::Ones, vec![LogSumExp::all(), LogSumExp::other_samples(samples).with_power(2.0)]),
            ("far apart exponents", Weights::Ones, vec![LogSumExp::all().with_power(40.0)]),
            ("groups", Weights::Groups(&groups), vec![LogSumExp::same_label(), LogSumExp::other_label()]),
            (
                "pairs",
                Weights::Pairs(&entries),
                vec![above, LogSumExp::all().weighted(Weight::Below(0.0)), above.with_power(0.0)],
            ),
            (
                "samples",
                Weights::Samples { entries: &entries[..2 * samples * samples], samples },
                vec![above],
            ),
            ("factors", Weights::Factors { left: &factors, right: &factors, width: 3, samples }, vec![above]),
        ];
        for (name, weights, terms) in cases {
            let comparison = Comparison::new(terms, 3.0);
            let (anchors, candidates) = (&rows[..ANCHORS * WIDTH], &rows[..]);
            check(name, &TiledPairs { anchors, candidates, width: WIDTH, weights, comparison: &comparison });
        }
    }

    #[test]
    fn tiles_give_what_all_pairs_at_once_give() {
        for_each_comparison(|name, tiled_pairs| {
            for (values, expected) in tiled(tiled_pairs).iter().zip(direct(tiled_pairs)) {
                let largest = expected.iter().fold(1.0_f64, |largest, x| largest.max(x.abs()));
                for (value, expected) in values.iter().zip(expected) {
                    assert!(
                        (f64::from(*value) - expected).abs() < 2e-4 * largest,
                        "{name}: {value} {expected}"
                    );
                }
            }
        });
    }

    #[test]
    fn an_anchor_whose_pairs_begin_in_a_late_tile_has_them_and_one_without_pairs_is_empty() {
        let (anchors, candidates) = (noise(2 * WIDTH, 1), noise(ROWS_OF_ALL * WIDTH, 2));
        let mut entries = vec![0.0; 2 * ROWS_OF_ALL];
        entries[ROWS_OF_ALL - 1] = 3.0;
        let comparison = Comparison::new([LogSumExp::all().weighted(Weight::Above(0.0))], 1.0);
        let weights = Weights::Pairs(&entries);
        let tiled_pairs = TiledPairs {
            anchors: &anchors,
            candidates: &candidates,
            width: WIDTH,
            weights,
            comparison: &comparison,
        };
        let [sums, grad_anchors, grad_candidates] = tiled(&tiled_pairs);
        let last = &candidates[candidates.len() - WIDTH..];
        let expected = 3.0_f32.ln() + last.iter().zip(&anchors).map(|(c, a)| c * a).sum::<f32>();
        assert!((sums[0] - expected).abs() < 1e-5 && sums[1] == EMPTY as f32, "{sums:?}");
        assert!(grad_anchors.iter().zip(last).all(|(gradient, c)| (gradient - c).abs() < 1e-5));
        assert!(grad_anchors[WIDTH..].iter().all(|x| *x == 0.0));
        assert!(grad_candidates[..candidates.len() - WIDTH].iter().all(|x| *x == 0.0));
    }

    #[test]
    fn a_value_that_is_no_number_makes_the_sum_none() {
        let (mut anchors, candidates) = (noise(2 * WIDTH, 1), noise(ROWS_OF_ALL * WIDTH, 2));
        anchors[1] = f32::NAN;
        let comparison = Comparison::new([LogSumExp::all()], 1.0);
        let weights = Weights::Ones;
        let tiled_pairs = TiledPairs {
            anchors: &anchors,
            candidates: &candidates,
            width: WIDTH,
            weights,
            comparison: &comparison,
        };
        let sums = tiled_pairs.sums();
        assert!(sums[0].is_nan() && sums[1].is_finite(), "{sums:?}");
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        for_each_comparison(|name, tiled_pairs| {
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
                Some(pool.install(|| tiled(tiled_pairs)))
            };
            let one = on(1);
            assert!(one.is_some() && one == on(3), "{name}");
        });
    }
}
