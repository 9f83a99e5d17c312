//! The checkpoints of a variant, and the state that is restored if it diverges.

use std::time::Instant;

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
    /// Makes a checkpoint of the state between two steps.
    pub(super) fn checkpoint(&mut self) -> Result<()> {
        self.events.show()?;
        self.session.checkpoint(self.at, &self.trainer, CheckpointKind::ByTime)
    }

    /// As [`checkpoint`](Self::checkpoint), where all processes end for another reason: no checkpoint is made of numbers that are not
    /// finite. The run resumes from the checkpoint before, and then finds them again.
    pub(super) fn checkpoint_if_finite(&mut self) -> Result<()> {
        match self.checkpoint() {
            Err(error) if is_divergence(&error) => Ok(()),
            result => result,
        }
    }

    /// Makes a checkpoint if it is time for one by count, by the clock, or because the run ends. One that is not the last is
    /// left out if the one before is still being written, or if checkpoints would take more than a hundredth of the time:
    /// no number depends on which are made.
    pub(super) fn checkpoint_if_due(&mut self, stop_requested: bool) -> Result<()> {
        let by_count = self.is_due(self.session.recipe.train.checkpoint_every as u64);
        let is_last = self.trainer.is_finished() || stop_requested;
        if !by_count && !is_last && !self.clock.is_due() {
            return Ok(());
        }
        if !is_last && !self.is_free_for_checkpoint() {
            return if by_count { self.check_finite() } else { Ok(()) };
        }
        let began = Instant::now();
        self.events.show()?;
        // The state to restore is one before the last step until the last network is measured.
        let kind = match by_count && !self.trainer.is_finished() {
            true => CheckpointKind::ByCount,
            false => CheckpointKind::ByTime,
        };
        let result = self.make_checkpoint(kind);
        self.clock.rewind(began.elapsed());
        match result {
            // Divergence is detected only at steps that do not depend on a clock or a signal.
            Err(error) if !by_count && is_divergence(&error) => Ok(()),
            result => result,
        }
    }

    /// Makes a checkpoint, and keeps its bytes for the other processes, if there are any.
    fn make_checkpoint(&mut self, kind: CheckpointKind) -> Result<()> {
        let bytes = pollster::block_on(self.trainer.to_bytes())?;
        let shared = (!self.session.devices.processes.is_alone()).then(|| bytes.clone());
        self.session.checkpoint_of(self.at, bytes, kind)?;
        self.unshared_state = shared;
        Ok(())
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
        self.clock.spend_on_check(began.elapsed());
        Ok(())
    }

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
        self.session.wait_for_checkpoint()?;
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
        self.session.checkpoint(self.at, &self.trainer, CheckpointKind::ByCount)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use simile_core::error::Error;

    use super::super::train;
    use super::*;
    use crate::config::Recipe;
    use crate::config::variant::RecipeVariant;
    use crate::devices::{DeviceChoice, DeviceName, DeviceSet};
    use crate::exit::Interrupted;
    use crate::experiment::run::{begin, prepare};
    use crate::experiment::session::VariantAt;
    use crate::peers::testing::Others;
    use crate::peers::{ProcessGroup, Status};
    use crate::run_folder::folder::RunFolder;
    use crate::run_folder::record::SelectionEvaluation;
    use crate::run_folder::state::RunState;
    use crate::run_folder::tensorboard::EventLog;

    /// Weights that grow by a factor of 9 in each step, until the loss is no number any more.
    const DIVERGING: &str = "name = \"mine\"\n\n[data]\ndataset = \"digits\"\ntrain = 32\ntest = 8\n\n[optimizer]\nname = \"sgd\"\n\
        learning_rate = 1.0\nmomentum = 0.0\nweight_decay = 10.0\n\n[train]\nbatch = 16\niterations = 60\n\
        checkpoint_every = 2\nlog_every = 3\n\n[objective]\nname = \"nt-xent\"\n";

    /// An encoder that is chosen by evaluations.
    const SELECTING: &str = "name = \"mine\"\n\n[data]\ndataset = \"digits\"\ntrain = 160\ntest = 48\n\n[optimizer]\n\
        name = \"adam\"\n\n[schedule]\nname = \"cosine\"\n\n[train]\nbatch = 16\niterations = 6\ncheckpoint_every = 2\n\
        log_every = 3\n\n[probe]\nsteps = 5\n\n[selection]\nheld_out = 64\nevery = 2\n\n[objective]\nname = \"nt-xent\"\n";

    /// The only variant of a recipe.
    fn first(variant: &RecipeVariant) -> VariantAt<'_> {
        VariantAt { at: 0, variant }
    }

    fn session(root: &Path) -> Session {
        session_of(root, DIVERGING)
    }

    fn session_of(root: &Path, recipe: &str) -> Session {
        let recipe = Recipe::resolved(recipe, Path::new("mine.toml")).unwrap();
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
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            if !affords {
                training.clock.rewind(Duration::from_secs(1_000_000));
            }
            for _ in 0..4 {
                training.step().unwrap();
                training.checkpoint_if_due(false).unwrap();
                training.session.wait_for_checkpoint().unwrap();
            }
            let shown = fs::read_to_string(training.session.folder.path("metrics.jsonl")).unwrap();
            assert_eq!(shown.lines().count(), 1, "a line is seen before the next checkpoint: {shown}");
            let last_finite = training.session.state.variants[0].last_finite.clone().unwrap();
            assert!(
                last_finite.contains(if affords { "iteration-4." } else { "iteration-0." }),
                "{last_finite}"
            );
            let stopped = training.iterate().unwrap().unwrap();
            training.session.wait_for_checkpoint().unwrap();
            let bytes = pollster::block_on(training.trainer.to_bytes()).unwrap();
            assert!((5..60).contains(&training.trainer.step_number()), "{}", stopped.message);
            session.log.flush().unwrap();
            let state = &session.state.variants[0];
            let file = session.state.files.read(&session.folder, state.trainer.as_ref().unwrap()).unwrap();
            assert!(file == bytes && state.last_finite == state.trainer);
            let lines = fs::read_to_string(session.folder.path("metrics.jsonl")).unwrap();
            (bytes, stopped.message, lines, state.iteration)
        };
        let (all, few) = (ended("all", true), ended("few", false));
        assert!(all == few, "{} {}", all.1, few.1);
    }

    /// A signal ended the process only after its evaluation, which may take minutes.
    #[test]
    fn an_evaluation_that_a_signal_stops_is_made_when_the_run_resumes() {
        let place = tempfile::tempdir().unwrap();
        let ended = |name: &str, stop: Option<u64>| {
            let mut session = session_of(&place.path().join(name), SELECTING);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
            if let Some(stop) = stop {
                let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
                for completed in 0..stop - 1 {
                    let result = training.step().and_then(|()| training.evaluate_if_due());
                    assert!(training.end_iteration(result, completed).unwrap().is_none());
                    training.session.wait_for_checkpoint().unwrap();
                }
                training.step().unwrap();
                assert!(training.lacks_evaluation());
                let result = training.interruptible(|training| Err(training.session.interrupted()));
                let error = training.end_iteration(result, stop - 1).err().unwrap();
                assert!(error.is::<Interrupted>(), "{error}");
                training.session.wait_for_checkpoint().unwrap();
                let written = RunState::read(&session.folder).unwrap().unwrap();
                let state = &written.variants[0];
                assert_eq!(state.iteration, stop);
                let restored = state.last_finite.clone().unwrap();
                assert!(
                    !restored.contains(&format!("iteration-{stop}.")),
                    "the evaluation may find divergence"
                );
                session.state = written;
            }
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            assert!(training.iterate().unwrap().is_none());
            training.session.wait_for_checkpoint().unwrap();
            let bytes = pollster::block_on(training.trainer.to_bytes()).unwrap();
            session.log.flush().unwrap();
            let lines = fs::read_to_string(session.folder.path("metrics.jsonl")).unwrap();
            (bytes, lines, session.state.variants[0].evaluations.clone())
        };
        let straight = ended("straight", None);
        assert_eq!(straight.2.iter().map(|made| made.iteration).collect::<Vec<_>>(), [2, 4, 6]);
        assert!(straight == ended("stopped at 4", Some(4)));
        assert!(straight == ended("stopped at the end", Some(6)));
    }

    /// It was written by the thread that trains, which waited for the checkpoint before, and its time was not counted.
    #[test]
    fn the_best_network_is_written_by_the_checkpoint_of_its_iteration() {
        let place = tempfile::tempdir().unwrap();
        let mut session = session_of(&place.path().join("run"), SELECTING);
        let variant = session.recipe.variants().remove(0);
        let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
        let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
        for completed in 0..2 {
            assert_eq!(training.clock.checkpoint_share(), 0.0);
            let result = training.step().and_then(|()| training.evaluate_if_due());
            if completed == 1 {
                let best = training.session.state.variants[0].best.clone().unwrap();
                assert!(!training.session.folder.path(best).exists());
                assert!(training.clock.checkpoint_share() > 0.0);
            }
            assert!(training.end_iteration(result, completed).unwrap().is_none());
        }
        training.session.wait_for_checkpoint().unwrap();
        let written = RunState::read(&session.folder).unwrap().unwrap();
        written.files.verify(&session.folder).unwrap();
        let state = &written.variants[0];
        assert_eq!((state.iteration, state.evaluations.len()), (2, 1));
        assert!(state.best.is_some() && state.best == session.state.variants[0].best);
    }

    #[test]
    fn a_best_network_that_waits_is_written_with_the_next_checkpoint_or_once_one_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let mut session = session_of(&place.path().join("run"), SELECTING);
        let variant = session.recipe.variants().remove(0);
        let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
        let training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
        let best = |state: &RunState, folder: &RunFolder| {
            state.files.verify(folder).unwrap();
            let name = state.variants[0].best.clone().unwrap();
            (state.files.read(folder, &name).unwrap(), name)
        };
        // Perhaps still being written when the next one is begun.
        training.session.checkpoint(0, &training.trainer, CheckpointKind::ByTime).unwrap();
        training.session.keep_best(0, 1, vec![1]);
        training.session.keep_best(0, 2, vec![2]);
        training.session.checkpoint(0, &training.trainer, CheckpointKind::ByTime).unwrap();
        training.session.wait_for_checkpoint().unwrap();
        let folder = session.folder.clone();
        let written = RunState::read(&folder).unwrap().unwrap();
        assert_eq!(best(&written, &folder), (vec![2], "state/arm-0-best-2.safetensors".to_owned()));
        assert!(!folder.path("state/arm-0-best-1.safetensors").exists());

        session.keep_best(0, 3, vec![3]);
        session.wait_for_checkpoint().unwrap();
        // Killed here, the run goes on from the state before.
        assert_eq!(best(&RunState::read(&folder).unwrap().unwrap(), &folder).0, [2]);
        let name = session.state.variants[0].best.clone().unwrap();
        assert_eq!(session.state.files.read(&folder, &name).unwrap(), [3]);
        session.save().unwrap();
        assert_eq!(best(&RunState::read(&folder).unwrap().unwrap(), &folder).0, [3]);
    }

    #[test]
    fn a_run_that_is_killed_before_its_best_network_is_written_finds_it_again() {
        let place = tempfile::tempdir().unwrap();
        let ended = |name: &str, is_killed: bool| {
            let mut session = session_of(&place.path().join(name), SELECTING);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
            if is_killed {
                let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
                (0..2).for_each(|_| training.step().unwrap());
                training.evaluate_if_due().unwrap();
                training.checkpoint().unwrap();
                training.session.wait_for_checkpoint().unwrap();
                let earlier = training.session.state.variants[0].best.clone();
                training.session.keep_best(0, 4, vec![4]);
                assert!(earlier.is_some() && training.session.state.variants[0].best != earlier);
                // The memory of the process is gone.
                let Session { folder, recipe, devices, splits, weights, .. } = session;
                let written = RunState::read(&folder).unwrap().unwrap();
                written.files.verify(&folder).unwrap();
                assert_eq!(written.variants[0].best, earlier);
                session = Session::new(folder, recipe, devices, splits, weights, written).unwrap();
            }
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            assert!(training.iterate().unwrap().is_none());
            training.session.wait_for_checkpoint().unwrap();
            let state = &session.state.variants[0];
            let best = session.state.files.read(&session.folder, state.best.as_ref().unwrap()).unwrap();
            (best, state.evaluations.clone())
        };
        assert!(ended("straight", false) == ended("killed", true));
    }

    /// The line had the rate of a step that was never taken.
    #[test]
    fn a_resumed_variant_that_patience_ends_logs_the_rate_of_its_last_step() {
        let place = tempfile::tempdir().unwrap();
        let recipe = SELECTING.replace("held_out = 64\n", "held_out = 64\npatience = 1\n");
        let lines = |name: &str, resumes: bool| {
            let mut session = session_of(&place.path().join(name), &recipe);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            (0..4).for_each(|_| training.step().unwrap());
            let evaluated =
                |(iteration, value)| SelectionEvaluation { iteration, value, metrics: BTreeMap::new() };
            training.session.state.variants[0].evaluations = [(2, 0.9), (4, 0.1)].map(evaluated).to_vec();
            training.checkpoint().unwrap();
            training.session.wait_for_checkpoint().unwrap();
            let stopped = match resumes {
                true => VariantTraining::open(&mut session, first(&variant), &mut events).unwrap().iterate(),
                false => training.iterate(),
            };
            assert!(stopped.unwrap().is_some_and(|stopped| stopped.reason == StopReason::NoBetter));
            session.wait_for_checkpoint().unwrap();
            session.log.flush().unwrap();
            session.folder.measurements().unwrap()
        };
        let (straight, resumed) = (lines("straight", false), lines("resumed", true));
        assert_eq!(straight.iter().map(|line| line.iteration).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(straight, resumed);
        assert!(straight[0].learning_rate > straight[1].learning_rate, "the schedule is not constant");
    }

    /// The run ended with the error of a probe, which was that again when it resumed.
    #[test]
    fn a_variant_whose_last_steps_leave_no_finite_embeddings_diverged() {
        let place = tempfile::tempdir().unwrap();
        let recipe = DIVERGING.replace("iterations = 60", "iterations = 4");
        for (finite, kept) in [(4_u64, 4_u64), (3, 2), (1, 0)] {
            let mut session = session_of(&place.path().join(kept.to_string()), &recipe);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
            let measure = |_: &Session, trainer: &Trainer| match trainer.step_number() {
                step if step <= finite => Ok(step),
                _ => Err(Error::NotFinite { input: "embedding".into(), row: 0 }.into()),
            };
            let TrainingOutcome { measured, stopped } =
                train(&mut session, first(&variant), &mut events, measure).unwrap();
            let state = &session.state.variants[0];
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

    /// The run went on with the next variant, and waited for processes that had ended.
    #[test]
    fn what_ends_another_process_ends_the_run_though_its_numbers_are_not_finite() {
        let place = tempfile::tempdir().unwrap();
        let mut session = session(&place.path().join("run"));
        let variant = session.recipe.variants().remove(0);
        let mut events = EventLog::open(&session.folder, &variant.name).unwrap();
        let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
        while !training.trainer.is_finished() && training.check_finite().is_ok() {
            // A loss that is no number is an error, after which the weights are none either.
            drop(training.step());
        }
        let processes = ProcessGroup::of(Arc::new(Others(vec![Status::Failed])), 0);
        training.session.devices.processes = processes.clone();
        let outcome = training.iterate();
        assert!(processes.has_ended());
        let error = training.leave_group(outcome).unwrap_err().to_string();
        assert!(error.starts_with("process 1 failed; continue with `simile train --resume"), "{error}");
    }
}
