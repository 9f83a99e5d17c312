//! Rows compared with themselves, on the host.
//!
//! With anchors and candidates the same rows, and weights `W` that are symmetric, the terms `T_ij = W_ij exp(s_ij)` are
//! symmetric too, so that half of them is enough, and the gradient takes one product instead of two:
//!
//! ```text
//! d / d z_i  sum_k l_k  =  1 / temperature  sum_j H_ij z_j,   H_ij = T_ij (c_i + c_j),   c_i = (d l_i / d m_i) / sum_j T_ij
//! ```
//!
//! The `c_i` need all row sums, so the terms are formed twice, block by block, and never kept: of a block, similarities
//! are a product of Burn's, which uses all cores, and everything else happens in one pass over it.
//!
//! The terms are formed relative to `exp(L)` with `L` the largest that a similarity can be, instead of the largest of
//! each row as in a softmax, which would cost a pass and make `T` differ from row to row. In `f32` that is safe while
//! no term can fall below the smallest normal number: [`SPAN`] bounds `2 L`. At lower temperatures, and wherever a term
//! is of another kind, [`Contrast`] goes through its rows in tiles.

use std::ops::Range;

use burn::tensor::{DType, Device, Tensor, TensorData};
use pulp::Arch;

use super::positives::Target;
use super::{Contrast, EMPTY, LogSumExp, itself};
use crate::conditional::DeviceOperator;
use crate::encoder::is_host;
use crate::exponential::exp;

/// The largest difference of two similarities: with `exp(-60)` = 9e-27 a term keeps all of its digits in `f32` for
/// weights down to 1e-11.
const SPAN: f32 = 60.0;
/// Rows of a block where the caller does not choose: its similarities and weights stay in the second cache.
const BLOCK: usize = 512;
/// Sums run in so many lanes, which the compiler keeps in vector registers.
const LANES: usize = 16;

/// Symmetric weights of the pairs of samples, the same for each of their views; a sample's pairs with itself have
/// weight 0.
pub struct PairWeights<'a> {
    /// The weights, as they come.
    pub operator: &'a DeviceOperator,
    /// Weights at or below this count as 0.
    pub threshold: f64,
    /// What each row is divided by.
    pub divisor: Divisor,
}

/// What a row of [`PairWeights`] is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// Nothing.
    One,
    /// The sum of the weights of one view.
    Sum,
    /// The same with the sample itself, if it has any other.
    SumWithOwn,
}

/// A term of the comparison.
enum Term<'c, 'a> {
    /// All rows but the own one, weight 1.
    Others,
    /// Weights of pairs.
    Pairs(&'c PairWeights<'a>),
}

/// What is compared.
pub(super) struct Comparison<'c, 'a> {
    terms: Vec<Term<'c, 'a>>,
    rows: Vec<Tensor<2>>,
    scaled: Vec<Tensor<2>>,
    /// Samples of each block; a view has one block after the other, and there is one view after the other.
    blocks: Vec<Range<usize>>,
    samples: usize,
    views: usize,
    limit: f32,
    /// The weights of a row where they are 1.
    ones: Vec<f32>,
    device: Device,
}

/// Sums of one term by row.
struct Sums {
    terms: Vec<f64>,
    /// Sums of the weights of one view by sample.
    weights: Vec<f64>,
}

