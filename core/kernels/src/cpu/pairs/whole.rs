//! Any anchors and candidates: similarities of some anchors with all candidates stay in the cache until they are
//! processed.

use std::ops::Range;

use super::{LANES, PART, Weights};
use crate::cpu::exp::exp;
use crate::cpu::gemm::{add as add_product, assign, matrix};
use crate::cpu::parallel;
use crate::pair_terms::{Comparison, EMPTY};

/// Smallest argument of the exponential; below it the result is 0 here.
const SMALLEST: f32 = -87.0;
/// Number of similarities in one iteration of the backward pass, at least those of one part.
const ROUND: usize = 1 << 20;

/// Anchors and candidates, in row order.
pub struct Whole<'w> {
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

impl Whole<'_> {
    fn rows(&self) -> [usize; 2] {
        [self.anchors, self.candidates].map(|rows| rows.len().checked_div(self.width).unwrap_or_default())
    }

    /// The sums `[n, terms]`, and all similarities if `keep` is set.
    pub fn sums(&self, keep: bool) -> (Vec<f32>, Vec<f32>) {
        let [n, m] = self.rows();
        let mut kept = vec![0.0; if keep { n * m } else { 0 }];
        let sums = if keep {
            let parts = parts(0..n).zip(kept.chunks_mut((PART * m).max(1)));
            parallel::map(parts, |(part, similarities)| self.sums_of_part(part, similarities))
        } else {
            let begin = || vec![0.0; PART * m];
            parallel::map_in(parts(0..n), begin, |similarities, part| {
                let length = part.len() * m;
                self.sums_of_part(part, &mut similarities[..length])
            })
        };
        (sums.concat(), kept)
    }

    /// Writes the similarities of some anchors and returns their sums.
    fn sums_of_part(&self, part: Range<usize>, similarities: &mut [f32]) -> Vec<f32> {
        let ([_, m], terms) = (self.rows(), &self.comparison.terms);
        self.write_similarities(&part, similarities);
        let mut sums = vec![EMPTY as f32; part.len() * terms.len()];
        for (at, term) in terms.iter().enumerate() {
            let weights = self.weights.of_rows(term, &part, m);
            let places = sums.iter_mut().skip(at).step_by(terms.len());
            for (k, (row, sum)) in similarities.chunks_exact(m.max(1)).zip(places).enumerate() {
                let weights = weights.as_ref().map(|weights| &weights[k * m..(k + 1) * m]);
                *sum = log_sum_exp(row, weights, term.power as f32);
            }
        }
        sums
    }

    fn write_similarities(&self, part: &Range<usize>, similarities: &mut [f32]) {
        let scale = self.comparison.scale as f32;
        let anchors: Vec<f32> = self.anchors[self.span(part)].iter().map(|x| x * scale).collect();
        assign(similarities, matrix(&anchors, self.width), matrix(self.candidates, self.width).transpose());
    }

    /// The gradients of anchors and candidates, from the sums, their gradient, and the similarities if they were
    /// stored; that of constant candidates is empty.
    pub fn gradients(&self, mut kept: Vec<f32>, sums: &[f32], gradient: &[f32]) -> [Vec<f32>; 2] {
        let [n, m] = self.rows();
        let is_kept = kept.len() == n * m;
        let round = (ROUND / m.max(1) / PART).max(1) * PART;
        let mut of_anchors = vec![0.0; self.anchors.len()];
        let mut of_candidates =
            vec![0.0; if self.comparison.constant_candidates { 0 } else { self.candidates.len() }];
        if !is_kept {
            kept = vec![0.0; round.min(n) * m];
        }
        for start in (0..n).step_by(round) {
            let rows = start..(start + round).min(n);
            let pulls = match is_kept {
                true => &mut kept[rows.start * m..rows.end * m],
                false => &mut kept[..rows.len() * m],
            };
            let of_rows = of_anchors[self.span(&rows)].chunks_mut((PART * self.width).max(1));
            let of_parts = parts(rows.clone()).zip(pulls.chunks_mut((PART * m).max(1))).zip(of_rows);
            parallel::map(of_parts, |((part, pulls), target)| {
                if !is_kept {
                    self.write_similarities(&part, pulls);
                }
                self.turn_to_pulls(&part, pulls, sums, gradient);
                assign(target, matrix(pulls, m), matrix(self.candidates, self.width));
            });
            let (pulls, anchors) = (matrix(pulls, m), matrix(&self.anchors[self.span(&rows)], self.width));
            let of_columns = of_candidates.chunks_mut((PART * self.width).max(1)).enumerate();
            parallel::map(of_columns, |(at, target)| {
                let columns = pulls.subcols(at * PART, target.len() / self.width);
                add_product(target, columns.transpose(), anchors);
            });
        }
        [of_anchors, of_candidates]
    }

    /// Replaces the similarities of some anchors by the derivatives with respect to inner products.
    fn turn_to_pulls(&self, part: &Range<usize>, similarities: &mut [f32], sums: &[f32], gradient: &[f32]) {
        let ([_, m], terms) = (self.rows(), &self.comparison.terms);
        let moving = || terms.iter().enumerate().filter(|(_, term)| term.power != 0.0);
        let weights: Vec<_> = moving().map(|(_, term)| self.weights.of_rows(term, part, m)).collect();
        let mut pulls = vec![0.0_f32; m];
        for (k, (row, i)) in similarities.chunks_exact_mut(m.max(1)).zip(part.clone()).enumerate() {
            pulls.fill(0.0);
            for ((at, term), weights) in moving().zip(&weights) {
                let (sum, gradient) = (sums[i * terms.len() + at], gradient[i * terms.len() + at]);
                if sum <= (EMPTY / 2.0) as f32 || gradient == 0.0 {
                    continue;
                }
                let factor = gradient * (term.power * self.comparison.scale) as f32;
                let weights = weights.as_ref().map(|weights| &weights[k * m..(k + 1) * m]);
                add_pulls(&mut pulls, row, weights, term.power as f32, sum, factor);
            }
            row.copy_from_slice(&pulls);
        }
    }

    /// The range of the values of some anchors.
    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.width..rows.end * self.width
    }
}

