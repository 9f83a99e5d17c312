//! Prototypes that are trained with the network: SwAV.
//!
//! Caron et al., *Unsupervised Learning of Visual Features by Contrasting Cluster Assignments* (2020), with the loss of
//! [`Swav`]. Prototypes are unit rows; they are drawn at random, normalised after every step, and stand still during
//! the first `frozen_steps` (313 in the released recipe, one epoch). Published: 3000 prototypes. The queue of earlier
//! embeddings, which small batches need for an even assignment, is not here.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::passes::Passes;
use super::state::TRAINED;
use super::{Method, Networks, StateReader, StateWriter, Views};
use crate::batch::Batch;
use crate::checkpoint::CheckpointError;
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::objective::{self, Objective, Swav};
use crate::optimizer::Optimizer;
use crate::similarity::UnitRows;
use crate::train::Model;

/// A network and its prototypes.
#[derive(Debug)]
pub struct Prototypes {
    trained: Trained,
    objective: Swav,
    frozen_steps: u64,
    steps: u64,
    passes: Passes,
}

#[derive(Module, Debug)]
struct Trained {
    model: Model,
    prototypes: Param<Tensor<2>>,
}

impl Prototypes {
    /// A network at its random start with `prototypes` random directions.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        networks: &Networks,
        objective: Swav,
        prototypes: usize,
        frozen_steps: u64,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        if prototypes == 0 {
            return Err(Error::parameter("prototypes", 0, "expected 1 or more"));
        }
        let model = networks.init(device, rng)?;
        let drawn = Matrix::from_fn(prototypes, networks.head.output, |_, _| StandardNormal.sample(rng));
        let unit = UnitRows::normalise(drawn.to_tensor(device, DType::F32)).rows();
        let trained = Trained { model, prototypes: Param::from_tensor(unit.autodiff()) };
        Ok(Self { trained, objective, frozen_steps, steps: 0, passes: Passes::default() })
    }

    /// The prototypes, unit rows `[K, d]`.
    pub fn prototypes(&self) -> Tensor<2> {
        self.trained.prototypes.val().without_autodiff()
    }
}

impl Method for Prototypes {
    fn name(&self) -> &'static str {
        "swav"
    }

    fn model(&self) -> &Model {
        &self.trained.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        self.passes.begin();
        let (a, b) = self.passes.project(&self.trained.model, views);
        let prototypes = self.trained.prototypes.val();
        let prototypes =
            if self.steps < self.frozen_steps { prototypes.without_autodiff() } else { prototypes };
        let batch =
            context.with_tensor("view_a", a).with_tensor("view_b", b).with_tensor("prototypes", prototypes);
        objective::loss(&self.objective, &batch)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        self.passes.descend(&mut self.trained, loss, optimizer, learning_rate)?;
        let unit =
            |rows: Tensor<2>| UnitRows::normalise(rows.without_autodiff()).rows().autodiff().require_grad();
        self.trained.prototypes = self.trained.prototypes.clone().map(unit);
        self.steps += 1;
        Ok(())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        state.value("steps", &self.steps)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        self.steps = state.value("steps")?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, networks, rng, train};
    use super::*;

    fn method(frozen_steps: u64) -> Prototypes {
        Prototypes::new(&networks(4), Swav::default(), 3, frozen_steps, &Device::flex(), &mut rng(3)).unwrap()
    }

    fn moved(method: &mut Prototypes, steps: usize) -> f32 {
        let before = method.prototypes();
        train(method, &Batch::default(), steps);
        (method.prototypes() - before).abs().max().into_scalar()
    }

    #[test]
    fn prototypes_stand_still_and_then_move_on_the_sphere() {
        let mut method = method(2);
        assert!(moved(&mut method, 2) < 1e-6);
        assert!(moved(&mut method, 2) > 1e-5);
        let lengths = method.prototypes().square().sum_dim(1).sqrt();
        assert!((lengths - 1.0).abs().max().into_scalar::<f32>() < 1e-6);
    }

    #[test]
    fn it_learns() {
        assert!(falls(&train(&mut method(0), &Batch::default(), 6)));
    }
}
