//! The sums of weighted exponentials that the forms share, as logarithms.

use burn::tensor::{Bool, DType, Tensor};

use crate::loss::pairwise::{EMPTY, LogSumExp, Weight};

/// The log-sum-exp over the other samples, `b` of each view, with their weights above a threshold.
pub(super) fn other_samples_above(b: usize, threshold: f64) -> LogSumExp {
    LogSumExp::other_samples(b).weighted(Weight::Above(threshold))
}

/// The log-sum-exp over the other samples with their weights of at least a threshold: released code clips those below it. The weights
/// are of type `dtype`, to which the threshold is rounded.
pub(super) fn other_samples_from(b: usize, threshold: f64, dtype: DType) -> LogSumExp {
    // The largest number that is clipped. A weight of 0 adds nothing to the sum, whatever the threshold.
    let clipped = match dtype {
        DType::F64 => threshold.next_down(),
        _ => f64::from((threshold as f32).next_down()),
    };
    other_samples_above(b, clipped.max(0.0))
}

/// The logarithm of the sum of the weights of [`other_samples_above`] with threshold 0, over the samples of one view: the sum
/// with power 0, halved.
pub(super) struct TotalWeight(pub(super) Tensor<1>);

impl TotalWeight {
    /// The term that computes the sum.
    pub(super) fn term(b: usize) -> LogSumExp {
        other_samples_above(b, 0.0).with_power(0.0)
    }

    /// Computed from the sum of [`term`](Self::term).
    pub(super) fn of(sum: Tensor<1>) -> Self {
        Self(sum.detach() - std::f64::consts::LN_2)
    }

    /// True where there is no other sample of positive weight.
    pub(super) fn is_empty(&self) -> Tensor<1, Bool> {
        self.0.clone().lower_elem(EMPTY / 2.0)
    }

    /// A weighted sum divided by the sum of its weights; [`EMPTY`] without any.
    pub(super) fn normalise(&self, sum: Tensor<1>) -> Tensor<1> {
        (sum - self.0.clone()).mask_fill(self.is_empty(), EMPTY)
    }
}

/// The logarithms of weights of at least 0.
pub(super) fn log_or_empty(weights: Tensor<1>) -> Tensor<1> {
    let empty = weights.clone().lower_equal_elem(0.0);
    weights.mask_fill(empty.clone(), 1.0).log().mask_fill(empty, EMPTY)
}

/// The logarithm of a sum of exponentials that released code clamps into `[1e-7, 1e20]`; without a gradient where it is outside.
pub(super) fn released_clamp(log: Tensor<1>) -> Tensor<1> {
    log.clamp(1e-7_f64.ln(), 1e20_f64.ln())
}
