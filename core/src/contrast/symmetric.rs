//! Rows compared with themselves, on the host.
//!
//! With anchors and candidates the same rows, similarities are symmetric, and half of them is enough where the weights of
//! both directions are known together. The gradient then takes one product instead of two:
//!
//! ```text
//! d / d z_i  sum_k l_k  =  1 / temperature  sum_j H_ij z_j,   H_ij = exp(p s_ij) (W_ij c_i + W_ji c_j)
//! c_i = p (d l_i / d m_i) / sum_j W_ij exp(p s_ij)
//! ```
//!
//! added up over the terms, each with its power `p`.
//!
//! The `c_i` need all row sums, so the terms are formed twice, block by block, and never kept: some rows of a block at a
//! time, whose similarities stay in the cache until what is wanted of them is known.
//!
//! The terms are formed relative to `exp(p L)` with `L` the largest that a similarity can be, instead of the largest of
//! each row as in a softmax, which would cost a pass and make `T` differ from row to row. In `f32` that is safe while
//! no term can fall below the smallest normal number: [`SPAN`] bounds `2 p L`. At lower temperatures, and wherever a term
//! is of another kind, [`Contrast`] goes through its rows in tiles.

use std::ops::Range;

use burn::tensor::{Device, Tensor};
use pulp::Arch;

use super::pairs::{BlockWeights, Term};
use super::positives::Target;
use super::{Contrast, EMPTY};
use crate::host::Numbers;
use simile_kernels::cpu::exp::exp;
use simile_kernels::cpu::gemm::{add as add_product, matrix, product};
use simile_kernels::cpu::parallel;

use crate::host;

/// The largest difference of two similarities: with `exp(-60)` = 9e-27 a term keeps all of its digits in `f32` for
/// weights down to 1e-11.
const SPAN: f32 = 60.0;
/// Rows of a block where the caller does not choose.
const BLOCK: usize = 512;
/// Rows of a block in one round of a loop.
const PART: usize = 64;
/// Sums run in so many lanes, which the compiler keeps in vector registers.
const LANES: usize = 16;

/// What is compared.
pub(super) struct Comparison<'c, 'a> {
    terms: Vec<Term<'c, 'a>>,
    /// The powers of the terms, each once.
    powers: Vec<f32>,
    /// `[views * samples, width]`.
    rows: Numbers,
    /// The rows over the temperature.
    scaled: Vec<f32>,
    width: usize,
    samples: usize,
    views: usize,
    /// Samples of each block; a view has one block after the other, and there is one view after the other.
    blocks: Vec<Range<usize>>,
    limit: f32,
    /// The weights of a row where they are 1.
    ones: Vec<f32>,
    device: Device,
}

/// Sums of one term by row.
struct Sums {
    terms: Vec<f64>,
    /// Sums of the weights of one view by sample, of each operator.
    weights: Vec<Vec<f64>>,
}

impl<'c, 'a> Comparison<'c, 'a> {
    /// The comparison, if it is one of this kind.
    pub(super) fn of(contrast: &'c Contrast<'a>, targets: &[Target]) -> Option<Self> {
        let device = contrast.anchors.device();
        if !contrast.within || targets.iter().any(|target| matches!(target, Target::Tiles(_))) {
            return None;
        }
        let [n, width] = contrast.anchors.dims();
        let rows = host::copy(&contrast.anchors)?;
        let terms = contrast.sums.iter().map(|term| Term::of(term, n)).collect::<Option<Vec<_>>>()?;
        let samples = terms.iter().find_map(Term::samples).unwrap_or(n);
        let suit = terms.iter().all(|term| term.suits(samples));
        if width == 0 || samples == 0 || !n.is_multiple_of(samples) || !suit {
            return None;
        }
        let mut powers: Vec<f32> = terms.iter().map(|term| term.power).collect();
        powers.sort_by(f32::total_cmp);
        powers.dedup();
        let lengths = rows.chunks(width.max(1)).map(|row| row.iter().map(|x| x * x).sum::<f32>());
        let limit = lengths.fold(0.0, f32::max) / contrast.temperature as f32;
        let is_safe = 2.0 * limit * powers.last().copied().unwrap_or_default() <= SPAN;
        if !is_safe {
            return None;
        }

        let scale = 1.0 / contrast.temperature as f32;
        let scaled = rows.iter().map(|x| x * scale).collect();
        let size = contrast.tile.unwrap_or(BLOCK).clamp(1, samples);
        let blocks = (0..samples).step_by(size).map(|start| start..(start + size).min(samples)).collect();
        let (views, ones) = (n / samples, vec![1.0; size]);
        Some(Self { terms, powers, rows, scaled, width, samples, views, blocks, limit, ones, device })
    }

