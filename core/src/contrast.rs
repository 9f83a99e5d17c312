//! The one equation behind most objectives, with its gradient derived by hand, in tiles.
//!
//! For anchor `i` with scaled cosines `s_ij = <a_i, c_j> / temperature` two kinds of row reduction occur:
//!
//! ```text
//! mean        p_i = sum_j P_ij s_ij                    d p_i / d s_ij = P_ij
//! log-sum-exp m_i = log sum_j W_ij exp(power * s_ij)   d m_i / d s_ij = power * W_ij exp(power * s_ij) / exp(m_i)
//! ```
//!
//! with constant weights `P` and `W >= 0`. An objective names its reductions and says in one closure how the
//! loss of an anchor follows from them, for example `m - p` for InfoNCE. Because that loss depends on row `i`
//! alone, its value and its gradient come out of a single pass over tiles of anchors: no `b x b` matrix has
//! to exist, and the tile is small enough to stay in cache. The closure itself is differentiated by Burn's
//! autodiff on vectors; one that depends on no reduction costs no backward pass.
//!
//! A row without any pair of positive weight has no log-sum-exp; it is given the finite stand-in [`EMPTY`],
//! its gradient is 0, and the closure decides what the anchor's loss is.

mod pairs;
mod positives;
mod symmetric;
mod tiles;

use std::ops::Range;

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor, TensorData};

use crate::error::{Error, Result, bounded};
use crate::group::Groups;

pub use pairs::{Divisor, PairWeights};
use positives::Target;
pub use positives::{Positives, SampleWeights, Tile, Weights};
use symmetric::Comparison;
pub(crate) use tiles::tile_rows;

/// What `log 0` is represented by: far below any logit, yet finite in `f32`.
pub const EMPTY: f64 = -1e30;

/// Log-weights of a range of anchors against all candidates, `[anchors, candidates]`; [`EMPTY`] leaves a pair
/// out.
pub type LogWeights<'a> = Box<dyn Fn(Range<usize>) -> Tensor<2> + Send + Sync + 'a>;

/// `log sum_j W_ij exp(power * s_ij)`.
pub struct LogSumExp<'a> {
    power: f64,
    excluded: Vec<Vec<usize>>,
    unlike: Option<&'a Groups>,
    log_weights: Option<LogWeights<'a>>,
    pairs: Option<PairWeights<'a>>,
}

impl<'a> LogSumExp<'a> {
    /// The sum over all candidates with weight one.
    pub fn over_all() -> Self {
        Self { power: 1.0, excluded: Vec::new(), unlike: None, log_weights: None, pairs: None }
    }

    /// Leaves out candidate `candidates[i]` of each anchor `i`, such as the anchor itself.
    #[must_use]
    pub fn except(mut self, candidates: Vec<usize>) -> Self {
        self.excluded.push(candidates);
        self
    }

    /// Leaves out the pairs of one group, such as those of one label. Anchors and candidates are the same rows.
    #[must_use]
    pub fn unlike(mut self, groups: &'a Groups) -> Self {
        self.unlike = Some(groups);
        self
    }

    /// Multiplies the terms by weights, given as their logarithms.
    #[must_use]
    pub fn weighted(mut self, log_weights: impl Fn(Range<usize>) -> Tensor<2> + Send + Sync + 'a) -> Self {
        self.log_weights = Some(Box::new(log_weights));
        self
    }

    /// Says that the weights of [`weighted`](Self::weighted) are these, which [`Contrast::within`] has a shorter way
    /// for.
    #[must_use]
    pub fn of_pairs(mut self, pairs: PairWeights<'a>) -> Self {
        self.pairs = Some(pairs);
        self
    }

    /// Multiplies the logits by `power` inside the exponential.
    #[must_use]
    pub fn with_power(mut self, power: f64) -> Self {
        self.power = power;
        self
    }

    /// The logits of a tile, `power * s_ij + log W_ij`, left-out pairs at [`EMPTY`].
    fn logits(&self, similarity: Tensor<2>, rows: Range<usize>) -> Tensor<2> {
        let mut logits = if self.power == 1.0 { similarity } else { similarity * self.power };
        if let Some(log_weights) = &self.log_weights {
            logits = logits + log_weights(rows.clone());
        }
        if let Some(groups) = self.unlike {
            logits = logits.mask_fill(groups.same(rows.clone()), EMPTY);
        }
        (self.excluded.iter()).fold(logits, |logits, candidates| leave_out(logits, candidates, &rows))
    }
}

/// The row reductions of a range of anchors, one number for each anchor. Inside the closure they are tracked
/// by autodiff.
pub struct Rows {
    /// Which anchors these are.
    pub range: Range<usize>,
    /// One vector for each [`Positives`].
    pub means: Vec<Tensor<1>>,
    /// `sum_j P_ij` of each of the means, a constant: 1, or 0 for an anchor without positives.
    pub masses: Vec<Tensor<1>>,
    /// One vector for each [`LogSumExp`].
    pub sums: Vec<Tensor<1>>,
}

