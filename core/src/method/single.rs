//! One network and one objective on two views: what most objectives need.

use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::passes::Passes;
use super::state::TRAINED;
use super::{Method, Networks, StateReader, StateWriter, Views};
use crate::batch::Batch;
use crate::checkpoint::CheckpointError;
use crate::error::Result;
use crate::objective::{self, Objective};
use crate::optimizer::Optimizer;
use crate::train::Model;

/// One network and one objective. The objective gets the projections as `view_a` and `view_b`, those of view a also as
/// the class scores `logits`.
#[derive(Debug)]
pub struct Single {
    model: Model,
    objective: Box<dyn Objective>,
    passes: Passes,
}

impl Single {
    /// A network at its random start.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        networks: &Networks,
        objective: Box<dyn Objective>,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        Ok(Self { model: networks.init(device, rng)?, objective, passes: Passes::default() })
    }
}

impl Method for Single {
    fn name(&self) -> &'static str {
        "single"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        self.passes.begin();
        let (a, b) = self.passes.project(&self.model, views);
        let batch =
            context.with_tensor("logits", a.clone()).with_tensor("view_a", a).with_tensor("view_b", b);
        objective::loss(self.objective.as_ref(), &batch)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        self.passes.descend(&mut self.model, loss, optimizer, learning_rate)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.model);
        Ok(())
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.model = state.module(TRAINED, self.model.clone())?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, networks, rng, train};
    use super::*;
    use crate::objective::{CrossEntropy, NtXent};

    #[test]
    fn a_contrastive_and_a_supervised_objective_fall() {
        let labels = Batch::default().with_indices("labels", vec![0, 1, 2, 0, 1, 2]);
        let objectives: [Box<dyn Objective>; 2] =
            [Box::new(NtXent::default()), Box::new(CrossEntropy::default())];
        for objective in objectives {
            let mut method = Single::new(&networks(3), objective, &Device::flex(), &mut rng(1)).unwrap();
            assert!(falls(&train(&mut method, &labels, 4)));
        }
    }
}
