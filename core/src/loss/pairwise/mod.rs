//! The equation that most objectives share, with its gradient derived by hand.
//!
//! For anchor `i` with scaled cosines `s_ij = <a_i, c_j> / temperature` two kinds of row reduction occur:
//!
//! ```text
//! mean        p_i = sum_j P_ij s_ij                    d p_i / d s_ij = P_ij
//! log-sum-exp m_i = log sum_j W_ij exp(power * s_ij)   d m_i / d s_ij = power * W_ij exp(power * s_ij) / exp(m_i)
//! ```
//!
//! with constant weights `P` and `W >= 0`. An objective adds its reductions, keeps the handle of each, a [`MeanHandle`] or a
//! [`LogSumExpHandle`], and computes the losses of the anchors from them in one closure, for example `m - p` for InfoNCE. The
//! log-sum-exps and their gradients are operations of [`simile_kernels`], which avoid a `b x b` matrix; most means need none
//! ([`Positives`]). The closure itself is differentiated by Burn's autodiff on vectors.
//!
//! A row without any pair of positive weight has no log-sum-exp; its value is the finite stand-in [`EMPTY`], its
//! gradient is 0, and the closure determines the anchor's loss.
//!
//! # How a formula is written
//!
//! | formula | code |
//! |---|---|
//! | `s_ii'`, the other view, `2b` stacked rows | `add_mean(Positives::Partner(other_view(b)))` |
//! | `s_ii`, the same sample, one view across the other | `add_mean(Positives::Partner(itself(b)))` |
//! | `1/\|P(i)\| sum_{p in P(i)} s_ip` | `add_mean(Positives::Group { group, excluded })`, `P(i)` being `group` without `excluded` |
//! | `log sum_j exp s_ij` | `add_log_sum_exp(LogSumExp::all())` |
//! | `log sum_{j != i} exp s_ij`, `2b` stacked rows | `LogSumExp::other_rows(2 * b)` |
//! | `log sum_{j != i, i'} exp s_ij`, `2b` stacked rows | `LogSumExp::other_samples(b)` |
//! | `log sum_{j != i} exp s_ij`, across views | `LogSumExp::other_samples(b)` as well: candidate `i` is of the anchor's sample |
//! | `log sum_{n in N(i)} exp s_in`, another label | `LogSumExp::other_label()`; of the same label `same_label()`; groups from `with_weights` |
//! | `exp(beta s_ij)` in place of `exp s_ij` | `.with_power(beta)` |
//! | `sum_j w_ij exp s_ij` over `w_ij > t` | `.weighted(Weight::Above(t))`, `w` from `with_weights` |
//!
//! Both kinds of reduction are vectors `[anchors]`. The closure works with logarithms: `log( exp x + exp y )` is [`log_add`].
//!
//! # An objective
//!
//! NT-Xent, `L = 1/(2b) sum_i [ log sum_{j != i} exp s_ij - s_ii' ]`, as an objective of your own:
//!
//! ```
//! use burn::tensor::Tensor;
//! # use burn::tensor::{Device, Distribution};
//! use serde::Serialize;
//! use simile_core::error::{Error, Result};
//! use simile_core::loss::batch::Batch;
//! use simile_core::loss::pairwise::{LogSumExp, PairwiseLoss, Positives, other_view};
//! use simile_core::loss::spec::{Described, Parameter, Spec, VIEW_A, VIEW_B};
//! use simile_core::loss::{Evaluation, Objective};
//! # use simile_core::loss::NtXent;
//!
//! #[derive(Debug, Serialize)]
//! struct Contrast {
//!     temperature: f64,
//! }
//!
//! impl Described for Contrast {
//!     const SPEC: Spec = Spec {
//!         name: "contrast",
//!         inputs: &[VIEW_A, VIEW_B],
//!         parameters: &[Parameter::temperature(0.5)],
//!         ..Spec::BASE
//!     };
//! }
//!
//! impl Objective for Contrast {
//!     fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
//!         let a = batch.unit_rows(self.name(), "view_a")?;
//!         let b = batch.unit_rows(self.name(), "view_b")?;
//!         let (shape, shape_b) = (a.rows().dims(), b.rows().dims());
//!         if shape_b != shape {
//!             return Err(Error::shape("view_b", format!("{shape:?}"), format!("{shape_b:?}")));
//!         }
//!         let size = shape[0];
//!         let rows = Tensor::cat(vec![a.rows(), b.rows()], 0);
//!         let mut pairs = PairwiseLoss::within(rows, self.temperature, batch.tile())?.with_peers(batch.peers());
//!         let own = pairs.add_mean(Positives::Partner(other_view(size)));
//!         let others = pairs.add_log_sum_exp(LogSumExp::other_rows(2 * size));
//!         let result = pairs.evaluate(|reductions| reductions.log_sum_exp(others) - reductions.mean(own))?;
//!         // The mean over the anchors. Each row is an anchor and a candidate.
//!         let mean = 0.5 / size as f64;
//!         let gradient = (result.grad_anchors + result.grad_candidates) * mean;
//!         Ok(Evaluation::new(result.per_anchor.sum() * mean)
//!             .with_gradient("view_a", a.pull_back(gradient.clone().slice([0..size])))
//!             .with_gradient("view_b", b.pull_back(gradient.slice([size..2 * size]))))
//!     }
//! }
//! # fn main() -> Result<()> {
//! # let view = || Tensor::<2>::random([6, 4], Distribution::Normal(0.0, 1.0), &Device::flex());
//! # let batch = Batch::views(view(), view());
//! # let of = |objective: &dyn Objective| {
//! #     let Evaluation { loss, gradients, .. } = objective.evaluate(&batch)?;
//! #     let gradients = gradients.into_values().map(|gradient| gradient.into_data()).collect::<Vec<_>>();
//! #     Ok::<_, Error>((loss.into_data(), gradients))
//! # };
//! # assert_eq!(of(&Contrast { temperature: 0.3 })?, of(&NtXent { temperature: 0.3 })?);
//! # Ok(())
//! # }
//! ```

