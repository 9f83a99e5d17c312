//! The trainer of a variant: its settings, its state, its devices.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use simile_core::data::Dataset;
use simile_core::error::Error;
use simile_core::nn::checkpoint::{CheckpointError, Weights};
use simile_core::train::{TrainError, Trainer, TrainerConfig};

use super::loader::DataLoader;
use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::devices::DeviceSet;
use crate::exit::{Subject, usage, usage_about};
use crate::experiment::prepare::context::Context;
use crate::experiment::session::Session;
use crate::experiment::step_settings::step_settings;

/// The inputs of the trainer of a variant beside its batches.
#[derive(Clone, Copy)]
pub(crate) struct TrainerInputs<'a> {
    pub(crate) variant: &'a RecipeVariant,
    pub(crate) recipe: &'a Recipe,
    pub(crate) train: &'a Dataset,
    pub(crate) devices: &'a DeviceSet,
    /// The initial weights of encoders; random if absent.
    pub(crate) weights: Option<&'a Arc<Weights>>,
}

impl TrainerInputs<'_> {
    /// The trainer with the bytes of a state or at its start, which shares its steps with all devices of all processes.
    ///
    /// # Errors
    /// A usage error if the recipe's settings are incompatible with each other or with the devices; a failure if the state is damaged.
    pub(crate) fn trainer(
        &self,
        context: &Context,
        steps_per_epoch: u64,
        state: Option<&[u8]>,
    ) -> Result<Trainer> {
        let &Self { variant, recipe, train, devices, weights } = self;
        let mut config = trainer_config(variant, recipe, context, train, steps_per_epoch)?;
        config.weights = weights.cloned();
        let (set, device) = (context.training_set(), &devices.first.device);
        let mut trainer = match state {
            Some(bytes) => Trainer::resume(config, &set, device, bytes)?,
            None => Trainer::new(config, &set, device).map_err(refused)?,
        };
        share(&mut trainer, recipe.train.batch, devices)?;
        Ok(trainer)
    }
}

/// The trainer of a variant of a session, with the state of a file or at its start.
///
/// # Errors
/// As [`TrainerInputs::trainer`]; a failure if the file is damaged.
pub(super) fn open(
    session: &Session,
    variant: &RecipeVariant,
    loader: &DataLoader,
    file: Option<&str>,
) -> Result<Trainer> {
    let Session { recipe, devices, splits, weights, store, .. } = session;
    let bytes = file.map(|name| store.state.files.read(&store.folder, name)).transpose()?;
    let inputs = TrainerInputs { variant, recipe, train: &splits.train, devices, weights: weights.as_ref() };
    let trainer = inputs.trainer(loader.context(), loader.batches_per_epoch(), bytes.as_deref());
    match file {
        Some(_) => trainer.context("continuing the run"),
        None => trainer,
    }
}

/// The usage error of settings with which no trainer can begin.
fn refused(error: TrainError) -> anyhow::Error {
    match &error {
        TrainError::Input(Error::Parameter { name, .. }) if name.starts_with("method.") => {
            usage_about(Subject::MethodKey(name.clone()), &error)
        }
        _ => usage(&error),
    }
}

/// Assigns a part of each step to every device of every process.
///
/// # Errors
/// A usage error if the method supports only one device or process, or a batch has fewer parts than devices.
fn share(trainer: &mut Trainer, batch: usize, devices: &DeviceSet) -> Result<()> {
    let helpers = devices.helpers();
    trainer.use_devices(&helpers).map_err(usage)?;
    trainer.use_peers(devices.processes.peers()).map_err(usage)?;
    let count = (1 + helpers.len()) * devices.processes.count();
    match trainer.config().algorithm.chunk() {
        Some(chunk) if batch.div_ceil(chunk) < count => Err(usage(format_args!(
            "a batch of {batch} in chunks of {chunk} leaves some of {count} devices without work; lower \
             method.chunk, or raise train.batch"
        ))),
        _ => Ok(()),
    }
}

/// The settings of a trainer with random initial weights, and with the number of steps of an epoch.
///
/// # Errors
/// A usage error if those of the objective are not valid.
pub(crate) fn trainer_config(
    variant: &RecipeVariant,
    recipe: &Recipe,
    context: &Context,
    images: &Dataset,
    steps_per_epoch: u64,
) -> Result<TrainerConfig> {
    let training = context.training_set();
    let classes = training.labels.iter().max().map_or(0, |label| label + 1);
    Ok(TrainerConfig {
        head: recipe.head.of(variant.scores(classes.max(images.classes.len()), training.bias_count)),
        steps_per_epoch,
        ..step_settings(recipe, variant, variant.algorithm.clone())?
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::exit::message_with_causes;
    use crate::experiment::testing::session;

    /// A process that follows the steps of another one was said to continue the run.
    #[test]
    fn only_a_state_of_a_file_continues_the_run() {
        let place = tempfile::tempdir().unwrap();
        let mut session = session(&place.path().join("run"), "[objective]\nname = \"nt-xent\"\n");
        session.store.state.files.keep(&session.store.folder, "damaged", b"no state").unwrap();
        let Session { recipe, devices, splits, .. } = &session;
        let (variant, train) = (recipe.variants().remove(0), &splits.train);
        let loader = DataLoader::new(&variant, recipe, train, &devices.first.device).unwrap();
        let error = open(&session, &variant, &loader, Some("damaged")).err().unwrap();
        assert!(message_with_causes(&error).starts_with("continuing the run: "), "{error:#}");
        let inputs = TrainerInputs { variant: &variant, recipe, train, devices, weights: None };
        let error = inputs.trainer(loader.context(), 2, Some(b"no state")).err().unwrap();
        assert!(!message_with_causes(&error).contains("continuing"), "{error:#}");
    }
}
