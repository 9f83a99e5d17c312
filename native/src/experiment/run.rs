//! A run from beginning to end: prepare, train, evaluate, write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use simile_core::eval::mcnemar::p_value;
use simile_core::train::Trainer;

use crate::config::Recipe;
use crate::console::line;
use crate::devices::DeviceSet;
use crate::experiment::estimate::estimate;
use crate::experiment::evaluate::{Evaluation, draw, evaluate, untrained};
use crate::experiment::outputs;
use crate::experiment::preflight::{self, PreflightReport, preflight};
use crate::experiment::prepare::splits::Splits;
use crate::experiment::prepare::{prior, weights};
use crate::experiment::session::{Session, VariantAt};
use crate::experiment::train::selection::{self, Candidate};
use crate::experiment::train::{TrainingOutcome, train};
use crate::interrupt;
use crate::metrics::{Hits, Metrics};
use crate::run_folder::figures::Figures;
use crate::run_folder::folder::{RECIPE, RunFolder, WEIGHTS};
use crate::run_folder::hits::StoredHits;
use crate::run_folder::record::{KernelFaults, RunResult, VariantResult, Warnings};
use crate::run_folder::state::RunState;
use crate::run_folder::tensorboard::EventLog;

/// A check of the names of the metrics that a run will have, before it begins.
pub(crate) type CheckMetrics<'a> = &'a dyn Fn(&BTreeSet<String>) -> Result<()>;

/// Runs a recipe in `out`, or in a new folder with the recipe's name.
///
/// # Errors
/// If the data cannot be read, the folder cannot be created, or the run fails; as the check.
pub(crate) fn run(
    recipe: Recipe,
    out: Option<&Path>,
    data: Option<PathBuf>,
    devices: DeviceSet,
    check: CheckMetrics<'_>,
) -> Result<(RunFolder, RunResult)> {
    let prepared = prepare(recipe, data, devices)?;
    check(&prepared.metrics)?;
    let folder = RunFolder::create(out, &prepared.recipe.folder_name())?;
    line(format_args!("{} into {}", prepared.recipe.name, folder.root().display()));
    let session = begin(folder.clone(), prepared)?;
    Ok((folder, complete(session)?))
}

/// The inputs of a run, checked before it has a folder.
pub(super) struct Prepared {
    pub(super) recipe: Recipe,
    /// Folder of the data set's files.
    data: Option<PathBuf>,
    pub(super) devices: DeviceSet,
    pub(super) splits: Splits,
    /// The file of the initial weights of encoders; random if absent.
    pub(super) weights: Option<Vec<u8>>,
    warnings: Warnings,
    kernel_faults: KernelFaults,
    /// The names of the metrics that it will have.
    pub(super) metrics: BTreeSet<String>,
}

/// Reads weights and images, and checks all later stages.
///
/// # Errors
/// If a file is missing or damaged; a usage error if the run would fail later, or a step does not fit into memory.
pub(super) fn prepare(mut recipe: Recipe, data: Option<PathBuf>, devices: DeviceSet) -> Result<Prepared> {
    recipe.train.set_device_defaults(devices.has_gpu());
    // Reading images may take long, so that these two come first.
    preflight::check_precision(&recipe, &devices)?;
    let weights = weights::read(&recipe)?;
    let splits = read_images(&recipe, data.as_deref(), &devices)?;
    recipe.probe.drop_absent_condition(!splits.train.conditions.is_empty());
    let PreflightReport { warnings, kernel_faults, metrics } = preflight(&recipe, &splits, &devices)?;
    interrupt::listen()?;
    Ok(Prepared { recipe, data, devices, splits, weights, warnings, kernel_faults, metrics })
}

/// The images of a recipe, with the attribute that another network computes, if it names one.
///
/// # Errors
/// If a file is missing or damaged, or the encoder has another input size; a usage error if a step does not fit into
/// memory.
pub(super) fn read_images(recipe: &Recipe, data: Option<&Path>, devices: &DeviceSet) -> Result<Splits> {
    let splits = Splits::checked(recipe, data, &|images| preflight::check_memory(recipe, images, devices))?;
    prior::add(splits, recipe.data.prior.as_ref(), &devices.first.device)
}

