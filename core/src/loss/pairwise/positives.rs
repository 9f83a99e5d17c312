//! The positives of an anchor, and the means over them.
//!
//! If the weights have a structure (one partner, one group), a mean is an inner product of the anchor with a
//! precomputed row: `n d` work and no tile of weights.

use std::ops::Range;

use burn::tensor::{DType, Device, IndexingUpdateOp, Tensor};
use simile_kernels::tile_rows;

use super::rows::rows_of;
use crate::numeric::label_groups::LabelGroups;
use crate::numeric::matrix::{Matrix, indices};

/// A tile of the comparison.
pub struct Tile<'t> {
    /// The anchors of the tile.
    pub range: Range<usize>,
    /// `s_ij`, `[anchors of the tile, candidates]`.
    pub similarity: Tensor<2>,
    /// The value of each [`LogSumExp`](super::LogSumExp) for all anchors.
    pub sums: &'t [Tensor<1>],
}

/// Weights of a tile of anchors, `[anchors, candidates]`.
pub type Weights<'a> = Box<dyn Fn(&Tile) -> Tensor<2> + Send + Sync + 'a>;

/// Weights of a range of samples, `[range, samples]`.
pub type SampleWeights<'a> = Box<dyn Fn(Range<usize>) -> Tensor<2> + Send + Sync + 'a>;

/// The anchors and candidates of a comparison.
pub(super) struct Place<'p> {
    /// The anchors over the temperature.
    pub(super) scaled: &'p Tensor<2>,
    pub(super) candidates: &'p Tensor<2>,
    /// The log-sum-exps of all anchors.
    pub(super) sums: &'p [Tensor<1>],
    pub(super) tile: Option<usize>,
}

impl Place<'_> {
    /// The tiles of a comparison, one after the other.
    fn tiles(&self) -> impl Iterator<Item = Tile<'_>> {
        let ([n, _], [m, _]) = (self.scaled.dims(), self.candidates.dims());
        let size = tile_rows(self.tile, n, m);
        (0..n).step_by(size).map(move |start| {
            let range = start..(start + size).min(n);
            let anchors = rows_of(self.scaled, range.clone());
            let similarity = anchors.matmul(self.candidates.clone().transpose());
            Tile { range, similarity, sums: self.sums }
        })
    }
}

/// The positives of an anchor, as rows of constant weights `P`.
#[allow(clippy::large_enum_variant, reason = "a comparison holds two or three of these")]
pub enum Positives<'a> {
    /// Candidate `partner[i]`, weight one.
    Partner(Vec<usize>),
    /// The mean over the candidates of the anchor's group outside its part of that group. Anchors and candidates
    /// are the same rows. An anchor without such a candidate has weight 0.
    Group {
        /// Groups of equal label.
        group: LabelGroups,
        /// A finer partition: each row alone, or the rows of equal label and bias.
        part: LabelGroups,
    },
    /// Row `i` of a tensor `[anchors, d]` that is not a candidate, weight one; it receives no gradient, see
    /// [`PairwiseResult::of_means`](super::PairwiseResult::of_means).
    Rows(Tensor<2>),
    /// Weights of the pairs of samples, the same for all views of either. Anchors and candidates are the same rows,
    /// with the samples of one view after those of another.
    Samples {
        /// Number of samples.
        count: usize,
        /// Weights of a range of samples, `[range, samples]`, taken as constants.
        weights: SampleWeights<'a>,
    },
    /// Weights computed for one tile at a time. They can depend on its values, but are taken as constants.
    Tiles(Weights<'a>),
}

/// The weighted sums from which a mean is computed.
pub(super) struct Target {
    /// `sum_j P_ij c_j`, `[anchors, d]`.
    pub(super) rows: Tensor<2>,
    /// `sum_j P_ij`, `[anchors]`.
    pub(super) mass: Tensor<1>,
    /// `P`, if there is only one tile.
    weights: Option<Tensor<2>>,
}

impl Target {
    /// The means of the anchors, divided by the temperature.
    pub(super) fn mean(&self, scaled: &Tensor<2>) -> Tensor<1> {
        (scaled.clone() * self.rows.clone()).sum_dim(1).squeeze_dim(1)
    }
}

