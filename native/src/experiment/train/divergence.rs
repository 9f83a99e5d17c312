//! The end of a variant whose numbers are no longer finite: an earlier state is restored, and its network is kept.

use anyhow::{Result, anyhow};
use simile_core::train::Trainer;

use super::TrainingOutcome;
use super::trainer::{self, is_divergence};
use super::variant_training::VariantTraining;
use crate::console::line;
use crate::exit::message_with_causes;
use crate::experiment::session::Session;
use crate::interrupt;
use crate::run_folder::record::{StopReason, Stopped};
use crate::run_folder::state::CheckpointKind;

impl VariantTraining<'_> {
    /// Measures the network. A last step can leave finite weights and losses, and outputs that are not finite: then the variant
    /// has diverged, and the network of the checkpoint before is measured, or else the one before the first step.
    pub(super) fn measured<T>(
        mut self,
        mut stopped: Option<Stopped>,
        measure: impl Fn(&Session, &Trainer) -> Result<T>,
    ) -> Result<TrainingOutcome<T>> {
        let mut measured = measure(self.session, &self.trainer);
        for restore in [Self::restore_last_finite, Self::restore_first] {
            let iteration = self.trainer.step_number();
            if iteration == 0 || !measured.as_ref().is_err_and(is_divergence) {
                break;
            }
            let error = anyhow!(
                "outputs of the network are not finite after iteration {iteration}; lower the learning rate, raise the temperature, or set \
                 optimizer.clip_norm"
            );
            let diverged = restore(&mut self, &error, iteration - 1)?;
            line(format_args!("{}: {}", self.variant.name, diverged.message));
            stopped = Some(diverged);
            measured = measure(self.session, &self.trainer);
        }
        let measured = measured?;
        let state = self.state();
        state.last_finite.clone_from(&state.trainer);
        Ok(TrainingOutcome { measured, stopped })
    }

    /// Restores the state at the last multiple of `checkpoint_every` among the `completed` iterations, because later values
    /// are not finite. Evaluations since then were finite, and are kept.
    pub(super) fn restore_last_finite(&mut self, error: &anyhow::Error, completed: u64) -> Result<Stopped> {
        let last_finite = self.session.variant_state(self.at).last_finite.clone();
        self.restore(last_finite)?;
        let every = self.session.recipe.train.checkpoint_every as u64;
        let last = completed / every * every;
        if self.trainer.step_number() < last && self.session.devices.processes.is_alone() {
            self.repeat(last)?;
        }
        Ok(self.diverged(error))
    }

    /// Restores the state before the first step, because that of the last checkpoint gives values that are not finite.
    fn restore_first(&mut self, error: &anyhow::Error, _completed: u64) -> Result<Stopped> {
        self.restore(None)?;
        Ok(self.diverged(error))
    }

    /// Restores the state of a file, or without one that before the first step.
    fn restore(&mut self, name: Option<String>) -> Result<()> {
        self.session.store.wait_for_checkpoint()?;
        self.trainer = trainer::open(self.session, self.variant, &self.loader, name.as_deref())?;
        let iteration = self.trainer.step_number();
        let state = self.state();
        state.iteration = iteration;
        (state.trainer, state.last_finite) = (name.clone(), name);
        Ok(())
    }

    /// The end of a variant whose restored network is kept.
    fn diverged(&self, error: &anyhow::Error) -> Stopped {
        let (name, iteration) = (&self.variant.name, self.trainer.step_number());
        let message =
            format!("{}; {name} is kept as it was at iteration {iteration}", message_with_causes(error));
        Stopped { reason: StopReason::Diverged, message }
    }

    /// Repeats the steps up to an iteration whose checkpoint was left out, and makes it.
    fn repeat(&mut self, last: u64) -> Result<()> {
        let first = self.trainer.step_number() + 1;
        line(format_args!("{}: repeating iterations {first} to {last}", self.variant.name));
        while self.trainer.step_number() < last {
            if self.trainer.awaits_scores() {
                self.begin_training_stage()?;
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
        self.state().iteration = last;
        self.session.store.checkpoint(self.at, &self.trainer, CheckpointKind::ByCount)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use simile_core::error::Error;

    use super::super::train;
    use super::*;
    use crate::experiment::testing::{DIVERGING, first, session};
    use crate::run_folder::tensorboard::EventLog;

    #[test]
    fn a_run_that_left_checkpoints_out_diverges_to_the_same_state() {
        let place = tempfile::tempdir().unwrap();
        let ended = |name: &str, affords: bool| {
            let mut session = session(&place.path().join(name), DIVERGING);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            if !affords {
                training.clock.rewind(Duration::from_secs(1_000_000));
            }
            for _ in 0..4 {
                training.step().unwrap();
                training.checkpoint_if_due(false).unwrap();
                training.session.store.wait_for_checkpoint().unwrap();
            }
            let shown = fs::read_to_string(training.session.store.folder.path("metrics.jsonl")).unwrap();
            assert_eq!(shown.lines().count(), 1, "a line is seen before the next checkpoint: {shown}");
            let last_finite = training.session.store.state.variants[0].last_finite.clone().unwrap();
            assert!(
                last_finite.contains(if affords { "iteration-4." } else { "iteration-0." }),
                "{last_finite}"
            );
            let stopped = training.iterate().unwrap().unwrap();
            training.session.store.wait_for_checkpoint().unwrap();
            let bytes = pollster::block_on(training.trainer.to_bytes()).unwrap();
            assert!((5..60).contains(&training.trainer.step_number()), "{}", stopped.message);
            session.store.log.flush().unwrap();
            let state = &session.store.state.variants[0];
            let file = session
                .store
                .state
                .files
                .read(&session.store.folder, state.trainer.as_ref().unwrap())
                .unwrap();
            assert!(file == bytes && state.last_finite == state.trainer);
            let lines = fs::read_to_string(session.store.folder.path("metrics.jsonl")).unwrap();
            (bytes, stopped.message, lines, state.iteration)
        };
        let (all, few) = (ended("all", true), ended("few", false));
        assert!(all == few, "{} {}", all.1, few.1);
    }

    /// The run ended with the error of a probe, which was that again when it resumed.
    #[test]
    fn a_variant_whose_last_steps_leave_no_finite_embeddings_diverged() {
        let place = tempfile::tempdir().unwrap();
        let recipe = DIVERGING.replace("iterations = 60", "iterations = 4");
        for (finite, kept) in [(4_u64, 4_u64), (3, 2), (1, 0)] {
            let mut session = session(&place.path().join(kept.to_string()), &recipe);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
            let measure = |_: &Session, trainer: &Trainer| match trainer.step_number() {
                step if step <= finite => Ok(step),
                _ => Err(Error::NotFinite { input: "embedding".into(), row: 0 }.into()),
            };
            let TrainingOutcome { measured, stopped } =
                train(&mut session, first(&variant), &mut events, measure).unwrap();
            let state = &session.store.state.variants[0];
            assert_eq!((measured, state.iteration), (kept, kept));
            assert!(state.last_finite == state.trainer && state.trainer.is_some() == (kept > 0));
            let message =
                stopped.map(|Stopped { reason, message }| (reason == StopReason::Diverged, message));
            match kept {
                4 => assert_eq!(message, None),
                _ => {
                    let (is_diverged, message) = message.unwrap();
                    assert!(message.ends_with(&format!("kept as it was at iteration {kept}")), "{message}");
                    assert!(
                        is_diverged && message.contains("outputs of the network are not finite"),
                        "{message}"
                    );
                }
            }
        }
    }
}