/// The rows of each iteration of a loop.
fn parts(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = rows;
    (start..end).step_by(PART).map(move |first| first..(first + PART).min(end))
}

/// `log sum_j w_j exp(power x_j)`, [`EMPTY`] if no weight is above 0.
fn log_sum_exp(row: &[f32], weights: Option<&[f32]>, power: f32) -> f32 {
    let largest = largest(row, weights);
    if largest == f32::NEG_INFINITY && weights.is_some_and(|weights| weights.iter().all(|w| *w <= 0.0)) {
        return EMPTY as f32;
    }
    let largest = power * largest;
    let sum = vectorised!(match weights {
        None => sum_in_lanes(row, row, |x, _| exp_or_zero(power * x - largest)),
        Some(weights) => sum_in_lanes(row, weights, |x, w| {
            let term = w * exp_or_zero(power * x - largest);
            if w > 0.0 { term } else { 0.0 }
        }),
    });
    largest + sum.ln()
}

/// The largest value with a weight above 0.
fn largest(row: &[f32], weights: Option<&[f32]>) -> f32 {
    vectorised!({
        let mut lanes = [f32::NEG_INFINITY; LANES];
        let mut take = |at: usize, x: f32, w: f32| {
            if w > 0.0 && x > lanes[at] {
                lanes[at] = x;
            }
        };
        let weights = weights.unwrap_or(&[]);
        let (parts, rest) = row.as_chunks::<LANES>();
        if weights.is_empty() {
            for part in parts {
                part.iter().enumerate().for_each(|(at, x)| take(at, *x, 1.0));
            }
            rest.iter().enumerate().for_each(|(at, x)| take(at, *x, 1.0));
        } else {
            let (of_parts, of_rest) = weights.as_chunks::<LANES>();
            for (part, weights) in parts.iter().zip(of_parts) {
                part.iter().zip(weights).enumerate().for_each(|(at, (x, w))| take(at, *x, *w));
            }
            rest.iter().zip(of_rest).enumerate().for_each(|(at, (x, w))| take(at, *x, *w));
        }
        lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
    })
}

#[inline(always)]
fn sum_in_lanes(row: &[f32], other: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let ((parts, rest), (others, others_rest)) = (row.as_chunks::<LANES>(), other.as_chunks::<LANES>());
    let mut lanes = [0.0_f32; LANES];
    for (part, other) in parts.iter().zip(others) {
        lanes.iter_mut().zip(part.iter().zip(other)).for_each(|(lane, (x, y))| *lane += term(*x, *y));
    }
    let rest: f32 = rest.iter().zip(others_rest).map(|(x, y)| term(*x, *y)).sum();
    lanes.iter().sum::<f32>() + rest
}

/// Adds `factor w_j exp(power x_j - sum)`.
fn add_pulls(pulls: &mut [f32], row: &[f32], weights: Option<&[f32]>, power: f32, sum: f32, factor: f32) {
    vectorised!(match weights {
        None => {
            let add = |(pull, x): (&mut f32, &f32)| *pull += factor * exp_or_zero(power * x - sum);
            pulls.iter_mut().zip(row).for_each(add);
        }
        Some(weights) => {
            let add = |((pull, x), w): ((&mut f32, &f32), &f32)| {
                let term = factor * w * exp_or_zero(power * x - sum);
                *pull += if *w > 0.0 { term } else { 0.0 };
            };
            pulls.iter_mut().zip(row).zip(weights).for_each(add);
        }
    });
}

/// `exp(x)`, limited to the range of `f32`.
#[inline(always)]
fn exp_or_zero(x: f32) -> f32 {
    // `x` of a pair that does not count can be above all others. Comparisons with NaN are false, so NaN passes
    // through.
    let x = if x > -SMALLEST { -SMALLEST } else { x };
    let kept = exp(if x < SMALLEST { SMALLEST } else { x });
    if x < SMALLEST { 0.0 } else { kept }
}
