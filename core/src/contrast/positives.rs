//! Which candidates an anchor is drawn to, and the means that follow.
//!
//! Where the weights have a form (one partner, one group) a mean is an inner product of the anchor with a row
//! that is known beforehand: `n d` work and no tile of weights.

use std::ops::Range;

use burn::tensor::{DType, Device, IndexingUpdateOp, Tensor};

use super::{indices, tile_rows};
use crate::group::Groups;
use crate::host::is_host;
use crate::matrix::Matrix;
use simile_kernels::cpu::parallel;

/// Samples whose weights are formed at once on the host.
const HOST_RANGE: usize = 128;

/// A tile of the comparison, before the means are formed.
pub struct Tile<'t> {
    /// Which anchors these are.
    pub range: Range<usize>,
    /// The anchors divided by the temperature, `[anchors of the tile, d]`.
    pub scaled: &'t Tensor<2>,
    /// `s_ij`, `[anchors of the tile, candidates]`.
    pub similarity: &'t Tensor<2>,
    /// The value of each [`LogSumExp`](super::LogSumExp), `[anchors of the tile]`.
    pub sums: &'t [Tensor<1>],
}

/// Weights of a tile of anchors, `[anchors, candidates]`.
pub type Weights<'a> = Box<dyn Fn(&Tile) -> Tensor<2> + Send + Sync + 'a>;

/// Weights of a range of samples, `[range, samples]`.
pub type SampleWeights<'a> = Box<dyn Fn(Range<usize>) -> Tensor<2> + Send + Sync + 'a>;

/// Which candidates an anchor is drawn to, as rows of constant weights `P`.
#[allow(clippy::large_enum_variant, reason = "a comparison holds two or three of these")]
pub enum Positives<'a> {
    /// Candidate `partner[i]`, weight one.
    Partner(Vec<usize>),
    /// The mean over the candidates of the anchor's group that are not in its part of that group. Anchors and
    /// candidates are the same rows. An anchor without such a candidate has weight 0.
    Group {
        /// Groups of equal label.
        group: Groups,
        /// A finer partition: each row alone, or the rows of equal label and bias.
        part: Groups,
    },
    /// Row `i` of a tensor `[anchors, d]` that is no candidate, weight one; it receives no gradient, see
    /// [`Contrasted::of_means`](super::Contrasted::of_means).
    Rows(Tensor<2>),
    /// Weights of the pairs of samples, the same for all views of either. Anchors and candidates are the same rows, the
    /// samples of one view after those of another.
    Samples {
        /// Number of samples.
        count: usize,
        /// Weights of a range of samples, `[range, samples]`, which are taken as constants.
        weights: SampleWeights<'a>,
    },
    /// Weights made for one tile at a time. They can depend on its values, but are taken as constants.
    Tiles(Weights<'a>),
}

/// What a mean is formed from.
#[allow(clippy::large_enum_variant, reason = "a comparison holds two or three of these")]
pub(super) enum Target<'p> {
    /// `sum_j P_ij c_j`, `[anchors, d]`, and `sum_j P_ij`, `[anchors]`.
    Rows { rows: Tensor<2>, mass: Tensor<1> },
    /// Weights that come in tiles.
    Tiles(&'p Weights<'p>),
}

/// The means of one tile, with the weights where they came as a tile.
pub(super) struct Mean {
    pub(super) value: Tensor<1>,
    pub(super) mass: Tensor<1>,
    pub(super) weights: Option<Tensor<2>>,
}

