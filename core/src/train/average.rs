//! The exponential moving average of a network over its updates: `average <- m average + (1 - m) network`.
//!
//! Running statistics of batch norm are averaged together with the parameters, so that the average can be evaluated
//! directly; the momentum encoders of algorithms ([`MovingAverage`]) process batches, and have separate statistics.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::Tensor;

use crate::algorithm::{MovingAverage, StateReader, StateWriter, interpolate};
use crate::nn::Model;
use crate::nn::checkpoint::{CheckpointError, Flat, flattened};
use crate::nn::names::TensorPath;

/// Its name in the state of a run.
const AVERAGE: &str = "average";

/// A network and the momentum of its average.
#[derive(Debug)]
pub(super) struct Average {
    momentum: f64,
    model: Model,
}

impl Average {
    pub(super) fn new(momentum: f64, online: &Model) -> Self {
        Self { momentum, model: MovingAverage::target(online) }
    }

    pub(super) fn model(&self) -> &Model {
        &self.model
    }

    /// One step towards `online`.
    pub(super) fn update(&mut self, online: &Model) {
        let values =
            flattened("", online).into_iter().map(|Flat { name, values, .. }| (name, values)).collect();
        let mut average =
            AverageByName { path: TensorPath::default(), online: values, momentum: self.momentum };
        self.model = self.model.clone().map(&mut average);
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        state.module(AVERAGE, &self.model);
    }

    pub(super) fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.model = state.module(AVERAGE, self.model.clone())?;
        Ok(())
    }
}

/// Maps the average to its mean with the online network, tensor by tensor of the same name.
struct AverageByName {
    path: TensorPath,
    online: BTreeMap<String, Tensor<1>>,
    momentum: f64,
}

impl ModuleMapper for AverageByName {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, container: &str) {
        self.path.exit(container);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        match self.online.remove(&self.path.name()) {
            Some(online) => interpolate(param, online, self.momentum),
            None => param,
        }
    }
}
