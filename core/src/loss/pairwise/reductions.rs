//! The row reductions of a comparison, by handle, and the gradients with respect to them.

use burn::tensor::Tensor;

use super::means::{MeanInputs, WeightedSums};

/// The handle of a mean, from [`PairwiseLoss::add_mean`](super::PairwiseLoss::add_mean); valid in that comparison alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeanHandle(pub(super) usize);

/// The handle of a log-sum-exp, from [`PairwiseLoss::add_log_sum_exp`](super::PairwiseLoss::add_log_sum_exp); valid in that comparison
/// alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSumExpHandle(pub(super) usize);

/// The row reductions, one number for each anchor. Inside the closure they are tracked by autodiff.
#[derive(Clone)]
pub struct Reductions {
    /// One vector for each [`Positives`](super::Positives).
    means: Vec<Tensor<1>>,
    /// `sum_j P_ij` of each of the means, a constant: 1, or 0 for an anchor without positives; none where each is 1.
    masses: Vec<Option<Tensor<1>>>,
    /// One vector for each [`LogSumExp`](super::LogSumExp).
    log_sum_exps: Vec<Tensor<1>>,
}

impl Reductions {
    /// The reductions, from the weighted sums of the means and with the log-sum-exps of `inputs`.
    pub(super) fn tracked(weighted_sums: &[WeightedSums], inputs: &MeanInputs<'_>) -> Self {
        Self {
            means: weighted_sums.iter().map(|sums| leaf(sums.mean(inputs.scaled))).collect(),
            masses: weighted_sums.iter().map(|sums| sums.mass.clone()).collect(),
            log_sum_exps: inputs.log_sum_exps.iter().cloned().map(leaf).collect(),
        }
    }

    /// A mean, `[anchors]`.
    ///
    /// # Panics
    /// The mean is that of another comparison, which has more of them.
    pub fn mean(&self, of: MeanHandle) -> Tensor<1> {
        self.means[of.0].clone()
    }

    /// A log-sum-exp, `[anchors]`; [`EMPTY`](super::EMPTY) for an anchor without a pair of positive weight.
    ///
    /// # Panics
    /// The log-sum-exp is that of another comparison, which has more of them.
    pub fn log_sum_exp(&self, of: LogSumExpHandle) -> Tensor<1> {
        self.log_sum_exps[of.0].clone()
    }

    /// `- sum_j P_ij log( exp s_ij / exp m_i )` of one of the means and the logarithms `m` of the anchors' denominators, `[anchors]`:
    /// the negative mean log-probability of the positives; 0 for an anchor without any.
    ///
    /// # Panics
    /// The mean is that of another comparison, which has more of them.
    pub fn negative_log_probability(&self, positives: MeanHandle, denominator: Tensor<1>) -> Tensor<1> {
        let of_positives = match self.masses.get(positives.0) {
            Some(Some(mass)) => mass.clone() * denominator,
            _ => denominator,
        };
        of_positives - self.mean(positives)
    }

    /// The gradients of the sum of `losses`, computed from these reductions.
    pub(super) fn gradients(&self, losses: &Tensor<1>) -> ReductionGradients {
        let zeros = |of: &Tensor<1>| of.clone().without_autodiff().zeros_like();
        // The gradient of the sum of the losses, because Burn starts the gradient of a vector with ones.
        let mut gradients = losses.is_tracked().then(|| losses.backward());
        let mut gradient = |x: &Tensor<1>| gradients.as_mut().and_then(|all| x.grad_remove(all));
        let means = self.means.iter().map(|mean| gradient(mean).unwrap_or_else(|| zeros(mean))).collect();
        let present: Vec<Option<Tensor<1>>> = self.log_sum_exps.iter().map(gradient).collect();
        let is_any = present.iter().any(Option::is_some);
        let all = present.into_iter().zip(&self.log_sum_exps);
        let log_sum_exps =
            is_any.then(|| all.map(|(gradient, of)| gradient.unwrap_or_else(|| zeros(of))).collect());
        ReductionGradients { means, log_sum_exps }
    }

    /// The same numbers as constants.
    pub(super) fn constant(self) -> Self {
        let constant =
            |vectors: Vec<Tensor<1>>| vectors.into_iter().map(Tensor::without_autodiff).collect::<Vec<_>>();
        Self { means: constant(self.means), masses: self.masses, log_sum_exps: constant(self.log_sum_exps) }
    }
}

/// The gradients of the sum of the losses with respect to the reductions, `[anchors]` each.
pub(super) struct ReductionGradients {
    pub(super) means: Vec<Tensor<1>>,
    /// None if no loss depends on a log-sum-exp.
    pub(super) log_sum_exps: Option<Vec<Tensor<1>>>,
}

/// A vector that autodiff tracks from here on.
fn leaf(vector: Tensor<1>) -> Tensor<1> {
    vector.autodiff().require_grad()
}
