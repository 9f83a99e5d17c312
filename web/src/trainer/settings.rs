//! The settings of a run in a page, and the equivalent recipe of the command line. Settings that a page does not offer
//! are those of the recipe `fair-digits`, except for the crops; omitted settings of the objective are its defaults.

use serde::Deserialize;
use serde_json::{Value, json};
use simile_core::augment::{Augmentation, Crop};
use simile_core::eval::linear_probe::LinearProbeConfig;
use simile_core::loss::ObjectiveConfig;
use simile_core::optim::OptimizerConfig;
use simile_core::optim::rules::Adam;
use simile_core::optim::schedule::Schedule;
use simile_core::train::{Sampling, TrainerConfig};

/// The variable that a run is conditioned on and probed for.
pub(super) const CONDITION: &str = "colour";

/// The settings of a run, as JSON.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Settings {
    pub(super) objective: ObjectiveConfig,
    pub(super) seed: u32,
    pub(super) batch: usize,
    pub(super) iterations: u32,
    pub(super) learning_rate: f64,
    /// The number of training digits.
    pub(super) images: usize,
    /// The number of test digits.
    pub(super) test_images: usize,
}

impl Settings {
    /// Small crops, with which plain contrastive learning soon loses the digit, and no flip.
    pub(super) fn augmentation() -> Augmentation {
        Augmentation { crop: Some(Crop { scale: [0.3, 1.0], ..Crop::default() }), ..Augmentation::default() }
    }

    /// The order of so many images.
    pub(super) fn sampling(&self, samples: usize) -> Sampling {
        Sampling { samples, batch: self.batch, drop_last: false, seed: self.seed.into() }
    }

    /// The settings as the configuration of core's trainer.
    pub(super) fn config(&self) -> TrainerConfig {
        TrainerConfig {
            objective: self.objective.clone(),
            optimizer: OptimizerConfig::Adam(Adam { learning_rate: self.learning_rate, ..Adam::default() }),
            schedule: Schedule::Cosine { warm_up: 0.05 },
            steps: self.iterations.into(),
            steps_per_epoch: self.sampling(self.images).batches_per_epoch(),
            seed: self.seed.into(),
            ..TrainerConfig::default()
        }
    }

    /// The settings as the recipe that the command line stores in a checkpoint and reads to evaluate it.
    pub(super) fn recipe(&self) -> Value {
        let TrainerConfig { encoder, head, optimizer, schedule, .. } = self.config();
        let mut objective = json!(self.objective);
        if self.objective.needs_condition() {
            objective["condition"] = CONDITION.into();
        }
        json!({
            "name": self.objective.name,
            "data": { "dataset": "digits", "colours": "palette", "train": self.images, "test": self.test_images },
            "encoder": encoder,
            "head": head,
            "augment": Self::augmentation(),
            "objective": objective,
            "optimizer": optimizer,
            "schedule": schedule,
            "train": { "batch": self.batch, "iterations": self.iterations, "seed": self.seed },
            "probe": { "condition": CONDITION, "ridge": LinearProbeConfig::default().regularisation },
        })
    }
}
