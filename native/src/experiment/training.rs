//! The iterations of an arm.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use simile_core::algorithm::AlgorithmConfig;
use simile_core::data::Dataset;
use simile_core::error::Error;
use simile_core::nn::checkpoint::{CheckpointError, Weights};
use simile_core::train::{TrainError, Trainer, TrainerConfig};

use super::context::Context;
use super::events::EventLog;
use super::feed::Feed;
use super::interrupt;
use super::record::{Measurement, Stopped, Why};
use super::session::Session;
use super::state::Checkpointed;
use crate::config::Recipe;
use crate::config::sections::Arm;
use crate::console::{Progress, line};
use crate::devices::Team;
use crate::exit::{told, usage};

/// A network that has been trained, and why that ended early if it did.
pub(super) struct Trained {
    pub(super) trainer: Trainer,
    pub(super) stopped: Option<Stopped>,
}

impl Session {
    /// Trains an arm, from where it stands.
    pub(super) fn train(&mut self, (at, arm): (usize, &Arm), events: &mut EventLog) -> Result<Trained> {
        let mut feed = Feed::new(arm, &self.recipe, &self.splits.train, &self.team.first.device)?;
        let newest = self.standing.arms[at].trainer.clone();
        let mut trainer = self.trainer(arm, &feed, newest.as_deref())?;
        if newest.is_none() {
            // From here on there is always a state to go on from, or to go back to.
            self.checkpoint(at, &trainer, Checkpointed::ByCount)?;
        }
        let mut clock = Clock::new(self.recipe.train.checkpoint_minutes);
        let before_arm = self.standing.arms[at].seconds;
        line(format_args!("{}: training on {}", arm.name, self.team));
        let mut progress = Progress::new(&arm.name, trainer.step_number(), trainer.config().steps);
        let mut stopped = None;
        while !trainer.is_finished() {
            stopped = self.no_better(at);
            if stopped.is_some() {
                break;
            }
            let done = self.iterate((at, arm), &mut trainer, &mut feed, events, &mut progress);
            self.standing.arms[at].seconds = before_arm + clock.since_start();
            let every = self.recipe.train.checkpoint_every as u64;
            let by_count = trainer.step_number().is_multiple_of(every) || trainer.is_finished();
            let done = match done {
                Ok(()) if by_count || clock.is_due() || interrupt::asked() => {
                    clock.rewind();
                    let why = if by_count { Checkpointed::ByCount } else { Checkpointed::ByTime };
                    events.flush()?;
                    match self.checkpoint(at, &trainer, why) {
                        // That numbers are not finite is found out where it does not depend on a clock or a signal.
                        Err(error) if !by_count && is_divergence(&error) => Ok(()),
                        done => done,
                    }
                }
                done => done,
            };
            match done {
                Ok(()) => {}
                Err(error) if is_divergence(&error) => {
                    let good = self.standing.arms[at].good.clone();
                    trainer = self.trainer(arm, &feed, good.as_deref())?;
                    stopped = Some(self.back_to((at, arm), &trainer, good, &error));
                    break;
                }
                Err(error) => return Err(error),
            }
            if interrupt::asked() {
                progress.finish();
                return Err(self.interrupted());
            }
        }
        progress.finish();
        if let Some(stopped) = &stopped {
            line(format_args!("{}: {}", arm.name, stopped.message));
        }
        Ok(Trained { trainer, stopped })
    }

    /// One step, with what is written of it.
    fn iterate(
        &mut self,
        (at, arm): (usize, &Arm),
        trainer: &mut Trainer,
        feed: &mut Feed,
        events: &mut EventLog,
        progress: &mut Progress,
    ) -> Result<()> {
        if trainer.awaits_scores() {
            self.begin_stage(arm, trainer)?;
        }
        let learning_rate = trainer.learning_rate();
        feed.step(trainer)?;
        let done = trainer.step_number();
        if (done.is_multiple_of(self.recipe.train.log_every as u64) || trainer.is_finished())
            && let Some(loss) = pollster::block_on(trainer.mean_loss())?
        {
            let (arm, iteration) = (arm.name.clone(), done as usize);
            events.scalars(iteration, [("loss", loss), ("learning_rate", learning_rate)])?;
            self.log.append(&Measurement { arm, iteration, loss, learning_rate })?;
            progress.at(done, format_args!("loss {loss:.4}"));
        }
        self.standing.arms[at].iteration = done;
        let every = self.evaluated_every(feed.batches_per_epoch());
        if every > 0 && (done.is_multiple_of(every) || trainer.is_finished()) {
            self.evaluate((at, arm), trainer, events)?;
        }
        Ok(())
    }