impl Positives<'_> {
    /// The weighted sums from which the means of the anchors are computed.
    pub(super) fn target(&self, place: &Place<'_>) -> Target {
        let candidates = place.candidates;
        let (device, dtype) = (candidates.device(), candidates.dtype());
        let [n, _] = place.scaled.dims();
        let of = |rows: Tensor<2>, mass: Tensor<1>| Target { rows, mass, weights: None };
        let one = || Tensor::ones([n], (&device, dtype));
        match self {
            Self::Partner(partner) => of(candidates.clone().select(0, indices(partner, &device)), one()),
            Self::Rows(rows) => of(rows.clone(), one()),
            Self::Group { group, part } => {
                let (share, mass) = shares(group, part, &device, dtype);
                of(rest_of_group(group, part, candidates.clone()) * share, mass.squeeze_dim(1))
            }
            Self::Samples { count, weights } => {
                let (views, of_samples) = (n / count, over_views(candidates.clone(), *count));
                let tiles = ranges(*count).map(|range| {
                    let weights = weights(range);
                    let mass = weights.clone().sum_dim(1) * views as f64;
                    (weights.matmul(of_samples.clone()), mass)
                });
                let (rows, mass): (Vec<Tensor<2>>, Vec<Tensor<2>>) = tiles.unzip();
                let for_views = |parts: Vec<Tensor<2>>| Tensor::cat(parts, 0).repeat_dim(0, views);
                of(for_views(rows), for_views(mass).squeeze_dim(1))
            }
            Self::Tiles(weights) => {
                let mut tiles: Vec<Tensor<2>> = Vec::new();
                let parts = place.tiles().map(|tile| {
                    let weights = weights(&tile);
                    tiles = vec![weights.clone()];
                    (weights.clone().matmul(candidates.clone()), weights.sum_dim(1))
                });
                let (rows, mass): (Vec<Tensor<2>>, Vec<Tensor<2>>) = parts.unzip();
                let weights = tiles.pop().filter(|_| rows.len() == 1);
                Target { rows: Tensor::cat(rows, 0), mass: Tensor::cat(mass, 0).squeeze_dim(1), weights }
            }
        }
    }

    /// `sum_i P_ij g_i`, `[candidates, d]`; `None` if the candidates get no gradient.
    pub(super) fn spread(
        &self,
        gradient: Tensor<2>,
        target: &Target,
        place: &Place<'_>,
    ) -> Option<Tensor<2>> {
        let candidates = place.candidates;
        let (device, dtype) = (candidates.device(), candidates.dtype());
        match self {
            Self::Partner(partner) => {
                let at = indices(partner, &device);
                Some(candidates.zeros_like().select_assign(0, at, gradient, IndexingUpdateOp::Add))
            }
            Self::Group { group, part } => {
                let (share, _) = shares(group, part, &device, dtype);
                Some(rest_of_group(group, part, gradient * share))
            }
            Self::Samples { count, weights } => {
                let views = candidates.dims()[0] / count;
                let gradient = over_views(gradient, *count);
                let tiles = ranges(*count)
                    .map(|range| weights(range.clone()).transpose().matmul(rows_of(&gradient, range)));
                tiles.reduce(|sum, tile| sum + tile).map(|sum| sum.repeat_dim(0, views))
            }
            Self::Rows(_) => None,
            Self::Tiles(weights) => match &target.weights {
                Some(weights) => Some(weights.clone().transpose().matmul(gradient)),
                None => {
                    let tiles = place.tiles().map(|tile| {
                        let weights = weights(&tile).transpose();
                        weights.matmul(rows_of(&gradient, tile.range))
                    });
                    tiles.reduce(|sum, tile| sum + tile)
                }
            },
        }
    }
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

/// `1 / |P(i)|` of each row, 0 if nothing is left of its group, and the mass, 1 if something is left; both `[rows,
/// 1]`.
fn shares(group: &LabelGroups, part: &LabelGroups, device: &Device, dtype: DType) -> (Tensor<2>, Tensor<2>) {
    let counts: Vec<usize> =
        (0..group.rows()).map(|i| group.size_of(i).saturating_sub(part.size_of(i))).collect();
    let column = |value: fn(usize) -> f64| {
        let values: Vec<f64> =
            counts.iter().map(|&count| if count == 0 { 0.0 } else { value(count) }).collect();
        Matrix::column(&values).to_tensor(device, dtype)
    };
    (column(|count| 1.0 / count as f64), column(|_| 1.0))
}

/// For each row the sum over its group outside its part of the group.
fn rest_of_group(group: &LabelGroups, part: &LabelGroups, rows: Tensor<2>) -> Tensor<2> {
    group.sums(rows.clone()) - part.sums(rows)
}