impl Positives<'_> {
    /// What the means of all anchors are formed from.
    pub(super) fn target(&self, anchors: &Tensor<2>, candidates: &Tensor<2>) -> Target<'_> {
        let (device, dtype) = (candidates.device(), candidates.dtype());
        let [n, _] = anchors.dims();
        let one = || Tensor::ones([n], (&device, dtype));
        match self {
            Self::Partner(partner) => {
                Target::Rows { rows: candidates.clone().select(0, indices(partner, &device)), mass: one() }
            }
            Self::Rows(rows) => Target::Rows { rows: rows.clone(), mass: one() },
            Self::Tiles(weights) => Target::Tiles(weights),
            Self::Group { group, part } => {
                let (share, mass) = shares(group, part, &device, dtype);
                let rows = rest_of_group(group, part, candidates.clone()) * share;
                Target::Rows { rows, mass: mass.squeeze_dim(1) }
            }
            Self::Samples { count, weights } => {
                let (views, of_samples) = (n / count, over_views(candidates.clone(), *count));
                let tiles = by_ranges(*count, &device, |range| {
                    let weights = weights(range);
                    let mass = weights.clone().sum_dim(1) * views as f64;
                    (weights.matmul(of_samples.clone()), mass)
                });
                let (rows, mass): (Vec<Tensor<2>>, Vec<Tensor<2>>) = tiles.into_iter().unzip();
                let for_views = |parts: Vec<Tensor<2>>| Tensor::cat(parts, 0).repeat_dim(0, views);
                Target::Rows { rows: for_views(rows), mass: for_views(mass).squeeze_dim(1) }
            }
        }
    }

    /// `sum_i P_ij g_i`, `[candidates, d]`; `None` where that is left to the tiles or candidates are not
    /// concerned.
    pub(super) fn spread(&self, gradient: Tensor<2>, candidates: &Tensor<2>) -> Option<Tensor<2>> {
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
                let tiles = by_ranges(*count, &device, |range| {
                    weights(range.clone()).transpose().matmul(super::rows_of(&gradient, range))
                });
                tiles.into_iter().reduce(|sum, tile| sum + tile).map(|sum| sum.repeat_dim(0, views))
            }
            Self::Rows(_) | Self::Tiles(_) => None,
        }
    }
}

/// The sum of each sample's rows over the views, `[samples, d]`.
fn over_views(rows: Tensor<2>, samples: usize) -> Tensor<2> {
    let [n, width] = rows.dims();
    rows.reshape([n / samples, samples, width]).sum_dim(0).squeeze_dim(0)
}

/// What `work` makes of each range of samples; on the host several at once.
fn by_ranges<T: Send>(
    samples: usize,
    device: &Device,
    work: impl Fn(Range<usize>) -> T + Send + Sync,
) -> Vec<T> {
    let on_host = is_host(device);
    let size = if on_host { HOST_RANGE } else { tile_rows(None, samples, samples) };
    let ranges = (0..samples).step_by(size.max(1)).map(|start| start..(start + size).min(samples));
    if on_host { parallel::map(ranges.collect::<Vec<_>>(), work) } else { ranges.map(work).collect() }
}

impl Target<'_> {
    /// The means of all anchors and their masses, where the rows are known beforehand.
    pub(super) fn of_rows(&self, scaled: &Tensor<2>) -> Option<(Tensor<1>, Tensor<1>)> {
        match self {
            Self::Rows { rows, mass } => {
                Some(((scaled.clone() * rows.clone()).sum_dim(1).squeeze_dim(1), mass.clone()))
            }
            Self::Tiles(_) => None,
        }
    }

    /// The means of one tile.
    pub(super) fn mean(&self, tile: &Tile) -> Mean {
        let sum = |terms: Tensor<2>| terms.sum_dim(1).squeeze_dim(1);
        match self {
            Self::Rows { rows, mass } => Mean {
                value: sum(tile.scaled.clone() * super::rows_of(rows, tile.range.clone())),
                mass: super::rows_of(mass, tile.range.clone()),
                weights: None,
            },
            Self::Tiles(weights) => {
                let weights = weights(tile);
                Mean {
                    value: sum(weights.clone() * tile.similarity.clone()),
                    mass: sum(weights.clone()),
                    weights: Some(weights),
                }
            }
        }
    }
}

/// `1 / |P(i)|` of each row, 0 where nothing is left of its group, and 1 where something is; `[rows, 1]`
/// both.
fn shares(group: &Groups, part: &Groups, device: &Device, dtype: DType) -> (Tensor<2>, Tensor<2>) {
    let counts: Vec<usize> =
        (0..group.rows()).map(|i| group.size_of(i).saturating_sub(part.size_of(i))).collect();
    let column = |value: fn(usize) -> f64| {
        let values: Vec<f64> =
            counts.iter().map(|&count| if count == 0 { 0.0 } else { value(count) }).collect();
        Matrix::column(&values).to_tensor(device, dtype)
    };
    (column(|count| 1.0 / count as f64), column(|_| 1.0))
}

/// For each row the sum over its group without its part of it.
fn rest_of_group(group: &Groups, part: &Groups, rows: Tensor<2>) -> Tensor<2> {
    group.sums(rows.clone()) - part.sums(rows)
}
