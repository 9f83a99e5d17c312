use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

use crate::ActivationOps;

impl<B: Backend + ActivationOps, C: CheckpointStrategy> ActivationOps for Autodiff<B, C> {
    fn tanh(x: FloatTensor<Self>) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Tanh;
        impl<B: Backend + ActivationOps> Backward<B, 1> for Tanh {
            type State = FloatTensor<B>;

            fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
                unary::<B, _>(ops.parents, ops.node, grads, |gradient| B::tanh_backward(ops.state, gradient));
            }
        }

        let node = x.node();
        let y = B::tanh(x.into_primitive());
        match Tanh.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(y.clone(), y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }

    fn logistic(x: FloatTensor<Self>) -> FloatTensor<Self> {
        #[derive(Debug)]
        struct Logistic;
        impl<B: Backend + ActivationOps> Backward<B, 1> for Logistic {
            type State = FloatTensor<B>;

            fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
                unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
                    B::logistic_backward(ops.state, gradient)
                });
            }
        }

        let node = x.node();
        let y = B::logistic(x.into_primitive());
        match Logistic.prepare::<C>([node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(y.clone(), y),
            OpsKind::UnTracked(prepared) => prepared.finish(y),
        }
    }
}