impl<'c, 'a> Comparison<'c, 'a> {
    /// The comparison, if it is one of this kind.
    pub(super) fn of(contrast: &'c Contrast<'a>, targets: &[Target]) -> Option<Self> {
        let device = contrast.anchors.device();
        let suits = contrast.within && contrast.anchors.dtype() == DType::F32 && is_host(&device);
        if !suits || targets.iter().any(|target| matches!(target, Target::Tiles(_))) {
            return None;
        }
        let [n, _] = contrast.anchors.dims();
        let terms = contrast.sums.iter().map(|term| Term::of(term, n)).collect::<Option<Vec<_>>>()?;
        let of_pairs = |term: &Term| match term {
            Term::Others => None,
            Term::Pairs(pairs) => Some(pairs.operator.rows()),
        };
        let samples = terms.iter().find_map(of_pairs).unwrap_or(n);
        if samples == 0 || n % samples != 0 || terms.iter().any(|t| of_pairs(t).is_some_and(|s| s != samples))
        {
            return None;
        }
        let longest = contrast.anchors.clone().square().sum_dim(1).max().into_scalar::<f32>();
        let limit = longest / contrast.temperature as f32;
        let is_safe = 2.0 * limit <= SPAN;
        if !is_safe {
            return None;
        }

        let size = contrast.tile.unwrap_or(BLOCK).clamp(1, samples);
        let blocks: Vec<Range<usize>> =
            (0..samples).step_by(size).map(|start| start..(start + size).min(samples)).collect();
        let views = n / samples;
        let cut = |rows: Tensor<2>| -> Vec<Tensor<2>> {
            let starts = (0..views).flat_map(|view| blocks.iter().map(move |b| (view * samples, b)));
            starts.map(|(at, b)| rows.clone().slice([at + b.start..at + b.end])).collect()
        };
        let rows = cut(contrast.anchors.clone());
        let scaled = cut(contrast.anchors.clone() / contrast.temperature);
        Some(Self { terms, rows, scaled, blocks, samples, views, limit, ones: vec![1.0; size], device })
    }

    /// The log-sum-exp of each term, `[rows]`, and the sums that they come from.
    fn sums(&self) -> Vec<Sums> {
        let n = self.samples * self.views;
        let empty = |_: &Term| Sums { terms: vec![0.0; n], weights: vec![0.0; self.samples] };
        let mut sums: Vec<Sums> = self.terms.iter().map(empty).collect();
        self.for_each_pair(|p, q, weights| {
            for (sums, weights) in sums.iter_mut().zip(weights) {
                add_weights(&mut sums.weights, weights, &self.blocks[p], &self.blocks[q], p == q);
            }
            self.for_each_block(p, q, |block, values| {
                let width = block.columns.len();
                let mut columns = vec![vec![0.0_f32; width]; sums.len()];
                for (r, row) in values.chunks_exact_mut(width).enumerate() {
                    self.exponentials(row, block.own(r));
                    for ((sums, weights), columns) in sums.iter_mut().zip(weights).zip(&mut columns) {
                        let sum = add_products(row, self.weights_of_row(weights, r, width), columns);
                        sums.terms[block.rows.start + r] += f64::from(sum);
                    }
                }
                for (sums, columns) in sums.iter_mut().zip(&columns).filter(|_| !block.same) {
                    let places = sums.terms[block.columns.clone()].iter_mut();
                    places.zip(columns).for_each(|(sum, term)| *sum += f64::from(*term));
                }
            });
        });
        sums
    }

    /// Values of the terms, and the sums of `exp(s - limit)` that the gradient divides by.
    pub(super) fn values(&self) -> (Vec<Tensor<1>>, Vec<Vec<f64>>) {
        let sums = self.sums();
        let values = self.terms.iter().zip(&sums).map(|(term, sums)| {
            let divisors = term.divisors(&sums.weights);
            let value = |(i, &sum): (usize, &f64)| match sum {
                sum if sum > 0.0 => {
                    (sum.ln() + f64::from(self.limit) - divisors[i % self.samples].ln()) as f32
                }
                _ => EMPTY as f32,
            };
            self.vector(sums.terms.iter().enumerate().map(value).collect())
        });
        (values.collect(), sums.iter().map(|sums| sums.terms.clone()).collect())
    }

