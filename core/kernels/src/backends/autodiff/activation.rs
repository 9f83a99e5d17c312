use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

use super::record::record;
use crate::{ActivationGradients, ActivationOps};

impl<B: Backend + ActivationGradients, C: CheckpointStrategy> ActivationOps for Autodiff<B, C> {
    fn tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let node = x.node();
        let y = B::tanh(x.into_primitive());
        record::<B, C, 1>([node], y.clone(), |gradient, _| [Some(B::tanh_backward(y, gradient))])
    }

    fn logistic(x: FloatTensor<Self>) -> FloatTensor<Self> {
        let node = x.node();
        let y = B::logistic(x.into_primitive());
        record::<B, C, 1>([node], y.clone(), |gradient, _| [Some(B::logistic_backward(y, gradient))])
    }
}
