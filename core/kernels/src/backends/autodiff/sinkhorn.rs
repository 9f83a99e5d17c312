use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};

use crate::SinkhornOps;

impl<B: Backend + SinkhornOps, C: CheckpointStrategy> SinkhornOps for Autodiff<B, C> {
    fn sinkhorn(scores: FloatTensor<Self>, epsilon: f64, iterations: usize) -> FloatTensor<Self> {
        Self::from_inner(B::sinkhorn(scores.into_primitive(), epsilon, iterations))
    }
}
