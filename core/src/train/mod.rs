//! Training: the step that the command line and the page share, the order of samples, the state of a run.
//!
//! ```no_run
//! # use burn::tensor::{Device, Tensor};
//! # use simile_core::{batch::Batch, method::TrainingSet, objective::ObjectiveConfig};
//! # use simile_core::train::{Sampler, Sampling, Trainer, TrainerConfig};
//! # fn views(_: &[usize], _: impl rand::Rng) -> (Tensor<4>, Tensor<4>) { unimplemented!() }
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut sampler = Sampler::new(Sampling { samples: 60_000, batch: 256, drop_last: false, seed: 0 })?;
//! let config = TrainerConfig {
//!     objective: ObjectiveConfig::named("nt-xent"),
//!     steps: 1175,
//!     steps_per_epoch: sampler.batches_per_epoch(),
//!     ..TrainerConfig::default()
//! };
//! let mut trainer = Trainer::new(config, &TrainingSet::default(), &Device::flex())?;
//! while !trainer.is_finished() {
//!     let (view_a, view_b) = views(sampler.batch(trainer.step_number()), trainer.rng());
//!     trainer.step(view_a, view_b, Batch::default())?;
//!     if trainer.step_number() % 50 == 0 {
//!         let loss = trainer.mean_loss().await?;
//!     }
//! }
//! # Ok(()) }
//! ```

mod average;
mod embed;
mod neighbourhood;
mod sampler;
mod state;
mod views;

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{DType, Device, Tensor};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

pub use embed::{embed, score};
pub use neighbourhood::Neighbourhoods;
pub use sampler::{Purpose, Sampler, Sampling, TEST_SEED, stream};
pub use views::ViewSource;

use self::average::Average;
use crate::batch::Batch;
use crate::checkpoint::{Checkpoint, CheckpointError, Metadata, Weights};
use crate::encoder::head::{HeadConfig, ProjectionHead};
use crate::encoder::{Architecture, Encoder, EncoderConfig};
use crate::error::{Error, within};
use crate::matrix::Matrix;
use crate::method::{Method, MethodConfig, Networks, TrainingSet, Views};
use crate::objective::ObjectiveConfig;
use crate::optimizer::schedule::{Progress, Schedule};
use crate::optimizer::{Optimizer, OptimizerConfig};

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// An input or a parameter that cannot be used.
    #[error(transparent)]
    Input(#[from] Error),
    /// The state of a run cannot be read or written.
    #[error(transparent)]
    State(#[from] CheckpointError),
    /// The loss became infinite or NaN.
    #[error(
        "the loss is not a finite number between steps {from} and {to}; lower the learning rate, raise the temperature, \
         or set optimizer.clip_norm"
    )]
    Diverged {
        /// The first step since the loss was last read.
        from: u64,
        /// The step after the last one.
        to: u64,
    },
}

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainerConfig {
    /// What is minimised.
    #[serde(default)]
    pub objective: ObjectiveConfig,
    /// What stands beside the network while it is.
    #[serde(default)]
    pub method: MethodConfig,
    /// The network.
    #[serde(default)]
    pub encoder: EncoderConfig,
    /// The projection head, or the one that gives class scores.
    #[serde(default)]
    pub head: HeadConfig,
    /// The optimiser with its base learning rate.
    #[serde(default)]
    pub optimizer: OptimizerConfig,
    /// How the learning rate changes.
    #[serde(default)]
    pub schedule: Schedule,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps of one epoch, for schedules that change once an epoch.
    pub steps_per_epoch: u64,
    /// Whether batch norm takes the statistics of each view apart, as CCLK released it, or of both together.
    #[serde(default)]
    pub views_apart: bool,
    /// Seed of the network, the order of samples, and the views.
    #[serde(default)]
    pub seed: u64,
    /// Share that an exponential moving average of the network keeps at each update of it; the average is then the
    /// network that is evaluated and saved. None by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ema: Option<f64>,
    /// Steps whose gradients are averaged for one update of the network. Default: 1.
    ///
    /// Each of them is a batch of its own: batch norm takes its statistics from it and moves its running averages, and a
    /// loss compares samples within it alone.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub accumulate: u64,
    /// What encoders compute in as they train. Default: `f32`.
    #[serde(default, skip_serializing_if = "Precision::is_default")]
    pub precision: Precision,
    /// Where the encoder starts; at random if absent. No part of the state: a run that goes on has moved on from it.
    #[serde(skip)]
    pub weights: Option<Arc<Weights>>,
}

