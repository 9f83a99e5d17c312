//! The iterations of a variant.

mod agreement;
mod checkpoints;
mod clock;
mod first_step;
mod image_loader;
pub(crate) mod loader;
mod pace;
pub(crate) mod selection;
pub(crate) mod trainer;

use std::time::Instant;

use anyhow::{Context as _, Result};
use simile_core::train::Trainer;

use self::clock::Clock;
use self::first_step::FirstStep;
use self::loader::DataLoader;
use self::pace::Pace;
use self::trainer::is_divergence;
use super::session::Session;
use crate::config::sections::RecipeVariant;
use crate::console::{Progress, line};
use crate::exit::Interrupted;
use crate::experiment::memory::used::Used;
use crate::interrupt;
use crate::peers::Message;
use crate::run_folder::record::{Measurement, Stopped};
use crate::run_folder::state::CheckpointKind;
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
/// [`Interrupted`] after a checkpoint if the user requests it; any other failure of the run
/// but that the variant diverges.
pub(crate) fn train<T>(
    session: &mut Session,
    at: (usize, &RecipeVariant),
    events: &mut EventLog,
    measure: impl Fn(&Session, &Trainer) -> Result<T>,
) -> Result<TrainingOutcome<T>> {
    let mut training = VariantTraining::open(session, at, events)?;
    let outcome = training.iterate();
    let outcome = training.leave_group(outcome);
    training.progress.finish();
    training.session.wait_for_checkpoint()?;
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
    let Session { recipe, devices, splits, state, .. } = session;
    for (variant, state) in recipe.variants().iter().zip(&state.variants) {
        let Some(name) = &state.trainer else { continue };
        // No image is read here, so that none has to lie on the device.
        let loader =
            DataLoader::with_resident_limit(0, variant, recipe, &splits.train, &devices.first.device)?;
        trainer::open(session, variant, &loader, Some(name))
            .with_context(|| format!("`{}` cannot go on, and the run stays as it is", variant.name))?;
    }
    Ok(())
}

/// A variant in training.
struct VariantTraining<'a> {
    session: &'a mut Session,
    variant: &'a RecipeVariant,
    /// Place of the variant in the recipe.
    at: usize,
    loader: DataLoader,
    trainer: Trainer,
    events: &'a mut EventLog,
    progress: Progress,
    clock: Clock,
    pace: Pace,
    /// Number of the variants that follow.
    following: u64,
    /// The learning rate of the last step.
    learning_rate: f64,
    /// True before the first step of this process on a GPU.
    tunes: bool,
    /// The state of the last checkpoint, until the other processes have it.
    unshared_state: Option<Vec<u8>>,
}

