//! `simile evaluate`

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use comfy_table::CellAlignment;
use serde::Serialize;
use simile_core::checkpoint::Metadata;
use simile_core::encoder::EncoderConfig;

use super::data::section;
use crate::cli::{Evaluate, Probe};
use crate::console::{Console, table};
use crate::model;
use crate::probe::{Represented, in_words, measure};
use crate::recipe::Recipe;
use crate::recipe::sections::ProbeSection;
use crate::run::folder::RunFolder;
use crate::run::prepared::Prepared;
use crate::run::prior;
use crate::run::splits::Splits;
use crate::run::state::Standing;

#[derive(Serialize)]
struct Answer {
    model: String,
    probe: &'static str,
    /// How the metrics were measured.
    protocol: String,
    metrics: BTreeMap<String, f64>,
}

pub(super) fn run(arguments: &Evaluate, console: Console) -> Result<()> {
    let device = arguments.device.device.open()?;
    let checkpoint = model::load(&arguments.model, &device.device)?;
    let folder = match (&arguments.data, arguments.model.is_dir()) {
        (Some(folder), _) => Some(folder.clone()),
        (None, true) => data_of_run(&RunFolder::open(&arguments.model)?),
        (None, false) => None,
    };
    let (splits, probe) = data(arguments, &checkpoint.metadata, folder.as_deref(), &device.device)?;
    let normalisation = model::normalisation(&checkpoint);
    let sides = (checkpoint.metadata.input_size, checkpoint.metadata.resize);
    let features =
        |images| Prepared::new(images, sides, &normalisation, &device.device)?.features(&checkpoint.encoder);
    let (train, test) = (features(&splits.train.images)?, features(&splits.test.images)?);
    let metrics = measure(
        &probe,
        arguments.probe,
        Represented { features: &train, dataset: &splits.train },
        Represented { features: &test, dataset: &splits.test },
    )?
    .metrics;
    let protocol = format!(
        "{}, fitted to {} training images and measured on {} test images",
        in_words(&probe, arguments.probe),
        splits.train.len(),
        splits.test.len()
    );
    let probe = match arguments.probe {
        Probe::Linear => "linear",
        Probe::Knn => "knn",
    };
    let answer = Answer { model: arguments.model.display().to_string(), probe, protocol, metrics };
    console.answer(&answer, || text(&answer))
}

/// The images that the model was trained on, or those that are named, and how they are probed.
fn data(
    arguments: &Evaluate,
    metadata: &Metadata,
    folder: Option<&Path>,
    device: &Device,
) -> Result<(Splits, ProbeSection)> {
    let (splits, mut probe, is_chosen) = match &arguments.on {
        None => {
            let recipe: Recipe = serde_json::from_value(metadata.recipe.clone()).context(
                "the model does not say on which data it was trained, as one that was imported does not; name a data set \
                 or a recipe with --on",
            )?;
            let splits = prior::add(Splits::of(&recipe, folder)?, recipe.data.prior.as_ref(), device)?;
            (splits, recipe.probe, true)
        }
        Some(name) => {
            let (data, _, probe) = section(name)?;
            let input_size = metadata.resize.unwrap_or(metadata.input_size);
            let encoder = EncoderConfig { input_size, ..metadata.encoder.clone() };
            let splits = Splits::load(&data, folder, 0, &encoder)?;
            (splits, probe.clone().unwrap_or_default(), probe.is_some())
        }
    };
    match (&arguments.condition, splits.train.conditions.keys().next()) {
        (Some(condition), _) => probe.condition.clone_from(condition),
        (None, Some(first)) if !is_chosen => probe.condition.clone_from(first),
        _ => {}
    }
    Ok((splits, probe))
}

/// The data folder that the run was given, where its state still says so.
fn data_of_run(folder: &RunFolder) -> Option<std::path::PathBuf> {
    Standing::read(folder).ok().and_then(|standing| standing.data)
}

fn text(answer: &Answer) -> String {
    let mut table = table(["Metric", "Value"]);
    for (name, value) in &answer.metrics {
        table.add_row([name.clone(), format!("{value:.4}")]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n{}", answer.protocol)
}
