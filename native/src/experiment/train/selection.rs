//! The choice of the final encoder of a run: the last one, or the best on held-out images.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use simile_core::data::Dataset;
use simile_core::nn::Model;
use simile_core::nn::checkpoint::Checkpoint;
use simile_core::train::Trainer;

use crate::config::selection::SelectionSection;
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::exit::usage;
use crate::experiment::evaluate::probe::{LabelledFeatures, class_metrics, measure_classes_while};
use crate::experiment::prepare::images::PreparedImages;
use crate::experiment::session::{Session, VariantAt};
use crate::interrupt;
use crate::metrics::Metrics;
use crate::run_folder::record::{SelectionEvaluation, StopReason, Stopped, best};
use crate::run_folder::state::VariantState;
use crate::run_folder::tensorboard::EventLog;

/// A network after a number of iterations.
pub(crate) struct Candidate {
    pub(crate) iteration: u64,
    pub(crate) model: Model,
}

/// Iterations between two evaluations; 0 if there are none.
pub(crate) fn evaluated_every(session: &Session, batches_per_epoch: u64) -> u64 {
    let every =
        |selection: &SelectionSection| selection.every.map_or(batches_per_epoch, |every| every as u64);
    session.recipe.selection.as_ref().map_or(0, every)
}

/// Evaluates the current network on the held-out images, and keeps it if it is the best. Returns for how long the latter held training
/// up. A signal stops it before it changes anything.
pub(crate) fn evaluate(
    session: &mut Session,
    VariantAt { at, variant }: VariantAt<'_>,
    trainer: &Trainer,
    events: &mut EventLog,
) -> Result<Duration> {
    let mut held_up = Duration::ZERO;
    let (Some(section), Some(to_choose)) = (&session.recipe.selection, &session.splits.to_choose) else {
        return Ok(held_up);
    };
    let metrics = metrics_to_choose_by(session, variant, section, to_choose, trainer)?;
    let value = metrics.get(&section.metric).copied().ok_or_else(|| {
        let known: Vec<&str> = metrics.keys().map(String::as_str).collect();
        usage(format_args!(
            "`selection.metric` is `{}`, which these data do not have; known: {}",
            section.metric,
            known.join(", ")
        ))
    })?;
    let iteration = trainer.step_number();
    let tags: Vec<(String, f64)> =
        metrics.iter().map(|(name, value)| (format!("validation/{name}"), *value)).collect();
    events.scalars(iteration as usize, tags.iter().map(|(tag, value)| (tag.as_str(), *value)))?;
    let is_best = session.variant_state(at).evaluations.iter().all(|earlier| value > earlier.value);
    let mark = if is_best { ", the best so far" } else { "" };
    line(format_args!("{}: iteration {iteration}, {} {value:.4}{mark}", variant.name, section.metric));
    if is_best {
        let began = Instant::now();
        let mut metadata = session.metadata(at)?;
        metadata.head = Some(trainer.config().head.clone());
        let bytes = pollster::block_on(trainer.checkpoint(metadata).to_bytes())?;
        session.store.keep_best(at, iteration, bytes);
        held_up = began.elapsed();
    }
    session.variant_state_mut(at).evaluations.push(SelectionEvaluation { iteration, value, metrics });
    Ok(held_up)
}

fn metrics_to_choose_by(
    session: &Session,
    variant: &RecipeVariant,
    section: &SelectionSection,
    to_choose: &Dataset,
    trainer: &Trainer,
) -> Result<Metrics> {
    let form = session.image_form()?;
    let held_out = session.prepared(to_choose, &form);
    let Some(probe) = section.readout.probe() else {
        let scores = held_out.scores_while(trainer.model(), &|| session.check_interrupted())?;
        return class_metrics(
            &session.recipe.probe,
            &variant.class_scores(scores).map_err(usage)?,
            to_choose,
        );
    };
    let train = &session.splits.train;
    let features = |images: PreparedImages<'_>| {
        images.features_while(trainer.encoder(), &|| session.check_interrupted())
    };
    let (train_features, held_out_features) =
        (features(session.prepared(train, &form))?, features(held_out)?);
    let sets = [
        LabelledFeatures { features: &train_features, dataset: train },
        LabelledFeatures { features: &held_out_features, dataset: to_choose },
    ];
    measure_classes_while(&session.recipe.probe, probe, sets, interrupt::check_interrupted)
        .map_err(|error| session.error_of(error))
}