    /// The gradient with respect to the rows, `[rows, d]`, for the gradients `pulls` of each term's values.
    pub(super) fn gradient(&self, pulls: &[Option<Tensor<1>>], sums: &[Vec<f64>]) -> Tensor<2> {
        let factors: Vec<Vec<f32>> = (pulls.iter().zip(sums))
            .map(|(pull, sums)| {
                let pull = pull.as_ref().map(|pull| pull.clone().into_data().iter::<f64>().collect());
                let pull: Vec<f64> = pull.unwrap_or_else(|| vec![0.0; sums.len()]);
                let share = |(&g, &sum): (&f64, &f64)| if sum > 0.0 { (g / sum) as f32 } else { 0.0 };
                pull.iter().zip(sums).map(share).collect()
            })
            .collect();
        let mut gradients: Vec<Tensor<2>> = self.rows.iter().map(Tensor::zeros_like).collect();
        self.for_each_pair(|p, q, weights| {
            let mut heights = vec![0.0_f32; self.blocks[q].len()];
            let mut of_block = |block: &Block, values: &mut [f32]| {
                let width = block.columns.len();
                for (r, row) in values.chunks_exact_mut(width).enumerate() {
                    self.exponentials(row, block.own(r));
                    heights.fill(0.0);
                    for (factors, weights) in factors.iter().zip(weights) {
                        let weights = self.weights_of_row(weights, r, width);
                        let (own, others) = (factors[block.rows.start + r], &factors[block.columns.clone()]);
                        add_heights(&mut heights, weights, own, others);
                    }
                    Arch::new().dispatch(|| row.iter_mut().zip(&heights).for_each(|(e, h)| *e *= h));
                }
            };
            self.for_each_similarity(p, q, |block, mut data| {
                if let Ok(values) = data.as_mut_slice::<f32>() {
                    of_block(block, values);
                }
                let pull = Tensor::<2>::from_data(data, &self.device);
                let (i, j) = (block.first, block.second);
                if !block.same {
                    let back = pull.clone().transpose().matmul(self.rows[i].clone());
                    gradients[j] = gradients[j].clone() + back;
                }
                gradients[i] = gradients[i].clone() + pull.matmul(self.rows[j].clone());
            });
        });
        Tensor::cat(gradients, 0)
    }

    fn weights_of_row<'w>(&'w self, weights: &'w [f32], r: usize, width: usize) -> &'w [f32] {
        weights.get(r * width..(r + 1) * width).unwrap_or_else(|| self.ones.get(..width).unwrap_or_default())
    }

    fn vector(&self, values: Vec<f32>) -> Tensor<1> {
        let length = values.len();
        Tensor::from_data(TensorData::new(values, [length]), &self.device)
    }

    /// Visits every unordered pair of blocks of samples with the weights of each term.
    fn for_each_pair(&self, mut visit: impl FnMut(usize, usize, &[Vec<f32>])) {
        for (p, rows) in self.blocks.iter().enumerate() {
            for (q, columns) in self.blocks.iter().enumerate().skip(p) {
                let weights: Vec<Vec<f32>> =
                    self.terms.iter().map(|term| term.weights(rows, columns)).collect();
                visit(p, q, &weights);
            }
        }
    }

    /// Visits the similarities of a pair of blocks of samples in all views.
    fn for_each_similarity(&self, p: usize, q: usize, mut visit: impl FnMut(&Block, TensorData)) {
        let count = self.blocks.len();
        for first_view in 0..self.views {
            for second_view in (0..self.views).filter(|&second| p < q || first_view <= second) {
                let (first, second) = (first_view * count + p, second_view * count + q);
                let at = |view: usize, block: &Range<usize>| {
                    view * self.samples + block.start..view * self.samples + block.end
                };
                let block = Block {
                    first,
                    second,
                    rows: at(first_view, &self.blocks[p]),
                    columns: at(second_view, &self.blocks[q]),
                    same: first == second,
                };
                let similarity = self.scaled[first].clone().matmul(self.rows[second].clone().transpose());
                visit(&block, similarity.into_data());
            }
        }
    }

    fn for_each_block(&self, p: usize, q: usize, mut visit: impl FnMut(&Block, &mut [f32])) {
        self.for_each_similarity(p, q, |block, mut data| {
            if let Ok(values) = data.as_mut_slice::<f32>() {
                visit(block, values);
            }
        });
    }

    /// Replaces similarities by `exp(s - limit)`, that of a row with itself by 0.
    fn exponentials(&self, row: &mut [f32], own: Option<usize>) {
        let limit = self.limit;
        Arch::new().dispatch(|| row.iter_mut().for_each(|s| *s = exp(*s - limit)));
        if let Some(own) = own.and_then(|own| row.get_mut(own)) {
            *own = 0.0;
        }
    }
}

impl<'c, 'a> Term<'c, 'a> {
    fn of(term: &'c LogSumExp<'a>, n: usize) -> Option<Self> {
        if let Some(pairs) = &term.pairs {
            return Some(Self::Pairs(pairs));
        }
        let plain = term.power == 1.0 && term.mask.is_none() && term.log_weights.is_none();
        (plain && term.excluded == [itself(n)]).then_some(Self::Others)
    }

