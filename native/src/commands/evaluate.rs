//! `simile evaluate`

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use comfy_table::CellAlignment;
use serde::Serialize;
use simile_core::augment::Augmentation;
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::Metadata;

use super::data::{Named, section};
use crate::cli::Evaluate;
use crate::config::Recipe;
use crate::config::measured::MeasuredObjective;
use crate::config::probe::{Probe, ProbeSection};
use crate::console::{Console, line, table};
use crate::experiment::evaluate::probe::objective::{self, Frozen, Viewing};
use crate::experiment::evaluate::probe::{Measured, Represented, base_rates, in_words, measure};
use crate::experiment::prepare::images::PreparedImages;
use crate::experiment::prepare::prior;
use crate::experiment::prepare::splits::Splits;
use crate::metrics::format::MetricFormat;
use crate::metrics::names::BASE_RATE;
use crate::run_folder::folder::RunFolder;
use crate::run_folder::model;
use crate::run_folder::record::ProbeFit;
use crate::run_folder::state::RunState;

#[derive(Serialize)]
struct Answer {
    model: String,
    probe: &'static str,
    /// The protocol of the metrics, in words.
    protocol: String,
    metrics: BTreeMap<String, f64>,
    /// The fits of the probes that have a ridge penalty.
    probes: BTreeMap<String, ProbeFit>,
    /// The metrics of predicting the most frequent value and the mean, without any encoder.
    base_rates: BTreeMap<String, f64>,
    /// The variable whose leak was measured.
    condition: String,
}

pub(super) fn run(arguments: &Evaluate, console: Console) -> Result<()> {
    let device = arguments.device.device.open()?;
    let (file, said) = model::chosen(&arguments.model, arguments.arm.as_deref())?;
    said.iter().for_each(line);
    let checkpoint = model::load(&file, &device.device)?;
    let folder = match (&arguments.data, arguments.model.is_dir()) {
        (Some(folder), _) => Some(folder.clone()),
        (None, true) => data_of_run(&RunFolder::open(&arguments.model)?),
        (None, false) => None,
    };
    let Judging { splits, probe, judged, augmentation } =
        judging(arguments, &checkpoint.metadata, folder.as_deref(), &device.device)?;
    let normalisation = model::normalisation(&checkpoint);
    let sides = (checkpoint.metadata.input_size, checkpoint.metadata.resize);
    let features = |images| {
        PreparedImages::new(images, sides, &normalisation, &device.device).features(&checkpoint.encoder)
    };
    let (train, test) = (features(&splits.train.images)?, features(&splits.test.images)?);
    let Measured { mut metrics, probes, .. } = measure(
        &probe,
        arguments.probe,
        Represented { features: &train, dataset: &splits.train },
        Represented { features: &test, dataset: &splits.test },
    )?;
    let base_rates = base_rates(&probe, &splits.train, &splits.test)?;
    let viewing =
        Viewing { augmentation: &augmentation, normalisation: &normalisation, device: &device.device };
    let (network, sets) = (Frozen::new(&checkpoint.encoder, None), [&splits.train, &splits.test]);
    let of_objectives = objective::measure(&probe.objectives, &network, &viewing, sets)?;
    let measured =
        |one: &&MeasuredObjective| of_objectives.keys().any(|name| *name == format!("{}_test", one.metric()));
    let (with, without): (Vec<_>, Vec<_>) = probe.objectives.iter().partition(measured);
    for one in without {
        line(format_args!("not measured: {}; the file holds no head", one.in_words()));
    }
    let objectives: String = with.iter().map(|one| format!("; {}", one.in_words())).collect();
    metrics.extend(of_objectives);
    let protocol = format!(
        "{}, fitted to {} training images and measured on {} {judged} images{objectives}",
        in_words(&probe, arguments.probe),
        splits.train.len(),
        splits.test.len()
    );
    let (name, condition) = match arguments.probe {
        Probe::Linear => ("linear", probe.condition),
        Probe::Knn => ("knn", probe.condition),
    };
    let model = arguments.model.display().to_string();
    let answer = Answer { model, probe: name, protocol, metrics, probes, base_rates, condition };
    console.answer(&answer, || text(&answer))
}

/// The data and settings for evaluating a model.
struct Judging {
    splits: Splits,
    probe: ProbeSection,
    /// The split on which probes are measured, in a word.
    judged: &'static str,
    /// The augmentation for the views of objectives.
    augmentation: Augmentation,
}

/// Resolves the data and the probe: those of the training run, or those of `--on`.
fn judging(
    arguments: &Evaluate,
    metadata: &Metadata,
    folder: Option<&Path>,
    device: &Device,
) -> Result<Judging> {
    let (splits, mut probe, is_chosen, judged, augmentation) = match &arguments.on {
        None => {
            let recipe: Recipe = serde_json::from_value(metadata.recipe.clone()).with_context(|| {
                format!(
                    "the model {} does not say on which data it was trained, as one that was imported does not; name a \
                     data set or a recipe with --on",
                    arguments.model.display()
                )
            })?;
            let splits = prior::add(Splits::of(&recipe, folder)?, recipe.data.prior.as_ref(), device)?;
            (splits, recipe.probe, true, recipe.data.judged(), recipe.augment)
        }
        Some(name) => {
            let Named { data, probe, augmentation, .. } = section(name)?;
            let input_size = metadata.resize.unwrap_or(metadata.input_size);
            let encoder = EncoderConfig { input_size, ..metadata.encoder.clone() };
            let splits = Splits::load(&data, folder, 0, &encoder)?;
            let is_chosen = probe.is_some();
            (splits, probe.unwrap_or_default(), is_chosen, data.judged(), augmentation)
        }
    };
    match (&arguments.condition, splits.train.conditions.keys().next()) {
        (Some(condition), _) => probe.condition.clone_from(condition),
        (None, Some(first)) if !is_chosen => probe.condition.clone_from(first),
        _ => {}
    }
    Ok(Judging { splits, probe, judged, augmentation })
}

/// The data folder of the run, if its state still records it.
fn data_of_run(folder: &RunFolder) -> Option<std::path::PathBuf> {
    RunState::read(folder).ok().flatten().and_then(|state| state.data)
}

fn text(answer: &Answer) -> String {
    let mut table = table(["Metric", "Value", BASE_RATE]);
    for (name, &value) in &answer.metrics {
        let format = MetricFormat::of(name, &answer.condition);
        let number = format.number(Some(value));
        let base = format.number(answer.base_rates.get(name).copied());
        table.add_row([format.title, number, base]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n{}", answer.protocol)
}
