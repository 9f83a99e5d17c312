//! Algorithms: objectives with the state that they need beside the network, such as a queue, a second network or prototypes.
//!
//! A recipe names a training method and its settings, an [`AlgorithmConfig`], which builds one of them.
//!
//! All of them are an [`Algorithm`]: a trainer asks for the loss of a batch of views, passes it back for the
//! descent step, and does not need to know which algorithm it runs. Everything that is trained by gradients goes
//! through the same optimiser.
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha8Rng;
//! use simile_core::loss::batch::Batch;
//! use simile_core::algorithm::{Byol, Algorithm, ModelConfig, MovingAverage, Views};
//! use simile_core::optim::{Optimizer, OptimizerConfig};
//!
//! # fn main() -> simile_core::error::Result<()> {
//! let device = Device::flex();
//! let network = ModelConfig::default();
//! let mut algorithm: Box<dyn Algorithm> = Box::new(Byol::new(
//!     &network,
//!     &network.head,
//!     MovingAverage::constant(0.99)?,
//!     &device,
//!     &mut ChaCha8Rng::seed_from_u64(1),
//! )?);
//! let mut optimizer = Optimizer::new(OptimizerConfig::default())?;
//!
//! let images = || Tensor::random([8, 3, 32, 32], Distribution::Default, &device);
//! let loss = algorithm.loss(&Views::new(images(), images())?, Batch::default())?;
//! algorithm.descend(loss, &mut optimizer, 1e-3)?;
//! # Ok(())
//! # }
//! ```

mod batch_shard;
mod bias_first;
mod biased;
mod byol;
mod config;
mod ema;
mod gan;
mod grad_cache;
mod jtt;
mod lff;
mod lnl;
mod method;
mod moco;
mod passes;
mod rebias;
mod single;
mod state;
mod swav;
mod training_set;
mod vae;
mod wcl;
mod with_classifier;
mod workload;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::loss::pairwise::rows_of;
use crate::nn::EncoderConfig;
use crate::nn::Model;
use crate::nn::checkpoint::{CheckpointError, Weights};
use crate::nn::head::HeadConfig;
use crate::nn::initial::InitialValues;
use crate::numeric::matrix::Matrix;
use crate::optim::Optimizer;
use crate::peers::Peers;

pub use batch_shard::BatchShard;
pub use bias_first::{BiasFirst, BiasNetworkSettings};
pub use byol::{Byol, ByolSettings};
pub use config::AlgorithmConfig;
pub use ema::MovingAverage;
pub(crate) use ema::interpolate;
pub use gan::{AdversarialGenerator, DcganSettings};
pub use grad_cache::{BatchStatistics, CachedSettings, GradCache};
pub use jtt::{Jtt, JttSettings, JttStage};
pub use lff::{Lff, LffSettings};
pub use lnl::{Lnl, LnlSettings};
pub use method::{KeptRows, Onset, class_scores};
pub use moco::{MocoSettings, MomentumContrast};
pub use rebias::{Rebias, RebiasSettings};
pub use single::{Single, SingleSettings};
pub use state::{StateReader, StateWriter};
pub use swav::{Swav, SwavSettings};
pub use training_set::TrainingSet;
pub use vae::{VaeSettings, VariationalAutoencoder};
pub use wcl::{DifficultyEncoder, DifficultySettings, DifficultyWeighted};
pub use with_classifier::{WithClassifier, WithClassifierSettings};
pub use workload::StepSize;
pub(crate) use workload::{Pairs, Workload};

/// The training of a network and of the state that an objective needs beside it.
pub trait Algorithm: Debug {
    /// The name in recipes.
    fn name(&self) -> &'static str;

    /// The network that is evaluated and saved.
    fn model(&self) -> &Model;