    /// Weights of a block of samples against another; none where all are 1.
    fn weights(&self, rows: &Range<usize>, columns: &Range<usize>) -> Vec<f32> {
        let Self::Pairs(pairs) = self else { return Vec::new() };
        let mut weights: Vec<f32> =
            pairs.operator.block(rows.clone(), columns.clone()).into_data().iter::<f32>().collect();
        let (threshold, width) = (pairs.threshold as f32, columns.len());
        Arch::new().dispatch(|| {
            weights.iter_mut().for_each(|w| *w = if *w > threshold { *w } else { 0.0 });
        });
        if rows == columns {
            weights.iter_mut().step_by(width + 1).for_each(|w| *w = 0.0);
        }
        weights
    }

    /// What the sums of each sample's rows are divided by.
    fn divisors(&self, sums: &[f64]) -> Vec<f64> {
        match self {
            Self::Pairs(pairs) if pairs.divisor == Divisor::Sum => sums.to_vec(),
            Self::Pairs(pairs) if pairs.divisor == Divisor::SumWithOwn => {
                let own = pairs.operator.diagonal().into_data();
                sums.iter().zip(own.iter::<f64>()).map(|(sum, own)| sum + own.max(0.0)).collect()
            }
            _ => vec![1.0; sums.len()],
        }
    }
}

/// The similarities of one block of rows with another.
struct Block {
    first: usize,
    second: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    /// Whether both are the same block, which then holds each pair twice and each row with itself.
    same: bool,
}

impl Block {
    /// The column of row `r` itself.
    fn own(&self, r: usize) -> Option<usize> {
        self.same.then_some(r)
    }
}

/// Adds the weights of a block to the sums of its rows' samples, and of its columns' unless both are the same.
fn add_weights(sums: &mut [f64], weights: &[f32], rows: &Range<usize>, columns: &Range<usize>, same: bool) {
    let (mut by_column, ones) = (vec![0.0_f32; columns.len()], vec![1.0_f32; columns.len()]);
    for (row, i) in weights.chunks_exact(columns.len()).zip(rows.clone()) {
        sums[i] += f64::from(add_products(row, &ones, &mut by_column));
    }
    for (sum, weight) in sums[columns.clone()].iter_mut().zip(by_column).filter(|_| !same) {
        *sum += f64::from(weight);
    }
}

/// Adds the products of two rows to the sums by column; returns their sum.
fn add_products(left: &[f32], right: &[f32], columns: &mut [f32]) -> f32 {
    Arch::new().dispatch(|| {
        let ((left, left_rest), (right, right_rest)) =
            (left.as_chunks::<LANES>(), right.as_chunks::<LANES>());
        let (columns, columns_rest) = columns.as_chunks_mut::<LANES>();
        let mut lanes = [0.0_f32; LANES];
        for ((left, right), columns) in left.iter().zip(right).zip(columns) {
            for (((lane, x), y), column) in lanes.iter_mut().zip(left).zip(right).zip(columns) {
                let product = x * y;
                *lane += product;
                *column += product;
            }
        }
        let mut sum: f32 = lanes.iter().sum();
        for ((x, y), column) in left_rest.iter().zip(right_rest).zip(columns_rest) {
            let product = x * y;
            sum += product;
            *column += product;
        }
        sum
    })
}

/// Adds `weights (own + others)` to `heights`.
fn add_heights(heights: &mut [f32], weights: &[f32], own: f32, others: &[f32]) {
    Arch::new().dispatch(|| {
        let factors = weights.iter().zip(others);
        heights.iter_mut().zip(factors).for_each(|(h, (w, other))| *h += w * (own + other));
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
        let batch = Batch::views(view(0.37), view(0.21))
            .with_indices("labels", labels(5))
            .with_indices("bias", labels(3))
            .with_condition("z", Matrix::new(SAMPLES, 2, values(SAMPLES * 2, 0.11)).unwrap())
            .with_tile(Some(16));
        let evaluation = objective::build(name, None, parameters.clone()).unwrap().evaluate(&batch).unwrap();
        let mut found = vec![evaluation.loss.into_data().iter::<f64>().next().unwrap()];
        evaluation.gradients.into_values().for_each(|g| found.extend(g.into_data().iter::<f64>()));
        found
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
            ("fair-cclk", of("released", "cosine")),
            ("fair-cclk", of("released", "rbf")),
            ("fair-cclk", of("normalised", "cosine")),
            ("fair-cclk", of("normalised", "rbf")),
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
