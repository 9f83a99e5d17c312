//! `simile evaluate`

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use comfy_table::CellAlignment;
use serde::Serialize;

use crate::cli::{Evaluate, Probe};
use crate::console::{Console, table};
use crate::model;
use crate::probe::{Represented, measure};
use crate::recipe::Recipe;
use crate::run::folder::RunFolder;
use crate::run::prepared::Prepared;
use crate::run::splits::Splits;
use crate::run::state::Standing;

#[derive(Serialize)]
struct Answer {
    model: String,
    probe: &'static str,
    metrics: BTreeMap<String, f64>,
}

pub(super) fn run(arguments: &Evaluate, console: Console) -> Result<()> {
    let device = arguments.device.device.open()?;
    let checkpoint = model::load(&arguments.model, &device.device)?;
    let recipe: Recipe = serde_json::from_value(checkpoint.metadata.recipe.clone()).context(
        "the model does not say on which data it was trained; it was made by another program or version",
    )?;
    let folder = match (&arguments.data, arguments.model.is_dir()) {
        (Some(folder), _) => Some(folder.clone()),
        (None, true) => data_of_run(&RunFolder::open(&arguments.model)?),
        (None, false) => None,
    };
    let splits = Splits::of(&recipe, folder.as_deref())?;
    let normalisation = model::normalisation(&checkpoint);
    let side = checkpoint.metadata.input_size;
    let features =
        |images| Prepared::new(images, side, &normalisation, &device.device)?.features(&checkpoint.encoder);
    let (train, test) = (features(&splits.train.images)?, features(&splits.test.images)?);
    let metrics = measure(
        &recipe.probe,
        arguments.probe,
        Represented { features: &train, dataset: &splits.train },
        Represented { features: &test, dataset: &splits.test },
    )?;
    let probe = match arguments.probe {
        Probe::Linear => "linear",
        Probe::Knn => "knn",
    };
    let answer = Answer { model: arguments.model.display().to_string(), probe, metrics };
    console.answer(&answer, || text(&answer))
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
    table.to_string()
}
