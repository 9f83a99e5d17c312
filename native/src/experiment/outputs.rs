//! The output of a run: the models of each variant, and the result and report of all of them.

use std::collections::BTreeMap;

use anyhow::Result;
use simile_core::nn::Encoder;
use simile_core::nn::checkpoint::Checkpoint;

use crate::config::Recipe;
use crate::config::probe::Probe;
use crate::config::sections::SmokeSection;
use crate::config::variant::RecipeVariant;
use crate::experiment::evaluate::probe::in_words;
use crate::experiment::prepare::splits::Splits;
use crate::experiment::session::Session;
use crate::experiment::train::selection::{self, Candidate};
use crate::metrics::Metrics;
use crate::report::{page, verdict};
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::folder::{FIGURES, LAST_MODEL, MODEL, REPORT, RunFolder};
use crate::run_folder::model::variant_file;
use crate::run_folder::record::{Measurement, RunResult, SmokeTest, devices_in_words};
use crate::run_folder::state::RunState;
use crate::run_folder::tensorboard::EventLog;

/// Writes the metrics of a variant for TensorBoard, and flushes the lines of `metrics.jsonl` to the disk.
///
/// # Errors
/// If they cannot be written.
pub(super) fn write_metrics(
    session: &mut Session,
    events: &mut EventLog,
    iteration: u64,
    metrics: &Metrics,
) -> Result<()> {
    events.scalars(iteration as usize, metrics.iter().map(|(name, value)| (name.as_str(), *value)))?;
    events.show()?;
    session.store.log.flush().map(drop)
}

/// Writes the chosen encoder of a variant, and the last one if that is another.
///
/// # Errors
/// If the folder cannot be written to.
pub(super) fn write_models(
    session: &mut Session,
    at: usize,
    chosen: &Candidate,
    last: Option<&Candidate>,
) -> Result<()> {
    write_model(session, MODEL, at, &chosen.model.encoder)?;
    last.map_or(Ok(()), |last| write_model(session, LAST_MODEL, at, &last.model.encoder))
}

/// Writes an encoder under the name of its variant if there are several, and that of the last variant under the plain name: until then,
/// no variant stands for the whole run.
fn write_model(session: &mut Session, name: &str, at: usize, encoder: &Encoder) -> Result<()> {
    let checkpoint = Checkpoint { metadata: session.metadata(at)?, encoder: encoder.clone(), head: None };
    let bytes = pollster::block_on(checkpoint.to_bytes())?;
    let variants = session.recipe.variants();
    if variants.len() > 1 {
        session.store.state.files.keep(
            &session.store.folder,
            &variant_file(name, &variants[at].name),
            &bytes,
        )?;
    }
    if at + 1 == variants.len() {
        session.store.state.files.keep(&session.store.folder, name, &bytes)?;
    }
    Ok(())
}

/// The protocol of the metrics of a variant, with the iteration of its encoder.
pub(super) fn protocol(session: &Session, at: usize, iteration: u64) -> String {
    let Splits { train, evaluated, .. } = &session.splits;
    let probe = &session.recipe.probe;
    let objectives = probe.objectives.iter().map(|one| format!("; {}", one.in_words()));
    format!(
        "{}, fitted to {} training images and measured on {} {} images{}; {}{}{}",
        in_words(probe, Probe::Linear, train.len()),
        train.len(),
        evaluated.dataset.len(),
        evaluated.split,
        objectives.collect::<String>(),
        selection::in_words(session, at, iteration),
        longer(&session.store.state.extended_at),
        earlier_devices_in_words(&session.store.state)
    )
}

/// The devices of a run that changed them, in words; empty if it did not.
fn earlier_devices_in_words(RunState { earlier_devices, device, .. }: &RunState) -> String {
    match earlier_devices.is_empty() {
        true => String::new(),
        false => format!("; the run was on {}", devices_in_words(earlier_devices, device)),
    }
}

/// The lengths that a run was planned for before it was made longer, in words; empty if it was not.
fn longer(extended_at: &[usize]) -> String {
    let planned: Vec<String> = extended_at.iter().map(usize::to_string).collect();
    match planned.is_empty() {
        true => String::new(),
        false => format!("; the run was planned for {} iterations and made longer", planned.join(", then ")),
    }
}

/// Mean of the losses in the last tenth of the iterations; the last loss before if that has none. If there is no loss up to there,
/// because the variant diverged, the first one after it.
pub(super) fn final_loss(
    measurements: &[Measurement],
    variant: &RecipeVariant,
    iterations: usize,
) -> Option<f64> {
    let of_variant = || measurements.iter().filter(|line| line.variant == variant.name);
    let losses: BTreeMap<usize, f64> = of_variant()
        .filter(|line| line.iteration <= iterations)
        .map(|line| (line.iteration, line.loss))
        .collect();
    let last: Vec<f64> =
        losses.range(iterations - iterations.div_ceil(10) + 1..).map(|(_, loss)| *loss).collect();
    match last.as_slice() {
        [] => {
            let before = losses.last_key_value().map(|(_, loss)| *loss);
            before.or_else(|| of_variant().next().map(|line| line.loss))
        }
        last => Some(last.iter().sum::<f64>() / last.len() as f64),
    }
}

/// Writes result and report of a run whose variants are all done, and then marks it as finished. Neither data nor a
/// device is needed for it.
///
/// # Errors
/// If a file of a variant is missing or has another digest, or the folder cannot be written to.
pub(super) fn write_result_and_report(
    folder: &RunFolder,
    recipe: &Recipe,
    mut state: RunState,
) -> Result<RunResult> {
    if let Some(figures) = state.figures(folder)? {
        state.files.keep(folder, FIGURES, &serde_json::to_vec_pretty(&figures)?)?;
        state.move_figures(FIGURES);
    }
    let mut result = RunResult {
        recipe: recipe.name.clone(),
        condition: recipe.probe.condition.clone(),
        seed: recipe.train.seed,
        device: state.device.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        seconds: state.seconds,
        variants: state.results(),
        untrained: state.untrained.clone(),
        base_rates: state.base_rates.clone(),
        smoke: recipe.smoke.map(|SmokeSection { iterations, batch }| SmokeTest {
            iterations,
            batch,
            expected_seconds: state.expected_seconds,
        }),
        verdict: Vec::new(),
        date: state.done(folder)?,
        command: state.command.clone(),
        extended_at: state.extended_at.clone(),
        earlier_devices: state.earlier_devices.clone(),
        images: state.images,
        picture_files: recipe.data.dataset.has_pictures().then(|| state.data_digests.whole()).flatten(),
    };
    result.verdict = verdict(recipe, &[&result])?;
    folder.write_result(&result)?;
    let run = FinishedRun::read(folder.root())?;
    folder.write(REPORT, page(&[run])?)?;
    state.finished = true;
    state.write(folder)?;
    Ok(result)
}
