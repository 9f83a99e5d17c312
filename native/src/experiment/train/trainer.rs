//! The trainer of a variant: its settings, its state, its devices.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use simile_core::data::Dataset;
use simile_core::error::Error;
use simile_core::nn::checkpoint::{CheckpointError, Weights};
use simile_core::train::{TrainError, Trainer, TrainerConfig};

use super::loader::DataLoader;
use crate::config::Recipe;
use crate::config::sections::RecipeVariant;
use crate::devices::DeviceSet;
use crate::exit::usage;
use crate::experiment::prepare::context::Context;
use crate::experiment::session::Session;

/// The trainer of a variant, with the state of a file or at its start.
///
/// # Errors
/// A usage error if the recipe's settings are incompatible; a failure if the file is damaged.
pub(super) fn open(
    session: &Session,
    variant: &RecipeVariant,
    loader: &DataLoader,
    state: Option<&str>,
) -> Result<Trainer> {
    let context = loader.context();
    let training_set = context.training_set();
    let epoch = (&session.splits.train, loader.batches_per_epoch());
    let config = trainer_config(variant, &session.recipe, context, epoch, session.weights.clone())?;
    let device = &session.devices.first.device;
    let mut trainer = match state {
        Some(name) => {
            let bytes = session.state.file(&session.folder, name)?;
            Trainer::resume(config, &training_set, device, &bytes).context("continuing the run")?
        }
        None => Trainer::new(config, &training_set, device).map_err(usage)?,
    };
    share(&mut trainer, session.recipe.train.batch, &session.devices)?;
    Ok(trainer)
}

/// Assigns a part of each step to every device of every process.
///
/// # Errors
/// A usage error if the method supports only one device or process, or a batch has fewer parts than devices.
pub(crate) fn share(trainer: &mut Trainer, batch: usize, devices: &DeviceSet) -> Result<()> {
    let helpers = devices.helpers();
    trainer.share(&helpers).map_err(usage)?;
    trainer.join(devices.processes.peers()).map_err(usage)?;
    let count = (1 + helpers.len()) * devices.processes.count();
    match trainer.config().algorithm.chunk() {
        Some(chunk) if batch.div_ceil(chunk) < count => Err(usage(format_args!(
            "a batch of {batch} in chunks of {chunk} leaves some of {count} devices without work; lower \
             method.chunk, or raise train.batch"
        ))),
        _ => Ok(()),
    }
}

/// The settings of a trainer, with the number of steps of an epoch.
pub(crate) fn trainer_config(
    variant: &RecipeVariant,
    recipe: &Recipe,
    context: &Context,
    (images, steps_per_epoch): (&Dataset, u64),
    weights: Option<Arc<Weights>>,
) -> Result<TrainerConfig> {
    let Recipe { encoder, head, optimizer, schedule, train, .. } = recipe.clone();
    let training = context.training_set();
    let classes = training.labels.iter().max().map_or(0, |label| label + 1);
    Ok(TrainerConfig {
        objective: variant.objective.config().map_err(usage)?,
        algorithm: variant.method(),
        encoder: encoder.config,
        head: head.of(variant.scores(classes.max(images.classes.len()), training.biases)),
        optimizer,
        schedule,
        steps: train.iterations as u64,
        steps_per_epoch,
        per_view_batch_norm: train.per_view_batch_norm,
        seed: train.seed,
        ema: train.ema,
        accumulate: train.accumulate as u64,
        precision: train.precision,
        weights,
    })
}

/// True if the error is that of another process in the same step.
pub(crate) fn is_of_another(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref(), Some(Error::PeerFailed)))
}

/// True if the error is that a weight or an output of the network is not finite.
pub(crate) fn is_divergence(error: &anyhow::Error) -> bool {
    let of_network = |input: &str| ["embedding", "logits", "view_a", "view_b"].contains(&input);
    error.chain().any(|cause| {
        matches!(
            cause.downcast_ref(),
            Some(TrainError::Diverged { .. } | TrainError::State(CheckpointError::NotFinite { .. }))
        ) || matches!(cause.downcast_ref(), Some(CheckpointError::NotFinite { .. }))
            || matches!(cause.downcast_ref(), Some(Error::NotFinite { input, .. }) if of_network(input))
    })
}
