//! Learning not to learn.

use burn::module::Module;
use burn::optim::GradientsAccumulator;
use burn::tensor::{Device, Tensor};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::passes;
use super::settings::{AlgorithmContext, AlgorithmSettings, Meaning};
use super::state::TRAINED;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, MovingAverage, StateReader, StateWriter, Views};
use crate::error::{Error, Result, single};
use crate::loss;
use crate::loss::batch::Batch;
use crate::loss::logits::below;
use crate::loss::spec::Spec;
use crate::loss::{LnlAdversary, Objective, reverse_gradient};
use crate::nn::Model;
use crate::nn::checkpoint::{CheckpointError, STATE_KEY};
use crate::nn::head::{HeadConfig, HeadKind, ProjectionHead};
use crate::optim::Optimizer;

/// A classifier and its adversary.
///
/// Learning not to learn: a bias predictor on the embeddings, and an encoder trained to make its prediction
/// uncertain.
///
/// Kim et al., *Learning Not to Learn* (2019), with the losses of [`loss::Lnl`] and [`LnlAdversary`], in two steps for
/// each batch, as in the released comparison of Hong and Yang. First the network descends [`loss::Lnl`], with the
/// predictor fixed. Then the images pass through the updated network once more, and the predictor descends its
/// cross-entropy behind a reversed gradient, which the encoder ascends. In the second step the head has no gradient and is
/// not updated; in the released code its gradient is 0, and Adam's momentum and weight decay still change it.
/// An optimiser that accumulates gradients takes the sum of both losses, on the same weights. The loss of a batch is
/// that of the first step.
///
/// The predictor reads the embedding; that of the comparison reads maps in the middle of the network, and the paper's
/// reads an early convolution and predicts colours of pixels. Inputs: `labels`, `bias`.
#[derive(Debug)]
pub struct Lnl {
    trained: TrainedNetworks,
    objective: loss::Lnl,
    reversal: f64,
    /// The images and the inputs of the batch, for the second step.
    pending: Option<(Tensor<4>, Batch)>,
}

#[derive(Module, Debug)]
struct TrainedNetworks {
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
        network: &ModelConfig,
        predictor: &HeadConfig,
        objective: loss::Lnl,
        reversal: f64,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<Self> {
        objective.check()?;
        single("reversal", reversal)?;
        let model = network.init(device, rng)?;
        let predictor = predictor.init(network.encoder.embedding_size(), &device.clone().autodiff(), rng)?;
        Ok(Self { trained: TrainedNetworks { model, predictor }, objective, reversal, pending: None })
    }

    /// The loss of the second step: the predictor descends it, and the encoder ascends it.
    fn adversary_loss(&self, images: Tensor<4>, context: Batch) -> Result<Tensor<1>> {
        let TrainedNetworks { model, predictor } = &self.trained;
        let reversed = reverse_gradient(model.encoder.forward(images), self.reversal);
        loss::loss(&LnlAdversary::default(), &context.with_tensor("bias_logits", predictor.forward(reversed)))
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
        let TrainedNetworks { model, predictor } = &self.trained;
        let embeddings = model.encoder.forward(views.a.clone());
        let bias_logits = MovingAverage::target(predictor).forward(embeddings.clone());
        let [rows, bias_count] = bias_logits.dims();
        let batch = context
            .clone()
            .with_tensor("logits", model.head.forward(embeddings))
            .with_tensor("bias_logits", bias_logits);
        // A bias that the second step cannot take is an error before the first one moves the network.
        below("bias", &context.indices(LnlAdversary::default().name(), "bias", rows)?, bias_count)?;
        let loss = loss::loss(&self.objective, &batch)?;
        self.pending = Some((views.a.clone(), context));
        Ok(loss)
    }

    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()> {
        let Some((images, context)) = self.pending.take() else {
            return passes::descend(&mut self.trained, loss, optimizer, learning_rate);
        };
        if optimizer.accumulates() {
            // One after the other: each keeps its activations until it is differentiated.
            let mut sum = GradientsAccumulator::new();
            sum.accumulate(&self.trained, passes::gradients(&self.trained, loss)?);
            let adversary = self.adversary_loss(images, context)?;
            sum.accumulate(&self.trained, passes::gradients(&self.trained, adversary)?);
            self.trained = optimizer.step(learning_rate, self.trained.clone(), sum.grads());
            return Ok(());
        }
        passes::descend(&mut self.trained, loss, optimizer, learning_rate)?;
        let adversary = self.adversary_loss(images, context)?;
        passes::descend(&mut self.trained, adversary, optimizer, learning_rate)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError> {
        state.module(TRAINED, &self.trained);
        state.value(STEPS_PER_BATCH, &2)
    }

    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError> {
        if state.value::<Option<u64>>(STEPS_PER_BATCH)? != Some(2) {
            return Err(CheckpointError::Metadata {
                key: STATE_KEY,
                reason: "is of another version, most of which took one step a batch for `lnl`; train it anew"
                    .into(),
            });
        }
        self.trained = state.module(TRAINED, self.trained.clone())?;
        Ok(())
    }
}

/// The value of the state that tells it from those of versions which took one step a batch: 2.
const STEPS_PER_BATCH: &str = "steps_per_batch";

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

impl AlgorithmSettings for LnlSettings {
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

    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>> {
        let AlgorithmContext { network, device, .. } = *context;
        let predictor = bias_predictor(self.predictor.as_ref(), context.training.bias_count)?;
        Ok(Box::new(Lnl::new(network, &predictor, context.objective.parse()?, self.reversal, device, rng)?))
    }

