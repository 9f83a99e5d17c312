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
    let (Some(section), Some(validation)) = (&session.recipe.selection, &session.splits.validation) else {
        return Ok(held_up);
    };
    let metrics = validation_metrics(session, variant, section, validation, trainer)?;
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
        session.keep_best(at, iteration, bytes);
        held_up = began.elapsed();
    }
    session.variant_state_mut(at).evaluations.push(SelectionEvaluation { iteration, value, metrics });
    Ok(held_up)
}

fn validation_metrics(
    session: &Session,
    variant: &RecipeVariant,
    section: &SelectionSection,
    validation: &Dataset,
    trainer: &Trainer,
) -> Result<Metrics> {
    let normalisation = session.normalisation()?;
    let held_out = session.prepared(validation, &normalisation);
    let Some(probe) = section.readout.probe() else {
        let scores = held_out.scores_while(trainer.model(), &|| session.check_interrupted())?;
        return class_metrics(
            &session.recipe.probe,
            &variant.class_scores(scores).map_err(usage)?,
            validation,
        );
    };
    let train = &session.splits.train;
    let features = |images: PreparedImages<'_>| {
        images.features_while(trainer.encoder(), &|| session.check_interrupted())
    };
    let (train_features, held_out_features) =
        (features(session.prepared(train, &normalisation))?, features(held_out)?);
    let sets = [
        LabelledFeatures { features: &train_features, dataset: train },
        LabelledFeatures { features: &held_out_features, dataset: validation },
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
    let bytes = session.state.files.read(&session.folder, name)?;
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
            selection.in_words(session.splits.validation.as_ref().map_or(0, Dataset::len))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
