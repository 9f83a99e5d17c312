//! Any comparison, some anchors at a time: similarities, reductions, the anchors' losses and the gradient of a tile are
//! done with before the next is begun.

use std::ops::Range;

use burn::tensor::Tensor;

use super::positives::{Mean, Target, Tile};
use super::{Contrast, Found, Rows, leaf, rows_of};
use crate::host::is_host;
use simile_kernels::RowSoftmax;
use simile_kernels::cpu::parallel;

/// Tiles hold about this many similarities when the caller does not choose: 4 Mi, 16 MiB in `f32`.
const TILE_ENTRIES: usize = 1 << 22;

/// On the host a tile should stay in a cache ...
const HOST_ENTRIES: usize = 1 << 18;
/// ... there should be several, for all cores, ...
const HOST_TILES: usize = 4;
/// ... and none should have so few anchors that adding up the candidates' gradients takes most of the time.
const HOST_ROWS: usize = 128;
/// Tiles whose gradients of the candidates are held before they are added up.
const AT_ONCE: usize = 8;

/// How many of `n` anchors are compared with `m` candidates at once: `tile`, or as many as suit the size.
pub(crate) fn tile_rows(tile: Option<usize>, n: usize, m: usize) -> usize {
    tile.unwrap_or(TILE_ENTRIES / m.max(1)).clamp(1, n.max(1))
}