    /// The loss of two views of the same samples, for [`descend`](Self::descend): with a graph back to everything that this
    /// algorithm trains, or without one if the algorithm keeps the gradients of the step itself, as [`GradCache`] does.
    ///
    /// `context` holds the other inputs of the objective, such as `labels`, `z`, or the indices `samples` of the
    /// batch in the training set.
    ///
    /// # Errors
    /// An input is missing or has the wrong shape, or the objective is not defined on this batch.
    ///
    /// # Panics
    /// On images of another size than the network takes: [`EncoderConfig::check_images`] tells, and
    /// [`Trainer`](crate::train::Trainer) asks it before each step.
    fn loss(&mut self, views: &Views, context: Batch) -> Result<Tensor<1>>;

    /// Takes the step for the last [`loss`](Self::loss), exactly as that was returned, and updates the state: averages, queue,
    /// prototypes. A loss that the caller has scaled or added to takes the same step where the algorithm keeps the gradients
    /// itself.
    ///
    /// # Errors
    /// The loss depends on no network, or the state does not fit the batch.
    fn descend(&mut self, loss: Tensor<1>, optimizer: &mut Optimizer, learning_rate: f64) -> Result<()>;

    /// Distributes the work of every step over further devices.
    ///
    /// # Errors
    /// The algorithm computes on one device only: all except [`GradCache`].
    fn share(&mut self, helpers: &[Device]) -> Result<()> {
        if helpers.is_empty() {
            return Ok(());
        }
        Err(Error::parameter(
            "method.name",
            self.name(),
            "but several devices share the chunks of `cached`; set method={ name = \"cached\", chunk = N }",
        ))
    }

    /// Distributes the work of every step over further processes, which take the same steps. From then on
    /// [`loss`](Self::loss) takes the views of the rows of [`shard`](Self::shard), and the `context` of the whole batch. Each
    /// process has as many devices.
    ///
    /// # Errors
    /// The algorithm computes in one process only: all except [`GradCache`].
    fn join(&mut self, peers: Arc<dyn Peers>) -> Result<()> {
        if peers.count() == 1 {
            return Ok(());
        }
        Err(Error::parameter(
            "method.name",
            self.name(),
            "but several processes share the chunks of `cached`, for any objective that it takes; set \
             method={ name = \"cached\", chunk = N }, or start one process",
        ))
    }

    /// The rows of every batch whose views this process takes.
    fn shard(&self) -> BatchShard {
        BatchShard::WHOLE
    }

    /// The range of steps of the current stage within a run of `steps`; a learning-rate schedule spans one stage.
    fn training_stage(&self, steps: u64) -> Range<u64> {
        0..steps
    }

    /// True if the learning rate follows its schedule in the current stage; otherwise it is the base rate
    /// throughout.
    fn is_scheduled(&self) -> bool {
        true
    }

    /// Ends a stage before the last one. `scores` are the class scores of all training samples, by
    /// [`model`](Self::model) in evaluation mode. Returns the number of samples that it misclassifies. The caller
    /// must reset the optimiser too.
    ///
    /// # Errors
    /// There is no further stage, or the scores are not those of the training set.
    fn begin_training_stage(&mut self, scores: &Matrix, rng: &mut ChaCha8Rng) -> Result<usize> {
        let _ = (scores, rng);
        Err(Error::Degenerate {
            reason: format!("the method `{}` has no further stage", self.name()),
            remedy: "continue with its steps".into(),
        })
    }

    /// Writes everything that training has changed. The module that the optimiser updates is named `trained`.
    ///
    /// # Errors
    /// A value cannot be serialised.
    fn save(&self, state: &mut StateWriter) -> Result<(), CheckpointError>;

    /// Restores the state that [`save`](Self::save) wrote, into an algorithm of the same settings.
    ///
    /// # Errors
    /// An entry is missing or has another shape.
    fn restore(&mut self, state: &mut StateReader) -> Result<(), CheckpointError>;
}

/// Two views of the same samples, and the further images of algorithms with a classifier.
#[derive(Debug, Clone)]
pub struct Views {
    /// `[b, channels, size, size]`.
    pub a: Tensor<4>,
    /// `[b, channels, size, size]`.
    pub b: Tensor<4>,
    /// True if batch norm takes the statistics of each view separately, as CCLK released it; false for both
    /// together.
    pub apart: bool,
    /// The same samples without augmentation, `[b, channels, size, size]`, for a network that does not take views.
    pub plain: Option<Tensor<4>>,
    /// A separate batch of images to classify, `[n, channels, size, size]`.
    pub classified: Option<Tensor<4>>,
    /// Number of samples of the batch, of which other processes have some.
    batch: usize,
}

