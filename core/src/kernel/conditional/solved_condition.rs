//! `W` that is computed ahead of its step.

use std::sync::Arc;

use super::weight_product::HostWeightProduct;
use super::weights::ConditionWeights;

/// The result of solving for a condition ahead of its step; see [`ConditionedByKernel::solve`](crate::loss::ConditionedByKernel::solve).
#[derive(Debug, Clone)]
pub enum SolvedCondition {
    /// The weights of CCL-K.
    Weights(Arc<ConditionWeights>),
    /// Their product with rows, for Kernel Decoupled Uniformity.
    Product(Arc<HostWeightProduct>),
}

impl SolvedCondition {
    /// Upper bound of `|W - W_exact|_2`, as [`ConditionWeights::approximation_error`] states it.
    pub fn approximation_error(&self) -> Option<f64> {
        match self {
            Self::Weights(weights) => weights.approximation_error(),
            Self::Product(product) => product.accuracy().bound(),
        }
    }

    /// Number of samples.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Weights(weights) => weights.rows(),
            Self::Product(product) => product.rows(),
        }
    }
}