    /// Stands where the last checkpoint by count does, because what came after it is not finite. What was evaluated since
    /// was, and stays.
    fn back_to(
        &mut self,
        (at, arm): (usize, &Arm),
        trainer: &Trainer,
        good: Option<String>,
        error: &anyhow::Error,
    ) -> Stopped {
        let iteration = trainer.step_number();
        let standing = &mut self.standing.arms[at];
        (standing.iteration, standing.trainer) = (iteration, good);
        let error = told(error);
        let message = format!("{error}; {} is kept as it was at iteration {iteration}", arm.name);
        Stopped { why: Why::Diverged, message }
    }

    /// Has the first network say which training images it fails on, for a second one to learn more from.
    fn begin_stage(&self, arm: &Arm, trainer: &mut Trainer) -> Result<()> {
        let normalisation = self.recipe.normalisation().map_err(usage)?;
        let train = &self.splits.train;
        let scores = self.prepared(train, &normalisation)?.scores(trainer.model())?;
        let failures = trainer.begin_stage(&scores)?;
        line(format_args!(
            "{}: the network fails on {failures} of {} training images; the next stage begins",
            arm.name,
            train.len()
        ));
        Ok(())
    }

    /// The trainer of an arm, as the state in a file has it, or at its start.
    fn trainer(&self, arm: &Arm, feed: &Feed, state: Option<&str>) -> Result<Trainer> {
        let (context, steps_per_epoch) = (feed.context(), feed.batches_per_epoch());
        let training = context.training_set();
        let epoch = (&self.splits.train, steps_per_epoch);
        let config = config(arm, &self.recipe, context, epoch, self.weights.clone())?;
        let device = &self.team.first.device;
        let mut trainer = match state {
            Some(name) => {
                let bytes = self.standing.file(&self.folder, name)?;
                Trainer::resume(config, &training, device, &bytes).context("continuing the run")?
            }
            None => Trainer::new(config, &training, device).map_err(usage)?,
        };
        share(&mut trainer, self.recipe.train.batch, &self.team)?;
        Ok(trainer)
    }
}

/// The time since training went on, and since the last checkpoint.
struct Clock {
    begun: Instant,
    checkpoint: Instant,
    minutes: f64,
}

impl Clock {
    fn new(minutes: f64) -> Self {
        let now = Instant::now();
        Self { begun: now, checkpoint: now, minutes }
    }

    fn since_start(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn is_due(&self) -> bool {
        self.checkpoint.elapsed().as_secs_f64() >= self.minutes * 60.0
    }

    fn rewind(&mut self) {
        self.checkpoint = Instant::now();
    }
}

/// Gives every device of a team its part of each step.
///
/// # Errors
/// A usage error if the method computes on one device, or a batch has no part for each.
pub(super) fn share(trainer: &mut Trainer, batch: usize, team: &Team) -> Result<()> {
    let helpers = team.helpers();
    trainer.share(&helpers).map_err(usage)?;
    let devices = 1 + helpers.len();
    match trainer.config().algorithm {
        AlgorithmConfig::Cached { chunk } if batch.div_ceil(chunk) < devices => Err(usage(format_args!(
            "a batch of {batch} in chunks of {chunk} leaves some of {devices} devices without work; lower \
             method.chunk, or raise train.batch"
        ))),
        _ => Ok(()),
    }
}

/// The settings of a trainer, for training images that a number of steps goes through once.
pub(super) fn config(
    arm: &Arm,
    recipe: &Recipe,
    context: &Context,
    (images, steps_per_epoch): (&Dataset, u64),
    weights: Option<Arc<Weights>>,
) -> Result<TrainerConfig> {
    let Recipe { encoder, head, optimizer, schedule, train, .. } = recipe.clone();
    let training = context.training_set();
    let classes = training.labels.iter().max().map_or(0, |label| label + 1);
    Ok(TrainerConfig {
        objective: arm.objective.config().map_err(usage)?,
        algorithm: arm.method(),
        encoder: encoder.config,
        head: head.of(arm.scores(classes.max(images.classes.len()), training.biases)),
        optimizer,
        schedule,
        steps: train.iterations as u64,
        steps_per_epoch,
        per_view_batch_norm: train.views_apart,
        seed: train.seed,
        ema: train.ema,
        accumulate: train.accumulate as u64,
        precision: train.precision,
        weights,
    })
}

/// Whether the network holds, or gave, numbers that are not finite.
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