impl Views {
    /// Two views as they come from an augmentation.
    ///
    /// # Errors
    /// [`Error::Shape`] if they differ in shape, or there is no sample.
    pub fn new(a: Tensor<4>, b: Tensor<4>) -> Result<Self> {
        if a.dims() != b.dims() || a.dims()[0] == 0 {
            let shape = format!("{:?}", b.dims());
            return Err(Error::shape("view_b", format!("{:?}, at least one sample", a.dims()), shape));
        }
        // Batch norm detects training by the images, not by its own tensors.
        let batch = a.dims()[0];
        Ok(Self { a: a.autodiff(), b: b.autodiff(), apart: false, plain: None, classified: None, batch })
    }

    /// Marks the views as those of [`Algorithm::shard`] of a batch of `batch` samples.
    #[must_use]
    pub fn out_of(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// The same views, with or without separate statistics.
    #[must_use]
    pub fn with_per_view_batch_norm(self, apart: bool) -> Self {
        Self { apart, ..self }
    }

    /// Adds the same samples without augmentation.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not have the shape of the views.
    pub fn with_plain(self, images: Tensor<4>) -> Result<Self> {
        if images.dims() != self.a.dims() {
            let shape = format!("{:?}", images.dims());
            return Err(Error::shape("plain", format!("{:?}", self.a.dims()), shape));
        }
        Ok(Self { plain: Some(images.autodiff()), ..self })
    }

    /// Adds a separate batch of images to classify.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no image, or they do not have the size of the views.
    pub fn with_classified(self, images: Tensor<4>) -> Result<Self> {
        if images.dims()[0] == 0 || images.dims()[1..] != self.a.dims()[1..] {
            let (expected, shape) = (&self.a.dims()[1..], images.dims());
            let expected = format!("[n, ..{expected:?}], at least one image");
            return Err(Error::shape("classified", expected, format!("{shape:?}")));
        }
        Ok(Self { classified: Some(images.autodiff()), ..self })
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.a.dims()[0]
    }

    /// The views in chunks of at most `size` samples, in order; images to classify are a separate batch and are
    /// left out.
    fn chunks(&self, size: usize) -> Vec<Self> {
        let size = size.max(1);
        let part = |start: usize| {
            let rows = start..(start + size).min(self.samples());
            let of = |view: &Tensor<4>| rows_of(view, rows.clone());
            let plain = self.plain.as_ref().map(of);
            Self { a: of(&self.a), b: of(&self.b), plain, classified: None, ..self.clone() }
        };
        (0..self.samples()).step_by(size).map(part).collect()
    }

    /// The same views with one change applied to all images.
    pub(crate) fn map(self, of: impl Fn(Tensor<4>) -> Tensor<4>) -> Self {
        let Self { a, b, apart, plain, classified, batch } = self;
        Self { a: of(a), b: of(b), apart, plain: plain.map(&of), classified: classified.map(&of), batch }
    }

    fn to_device(&self, device: &Device) -> Self {
        self.clone().map(|images| images.to_device(device))
    }

    /// Both views as one batch, view a first.
    fn both(&self) -> Tensor<4> {
        Tensor::cat(vec![self.a.clone(), self.b.clone()], 0)
    }
}

/// The settings of a network: encoder, head, initial weights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Images to embeddings.
    pub encoder: EncoderConfig,
    /// Embeddings to projections, or to class scores.
    pub head: HeadConfig,
    /// Initial weights of the encoder; random if absent.
    #[serde(skip)]
    pub weights: Option<Arc<Weights>>,
}

