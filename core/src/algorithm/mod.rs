//! Algorithms: objectives with the state that they need beside the network, such as a queue, a second network or prototypes.
//!
//! A recipe names a training method and its settings, an [`AlgorithmConfig`], which builds one of them.
//!
//! All of them are an [`Algorithm`]: a trainer asks for the loss of a batch of views, passes it back for the
//! descent step, and does not need to know which algorithm it runs. Everything that is trained by gradients goes
//! through the same optimiser. The network is one of [`nn`](crate::nn). For a module of your own call [`loss`](crate::loss::loss) in
//! your loop, with [`MovingAverage`], which takes any module, and [`KeyQueue`].
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use simile_core::algorithm::{Algorithm, Byol, MovingAverage, Views};
//! use simile_core::loss::batch::Batch;
//! use simile_core::nn::ModelConfig;
//! use simile_core::optim::{Optimizer, OptimizerConfig};
//! use simile_core::train::{Purpose, stream};
//!
//! # fn main() -> simile_core::error::Result<()> {
//! let device = Device::flex();
//! let network = ModelConfig::default();
//! let mut algorithm: Box<dyn Algorithm> = Box::new(Byol::new(
//!     &network,
//!     &network.head,
//!     MovingAverage::constant(0.99)?,
//!     &device,
//!     &mut stream(1, Purpose::Initialisation, 0),
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
mod bias_network;
mod byol;
mod class_scores;
mod config;
mod dcgan;
mod debiased_pair;
mod difficulty;
mod grad_cache;
mod jtt;
mod key_queue;
mod lff;
mod lnl;
mod loss_averages;
mod moco;
mod moving_average;
mod passes;
mod rebias;
mod settings;
mod single;
mod state;
mod swav;
mod training_set;
mod vae;
mod views;
mod with_classifier;
mod workload;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};
use crate::loss::batch::Batch;
use crate::nn::Model;
use crate::nn::checkpoint::CheckpointError;
use crate::numeric::matrix::Matrix;
use crate::optim::Optimizer;
use crate::peers::Peers;

pub use batch_shard::BatchShard;
pub use bias_network::{BiasNetwork, BiasNetworkSettings};
pub use byol::{Byol, ByolSettings};
pub use class_scores::class_scores;
pub use config::AlgorithmConfig;
pub use dcgan::{Dcgan, DcganSettings};
pub use difficulty::{DifficultySettings, DifficultyWeighted, EvaluatedNetwork};
pub use grad_cache::{BatchStatistics, GradCache, GradCacheSettings};
pub use jtt::{Jtt, JttSettings, JttStage};
pub use key_queue::KeyQueue;
pub use lff::{Lff, LffSettings};
pub use lnl::{Lnl, LnlSettings};
pub use loss_averages::LossAverages;
pub use moco::{MocoSettings, MomentumContrast};
pub use moving_average::MovingAverage;
pub(crate) use moving_average::interpolate;
pub use rebias::{Rebias, RebiasSettings};
pub use settings::{InnerLoss, Onset, StoredRows};
pub use single::{Single, SingleSettings};
pub use state::{StateReader, StateWriter};
pub use swav::{Swav, SwavSettings};
pub use training_set::TrainingSet;
pub use vae::{VaeSettings, VariationalAutoencoder};
pub use views::Views;
pub use with_classifier::{WithClassifier, WithClassifierSettings};
pub use workload::StepSize;
pub(crate) use workload::{PairCount, Workload};

#[doc(no_inline)]
pub use crate::nn::ModelConfig;

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
    /// On images of another size than the network takes:
    /// [`EncoderConfig::check_images`](crate::nn::EncoderConfig::check_images) tells, and [`Trainer`](crate::train::Trainer) asks it
    /// before each step.
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
    fn use_devices(&mut self, helpers: &[Device]) -> Result<()> {
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
    fn use_peers(&mut self, peers: Arc<dyn Peers>) -> Result<()> {
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

    /// Begins the next stage, such as that of just train twice's second network. `scores`, `[training samples, classes]`, are those
    /// of [`model`](Self::model) in evaluation mode. Returns how many samples it misclassifies. The caller must reset the optimiser.
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
    use crate::nn::head::{HeadConfig, HeadKind};
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
        let training = TrainingSet { labels: LABELS.to_vec(), bias_count: 2 };
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

    pub(super) fn largest_difference(values: &[f32], expected: &[f32]) -> f32 {
        assert_eq!(values.len(), expected.len());
        values.iter().zip(expected).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()))
    }
}
