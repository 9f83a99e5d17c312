//! Parts of a network whose gradients are written by hand, and how they join those that autodiff finds.

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{Gradients, Tensor};

use super::{lenet, resnet};

/// What a training step keeps of such a part.
#[derive(Debug)]
pub(super) enum Tape {
    LeNet5(Box<lenet::Tape>),
    ResNet(Box<resnet::Tape>),
}

impl Tape {
    /// Goes on from the gradient where autodiff has stopped.
    pub(super) fn finish(self, gradients: &mut Gradients, parameters: &mut GradientsParams) {
        match self {
            Self::LeNet5(tape) => tape.finish(gradients, parameters),
            Self::ResNet(tape) => tape.finish(gradients, parameters),
        }
    }
}

/// Adds the gradient of a parameter: two forward passes in one step add up.
pub(super) fn accumulate<const D: usize>(parameters: &mut GradientsParams, id: ParamId, gradient: Tensor<D>) {
    let sum = match parameters.remove::<D>(id) {
        Some(before) => before + gradient,
        None => gradient,
    };
    parameters.register(id, sum);
}
