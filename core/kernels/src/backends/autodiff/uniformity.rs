use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend};
use burn::tensor::Shape;

use crate::UniformityOps;

impl<B: Backend + UniformityOps, C: CheckpointStrategy> UniformityOps for Autodiff<B, C> {
    fn uniformity(
        rows: FloatTensor<Self>,
        t: f64,
        tile: Option<usize>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        #[derive(Debug)]
        struct Uniformity;
        impl<B: Backend + UniformityOps> Backward<B, 1> for Uniformity {
            type State = FloatTensor<B>;

            fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
                unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
                    B::float_mul(ops.state, B::float_reshape(gradient, Shape::new([1, 1])))
                });
            }
        }

        let node = rows.node();
        let (value, gradient) = B::uniformity(rows.into_primitive(), t, tile);
        let constant = Self::from_inner(gradient.clone());
        let value = match Uniformity.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(gradient, value),
            OpsKind::UnTracked(prepared) => prepared.finish(value),
        };
        (value, constant)
    }
}
