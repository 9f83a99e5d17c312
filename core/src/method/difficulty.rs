//! Difficulty-based weighting: a second network that learns the bias says which negatives are hard.
//!
//! Jang and Wang, *Difficulty-Based Sampling for Debiased Contrastive Representation Learning* (2023): the
//! bias-amplifying network `E_b` descends the triplet loss of [`WclTriplet`], the debiased network `E_d` a weighted loss
//! ([`WclWeightedInfoNce`](objective::WclWeightedInfoNce), or
//! [`WclWeightedDcl`](objective::WclWeightedDcl) as released) whose weights compare the two. The networks share
//! nothing and the weights carry no gradient, so one optimiser on the sum of both losses trains them apart. `E_d` is
//! the one that is evaluated, unless the other is asked for: the paper's tables have both.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::passes::Passes;
use super::state::TRAINED;
use super::{Method, Networks, StateReader, StateWriter, Views};
use crate::batch::Batch;
use crate::checkpoint::CheckpointError;
use crate::error::Result;
use crate::objective::{self, Objective, WclTriplet};
use crate::optimizer::Optimizer;
use crate::train::Model;

/// The debiased and the bias-amplifying network.
#[derive(Debug)]
pub struct DifficultyWeighted {
    trained: Trained,
    triplet: WclTriplet,
    weighted: Box<dyn Objective>,
    evaluated: DifficultyEncoder,
    passes: Passes,
}

/// Which of the two networks is evaluated and exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifficultyEncoder {
    /// `E_d`.
    #[default]
    Debiased,
    /// `E_b`.
    BiasAmplifying,
}

#[derive(Module, Debug)]
struct Trained {
    debiased: Model,
    biased: Model,
}

impl DifficultyWeighted {
    /// Two networks at their random starts, of which [`Method::model`] is the one to be `evaluated`.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        networks: &Networks,
        triplet: WclTriplet,
        weighted: Box<dyn Objective>,
        evaluated: DifficultyEncoder,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        triplet.check()?;
        weighted.check()?;
        let trained = Trained { debiased: networks.init(device, rng)?, biased: networks.init(device, rng)? };
        Ok(Self { trained, triplet, weighted, evaluated, passes: Passes::default() })
    }
}

impl Method for DifficultyWeighted {
    fn name(&self) -> &'static str {
        "difficulty"
    }

    fn model(&self) -> &Model {
        match self.evaluated {
            DifficultyEncoder::Debiased => &self.trained.debiased,
            DifficultyEncoder::BiasAmplifying => &self.trained.biased,
        }
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        self.passes.begin();
        let (a, b) = self.passes.project(&self.trained.debiased, views);
        let (a_biased, b_biased) = self.passes.project(&self.trained.biased, views);
        let batch = context
            .with_tensor("view_a", a)
            .with_tensor("view_b", b)
            .with_tensor("view_a_biased", a_biased)
            .with_tensor("view_b_biased", b_biased);
        Ok(objective::loss(&self.triplet, &batch)? + objective::loss(self.weighted.as_ref(), &batch)?)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        self.passes.descend(&mut self.trained, loss, optimizer, learning_rate)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        Ok(())
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::passes::project_constant;
    use super::super::testing::{falls, networks, rng, train, views};
    use super::*;
    use crate::objective::WclWeightedInfoNce;

    fn method(evaluated: DifficultyEncoder) -> DifficultyWeighted {
        let weighted = Box::new(WclWeightedInfoNce::default());
        let triplet = WclTriplet::default();
        DifficultyWeighted::new(&networks(4), triplet, weighted, evaluated, &Device::flex(), &mut rng(4))
            .unwrap()
    }

    #[test]
    fn it_learns() {
        assert!(falls(&train(&mut method(DifficultyEncoder::Debiased), &Batch::default(), 4)));
    }

    #[test]
    fn both_networks_move_and_either_is_evaluated() {
        let of = |evaluated| {
            let mut method = method(evaluated);
            let project = |method: &DifficultyWeighted| project_constant(method.model(), &views(6, 9)).0;
            let before = project(&method);
            train(&mut method, &Batch::default(), 1);
            let after = project(&method);
            assert!((after.clone() - before).abs().max().into_scalar::<f32>() > 1e-5);
            after
        };
        let difference = of(DifficultyEncoder::Debiased) - of(DifficultyEncoder::BiasAmplifying);
        assert!(difference.abs().max().into_scalar::<f32>() > 1e-3);
    }
}
