//! The sums in Burn's operations, a tile of anchors at a time.

use std::ops::Range;

use burn::backend::tensor::{Device, FloatTensor, IntTensor};
use burn::backend::{Backend, TensorMetadata, get_or_init_device_settings};
use burn::tensor::{Shape, Slice, TensorData};

use super::PairWeights;
use crate::ops::gemm::GemmOps;
use crate::pair_terms::{Comparison, EMPTY, LogSumExp, Pairs};

/// The inputs of the gradients.
pub(crate) struct GradientInputs<B: Backend> {
    pub(crate) similarities: FloatTensor<B>,
    pub(crate) sums: FloatTensor<B>,
    pub(crate) gradient: FloatTensor<B>,
}

/// [`PairOps::pair_sums`](super::PairOps::pair_sums).
pub(crate) fn plain_pair_sums<B: GemmOps>(
    anchors: &FloatTensor<B>,
    candidates: &FloatTensor<B>,
    weights: &PairWeights<B>,
    comparison: &Comparison,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (n, m) = (rows::<B>(anchors), rows::<B>(candidates));
    if n == 0 {
        return (zeros::<B>([0, comparison.terms.len()], anchors), nothing::<B>(anchors));
    }
    let (mut sums, mut tiles) = (Vec::new(), Vec::new());
    for tile in comparison.tiles(n, m) {
        let similarities = similarities::<B>(anchors, candidates, &tile, comparison.scale);
        let sum_of_term = |term: &LogSumExp| {
            let logits = logits::<B>(similarities.clone(), term, weights, &tile);
            let largest = B::float_max_dim(logits.clone(), 1);
            let terms = B::float_exp(B::float_sub(logits, largest.clone()));
            B::float_add(B::float_log(B::float_sum_dim(terms, 1)), largest)
        };
        sums.push(joined::<B>(comparison.terms.iter().map(sum_of_term).collect(), 1));
        tiles.push(similarities);
    }
    let similarities = if comparison.stores(n, m) { joined::<B>(tiles, 0) } else { nothing::<B>(anchors) };
    (joined::<B>(sums, 0), similarities)
}

/// [`PairOps::pair_sums_backward`](super::PairOps::pair_sums_backward).
pub(crate) fn plain_pair_sums_backward<B: GemmOps>(
    anchors: &FloatTensor<B>,
    candidates: &FloatTensor<B>,
    weights: &PairWeights<B>,
    inputs: &GradientInputs<B>,
    comparison: &Comparison,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let (n, m) = (rows::<B>(anchors), rows::<B>(candidates));
    let (mut grad_anchors, mut grad_candidates) = (Vec::new(), None);
    for tile in comparison.tiles(n, m) {
        let similarities = match comparison.stores(n, m) {
            true => part::<B>(&inputs.similarities, &tile),
            false => similarities::<B>(anchors, candidates, &tile, comparison.scale),
        };
        let terms = comparison.terms.iter().enumerate().filter(|(_, term)| term.power != 0.0);
        let grad_weights = terms.map(|(at, term)| {
            let logits = logits::<B>(similarities.clone(), term, weights, &tile);
            let (sum, gradient) =
                (column::<B>(&inputs.sums, &tile, at), column::<B>(&inputs.gradient, &tile, at));
            let empty = B::float_lower_elem(sum.clone(), (EMPTY / 2.0).into(), bools::<B>(&sum));
            let factor = B::float_mul_scalar(gradient, (term.power * comparison.scale).into());
            let factor = B::float_mask_fill(factor, empty, 0.0.into());
            B::float_mul(B::float_exp(B::float_sub(logits, sum)), factor)
        });
        let own = part::<B>(anchors, &tile);
        let Some(grad_weights) = grad_weights.reduce(B::float_add) else {
            grad_anchors.push(B::float_mul_scalar(own, 0.0.into()));
            continue;
        };
        grad_anchors.push(B::gemm(grad_weights.clone(), candidates.clone()));
        if !comparison.constant_candidates {
            let partial = B::gemm(B::float_transpose(grad_weights), own);
            grad_candidates = Some(match grad_candidates {
                Some(sum) => B::float_add(sum, partial),
                None => partial,
            });
        }
    }
    let grad_candidates = match grad_candidates {
        Some(sum) => sum,
        None if comparison.constant_candidates => nothing::<B>(candidates),
        None => B::float_mul_scalar(candidates.clone(), 0.0.into()),
    };
    // Without anchors there is no tile, and their gradient has no row either.
    let grad_anchors = if n == 0 { anchors.clone() } else { joined::<B>(grad_anchors, 0) };
    (grad_anchors, grad_candidates)
}

