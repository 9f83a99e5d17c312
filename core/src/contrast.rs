//! The one equation behind most objectives, with its gradient derived by hand, in tiles.
//!
//! For anchor `i` with scaled cosines `s_ij = <a_i, c_j> / temperature` two kinds of row reduction occur:
//!
//! ```text
//! mean        p_i = sum_j P_ij s_ij                    d p_i / d s_ij = P_ij
//! log-sum-exp m_i = log sum_j W_ij exp(power * s_ij)   d m_i / d s_ij = power * W_ij exp(power * s_ij) / exp(m_i)
//! ```
//!
//! with constant weights `P` and `W >= 0`. An objective names its reductions and says in one closure how the loss
//! of an anchor follows from them, for example `m - p` for InfoNCE. Because that loss depends on row `i` alone,
//! its value and its gradient come out of a single pass over tiles of anchors: no `b x b` matrix has to exist, and
//! the tile is small enough to stay in cache. The closure itself is differentiated by Burn's autodiff on vectors.
//!
//! A row without any pair of positive weight has no log-sum-exp; it is given the finite stand-in [`EMPTY`], its
//! gradient is 0, and the closure decides what the anchor's loss is.

use std::ops::Range;

use burn::tensor::activation::softmax;
use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor, TensorData};

use crate::error::{Error, Result, positive};

/// What `log 0` is represented by: far below any logit, yet finite in `f32`.
pub const EMPTY: f64 = -1e30;

/// Tiles hold about this many similarities when the caller does not choose: 4 Mi, 16 MiB in `f32`.
const TILE_ENTRIES: usize = 1 << 22;

/// Log-weights of a range of anchors against all candidates, `[anchors, candidates]`; [`EMPTY`] leaves a pair out.
pub type LogWeights<'a> = Box<dyn Fn(Range<usize>) -> Tensor<2> + 'a>;

/// `log sum_j W_ij exp(power * s_ij)`.
pub struct LogSumExp<'a> {
    power: f64,
    excluded: Vec<Vec<usize>>,
    log_weights: Option<LogWeights<'a>>,
}

impl<'a> LogSumExp<'a> {
    /// The sum over all candidates with weight one.
    pub fn over_all() -> Self {
        Self { power: 1.0, excluded: Vec::new(), log_weights: None }
    }

    /// Leaves out candidate `candidates[i]` of each anchor `i`, such as the anchor itself.
    #[must_use]
    pub fn except(mut self, candidates: Vec<usize>) -> Self {
        self.excluded.push(candidates);
        self
    }

    /// Multiplies the terms by weights, given as their logarithms.
    #[must_use]
    pub fn weighted(mut self, log_weights: impl Fn(Range<usize>) -> Tensor<2> + 'a) -> Self {
        self.log_weights = Some(Box::new(log_weights));
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
        let count = rows.len();
        for candidates in &self.excluded {
            let at = index_column(&candidates[rows.clone()], &logits.device());
            let empty = Tensor::full([count, 1], EMPTY, (&logits.device(), logits.dtype()));
            logits = logits.scatter(1, at, empty, IndexingUpdateOp::Add);
        }
        logits
    }
}

/// Which candidates an anchor is drawn to, as rows of constant weights.
pub enum Positives {
    /// Candidate `i -> partner[i]`, weight one; `partner` is a permutation.
    Partner(Vec<usize>),
    /// `[anchors, candidates]`.
    Weights(Tensor<2>),
}

impl Positives {
    /// `sum_j P_ij c_j`, `[anchors, d]`.
    fn targets(&self, candidates: &Tensor<2>) -> Tensor<2> {
        match self {
            Self::Partner(partner) => candidates.clone().select(0, indices(partner, &candidates.device())),
            Self::Weights(weights) => weights.clone().matmul(candidates.clone()),
        }
    }

