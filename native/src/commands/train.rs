//! `simile train`

use std::collections::BTreeMap;

use anyhow::Result;
use comfy_table::CellAlignment;

use crate::cli::Train;
use crate::commands::profile;
use crate::config::{Changes, Recipe};
use crate::console::{Console, line, table};
use crate::devices::DeviceSet;
use crate::exit::usage;
use crate::experiment::resume::{ResumeOptions, resume};
use crate::experiment::run;
use crate::metrics::format::MetricFormat;
use crate::metrics::names::{MSE, R2, TOP1};
use crate::report::time;
use crate::run_folder::folder::{MODEL, REPORT};
use crate::run_folder::record::RunResult;

/// Metrics of the answer, where they were measured; `result.json` has all of them.
const SHOWN: [&str; 6] = [TOP1, "unbiased", "worst_group", R2, MSE, "condition_top1"];

pub(super) fn run(arguments: &Train, console: Console) -> Result<()> {
    let Train { data, set, arms, seed, smoke, .. } = arguments;
    let devices = &arguments.devices.device;
    if let (Some(steps), Some(name)) = (arguments.profile, &arguments.recipe) {
        let recipe = Recipe::load(name, &Changes { set, arms, seed: *seed, smoke: *smoke })?;
        return profile::run(recipe, steps, arguments, console);
    }
    let (folder, result) = match (&arguments.resume, &arguments.recipe) {
        (Some(run), _) => resume(run, ResumeOptions { data: data.as_deref(), devices, set })?,
        (None, Some(name)) => {
            let recipe = Recipe::load(name, &Changes { set, arms, seed: *seed, smoke: *smoke })?;
            run::run(recipe, arguments.out.as_deref(), data.clone(), DeviceSet::open(devices)?)?
        }
        (None, None) => return Err(usage("name a recipe, or a run with --resume")),
    };
    line(format_args!("model  {}", folder.path(MODEL).display()));
    line(format_args!("report {}", folder.path(REPORT).display()));
    // The numbers of a diverged arm belong to an earlier state of the network, so that the command fails.
    match result.diverged() {
        Some(message) => anyhow::bail!("{message}"),
        None => console.answer(&result, || text(&result)),
    }
}

fn text(result: &RunResult) -> String {
    let measured = |name: &&&str| result.arms.iter().any(|arm| arm.metrics.contains_key(**name));
    let shown: Vec<(&str, MetricFormat)> = SHOWN
        .iter()
        .filter(measured)
        .map(|&name| (name, MetricFormat::of(name, &result.condition)))
        .collect();
    let titles = shown.iter().map(|(_, format)| format.title.as_str());
    let mut table = table(["Arm"].into_iter().chain(titles).chain(["Final loss", "Training"]));
    let numbers = |metrics: &BTreeMap<String, f64>| -> Vec<String> {
        shown.iter().map(|(name, format)| format.number(metrics.get(*name).copied())).collect()
    };
    for arm in &result.arms {
        let last = arm.last.iter().map(|metrics| (format!("{}, last", arm.name), metrics));
        for (name, metrics) in std::iter::once((arm.name.clone(), &arm.metrics)).chain(last) {
            let rest = [format!("{:.4}", arm.final_loss), time(arm.training_seconds)];
            table.add_row([name].into_iter().chain(numbers(metrics)).chain(rest));
        }
    }
    for (name, metrics) in result.references() {
        table.add_row([name.to_owned()].into_iter().chain(numbers(metrics)));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut protocols: Vec<String> = vec![];
    for arm in &result.arms {
        if result.arms.iter().all(|other| other.protocol == arm.protocol) {
            protocols = vec![format!("\nmeasured by {}", arm.protocol)];
            break;
        }
        protocols.push(format!("\n{}: measured by {}", arm.name, arm.protocol));
    }
    let (protocols, time) = (protocols.concat(), time(result.seconds));
    format!("{table}{protocols}\n{time} in all, seed {}, {}", result.seed, result.device)
}
