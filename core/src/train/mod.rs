//! Training: the step that the command line and the page share, the order of samples, the state of a run.
//!
//! ```no_run
//! # use burn::tensor::{Device, Tensor};
//! # use simile_core::{batch::Batch, objective, train::{Sampler, Sampling, Trainer, TrainerConfig}};
//! # fn views(_: &[usize], _: impl rand::Rng) -> (Tensor<4>, Tensor<4>) { unimplemented!() }
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut sampler = Sampler::new(Sampling { samples: 60_000, batch: 256, drop_last: false, seed: 0 })?;
//! let config = TrainerConfig { steps: 1175, steps_per_epoch: sampler.batches_per_epoch(), ..TrainerConfig::default() };
//! let objective = objective::build("nt-xent", None, serde_json::json!({ "temperature": 0.5 }))?;
//! let mut trainer = Trainer::new(config, objective, &Device::flex())?;
//! while !trainer.is_finished() {
//!     let (view_a, view_b) = views(sampler.batch(trainer.step_number()), trainer.rng());
//!     trainer.step(view_a, view_b, Batch::default())?;
//!     if trainer.step_number() % 50 == 0 {
//!         let loss = trainer.mean_loss().await?;
//!     }
//! }
//! # Ok(()) }
//! ```

mod embed;
mod sampler;
mod state;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

pub use embed::embed;
pub use sampler::{Purpose, Sampler, Sampling, stream};

use crate::batch::Batch;
use crate::checkpoint::{Checkpoint, CheckpointError, Metadata};
use crate::encoder::head::{HeadConfig, ProjectionHead};
use crate::encoder::{Encoder, EncoderConfig, Recording};
use crate::error::Error;
use crate::objective::{self, Objective};
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainerConfig {
    /// The network.
    #[serde(default)]
    pub encoder: EncoderConfig,
    /// The projection head.
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
}

/// An encoder with its head.
#[derive(Module, Debug)]
pub struct Model {
    /// Images to embeddings.
    pub encoder: Encoder,
    /// Embeddings to projections.
    pub head: ProjectionHead,
}

/// Projections of both views, and what is left to do for their gradients.
type Projections = (Tensor<2>, Tensor<2>, Vec<Recording>);

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
    model: Model,
    optimizer: Optimizer,
    objective: Box<dyn Objective>,
    loss: PendingLoss,
    step: u64,
}