/// Keeps the evaluations of candidates alone. Others are those of the first of two stages, which earlier versions made, and those after
/// the last iteration, which a variant that diverged repeats if its process was killed then.
pub(super) fn keep_candidates(state: &mut VariantState, first_steps: u64) {
    let last = state.iteration;
    let is_other =
        |evaluation: &SelectionEvaluation| !(first_steps + 1..=last).contains(&evaluation.iteration);
    if best(&state.evaluations).is_some_and(is_other) {
        state.best = None;
    }
    state.evaluations.retain(|evaluation| !is_other(evaluation));
}

/// The end of a variant by `selection.patience`: so many of its evaluations came after the best one.
pub(crate) fn stopped_by_patience(
    selection: Option<&SelectionSection>,
    evaluations: &[SelectionEvaluation],
) -> Option<Stopped> {
    let SelectionSection { patience, metric, .. } = selection?;
    let (best, last) = (best(evaluations)?, evaluations.last()?);
    let since = evaluations.iter().filter(|later| later.iteration > best.iteration).count();
    let message = || format!("no better {metric} in {since} evaluations, up to iteration {}", last.iteration);
    (since >= (*patience)?).then(|| Stopped { reason: StopReason::NoBetter, message: message() })
}

/// The chosen network, if it is not the last one.
pub(crate) fn best_before(session: &Session, at: usize, last: u64) -> Result<Option<Candidate>> {
    let variant = session.variant_state(at);
    let (Some(best), Some(name)) = (best(&variant.evaluations), &variant.best) else { return Ok(None) };
    let bytes = session.store.state.files.read(&session.store.folder, name)?;
    if best.iteration == last {
        return Ok(None);
    }
    let Checkpoint { encoder, head, .. } =
        Checkpoint::from_bytes(&bytes, &session.devices.first.device).context("reading the best encoder")?;
    let head = head.context("the best encoder was kept without its head")?;
    Ok(Some(Candidate { iteration: best.iteration, model: Model { encoder, head } }))
}