/// What encoders compute in as they train. Parameters, statistics of batch norm, heads, losses and updates are `f32` in
/// either case, and so is everything outside of training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats with the exponent of 32-bit ones, where the device has them.
    Bf16,
}

impl Precision {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that an encoder can compute in it on a device.
    fn check(self, encoder: &EncoderConfig, device: &Device) -> Result<(), Error> {
        let refuse = |reason: &str| Err(Error::parameter("train.precision", "bf16", reason));
        match (self, encoder.name) {
            (Self::F32, _) => Ok(()),
            (Self::Bf16, Architecture::LeNet5 | Architecture::Vae) => {
                refuse("lenet5 and vae compute in f32 alone")
            }
            (Self::Bf16, _) if !device.supports_dtype(DType::BF16) => {
                refuse("this device does not compute in it; expected f32")
            }
            (Self::Bf16, _) => Ok(()),
        }
    }

    fn of(self, images: Tensor<4>) -> Tensor<4> {
        match self {
            Self::F32 => images,
            Self::Bf16 => images.cast(DType::BF16),
        }
    }
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one(count: &u64) -> bool {
    *count == 1
}

impl Default for TrainerConfig {
    /// No steps at all: how many is for the caller to say.
    fn default() -> Self {
        Self {
            objective: ObjectiveConfig::default(),
            method: MethodConfig::default(),
            encoder: EncoderConfig::default(),
            head: HeadConfig::default(),
            optimizer: OptimizerConfig::default(),
            schedule: Schedule::default(),
            steps: 0,
            steps_per_epoch: 0,
            views_apart: false,
            seed: 0,
            ema: None,
            accumulate: one(),
            precision: Precision::default(),
            weights: None,
        }
    }
}

impl TrainerConfig {
    fn optimizer(&self) -> Result<Optimizer, Error> {
        Ok(Optimizer::new(self.optimizer.clone())?.accumulating(self.accumulate))
    }

    fn check(&self) -> Result<(), Error> {
        self.schedule.validate()?;
        if let Some(ema) = self.ema {
            within("train.ema", ema, 0.0, 1.0)?;
        }
        if self.accumulate == 0 {
            return Err(Error::parameter("train.accumulate", 0, "expected 1 or more"));
        }
        Ok(())
    }
}

/// An encoder with its head.
#[derive(Module, Debug)]
pub struct Model {
    /// Images to embeddings.
    pub encoder: Encoder,
    /// Embeddings to projections.
    pub head: ProjectionHead,
}

/// Losses that were not read back yet.
#[derive(Debug, Default)]
struct PendingLoss {
    sum: Option<Tensor<1>>,
    count: u64,
}

/// A run: a network on its way.
#[derive(Debug)]
pub struct Trainer {
    config: TrainerConfig,
    method: Box<dyn Method>,
    optimizer: Optimizer,
    average: Option<Average>,
    loss: PendingLoss,
    step: u64,
}

impl Trainer {
    /// A run at its beginning.
    ///
    /// # Errors
    /// A parameter outside its range, or the method lacks something of the training set.
    pub fn new(config: TrainerConfig, training: &TrainingSet, device: &Device) -> Result<Self, TrainError> {
        config.check()?;
        config.precision.check(&config.encoder, device)?;
        let TrainerConfig { encoder, head, weights, .. } = config.clone();
        let networks = Networks { encoder, head, weights };
        let mut rng = stream(config.seed, Purpose::Initialisation, 0);
        let training = (training, config.steps);
        let method = config.method.init(&networks, &config.objective, training, device, &mut rng)?;
        let optimizer = config.optimizer()?;
        let average = config.ema.map(|momentum| Average::new(momentum, method.model()));
        Ok(Self { config, method, optimizer, average, loss: PendingLoss::default(), step: 0 })
    }

    /// The settings.
    pub fn config(&self) -> &TrainerConfig {
        &self.config
    }

    /// Number of steps done, which is the number of the next one.
    pub fn step_number(&self) -> u64 {
        self.step
    }

    /// Whether all steps are done.
    pub fn is_finished(&self) -> bool {
        self.step >= self.config.steps
    }