    /// The transpose of [`targets`](Self::targets): `sum_i P_ij g_i`, `[candidates, d]`.
    fn spread(&self, gradient: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Partner(partner) => {
                let mut inverse = vec![0; partner.len()];
                for (i, &j) in partner.iter().enumerate() {
                    inverse[j] = i;
                }
                let at = indices(&inverse, &gradient.device());
                gradient.select(0, at)
            }
            Self::Weights(weights) => weights.clone().transpose().matmul(gradient),
        }
    }
}

/// The row reductions of one tile of anchors, `[anchors of the tile]` each, tracked by autodiff.
pub struct Rows {
    /// Which anchors these are.
    pub range: Range<usize>,
    /// One vector for each [`Positives`].
    pub means: Vec<Tensor<1>>,
    /// One vector for each [`LogSumExp`].
    pub sums: Vec<Tensor<1>>,
}

/// Value and gradient of the sum of all anchors' losses.
pub struct Contrasted {
    /// Loss of each anchor.
    pub per_anchor: Tensor<1>,
    /// Gradient of their sum with respect to the anchors, `[anchors, d]`.
    pub anchors: Tensor<2>,
    /// Gradient of their sum with respect to the candidates, `[candidates, d]`.
    pub candidates: Tensor<2>,
}

/// Anchors compared with candidates. Rows are unit vectors (see [`crate::similarity`]); the gradients are partial
/// derivatives with respect to these rows.
pub struct Contrast<'a> {
    anchors: Tensor<2>,
    candidates: Tensor<2>,
    temperature: f64,
    tile: Option<usize>,
    means: Vec<Positives>,
    sums: Vec<LogSumExp<'a>>,
}

impl<'a> Contrast<'a> {
    /// Compares anchors `[n, d]` with candidates `[m, d]`; `tile` anchors at once, or as many as suit the size.
    ///
    /// # Errors
    /// The temperature is not above 0, or the widths differ.
    pub fn new(
        anchors: Tensor<2>,
        candidates: Tensor<2>,
        temperature: f64,
        tile: Option<usize>,
    ) -> Result<Self> {
        positive("temperature", temperature)?;
        let [n, width] = anchors.dims();
        let [_, expected] = candidates.dims();
        if width != expected {
            return Err(Error::shape("view_b", format!("{width} columns"), format!("{expected} columns")));
        }
        if n == 0 {
            return Err(Error::shape("view_a", "at least one row", "none"));
        }
        Ok(Self { anchors, candidates, temperature, tile, means: Vec::new(), sums: Vec::new() })
    }

    /// Adds a mean of similarities.
    #[must_use]
    pub fn mean(mut self, positives: Positives) -> Self {
        self.means.push(positives);
        self
    }

    /// Adds a log-sum-exp.
    #[must_use]
    pub fn log_sum_exp(mut self, term: LogSumExp<'a>) -> Self {
        self.sums.push(term);
        self
    }