mod among_peers;
mod farther;
mod means;
mod positives;
mod reductions;
mod rows;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use burn::backend::Dispatch;
use burn::tensor::Tensor;
use simile_kernels::Comparison;

use crate::error::{Error, Result, bounded};
use crate::peers::Peers;

use among_peers::{LogSumExps, PairProblem};
use means::{MeanInputs, WeightedSums};
pub use positives::{Positives, SampleWeights};
use reductions::ReductionGradients;
pub use reductions::{LogSumExpHandle, MeanHandle, Reductions};
pub use rows::{itself, other_view};
pub(crate) use rows::{leave_out, rows_of};
pub use simile_kernels::{EMPTY, LogSumExp, Pairs, Weight};

/// Weights of pairs, or groups of rows, that the log-sum-exps of a comparison refer to.
pub type PairWeights = simile_kernels::PairWeights<Dispatch>;

/// Value and gradient of the sum of all anchors' losses.
pub struct PairwiseResult {
    /// The losses that the closure returned.
    pub per_anchor: Tensor<1>,
    /// The reductions.
    pub reductions: Reductions,
    /// Gradient of the sum of the losses with respect to the anchors, `[anchors, d]`.
    pub grad_anchors: Tensor<2>,
    /// Gradient of the sum of the losses with respect to the candidates, `[candidates, d]`.
    pub grad_candidates: Tensor<2>,
    grad_means: Vec<Tensor<1>>,
}

impl PairwiseResult {
    /// Gradient of the sum of the losses with respect to one of the means, `[anchors]`.
    ///
    /// # Panics
    /// The mean is that of another comparison, which has more of them.
    pub fn grad_mean(&self, of: MeanHandle) -> Tensor<1> {
        self.grad_means[of.0].clone()
    }
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
    log_sum_exps: Vec<LogSumExp>,
    peers: Option<Arc<dyn Peers>>,
}

