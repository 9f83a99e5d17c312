//! `simile train --profile`

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::cli::Train;
use crate::config::Recipe;
use crate::console::{Console, table_of_numbers};
use crate::devices::DeviceSet;
use crate::experiment::profile::answer::{Profile, VariantProfile, WaitingTime};
use crate::experiment::profile::cost::{Cost, Costs, costs};
use crate::experiment::profile::profile;
use crate::units;

/// Kernels that are listed by name.
const MOST_KERNELS: usize = 12;
/// The meaning of the computed figures.
const BY_FORMULA: &str = "GFLOP: a multiply-add is two; arithmetic of single numbers is not counted. MB: every layer reads its \
input and writes its\noutput once. A pass with gradients is three passes.";

/// Measures some steps of a recipe, and prints the stages of each variant; with no steps, the costs of a step by formula.
pub(super) fn run(
    recipe: Recipe,
    data: Option<PathBuf>,
    steps: usize,
    arguments: &Train,
    console: Console,
) -> Result<()> {
    if steps == 0 {
        let costs = costs(&recipe)?;
        return console.answer(&costs, || costs_text(&costs));
    }
    let devices = DeviceSet::open(&arguments.devices.device)?;
    let folder = match &arguments.out {
        Some(out) => out.clone(),
        None => format!("runs/{}-profile", recipe.name).into(),
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let trace = folder.join("trace.json");
    let measured = profile(recipe, data, devices, steps, &trace)?;
    console.answer(&measured, || text(&measured))
}

fn text(profile: &Profile) -> String {
    let mut text = String::new();
    for variant in &profile.variants {
        let VariantProfile { name, steps, step_ms, images_per_second, stages, .. } = variant;
        let mut stages_table = table_of_numbers(["Stage", "ms per step", "share %"]);
        for stage in stages {
            let row = [stage.name.into(), format!("{:.2}", stage.ms), format!("{:.1}", 100.0 * stage.share)];
            stages_table.add_row(row);
        }
        // Batches are not full where there are fewer images than that.
        let images = images_per_second * step_ms / 1e3;
        let batch = match (images - profile.batch as f64).abs() < 0.5 {
            true => profile.batch.to_string(),
            false => format!("{images:.0} images on average, where train.batch is {}", profile.batch),
        };
        let all: f64 = stages.iter().map(|stage| stage.ms).sum();
        stages_table.add_row(["sum".into(), format!("{all:.2}"), "100.0".into()]);
        let _ = writeln!(
            text,
            "{name}: {step_ms:.2} ms per step, {:.2} of them on the host{}, {images_per_second:.0} images per second, \
             over {steps} steps of {batch}\n{}\n{}",
            variant.host_ms,
            waiting(&variant.waiting),
            stages_table,
            cost_text(&variant.cost)
        );
        let total = variant.cost.step.total();
        // The costs are those of a full batch.
        let per_second = |count: u64| count as f64 * images / profile.batch as f64 / (1e-3 * step_ms) / 1e9;
        let _ = writeln!(
            text,
            "at this speed: {:.1} GFLOP/s and {:.1} GB/s",
            per_second(total.flops),
            per_second(total.bytes)
        );
        text.push_str(&launches(variant));
    }
    format!(
        "{text}The stages of the table end with a wait for {}; the time per step has no such waits.\n{BY_FORMULA}\n\
         all stages: {} (open it in https://ui.perfetto.dev)",
        profile.device,
        profile.trace.display()
    )
}

/// The part of the host's time in which it waits, in words; nothing if there is nothing to wait for.
fn waiting(WaitingTime { images_ms, solves_ms }: &WaitingTime) -> String {
    let kinds = [("images", images_ms), ("solves", solves_ms)];
    let kinds = kinds.into_iter().filter_map(|(of, time)| Some(format!("{:.2} for {of}", (*time)?)));
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() { String::new() } else { format!(" (waiting {})", kinds.join(", ")) }
}

/// The kernels of a step, by name.
fn launches(VariantProfile { launches, .. }: &VariantProfile) -> String {
    if launches.is_empty() {
        return String::new();
    }
    let all: f64 = launches.iter().map(|kernel| kernel.per_step).sum();
    let mut text = format!("{all:.0} kernels per step, {} of different names\n", launches.len());
    for kernel in launches.iter().take(MOST_KERNELS) {
        let _ = writeln!(text, "{:8.1}  {}", kernel.per_step, kernel.kernel);
    }
    text
}

fn costs_text(costs: &Costs) -> String {
    let mut text = String::new();
    for variant in &costs.variants {
        let _ = writeln!(text, "{}: a step of {}\n{}", variant.name, costs.batch, cost_text(&variant.cost));
    }
    text + BY_FORMULA
}

/// The figures of a step that are computed.
fn cost_text(Cost { step, uploads, memory }: &Cost) -> String {
    let mut costs = table_of_numbers(["By formula", "GFLOP", "MB", "FLOP per byte"]);
    let parts =
        [("networks", step.networks), ("loss", step.loss), ("update", step.update), ("sum", step.total())];
    for (part, effort) in parts {
        let intensity = effort.flops as f64 / effort.bytes.max(1) as f64;
        let numbers = [effort.flops as f64 / 1e9, effort.bytes as f64 / 1e6, intensity];
        costs.add_row([part.to_owned()].into_iter().chain(numbers.map(|number| format!("{number:.2}"))));
    }
    let weights = match uploads.weights {
        0 => String::new(),
        bytes => format!(", of which at most {:.3} MB are kernel weights", bytes as f64 / 1e6),
    };
    format!(
        "{costs}\nmemory of a GPU: at least {}\ncopied to a GPU each step: {:.3} MB of pictures (0 if the data set is kept there) and {:.3} MB of \
         other data{weights}",
        units::bytes(u128::from(*memory)),
        uploads.pictures as f64 / 1e6,
        uploads.besides() as f64 / 1e6
    )
}
