//! The settings of a step as far as a recipe knows them without data: for the trainer, and for estimates before a run.

use anyhow::Result;
use simile_core::algorithm::{AlgorithmConfig, StepSize};
use simile_core::train::TrainerConfig;

use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::exit::usage;

/// Bytes of a batch above which one is prepared ahead in place of two, so that no more than two are in memory with the one in
/// use.
const LARGE: u64 = 256 << 20;

/// Number of batches that wait, or are being read, while one is used; `bytes` is the size of a batch.
pub(super) fn batches_ahead(bytes: u64) -> usize {
    if bytes > LARGE { 1 } else { 2 }
}

/// The settings of a step of a variant, by an algorithm, with a head of one class and without the number of steps of an epoch, which
/// the data decide.
///
/// # Errors
/// As the settings of the objective.
pub(super) fn step_settings(
    recipe: &Recipe,
    variant: &RecipeVariant,
    algorithm: AlgorithmConfig,
) -> Result<TrainerConfig> {
    let Recipe { encoder, head, optimizer, schedule, train, .. } = recipe;
    // Every field is named, so that none of training is left at its default.
    Ok(TrainerConfig {
        objective: variant.objective.config().map_err(usage)?,
        algorithm,
        encoder: encoder.config.clone(),
        head: head.of(variant.scores(1, 1)),
        optimizer: optimizer.clone(),
        schedule: schedule.clone(),
        steps: train.iterations as u64,
        steps_per_epoch: 0,
        per_view_batch_norm: train.per_view_batch_norm,
        seed: train.seed,
        ema: train.ema,
        accumulate: train.accumulate as u64,
        precision: train.precision,
        weights: None,
    })
}

/// The side of the pictures of which views are made.
pub(super) fn side_of_pictures(recipe: &Recipe) -> usize {
    recipe.data.side.unwrap_or(recipe.encoder.config.input_size)
}

/// The size of a step on a batch of `batch` samples.
pub(super) fn step_size(recipe: &Recipe, config: &TrainerConfig, samples: usize) -> StepSize {
    let classified = recipe.classified.as_ref().filter(|_| config.algorithm.takes_images_to_classify());
    StepSize { samples, to_classify: classified.map(|section| section.batch) }
}