/// [`PairOps::own_pair_sums_backward`](super::PairOps::own_pair_sums_backward).
pub(crate) fn plain_own_pair_sums_backward<B: GemmOps>(
    own: &FloatTensor<B>,
    weights: &PairWeights<B>,
    inputs: &GradientInputs<B>,
    comparison: &Comparison,
) -> FloatTensor<B> {
    let comparison = Comparison { constant_candidates: false, ..comparison.clone() };
    let (grad_anchors, grad_candidates) =
        plain_pair_sums_backward::<B>(own, own, weights, inputs, &comparison);
    B::float_add(grad_anchors, grad_candidates)
}

fn similarities<B: GemmOps>(
    anchors: &FloatTensor<B>,
    candidates: &FloatTensor<B>,
    tile: &Range<usize>,
    scale: f64,
) -> FloatTensor<B> {
    let scaled = B::float_mul_scalar(part::<B>(anchors, tile), scale.into());
    B::gemm(scaled, B::float_transpose(candidates.clone()))
}

/// `power * s_ij + log W_ij`; pairs without weight are [`EMPTY`].
fn logits<B: GemmOps>(
    similarities: FloatTensor<B>,
    term: &LogSumExp,
    weights: &PairWeights<B>,
    tile: &Range<usize>,
) -> FloatTensor<B> {
    let [_, m] = similarities.shape().dims();
    let bool_type = bools::<B>(&similarities);
    let mut logits = B::float_mul_scalar(similarities, term.power.into());
    if let Some((sign, threshold)) = term.weight.bound()
        && let Some(entries) = entries::<B>(weights, tile, m)
    {
        let entries = B::float_mul_scalar(entries, sign.into());
        let left_out = B::float_lower_equal_elem(entries.clone(), threshold.into(), bool_type);
        let logarithms = B::float_log(B::float_mask_fill(entries, left_out.clone(), 1.0.into()));
        logits = B::float_mask_fill(B::float_add(logits, logarithms), left_out, EMPTY.into());
    }
    let Some((own, others)) = keys::<B>(term.pairs, weights, tile, m, &logits.device()) else {
        return logits;
    };
    let shape = Shape::new([tile.len(), m]);
    let (own, others) = (B::int_expand(own, shape.clone()), B::int_expand(others, shape));
    let left_out = match term.pairs {
        Pairs::SameLabel => B::int_not_equal(own, others, bool_type),
        _ => B::int_equal(own, others, bool_type),
    };
    B::float_mask_fill(logits, left_out, EMPTY.into())
}

/// The keys by which rows `[tile, 1]` and columns `[1, m]` are compared, if only some pairs count.
fn keys<B: Backend>(
    pairs: Pairs,
    weights: &PairWeights<B>,
    tile: &Range<usize>,
    m: usize,
    device: &Device<B>,
) -> Option<(IntTensor<B>, IntTensor<B>)> {
    let (rows, columns) = (Shape::new([tile.len(), 1]), Shape::new([1, m]));
    let period = match (pairs, weights) {
        (Pairs::All, _) => return None,
        (Pairs::NotCongruent { period }, _) => period.max(1),
        (_, PairWeights::Groups(groups)) => {
            let [count] = groups.shape().dims();
            let of = |indices: Range<usize>| {
                let indices: Vec<i32> = indices.map(|i| index(i % count.max(1))).collect();
                let length = indices.len();
                let at = B::int_from_data(TensorData::new(indices, [length]), device);
                B::int_select(groups.clone(), 0, at)
            };
            return Some((B::int_reshape(of(tile.clone()), rows), B::int_reshape(of(0..m), columns)));
        }
        _ => usize::MAX,
    };
    let of = |indices: Range<usize>, shape: Shape| {
        let keys: Vec<i32> = indices.map(|i| index(i % period)).collect();
        B::int_from_data(TensorData::new(keys, shape), device)
    };
    Some((of(tile.clone(), rows), of(0..m, columns)))
}

