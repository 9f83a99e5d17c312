//! The visits of a module by a step: the norm of all gradients, and the update of each tensor that has one.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use crate::nn::names::TensorPath;

/// The factor that shortens the gradients of a module to a norm of at most `length`, as PyTorch's `clip_grad_norm_`; `None`
/// without gradients.
pub(super) fn clip_factor<M: Module>(
    module: &M,
    gradients: &GradientsParams,
    length: f64,
) -> Option<Tensor<1>> {
    let mut sum = SquareSum { gradients, total: None };
    module.visit(&mut sum);
    sum.total.map(|total| (total.sqrt() + 1e-6).recip().mul_scalar(length).clamp_max(1.0))
}

/// Adds up the squares of all gradients.
struct SquareSum<'a> {
    gradients: &'a GradientsParams,
    total: Option<Tensor<1>>,
}

impl ModuleVisitor for SquareSum<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.gradients.get::<D>(param.id) {
            let squares = gradient.square().sum();
            self.total = Some(match self.total.take() {
                Some(total) => total + squares,
                None => squares,
            });
        }
    }
}

/// A tensor with its gradient, both flattened.
pub(super) struct Flattened<'a> {
    pub(super) name: &'a str,
    pub(super) weight: Tensor<1>,
    pub(super) gradient: Tensor<1>,
    /// True of biases and normalisation.
    pub(super) is_vector: bool,
}

/// Updates each tensor that has a gradient.
pub(super) struct Update<'a> {
    pub(super) path: TensorPath,
    pub(super) gradients: &'a mut GradientsParams,
    /// The factor of all gradients.
    pub(super) scale: Option<Tensor<1>>,
    /// Gives the values of a tensor after the step.
    pub(super) updated: &'a mut dyn FnMut(Flattened<'_>) -> Tensor<1>,
}

impl ModuleMapper for Update<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        self.path.exit(container);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove::<D>(param.id) else { return param };
        let (id, tensor, mapper) = param.consume();
        let (shape, count) = (tensor.shape(), tensor.shape().num_elements());
        let (tracked, required) = (tensor.is_autodiff(), tensor.is_require_grad());
        let strategy = tensor.gradient_checkpointing_strategy();

        let gradient = gradient.reshape([count]);
        let gradient = match &self.scale {
            Some(scale) => gradient * scale.clone(),
            None => gradient,
        };
        let weight = tensor.without_autodiff().reshape([count]);
        let name = self.path.name();
        // One bias is a row of two dimensions.
        let is_vector = D == 1 || name.ends_with("bias");
        let flattened = Flattened { name: &name, weight, gradient, is_vector };
        let updated: Tensor<D> = (self.updated)(flattened).reshape(shape);

        let updated = if tracked { updated.autodiff() } else { updated };
        let updated = match strategy {
            Some(strategy) => updated.with_gradient_checkpointing_strategy(strategy),
            None => updated,
        };
        Param::from_mapped_value(id, updated.set_require_grad(required), mapper)
    }
}
