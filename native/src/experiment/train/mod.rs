//! The iterations of an arm.

mod clock;
mod feed;
mod first_step;
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
use crate::config::sections::Arm;
use crate::console::{Progress, line};
use crate::exit::told;
use crate::experiment::memory::used::Used;
use crate::interrupt;
use crate::run_folder::record::{Measurement, Stopped, Why};
use crate::run_folder::state::Checkpointed;
use crate::run_folder::tensorboard::EventLog;

/// A trained network, with the reason for an early end if there was one.
pub(crate) struct Trained {
    pub(crate) trainer: Trainer,
    pub(crate) stopped: Option<Stopped>,
}

/// Trains the arm at a place in the recipe, from its last checkpoint on, with a checkpoint every so many iterations and
/// minutes.
///
/// # Errors
/// [`Interrupted`](crate::exit::Interrupted) after a checkpoint if the user requests it; any other failure of the run
/// but that the arm diverges.
pub(crate) fn train(session: &mut Session, at: (usize, &Arm), events: &mut EventLog) -> Result<Trained> {
    let mut training = ArmTraining::open(session, at, events)?;
    let outcome = training.iterate();
    training.progress.finish();
    training.session.written()?;
    training.clock.complain(&training.arm.name);
    let stopped = outcome?;
    if let Some(stopped) = &stopped {
        line(format_args!("{}: {}", training.arm.name, stopped.message));
    }
    Ok(Trained { trainer: training.trainer, stopped })
}

/// An arm in training.
struct ArmTraining<'a> {
    session: &'a mut Session,
    arm: &'a Arm,
    /// Place of the arm in the recipe.
    at: usize,
    loader: DataLoader,
    trainer: Trainer,
    events: &'a mut EventLog,
    progress: Progress,
    clock: Clock,
    pace: Pace,
    /// Number of the arms that follow.
    following: u64,
    /// True before the first step of this process on a GPU.
    tunes: bool,
}

impl<'a> ArmTraining<'a> {
    fn open(session: &'a mut Session, (at, arm): (usize, &'a Arm), events: &'a mut EventLog) -> Result<Self> {
        let device = &session.devices.first.device;
        let loader = DataLoader::new(arm, &session.recipe, &session.splits.train, device)?;
        let newest = session.state.arms[at].trainer.clone();
        let trainer = trainer::open(session, arm, &loader, newest.as_deref())?;
        if newest.is_none() {
            // From here on there is always a state for resuming and for restoring.
            session.checkpoint(at, &trainer, Checkpointed::ByCount)?;
            session.written()?;
        }
        let clock = Clock::new(session.recipe.train.checkpoint_minutes, session.state.arms[at].seconds);
        line(format_args!("{}: training on {}", arm.name, session.devices));
        let progress = Progress::new(&arm.name, trainer.step_number(), trainer.config().steps);
        let tunes = session.devices.has_gpu();
        let following = (session.state.arms.len() - at - 1) as u64;
        let pace = Pace::default();
        Ok(Self { session, arm, at, loader, trainer, events, progress, clock, pace, following, tunes })
    }

    /// Runs the remaining iterations; returns the reason for an early end, if there was one.
    fn iterate(&mut self) -> Result<Option<Stopped>> {
        while !self.trainer.is_finished() {
            if let Some(stopped) = selection::no_better(self.session, self.at) {
                return Ok(Some(stopped));
            }
            let result = self.step();
            self.session.state.arms[self.at].seconds = self.clock.seconds();
            match result.and_then(|()| self.checkpoint_if_due()) {
                Ok(()) => {}
                Err(error) if is_divergence(&error) => return self.back_to_good(&error).map(Some),
                Err(error) => return Err(error),
            }
            if interrupt::asked() {
                return Err(self.session.interrupted());
            }
        }
        Ok(None)
    }

    /// One step, with its log lines.
    fn step(&mut self) -> Result<()> {
        if self.trainer.awaits_scores() {
            self.begin_stage()?;
        }
        let learning_rate = self.trainer.learning_rate();
        let began = Instant::now();
        let images = match std::mem::take(&mut self.tunes) {
            true => {
                let first = FirstStep::begin(&self.arm.name);
                let images = self.loader.step(&mut self.trainer)?;
                self.session.devices.first.device.sync().context("waiting for the device")?;
                first.end();
                images
            }
            false => self.loader.step(&mut self.trainer)?,
        };
        let iteration = self.trainer.step_number();
        let loss = match self.is_due(self.session.recipe.train.log_every as u64) {
            true => pollster::block_on(self.trainer.mean_loss())?,
            false => None,
        };
        self.pace.add(images, began.elapsed());
        if let Some(loss) = loss {
            let (arm, count) = (self.arm.name.clone(), iteration as usize);
            let steps = self.trainer.config().steps;
            let left = (steps - iteration, self.following * steps);
            let memory = Used::now(&self.session.devices.first.device);
            let note = self.pace.note(self.loader.take_waited(), left, memory);
            let scalars = [("loss", loss), ("learning_rate", learning_rate)];
            self.events.scalars(count, scalars.into_iter().chain(note.scalars()))?;
            self.session.log.append(&Measurement { arm, iteration: count, loss, learning_rate })?;
            self.progress.at(iteration, format_args!("loss {loss:.4}  {note}"));
        }
        self.session.state.arms[self.at].iteration = iteration;
        let every = selection::evaluated_every(self.session, self.loader.batches_per_epoch());
        if every > 0 && self.is_due(every) {
            selection::evaluate(self.session, (self.at, self.arm), &self.trainer, self.events)?;
        }
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
            self.arm.name,
            train.len()
        ));
        Ok(())
    }

    fn checkpoint_if_due(&mut self) -> Result<()> {
        let by_count = self.is_due(self.session.recipe.train.checkpoint_every as u64);
        if !by_count && !self.clock.is_due() && !interrupt::asked() {
            return Ok(());
        }
        let began = Instant::now();
        self.events.flush()?;
        let why = if by_count { Checkpointed::ByCount } else { Checkpointed::ByTime };
        let result = self.session.checkpoint(self.at, &self.trainer, why);
        self.clock.rewind(began.elapsed());
        match result {
            // Divergence is detected only at steps that do not depend on a clock or a signal.
            Err(error) if !by_count && is_divergence(&error) => Ok(()),
            result => result,
        }
    }

    /// Restores the last checkpoint by count, because later values are not finite. Evaluations since then were finite,
    /// and are kept.
    fn back_to_good(&mut self, error: &anyhow::Error) -> Result<Stopped> {
        self.session.written()?;
        let good = self.session.state.arms[self.at].good.clone();
        self.trainer = trainer::open(self.session, self.arm, &self.loader, good.as_deref())?;
        let iteration = self.trainer.step_number();
        let state = &mut self.session.state.arms[self.at];
        (state.iteration, state.trainer) = (iteration, good);
        let message =
            format!("{}; {} is kept as it was at iteration {iteration}", told(error), self.arm.name);
        Ok(Stopped { why: Why::Diverged, message })
    }
}
