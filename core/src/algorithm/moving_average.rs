//! The exponential moving average of a network.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::Tensor;

use crate::error::{Result, within};

/// The exponential moving average of a network: the momentum encoder of MoCo, the target network of BYOL.
///
/// ```text
/// target <- m target + (1 - m) online,   m = 1 - (1 - momentum) (cos(pi k / steps) + 1) / 2
/// ```
///
/// at update `k`, from 0; with a constant momentum `m = momentum`. Parameters are averaged; running statistics of batch norm
/// are not: the target keeps its own statistics, as in the released code of BYOL and MoCo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovingAverage {
    momentum: f64,
    steps: Option<u64>,
    /// Number of steps so far, with which the momentum rises.
    pub(super) steps_done: u64,
}

impl MovingAverage {
    /// The same momentum at every step, from 0 to 1: 0.999 in MoCo, 0.99 in `byol-pytorch`, a widely used implementation of BYOL.
    ///
    /// # Errors
    /// The momentum is out of range.
    pub fn constant(momentum: f64) -> Result<Self> {
        within("momentum", momentum, 0.0, 1.0)?;
        Ok(Self { momentum, steps: None, steps_done: 0 })
    }

    /// A momentum that rises to 1 over `steps` steps along a cosine: from 0.996 in BYOL's paper.
    ///
    /// # Errors
    /// The momentum is out of range.
    pub fn rising(momentum: f64, steps: u64) -> Result<Self> {
        Ok(Self { steps: Some(steps.max(1)), ..Self::constant(momentum)? })
    }

    /// The momentum of the next step.
    pub fn momentum(&self) -> f64 {
        match self.steps {
            None => self.momentum,
            Some(steps) => {
                let share = self.steps_done.min(steps) as f64 / steps as f64;
                1.0 - (1.0 - self.momentum) * ((std::f64::consts::PI * share).cos() + 1.0) / 2.0
            }
        }
    }

    /// A copy of a network that is trained by averaging only.
    pub fn target<M: Module>(online: &M) -> M {
        // Through `valid`: a plain clone shares its running statistics with the original.
        online.valid().train().no_grad()
    }

    /// One step of `target` towards `online` after a step of training. While the optimiser only accumulates gradients, `online`
    /// stands still: then the target does too, and the step counts for the momentum alone.
    pub(super) fn update_after_step<M: Module>(&mut self, target: M, online: &M, is_updated: bool) -> M {
        if is_updated {
            return self.update(target, online);
        }
        self.steps_done += 1;
        target
    }

    /// One step of `target` towards `online`, which must have been [its origin](Self::target).
    pub fn update<M: Module>(&mut self, target: M, online: &M) -> M {
        let momentum = self.momentum();
        self.steps_done += 1;
        let mut values = Values::default();
        online.visit(&mut values);
        target.map(&mut AverageById { online: values.by_id, momentum })
    }
}

/// The parameters of a network, flattened.
#[derive(Default)]
struct Values {
    by_id: BTreeMap<ParamId, Tensor<1>>,
}

impl ModuleVisitor for Values {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = param.val();
        if value.is_require_grad() {
            let count = value.shape().num_elements();
            self.by_id.insert(param.id, value.without_autodiff().reshape([count]));
        }
    }
}

/// Maps a target network to its average with the online one.
struct AverageById {
    online: BTreeMap<ParamId, Tensor<1>>,
    momentum: f64,
}

impl ModuleMapper for AverageById {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        match self.online.remove(&param.id) {
            Some(online) => interpolate(param, online, self.momentum),
            None => param,
        }
    }
}

/// `momentum * param + (1 - momentum) * online`, where `online` holds the values of the other network, flattened.
pub(crate) fn interpolate<const D: usize>(
    param: Param<Tensor<D>>,
    online: Tensor<1>,
    momentum: f64,
) -> Param<Tensor<D>> {
    let (id, tensor, mapper) = param.consume();
    let (shape, tracked) = (tensor.shape(), tensor.is_autodiff());
    let online: Tensor<D> = online.reshape(shape);
    let averaged = tensor.without_autodiff() * momentum + online * (1.0 - momentum);
    Param::from_mapped_value(id, if tracked { averaged.autodiff() } else { averaged }, mapper)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;

    #[derive(Module, Debug)]
    struct Layer {
        weight: Param<Tensor<1>>,
    }

    fn layer(value: f64) -> Layer {
        let device = Device::flex().autodiff();
        Layer { weight: Param::from_tensor(Tensor::from_data([value], (&device, DType::F64))) }
    }

    fn value(layer: &Layer) -> f64 {
        layer.weight.val().inner().into_scalar::<f64>()
    }

    #[test]
    fn the_target_follows_by_the_formula() {
        let online = layer(1.0);
        let mut target = MovingAverage::target(&online);
        let moved = online.clone().map(&mut AverageById {
            online: [(online.weight.id, Tensor::from_data([3.0], (&Device::flex(), DType::F64)))].into(),
            momentum: 0.0,
        });
        let moved = Layer { weight: moved.weight.map(|w| w.inner().autodiff().require_grad()) };
        let mut average = MovingAverage::constant(0.9).unwrap();
        for step in 1..=3 {
            target = average.update(target, &moved);
            let expected = 3.0 - 2.0 * 0.9_f64.powi(step);
            assert!((value(&target) - expected).abs() < 1e-12);
        }
        assert!(!target.weight.val().is_require_grad());
        assert_eq!(value(&online), 1.0);
    }

    #[test]
    fn a_rising_momentum_ends_at_one() {
        let mut average = MovingAverage::rising(0.996, 10).unwrap();
        assert!((average.momentum() - 0.996).abs() < 1e-12);
        let mut target = layer(0.0);
        let online = layer(1.0);
        let mut before = 0.0;
        for _ in 0..10 {
            assert!(average.momentum() > before);
            before = average.momentum();
            target = average.update(target, &online);
        }
        assert_eq!(average.momentum(), 1.0);
        assert!(MovingAverage::constant(1.5).unwrap_err().to_string().contains("momentum"));
    }
}
