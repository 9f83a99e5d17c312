//! The equation that most objectives share, with its gradient derived by hand.
//!
//! For anchor `i` with scaled cosines `s_ij = <a_i, c_j> / temperature` two kinds of row reduction occur:
//!
//! ```text
//! mean        p_i = sum_j P_ij s_ij                    d p_i / d s_ij = P_ij
//! log-sum-exp m_i = log sum_j W_ij exp(power * s_ij)   d m_i / d s_ij = power * W_ij exp(power * s_ij) / exp(m_i)
//! ```
//!
//! with constant weights `P` and `W >= 0`. An objective lists its reductions and computes the losses of the anchors
//! from them in one closure, for example `m - p` for InfoNCE. The log-sum-exps and their gradients are operations
//! of [`simile_kernels`], which avoid a `b x b` matrix; most means need none ([`Positives`]). The closure itself is
//! differentiated by Burn's autodiff on vectors.
//!
//! A row without any pair of positive weight has no log-sum-exp; its value is the finite stand-in [`EMPTY`], its
//! gradient is 0, and the closure determines the anchor's loss.

mod farther;
mod means;
mod positives;
mod rows;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use burn::backend::Dispatch;
use burn::tensor::Tensor;
use simile_kernels::Comparison;

use crate::error::{Error, Result, bounded};
use crate::peers::Peers;

use means::{MeanInputs, WeightedSums};
pub use positives::{Positives, SampleWeights};
pub use rows::{itself, other_view};
pub(crate) use rows::{leave_out, rows_of};
use shared::{Compared, Sums};
pub use simile_kernels::{EMPTY, LogSumExp, Pairs, Weight};

/// Weights of pairs, or groups of rows, that the log-sum-exps of a comparison refer to.
pub type PairWeights = simile_kernels::PairWeights<Dispatch>;

/// The row reductions, one number for each anchor. Inside the closure they are tracked by autodiff.
pub struct Reductions {
    /// One vector for each [`Positives`].
    pub means: Vec<Tensor<1>>,
    /// `sum_j P_ij` of each of the means, a constant: 1, or 0 for an anchor without positives; none where each is 1.
    masses: Vec<Option<Tensor<1>>>,
    /// One vector for each [`LogSumExp`].
    pub sums: Vec<Tensor<1>>,
}

impl Reductions {
    /// `values` times `sum_j P_ij` of one of the means: 0 for an anchor without positives.
    pub fn with_positives(&self, mean: usize, values: Tensor<1>) -> Tensor<1> {
        match self.masses.get(mean) {
            Some(Some(mass)) => mass.clone() * values,
            _ => values,
        }
    }

    /// The same numbers as constants.
    fn constant(self) -> Self {
        let constant =
            |vectors: Vec<Tensor<1>>| vectors.into_iter().map(Tensor::without_autodiff).collect::<Vec<_>>();
        Self { means: constant(self.means), masses: self.masses, sums: constant(self.sums) }
    }
}

/// Value and gradient of the sum of all anchors' losses.
pub struct PairwiseResult {
    /// Loss of each anchor.
    pub per_anchor: Tensor<1>,
    /// The reductions.
    pub reductions: Reductions,
    /// Gradient of the sum of the losses with respect to the anchors, `[anchors, d]`.
    pub grad_anchors: Tensor<2>,
    /// Gradient of the sum of the losses with respect to the candidates, `[candidates, d]`.
    pub grad_candidates: Tensor<2>,
    /// Gradient of the sum of the losses with respect to each of the means, `[anchors]` each.
    pub grad_means: Vec<Tensor<1>>,
}

/// Anchors compared with candidates. Rows are unit vectors (see [`crate::numeric::unit_rows`]); the gradients are
/// partial derivatives with respect to these rows.
pub struct PairwiseLoss<'a> {
    anchors: Tensor<2>,
    candidates: Tensor<2>,
    temperature: f64,
    tile: Option<usize>,
    constant_candidates: bool,
    within: bool,
    weights: PairWeights,
    means: Vec<Positives<'a>>,
    sums: Vec<LogSumExp>,
    peers: Option<Arc<dyn Peers>>,
}