impl ModelConfig {
    /// A network of initial values on an autodiff device; an encoder that has `weights` has these.
    ///
    /// # Errors
    /// A setting is out of range, or the weights belong to another encoder.
    pub fn init(&self, device: &Device, initial: &mut impl InitialValues) -> Result<Model> {
        let device = device.clone().autodiff();
        let mut encoder = self.encoder.init(&device, initial)?;
        if let Some(weights) = &self.weights {
            encoder = weights.put_into(encoder).map_err(|error| Error::Degenerate {
                reason: format!("the encoder cannot start from these weights: {error}"),
                remedy: "name the file of an encoder with the same layers".into(),
            })?;
        }
        let head = self.head.init(self.encoder.embedding_size(), &device, initial)?;
        Ok(Model { encoder, head })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod testing {
    use std::sync::Mutex;

    use burn::tensor::{DType, TensorData};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use serde::Serialize;

    use super::*;
    use crate::loss::spec::{Described, Needed, Spec, VIEW_A, VIEW_B, Z};
    use crate::loss::{Evaluation, NtXent, Objective, ObjectiveConfig};
    use crate::nn::head::HeadKind;
    use crate::optim::OptimizerConfig;

    pub(super) fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    /// LeNet-5 with a linear head.
    pub(super) fn network(output: usize) -> ModelConfig {
        ModelConfig {
            head: HeadConfig { kind: HeadKind::Linear, output, ..HeadConfig::default() },
            ..ModelConfig::default()
        }
    }

    pub(super) fn views(samples: usize, seed: u64) -> Views {
        let mut rng = rng(seed);
        let mut images = || {
            let values: Vec<f32> = (0..samples * 3 * 32 * 32).map(|_| rng.random_range(-1.0..1.0)).collect();
            Tensor::from_data(TensorData::new(values, [samples, 3, 32, 32]), (&Device::flex(), DType::F32))
        };
        Views::new(images(), images()).unwrap()
    }

    /// Losses of some steps on the same batch.
    pub(super) fn train(algorithm: &mut dyn Algorithm, context: &Batch, steps: usize) -> Vec<f32> {
        let mut optimizer = Optimizer::new(OptimizerConfig::default()).unwrap();
        let views = views(6, 7);
        (0..steps)
            .map(|_| {
                let loss = algorithm.loss(&views, context.clone()).unwrap();
                let value = loss.clone().inner().into_scalar::<f32>();
                algorithm.descend(loss, &mut optimizer, 1e-3).unwrap();
                value
            })
            .collect()
    }

    /// Computes NT-Xent, conditions on the representation and stores the batches that it is given.
    #[derive(Debug, Default, Clone, Serialize)]
    pub(super) struct Recorder {
        #[serde(skip)]
        pub(super) batches: Arc<Mutex<Vec<Batch>>>,
    }

    impl Described for Recorder {
        const SPEC: Spec = Spec {
            name: "recorder",
            inputs: &[VIEW_A, VIEW_B, Z.needed(Needed::OrRepresentation)],
            ..Spec::BASE
        };
    }

    impl Objective for Recorder {
        fn evaluate(&self, batch: &Batch) -> Result<Evaluation> {
            self.batches.lock().unwrap().push(batch.clone());
            NtXent::default().evaluate(batch)
        }
    }

    pub(super) const LABELS: [usize; 6] = [0, 1, 2, 0, 1, 2];

    /// The algorithm of a method, for a training set of three classes and two values of the bias.
    pub(super) fn init(
        config: &AlgorithmConfig,
        objective: &str,
        network: &ModelConfig,
    ) -> Result<Box<dyn Algorithm>> {
        let training = TrainingSet { labels: LABELS.to_vec(), biases: 2 };
        let objective = ObjectiveConfig::named(objective);
        config.init(network, &objective, (&training, 10), &Device::flex(), &mut rng(1))
    }

    /// The reason for which a method, as JSON, is refused.
    pub(super) fn refusal(method: &str, objective: &str) -> String {
        let config: AlgorithmConfig = serde_json::from_str(method).unwrap();
        init(&config, objective, &network(3)).unwrap_err().to_string()
    }

    pub(super) fn falls(losses: &[f32]) -> bool {
        losses.iter().all(|loss| loss.is_finite()) && losses.last() < losses.first()
    }
}
