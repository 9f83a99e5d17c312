//! The positives of an anchor, and the means over them.
//!
//! If the weights have a structure (one partner, one group), a mean is an inner product of the anchor with a
//! precomputed row: `n d` work and no tile of weights.

use std::ops::Range;

use burn::tensor::{DType, Device, IndexingUpdateOp, Tensor};
use simile_kernels::{product, tile_rows};

use super::farther::Sorted;
use super::means::{MeanInputs, WeightedSums};
use super::rows::rows_of;
use crate::numeric::label_groups::LabelGroups;
use crate::numeric::matrix::{Matrix, indices};

/// Weights of a range of samples, `[range, samples]`.
pub type SampleWeights<'a> = Box<dyn Fn(Range<usize>) -> Tensor<2> + Send + Sync + 'a>;

/// The positives of an anchor, as rows of constant weights `P`.
#[allow(clippy::large_enum_variant, reason = "a comparison holds two or three of these")]
pub enum Positives<'a> {
    /// Candidate `partner[i]`, weight one.
    Partner(Vec<usize>),
    /// The mean over the candidates of the anchor's group without the excluded ones. Anchors and candidates
    /// are the same rows. An anchor without such a candidate has weight 0.
    Group {
        /// Groups of equal label.
        group: LabelGroups,
        /// The rows of the group that are no positives of each other, as a finer partition: each row alone, or the rows of equal
        /// label and bias.
        excluded: LabelGroups,
    },
    /// Row `i` of a tensor `[anchors, d]` that is not a candidate, weight one; it receives no gradient, see
    /// [`PairwiseResult::grad_means`](super::PairwiseResult::grad_means).
    Rows(Tensor<2>),
    /// Weights of the pairs of samples, the same for all views of either. Anchors and candidates are the same rows,
    /// with the samples of one view after those of another.
    Samples {
        /// Number of samples.
        count: usize,
        /// Weights of a range of samples, `[range, samples]`, taken as constants.
        weights: SampleWeights<'a>,
    },
    /// The candidates of [`Group`](Self::Group) that are farther from the anchor than one of its log-sum-exps (their scaled cosine
    /// is below it), each with its weight
    /// in the mean over the whole group. The weights depend on the rows, but are taken as constants.
    Farther {
        /// Groups of equal label.
        group: LabelGroups,
        /// The rows of the group that are no positives of each other, as a finer partition.
        excluded: LabelGroups,
        /// Index of the log-sum-exp.
        sum: usize,
    },
}

impl Positives<'_> {
    /// The weighted sums from which the means of the anchors are computed.
    pub(super) fn weighted_sums(&self, inputs: &MeanInputs<'_>) -> WeightedSums {
        let candidates = inputs.candidates;
        let (device, dtype) = (candidates.device(), candidates.dtype());
        let [n, _] = inputs.scaled.dims();
        let of = |rows: Tensor<2>, mass: Option<Tensor<1>>| WeightedSums { rows, mass, weights: Vec::new() };
        match self {
            Self::Partner(partner) if is_itself(partner, candidates) => of(candidates.clone(), None),
            Self::Partner(partner) => of(candidates.clone().select(0, indices(partner, &device)), None),
            Self::Rows(rows) => of(rows.clone(), None),
            Self::Group { group, excluded } => {
                let (share, mass) = shares(group, excluded, &device, dtype);
                of(positive_sums(group, excluded, candidates.clone()) * share, Some(mass.squeeze_dim(1)))
            }
            Self::Samples { count, weights } => {
                let (views, of_samples) = (n / count, over_views(candidates.clone(), *count));
                let tiles = ranges(*count).map(|range| {
                    let weights = weights(range);
                    let mass = weights.clone().sum_dim(1) * views as f64;
                    (product(weights, of_samples.clone()), mass)
                });
                let (rows, mass): (Vec<Tensor<2>>, Vec<Tensor<2>>) = tiles.unzip();
                let for_views = |parts: Vec<Tensor<2>>| Tensor::cat(parts, 0).repeat_dim(0, views);
                of(for_views(rows), Some(for_views(mass).squeeze_dim(1)))
            }
            Self::Farther { group, excluded, sum } => {
                Sorted::new(inputs, group, excluded, *sum).weighted_sums()
            }
        }
    }

    /// `sum_i P_ij g_i`, `[candidates, d]`; `None` if the candidates get no gradient.
    pub(super) fn pull_back(
        &self,
        gradient: Tensor<2>,
        sums: &WeightedSums,
        inputs: &MeanInputs<'_>,
    ) -> Option<Tensor<2>> {
        let candidates = inputs.candidates;
        let (device, dtype) = (candidates.device(), candidates.dtype());
        match self {
            Self::Partner(partner) if is_itself(partner, candidates) => Some(gradient),
            Self::Partner(partner) => {
                let at = indices(partner, &device);
                Some(candidates.zeros_like().select_assign(0, at, gradient, IndexingUpdateOp::Add))
            }
            Self::Group { group, excluded } => {
                let (share, _) = shares(group, excluded, &device, dtype);
                Some(positive_sums(group, excluded, gradient * share))
            }
            Self::Samples { count, weights } => {
                let views = candidates.dims()[0] / count;
                let gradient = over_views(gradient, *count);
                let tiles = ranges(*count)
                    .map(|range| product(weights(range.clone()).transpose(), rows_of(&gradient, range)));
                tiles.reduce(|sum, tile| sum + tile).map(|sum| sum.repeat_dim(0, views))
            }
            Self::Rows(_) => None,
            Self::Farther { group, excluded, sum } => {
                Some(Sorted::new(inputs, group, excluded, *sum).pull_back(gradient, sums))
            }
        }
    }
}

/// True if each anchor's partner is the candidate of its own index, so that nothing has to be gathered.
fn is_itself(partner: &[usize], candidates: &Tensor<2>) -> bool {
    partner.iter().copied().eq(0..candidates.dims()[0])
}

/// The sum of each sample's rows over the views, `[samples, d]`.
fn over_views(rows: Tensor<2>, samples: usize) -> Tensor<2> {
    let [n, width] = rows.dims();
    rows.reshape([n / samples, samples, width]).sum_dim(0).squeeze_dim(0)
}

/// Ranges of samples, each as large as suits their number.
fn ranges(samples: usize) -> impl Iterator<Item = Range<usize>> {
    let size = tile_rows(None, samples, samples);
    (0..samples).step_by(size).map(move |start| start..(start + size).min(samples))
}

/// `1 / |P(i)|` of each row, 0 if it has no positive, and the mass, 1 if it has one; both `[rows, 1]`.
fn shares(
    group: &LabelGroups,
    excluded: &LabelGroups,
    device: &Device,
    dtype: DType,
) -> (Tensor<2>, Tensor<2>) {
    let counts: Vec<usize> =
        (0..group.rows()).map(|i| group.size_of(i).saturating_sub(excluded.size_of(i))).collect();
    let column = |value: fn(usize) -> f64| {
        let values: Vec<f64> =
            counts.iter().map(|&count| if count == 0 { 0.0 } else { value(count) }).collect();
        Matrix::column(&values).to_tensor(device, dtype)
    };
    (column(|count| 1.0 / count as f64), column(|_| 1.0))
}

/// For each row the sum over its group without the excluded rows.
fn positive_sums(group: &LabelGroups, excluded: &LabelGroups, rows: Tensor<2>) -> Tensor<2> {
    group.sums(rows.clone()) - excluded.sums(rows)
}
