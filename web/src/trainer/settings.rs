//! The settings of a run in a page, and the equivalent recipe of the command line. Settings that a page leaves out or does not offer
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
    #[serde(default)]
    pub(super) seed: u32,
    #[serde(default = "default_batch")]
    pub(super) batch: usize,
    #[serde(default = "default_iterations")]
    pub(super) iterations: u32,
    #[serde(default = "default_learning_rate")]
    pub(super) learning_rate: f64,
    /// The number of training digits.
    #[serde(default = "default_images")]
    pub(super) images: usize,
    /// The number of test digits.
    #[serde(default = "default_test_images")]
    pub(super) test_images: usize,
}

fn default_batch() -> usize {
    256
}

fn default_iterations() -> u32 {
    600
}

fn default_learning_rate() -> f64 {
    4e-3
}

fn default_images() -> usize {
    8192
}

fn default_test_images() -> usize {
    2000
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_are_left_out_are_those_of_the_recipe() {
        let recipe = include_str!("../../../native/recipes/fair-digits.toml");
        let recipe: Value = toml::from_str(recipe).unwrap();
        let own = json!({ "objective": { "name": "nt-xent" } });
        let own = serde_json::from_value::<Settings>(own).unwrap().recipe();
        for section in ["data", "encoder", "head", "optimizer", "schedule", "train"] {
            for (key, value) in recipe[section].as_object().unwrap() {
                assert_eq!(&own[section][key], value, "{section}.{key}");
            }
        }
        // Small crops are the page's own.
        assert_ne!(own["augment"]["crop"], recipe["augment"]["crop"]);
        assert_eq!(own["probe"]["condition"], recipe["probe"]["condition"]);
    }

    #[test]
    fn a_run_without_an_objective_is_refused() {
        let text = serde_json::from_str::<Settings>("{}").unwrap_err().to_string();
        assert!(text.contains("`objective`"), "{text}");
    }
}