/// The losses and the gradients of the log-sum-exps and of [`Positives::Tiles`](super::Positives::Tiles).
pub(super) fn evaluate(
    contrast: &Contrast<'_>,
    targets: &[Target<'_>],
    scaled: &Tensor<2>,
    loss: impl Fn(&Rows) -> Tensor<1> + Send + Sync,
) -> Found {
    let ([n, _], [m, _]) = (contrast.anchors.dims(), contrast.candidates.dims());
    // What runs on a device has an order of its own.
    let on_host = is_host(&contrast.anchors.device());
    let size = match contrast.tile {
        None if on_host => (HOST_ENTRIES / m.max(1)).min(n.div_ceil(HOST_TILES)).max(HOST_ROWS).min(n),
        tile => tile_rows(tile, n, m),
    };
    let ranges: Vec<Range<usize>> = (0..n).step_by(size).map(|start| start..(start + size).min(n)).collect();
    let tile = |range: &Range<usize>| evaluate_tile(contrast, targets, scaled, range.clone(), &loss);

    let mut tiles = Vec::with_capacity(ranges.len());
    let mut to_candidates = contrast.candidates.zeros_like();
    for ranges in ranges.chunks(if on_host { AT_ONCE } else { 1 }) {
        let evaluated: Vec<Evaluated> =
            if on_host { parallel::map(ranges, tile) } else { ranges.iter().map(tile).collect() };
        for mut tile in evaluated {
            if let Some(gradient) = tile.to_candidates.take() {
                to_candidates = to_candidates + gradient;
            }
            tiles.push(tile);
        }
    }
    join(tiles, targets.len(), to_candidates)
}

/// What is known of a range of anchors.
struct Evaluated {
    per_anchor: Tensor<1>,
    rows: Rows,
    of_means: Vec<Tensor<1>>,
    to_anchors: Tensor<2>,
    to_candidates: Option<Tensor<2>>,
}

fn evaluate_tile(
    contrast: &Contrast<'_>,
    targets: &[Target<'_>],
    scaled: &Tensor<2>,
    range: Range<usize>,
    loss: impl Fn(&Rows) -> Tensor<1>,
) -> Evaluated {
    let a = rows_of(scaled, range.clone());
    let similarity = a.clone().matmul(contrast.candidates.clone().transpose());
    let reduced: Vec<RowSoftmax> = (contrast.sums.iter())
        .map(|term| RowSoftmax::new(term.logits(similarity.clone(), range.clone())))
        .collect();
    let sums: Vec<Tensor<1>> = reduced.iter().map(|r| r.log_sum.clone()).collect();
    let now = Tile { range: range.clone(), scaled: &a, similarity: &similarity, sums: &sums };
    let means: Vec<Mean> = targets.iter().map(|target| target.mean(&now)).collect();
    let rows = Rows {
        range,
        means: means.iter().map(|m| leaf(m.value.clone())).collect(),
        masses: means.iter().map(|m| m.mass.clone()).collect(),
        sums: sums.into_iter().map(leaf).collect(),
    };

    let losses = loss(&rows);
    let per_anchor = losses.clone().without_autodiff();
    let mut gradients = losses.is_tracked().then(|| losses.sum().backward());
    let mut of = |x: &Tensor<1>| gradients.as_mut().and_then(|g| x.grad_remove(g));
    let (mut of_means, mut pulls) = (Vec::new(), Vec::new());
    for (value, mean) in rows.means.iter().zip(means) {
        let g = of(value).unwrap_or_else(|| mean.value.zeros_like());
        of_means.push(g.clone());
        pulls.extend(mean.weights.map(|weights| Pull { weights, per_row: Some(g.unsqueeze_dim(1)) }));
    }
    for ((reduced, sum), term) in reduced.into_iter().zip(&rows.sums).zip(&contrast.sums) {
        let pull = |g: Tensor<1>| Pull {
            weights: reduced.softmax,
            per_row: Some((g * term.power).unsqueeze_dim(1)),
        };
        pulls.extend(of(sum).map(pull));
    }
    let pull = Pull::sum(pulls);
    let to_anchors = pull.as_ref().map_or(a.zeros_like(), |pull| pull.on_anchors(&contrast.candidates));
    let pull = pull.filter(|_| !contrast.constant_candidates);
    let to_candidates = pull.map(|pull| pull.on_candidates(a));
    Evaluated { per_anchor, rows, of_means, to_anchors, to_candidates }
}

/// The tiles of consecutive ranges as one.
fn join(tiles: Vec<Evaluated>, means: usize, to_candidates: Tensor<2>) -> Found {
    let mut of_means: Vec<Vec<Tensor<1>>> = vec![Vec::new(); means];
    let (mut per_anchor, mut rows, mut to_anchors) = (Vec::new(), Vec::new(), Vec::new());
    for tile in tiles {
        of_means.iter_mut().zip(tile.of_means).for_each(|(collected, g)| collected.push(g));
        per_anchor.push(tile.per_anchor);
        rows.push(tile.rows);
        to_anchors.push(tile.to_anchors);
    }
    Found {
        per_anchor: Tensor::cat(per_anchor, 0),
        rows: Rows::join(rows),
        of_means: of_means.into_iter().map(|collected| Tensor::cat(collected, 0)).collect(),
        to_anchors: Tensor::cat(to_anchors, 0),
        to_candidates,
    }
}

/// `d loss / d s_ij = per_row_i * weights_ij`, or `weights_ij` alone.
struct Pull {
    weights: Tensor<2>,
    per_row: Option<Tensor<2>>,
}

impl Pull {
    /// The pull of all terms. That of a single one needs no pass over the tile: its row factor goes onto the
    /// thin matrices.
    fn sum(mut pulls: Vec<Self>) -> Option<Self> {
        if pulls.len() < 2 {
            return pulls.pop();
        }
        let weights = pulls.into_iter().map(|pull| match pull.per_row {
            Some(per_row) => pull.weights * per_row,
            None => pull.weights,
        });
        weights.reduce(|sum, next| sum + next).map(|weights| Self { weights, per_row: None })
    }

    /// The gradient with respect to the scaled anchors of the tile.
    fn on_anchors(&self, candidates: &Tensor<2>) -> Tensor<2> {
        self.times_row(self.weights.clone().matmul(candidates.clone()))
    }

    /// The gradient with respect to the candidates.
    fn on_candidates(&self, scaled: Tensor<2>) -> Tensor<2> {
        self.weights.clone().transpose().matmul(self.times_row(scaled))
    }

    fn times_row(&self, rows: Tensor<2>) -> Tensor<2> {
        match &self.per_row {
            Some(per_row) => rows * per_row.clone(),
            None => rows,
        }
    }
}
