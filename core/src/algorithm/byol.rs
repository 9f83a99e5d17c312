//! Bootstrap your own latent.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, Meaning, check_momentum};
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, MovingAverage, StateReader, StateWriter, Views};
use crate::error::{Error, Result};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::nn::head::{HeadConfig, HeadKind, ProjectionHead};
use crate::optim::Optimizer;

/// A network with a predictor, and the average of the network.
///
/// Bootstrap your own latent (BYOL): a predictor on the network predicts the projections of a slowly following target
/// network.
///
/// Grill et al., *Bootstrap Your Own Latent* (2020), with the loss of [`loss::Byol`]. The paper's head and predictor have a
/// hidden layer of 4096 and an output of 256; its momentum rises from 0.996 to 1
/// ([`MovingAverage::rising`]). Predictor and network share the optimiser.
#[derive(Debug)]
pub struct Byol {
    trained: TrainedNetworks,
    target: Model,
    average: MovingAverage,
}

#[derive(Module, Debug)]
struct TrainedNetworks {
    model: Model,
    predictor: ProjectionHead,
}

impl Byol {
    /// A randomly initialised network. The predictor maps projections to projections.
    ///
    /// # Errors
    /// A setting is out of range, or the predictor's output is not as wide as the head's.
    pub fn new(
        network: &ModelConfig,
        predictor: &HeadConfig,
        average: MovingAverage,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        if predictor.output != network.head.output {
            let reason = format!("expected the width of the projections, {}", network.head.output);
            return Err(Error::parameter("method.predictor.output", predictor.output, &reason));
        }
        let model = network.init(device, rng)?;
        let predictor = predictor.init(network.head.output, &device.clone().autodiff(), rng)?;
        let target = MovingAverage::target(&model);
        Ok(Self { target, trained: TrainedNetworks { model, predictor }, average })
    }
}

impl Algorithm for Byol {
    fn name(&self) -> &'static str {
        "byol"
    }

    fn model(&self) -> &Model {
        &self.trained.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let predictor = &self.trained.predictor;
        let [a, b] = passes::project(&self.trained.model, views);
        let [predicted_a, predicted_b] = match views.per_view_batch_norm {
            true => [a, b].map(|rows| predictor.forward(rows)),
            false => passes::halves(predictor.forward(Tensor::cat(vec![a, b], 0))),
        };
        let [target_a, target_b] = passes::project(&self.target, views).map(Tensor::without_autodiff);
        let batch = context
            .with_tensor("view_a", predicted_a)
            .with_tensor("view_b", predicted_b)
            .with_tensor("target_a", target_a)
            .with_tensor("target_b", target_b);
        loss::loss(&loss::Byol::default(), &batch)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        let updates = optimizer.steps();
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)?;
        let is_updated = optimizer.steps() > updates;
        self.target = self.average.update_after_step(self.target.clone(), &self.trained.model, is_updated);
        Ok(())
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        state.module("target", &self.target);
        state.value("averaged", &self.average.steps_done)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        self.trained = state.module(TRAINED, self.trained.clone())?;
        self.target = state.module("target", self.target.clone())?;
        self.average.steps_done = state.value("averaged")?;
        Ok(())
    }
}

/// The settings of [`Byol`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByolSettings {
    /// Momentum of the target at the first step. Default: 0.996, as published.
    pub momentum: f64,
    /// True if the momentum rises to 1 over training. Default: true, as published.
    pub rising: bool,
    /// The network from projections to predictions. Default: the layers of the head, without an activation
    /// before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictor: Option<HeadConfig>,
}

impl Default for ByolSettings {
    fn default() -> Self {
        Self { momentum: 0.996, rising: true, predictor: None }
    }
}

impl AlgorithmSettings for ByolSettings {
    fn meanings() -> &'static [Meaning] {
        &[
            (
                "momentum",
                "Momentum of the network that follows the trained one, 0 to below 1, at the first iteration; 0.996 by default.",
            ),
            ("rising", "True (the default): the momentum rises to 1 over the run."),
            (
                "predictor",
                "The network that predicts projections, with the keys of [head]; by default with the layers of the head.",
            ),
        ]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[[r#"{"momentum": 0.9}"#, "byol", "lenet5"]]
    }

    fn check(&self, _objective: &Spec, _steps: u64) -> Result<()> {
        check_momentum(self.momentum)
    }

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let average = match self.rising {
            true => MovingAverage::rising(self.momentum, context.steps)?,
            false => MovingAverage::constant(self.momentum)?,
        };
        let predictor = self.predictor.clone().unwrap_or_else(|| like(&context.network.head));
        Ok(Box::new(Byol::new(context.network, &predictor, average, context.device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = step.base();
        workload.fixed = workload.trained;
        workload.add_training_pass(2 * step.samples, &step.network);
        workload.add_forward_work(2 * step.samples, &step.network);
        workload
    }
}

/// The layers of a head, for projections: an activation before the first layer applies to embeddings only.
fn like(head: &HeadConfig) -> HeadConfig {
    let kind = if head.kind == HeadKind::MlpActivated { HeadKind::Mlp } else { head.kind };
    HeadConfig { kind, ..head.clone() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, refusal, rng, train};
    use super::*;

    #[test]
    fn it_learns() {
        let network = network(8);
        let average = MovingAverage::rising(0.9, 10).unwrap();
        let mut algorithm =
            Byol::new(&network, &network.head, average, &Device::flex(), &mut rng(2)).unwrap();
        assert!(falls(&train(&mut algorithm, &Batch::default(), 4)));
    }

    #[test]
    fn a_predictor_of_another_width_is_an_error() {
        let narrow = HeadConfig { output: 3, ..network(8).head };
        let average = MovingAverage::constant(0.9).unwrap();
        let refusal = Byol::new(&network(8), &narrow, average, &Device::flex(), &mut rng(2));
        assert!(refusal.unwrap_err().to_string().contains("method.predictor.output"));
    }

    #[test]
    fn a_momentum_out_of_range_is_named() {
        assert!(refusal(r#"{"name": "byol", "momentum": 2}"#, "byol").contains("method.momentum"));
        assert!(
            refusal(r#"{"name": "byol", "momentum": 1.0}"#, "byol").contains("the average never changes")
        );
    }
}
