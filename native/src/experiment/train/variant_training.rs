//! A variant in training: its iterations one after another, with their lines of progress, evaluations and checkpoints.

use std::time::Instant;

use anyhow::Result;
use simile_core::train::Trainer;

use super::clock::Clock;
use super::loader::DataLoader;
use super::pace::Pace;
use super::selection;
use super::trainer::{self, is_divergence};
use super::tuning::Tuning;
use crate::config::variant::RecipeVariant;
use crate::console::{Progress, line};
use crate::exit::Interrupted;
use crate::experiment::memory::used::UsedMemory;
use crate::experiment::session::{Session, VariantAt};
use crate::interrupt;
use crate::peers::Message;
use crate::run_folder::record::{Measurement, Stopped};
use crate::run_folder::state::{CheckpointKind, VariantState};
use crate::run_folder::tensorboard::EventLog;

/// A variant in training.
pub(super) struct VariantTraining<'a> {
    pub(super) session: &'a mut Session,
    pub(super) variant: &'a RecipeVariant,
    /// Place of the variant in the recipe.
    pub(super) at: usize,
    pub(super) loader: DataLoader,
    pub(super) trainer: Trainer,
    pub(super) events: &'a mut EventLog,
    pub(super) progress: Progress,
    pub(super) clock: Clock,
    pace: Pace,
    /// Number of the variants that follow.
    following: u64,
    /// The learning rate of the last step.
    learning_rate: f64,
    /// The sizes of batches that this process has tuned kernels for.
    tuning: Tuning,
    /// The state of the last checkpoint, until the other processes have it.
    pub(super) unshared_state: Option<Vec<u8>>,
}

