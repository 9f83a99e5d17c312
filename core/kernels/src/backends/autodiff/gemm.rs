use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

use super::record::record;
use crate::GemmOps;

impl<B: Backend + GemmOps, C: CheckpointStrategy> GemmOps for Autodiff<B, C> {
    fn gemm(a: FloatTensor<Self>, b: FloatTensor<Self>) -> FloatTensor<Self> {
        let ((a, a_node), (b, b_node)) = (a.into_parts(), b.into_parts());
        let output = B::gemm(a.clone(), b.clone());
        record::<B, C, 2>([a_node, b_node], output, move |upstream, [is_a_wanted, is_b_wanted]| {
            let grad_a = is_a_wanted.then(|| B::gemm(upstream.clone(), B::float_transpose(b)));
            let grad_b = is_b_wanted.then(|| B::gemm(B::float_transpose(a), upstream));
            [grad_a, grad_b]
        })
    }
}