    /// Evaluates `loss`, which maps the reductions of a tile of anchors to their losses, and its gradient.
    pub fn evaluate(self, loss: impl Fn(&Rows) -> Tensor<1>) -> Contrasted {
        let [n, _] = self.anchors.dims();
        let [m, _] = self.candidates.dims();
        let tile = self.tile.unwrap_or(TILE_ENTRIES / m.max(1)).clamp(1, n);
        let scaled = self.anchors.clone() / self.temperature;

        let targets: Vec<Tensor<2>> = self.means.iter().map(|p| p.targets(&self.candidates)).collect();
        let mut mean_gradients: Vec<Vec<Tensor<1>>> = vec![Vec::new(); targets.len()];
        let mut per_anchor = Vec::new();
        let mut anchor_tiles = Vec::new();
        let mut to_candidates = self.candidates.zeros_like();

        for start in (0..n).step_by(tile) {
            let range = start..(start + tile).min(n);
            let a = scaled.clone().slice(range.clone());
            let similarity = a.clone().matmul(self.candidates.clone().transpose());

            let means: Vec<_> = (targets.iter())
                .map(|t| leaf((a.clone() * t.clone().slice(range.clone())).sum_dim(1).squeeze_dim(1)))
                .collect();
            let reduced: Vec<Reduced> =
                self.sums.iter().map(|term| Reduced::new(term, &similarity, range.clone())).collect();
            let rows = Rows { range, means, sums: reduced.iter().map(|r| leaf(r.value.clone())).collect() };

            let losses = loss(&rows);
            per_anchor.push(losses.clone().without_autodiff());
            let mut gradients = losses.sum().backward();
            for (collected, mean) in mean_gradients.iter_mut().zip(&rows.means) {
                collected.push(mean.grad_remove(&mut gradients).unwrap_or_else(|| mean.zeros_like().inner()));
            }
            let pull = (reduced.into_iter().zip(&rows.sums).zip(&self.sums))
                .filter_map(|((reduced, sum), term)| {
                    let g = sum.grad_remove(&mut gradients)? * term.power;
                    Some(Pull { softmax: reduced.softmax, per_row: g.unsqueeze_dim(1) })
                })
                .collect();
            let (to_anchor, to_candidate) = Pull::apply(pull, &a, &self.candidates);
            anchor_tiles.push(to_anchor);
            to_candidates = to_candidates + to_candidate;
        }

        let mut to_anchors = Tensor::cat(anchor_tiles, 0);
        for ((positives, target), collected) in self.means.iter().zip(targets).zip(mean_gradients) {
            let g: Tensor<2> = Tensor::cat(collected, 0).unsqueeze_dim(1);
            to_anchors = to_anchors + target * g.clone();
            to_candidates = to_candidates + positives.spread(scaled.clone() * g);
        }
        Contrasted {
            per_anchor: Tensor::cat(per_anchor, 0),
            anchors: to_anchors / self.temperature,
            candidates: to_candidates,
        }
    }
}

/// A log-sum-exp of one tile, with the softmax that is its gradient.
struct Reduced {
    value: Tensor<1>,
    softmax: Tensor<2>,
}

impl Reduced {
    /// Backends fuse softmax, so the log-sum-exp is read off it: at the largest logit `x` of a row,
    /// `softmax = exp(x - lse)`, hence `lse = x - log softmax`, and that softmax is at least `1 / candidates`.
    fn new(term: &LogSumExp, similarity: &Tensor<2>, rows: Range<usize>) -> Self {
        let logits = term.logits(similarity.clone(), rows);
        let largest = logits.clone().max_dim(1);
        let softmax = softmax(logits, 1);
        let value = largest - softmax.clone().max_dim(1).log();
        Self { value: value.squeeze_dim(1), softmax }
    }
}

/// `d loss / d s_ij = per_row_i * softmax_ij` of one term.
struct Pull {
    softmax: Tensor<2>,
    per_row: Tensor<2>,
}

impl Pull {
    /// Gradients with respect to the scaled anchors of the tile and to the candidates.
    fn apply(mut pulls: Vec<Self>, scaled: &Tensor<2>, candidates: &Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        match pulls.len() {
            0 => (scaled.zeros_like(), candidates.zeros_like()),
            // A single term needs no pass over the tile: the row factor goes onto the thin matrices.
            1 => {
                let Self { softmax, per_row } = pulls.remove(0);
                let to_candidates = softmax.clone().transpose().matmul(scaled.clone() * per_row.clone());
                (softmax.matmul(candidates.clone()) * per_row, to_candidates)
            }
            _ => {
                let gradient = (pulls.into_iter().map(|p| p.softmax * p.per_row))
                    .reduce(|sum, next| sum + next)
                    .unwrap_or_else(|| Tensor::zeros([0, 0], &scaled.device()));
                (gradient.clone().matmul(candidates.clone()), gradient.transpose().matmul(scaled.clone()))
            }
        }
    }
}

/// A vector that autodiff tracks from here on.
fn leaf(vector: Tensor<1>) -> Tensor<1> {
    vector.autodiff().require_grad()
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