    /// Values of the terms, and the sums of `exp(power (s - limit))` that the gradient divides by.
    pub(super) fn values(&self) -> (Vec<Tensor<1>>, Vec<Vec<f64>>) {
        let sums = self.sums();
        let values = self.terms.iter().zip(&sums).map(|(term, sums)| {
            let divisors: Vec<Vec<f64>> =
                sums.weights.iter().enumerate().map(|(kind, sums)| term.divisors(kind, sums)).collect();
            // A sum that is NaN is no empty one: it makes the loss NaN.
            let value = |(i, &sum): (usize, &f64)| {
                if sum == 0.0 {
                    return EMPTY as f32;
                }
                let of_view = &divisors[(i / self.samples).min(divisors.len() - 1)];
                (sum.ln() + f64::from(term.power * self.limit) - of_view[i % self.samples].ln()) as f32
            };
            let values: Vec<f32> = sums.terms.iter().enumerate().map(value).collect();
            let length = values.len();
            host::tensor(values, [length], &self.device)
        });
        (values.collect(), sums.iter().map(|sums| sums.terms.clone()).collect())
    }

    /// The sums of each term and of its weights.
    fn sums(&self) -> Vec<Sums> {
        let n = self.samples * self.views;
        let empty =
            |term: &Term| Sums { terms: vec![0.0; n], weights: vec![vec![0.0; self.samples]; term.kinds()] };
        let mut sums: Vec<Sums> = self.terms.iter().map(empty).collect();
        self.for_each_pair(|p, q, weights| {
            for (sums, weights) in sums.iter_mut().zip(weights) {
                for (sums, weights) in sums.weights.iter_mut().zip(weights.kinds()) {
                    add_weights(sums, weights, &self.blocks[p], &self.blocks[q], p == q);
                }
            }
            for block in self.blocks_of(p, q) {
                let parts = parallel::map(block.parts(), |part| self.sums_of_part(&block, part, weights));
                for (part, of_terms) in block.parts().zip(parts) {
                    for (sums, (of_rows, of_columns)) in sums.iter_mut().zip(of_terms) {
                        add(&mut sums.terms[part.clone()], &of_rows);
                        if !block.same {
                            add(&mut sums.terms[block.columns.clone()], &of_columns);
                        }
                    }
                }
            }
        });
        sums
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
        let mut found: Vec<(Vec<f32>, Vec<f32>)> = weights.iter().map(empty).collect();
        for (power, mut exponentials) in self.exponentials(block, part.clone()) {
            let terms = self.terms.iter().zip(weights).zip(&mut found);
            for ((term, weights), (by_row, by_column)) in terms.filter(|((term, _), _)| term.power == power) {
                for (i, row) in part.clone().zip(exponentials.chunks_exact_mut(width)) {
                    let [own, other] = self.weights_of_row(weights, block, i);
                    let left_out = block.left_out(term, i);
                    let kept = left_out.map(|at| std::mem::take(&mut row[at]));
                    by_row.push(add_products(row, own, other, by_column));
                    left_out.zip(kept).into_iter().for_each(|(at, kept)| row[at] = kept);
                }
            }
        }
        found
    }

