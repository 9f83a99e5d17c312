//! The settings of a step as far as a recipe knows them without data, for estimates before a run.

use anyhow::Result;
use simile_core::algorithm::{AlgorithmConfig, StepSize};
use simile_core::train::TrainerConfig;

use crate::config::Recipe;
use crate::config::sections::Arm;
use crate::exit::usage;

/// The settings of a step of an arm, by a method.
///
/// # Errors
/// As the settings of the objective.
pub(super) fn step_settings(recipe: &Recipe, arm: &Arm, method: AlgorithmConfig) -> Result<TrainerConfig> {
    let Recipe { encoder, head, optimizer, train, .. } = recipe;
    Ok(TrainerConfig {
        objective: arm.objective.config().map_err(usage)?,
        encoder: encoder.config.clone(),
        head: head.of(arm.scores(1, 1)),
        optimizer: optimizer.clone(),
        ema: train.ema,
        accumulate: train.accumulate as u64,
        precision: train.precision,
        algorithm: method,
        ..TrainerConfig::default()
    })
}

/// The size of a step on a batch of so many samples.
pub(super) fn step_size(recipe: &Recipe, config: &TrainerConfig, samples: usize) -> StepSize {
    let classified = recipe.classified.as_ref().filter(|_| config.algorithm.takes_classified());
    StepSize { samples, classified: classified.map(|section| section.batch) }
}
