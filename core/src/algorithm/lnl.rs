//! Learning not to learn: a bias predictor on the embeddings, and an encoder trained to make its prediction
//! uncertain.
//!
//! Kim et al., *Learning Not to Learn* (2019), with the losses of [`loss::Lnl`] and [`LnlAdversary`]. The released comparison
//! of Hong and Yang takes two steps for each batch; here one step descends both losses, the entropy of the
//! predictor with fixed parameters and its cross-entropy behind a reversed gradient. The predictor reads the
//! embedding; the paper's reads an early convolution and predicts colours of pixels. Inputs: `labels`, `bias`.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::method::{Meaning, Method, Parts};
use super::passes;
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, MovingAverage, Networks, StateReader, StateWriter, Views};
use crate::error::{Error, Result, single};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::spec::Spec;
use crate::loss::{LnlAdversary, Objective, reverse_gradient};
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::nn::head::{HeadConfig, HeadKind, ProjectionHead};
use crate::optim::Optimizer;

/// A classifier and its adversary.
#[derive(Debug)]
pub struct Lnl {
    trained: Trained,
    objective: loss::Lnl,
    reversal: f64,
}

#[derive(Module, Debug)]
struct Trained {
    model: Model,
    predictor: ProjectionHead,
}

impl Lnl {
    /// A randomly initialised classifier. `predictor` maps embeddings to one score for each value of the bias;
    /// `reversal` (`mu`, 0.1 in the comparison of Hong and Yang) is the weight with which the encoder ascends the
    /// predictor's loss.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        networks: &Networks,
        predictor: &HeadConfig,
        objective: loss::Lnl,
        reversal: f64,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        single("reversal", reversal)?;
        let model = networks.init(device, rng)?;
        let predictor = predictor.init(networks.encoder.embedding_size(), &device.clone().autodiff(), rng)?;
        Ok(Self { trained: Trained { model, predictor }, objective, reversal })
    }
}

impl Algorithm for Lnl {
    fn name(&self) -> &'static str {
        "lnl"
    }

    fn model(&self) -> &Model {
        &self.trained.model
    }

    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>> {
        let Trained { model, predictor } = &self.trained;
        let embeddings = model.encoder.forward(views.a.clone());
        let fixed = MovingAverage::target(predictor);
        let network = context
            .clone()
            .with_tensor("logits", model.head.forward(embeddings.clone()))
            .with_tensor("bias_logits", fixed.forward(embeddings.clone()));
        let reversed = reverse_gradient(embeddings, self.reversal);
        let adversary = context.with_tensor("bias_logits", predictor.forward(reversed));
        Ok(loss::loss(&self.objective, &network)? + loss::loss(&LnlAdversary::default(), &adversary)?)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)
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

/// The settings of [`Lnl`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LnlSettings {
    /// The bias predictor, whose `output` is the number of values of the bias; a linear one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predictor: Option<HeadConfig>,
    /// Weight with which the encoder ascends the loss of the bias predictor. Default: 0.1.
    pub reversal: f64,
}

impl Default for LnlSettings {
    fn default() -> Self {
        Self { predictor: None, reversal: 0.1 }
    }
}

impl Method for LnlSettings {
    fn meanings() -> &'static [Meaning] {
        &[
            (
                "predictor",
                "The network that predicts the bias, with the keys of [head]; a linear one by default.",
            ),
            (
                "reversal",
                "Weight with which the encoder ascends the loss of the bias predictor, 0 or more; 0.1 by default.",
            ),
        ]
    }

    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]] {
        &[["{}", "lnl", "lenet5"]]
    }

    fn check(&self, _objective: &Spec, _steps: u64) -> Result<()> {
        single("method.reversal", self.reversal).map(drop)
    }

    fn build(&self, parts: &Parts<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let Parts { networks, device, .. } = *parts;
        let predictor = bias_predictor(self.predictor.as_ref(), parts.training.biases)?;
        Ok(Box::new(Lnl::new(networks, &predictor, parts.objective.parse()?, self.reversal, device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = step.base();
        workload.add_training_pass(step.samples, &step.network);
        workload
    }
}

/// The network that predicts a bias of `biases` values: the given one, which must have a score for each value, or a linear
/// one.
fn bias_predictor(given: Option<&HeadConfig>, biases: usize) -> Result<HeadConfig> {
    match given {
        Some(given) if biases > 0 && given.output != biases => {
            let reason = format!("expected {biases}, one score for each value of the bias");
            Err(Error::parameter("method.predictor.output", given.output, &reason))
        }
        Some(given) => Ok(given.clone()),
        None if biases == 0 => Err(Error::Degenerate {
            reason: "learning not to learn needs a bias to predict".into(),
            remedy: "set `objective.bias` to a categorical attribute of the data set".into(),
        }),
        None => Ok(HeadConfig { kind: HeadKind::Linear, output: biases, ..HeadConfig::default() }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, networks, refusal, rng, train};
    use super::*;

    fn losses(reversal: f64, steps: usize) -> Vec<f32> {
        let context = Batch::default()
            .with_indices("labels", vec![0, 1, 2, 0, 1, 2])
            .with_indices("bias", vec![0, 0, 1, 1, 0, 1]);
        let (classifier, predictor) = (networks(3), networks(2).head);
        let mut algorithm =
            Lnl::new(&classifier, &predictor, loss::Lnl::default(), reversal, &Device::flex(), &mut rng(7))
                .unwrap();
        train(&mut algorithm, &context, steps)
    }

    #[test]
    fn it_learns() {
        assert!(falls(&losses(0.1, 4)));
    }

    #[test]
    fn a_stronger_reversal_holds_the_predictor_back() {
        let (weak, strong) = (losses(0.0, 12), losses(5.0, 12));
        assert_eq!(weak[0], strong[0]);
        assert!(strong[11] > weak[11], "{strong:?} is not above {weak:?}");
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert!(refusal(r#"{"name": "lnl", "reversal": -1}"#, "lnl").contains("method.reversal"));
        let error = refusal(r#"{"name": "lnl", "predictor": {"kind": "mlp"}}"#, "lnl");
        assert!(error.contains("method.predictor.output"), "{error}");
    }
}