    /// The gradient with respect to the rows, `[rows, width]`, for the gradients `pulls` of each term's values.
    pub(super) fn gradient(&self, pulls: &[Option<Tensor<1>>], sums: &[Vec<f64>]) -> Tensor<2> {
        let factors: Vec<Vec<f32>> = (pulls.iter().zip(sums).zip(&self.terms))
            .map(|((pull, sums), term)| {
                let power = f64::from(term.power);
                let pull = pull.as_ref().map(|pull| pull.clone().into_data().iter::<f64>().collect());
                let pull: Vec<f64> = pull.unwrap_or_else(|| vec![0.0; sums.len()]);
                let share =
                    |(&g, &sum): (&f64, &f64)| if sum == 0.0 { 0.0 } else { (power * g / sum) as f32 };
                pull.iter().zip(sums).map(share).collect()
            })
            .collect();
        let mut gradient = vec![0.0; self.rows.len()];
        self.for_each_pair(|p, q, weights| {
            for block in self.blocks_of(p, q) {
                self.add_gradient(&mut gradient, &block, weights, &factors);
            }
        });
        host::tensor(gradient, [self.samples * self.views, self.width], &self.device)
    }

    /// Adds what a block contributes, by rows and, unless it has them twice, by columns.
    fn add_gradient(
        &self,
        gradient: &mut [f32],
        block: &Block,
        weights: &[BlockWeights],
        factors: &[Vec<f32>],
    ) {
        let columns = &self.rows[self.span(&block.columns)];
        let parts = block.parts().zip(gradient[self.span(&block.rows)].chunks_mut(PART * self.width));
        let pulls = parallel::map(parts, |(part, gradient)| {
            let pulls = self.pulls_of_part(block, part, weights, factors);
            add_product(gradient, matrix(&pulls, block.columns.len()), matrix(columns, self.width));
            pulls
        });
        if block.same {
            return;
        }
        let parts = gradient[self.span(&block.columns)].chunks_mut(PART * self.width);
        parallel::map(parts.enumerate(), |(at, gradient)| {
            for (part, pulls) in block.parts().zip(&pulls) {
                let pulls = matrix(pulls, block.columns.len());
                let pulls = pulls.subcols(at * PART, gradient.len() / self.width);
                add_product(gradient, pulls.transpose(), matrix(&self.rows[self.span(&part)], self.width));
            }
        });
    }

    /// The `H_ij` of the [module](self) for the rows `part` of a block.
    fn pulls_of_part(
        &self,
        block: &Block,
        part: Range<usize>,
        weights: &[BlockWeights],
        factors: &[Vec<f32>],
    ) -> Vec<f32> {
        let width = block.columns.len();
        let mut heights = vec![0.0_f32; width];
        let of_powers = self.exponentials(block, part.clone()).into_iter().map(|(power, mut pulls)| {
            for (i, row) in part.clone().zip(pulls.chunks_exact_mut(width)) {
                heights.fill(0.0);
                let terms = self.terms.iter().zip(factors).zip(weights);
                for ((term, factors), weights) in terms.filter(|((term, _), _)| term.power == power) {
                    let left_out = block.left_out(term, i);
                    let kept = left_out.map(|at| heights[at]);
                    let weights = self.weights_of_row(weights, block, i);
                    add_heights(&mut heights, weights, factors[i], &factors[block.columns.clone()]);
                    left_out.zip(kept).into_iter().for_each(|(at, kept)| heights[at] = kept);
                }
                Arch::new().dispatch(|| row.iter_mut().zip(&heights).for_each(|(e, h)| *e *= h));
            }
            pulls
        });
        let sum = of_powers.reduce(|mut sum, next| {
            Arch::new().dispatch(|| sum.iter_mut().zip(&next).for_each(|(sum, next)| *sum += next));
            sum
        });
        sum.unwrap_or_default()
    }

    /// Each power with `exp(power (s - limit))` for the rows `part` of a block, that of a row with itself 0.
    fn exponentials(&self, block: &Block, part: Range<usize>) -> Vec<(f32, Vec<f32>)> {
        let columns = &self.rows[self.span(&block.columns)];
        let rows = matrix(&self.scaled[self.span(&part)], self.width);
        let mut similarities = product(rows, matrix(columns, self.width).transpose());
        let (limit, first) = (self.limit, part.start - block.rows.start);
        let mut found = Vec::with_capacity(self.powers.len());
        for (k, &power) in self.powers.iter().enumerate() {
            let is_last = k + 1 == self.powers.len();
            let mut terms = if is_last { std::mem::take(&mut similarities) } else { similarities.clone() };
            Arch::new().dispatch(|| terms.iter_mut().for_each(|s| *s = exp(power * (*s - limit))));
            if block.same {
                terms.iter_mut().skip(first).step_by(block.columns.len() + 1).for_each(|term| *term = 0.0);
            }
            found.push((power, terms));
        }
        found
    }