/// The choice of the encoder for the final metrics, in words.
pub(crate) fn in_words(session: &Session, at: usize, iteration: u64) -> String {
    match &session.recipe.selection {
        None => format!("the encoder of iteration {iteration}, the last"),
        Some(selection) => format!(
            "the encoder of iteration {iteration}, chosen among {} by {}",
            session.variant_state(at).evaluations.len(),
            selection.in_words(session.splits.to_choose.as_ref().map_or(0, Dataset::len))
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::super::variant_training::VariantTraining;
    use super::*;
    use crate::exit::Interrupted;
    use crate::experiment::testing::{first, session};
    use crate::run_folder::folder::RunFolder;
    use crate::run_folder::state::{CheckpointKind, RunState};

    /// An encoder that is chosen by evaluations.
    const SELECTING: &str = "[data]\ntrain = 160\ntest = 48\n\n[optimizer]\nname = \"adam\"\n\n[schedule]\n\
        name = \"cosine\"\n\n[train]\niterations = 6\ncheckpoint_every = 2\nlog_every = 3\n\n[probe]\n\
        steps = 5\n\n[selection]\nheld_out = 64\nevery = 2\n\n[objective]\nname = \"nt-xent\"\n";

    #[test]
    fn networks_of_a_first_stage_and_those_that_are_made_again_are_no_candidates() {
        let evaluated = |values: &[f64]| {
            let of = |(at, value): (usize, &f64)| SelectionEvaluation {
                iteration: at as u64 + 1,
                value: *value,
                metrics: Metrics::new(),
            };
            let evaluations = values.iter().enumerate().map(of).collect();
            let best = Some("best".into());
            let mut state = VariantState { iteration: 5, best, evaluations, ..VariantState::default() };
            keep_candidates(&mut state, 2);
            (state.evaluations.iter().map(|left| left.iteration).collect::<Vec<_>>(), state.best.is_some())
        };
        assert_eq!(evaluated(&[0.5, 0.5]), (vec![], false));
        assert_eq!(evaluated(&[0.5, 0.5, 0.4]), (vec![3], false));
        assert_eq!(evaluated(&[0.5, 0.5, 0.6, 0.4]), (vec![3, 4], true));
        assert_eq!(evaluated(&[0.5, 0.5, 0.6, 0.4, 0.4, 0.5]), (vec![3, 4, 5], true));
        assert_eq!(evaluated(&[0.5, 0.5, 0.6, 0.4, 0.4, 0.7]), (vec![3, 4, 5], false));
    }

    /// A signal ended the process only after its evaluation, which may take minutes.
    #[test]
    fn an_evaluation_that_a_signal_stops_is_made_when_the_run_resumes() {
        let place = tempfile::tempdir().unwrap();
        let ended = |name: &str, stop: Option<u64>| {
            let mut session = session(&place.path().join(name), SELECTING);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
            if let Some(stop) = stop {
                let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
                for completed in 0..stop - 1 {
                    let result = training.step().and_then(|()| training.evaluate_if_due());
                    assert!(training.end_iteration(result, completed).unwrap().is_none());
                    training.session.store.wait_for_checkpoint().unwrap();
                }
                training.step().unwrap();
                assert!(training.lacks_evaluation());
                let result = training.interruptible(|training| Err(training.session.interrupted()));
                let error = training.end_iteration(result, stop - 1).err().unwrap();
                assert!(error.is::<Interrupted>(), "{error}");
                training.session.store.wait_for_checkpoint().unwrap();
                let written = RunState::read(&session.store.folder).unwrap().unwrap();
                let state = &written.variants[0];
                assert_eq!(state.iteration, stop);
                let restored = state.last_finite.clone().unwrap();
                assert!(
                    !restored.contains(&format!("iteration-{stop}.")),
                    "the evaluation may find divergence"
                );
                session.store.state = written;
            }
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            assert!(training.iterate().unwrap().is_none());
            training.session.store.wait_for_checkpoint().unwrap();
            let bytes = pollster::block_on(training.trainer.to_bytes()).unwrap();
            session.store.log.flush().unwrap();
            let lines = fs::read_to_string(session.store.folder.path("metrics.jsonl")).unwrap();
            (bytes, lines, session.store.state.variants[0].evaluations.clone())
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
        let mut session = session(&place.path().join("run"), SELECTING);
        let variant = session.recipe.variants().remove(0);
        let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
        let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
        for completed in 0..2 {
            assert_eq!(training.clock.checkpoint_share(), 0.0);
            let result = training.step().and_then(|()| training.evaluate_if_due());
            if completed == 1 {
                let best = training.session.store.state.variants[0].best.clone().unwrap();
                assert!(!training.session.store.folder.path(best).exists());
                assert!(training.clock.checkpoint_share() > 0.0);
            }
            assert!(training.end_iteration(result, completed).unwrap().is_none());
        }
        training.session.store.wait_for_checkpoint().unwrap();
        let written = RunState::read(&session.store.folder).unwrap().unwrap();
        written.files.verify(&session.store.folder).unwrap();
        let state = &written.variants[0];
        assert_eq!((state.iteration, state.evaluations.len()), (2, 1));
        assert!(state.best.is_some() && state.best == session.store.state.variants[0].best);
    }

    #[test]
    fn a_best_network_that_waits_is_written_with_the_next_checkpoint_or_once_one_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let mut session = session(&place.path().join("run"), SELECTING);
        let variant = session.recipe.variants().remove(0);
        let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
        let training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
        let best = |state: &RunState, folder: &RunFolder| {
            state.files.verify(folder).unwrap();
            let name = state.variants[0].best.clone().unwrap();
            (state.files.read(folder, &name).unwrap(), name)
        };
        // Perhaps still being written when the next one is begun.
        training.session.store.checkpoint(0, &training.trainer, CheckpointKind::ByTime).unwrap();
        training.session.store.keep_best(0, 1, vec![1]);
        training.session.store.keep_best(0, 2, vec![2]);
        training.session.store.checkpoint(0, &training.trainer, CheckpointKind::ByTime).unwrap();
        training.session.store.wait_for_checkpoint().unwrap();
        let folder = session.store.folder.clone();
        let written = RunState::read(&folder).unwrap().unwrap();
        assert_eq!(best(&written, &folder), (vec![2], "state/arm-0-best-2.safetensors".to_owned()));
        assert!(!folder.path("state/arm-0-best-1.safetensors").exists());

        session.store.keep_best(0, 3, vec![3]);
        session.store.wait_for_checkpoint().unwrap();
        // Killed here, the run goes on from the state before.
        assert_eq!(best(&RunState::read(&folder).unwrap().unwrap(), &folder).0, [2]);
        let name = session.store.state.variants[0].best.clone().unwrap();
        assert_eq!(session.store.state.files.read(&folder, &name).unwrap(), [3]);
        session.store.save().unwrap();
        assert_eq!(best(&RunState::read(&folder).unwrap().unwrap(), &folder).0, [3]);
    }

    #[test]
    fn a_run_that_is_killed_before_its_best_network_is_written_finds_it_again() {
        let place = tempfile::tempdir().unwrap();
        let ended = |name: &str, is_killed: bool| {
            let mut session = session(&place.path().join(name), SELECTING);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
            if is_killed {
                let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
                (0..2).for_each(|_| training.step().unwrap());
                training.evaluate_if_due().unwrap();
                training.checkpoint_without_sharing().unwrap();
                training.session.store.wait_for_checkpoint().unwrap();
                let earlier = training.session.store.state.variants[0].best.clone();
                training.session.store.keep_best(0, 4, vec![4]);
                assert!(earlier.is_some() && training.session.store.state.variants[0].best != earlier);
                // The memory of the process is gone.
                let Session { recipe, devices, splits, weights, store, .. } = session;
                let folder = store.folder;
                let written = RunState::read(&folder).unwrap().unwrap();
                written.files.verify(&folder).unwrap();
                assert_eq!(written.variants[0].best, earlier);
                session = Session::new(folder, recipe, devices, splits, weights, written).unwrap();
            }
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            assert!(training.iterate().unwrap().is_none());
            training.session.store.wait_for_checkpoint().unwrap();
            let state = &session.store.state.variants[0];
            let best =
                session.store.state.files.read(&session.store.folder, state.best.as_ref().unwrap()).unwrap();
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
            let mut session = session(&place.path().join(name), &recipe);
            let variant = session.recipe.variants().remove(0);
            let mut events = EventLog::open(&session.store.folder, &variant.name).unwrap();
            let mut training = VariantTraining::open(&mut session, first(&variant), &mut events).unwrap();
            (0..4).for_each(|_| training.step().unwrap());
            let evaluated =
                |(iteration, value)| SelectionEvaluation { iteration, value, metrics: Metrics::new() };
            training.session.store.state.variants[0].evaluations =
                [(2, 0.9), (4, 0.1)].map(evaluated).to_vec();
            training.checkpoint_without_sharing().unwrap();
            training.session.store.wait_for_checkpoint().unwrap();
            let stopped = match resumes {
                true => VariantTraining::open(&mut session, first(&variant), &mut events).unwrap().iterate(),
                false => training.iterate(),
            };
            assert!(stopped.unwrap().is_some_and(|stopped| stopped.reason == StopReason::NoBetter));
            session.store.wait_for_checkpoint().unwrap();
            session.store.log.flush().unwrap();
            session.store.folder.measurements().unwrap()
        };
        let (straight, resumed) = (lines("straight", false), lines("resumed", true));
        assert_eq!(straight.iter().map(|line| line.iteration).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(straight, resumed);
        assert!(straight[0].learning_rate > straight[1].learning_rate, "the schedule is not constant");
    }
}
