//! The training of a variant, and the checks of its state.

mod agreement;
mod checkpoints;
mod clock;
mod divergence;
mod image_loader;
pub(crate) mod loader;
mod pace;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod reads_nothing;
pub(crate) mod selection;
pub(crate) mod trainer;
pub(crate) mod tuning;
mod variant_training;

use anyhow::{Context as _, Result};
use simile_core::train::Trainer;

use self::loader::DataLoader;
use self::variant_training::VariantTraining;
use super::session::{Session, VariantAt};
use crate::console::line;
use crate::run_folder::record::Stopped;
use crate::run_folder::tensorboard::EventLog;

/// The measurements of a trained network, with the reason for an early end if there was one.
pub(crate) struct TrainingOutcome<T> {
    pub(crate) measured: T,
    pub(crate) stopped: Option<Stopped>,
}

/// Trains the variant at a place in the recipe, from its last checkpoint on, and measures its network. It makes checkpoints at
/// intervals of iterations and of minutes.
///
/// # Errors
/// [`Interrupted`](crate::exit::Interrupted) after a checkpoint if the user requests it; any other failure of the run
/// but that the variant diverges.
pub(crate) fn train<T>(
    session: &mut Session,
    variant_at: VariantAt<'_>,
    events: &mut EventLog,
    measure: impl Fn(&Session, &Trainer) -> Result<T>,
) -> Result<TrainingOutcome<T>> {
    let mut training = VariantTraining::open(session, variant_at, events)?;
    let outcome = training.iterate();
    let outcome = training.leave_group(outcome);
    training.progress.finish();
    training.session.store.wait_for_checkpoint()?;
    training.clock.warn_of_checkpoints(&training.variant.name);
    let stopped = outcome?;
    if let Some(stopped) = &stopped {
        line(format_args!("{}: {}", training.variant.name, stopped.message));
    }
    training.measured(stopped, measure)
}

/// Checks that every variant of a run that is made longer can go on from its state.
///
/// # Errors
/// A usage error if the devices cannot share its steps; a failure if its state is damaged or of other settings.
pub(crate) fn check_states(session: &Session) -> Result<()> {
    let Session { recipe, devices, splits, store, .. } = session;
    for (variant, state) in recipe.variants().iter().zip(&store.state.variants) {
        let Some(name) = &state.trainer else { continue };
        // No image is read here, so that none has to lie on the device.
        let loader =
            DataLoader::with_resident_limit(0, variant, recipe, &splits.train, &devices.first.device)?;
        trainer::open(session, variant, &loader, Some(name))
            .with_context(|| format!("`{}` cannot go on, and the run stays as it is", variant.name))?;
    }
    Ok(())
}
