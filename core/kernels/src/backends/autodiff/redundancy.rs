use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, binary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};
use burn::tensor::Shape;

use crate::RedundancyOps;

#[derive(Debug)]
struct Redundancy;

impl<B: Backend> Backward<B, 2> for Redundancy {
    /// The gradients with respect to both views.
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (to_a, to_b) = ops.state;
        let times = |g, gradient| B::float_mul(gradient, B::float_reshape(g, Shape::new([1, 1])));
        binary::<B, _, _>(ops.parents, ops.node, grads, |g| times(g, to_a), |g| times(g, to_b));
    }
}

impl<B: Backend + RedundancyOps, C: CheckpointStrategy> RedundancyOps for Autodiff<B, C> {
    fn redundancy(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        off_diagonal: f64,
        eps: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let nodes = [a.node(), b.node()];
        let (loss, to_a, to_b) = B::redundancy(a.into_primitive(), b.into_primitive(), off_diagonal, eps);
        let loss = match Redundancy.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((to_a.clone(), to_b.clone()), loss),
            OpsKind::UnTracked(prepared) => prepared.finish(loss),
        };
        (loss, Self::from_inner(to_a), Self::from_inner(to_b))
    }
}