    /// The network that is evaluated as it is now, in training mode: the average where there is one.
    pub fn model(&self) -> &Model {
        self.average.as_ref().map_or_else(|| self.method.model(), Average::model)
    }

    /// Its encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.model().encoder
    }

    /// Its head.
    pub fn head(&self) -> &ProjectionHead {
        &self.model().head
    }

    /// Whether the next step waits for [`begin_stage`](Self::begin_stage).
    pub fn awaits_scores(&self) -> bool {
        !self.is_finished() && self.step >= self.method.stage(self.config.steps).end
    }

    /// Begins the next stage of the method with a fresh optimiser. `scores` are the class scores of all training
    /// samples, see [`score`]. Returns the number of samples that the network fails on.
    ///
    /// # Errors
    /// The method has no further stage, or the scores are not those of the training set.
    pub fn begin_stage(&mut self, scores: &Matrix) -> Result<usize, TrainError> {
        let mut rng = stream(self.config.seed, Purpose::Initialisation, self.step);
        let failures = self.method.begin_stage(scores, &mut rng)?;
        self.optimizer = self.config.optimizer()?;
        self.average = self.config.ema.map(|momentum| Average::new(momentum, self.method.model()));
        Ok(failures)
    }

    /// The generator for the views of the next step.
    pub fn rng(&self) -> ChaCha8Rng {
        stream(self.config.seed, Purpose::Augmentation, self.step)
    }

    /// The learning rate of the next step.
    pub fn learning_rate(&self) -> f64 {
        let stage = self.method.stage(self.config.steps);
        let (step, steps) = (self.step.saturating_sub(stage.start), stage.end - stage.start);
        let steps_per_epoch = self.config.steps_per_epoch;
        let factor = self.config.schedule.factor(Progress { step, steps, steps_per_epoch });
        self.config.optimizer.learning_rate() * factor
    }

    /// One step on two views of the same samples, `[b, channels, size, size]` each, normalised as the encoder expects.
    ///
    /// `context` holds what else the objective needs: labels, the conditioning variable. Returns the loss before the
    /// update, still on the device: reading it is a synchronisation, which [`mean_loss`](Self::mean_loss) does once
    /// for many steps.
    ///
    /// # Errors
    /// Views of a wrong shape, or an input that the objective misses or refuses. The network is then unchanged.
    pub fn step(
        &mut self,
        view_a: Tensor<4>,
        view_b: Tensor<4>,
        context: Batch,
    ) -> Result<Tensor<1>, TrainError> {
        if self.awaits_scores() {
            return Err(Error::Degenerate {
                reason: format!("a stage of the method `{}` has ended", self.method.name()),
                remedy: "hand the class scores of the training set to `begin_stage`".into(),
            }
            .into());
        }
        self.check(&view_a, &view_b)?;
        let (view_a, view_b) = (self.config.precision.of(view_a), self.config.precision.of(view_b));
        let views = Views::new(view_a, view_b)?.with_apart(self.config.views_apart);
        let loss = self.method.loss(&views, context)?;
        let value = loss.clone().without_autodiff();
        let learning_rate = self.learning_rate();
        let updates = self.optimizer.steps();
        self.method.descend(loss, &mut self.optimizer, learning_rate)?;
        if let Some(average) = self.average.as_mut().filter(|_| self.optimizer.steps() > updates) {
            average.follow(self.method.model());
        }
        self.step += 1;

        self.loss.sum = Some(match self.loss.sum.take() {
            Some(sum) => sum + value.clone(),
            None => value.clone(),
        });
        self.loss.count += 1;
        Ok(value)
    }

    fn check(&self, view_a: &Tensor<4>, view_b: &Tensor<4>) -> Result<(), Error> {
        let EncoderConfig { channels, input_size, .. } = self.config.encoder;
        let [samples, ..] = view_a.dims();
        let expected = [samples, channels, input_size, input_size];
        let unfit =
            [("view_a", view_a), ("view_b", view_b)].into_iter().find(|(_, view)| view.dims() != expected);
        match unfit {
            Some((name, view)) => {
                Err(Error::shape(name, format!("shape {expected:?}"), format!("{:?}", view.dims())))
            }
            None => Ok(()),
        }
    }

