//! A network divided into sections. A backward pass can pause between two sections, so that the gradients of the later layers are
//! used while those of the earlier layers are computed. Unlike the steps of [`norm_steps`](super::norm_steps), sections are layers of
//! the plain forward pass, with the statistics of their own input.

use burn::module::{Module, ParamId, list_param_ids};
use burn::tensor::Tensor;

/// Layers with the parameters that only they have.
pub(crate) struct Section<'n> {
    layers: Box<dyn Fn(Tensor<4>) -> Tensor<4> + 'n>,
    parameters: Vec<ParamId>,
}

impl<'n> Section<'n> {
    /// A section of layers, from tensors in the form of [`Flow::maps`](super::Flow::maps) to others.
    pub(super) fn of(layers: impl Fn(Tensor<4>) -> Tensor<4> + 'n) -> Self {
        Self { layers: Box::new(layers), parameters: Vec::new() }
    }

    /// Adds the parameters of a layer.
    pub(super) fn with(mut self, layer: &impl Module) -> Self {
        self.parameters.extend(list_param_ids(layer));
        self
    }

    /// Its parameters.
    pub(crate) fn parameters(&self) -> &[ParamId] {
        &self.parameters
    }

    /// Its forward pass.
    pub(crate) fn forward(&self, maps: Tensor<4>) -> Tensor<4> {
        (self.layers)(maps)
    }
}