/// Writes recipe, weights and state into the run's folder; from here on it can be resumed.
///
/// # Errors
/// If the folder cannot be written to.
pub(super) fn begin(folder: RunFolder, prepared: Prepared) -> Result<Session> {
    let Prepared { mut recipe, data, devices, splits, weights: bytes, warnings, kernel_faults, .. } =
        prepared;
    let weights = bytes.as_ref().map(|bytes| weights::begin(&mut recipe, bytes)).transpose()?;
    if !folder.path(RECIPE).is_file() {
        // Written first: a folder with it can be resumed.
        folder.write(RECIPE, recipe.to_toml()?)?;
    }
    let mut state = RunState::at_start(&recipe, devices.to_string(), data)?;
    state.warnings = warnings;
    state.kernel_faults = kernel_faults;
    state.images = Some(splits.counts());
    state.data_digests = splits.data_digests(&recipe.data);
    state.prior = recipe.data.prior.as_ref().map(prior::digest).transpose()?;
    if let Some(bytes) = bytes {
        state.files.keep(&folder, WEIGHTS, &bytes)?;
    }
    state.write(&folder)?;
    Session::new(folder, recipe, devices, splits, weights, state)
}

/// Trains, evaluates and writes every variant that is not done; then writes result and report. A diverged variant counts as
/// done, and its result reports the divergence.
///
/// # Errors
/// [`Interrupted`](crate::exit::Interrupted) after a checkpoint if the user requests it; any other failure of the run.
pub(super) fn complete(mut session: Session) -> Result<RunResult> {
    let variants = session.recipe.variants();
    if session.store.state.expected_seconds.is_none() {
        session.store.state.expected_seconds = estimate(&session);
    }
    let mut figures = match session.store.state.figures(&session.store.folder)? {
        Some(figures) => figures,
        None => draw::sample_figures(&session)?,
    };
    while let Some(at) = session.store.state.current() {
        let result = run_variant(&mut session, VariantAt { at, variant: &variants[at] }, &mut figures)?;
        keep_result(&mut session, at, result, &figures)?;
        if interrupt::is_requested() && at + 1 < variants.len() {
            return Err(session.interrupted());
        }
    }
    outputs::write_result_and_report(&session.store.folder, &session.recipe, session.store.state)
}

/// Writes the result of the variant at `at`, and the figures with its own.
fn keep_result(session: &mut Session, at: usize, result: VariantResult, figures: &Figures) -> Result<()> {
    // A variant that diverged may have made a checkpoint of the network that is kept; its thread would remove the new figures.
    session.store.wait_for_checkpoint()?;
    session.store.state.keep_figures(&session.store.folder, at + 1, figures)?;
    session.variant_state_mut(at).result = Some(result);
    session.store.save()
}

/// Trains one variant, evaluates its network, and writes the results.
fn run_variant(
    session: &mut Session,
    variant_at: VariantAt<'_>,
    figures: &mut Figures,
) -> Result<VariantResult> {
    let VariantAt { at, variant } = variant_at;
    let mut events = EventLog::open(&session.store.folder, &variant.name)?;
    let measure = |session: &Session, trainer: &Trainer| evaluated(session, variant_at, trainer);
    let TrainingOutcome { measured, stopped } = train(session, variant_at, &mut events, measure)?;
    let EvaluatedNetworks { last, best, evaluation, metrics_of_last } = measured;
    let chosen = best.as_ref().unwrap_or(&last);

    let untrained = untrained::probe_once(session)?;
    let untrained_hits = session.store.state.untrained_hits.read();
    let mut warnings = session.store.state.warnings.get(&variant.name).cloned().unwrap_or_default();
    warnings.extend(preflight::unreached_stage_warnings(variant, &session.recipe));
    let before_and_after = [(&untrained.metrics, &untrained_hits), (&evaluation.metrics, &evaluation.hits)];
    let subjects = session.splits.evaluated.dataset.subjects.as_deref();
    if let Some(warning) = untrained::was_better(before_and_after, subjects) {
        line(format_args!("warning: {}: {warning}", variant.name));
        warnings.push(warning);
    }

    outputs::write_metrics(session, &mut events, last.iteration, &evaluation.metrics)?;
    outputs::write_models(session, at, chosen, best.is_some().then_some(&last))?;
    evaluation.drawing(session, variant).add_to(figures)?;
    let iterations = last.iteration as usize;
    let paired = paired(session, at, &evaluation.hits);
    Ok(VariantResult {
        name: variant.name.clone(),
        objective: variant.objective.name.clone(),
        iterations,
        final_loss: outputs::final_loss(&session.store.folder.measurements()?, variant, iterations),
        training_seconds: session.variant_state(at).seconds,
        protocol: outputs::protocol(session, at, chosen.iteration),
        metrics: evaluation.metrics,
        probes: evaluation.probes,
        last: metrics_of_last,
        evaluations: session.variant_state(at).evaluations.clone(),
        stopped,
        warnings,
        kernel: session.store.state.kernel_faults.get(&variant.name).copied(),
        paired,
    })
}

