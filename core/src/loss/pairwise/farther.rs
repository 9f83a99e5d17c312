//! The positives of an anchor that are farther from it than one of its log-sum-exps.
//!
//! An anchor is compared with the rows of its own group only. Rows are sorted by group, and a block of adjacent
//! groups is one comparison, so that `g` groups of one size take about `n^2 / g` pairs instead of `n^2`.

use std::ops::Range;

use burn::tensor::{Int, Tensor};
use simile_kernels::{gemm, tile_rows};

use super::means::{MeanInputs, WeightedSums};
use super::reductions::LogSumExpHandle;
use super::rows::rows_of;
use crate::numeric::label_groups::LabelGroups;
use crate::numeric::matrix::{Matrix, indices};

/// Number of rows up to which small groups share a block.
const BLOCK: usize = 256;
/// Number of weights that are stored for the gradient, 16 MiB in `f32`; more are computed twice.
const STORED_ENTRIES: usize = 1 << 22;

/// The rows of a comparison with themselves, group after group.
pub(super) struct RowsByGroup {
    /// The original index of each row, and the inverse.
    order: Tensor<1, Int>,
    inverse: Tensor<1, Int>,
    /// The anchors over the temperature.
    scaled: Tensor<2>,
    candidates: Tensor<2>,
    /// The group of each row, and its subgroup, `[n, 1]`; rows of one subgroup are no positives of each other.
    group: Tensor<2, Int>,
    excluded: Tensor<2, Int>,
    /// The log-sum-exp of each row, `[n, 1]`.
    limit: Tensor<2>,
    /// One over the number of positives of each row, `[n, 1]`.
    share: Tensor<2>,
    /// Rows of whole groups.
    blocks: Vec<Range<usize>>,
    tile: Option<usize>,
}

impl RowsByGroup {
    /// The rows of `inputs`. The positives of a row are those of its group that are not excluded and whose scaled cosine is below
    /// a log-sum-exp, so that they are farther.
    pub(super) fn new(
        inputs: &MeanInputs<'_>,
        group: &LabelGroups,
        excluded: &LabelGroups,
        than: LogSumExpHandle,
    ) -> Self {
        let (device, dtype) = (inputs.candidates.device(), inputs.candidates.dtype());
        let order = group.by_group();
        let mut inverse = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &row)| inverse[row] = at);
        let share = |&i: &usize| 1.0 / group.size_of(i).saturating_sub(excluded.size_of(i)).max(1) as f64;
        let share = Matrix::column(&order.iter().map(share).collect::<Vec<_>>()).to_tensor(&device, dtype);
        let blocks = blocks(order.iter().map(|&i| group.size_of(i)));
        let [order, inverse] = [order, inverse].map(|rows| indices(&rows, &device));
        let sorted = |rows: &Tensor<2>| rows.clone().select(0, order.clone());
        let labels = |of: &LabelGroups| of.on_device().select(0, order.clone()).unsqueeze_dim(1);
        Self {
            scaled: sorted(inputs.scaled),
            candidates: sorted(inputs.candidates),
            group: labels(group),
            excluded: labels(excluded),
            limit: inputs.log_sum_exps[than.0].clone().select(0, order.clone()).unsqueeze_dim(1),
            share,
            blocks,
            tile: inputs.tile,
            order,
            inverse,
        }
    }

    /// The tiles of a block.
    fn tiles(&self, block: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let Range { start, end } = *block;
        let size = tile_rows(self.tile, block.len(), block.len());
        (start..end).step_by(size).map(move |first| first..(first + size).min(end))
    }

    /// The weights of a tile of anchors of a block, `[tile, block]`.
    fn weights(&self, tile: &Range<usize>, block: &Range<usize>) -> Tensor<2> {
        let candidates = rows_of(&self.candidates, block.clone()).transpose();
        let similarity = gemm(rows_of(&self.scaled, tile.clone()), candidates);
        let shape = similarity.dims();
        let own = |labels: &Tensor<2, Int>| rows_of_labels(labels, tile).expand(shape);
        let others = |labels: &Tensor<2, Int>| rows_of_labels(labels, block).transpose().expand(shape);
        let is_farther = similarity.lower(rows_of(&self.limit, tile.clone()).expand(shape));
        let is_no_positive = (own(&self.group).not_equal(others(&self.group)))
            .bool_or(own(&self.excluded).equal(others(&self.excluded)))
            .bool_or(is_farther.bool_not());
        rows_of(&self.share, tile.clone()).expand(shape).mask_fill(is_no_positive, 0.0)
    }

    /// The weighted sums from which the means are computed.
    pub(super) fn weighted_sums(&self) -> WeightedSums {
        let (mut rows, mut masses, mut tile_weights) = (Vec::new(), Vec::new(), Vec::new());
        let are_stored = self.blocks.iter().map(|block| block.len().pow(2)).sum::<usize>() <= STORED_ENTRIES;
        for block in &self.blocks {
            let candidates = rows_of(&self.candidates, block.clone());
            for tile in self.tiles(block) {
                let weights = self.weights(&tile, block);
                rows.push(gemm(weights.clone(), candidates.clone()));
                masses.push(weights.clone().sum_dim(1));
                tile_weights.extend(are_stored.then_some(weights));
            }
        }
        let restored = |parts| Tensor::cat(parts, 0).select(0, self.inverse.clone());
        WeightedSums {
            rows: restored(rows),
            mass: Some(restored(masses).squeeze_dim(1)),
            share: None,
            weights: tile_weights,
        }
    }

    /// `sum_i P_ij g_i`.
    pub(super) fn pull_back(&self, gradient: Tensor<2>, sums: &WeightedSums) -> Tensor<2> {
        let gradient = gradient.select(0, self.order.clone());
        let mut tile_weights = sums.weights.iter();
        let grad_block = |block: &Range<usize>| {
            let grad_tiles = self.tiles(block).map(|tile| {
                let weights = tile_weights.next().cloned().unwrap_or_else(|| self.weights(&tile, block));
                gemm(weights.transpose(), rows_of(&gradient, tile))
            });
            grad_tiles.reduce(|sum, tile| sum + tile)
        };
        let grad_blocks: Vec<Tensor<2>> = self.blocks.iter().filter_map(grad_block).collect();
        Tensor::cat(grad_blocks, 0).select(0, self.inverse.clone())
    }
}

/// The rows of whole groups, from the size of the group of each row: as many groups as [`BLOCK`] rows hold, or one.
fn blocks(sizes: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let sizes: Vec<usize> = sizes.collect();
    let (mut blocks, mut block) = (Vec::new(), 0..0);
    while let Some(&size) = sizes.get(block.end) {
        if !block.is_empty() && block.len() + size > BLOCK {
            blocks.push(block.clone());
            block = block.end..block.end;
        }
        block.end += size.max(1);
    }
    blocks.push(block);
    blocks
}

fn rows_of_labels(labels: &Tensor<2, Int>, rows: &Range<usize>) -> Tensor<2, Int> {
    labels.clone().slice([rows.clone(), 0..1])
}