    /// The weights of row `i` of a block as anchor, and of each column as the anchor of row `i`.
    fn weights_of_row<'w>(&'w self, weights: &'w BlockWeights, block: &Block, i: usize) -> [&'w [f32]; 2] {
        let (at, width) = (i - block.rows.start, block.columns.len());
        block.views.map(|view| {
            let weights = weights.of_view(view);
            weights.get(at * width..(at + 1) * width).unwrap_or(&self.ones[..width])
        })
    }

    /// Where the values of some rows lie.
    fn span(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start * self.width..rows.end * self.width
    }

    /// Visits every unordered pair of blocks of samples with the weights of each term.
    fn for_each_pair(&self, mut visit: impl FnMut(usize, usize, &[BlockWeights])) {
        for (p, rows) in self.blocks.iter().enumerate() {
            for (q, columns) in self.blocks.iter().enumerate().skip(p) {
                let weights: Vec<BlockWeights> =
                    self.terms.iter().map(|term| term.weights(rows, columns)).collect();
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

/// Some rows compared with others.
struct Block {
    rows: Range<usize>,
    columns: Range<usize>,
    /// The view of the rows and that of the columns.
    views: [usize; 2],
    /// Whether both are of the same samples, whatever the view.
    same_samples: bool,
    /// Whether both are the same rows, so that the block holds each pair twice and each row with itself.
    same: bool,
}

impl Block {
    /// The column of the block that a term leaves out for row `i`.
    fn left_out(&self, term: &Term<'_, '_>, i: usize) -> Option<usize> {
        (self.same_samples && !self.same && term.without_own_sample).then(|| i - self.rows.start)
    }

    /// The rows of each round of a loop.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Range { start, end } = self.rows;
        (start..end).step_by(PART).map(move |first| first..(first + PART).min(end))
    }
}

/// Adds to as many sums as there are values.
fn add(sums: &mut [f64], values: &[f32]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += f64::from(*value));
}

/// Adds the weights of a block to the sums of its rows' samples, and of its columns' unless both are the same.
fn add_weights(sums: &mut [f64], weights: &[f32], rows: &Range<usize>, columns: &Range<usize>, same: bool) {
    let (mut by_column, ones) = (vec![0.0_f32; columns.len()], vec![1.0_f32; columns.len()]);
    for (row, i) in weights.chunks_exact(columns.len()).zip(rows.clone()) {
        sums[i] += f64::from(add_products(row, &ones, &ones, &mut by_column));
    }
    if !same {
        add(&mut sums[columns.clone()], &by_column);
    }
}

/// Adds a row times the weights of its columns to the sums by column; returns the sum of the row times its own weights.
fn add_products(row: &[f32], own: &[f32], other: &[f32], columns: &mut [f32]) -> f32 {
    Arch::new().dispatch(|| {
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
    Arch::new().dispatch(|| {
        let factors = own.iter().zip(other).zip(others);
        heights.iter_mut().zip(factors).for_each(|(h, ((w, v), other))| *h += w * factor + v * other);
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device, Tensor, TensorData};
    use serde_json::json;

    use crate::batch::Batch;
    use crate::matrix::Matrix;
    use crate::objective;

    const SAMPLES: usize = 37;

    fn values(count: usize, step: f64) -> Vec<f64> {
        (0..count).map(|i| (step * (i * i) as f64 + i as f64).sin()).collect()
    }

    /// Loss and gradients as the objective finds them in a float type; in `f64` it goes by tiles.
    fn evaluate(name: &str, parameters: &serde_json::Value, dtype: DType) -> Vec<f64> {
        let view = |step| {
            let data = TensorData::new(values(SAMPLES * 9, step), [SAMPLES, 9]);
            Tensor::<2>::from_data(data, (&Device::flex(), dtype))
        };
        let labels = |kinds| (0..SAMPLES).map(|i| i % kinds).collect();
        let mut batch = Batch::views(view(0.37), view(0.21))
            .with_indices("labels", labels(5))
            .with_indices("bias", labels(3))
            .with_condition("z", Matrix::new(SAMPLES, 2, values(SAMPLES * 2, 0.11)).unwrap())
            .with_tile(Some(16));
        if name == "hardneg-cclk" {
            let of = |step| Matrix::new(SAMPLES, 2, values(SAMPLES * 2, step)).unwrap();
            batch = batch.with_condition("z_a", of(0.13)).with_condition("z_b", of(0.29));
        }
        let evaluation = objective::build(name, None, parameters.clone()).unwrap().evaluate(&batch).unwrap();
        let mut found = vec![evaluation.loss.into_data().iter::<f64>().next().unwrap()];
        evaluation.gradients.into_values().for_each(|g| found.extend(g.into_data().iter::<f64>()));
        found
    }

    #[test]
    fn nan_is_not_taken_for_an_empty_sum() {
        for name in [
            "nt-xent",
            "supcon",
            "biascon",
            "dc",
            "dclw",
            "dcl",
            "hcl",
            "contex",
            "contex-p",
            "decoupled-uniformity",
        ] {
            let mut values: Vec<f32> = values(SAMPLES * 9, 0.37).into_iter().map(|v| v as f32).collect();
            values[40] = f32::NAN;
            let view = Tensor::<2>::from_data(TensorData::new(values, [SAMPLES, 9]), &Device::flex());
            let labels = |kinds| (0..SAMPLES).map(|i| i % kinds).collect();
            let batch = Batch::views(view.clone(), view)
                .with_indices("labels", labels(5))
                .with_indices("bias", labels(3));
            let objective = objective::build(name, None, json!({})).unwrap();
            if let Ok(evaluation) = objective.evaluate(&batch) {
                assert!(evaluation.loss.into_data().iter::<f64>().all(f64::is_nan), "{name}");
            }
        }
    }

    #[test]
    fn halves_equal_tiles() {
        let of = |variant: &str, kernel: &str| {
            let kernel = match kernel {
                "rbf" => json!({ "name": "rbf", "sigma": 0.7 }),
                name => json!({ "name": name }),
            };
            json!({ "variant": variant, "lambda": 0.1, "kernel": kernel })
        };
        for (name, parameters) in [
            ("nt-xent", json!({})),
            ("nt-xent", json!({ "temperature": 0.05 })),
            ("nt-xent", json!({ "temperature": 0.01 })),
            ("supcon", json!({})),
            ("dc", json!({})),
            ("dclw", json!({ "temperature": 0.5 })),
            ("dcl", json!({})),
            ("hcl", json!({})),
            ("hcl", json!({ "beta": 0.5, "temperature": 0.2 })),
            ("contex", json!({ "temperature": 0.5 })),
            ("contex", json!({ "variant": "paper", "temperature": 0.2 })),
            ("fair-cclk", of("released", "cosine")),
            ("fair-cclk", of("released", "rbf")),
            ("fair-cclk", of("normalised", "cosine")),
            ("fair-cclk", of("normalised", "rbf")),
            ("hardneg-cclk", of("released", "cosine")),
            ("hardneg-cclk", of("released", "rbf")),
            ("hardneg-cclk", of("normalised", "rbf")),
            ("weaksup-cclk", of("released", "cosine")),
            ("weaksup-cclk", of("normalised", "cosine")),
        ] {
            let (halves, tiles) =
                (evaluate(name, &parameters, DType::F32), evaluate(name, &parameters, DType::F64));
            assert_eq!(halves.len(), tiles.len());
            let largest = tiles.iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
            for (half, tile) in halves.iter().zip(&tiles) {
                assert!((half - tile).abs() < 1e-5 * largest, "{name} {parameters}: {half} {tile}");
            }
        }
    }
}
