//! Training: the step that the command line and the page share, the order of samples, the state of a run.
//!
//! The network of a [`Trainer`] is one of [`nn`](crate::nn). For a module of your own call [`loss::loss`](crate::loss::loss) in your
//! loop, with [`MovingAverage`](crate::algorithm::MovingAverage) and [`KeyQueue`](crate::algorithm::KeyQueue); the page of
//! [`nn`](crate::nn) has a step of such a loop.
//!
//! ```no_run
//! # use burn::tensor::{Device, Tensor};
//! # use simile_core::loss::batch::Batch;
//! # use simile_core::algorithm::TrainingSet;
//! # use simile_core::loss::{NtXent, ObjectiveConfig};
//! # use simile_core::train::{Sampler, Sampling, Trainer, TrainerConfig};
//! # fn views(_: &[usize], _: impl rand::Rng) -> (Tensor<4>, Tensor<4>) { unimplemented!() }
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut sampler = Sampler::new(Sampling { samples: 60_000, batch: 256, drop_last: false, seed: 0 })?;
//! let config = TrainerConfig {
//!     objective: ObjectiveConfig::of(&NtXent { temperature: 0.1 })?,
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
mod cluster_batches;
#[cfg(test)]
mod communication;
mod condition_groups;
mod config;
mod cost;
mod embed;
mod error;
mod memory;
mod sampler;
mod state;
#[cfg(test)]
mod tests;
mod trainer;
mod views;

pub use cluster_batches::ClusterBatches;
pub use condition_groups::ConditionGroups;
pub use config::{Precision, TrainerConfig};
pub use cost::{Cost, StepCost};
pub use embed::{embed, embed_each, score};
pub use error::TrainError;
pub use memory::{PictureForm, StepMemory, StoredPictures};
pub use sampler::{Sampler, Sampling, TEST_SEED, TO_CLASSIFY_SEED, WeightedSampler, bias_weights};
pub use trainer::Trainer;
pub use views::{ViewMaker, ViewSource};

#[doc(no_inline)]
pub use crate::numeric::random::{Purpose, stream};
