use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

use crate::{NormalisationGradients, NormalisationOps};

impl<B: Backend + NormalisationGradients, C: CheckpointStrategy> NormalisationOps for Autodiff<B, C> {
    fn normalise_batch(
        x: FloatTensor<Self>,
        gain: FloatTensor<Self>,
        shift: FloatTensor<Self>,
        epsilon: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        #[derive(Debug)]
        struct Normalise;
        impl<B: Backend + NormalisationGradients> Backward<B, 3> for Normalise {
            /// `x`, which may be recomputed, gain, mean, variance and epsilon.
            type State = (NodeId, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, f64);

            fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, states: &mut Checkpointer) {
                let (x, gain, mean, variance, epsilon) = ops.state;
                let gradient = grads.consume::<B>(&ops.node);
                let x = states.retrieve_node_output::<FloatTensor<B>>(x);
                let (grad_x, grad_gain, grad_shift) =
                    B::normalise_batch_backward(x, gain, mean, variance, gradient, epsilon);
                for (parent, gradient) in ops.parents.into_iter().zip([grad_x, grad_gain, grad_shift]) {
                    if let Some(node) = parent {
                        grads.register::<B>(node.id, gradient);
                    }
                }
            }
        }

        let constant = <FloatTensor<Self>>::new;
        let prepared =
            Normalise.prepare::<C>([x.node(), gain.node(), shift.node()]).compute_bound().stateful();
        match prepared {
            OpsKind::Tracked(mut prepared) => {
                let checkpoint = prepared.checkpoint(&x);
                let (x, gain) = (x.into_primitive(), gain.into_primitive());
                let (y, mean, variance) =
                    B::normalise_batch(x, gain.clone(), shift.into_primitive(), epsilon);
                let state = (checkpoint, gain, mean.clone(), variance.clone(), epsilon);
                (prepared.finish(state, y), constant(mean), constant(variance))
            }
            OpsKind::UnTracked(prepared) => {
                let (x, gain) = (x.into_primitive(), gain.into_primitive());
                let (y, mean, variance) = B::normalise_batch(x, gain, shift.into_primitive(), epsilon);
                (prepared.finish(y), constant(mean), constant(variance))
            }
        }
    }
}