impl<'a> PairwiseLoss<'a> {
    /// Compares anchors `[n, d]` with candidates `[m, d]`; `tile` anchors at once, or a number that suits the size.
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
        let (means, sums, weights) = (Vec::new(), Vec::new(), PairWeights::Ones);
        let (constant_candidates, within) = (false, false);
        let peers = None;
        Ok(Self {
            anchors,
            candidates,
            temperature,
            tile,
            constant_candidates,
            within,
            weights,
            means,
            sums,
            peers,
        })
    }

    /// Compares rows `[n, d]` with themselves. The gradient of [`PairwiseResult::grad_candidates`] can then be part of that of
    /// [`PairwiseResult::grad_anchors`].
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn within(rows: Tensor<2>, temperature: f64, tile: Option<usize>) -> Result<Self> {
        Ok(Self { within: true, ..Self::new(rows.clone(), rows, temperature, tile)? })
    }

    /// Takes the candidates as constants: their gradient is not computed and stays 0.
    #[must_use]
    pub fn with_constant_candidates(mut self) -> Self {
        self.constant_candidates = true;
        self
    }

    /// Shares the anchors of the log-sum-exps with other processes, which evaluate the same loss on the same rows.
    #[must_use]
    pub fn with_peers(mut self, peers: Option<Arc<dyn Peers>>) -> Self {
        self.peers = peers;
        self
    }

    /// Sets the groups or weights of the log-sum-exps.
    #[must_use]
    pub fn with_weights(mut self, weights: PairWeights) -> Self {
        self.weights = weights;
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
    pub fn log_sum_exp(mut self, term: LogSumExp) -> Self {
        self.sums.push(term);
        self
    }

    /// Evaluates `loss`, which maps the reductions to the losses of the anchors, and its gradient. The loss of an anchor may
    /// depend on the reductions of others.
    ///
    /// # Errors
    /// [`Error::Shape`] if positives do not fit the anchors and candidates; or a process with which the anchors are shared cannot
    /// be reached.
    pub fn evaluate(self, loss: impl FnOnce(&Reductions) -> Tensor<1>) -> Result<PairwiseResult> {
        let sizes = (self.anchors.dims(), self.candidates.dims()[0]);
        self.means.iter().try_for_each(|positives| positives.check(sizes, self.sums.len()))?;
        let scaled = self.anchors.clone() / self.temperature;
        let sums = self.pair_sums()?;
        let values = sums.as_ref().map(|sums| columns(&sums.values())).unwrap_or_default();
        let inputs =
            MeanInputs { scaled: &scaled, candidates: &self.candidates, sums: &values, tile: self.tile };
        let of_positives: Vec<WeightedSums> =
            self.means.iter().map(|positives| positives.weighted_sums(&inputs)).collect();
        let reductions = Reductions {
            means: of_positives.iter().map(|sums| leaf(sums.mean(&scaled))).collect(),
            masses: of_positives.iter().map(|sums| sums.mass.clone()).collect(),
            sums: values.iter().cloned().map(leaf).collect(),
        };

        let losses = loss(&reductions);
        let per_anchor = losses.clone().without_autodiff();
        // The gradient of the sum of the losses, because Burn starts the gradient of a vector with ones.
        let mut gradients = losses.is_tracked().then(|| losses.backward());
        let mut gradient = |x: &Tensor<1>| gradients.as_mut().and_then(|all| x.grad_remove(all));
        let grad_means: Vec<Tensor<1>> = (reductions.means.iter())
            .map(|mean| gradient(mean).unwrap_or_else(|| per_anchor.zeros_like()))
            .collect();
        let grad_sums: Vec<Option<Tensor<1>>> = reductions.sums.iter().map(gradient).collect();

        let (mut grad_anchors, mut grad_candidates) = (None, None);
        if let Some(sums) = sums.filter(|_| grad_sums.iter().any(Option::is_some)) {
            let grad_sums =
                grad_sums.into_iter().map(|gradient| gradient.unwrap_or_else(|| per_anchor.zeros_like()));
            let (grad_anchors_term, grad_candidates_term) = sums.pull_back(matrix(grad_sums.collect()))?;
            (grad_anchors, grad_candidates) = (Some(grad_anchors_term), grad_candidates_term);
        }
        for ((positives, sums), grad_mean) in self.means.iter().zip(&of_positives).zip(&grad_means) {
            let grad_mean: Tensor<2> = grad_mean.clone().unsqueeze_dim(1);
            let grad_anchors_term = sums.rows.clone() * (grad_mean.clone() / self.temperature);
            grad_anchors = Some(plus(grad_anchors, grad_anchors_term));
            if !self.constant_candidates
                && let Some(grad_candidates_term) =
                    positives.pull_back(scaled.clone() * grad_mean, sums, &inputs)
            {
                grad_candidates = Some(plus(grad_candidates, grad_candidates_term));
            }
        }
        Ok(PairwiseResult {
            per_anchor,
            reductions: reductions.constant(),
            grad_anchors: grad_anchors.unwrap_or_else(|| scaled.zeros_like()),
            grad_candidates: grad_candidates.unwrap_or_else(|| self.candidates.zeros_like()),
            grad_means,
        })
    }

    /// The log-sum-exps, if there are any.
    fn pair_sums(&self) -> Result<Option<Sums>> {
        if self.sums.is_empty() {
            return Ok(None);
        }
        let compared = Compared {
            anchors: self.anchors.clone(),
            candidates: self.candidates.clone(),
            within: self.within,
            weights: self.weights.clone(),
            comparison: Comparison {
                tile: self.tile,
                constant_candidates: self.constant_candidates,
                ..Comparison::new(self.sums.clone(), self.temperature.recip())
            },
        };
        Sums::of(compared, self.peers.clone()).map(Some)
    }
}

