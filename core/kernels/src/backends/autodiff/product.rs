use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

use super::record::record;
use crate::ProductOps;

impl<B: Backend + ProductOps, C: CheckpointStrategy> ProductOps for Autodiff<B, C> {
    fn product(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self> {
        let ((a, a_node), (b, b_node)) = (a.into_parts(), b.into_parts());
        let output = B::product(a.clone(), b.clone());
        record::<B, C, 2>([a_node, b_node], output, move |upstream, [of_a, of_b]| {
            let grad_a = of_a.then(|| B::product(upstream.clone(), B::float_transpose(b)));
            let grad_b = of_b.then(|| B::product(B::float_transpose(a), upstream));
            [grad_a, grad_b]
        })
    }
}
