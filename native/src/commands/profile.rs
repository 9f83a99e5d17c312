//! `simile train --profile`

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use comfy_table::CellAlignment;

use crate::cli::Train;
use crate::config::Recipe;
use crate::console::{Console, table};
use crate::devices::DeviceSet;
use crate::experiment::profile::{ArmProfile, Profile, profile};

/// Kernels that are listed by name.
const MOST_KERNELS: usize = 12;

/// Measures some steps of a recipe, and prints the stages of each arm.
pub(super) fn run(recipe: Recipe, steps: usize, arguments: &Train, console: Console) -> Result<()> {
    let devices = DeviceSet::open(&arguments.devices.device)?;
    let folder = match &arguments.out {
        Some(out) => out.clone(),
        None => format!("runs/{}-profile", recipe.name).into(),
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let trace = folder.join("trace.json");
    let measured = profile(recipe, arguments.data.clone(), devices, (steps, &trace))?;
    console.answer(&measured, || text(&measured))
}

fn text(profile: &Profile) -> String {
    let mut text = String::new();
    for arm in &profile.arms {
        let ArmProfile { name, steps, step_ms, images_per_second, stages, launches } = arm;
        let mut stages_table = table(["Stage", "ms a step", "share %"]);
        for stage in stages {
            let row = [stage.name.into(), format!("{:.2}", stage.ms), format!("{:.1}", 100.0 * stage.share)];
            stages_table.add_row(row);
        }
        let all: f64 = stages.iter().map(|stage| stage.ms).sum();
        stages_table.add_row(["sum".into(), format!("{all:.2}"), "100.0".into()]);
        for column in stages_table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let _ = writeln!(
            text,
            "{name}: {step_ms:.2} ms a step, {images_per_second:.0} images a second, over {steps} steps of {}\n\
             {stages_table}",
            profile.batch
        );
        if launches.is_empty() {
            continue;
        }
        let all: f64 = launches.iter().map(|kernel| kernel.per_step).sum();
        let _ = writeln!(text, "{all:.0} kernels a step, {} of different names", launches.len());
        for kernel in launches.iter().take(MOST_KERNELS) {
            let _ = writeln!(text, "{:8.1}  {}", kernel.per_step, kernel.kernel);
        }
    }
    format!(
        "{text}The host waits for {} at the end of each stage of the table, and not in the time of a step.\n\
         all stages: {} (open it in https://ui.perfetto.dev)",
        profile.device,
        profile.trace.display()
    )
}
