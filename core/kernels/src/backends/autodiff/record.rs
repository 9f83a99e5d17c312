use std::fmt::{self, Debug, Formatter};

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, NodeGuard, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

/// The gradients of the `N` operands of an operation, from that of its result. Those of operands that want none (`false`) are
/// ignored.
type Differential<B, const N: usize> =
    dyn FnOnce(FloatTensor<B>, [bool; N]) -> [Option<FloatTensor<B>>; N] + Send;

/// An operation that was computed. It is one type for all, with a closure that holds what the gradients need, because Burn's code
/// that records an operation is compiled for each type, backend and number of operands.
struct Recorded<B: Backend, const N: usize> {
    gradients: Box<Differential<B, N>>,
}

impl<B: Backend, const N: usize> Debug for Recorded<B, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "an operation with {N} operands")
    }
}

impl<B: Backend, const N: usize> Backward<B, N> for Recorded<B, N> {
    type State = ();

    fn backward(self, ops: Ops<(), N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<B>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let gradients = (self.gradients)(upstream, wanted);
        for (operand, gradient) in ops.parents.into_iter().zip(gradients) {
            if let (Some(operand), Some(gradient)) = (operand, gradient) {
                grads.register::<B>(operand.id, gradient);
            }
        }
    }
}

/// Records that `output` was computed from the operands of these nodes. `gradients` is called at most once, and dropped here if no
/// operand wants a gradient.
pub(super) fn record<B: Backend, C: CheckpointStrategy, const N: usize>(
    operands: [NodeGuard; N],
    output: FloatTensor<B>,
    gradients: impl FnOnce(FloatTensor<B>, [bool; N]) -> [Option<FloatTensor<B>>; N] + Send + 'static,
) -> FloatTensor<Autodiff<B, C>> {
    finish::<B, C, N>(operands, output, Box::new(gradients))
}

fn finish<B: Backend, C: CheckpointStrategy, const N: usize>(
    operands: [NodeGuard; N],
    output: FloatTensor<B>,
    gradients: Box<Differential<B, N>>,
) -> FloatTensor<Autodiff<B, C>> {
    match (Recorded { gradients }).prepare::<C>(operands).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish((), output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    }
}