impl Rows {
    /// The reductions of consecutive ranges as one.
    fn join(tiles: Vec<Self>) -> Self {
        let end = tiles.last().map_or(0, |rows| rows.range.end);
        let columns = |of: fn(&Self) -> &[Tensor<1>]| {
            let count = tiles.first().map_or(0, |rows| of(rows).len());
            let column = |k: usize| tiles.iter().map(|rows| of(rows)[k].clone().without_autodiff()).collect();
            (0..count).map(|k| Tensor::cat(column(k), 0)).collect()
        };
        Self {
            range: 0..end,
            means: columns(|r| &r.means),
            masses: columns(|r| &r.masses),
            sums: columns(|r| &r.sums),
        }
    }
}

/// Value and gradient of the sum of all anchors' losses.
pub struct Contrasted {
    /// Loss of each anchor.
    pub per_anchor: Tensor<1>,
    /// The reductions of all anchors.
    pub rows: Rows,
    /// Gradient of their sum with respect to the anchors, `[anchors, d]`.
    pub anchors: Tensor<2>,
    /// Gradient of their sum with respect to the candidates, `[candidates, d]`.
    pub candidates: Tensor<2>,
    /// Gradient of their sum with respect to each of the means, `[anchors]` each.
    pub of_means: Vec<Tensor<1>>,
}

/// Anchors compared with candidates. Rows are unit vectors (see [`crate::similarity`]); the gradients are
/// partial derivatives with respect to these rows.
pub struct Contrast<'a> {
    anchors: Tensor<2>,
    candidates: Tensor<2>,
    temperature: f64,
    tile: Option<usize>,
    constant_candidates: bool,
    within: bool,
    means: Vec<Positives<'a>>,
    sums: Vec<LogSumExp<'a>>,
}

impl<'a> Contrast<'a> {
    /// Compares anchors `[n, d]` with candidates `[m, d]`; `tile` anchors at once, or as many as suit the
    /// size.
    ///
    /// # Errors
    /// The temperature is not above 0, or the widths differ.
    pub fn new(
        anchors: Tensor<2>,
        candidates: Tensor<2>,
        temperature: f64,
        tile: Option<usize>,
    ) -> Result<Self> {
        bounded("temperature", temperature)?;
        let [n, width] = anchors.dims();
        let [_, expected] = candidates.dims();
        if width != expected {
            return Err(Error::shape("view_b", format!("{width} columns"), format!("{expected} columns")));
        }
        if n == 0 {
            return Err(Error::shape("view_a", "at least one row", "none"));
        }
        let (means, sums) = (Vec::new(), Vec::new());
        let (constant_candidates, within) = (false, false);
        Ok(Self { anchors, candidates, temperature, tile, constant_candidates, within, means, sums })
    }

    /// Compares rows `[n, d]` with themselves. Half of the similarities are enough where the terms are symmetric: the
    /// gradient of [`Contrasted::candidates`] is then part of that of [`Contrasted::anchors`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn within(rows: Tensor<2>, temperature: f64, tile: Option<usize>) -> Result<Self> {
        Ok(Self { within: true, ..Self::new(rows.clone(), rows, temperature, tile)? })
    }

    /// Takes the candidates as constants: their gradient is not formed and stays 0.
    #[must_use]
    pub fn with_constant_candidates(mut self) -> Self {
        self.constant_candidates = true;
        self
    }

    /// Adds a mean of similarities.
    #[must_use]
    pub fn mean(mut self, positives: Positives<'a>) -> Self {
        self.means.push(positives);
        self
    }

    /// Adds a log-sum-exp.
    #[must_use]
    pub fn log_sum_exp(mut self, term: LogSumExp<'a>) -> Self {
        self.sums.push(term);
        self
    }

    /// Evaluates `loss`, which maps the reductions of a range of anchors to their losses, and its gradient.
    pub fn evaluate(self, loss: impl Fn(&Rows) -> Tensor<1> + Send + Sync) -> Contrasted {
        let targets: Vec<Target> =
            self.means.iter().map(|p| p.target(&self.anchors, &self.candidates)).collect();
        let scaled = self.anchors.clone() / self.temperature;
        let found = match Comparison::of(&self, &targets) {
            Some(comparison) => by_halves(&comparison, &targets, &scaled, loss),
            None => tiles::evaluate(&self, &targets, &scaled, loss),
        };
        self.finish(targets, scaled, found)
    }

    /// Adds the gradients of those means whose rows are known beforehand.
    fn finish(&self, targets: Vec<Target>, scaled: Tensor<2>, found: Found) -> Contrasted {
        let Found { per_anchor, rows, of_means, mut to_anchors, mut to_candidates } = found;
        for ((positives, target), g) in self.means.iter().zip(targets).zip(&of_means) {
            let g: Tensor<2> = g.clone().unsqueeze_dim(1);
            if let Target::Rows { rows, .. } = target {
                to_anchors = to_anchors + rows * g.clone();
            }
            if !self.constant_candidates
                && let Some(spread) = positives.spread(scaled.clone() * g, &self.candidates)
            {
                to_candidates = to_candidates + spread;
            }
        }
        let anchors = to_anchors / self.temperature;
        Contrasted { per_anchor, rows, anchors, candidates: to_candidates, of_means }
    }
}