    fn workload(&self, step: &StepContext<'_>) -> Workload {
        let mut workload = step.base();
        workload.add_training_pass(step.samples, &step.network);
        // The pass of the second step begins when the activations of the first one are gone.
        workload.add_training_work(step.samples, &step.network);
        workload
    }
}

/// The network that predicts a bias of `bias_count` values: the given one, which must have a score for each value, or a linear
/// one.
fn bias_predictor(predictor: Option<&HeadConfig>, bias_count: usize) -> Result<HeadConfig> {
    match predictor {
        _ if bias_count == 0 => Err(Error::Degenerate {
            reason: "learning not to learn needs a bias to predict".into(),
            remedy: "set `objective.bias` to a categorical attribute of the data set".into(),
        }),
        Some(predictor) if predictor.output != bias_count => {
            let reason = format!("expected {bias_count}, one score for each value of the bias");
            Err(Error::parameter("method.predictor.output", predictor.output, &reason))
        }
        Some(predictor) => Ok(predictor.clone()),
        None => Ok(HeadConfig { kind: HeadKind::Linear, output: bias_count, ..HeadConfig::default() }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{falls, network, refusal, rng, train, views};
    use super::*;
    use crate::nn::checkpoint::{Archive, flattened};
    use crate::optim::OptimizerConfig;

    fn context() -> Batch {
        Batch::default()
            .with_indices("labels", vec![0, 1, 2, 0, 1, 2])
            .with_indices("bias", vec![0, 0, 1, 1, 0, 1])
    }

    fn algorithm(reversal: f64) -> Lnl {
        let (classifier, predictor) = (network(3), network(2).head);
        Lnl::new(&classifier, &predictor, loss::Lnl::default(), reversal, &Device::flex(), &mut rng(7))
            .unwrap()
    }

    fn weights<M: Module>(module: &M) -> Vec<f32> {
        let values = flattened("", module).into_iter().map(|tensor| tensor.values.into_data());
        values.flat_map(|values| values.iter::<f32>().collect::<Vec<_>>()).collect()
    }

    #[test]
    fn it_learns() {
        assert!(falls(&train(&mut algorithm(0.1), &context(), 4)));
    }

    #[test]
    fn a_batch_moves_the_network_and_then_the_predictor_on_the_moved_network() {
        let (rate, batch) = (1e-3, views(6, 7));
        let [mut first, mut second] = [0, 1].map(|_| Optimizer::new(OptimizerConfig::default()).unwrap());
        let (mut whole, mut by_hand) = (algorithm(0.1), algorithm(0.1));
        let loss = whole.loss(&batch, context()).unwrap();
        whole.descend(loss, &mut first, rate).unwrap();
        assert_eq!(first.steps(), 2);

        let start = weights(&by_hand.trained.predictor);
        let loss = by_hand.loss(&batch, context()).unwrap();
        passes::descend(&mut by_hand.trained, loss, &mut second, rate).unwrap();
        assert_eq!(weights(&by_hand.trained.predictor), start);
        let adversary = by_hand.adversary_loss(batch.a.clone(), context()).unwrap();
        passes::descend(&mut by_hand.trained, adversary, &mut second, rate).unwrap();
        assert_ne!(weights(&by_hand.trained.predictor), start);
        assert_eq!(weights(&whole.trained), weights(&by_hand.trained));
    }

    #[test]
    fn accumulated_batches_make_one_step_of_both_losses() {
        let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap().accumulating(2);
        let mut algorithm = algorithm(0.1);
        // The head descends the loss of the first step alone, and the predictor that of the second one.
        let parts = |lnl: &Lnl| [weights(&lnl.trained.model.head), weights(&lnl.trained.predictor)];
        let start = parts(&algorithm);
        for expected in [(0, 1), (1, 0)] {
            assert_eq!(parts(&algorithm), start);
            let loss = algorithm.loss(&views(6, 7), context()).unwrap();
            algorithm.descend(loss, &mut optimizer, 1e-3).unwrap();
            let counts = optimizer.step_counts();
            assert_eq!((counts.steps, counts.accumulated_gradients), expected);
        }
        assert!(parts(&algorithm).iter().zip(&start).all(|(moved, start)| moved != start));
    }

    #[test]
    fn a_state_of_another_version_is_refused_and_a_damaged_one_named() {
        let refusal = |steps: Option<serde_json::Value>| {
            let values = steps.map(|steps| (STEPS_PER_BATCH.to_owned(), steps)).into_iter().collect();
            let mut state = StateReader::new(Archive::default(), values);
            algorithm(0.1).restore(&mut state).unwrap_err().to_string()
        };
        for of_another_version in [refusal(None), refusal(Some(1.into())), refusal(Some(3.into()))] {
            assert!(
                of_another_version.contains("one step a batch")
                    && of_another_version.contains("train it anew"),
                "{of_another_version}"
            );
        }
        let damaged = refusal(Some("two".into()));
        assert!(damaged.contains("no usable `steps_per_batch`"), "{damaged}");
    }

    #[test]
    fn a_batch_without_a_bias_moves_nothing() {
        let mut algorithm = algorithm(0.1);
        let labels = Batch::default().with_indices("labels", vec![0, 1, 2, 0, 1, 2]);
        let error = algorithm.loss(&views(6, 7), labels).unwrap_err().to_string();
        assert!(error.contains("bias"), "{error}");
    }

    #[test]
    fn a_stronger_reversal_holds_the_predictor_back() {
        let loss_of_predictor = |reversal| {
            let mut algorithm = algorithm(reversal);
            train(&mut algorithm, &context(), 12);
            let loss = algorithm.adversary_loss(views(6, 7).a, context()).unwrap();
            loss.inner().into_scalar::<f32>()
        };
        let (weak, strong) = (loss_of_predictor(0.0), loss_of_predictor(5.0));
        assert!(strong > weak, "{strong} is not above {weak}");
    }

    #[test]
    fn settings_out_of_range_are_named() {
        assert!(refusal(r#"{"name": "lnl", "reversal": -1}"#, "lnl").contains("method.reversal"));
        let error = refusal(r#"{"name": "lnl", "predictor": {"kind": "mlp"}}"#, "lnl");
        assert!(error.contains("method.predictor.output"), "{error}");
    }

    #[test]
    fn a_training_set_without_a_bias_is_refused_with_and_without_a_predictor_of_its_own() {
        for predictor in [None, Some(HeadConfig { output: 2, ..HeadConfig::default() })] {
            let error = bias_predictor(predictor.as_ref(), 0).unwrap_err().to_string();
            assert!(error.contains("`objective.bias`"), "{error}");
        }
    }
}