/// The networks of a variant, with their evaluations.
struct EvaluatedNetworks {
    last: Candidate,
    /// The chosen network, if it is not the last one.
    best: Option<Candidate>,
    /// Of the chosen network.
    evaluation: Evaluation,
    /// Of the last network, if another one was chosen.
    metrics_of_last: Option<Metrics>,
}

/// Evaluates the chosen network of a variant, and the last one, which the trainer has.
fn evaluated(
    session: &Session,
    VariantAt { at, variant }: VariantAt<'_>,
    trainer: &Trainer,
) -> Result<EvaluatedNetworks> {
    line(format_args!("{}: probing", variant.name));
    let last = Candidate { iteration: trainer.step_number(), model: trainer.model().clone() };
    let best = selection::best_before(session, at, last.iteration)?;
    let chosen = best.as_ref().unwrap_or(&last);
    let evaluation = evaluate(session, variant, &chosen.model)?;
    let metrics_of_last = match &best {
        Some(_) => Some(evaluate(session, variant, &last.model)?.metrics),
        None => None,
    };
    Ok(EvaluatedNetworks { last, best, evaluation, metrics_of_last })
}

/// The p-values of McNemar's test of a variant and the first one, by metric: both are measured on the same images, of subjects if these
/// are known. The hits of the first one are kept for this.
fn paired(session: &mut Session, at: usize, hits: &Hits) -> BTreeMap<String, f64> {
    if at == 0 {
        session.store.state.hits = StoredHits::of(hits);
        return BTreeMap::new();
    }
    let first = session.store.state.hits.read();
    let both = hits.iter().filter_map(|(metric, own)| Some((metric, own, first.get(metric)?)));
    let subjects = session.splits.evaluated.dataset.subjects.as_deref();
    both.map(|(metric, own, first)| (metric.clone(), p_value(own, first, subjects))).collect()
}

#[cfg(all(test, feature = "flex"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::testing::drawn;
    use crate::devices::{DeviceChoice, DeviceName};
    use crate::run_folder::state::CheckpointKind;
    use crate::run_folder::testing::variant;

    /// The thread that wrote the checkpoint removed the figures, which its state did not list: the run could not resume.
    #[test]
    fn figures_stay_where_a_checkpoint_is_still_being_written() {
        let place = tempfile::tempdir().unwrap();
        let devices = DeviceSet::open(&[DeviceChoice { name: DeviceName::Cpu, index: 0 }]).unwrap();
        let prepared = prepare(drawn("[objective]\nname = \"nt-xent\"\n"), None, devices).unwrap();
        let folder = RunFolder::create(Some(&place.path().join("run")), "x").unwrap();
        let mut session = begin(folder, prepared).unwrap();
        // So large that it is not written before the figures.
        session.store.checkpoint_of(0, vec![7; 1 << 25], CheckpointKind::ByCount).unwrap();
        keep_result(&mut session, 0, variant("nt-xent", 0.5), &Figures::default()).unwrap();
        let written = RunState::read(&session.store.folder).unwrap().unwrap();
        written.files.verify(&session.store.folder).unwrap();
        assert_eq!(written.figures(&session.store.folder).unwrap(), Some(Figures::default()));
        assert!(written.variants[0].result.is_some());
    }
}