/// What an evaluation finds before the means with rows of their own are differentiated.
struct Found {
    per_anchor: Tensor<1>,
    rows: Rows,
    of_means: Vec<Tensor<1>>,
    /// With respect to the scaled anchors.
    to_anchors: Tensor<2>,
    to_candidates: Tensor<2>,
}

/// As [`tiles::evaluate`], where half of the similarities are enough.
fn by_halves(
    comparison: &Comparison<'_, '_>,
    targets: &[Target],
    scaled: &Tensor<2>,
    loss: impl Fn(&Rows) -> Tensor<1>,
) -> Found {
    let (values, sums) = comparison.values();
    let means: Vec<(Tensor<1>, Tensor<1>)> = targets.iter().filter_map(|t| t.of_rows(scaled)).collect();
    let rows = Rows {
        range: 0..scaled.dims()[0],
        means: means.iter().map(|(value, _)| leaf(value.clone())).collect(),
        masses: means.iter().map(|(_, mass)| mass.clone()).collect(),
        sums: values.into_iter().map(leaf).collect(),
    };
    let losses = loss(&rows);
    let per_anchor = losses.clone().without_autodiff();
    let mut gradients = losses.is_tracked().then(|| losses.sum().backward());
    let mut of = |x: &Tensor<1>| gradients.as_mut().and_then(|g| x.grad_remove(g));
    let of_means: Vec<Tensor<1>> = (rows.means.iter().zip(&means))
        .map(|(leaf, (value, _))| of(leaf).unwrap_or_else(|| value.zeros_like()))
        .collect();
    let pulls: Vec<Option<Tensor<1>>> = rows.sums.iter().map(of).collect();
    Found {
        per_anchor,
        rows: Rows::join(vec![rows]),
        of_means,
        to_anchors: comparison.gradient(&pulls, &sums),
        to_candidates: scaled.zeros_like(),
    }
}

/// `log(exp x + exp y)` for vectors.
pub fn log_add(x: Tensor<1>, y: Tensor<1>) -> Tensor<1> {
    let shift = x.clone().max_pair(y.clone()).detach();
    ((x - shift.clone()).exp() + (y - shift.clone()).exp()).log() + shift
}

/// `values`, but 0 with gradient 0 for the anchors whose log-sum-exp had no pair to run over.
pub fn where_present(values: Tensor<1>, sum: &Tensor<1>) -> Tensor<1> {
    let empty = sum.clone().detach().lower_elem(EMPTY / 2.0);
    values.mask_fill(empty, 0.0)
}

/// A vector that autodiff tracks from here on.
fn leaf(vector: Tensor<1>) -> Tensor<1> {
    vector.autodiff().require_grad()
}

/// Takes one candidate of each anchor out of a tile of logits.
pub(crate) fn leave_out(logits: Tensor<2>, candidates: &[usize], rows: &Range<usize>) -> Tensor<2> {
    let at = index_column(&candidates[rows.clone()], &logits.device());
    let empty = Tensor::full([rows.len(), 1], EMPTY, (&logits.device(), logits.dtype()));
    logits.scatter(1, at, empty, IndexingUpdateOp::Add)
}

/// Rows `range` of a tensor; all of them are the tensor itself. With fusion (Burn 0.22.1, wgpu) a slice of everything
/// shares the buffer without saying so, and an operation in place on it would change the tensor.
pub(crate) fn rows_of<const D: usize>(tensor: &Tensor<D>, range: Range<usize>) -> Tensor<D> {
    if range == (0..tensor.dims()[0]) { tensor.clone() } else { tensor.clone().slice(range) }
}

/// Host indices as a device vector.
pub(crate) fn indices(values: &[usize], device: &Device) -> Tensor<1, Int> {
    let values: Vec<i32> = values.iter().map(|&v| i32::try_from(v).unwrap_or(i32::MAX)).collect();
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), (device, DType::I32))
}

fn index_column(values: &[usize], device: &Device) -> Tensor<2, Int> {
    indices(values, device).unsqueeze_dim(1)
}

/// The index of each sample's other view among `2 b` rows, views stacked: `i <-> i + b`.
pub fn other_view(b: usize) -> Vec<usize> {
    (b..2 * b).chain(0..b).collect()
}

/// Each row's own index.
pub fn itself(n: usize) -> Vec<usize> {
    (0..n).collect()
}