impl<'a> VariantTraining<'a> {
    pub(super) fn open(
        session: &'a mut Session,
        VariantAt { at, variant }: VariantAt<'a>,
        events: &'a mut EventLog,
    ) -> Result<Self> {
        let device = &session.devices.first.device;
        let mut loader = DataLoader::new(variant, &session.recipe, &session.splits.train, device)?;
        let first_steps = variant.algorithm.first_steps().unwrap_or_default();
        selection::keep_candidates(session.variant_state_mut(at), first_steps);
        let newest = session.variant_state(at).trainer.clone();
        let trainer = trainer::open(session, variant, &loader, newest.as_deref())?;
        if newest.is_none() {
            // From here on there is always a state for resuming and for restoring.
            session.store.checkpoint(at, &trainer, CheckpointKind::ByCount)?;
            session.store.wait_for_checkpoint()?;
        }
        loader.set_shard(trainer.shard());
        let processes = &session.devices.processes;
        if !processes.is_alone() {
            processes.broadcast(&Message::Variant { at }, &pollster::block_on(trainer.to_bytes())?)?;
        }
        let clock = Clock::new(session.recipe.train.checkpoint_minutes, session.variant_state(at).seconds);
        line(format_args!("{}: training {}", variant.name, session.devices_text));
        let progress = Progress::new(&variant.name, trainer.step_number(), trainer.config().steps);
        let tuning = Tuning::new(&variant.name, session.devices.has_gpu());
        let following = (session.store.state.variants.len() - at - 1) as u64;
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
            tuning,
            unshared_state,
        })
    }

    /// The state of the variant.
    pub(super) fn state(&mut self) -> &mut VariantState {
        self.session.variant_state_mut(self.at)
    }

    /// Runs the remaining iterations; returns the reason for an early end, if there was one.
    pub(super) fn iterate(&mut self) -> Result<Option<Stopped>> {
        if self.lacks_evaluation() {
            // A signal stopped it, at the end of the last iteration.
            let (result, completed) = (self.evaluate_if_due(), self.trainer.step_number() - 1);
            if let Some(stopped) = self.end_iteration(result, completed)? {
                return Ok(Some(stopped));
            }
        }
        while !self.trainer.is_finished() {
            let completed = self.trainer.step_number();
            let section = self.session.recipe.selection.as_ref();
            let evaluations = &self.session.variant_state(self.at).evaluations;
            if let Some(stopped) = selection::stopped_by_patience(section, evaluations) {
                // Logs the rest and writes a checkpoint first, so that a longer run can continue from this step.
                return match self.log_rest().and_then(|()| self.checkpoint_without_sharing()) {
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
    pub(super) fn end_iteration(&mut self, result: Result<()>, completed: u64) -> Result<Option<Stopped>> {
        self.state().seconds = self.clock.seconds();
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
    pub(super) fn step(&mut self) -> Result<()> {
        if self.trainer.awaits_scores() {
            self.interruptible(Self::begin_training_stage)?;
        }
        self.learning_rate = self.trainer.learning_rate();
        let began = Instant::now();
        let first = self.tuning.before_first_batch();
        let batch = self.next_agreed_batch()?;
        let device = &self.session.devices.first.device;
        let images = self.tuning.step(first, batch, &mut self.trainer, device)?;
        // The time of a step that is logged has the wait for its loss.
        let loss = match self.is_due(self.session.recipe.train.log_every as u64) {
            true => pollster::block_on(self.trainer.mean_loss())?,
            false => None,
        };
        self.pace.add(images, began.elapsed());
        self.log(loss)?;
        self.state().iteration = self.trainer.step_number();
        Ok(())
    }

    /// Evaluates the network for the selection, if it is time for that.
    pub(super) fn evaluate_if_due(&mut self) -> Result<()> {
        if !self.lacks_evaluation() {
            return Ok(());
        }
        self.interruptible(|training| {
            let variant_at = VariantAt { at: training.at, variant: training.variant };
            let held_up =
                selection::evaluate(training.session, variant_at, &training.trainer, training.events)?;
            training.clock.spend_on_best(held_up);
            Ok(())
        })
    }

    /// True if it is time for an evaluation that was not made. Networks of an earlier stage are no candidates, and patience does not
    /// count them.
    pub(super) fn lacks_evaluation(&self) -> bool {
        let every = selection::evaluated_every(self.session, self.loader.batches_per_epoch());
        let last = self.session.variant_state(self.at).evaluations.last();
        let is_made = last.is_some_and(|last| last.iteration == self.trainer.step_number());
        every > 0 && self.is_due(every) && self.trainer.is_in_last_training_stage() && !is_made
    }

    /// Does work between two steps that a signal may stop. A checkpoint of the steps before is then made, from which the run does the
    /// whole work when it resumes. It is not the checkpoint that a divergence restores: the work may still find that the network
    /// diverged.
    pub(super) fn interruptible(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let result = work(self);
        if result.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
            self.state().seconds = self.clock.seconds();
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
        let memory = UsedMemory::now(&self.session.devices.first.device);
        let (waited, following) = (self.loader.take_waited().sum(), self.following * steps);
        let note = self.pace.note(waited, steps - iteration, following, memory);
        let share = self.clock.checkpoint_share();
        let error = self.loader.take_approximation_error().map(|error| ("solve/approximation_error", error));
        let scalars = [("loss", loss), ("learning_rate", learning_rate), ("pace/checkpoints", share)];
        self.events.scalars(count, scalars.into_iter().chain(note.scalars()).chain(error))?;
        self.session.store.log.append(&Measurement { variant, iteration: count, loss, learning_rate })?;
        self.events.show()?;
        self.session.store.log.show()?;
        self.progress.at(iteration, format_args!("loss {loss:.4}  {note}"));
        Ok(())
    }

    /// True if this iteration is a multiple of `every`, or the last.
    pub(super) fn is_due(&self, every: u64) -> bool {
        self.trainer.step_number().is_multiple_of(every) || self.trainer.is_finished()
    }

    /// Finds the training images on which the first network fails; the second network gives them more weight.
    pub(super) fn begin_training_stage(&mut self) -> Result<()> {
        let form = self.session.image_form()?;
        let train = &self.session.splits.train;
        let check = || self.session.check_interrupted();
        let scores = self.session.prepared(train, &form).scores_while(self.trainer.model(), &check)?;
        let failures = self.trainer.begin_training_stage(&scores)?;
        line(format_args!(
            "{}: the network fails on {failures} of {} training images; the next stage begins",
            self.variant.name,
            train.len()
        ));
        Ok(())
    }
}
