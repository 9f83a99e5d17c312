//! Gradient accumulation over several batches.
//!
//! The mean is the gradient of the mean of the batches' losses. It differs from the gradient of one large batch if
//! the loss compares samples with each other, because each sample is only compared within its batch. The algorithm
//! [`GradCache`](crate::algorithm::GradCache) computes the gradient of the large batch.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::optimizer::{ACCUMULATED, Optimizer};
use crate::nn::names::TensorPath;

impl Optimizer {
    /// Adds gradients to the accumulated ones; returns their mean once `accumulate` of them are there.
    pub(super) fn accumulated<M: Module>(
        &mut self,
        module: &M,
        gradients: GradientsParams,
    ) -> Option<GradientsParams> {
        self.accumulated_gradients += 1;
        let is_due = self.accumulated_gradients >= self.accumulate;
        let mut sum = Sum {
            path: TensorPath::default(),
            optimizer: self,
            gradients,
            mean: GradientsParams::new(),
            is_due,
        };
        module.visit(&mut sum);
        let mean = sum.mean;
        if is_due {
            self.accumulated_gradients = 0;
        }
        is_due.then_some(mean)
    }
}

struct Sum<'a> {
    path: TensorPath,
    optimizer: &'a mut Optimizer,
    gradients: GradientsParams,
    mean: GradientsParams,
    is_due: bool,
}

impl ModuleVisitor for Sum<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        self.path.exit(container);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let key = format!("{}.{ACCUMULATED}", self.path.name());
        let fresh = self.gradients.remove::<D>(param.id).map(|gradient| {
            let count = gradient.shape().num_elements();
            gradient.reshape([count])
        });
        let sum = match (self.optimizer.slots.remove(&key), fresh) {
            (Some(sum), Some(fresh)) => sum + fresh,
            (Some(sum), None) | (None, Some(sum)) => sum,
            (None, None) => return,
        };
        if self.is_due {
            let mean = sum / self.optimizer.accumulated_gradients as f64;
            self.mean.register(param.id, mean.reshape::<D, _>(param.val().shape()));
        } else {
            self.optimizer.slots.insert(key, sum);
        }
    }
}