/// A running sum, `None` before the first term.
fn plus(sum: Option<Tensor<2>>, next: Tensor<2>) -> Tensor<2> {
    match sum {
        Some(sum) => sum + next,
        None => next,
    }
}

/// The matrix of some columns.
fn matrix(columns: Vec<Tensor<1>>) -> Tensor<2> {
    let mut columns: Vec<Tensor<2>> = columns.into_iter().map(|column| column.unsqueeze_dim(1)).collect();
    match columns.len() {
        // A copy would take a kernel of its own.
        1 => columns.swap_remove(0),
        _ => Tensor::cat(columns, 1),
    }
}

/// The columns of a matrix.
fn columns(matrix: &Tensor<2>) -> Vec<Tensor<1>> {
    let [n, count] = matrix.dims();
    match count {
        1 => vec![matrix.clone().reshape([n])],
        _ => (0..count).map(|at| matrix.clone().slice([0..n, at..at + 1]).reshape([n])).collect(),
    }
}

/// `log(exp x + exp y)` for vectors.
pub fn log_add(x: Tensor<1>, y: Tensor<1>) -> Tensor<1> {
    let shift = x.clone().max_pair(y.clone()).detach();
    ((x - shift.clone()).exp() + (y - shift.clone()).exp()).log() + shift
}

/// `values`, but 0 with gradient 0 for anchors whose log-sum-exp has no pair.
pub fn where_present(values: Tensor<1>, sum: &Tensor<1>) -> Tensor<1> {
    let empty = sum.clone().detach().lower_elem(EMPTY / 2.0);
    values.mask_fill(empty, 0.0)
}

/// A vector that autodiff tracks from here on.
fn leaf(vector: Tensor<1>) -> Tensor<1> {
    vector.autodiff().require_grad()
}
