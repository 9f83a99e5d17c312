//! The inputs of a mean over positives, and the sums from which it and its gradient are computed.

use burn::tensor::Tensor;

/// The inputs of a mean: the anchors and candidates of a comparison, with its log-sum-exps.
pub(super) struct MeanInputs<'p> {
    /// The anchors over the temperature.
    pub(super) scaled: &'p Tensor<2>,
    pub(super) candidates: &'p Tensor<2>,
    /// The log-sum-exps of all anchors.
    pub(super) log_sum_exps: &'p [Tensor<1>],
    pub(super) tile: Option<usize>,
}

/// The weighted sums from which a mean is computed.
pub(super) struct WeightedSums {
    /// `sum_j P_ij c_j`, `[anchors, d]`.
    pub(super) rows: Tensor<2>,
    /// `sum_j P_ij`, `[anchors]`; none where each is 1.
    pub(super) mass: Option<Tensor<1>>,
    /// `1 / |P(i)|` of each anchor, `[anchors, 1]`, 0 without positives, if that is the weight of each of them.
    pub(super) share: Option<Tensor<2>>,
    /// `P` in tiles, if it is stored.
    pub(super) weights: Vec<Tensor<2>>,
}

impl WeightedSums {
    /// The means of the anchors, divided by the temperature.
    pub(super) fn mean(&self, scaled: &Tensor<2>) -> Tensor<1> {
        (scaled.clone() * self.rows.clone()).sum_dim(1).squeeze_dim(1)
    }
}
