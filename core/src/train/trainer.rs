//! The run: its network in training, step by step.

use std::ops::Range;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use super::average::Average;
use super::error::TrainError;
use super::{Purpose, TrainerConfig, stream};
use crate::algorithm::{Algorithm, BatchShard, ModelConfig, TrainingSet, Views};
use crate::error::Error;
use crate::loss::batch::Batch;
use crate::nn::checkpoint::{Checkpoint, Metadata};
use crate::nn::head::ProjectionHead;
use crate::nn::{Encoder, Model};
use crate::numeric::matrix::Matrix;
use crate::numeric::read;
use crate::optim::Optimizer;
use crate::optim::schedule::Progress;
use crate::peers::Peers;

/// Losses that have not been read back yet.
#[derive(Debug, Default)]
pub(super) struct PendingLoss {
    pub(super) sum: Option<Tensor<1>>,
    pub(super) count: u64,
}

/// A run: a network in training.
#[derive(Debug)]
pub struct Trainer {
    pub(super) config: TrainerConfig,
    pub(super) algorithm: Box<dyn Algorithm>,
    pub(super) optimizer: Optimizer,
    pub(super) average: Option<Average>,
    pub(super) loss: PendingLoss,
    pub(super) step: u64,
}

impl Trainer {
    /// A run in its initial state.
    ///
    /// # Errors
    /// A parameter is out of range, or the training set lacks a property that the algorithm needs.
    pub fn new(config: TrainerConfig, training: &TrainingSet, device: &Device) -> Result<Self, TrainError> {
        // Before a network is made.
        config.check(device)?;
        let TrainerConfig { encoder, head, weights, .. } = config.clone();
        let network = ModelConfig { encoder, head, weights };
        let mut rng = stream(config.seed, Purpose::Initialisation, 0);
        let training = (training, config.steps);
        let algorithm = config.algorithm.init(&network, &config.objective, training, device, &mut rng)?;
        Self::with_algorithm(config, algorithm, device)
    }