/// The weights of a tile of anchors, `[tile, m]`, if there are any.
fn entries<B: GemmOps>(weights: &PairWeights<B>, tile: &Range<usize>, m: usize) -> Option<FloatTensor<B>> {
    let matrix = match weights {
        PairWeights::Ones | PairWeights::Groups(_) => return None,
        PairWeights::Pairs(matrix) => return Some(part::<B>(matrix, tile)),
        PairWeights::Samples(matrix) => matrix,
        PairWeights::Factors { left, right, samples } => {
            let products = ranges_of_views(tile, rows::<B>(left), *samples).into_iter().map(|range| {
                let first = range.start / samples * samples;
                let right = B::float_transpose(part::<B>(right, &(first..first + samples)));
                B::gemm(part::<B>(left, &range), right)
            });
            let products = joined::<B>(products.collect(), 0);
            return Some(joined::<B>(vec![products; m / samples], 1));
        }
    };
    let [count, samples] = matrix.shape().dims();
    let at: Vec<i32> = tile.clone().map(|i| index(i % count)).collect();
    let at = B::int_from_data(TensorData::new(at, [tile.len()]), &matrix.device());
    let selected = B::float_select(matrix.clone(), 0, at);
    Some(joined::<B>(vec![selected; m / samples], 1))
}

/// The rows of a tile modulo `count`, in ranges of which none goes beyond a view of `samples` rows.
fn ranges_of_views(tile: &Range<usize>, count: usize, samples: usize) -> Vec<Range<usize>> {
    let (mut ranges, mut at) = (Vec::new(), tile.start);
    while at < tile.end {
        let first = at % count;
        let last = ((first / samples + 1) * samples).min(first + tile.end - at);
        ranges.push(first..last);
        at += last - first;
    }
    ranges
}

fn column<B: Backend>(of: &FloatTensor<B>, tile: &Range<usize>, at: usize) -> FloatTensor<B> {
    let [n, columns] = of.shape().dims();
    if columns == 1 && *tile == (0..n) {
        return of.clone();
    }
    B::float_slice(of.clone(), &[Slice::from(tile.clone()), Slice::from(at..at + 1)])
}

/// Some rows; the full range returns the tensor itself.
fn part<B: Backend>(of: &FloatTensor<B>, tile: &Range<usize>) -> FloatTensor<B> {
    let [n, columns] = of.shape().dims();
    if *tile == (0..n) {
        return of.clone();
    }
    B::float_slice(of.clone(), &[Slice::from(tile.clone()), Slice::from(0..columns)])
}

fn joined<B: Backend>(mut parts: Vec<FloatTensor<B>>, dim: usize) -> FloatTensor<B> {
    match parts.len() {
        1 => parts.swap_remove(0),
        _ => B::float_cat(parts, dim),
    }
}

fn nothing<B: Backend>(like: &FloatTensor<B>) -> FloatTensor<B> {
    zeros::<B>([1, 1], like)
}

fn zeros<B: Backend>(shape: [usize; 2], like: &FloatTensor<B>) -> FloatTensor<B> {
    B::float_zeros(Shape::new(shape), &like.device(), like.dtype().into())
}

fn rows<B: Backend>(of: &FloatTensor<B>) -> usize {
    of.shape()[0]
}

fn bools<B: Backend>(of: &FloatTensor<B>) -> burn::tensor::BoolDType {
    get_or_init_device_settings::<B>(&of.device()).bool_dtype
}

fn index(i: usize) -> i32 {
    i32::try_from(i).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_has_ranges_of_single_views() {
        assert_eq!(ranges_of_views(&(0..8), 8, 4), [0..4, 4..8]);
        // More anchors than rows of factors: the rows repeat.
        assert_eq!(ranges_of_views(&(2..11), 4, 4), [2..4, 0..4, 0..3]);
        assert_eq!(ranges_of_views(&(5..9), 8, 4), [5..8, 0..1]);
    }
}