    /// The mean loss of the steps since it was last asked for; `None` if there were none.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] if one of them was not finite, or the device failed.
    pub async fn mean_loss(&mut self) -> Result<Option<f64>, TrainError> {
        let PendingLoss { sum, count } = std::mem::take(&mut self.loss);
        let Some(sum) = sum else { return Ok(None) };
        let data = sum.into_data_async().await.map_err(|e| Error::Degenerate {
            reason: format!("the device could not return the loss ({e:?})"),
            remedy: "try a smaller batch or another device".into(),
        })?;
        let mean = data.iter::<f64>().next().unwrap_or(f64::NAN) / count as f64;
        if mean.is_finite() {
            Ok(Some(mean))
        } else {
            Err(TrainError::Diverged { from: self.step - count, to: self.step })
        }
    }

    /// The network as a checkpoint. `metadata` says how images are normalised and which recipe this is; its `head`
    /// decides by being present or absent whether the projection head is kept, and is filled in here.
    pub fn checkpoint(&self, mut metadata: Metadata) -> Checkpoint {
        let keep = metadata.head.is_some();
        metadata.head = keep.then(|| self.config.head.clone());
        let model = self.model().valid();
        Checkpoint { metadata, encoder: model.encoder, head: keep.then_some(model.head) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use burn::tensor::TensorData;
    use rand::RngExt;

    use super::*;
    use crate::optimizer::lars::Lars;
    use crate::optimizer::rules::{Adam, Sgd};

    const SAMPLES: usize = 12;

    fn config(optimizer: OptimizerConfig) -> TrainerConfig {
        TrainerConfig {
            optimizer,
            schedule: Schedule::Cosine { warm_up: 0.2 },
            steps: 20,
            steps_per_epoch: 3,
            seed: 9,
            ..TrainerConfig::default()
        }
    }

    fn new(config: TrainerConfig) -> Trainer {
        Trainer::new(config, &training_set(), &Device::flex()).unwrap()
    }

    fn trainer(optimizer: OptimizerConfig) -> Trainer {
        new(config(optimizer))
    }

    fn training_set() -> TrainingSet {
        TrainingSet { labels: (0..SAMPLES).map(|i| i % 3).collect(), biases: 2 }
    }

    fn resume(config: TrainerConfig, state: &[u8]) -> Result<Trainer, TrainError> {
        Trainer::resume(config, &training_set(), &Device::flex(), state)
    }

    /// Stripes of a period of their own, with noise drawn from the trainer's generator.
    fn views(trainer: &Trainer) -> (Tensor<4>, Tensor<4>) {
        let mut rng = trainer.rng();
        let mut view = || {
            let stripe = |at: usize| ((at % 1024) as f32 * (0.3 + (at / 3072) as f32 * 0.4)).sin();
            let pixels = (0..SAMPLES * 3072)
                .map(|at| stripe(at) + rng.random_range(-0.3..0.3_f32))
                .collect::<Vec<_>>();
            Tensor::from_data(TensorData::new(pixels, [SAMPLES, 3, 32, 32]), &Device::flex())
        };
        (view(), view())
    }

    fn advance(trainer: &mut Trainer, steps: usize) {
        for _ in 0..steps {
            let (view_a, view_b) = views(trainer);
            if trainer.awaits_scores() {
                assert!(trainer.step(view_a.clone(), view_b.clone(), Batch::default()).is_err());
                let images = |range: std::ops::Range<usize>| Ok(view_a.clone().slice([range]));
                let scores = pollster::block_on(score(trainer.model(), SAMPLES, 5, images)).unwrap();
                trainer.begin_stage(&scores).unwrap();
            }
            let context = Batch::default()
                .with_indices("labels", training_set().labels)
                .with_indices("bias", (0..SAMPLES).map(|i| i % 2).collect())
                .with_indices("samples", (0..SAMPLES).collect());
            trainer.step(view_a, view_b, context).unwrap();
        }
    }

    fn mean_loss(trainer: &mut Trainer) -> f64 {
        pollster::block_on(trainer.mean_loss()).unwrap().unwrap()
    }

    #[test]
    fn the_loss_falls() {
        let mut trainer = trainer(OptimizerConfig::Adam(Adam { learning_rate: 5e-3, ..Adam::default() }));
        advance(&mut trainer, 2);
        let first = mean_loss(&mut trainer);
        advance(&mut trainer, 16);
        mean_loss(&mut trainer);
        advance(&mut trainer, 2);
        let last = mean_loss(&mut trainer);
        assert!(last < first - 0.5, "{first} {last}");
        assert!(trainer.is_finished());
        assert_eq!(pollster::block_on(trainer.mean_loss()).unwrap(), None);
    }

    #[test]
    fn a_resumed_run_equals_an_uninterrupted_one() {
        for optimizer in [
            OptimizerConfig::Lars(Lars::default()),
            OptimizerConfig::Adam(Adam { clip_norm: Some(0.5), ..Adam::default() }),
            OptimizerConfig::Sgd(Sgd::default()),
        ] {
            assert_resumes(&config(optimizer), 2);
        }
    }

    /// Two steps after `steps` of them equal two steps after they were saved and resumed, bit for bit.
    fn assert_resumes(config: &TrainerConfig, steps: u64) {
        let mut whole = new(config.clone());
        advance(&mut whole, steps as usize);
        let state = pollster::block_on(whole.to_bytes()).unwrap();
        advance(&mut whole, 2);
        let mut resumed = resume(config.clone(), &state).unwrap();
        assert_eq!(resumed.step_number(), steps);
        advance(&mut resumed, 2);
        assert_eq!(mean_loss(&mut whole), mean_loss(&mut resumed));
        let states = [&whole, &resumed].map(|trainer| pollster::block_on(trainer.to_bytes()).unwrap());
        assert!(states[0] == states[1], "{:?} ends elsewhere", config.method);
    }

    #[test]
    fn a_resumed_run_of_every_method_equals_an_uninterrupted_one() {
        let method = |json: &str| serde_json::from_str::<MethodConfig>(json).unwrap();
        for (json, objective, output) in [
            (r#"{"name": "cached", "chunk": 5}"#, "nt-xent", 128),
            (r#"{"name": "moco", "queue": 30}"#, "moco", 128),
            (r#"{"name": "byol"}"#, "byol", 128),
            (r#"{"name": "swav", "prototypes": 5, "frozen_steps": 3}"#, "swav", 128),
            (r#"{"name": "difficulty"}"#, "wcl-weighted-infonce", 128),
            (r#"{"name": "lff", "ema_alpha": 0.7}"#, "lff", 3),
            (r#"{"name": "rebias"}"#, "rebias-hsic", 3),
            (r#"{"name": "lnl"}"#, "lnl", 3),
            (r#"{"name": "jtt", "first_steps": 3}"#, "jtt", 3),
        ] {
            let head = HeadConfig { output, ..HeadConfig::default() };
            let objective = ObjectiveConfig::named(objective);
            let adam = config(OptimizerConfig::Adam(Adam::default()));
            let config = TrainerConfig { method: method(json), objective, head, ..adam };
            assert_resumes(&config, 2);
        }
        // Within the second stage, and where it is due.
        for steps in [3, 4] {
            let head = HeadConfig { output: 3, ..HeadConfig::default() };
            let method = method(r#"{"name": "jtt", "first_steps": 3}"#);
            let objective = ObjectiveConfig::named("jtt");
            let config = TrainerConfig { method, objective, head, ..config(OptimizerConfig::default()) };
            assert_resumes(&config, steps);
        }
    }

    #[test]
    fn a_resumed_autoencoder_equals_an_uninterrupted_one() {
        let encoder = EncoderConfig { name: Architecture::Vae, output: Some(6), ..EncoderConfig::default() };
        let (method, objective) = (MethodConfig::Vae {}, ObjectiveConfig::named("vae"));
        assert_resumes(
            &TrainerConfig { encoder, method, objective, ..config(OptimizerConfig::default()) },
            2,
        );
    }

    #[test]
    fn a_resumed_run_with_average_and_accumulation_equals_an_uninterrupted_one() {
        for steps in [2, 3] {
            let config = TrainerConfig {
                ema: Some(0.9),
                accumulate: 2,
                optimizer: OptimizerConfig::Sgd(Sgd::default()),
                ..config(OptimizerConfig::default())
            };
            assert_resumes(&config, steps);
        }
        let wrong = TrainerConfig { ema: Some(1.5), ..config(OptimizerConfig::default()) };
        let error = Trainer::new(wrong, &training_set(), &Device::flex()).unwrap_err();
        assert!(error.to_string().contains("train.ema"), "{error}");
    }

    #[test]
    fn half_precision_learns_what_single_precision_does() {
        for name in [Architecture::SimpleConv1x1, Architecture::Mlp] {
            let losses = [Precision::F32, Precision::Bf16].map(|precision| {
                let encoder = EncoderConfig { name, ..EncoderConfig::default() };
                let mut trainer =
                    new(TrainerConfig { encoder, precision, ..config(OptimizerConfig::default()) });
                advance(&mut trainer, 1);
                let first = mean_loss(&mut trainer);
                advance(&mut trainer, 3);
                let tensors = crate::checkpoint::flattened("", trainer.model());
                assert!(tensors.iter().all(|tensor| tensor.values.dtype() == DType::F32));
                [first, mean_loss(&mut trainer)]
            });
            for (single, half) in losses[0].iter().zip(losses[1]) {
                assert!(
                    *single != half && (single - half).abs() < 0.05 * single.abs(),
                    "{name:?}: {losses:?}"
                );
            }
        }
        let lenet = TrainerConfig { precision: Precision::Bf16, ..config(OptimizerConfig::default()) };
        let error = Trainer::new(lenet, &training_set(), &Device::flex()).unwrap_err().to_string();
        assert!(error.contains("train.precision") && error.contains("lenet5"), "{error}");
    }

    fn first_weight(model: &Model) -> f64 {
        let weights = crate::checkpoint::flattened("", model).remove(0).values;
        f64::from(weights.slice([0..1]).into_scalar::<f32>())
    }

    #[test]
    fn the_average_follows_each_update_by_its_formula() {
        let sgd = OptimizerConfig::Sgd(Sgd { learning_rate: 1.0, ..Sgd::default() });
        let mut trainer = new(TrainerConfig { ema: Some(0.75), accumulate: 2, ..config(sgd) });
        let mut expected = first_weight(trainer.method.model());
        for _ in 0..3 {
            advance(&mut trainer, 1);
            assert!((first_weight(trainer.model()) - expected).abs() < 1e-6, "no update, no average");
            advance(&mut trainer, 1);
            let online = first_weight(trainer.method.model());
            assert!((online - expected).abs() > 1e-6);
            expected = 0.75 * expected + 0.25 * online;
            assert!((first_weight(trainer.model()) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn a_run_starts_from_given_weights() {
        let mut before = trainer(OptimizerConfig::default());
        advance(&mut before, 2);
        let metadata = Metadata::new(EncoderConfig::default(), vec![0.0; 3], vec![1.0; 3]);
        let file = pollster::block_on(before.checkpoint(metadata).to_bytes()).unwrap();
        let (weights, _) = Weights::of_encoder(&file, &EncoderConfig::default()).unwrap();
        let started = TrainerConfig {
            weights: Some(Arc::new(weights)),
            seed: 77,
            ..config(OptimizerConfig::default())
        };
        let trainer = new(started.clone());
        let values = |trainer: &Trainer| -> Vec<f32> {
            let tensors = crate::checkpoint::flattened("", trainer.encoder());
            tensors
                .into_iter()
                .flat_map(|tensor| tensor.values.into_data().iter::<f32>().collect::<Vec<_>>())
                .collect()
        };
        assert_eq!(values(&trainer), values(&before));
        let wide = EncoderConfig { channels: 1, ..EncoderConfig::default() };
        assert!(Weights::of_encoder(&file, &wide).unwrap_err().to_string().contains("channels"));
        let unfit = TrainerConfig { encoder: wide, ..started };
        let error = Trainer::new(unfit, &training_set(), &Device::flex()).unwrap_err();
        assert!(error.to_string().contains("conv1.weight"), "{error}");
    }

    #[test]
    fn each_stage_runs_through_the_schedule() {
        let head = HeadConfig { output: 3, ..HeadConfig::default() };
        let method = MethodConfig::Jtt { first_steps: 4 };
        let objective = ObjectiveConfig::named("jtt");
        let config = TrainerConfig { method, objective, head, ..config(OptimizerConfig::default()) };
        let mut trainer = new(config);
        let first = trainer.learning_rate();
        advance(&mut trainer, 3);
        assert!(trainer.learning_rate() < first);
        advance(&mut trainer, 1);
        assert!(trainer.awaits_scores());
        advance(&mut trainer, 1);
        assert!(!trainer.awaits_scores());
        assert!(trainer.learning_rate() <= trainer.config().optimizer.learning_rate());
        advance(&mut trainer, 15);
        assert!(trainer.is_finished() && !trainer.awaits_scores());
    }

    #[test]
    fn a_state_of_other_settings_or_with_damage_is_an_error() {
        let mut before = trainer(OptimizerConfig::default());
        advance(&mut before, 1);
        let state = pollster::block_on(before.to_bytes()).unwrap();
        let resume = |config, state: &[u8]| resume(config, state).unwrap_err();
        let other = TrainerConfig { seed: 10, ..config(OptimizerConfig::default()) };
        assert!(matches!(resume(other, &state), TrainError::State(CheckpointError::Field { .. })));
        for length in (0..state.len()).step_by(state.len() / 50) {
            let error = resume(config(OptimizerConfig::default()), &state[..length]);
            assert!(matches!(error, TrainError::State(CheckpointError::Format { .. })), "{error}");
        }
        let checkpoint =
            before.checkpoint(Metadata::new(EncoderConfig::default(), vec![0.0; 3], vec![1.0; 3]));
        let checkpoint = pollster::block_on(checkpoint.to_bytes()).unwrap();
        let error = resume(config(OptimizerConfig::default()), &checkpoint);
        assert!(matches!(error, TrainError::State(CheckpointError::Metadata { .. })), "{error}");
    }

    #[test]
    fn a_seed_gives_the_same_run() {
        let run = |seed| {
            let config = TrainerConfig { seed, ..config(OptimizerConfig::default()) };
            let mut trainer = new(config);
            advance(&mut trainer, 2);
            mean_loss(&mut trainer)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn a_run_that_diverges_says_between_which_steps() {
        let config = TrainerConfig {
            optimizer: OptimizerConfig::Sgd(Sgd { learning_rate: 1e38, ..Sgd::default() }),
            schedule: Schedule::Constant,
            ..config(OptimizerConfig::default())
        };
        let mut trainer = new(config);
        advance(&mut trainer, 1);
        mean_loss(&mut trainer);
        advance(&mut trainer, 3);
        let error = pollster::block_on(trainer.mean_loss()).unwrap_err();
        assert_eq!(error, TrainError::Diverged { from: 1, to: 4 });
    }

    #[test]
    fn views_that_do_not_fit_leave_the_network_as_it_was() {
        let mut trainer = trainer(OptimizerConfig::default());
        let before = pollster::block_on(trainer.to_bytes()).unwrap();
        let zeros = |shape| Tensor::<4>::zeros(shape, &Device::flex());
        for (a, b) in [
            ([4, 3, 32, 32], [3, 3, 32, 32]),
            ([4, 1, 32, 32], [4, 1, 32, 32]),
            ([0, 3, 32, 32], [0, 3, 32, 32]),
        ] {
            let error = trainer.step(zeros(a), zeros(b), Batch::default()).unwrap_err();
            assert!(matches!(error, TrainError::Input(Error::Shape { .. })), "{error}");
        }
        assert_eq!(pollster::block_on(trainer.to_bytes()).unwrap(), before);
    }

    #[test]
    fn embedding_in_batches_equals_embedding_at_once() {
        let mut trainer = trainer(OptimizerConfig::default());
        advance(&mut trainer, 1);
        let (images, _) = views(&trainer);
        let run = |batch| {
            let images = |range: std::ops::Range<usize>| Ok(images.clone().slice([range]));
            pollster::block_on(embed(trainer.encoder(), SAMPLES, batch, images)).unwrap()
        };
        let (whole, parts) = (run(SAMPLES), run(5));
        assert_eq!((whole.rows(), whole.columns()), (SAMPLES, 84));
        assert!(whole.data().iter().zip(parts.data()).all(|(a, b)| (a - b).abs() < 1e-6));
        let images_of = |range: std::ops::Range<usize>| Ok(images.clone().slice([range]));
        let scores = pollster::block_on(score(trainer.model(), SAMPLES, 5, images_of)).unwrap();
        assert_eq!((scores.rows(), scores.columns()), (SAMPLES, 128));
        let wrong = pollster::block_on(embed(trainer.encoder(), SAMPLES, 5, |_| Ok(images.clone())));
        assert!(matches!(wrong, Err(Error::Shape { .. })));
    }
}
