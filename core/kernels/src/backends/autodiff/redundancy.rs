use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};
use burn::tensor::Shape;

use super::record::record;
use crate::RedundancyOps;

impl<B: Backend + RedundancyOps, C: CheckpointStrategy> RedundancyOps for Autodiff<B, C> {
    fn redundancy(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        off_diagonal: f64,
        eps: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = [a.node(), b.node()];
        let (loss, grad_a, grad_b) = B::redundancy(a.into_primitive(), b.into_primitive(), off_diagonal, eps);
        let [saved_a, saved_b] = [grad_a.clone(), grad_b.clone()];
        let loss = record::<B, C, 2>(nodes, loss, |upstream, wanted| {
            let upstream = B::float_reshape(upstream, Shape::new([1, 1]));
            let times =
                |gradient, is_wanted: bool| is_wanted.then(|| B::float_mul(gradient, upstream.clone()));
            [times(saved_a, wanted[0]), times(saved_b, wanted[1])]
        });
        (loss, Self::from_inner(grad_a), Self::from_inner(grad_b))
    }
}