    /// A run of an algorithm in its initial state, which may be of a type of your own. `config.encoder` and `config.head` describe
    /// its network; `config.objective`, `config.algorithm` and `config.weights` are not read. [`restore`](Self::restore)
    /// continues such a run.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn with_algorithm(
        config: TrainerConfig,
        algorithm: Box<dyn Algorithm>,
        device: &Device,
    ) -> Result<Self, TrainError> {
        config.check(device)?;
        let optimizer = config.optimizer()?;
        let average = config.ema.map(|momentum| Average::new(momentum, algorithm.model()));
        Ok(Self { config, algorithm, optimizer, average, loss: PendingLoss::default(), step: 0 })
    }

    /// Distributes the work of every step over further devices.
    ///
    /// # Errors
    /// The algorithm computes on one device only, or one of them does not support the precision.
    pub fn use_devices(&mut self, helpers: &[Device]) -> Result<(), TrainError> {
        for device in helpers {
            self.config.precision.check(&self.config.encoder, device)?;
        }
        Ok(self.algorithm.use_devices(helpers)?)
    }

    /// Distributes the work of every step over further processes, which take the same steps; see [`Algorithm::use_peers`].
    ///
    /// # Errors
    /// The algorithm computes in one process only.
    pub fn use_peers(&mut self, peers: Arc<dyn Peers>) -> Result<(), TrainError> {
        Ok(self.algorithm.use_peers(peers)?)
    }

    /// The rows of every batch whose views [`step_on`](Self::step_on) takes in this process.
    pub fn shard(&self) -> BatchShard {
        self.algorithm.shard()
    }

    /// The settings.
    pub fn config(&self) -> &TrainerConfig {
        &self.config
    }

    /// Number of completed steps, which is the index of the next step.
    pub fn step_number(&self) -> u64 {
        self.step
    }

    /// True if all steps are done.
    pub fn is_finished(&self) -> bool {
        self.step >= self.config.steps
    }

    /// The current network for evaluation, in training mode: the average if there is one.
    pub fn model(&self) -> &Model {
        self.average.as_ref().map_or_else(|| self.algorithm.model(), Average::model)
    }

    /// Its encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.model().encoder
    }

    /// Its head.
    pub fn head(&self) -> &ProjectionHead {
        &self.model().head
    }

    /// True if [`begin_training_stage`](Self::begin_training_stage) must be called before the next step.
    pub fn awaits_scores(&self) -> bool {
        !self.is_finished() && self.step >= self.algorithm.training_stage(self.config.steps).end
    }

    /// True after the first step of the last stage. Before, [`model`](Self::model) is the network of an earlier stage (JTT's first
    /// classifier), or the last one untrained.
    pub fn is_in_last_training_stage(&self) -> bool {
        let Range { start, end } = self.algorithm.training_stage(self.config.steps);
        end == self.config.steps && self.step > start
    }

    /// Begins the next stage of the algorithm with a fresh optimiser. `scores`, `[training samples, classes]`, are those of the
    /// present network, see [`score`](super::score). Returns how many samples it misclassifies.
    ///
    /// # Errors
    /// The algorithm has no further stage, or the scores are not those of the training set.
    pub fn begin_training_stage(&mut self, scores: &Matrix) -> Result<usize, TrainError> {
        let mut rng = stream(self.config.seed, Purpose::Initialisation, self.step);
        let failures = self.algorithm.begin_training_stage(scores, &mut rng)?;
        self.optimizer = self.config.optimizer()?;
        self.average = self.config.ema.map(|momentum| Average::new(momentum, self.algorithm.model()));
        Ok(failures)
    }

    /// The generator for the views of the next step.
    pub fn rng(&self) -> ChaCha8Rng {
        stream(self.config.seed, Purpose::Augmentation, self.step)
    }

    /// The learning rate of the next step.
    pub fn learning_rate(&self) -> f64 {
        self.learning_rate_at(self.step)
    }

    /// The learning rate of the last step, if that was one of the present stage.
    pub fn last_learning_rate(&self) -> f64 {
        self.learning_rate_at(self.step.saturating_sub(1))
    }

    fn learning_rate_at(&self, step: u64) -> f64 {
        if !self.algorithm.is_scheduled() {
            return self.config.optimizer.learning_rate();
        }
        let stage = self.algorithm.training_stage(self.config.steps);
        let (step, steps) = (step.saturating_sub(stage.start), stage.end - stage.start);
        let steps_per_epoch = self.config.steps_per_epoch;
        let factor = self.config.schedule.factor(Progress { step, steps, steps_per_epoch });
        self.config.optimizer.learning_rate() * factor
    }

    /// One step on two views of the same samples, `[b, channels, size, size]` each, normalised as the encoder expects.
    ///
    /// `context` holds the other inputs of the objective: labels, the conditioning variable. Returns the loss
    /// before the update, still on the device: reading it is a synchronisation, which
    /// [`mean_loss`](Self::mean_loss) does once for many steps.
    ///
    /// # Errors
    /// The views have a wrong shape, or an input is missing or rejected by the objective. The network is then
    /// unchanged.
    pub fn step(
        &mut self,
        view_a: Tensor<4>,
        view_b: Tensor<4>,
        context: Batch,
    ) -> Result<Tensor<1>, TrainError> {
        self.step_on(Views::new(view_a, view_b)?, context)
    }

    /// As [`step`](Self::step), with the further images of an algorithm.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn step_on(&mut self, views: Views, context: Batch) -> Result<Tensor<1>, TrainError> {
        if self.awaits_scores() {
            return Err(Error::Degenerate {
                reason: format!("a stage of the method `{}` has ended", self.algorithm.name()),
                remedy: "hand the class scores of the training set to `begin_training_stage`".into(),
            }
            .into());
        }
        self.check_images(&views)?;
        let precision = self.config.precision;
        let views = views
            .map(|images| precision.of(images))
            .with_per_view_batch_norm(self.config.per_view_batch_norm);
        let loss = self.algorithm.loss(&views, context)?;
        let value = loss.clone().without_autodiff();
        let learning_rate = self.learning_rate();
        let updates = self.optimizer.steps();
        self.algorithm.descend(loss, &mut self.optimizer, learning_rate)?;
        if let Some(average) = self.average.as_mut().filter(|_| self.optimizer.steps() > updates) {
            average.update(self.algorithm.model());
        }
        self.step += 1;

        self.loss.sum = Some(match self.loss.sum.take() {
            Some(sum) => sum + value.clone(),
            None => value.clone(),
        });
        self.loss.count += 1;
        Ok(value)
    }

    fn check_images(&self, views: &Views) -> Result<(), Error> {
        let Views { a, b, plain, to_classify, .. } = views;
        let further = [("plain", plain), ("classified", to_classify)];
        let further = further.into_iter().filter_map(|(name, images)| Some((name, images.as_ref()?)));
        let mut all = [("view_a", a), ("view_b", b)].into_iter().chain(further);
        all.try_for_each(|(name, images)| self.config.encoder.check_images(name, images.dims()))
    }

    /// The mean loss of the steps since the last call; `None` if there were none.
    ///
    /// Asynchronous because a page cannot wait for its GPU; elsewhere [`read_sync`](burn::tensor::read_sync) waits for the result.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] if one of them was not finite, or the device failed.
    pub async fn mean_loss(&mut self) -> Result<Option<f64>, TrainError> {
        let PendingLoss { sum, count } = std::mem::take(&mut self.loss);
        let Some(sum) = sum else { return Ok(None) };
        let data = read::values(sum).await.map_err(|reason| Error::Degenerate {
            reason: format!("the device could not return the loss ({reason})"),
            remedy: "try a smaller batch or another device".into(),
        })?;
        let mean = data.iter::<f64>().next().unwrap_or(f64::NAN) / count as f64;
        if mean.is_finite() {
            Ok(Some(mean))
        } else {
            Err(TrainError::Diverged { from: self.step - count, to: self.step })
        }
    }

    /// The network as a checkpoint. `metadata` gives the normalisation of images and the recipe; the settings of the
    /// network are filled in here. The projection head is kept if `metadata.head` is present.
    pub fn checkpoint(&self, metadata: Metadata) -> Checkpoint {
        let TrainerConfig { encoder, head, .. } = &self.config;
        let keep = metadata.head.is_some();
        let metadata = Metadata {
            encoder: encoder.clone(),
            input_size: encoder.input_size,
            embedding_size: encoder.embedding_size(),
            head: keep.then(|| head.clone()),
            ..metadata
        };
        let model = self.model().valid();
        Checkpoint { metadata, encoder: model.encoder, head: keep.then_some(model.head) }
    }
}