impl<'a> PairwiseLoss<'a> {
    /// Compares anchors `[n, d]` with candidates `[m, d]`; `tile` anchors at once, or a number that suits the size.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the temperature is not from 1e-12 to 1e12, [`Error::Shape`] if the widths differ or there is no
    /// anchor.
    pub fn new(
        anchors: Tensor<2>,
        candidates: Tensor<2>,
        temperature: f64,
        tile: Option<usize>,
    ) -> Result<Self> {
        bounded("temperature", temperature)?;
        let ([n, width], [_, found]) = (anchors.dims(), candidates.dims());
        if found != width {
            return Err(Error::shape("candidates", format!("{width} columns"), format!("{found} columns")));
        }
        if n == 0 {
            return Err(Error::shape("anchors", "at least one row", "none"));
        }
        Ok(Self {
            anchors,
            candidates,
            temperature,
            tile,
            constant_candidates: false,
            within: false,
            weights: PairWeights::Ones,
            means: Vec::new(),
            log_sum_exps: Vec::new(),
            peers: None,
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

    /// Adds a mean of similarities. [`Reductions::mean`] returns it for the handle, in the closure of [`evaluate`](Self::evaluate) and
    /// in its result.
    pub fn add_mean(&mut self, positives: Positives<'a>) -> MeanHandle {
        self.means.push(positives);
        MeanHandle(self.means.len() - 1)
    }

    /// Adds a log-sum-exp. [`Reductions::log_sum_exp`] returns it for the handle, in the closure of [`evaluate`](Self::evaluate) and in
    /// its result.
    pub fn add_log_sum_exp(&mut self, term: LogSumExp) -> LogSumExpHandle {
        self.log_sum_exps.push(term);
        LogSumExpHandle(self.log_sum_exps.len() - 1)
    }

    /// Evaluates `loss`, which maps the reductions to the losses of the anchors, `[anchors]`, or to one loss of all, `[1]`, and the
    /// gradient of the sum of the losses. The loss of an anchor may depend on the reductions of others.
    ///
    /// # Errors
    /// [`Error::Shape`] if positives do not fit the anchors and candidates; or a process with which the anchors are shared cannot
    /// be reached.
    pub fn evaluate(self, loss: impl FnOnce(&Reductions) -> Tensor<1>) -> Result<PairwiseResult> {
        let sizes = (self.anchors.dims(), self.candidates.dims()[0]);
        self.means.iter().try_for_each(|positives| positives.check(sizes, self.log_sum_exps.len()))?;
        let scaled = self.anchors.clone() / self.temperature;
        let log_sum_exps = self.compute_log_sum_exps()?;
        let values = log_sum_exps.as_ref().map(|all| columns(&all.values())).unwrap_or_default();
        let inputs = MeanInputs {
            scaled: &scaled,
            candidates: &self.candidates,
            log_sum_exps: &values,
            tile: self.tile,
        };
        let weighted_sums: Vec<WeightedSums> =
            self.means.iter().map(|positives| positives.weighted_sums(&inputs)).collect();
        let reductions = Reductions::tracked(&weighted_sums, &inputs);
        let losses = loss(&reductions);
        let ReductionGradients { means: grad_means, log_sum_exps: grad_log_sum_exps } =
            reductions.gradients(&losses);
        let (grad_anchors, grad_candidates) =
            self.pull_back(log_sum_exps.zip(grad_log_sum_exps), &weighted_sums, &grad_means, &inputs)?;
        Ok(PairwiseResult {
            per_anchor: losses.without_autodiff(),
            reductions: reductions.constant(),
            grad_anchors,
            grad_candidates,
            grad_means,
        })
    }

    /// The gradients of anchors and candidates, from those of the log-sum-exps first and then of the means in their order.
    fn pull_back(
        &self,
        log_sum_exps: Option<(LogSumExps, Vec<Tensor<1>>)>,
        weighted_sums: &[WeightedSums],
        grad_means: &[Tensor<1>],
        inputs: &MeanInputs<'_>,
    ) -> Result<(Tensor<2>, Tensor<2>)> {
        let (mut grad_anchors, mut grad_candidates) = (None, None);
        if let Some((log_sum_exps, gradients)) = log_sum_exps {
            let (grad_anchors_term, grad_candidates_term) = log_sum_exps.pull_back(matrix(gradients))?;
            (grad_anchors, grad_candidates) = (Some(grad_anchors_term), grad_candidates_term);
        }
        for ((positives, sums), grad_mean) in self.means.iter().zip(weighted_sums).zip(grad_means) {
            let grad_mean: Tensor<2> = grad_mean.clone().unsqueeze_dim(1);
            let grad_anchors_term = sums.rows.clone() * (grad_mean.clone() / self.temperature);
            grad_anchors = Some(plus(grad_anchors, grad_anchors_term));
            if !self.constant_candidates
                && let Some(grad_candidates_term) =
                    positives.pull_back(inputs.scaled.clone() * grad_mean, sums, inputs)
            {
                grad_candidates = Some(plus(grad_candidates, grad_candidates_term));
            }
        }
        Ok((
            grad_anchors.unwrap_or_else(|| inputs.scaled.zeros_like()),
            grad_candidates.unwrap_or_else(|| inputs.candidates.zeros_like()),
        ))
    }

    /// The log-sum-exps, if there are any.
    fn compute_log_sum_exps(&self) -> Result<Option<LogSumExps>> {
        if self.log_sum_exps.is_empty() {
            return Ok(None);
        }
        let problem = PairProblem {
            anchors: self.anchors.clone(),
            candidates: self.candidates.clone(),
            within: self.within,
            weights: self.weights.clone(),
            comparison: Comparison {
                tile: self.tile,
                constant_candidates: self.constant_candidates,
                ..Comparison::new(self.log_sum_exps.clone(), self.temperature.recip())
            },
        };
        LogSumExps::of(problem, self.peers.clone()).map(Some)
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

/// `log(exp x + exp y)` of vectors `[n]`, `[n]`.
pub fn log_add(x: Tensor<1>, y: Tensor<1>) -> Tensor<1> {
    let shift = x.clone().max_pair(y.clone()).detach();
    ((x - shift.clone()).exp() + (y - shift.clone()).exp()).log() + shift
}

/// `values`, `[anchors]`, but 0 with gradient 0 for anchors whose log-sum-exp, `[anchors]`, has no pair and is therefore [`EMPTY`].
pub fn where_present(values: Tensor<1>, log_sum_exp: &Tensor<1>) -> Tensor<1> {
    let empty = log_sum_exp.clone().detach().lower_elem(EMPTY / 2.0);
    values.mask_fill(empty, 0.0)
}