impl<'a> VariantTraining<'a> {
    fn open(
        session: &'a mut Session,
        (at, variant): (usize, &'a RecipeVariant),
        events: &'a mut EventLog,
    ) -> Result<Self> {
        let device = &session.devices.first.device;
        let mut loader = DataLoader::new(variant, &session.recipe, &session.splits.train, device)?;
        let first_steps = variant.method().first_steps().unwrap_or_default();
        selection::keep_candidates(&mut session.state.variants[at], first_steps);
        let newest = session.state.variants[at].trainer.clone();
        let trainer = trainer::open(session, variant, &loader, newest.as_deref())?;
        if newest.is_none() {
            // From here on there is always a state for resuming and for restoring.
            session.checkpoint(at, &trainer, CheckpointKind::ByCount)?;
            session.wait_for_checkpoint()?;
        }
        loader.set_shard(trainer.shard());
        let processes = &session.devices.processes;
        if !processes.is_alone() {
            processes.broadcast(&Message::Variant { at }, &pollster::block_on(trainer.to_bytes())?)?;
        }
        let clock = Clock::new(session.recipe.train.checkpoint_minutes, session.state.variants[at].seconds);
        line(format_args!("{}: training {}", variant.name, session.place));
        let progress = Progress::new(&variant.name, trainer.step_number(), trainer.config().steps);
        let tunes = session.devices.has_gpu();
        let following = (session.state.variants.len() - at - 1) as u64;
        // Patience may end the variant before another step, and its losses since the last line are logged then.
        let learning_rate = trainer.last_learning_rate();
        let (pace, unshared_state) = (Pace::default(), None);
        Ok(Self {
            session,
            variant,
            at,
            loader,
            trainer,
            events,
            progress,
            clock,
            pace,
            following,
            learning_rate,
            tunes,
            unshared_state,
        })
    }

    /// Runs the remaining iterations; returns the reason for an early end, if there was one.
    fn iterate(&mut self) -> Result<Option<Stopped>> {
        if self.lacks_evaluation() {
            // A signal stopped it, at the end of the last iteration.
            let (result, completed) = (self.evaluate_if_due(), self.trainer.step_number() - 1);
            if let Some(stopped) = self.end_iteration(result, completed)? {
                return Ok(Some(stopped));
            }
        }
        while !self.trainer.is_finished() {
            let completed = self.trainer.step_number();
            if let Some(stopped) = selection::no_better(self.session, self.at) {
                // Logs the rest and writes a checkpoint first, so that a longer run can continue from this step.
                return match self.log_rest().and_then(|()| self.checkpoint()) {
                    Ok(()) => Ok(Some(stopped)),
                    Err(error) if is_divergence(&error) => {
                        self.restore_last_finite(&error, completed).map(Some)
                    }
                    Err(error) => Err(error),
                };
            }
            let result = self.step().and_then(|()| self.evaluate_if_due());
            if let Some(stopped) = self.end_iteration(result, completed)? {
                return Ok(Some(stopped));
            }
        }
        Ok(None)
    }

    /// Makes the checkpoint after an iteration with an outcome, if one is due, or restores the state before if it is not finite.
    /// `completed` counts the iterations before it.
    fn end_iteration(&mut self, result: Result<()>, completed: u64) -> Result<Option<Stopped>> {
        self.session.state.variants[self.at].seconds = self.clock.seconds();
        // Read once: between two reads, a signal would end the run without a checkpoint.
        let stop_requested = self.stop_requested();
        match result.and_then(|()| self.checkpoint_if_due(stop_requested)) {
            Ok(()) if stop_requested => Err(self.session.interrupted()),
            Ok(()) => Ok(None),
            Err(error) if is_divergence(&error) => self.restore_last_finite(&error, completed).map(Some),
            Err(error) => Err(error),
        }
    }

    /// True if the user requested a stop. Several processes agree on it before the next step.
    fn stop_requested(&self) -> bool {
        self.session.devices.processes.is_alone() && interrupt::is_requested()
    }

    /// One step, with its log lines.
    fn step(&mut self) -> Result<()> {
        if self.trainer.awaits_scores() {
            self.interruptible(Self::begin_training_stage)?;
        }
        self.learning_rate = self.trainer.learning_rate();
        let began = Instant::now();
        let images = match std::mem::take(&mut self.tunes) {
            true => {
                let first = FirstStep::begin(&self.variant.name);
                let images = self.next_agreed_batch()?.step(&mut self.trainer)?;
                self.session.devices.first.device.sync().context("waiting for the device")?;
                first.end();
                images
            }
            false => self.next_agreed_batch()?.step(&mut self.trainer)?,
        };
        // The time of a step that is logged has the wait for its loss.
        let loss = match self.is_due(self.session.recipe.train.log_every as u64) {
            true => pollster::block_on(self.trainer.mean_loss())?,
            false => None,
        };
        self.pace.add(images, began.elapsed());
        self.log(loss)?;
        self.session.state.variants[self.at].iteration = self.trainer.step_number();
        Ok(())
    }

    /// Evaluates the network for the selection, if it is time for that.
    fn evaluate_if_due(&mut self) -> Result<()> {
        if !self.lacks_evaluation() {
            return Ok(());
        }
        self.interruptible(|training| {
            let variant = (training.at, training.variant);
            let held_up = selection::evaluate(training.session, variant, &training.trainer, training.events)?;
            training.clock.spend_on_best(held_up);
            Ok(())
        })
    }

    /// True if it is time for an evaluation that was not made. Networks of an earlier stage are no candidates, and patience does not
    /// count them.
    fn lacks_evaluation(&self) -> bool {
        let every = selection::evaluated_every(self.session, self.loader.batches_per_epoch());
        let last = self.session.state.variants[self.at].evaluations.last();
        let is_made = last.is_some_and(|last| last.iteration == self.trainer.step_number());
        every > 0 && self.is_due(every) && self.trainer.is_in_last_training_stage() && !is_made
    }

    /// Does work between two steps that a signal may stop. A checkpoint of the steps before is then made, from which the run does the
    /// whole work when it resumes. It is not the checkpoint that a divergence restores: the work may still find that the network
    /// diverged.
    fn interruptible(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let result = work(self);
        if result.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
            self.session.state.variants[self.at].seconds = self.clock.seconds();
            self.checkpoint_if_finite()?;
        }
        result
    }

    /// Logs the mean loss of the steps since the last line, if there were any.
    fn log_rest(&mut self) -> Result<()> {
        let loss = pollster::block_on(self.trainer.mean_loss())?;
        self.log(loss)
    }

    /// Writes a mean loss, if there is one, to the log, TensorBoard and the line of progress.
    fn log(&mut self, loss: Option<f64>) -> Result<()> {
        let Some(loss) = loss else { return Ok(()) };
        let (iteration, learning_rate) = (self.trainer.step_number(), self.learning_rate);
        let (variant, count) = (self.variant.name.clone(), iteration as usize);
        let steps = self.trainer.config().steps;
        let left = (steps - iteration, self.following * steps);
        let memory = Used::now(&self.session.devices.first.device);
        let note = self.pace.note(self.loader.take_waited().sum(), left, memory);
        let share = self.clock.checkpoint_share();
        let error = self.loader.take_approximation_error().map(|error| ("solve/approximation_error", error));
        let scalars = [("loss", loss), ("learning_rate", learning_rate), ("pace/checkpoints", share)];
        self.events.scalars(count, scalars.into_iter().chain(note.scalars()).chain(error))?;
        self.session.log.append(&Measurement { variant, iteration: count, loss, learning_rate })?;
        self.events.show()?;
        self.session.log.show()?;
        self.progress.at(iteration, format_args!("loss {loss:.4}  {note}"));
        Ok(())
    }

    /// True if this iteration is a multiple of `every`, or the last.
    fn is_due(&self, every: u64) -> bool {
        self.trainer.step_number().is_multiple_of(every) || self.trainer.is_finished()
    }

    /// Finds the training images on which the first network fails; the second network gives them more weight.
    fn begin_training_stage(&mut self) -> Result<()> {
        let normalisation = self.session.normalisation()?;
        let train = &self.session.splits.train;
        let go_on = || self.session.go_on();
        let scores =
            self.session.prepared(train, &normalisation).scores_while(self.trainer.model(), &go_on)?;
        let failures = self.trainer.begin_training_stage(&scores)?;
        line(format_args!(
            "{}: the network fails on {failures} of {} training images; the next stage begins",
            self.variant.name,
            train.len()
        ));
        Ok(())
    }
}