impl Trainer {
    /// A run at its beginning.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(
        config: TrainerConfig,
        objective: Box<dyn Objective>,
        device: &Device,
    ) -> Result<Self, TrainError> {
        config.schedule.validate()?;
        objective.check()?;
        let device = device.clone().autodiff();
        let mut rng = stream(config.seed, Purpose::Initialisation, 0);
        let encoder = config.encoder.init(&device, &mut rng)?;
        let head = config.head.init(config.encoder.embedding_size(), &device, &mut rng)?;
        let optimizer = Optimizer::new(config.optimizer.clone())?;
        Ok(Self {
            config,
            model: Model { encoder, head },
            optimizer,
            objective,
            loss: PendingLoss::default(),
            step: 0,
        })
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

    /// The encoder as it is now, in training mode.
    pub fn encoder(&self) -> &Encoder {
        &self.model.encoder
    }

    /// The projection head as it is now, in training mode.
    pub fn head(&self) -> &ProjectionHead {
        &self.model.head
    }

    /// The generator for the views of the next step.
    pub fn rng(&self) -> ChaCha8Rng {
        stream(self.config.seed, Purpose::Augmentation, self.step)
    }

    /// The learning rate of the next step.
    pub fn learning_rate(&self) -> f64 {
        let TrainerConfig { steps, steps_per_epoch, .. } = self.config;
        let factor = self.config.schedule.factor(Progress { step: self.step, steps, steps_per_epoch });
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
        let (projection_a, projection_b, recordings) = self.project(view_a, view_b)?;
        let batch = context.with_tensor("view_a", projection_a).with_tensor("view_b", projection_b);
        let loss = objective::loss(self.objective.as_ref(), &batch)?;
        if !loss.is_tracked() {
            let reason = format!("`{}` has no gradient with respect to either view", self.objective.name());
            return Err(Error::Degenerate { reason, remedy: "train with another objective".into() }.into());
        }
        let mut gradients = loss.backward();
        let mut parameters = GradientsParams::from_module(&mut gradients, &self.model);
        recordings.into_iter().for_each(|recording| recording.finish(&mut gradients, &mut parameters));
        self.model = self.optimizer.step(self.learning_rate(), self.model.clone(), parameters);
        self.step += 1;

        let loss = loss.without_autodiff();
        self.loss.sum = Some(match self.loss.sum.take() {
            Some(sum) => sum + loss.clone(),
            None => loss.clone(),
        });
        self.loss.count += 1;
        Ok(loss)
    }

    fn project(&self, view_a: Tensor<4>, view_b: Tensor<4>) -> Result<Projections, TrainError> {
        let EncoderConfig { channels, input_size, .. } = self.config.encoder;
        let [samples, ..] = view_a.dims();
        for (name, view) in [("view_a", &view_a), ("view_b", &view_b)] {
            let expected = [samples, channels, input_size, input_size];
            if view.dims() != expected || samples == 0 {
                return Err(
                    Error::shape(name, format!("shape {expected:?}"), format!("{:?}", view.dims())).into()
                );
            }
        }
        // Batch norm asks the images, not its own tensors, whether it is training.
        let (view_a, view_b) = (view_a.autodiff(), view_b.autodiff());
        let Model { encoder, head } = &self.model;
        if self.config.views_apart {
            let recordings = [view_a, view_b].map(|view| encoder.record(view));
            let [a, b] = [0, 1].map(|view| head.forward(recordings[view].embedding.clone()));
            return Ok((a, b, recordings.into()));
        }
        let recording = encoder.record(Tensor::cat(vec![view_a, view_b], 0));
        let both = head.forward(recording.embedding.clone());
        Ok((both.clone().slice([0..samples]), both.slice([samples..2 * samples]), vec![recording]))
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
        let model = self.model.valid();
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

    fn nt_xent() -> Box<dyn Objective> {
        objective::build("nt-xent", None, serde_json::json!({ "temperature": 0.5 })).unwrap()
    }

    fn trainer(optimizer: OptimizerConfig) -> Trainer {
        Trainer::new(config(optimizer), nt_xent(), &Device::flex()).unwrap()
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
            trainer.step(view_a, view_b, Batch::default()).unwrap();
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
            let mut whole = trainer(optimizer.clone());
            advance(&mut whole, 2);
            let state = pollster::block_on(whole.to_bytes()).unwrap();
            advance(&mut whole, 2);
            let mut resumed = Trainer::resume(config(optimizer), nt_xent(), &Device::flex(), &state).unwrap();
            assert_eq!(resumed.step_number(), 2);
            advance(&mut resumed, 2);
            assert_eq!(mean_loss(&mut whole), mean_loss(&mut resumed));
            let states = [&whole, &resumed].map(|trainer| pollster::block_on(trainer.to_bytes()).unwrap());
            assert_eq!(states[0], states[1]);
        }
    }

    #[test]
    fn a_state_of_other_settings_or_with_damage_is_an_error() {
        let mut before = trainer(OptimizerConfig::default());
        advance(&mut before, 1);
        let state = pollster::block_on(before.to_bytes()).unwrap();
        let resume =
            |config, state: &[u8]| Trainer::resume(config, nt_xent(), &Device::flex(), state).unwrap_err();
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
            let mut trainer = Trainer::new(config, nt_xent(), &Device::flex()).unwrap();
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
        let mut trainer = Trainer::new(config, nt_xent(), &Device::flex()).unwrap();
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
    fn statistics_of_each_view_apart_are_those_of_two_forward_passes() {
        let mut apart = Trainer::new(
            TrainerConfig { views_apart: true, ..config(OptimizerConfig::default()) },
            nt_xent(),
            &Device::flex(),
        )
        .unwrap();
        let mut together = trainer(OptimizerConfig::default());
        // Views of another brightness, so that their statistics differ.
        let (view_a, view_b) = views(&apart);
        let view_b = view_b * 0.2 + 0.7;
        let difference = |trainer: &Trainer| {
            let (a, ..) = trainer.project(view_a.clone(), view_b.clone()).unwrap();
            a.mean_dim(0).abs().max().into_scalar::<f32>()
        };
        // The last layer normalises, so a view of its own has mean 0.
        assert!(difference(&apart) < 1e-5);
        assert!(difference(&together) > 0.1);
        advance(&mut apart, 1);
        advance(&mut together, 1);
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
        let wrong = pollster::block_on(embed(trainer.encoder(), SAMPLES, 5, |_| Ok(images.clone())));
        assert!(matches!(wrong, Err(Error::Shape { .. })));
    }
}
