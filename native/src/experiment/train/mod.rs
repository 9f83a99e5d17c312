//! The iterations of a variant.

mod clock;
mod first_step;
mod image_loader;
pub(crate) mod loader;
mod pace;
pub(crate) mod selection;
pub(crate) mod trainer;

use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};
use simile_core::train::Trainer;

use self::clock::Clock;
use self::first_step::FirstStep;
use self::loader::{DataLoader, StepBatch};
use self::pace::Pace;
use self::trainer::{is_divergence, is_of_another};
use super::session::Session;
use crate::config::sections::RecipeVariant;
use crate::console::{Progress, line};
use crate::exit::message_with_causes;
use crate::experiment::memory::used::Used;
use crate::interrupt;
use crate::peers::{Decision, Message, Status};
use crate::run_folder::record::{Measurement, Stopped, Why};
use crate::run_folder::state::Checkpointed;
use crate::run_folder::tensorboard::EventLog;

/// A trained network, with the reason for an early end if there was one.
pub(crate) struct Trained {
    pub(crate) trainer: Trainer,
    pub(crate) stopped: Option<Stopped>,
}

/// Trains the variant at a place in the recipe, from its last checkpoint on. It makes checkpoints at intervals of iterations and of
/// minutes.
///
/// # Errors
/// [`Interrupted`](crate::exit::Interrupted) after a checkpoint if the user requests it; any other failure of the run
/// but that the variant diverges.
pub(crate) fn train(
    session: &mut Session,
    at: (usize, &RecipeVariant),
    events: &mut EventLog,
) -> Result<Trained> {
    let mut training = VariantTraining::open(session, at, events)?;
    let outcome = training.iterate();
    let outcome = training.part(outcome);
    training.progress.finish();
    training.session.written()?;
    training.clock.complain(&training.variant.name);
    let stopped = outcome?;
    if let Some(stopped) = &stopped {
        line(format_args!("{}: {}", training.variant.name, stopped.message));
    }
    Ok(Trained { trainer: training.trainer, stopped })
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
        let newest = session.state.variants[at].trainer.clone();
        let trainer = trainer::open(session, variant, &loader, newest.as_deref())?;
        if newest.is_none() {
            // From here on there is always a state for resuming and for restoring.
            session.checkpoint(at, &trainer, Checkpointed::ByCount)?;
            session.written()?;
        }
        loader.divide(trainer.part());
        let processes = &session.devices.processes;
        if !processes.is_alone() {
            processes.broadcast(&Message::Variant { at }, &pollster::block_on(trainer.to_bytes())?)?;
        }
        let clock = Clock::new(session.recipe.train.checkpoint_minutes, session.state.variants[at].seconds);
        match processes.count() {
            1 => line(format_args!("{}: training on {}", variant.name, session.devices)),
            count => line(format_args!(
                "{}: training in {count} processes, each on {}",
                variant.name, session.devices
            )),
        }
        let progress = Progress::new(&variant.name, trainer.step_number(), trainer.config().steps);
        let tunes = session.devices.has_gpu();
        let following = (session.state.variants.len() - at - 1) as u64;
        let (pace, unshared_state, learning_rate) = (Pace::default(), None, trainer.learning_rate());
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
        while !self.trainer.is_finished() {
            let completed = self.trainer.step_number();
            if let Some(stopped) = selection::no_better(self.session, self.at) {
                // Logs the rest and writes a checkpoint first, so that a longer run can continue from this step.
                return match self.log_rest().and_then(|()| self.keep()) {
                    Ok(()) => Ok(Some(stopped)),
                    Err(error) if is_divergence(&error) => self.back_to_good(&error, completed).map(Some),
                    Err(error) => Err(error),
                };
            }
            let result = self.step();
            self.session.state.variants[self.at].seconds = self.clock.seconds();
            // Read once: between two reads, a signal would end the run without a checkpoint.
            let is_asked = self.is_asked();
            match result.and_then(|()| self.checkpoint_if_due(is_asked)) {
                Ok(()) => {}
                Err(error) if is_divergence(&error) => return self.back_to_good(&error, completed).map(Some),
                Err(error) => return Err(error),
            }
            if is_asked {
                return Err(self.session.interrupted());
            }
        }
        Ok(None)
    }

    /// True if the user requested a stop. Several processes agree on it before the next step.
    fn is_asked(&self) -> bool {
        self.session.devices.processes.is_alone() && interrupt::is_requested()
    }

    /// The batch of the next step, if all processes can take that step. If one cannot, or was interrupted, all end with a
    /// checkpoint of the state before it.
    fn agreed(&mut self) -> Result<StepBatch> {
        let batch = self.loader.next(&self.trainer);
        let processes = self.session.devices.processes.clone();
        if processes.is_alone() {
            return batch;
        }
        let status = match (&batch, interrupt::signal()) {
            (Err(_), _) => Status::Failed,
            (Ok(_), Some(signal)) => Status::Interrupted(signal),
            (Ok(_), None) if self.unshared_state.is_some() => Status::HasCheckpoint,
            (Ok(_), None) => Status::Ready,
        };
        match processes.agree(status)? {
            Decision::ShareState => {
                processes.broadcast_state(self.unshared_state.take().unwrap_or_default())?;
                batch
            }
            Decision::Interrupt(signal) => {
                interrupt::adopt(signal);
                self.keep_if_finite()?;
                Err(self.session.interrupted())
            }
            Decision::Fail(rank) => {
                self.keep_if_finite()?;
                let resumed = self.session.resuming();
                Err(batch
                    .err()
                    .unwrap_or_else(|| anyhow!("process {rank} failed; continue with `{resumed}`")))
            }
            Decision::Step | Decision::End => batch,
        }
    }

    /// Makes a checkpoint of the state between two steps.
    fn keep(&mut self) -> Result<()> {
        self.events.flush()?;
        self.session.checkpoint(self.at, &self.trainer, Checkpointed::ByTime)
    }

    /// As [`keep`](Self::keep), where all processes end for another reason. Numbers that are not finite are not kept: the run resumes
    /// from the checkpoint before, and then finds them again.
    fn keep_if_finite(&mut self) -> Result<()> {
        match self.keep() {
            Err(error) if is_divergence(&error) => Ok(()),
            kept => kept,
        }
    }

    /// Tells the other processes that the variant has ended or failed, unless they know. Their statuses may change the outcome.
    fn part(&mut self, outcome: Result<Option<Stopped>>) -> Result<Option<Stopped>> {
        let processes = self.session.devices.processes.clone();
        if processes.is_alone() || processes.has_ended() {
            return outcome;
        }
        let status = match &outcome {
            Ok(_) => Status::Ended,
            // The process that failed reports it.
            Err(error) if is_of_another(error) => Status::Ready,
            Err(_) => Status::Failed,
        };
        match (processes.agree(status)?, outcome) {
            (Decision::Fail(rank), Err(error)) if is_of_another(&error) => {
                let resumed = self.session.resuming();
                Err(anyhow!("process {rank} failed; continue with `{resumed}`"))
            }
            (_, Err(error)) => Err(error),
            (Decision::Interrupt(signal), Ok(_)) => {
                interrupt::adopt(signal);
                Err(self.session.interrupted())
            }
            (Decision::Fail(rank), Ok(_)) => Err(anyhow!("process {rank} failed in the last step")),
            (_, outcome) => outcome,
        }
    }

    /// One step, with its log lines.
    fn step(&mut self) -> Result<()> {
        if self.trainer.awaits_scores() {
            self.begin_stage()?;
        }
        self.learning_rate = self.trainer.learning_rate();
        let began = Instant::now();
        let images = match std::mem::take(&mut self.tunes) {
            true => {
                let first = FirstStep::begin(&self.variant.name);
                let images = self.agreed()?.step(&mut self.trainer)?;
                self.session.devices.first.device.sync().context("waiting for the device")?;
                first.end();
                images
            }
            false => self.agreed()?.step(&mut self.trainer)?,
        };
        // The time of a step that is logged has the wait for its loss.
        let loss = match self.is_due(self.session.recipe.train.log_every as u64) {
            true => pollster::block_on(self.trainer.mean_loss())?,
            false => None,
        };
        self.pace.add(images, began.elapsed());
        self.log(loss)?;
        self.session.state.variants[self.at].iteration = self.trainer.step_number();
        let every = selection::evaluated_every(self.session, self.loader.batches_per_epoch());
        if every > 0 && self.is_due(every) {
            selection::evaluate(self.session, (self.at, self.variant), &self.trainer, self.events)?;
        }
        Ok(())
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
        let scalars = [("loss", loss), ("learning_rate", learning_rate), ("pace/checkpoints", share)];
        self.events.scalars(count, scalars.into_iter().chain(note.scalars()))?;
        self.session.log.append(&Measurement { variant, iteration: count, loss, learning_rate })?;
        self.progress.at(iteration, format_args!("loss {loss:.4}  {note}"));
        Ok(())
    }

    /// True if this iteration is a multiple of `every`, or the last.
    fn is_due(&self, every: u64) -> bool {
        self.trainer.step_number().is_multiple_of(every) || self.trainer.is_finished()
    }

    /// Finds the training images on which the first network fails; the second network gives them more weight.
    fn begin_stage(&mut self) -> Result<()> {
        let normalisation = self.session.normalisation()?;
        let train = &self.session.splits.train;
        let scores = self.session.prepared(train, &normalisation).scores(self.trainer.model())?;
        let failures = self.trainer.begin_stage(&scores)?;
        line(format_args!(
            "{}: the network fails on {failures} of {} training images; the next stage begins",
            self.variant.name,
            train.len()
        ));
        Ok(())
    }

    /// Makes a checkpoint if it is time for one by count, by the clock, or because the run ends. One that is not the last is
    /// left out if the one before is still being written, or if checkpoints would take more than a hundredth of the time:
    /// no number depends on which are made.
    fn checkpoint_if_due(&mut self, is_asked: bool) -> Result<()> {
        let by_count = self.is_due(self.session.recipe.train.checkpoint_every as u64);
        let is_last = self.trainer.is_finished() || is_asked;
        if !by_count && !is_last && !self.clock.is_due() {
            return Ok(());
        }
        if !is_last && !self.is_free_for_checkpoint() {
            return if by_count { self.check_finite() } else { Ok(()) };
        }
        let began = Instant::now();
        self.events.flush()?;
        let why = if by_count { Checkpointed::ByCount } else { Checkpointed::ByTime };
        let result = self.session.checkpoint(self.at, &self.trainer, why);
        if result.is_ok() && !self.session.devices.processes.is_alone() {
            self.unshared_state = Some(pollster::block_on(self.trainer.to_bytes())?);
        }
        self.clock.rewind(began.elapsed());
        match result {
            // Divergence is detected only at steps that do not depend on a clock or a signal.
            Err(error) if !by_count && is_divergence(&error) => Ok(()),
            result => result,
        }
    }

    /// True if a checkpoint would neither wait for the one before nor take more than its share of the time. Several
    /// processes make each one: they could not repeat steps.
    fn is_free_for_checkpoint(&self) -> bool {
        !self.session.devices.processes.is_alone()
            || (self.clock.affords_checkpoint() && !self.session.is_writing())
    }

    /// Finds divergence at the step at which the checkpoint that is left out would have found it.
    fn check_finite(&mut self) -> Result<()> {
        let began = Instant::now();
        if !pollster::block_on(self.trainer.is_finite())? {
            // Names the first tensor that is not.
            pollster::block_on(self.trainer.to_bytes())?;
        }
        self.clock.spend(began.elapsed());
        Ok(())
    }

    /// Restores the state at the last multiple of `checkpoint_every` among the `completed` iterations, because later values
    /// are not finite. Evaluations since then were finite, and are kept.
    fn back_to_good(&mut self, error: &anyhow::Error, completed: u64) -> Result<Stopped> {
        self.session.written()?;
        let good = self.session.state.variants[self.at].good.clone();
        self.trainer = trainer::open(self.session, self.variant, &self.loader, good.as_deref())?;
        let state = &mut self.session.state.variants[self.at];
        (state.iteration, state.trainer) = (self.trainer.step_number(), good);
        let every = self.session.recipe.train.checkpoint_every as u64;
        let last = completed / every * every;
        if self.trainer.step_number() < last && self.session.devices.processes.is_alone() {
            self.repeat(last)?;
        }
        let iteration = self.trainer.step_number();
        let message = format!(
            "{}; {} is kept as it was at iteration {iteration}",
            message_with_causes(error),
            self.variant.name
        );
        Ok(Stopped { why: Why::Diverged, message })
    }

    /// Repeats the steps up to an iteration whose checkpoint was left out, and makes it.
    fn repeat(&mut self, last: u64) -> Result<()> {
        let first = self.trainer.step_number() + 1;
        line(format_args!("{}: repeating iterations {first} to {last}", self.variant.name));
        while self.trainer.step_number() < last {
            if self.trainer.awaits_scores() {
                self.begin_stage()?;
            }
            self.loader.step(&mut self.trainer)?;
            // The state has the losses that no line has had yet.
            if self.is_due(self.session.recipe.train.log_every as u64) {
                pollster::block_on(self.trainer.mean_loss())?;
            }
            if interrupt::is_requested() {
                return Err(self.session.interrupted());
            }
        }
        self.session.state.variants[self.at].iteration = last;
        self.session.checkpoint(self.at, &self.trainer, Checkpointed::ByCount)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::config::Recipe;
    use crate::devices::{DeviceChoice, DeviceName, DeviceSet};
    use crate::experiment::run::{begin, prepare};
    use crate::peers::ProcessGroup;
    use crate::peers::testing::Others;
    use crate::run_folder::folder::RunFolder;

    /// Weights that grow by a factor of 9 in each step, until the loss is no number any more.
    const DIVERGING: &str = "name = \"mine\"\n\n[data]\ndataset = \"digits\"\ntrain = 32\ntest = 8\n\n[optimizer]\nname = \"sgd\"\n\
        learning_rate = 1.0\nmomentum = 0.0\nweight_decay = 10.0\n\n[train]\nbatch = 16\niterations = 60\n\
        checkpoint_every = 2\nlog_every = 3\n\n[objective]\nname = \"nt-xent\"\n";

    fn session(root: &Path) -> Session {
        let recipe = Recipe::resolved(DIVERGING, Path::new("mine.toml")).unwrap();
        let devices = DeviceSet::open(&[DeviceChoice { name: DeviceName::Cpu, index: 0 }]).unwrap();
        let prepared = prepare(recipe, None, devices).unwrap();
        begin(RunFolder::create(Some(root), "x").unwrap(), prepared).unwrap()
    }

    #[test]
    fn a_run_that_left_checkpoints_out_diverges_to_the_same_state() {
        let place = tempfile::tempdir().unwrap();
        let ended = |name: &str, affords: bool| {
            let mut session = session(&place.path().join(name));
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
            let mut training = VariantTraining::open(&mut session, (0, &variant), &mut events).unwrap();
            if !affords {
                training.clock.rewind(Duration::from_secs(1_000_000));
            }
            for _ in 0..4 {
                training.step().unwrap();
                training.checkpoint_if_due(false).unwrap();
                training.session.written().unwrap();
            }
            let good = training.session.state.variants[0].good.clone().unwrap();
            assert!(good.contains(if affords { "iteration-4." } else { "iteration-0." }), "{good}");
            let stopped = training.iterate().unwrap().unwrap();
            training.session.written().unwrap();
            let bytes = pollster::block_on(training.trainer.to_bytes()).unwrap();
            assert!((5..60).contains(&training.trainer.step_number()), "{}", stopped.message);
            session.log.flush().unwrap();
            let state = &session.state.variants[0];
            let file = session.state.file(&session.folder, state.trainer.as_ref().unwrap()).unwrap();
            assert!(file == bytes && state.good == state.trainer);
            let lines = fs::read_to_string(session.folder.path("metrics.jsonl")).unwrap();
            (bytes, stopped.message, lines, state.iteration)
        };
        let (all, few) = (ended("all", true), ended("few", false));
        assert!(all == few, "{} {}", all.1, few.1);
    }

    /// The run went on with the next variant, and waited for processes that had ended.
    #[test]
    fn what_ends_another_process_ends_the_run_though_its_numbers_are_not_finite() {
        let place = tempfile::tempdir().unwrap();
        let mut session = session(&place.path().join("run"));
        let variant = session.recipe.variants().remove(0);
        let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
        let mut training = VariantTraining::open(&mut session, (0, &variant), &mut events).unwrap();
        while !training.trainer.is_finished() && training.check_finite().is_ok() {
            // A loss that is no number is an error, after which the weights are none either.
            drop(training.step());
        }
        let processes = ProcessGroup::of(Arc::new(Others(vec![Status::Failed])), 0);
        training.session.devices.processes = processes.clone();
        let outcome = training.iterate();
        assert!(processes.has_ended());
        let error = training.part(outcome).unwrap_err().to_string();
        assert!(error.starts_with("process 1 failed; continue with `simile train --resume"), "{error}");
    }
}
