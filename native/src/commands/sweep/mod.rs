//! `simile sweep`

mod command_line;

use std::path::{Path, PathBuf};

use anyhow::Result;

use self::command_line::{command_of_best, command_of_sweep};
use super::shared::named_data::refuse_folder_of_drawn;
use super::shared::runs::{listed_or_run, refuse_run};
use super::shared::shipped::{ShippedKind, refuse_other_kind};
use crate::cli::Sweep as Arguments;
use crate::console::{Console, line};
use crate::experiment::several::task::nothing_missing;
use crate::experiment::several::{Several, devices_of};
use crate::names::as_file_name;
use crate::run_folder::folder::write_all;
use crate::sweep::axis::{Axis, points};
use crate::sweep::final_images::FinalImages;
use crate::sweep::leak::Attributes;
use crate::sweep::outcome::{Criterion, Outcome};
use crate::sweep::output::Sweep;
use crate::sweep::plan::Plan;
use crate::sweep::search::{Search, SummaryTexts};
use crate::words::number_of;

pub(super) fn run(arguments: &Arguments, console: Console) -> Result<()> {
    refuse_other_kind(&arguments.recipe, &[ShippedKind::Recipe])?;
    let axes = Axis::all(&arguments.grid)?;
    let grid = points(&axes, None, 0).len();
    let first = arguments.seed.unwrap_or_default();
    let tried = points(&axes, arguments.random.map(|count| count as usize), first);
    let recipe = Path::new(&arguments.recipe).file_stem().unwrap_or_default().to_string_lossy();
    let out = arguments.out.clone().unwrap_or_else(|| folder_of(&recipe, arguments.smoke));
    refuse_run(&out)?;
    let plan = Plan {
        recipe: &arguments.recipe,
        axes: &axes,
        points: &tried,
        set: &arguments.set,
        variant: arguments.variant.as_deref(),
        seeds: first..first.saturating_add(arguments.seeds),
        smoke: arguments.smoke,
        out: &out,
    };
    let criterion = Criterion { by: &arguments.by, lowest: arguments.lowest };
    criterion.check_name()?;
    let tasks = plan.tasks()?;
    let data = arguments.data.path();
    refuse_folder_of_drawn(&plan.recipe_at(0)?.data, data)?;
    let search = Search {
        recipe: &recipe,
        plan: &plan,
        grid,
        criterion,
        leak_at_most: arguments.leak_at_most,
        attributes: Attributes::of(&plan)?,
        data,
    };
    let several = Several {
        tasks,
        out: &out,
        data,
        devices: &arguments.runs.device,
        jobs: arguments.runs.jobs.map(usize::from),
        recipe: &|index| plan.recipe_at(index),
        check: &|metrics| search.check_run(metrics),
    };
    if listed_or_run(&several, &arguments.runs, console)? {
        return Ok(());
    }
    answer(&search, &several, arguments, console)
}

/// Does or reads the runs of a search, and says what they found.
fn answer(search: &Search<'_>, several: &Several<'_>, arguments: &Arguments, console: Console) -> Result<()> {
    let Search { plan, grid, .. } = *search;
    let runs = number_of(arguments.seeds as usize, "run", "runs");
    line(format_args!("{} of {grid} points, {runs} each", plan.points.len()));
    let outcomes = several.all()?;
    let (missing, count) = (several.missing(&outcomes), several.tasks.len());
    if missing.len() == count {
        return nothing_missing(&missing, count);
    }
    let texts = SummaryTexts {
        command: command_of_sweep(arguments),
        command_of: &|best: &Outcome, final_images: FinalImages| {
            command_of_best(arguments, plan.axes, best, final_images)
        },
        device: devices_of(&outcomes, &arguments.runs.device)?,
    };
    let sweep = search.summary(&outcomes, missing, texts)?;
    write(&sweep, several.out)?;
    console.answer(&sweep, || sweep.text())?;
    nothing_missing(&sweep.missing, count)
}

/// The folder of the sweep of a recipe; that of a smoke test is another one, whose runs have other recipes.
fn folder_of(recipe: &str, is_smoke: bool) -> PathBuf {
    let ending = if is_smoke { "-smoke" } else { "" };
    Path::new("runs").join(format!("sweep-{}{ending}", as_file_name(recipe)))
}

/// Writes the sweep for readers, spreadsheets, programs and browsers.
fn write(sweep: &Sweep<'_>, out: &Path) -> Result<()> {
    let files: [(&str, Vec<u8>); 4] = [
        ("sweep.md", sweep.markdown().into_bytes()),
        ("sweep.csv", sweep.csv()?),
        ("sweep.json", serde_json::to_vec_pretty(sweep)?),
        ("sweep.html", sweep.html()?.into_bytes()),
    ];
    write_all(out, files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_recipes_have_sweeps_in_different_folders() {
        for recipe in ["scans", "日本", "MyData"] {
            assert_eq!(folder_of(recipe, false), Path::new("runs").join(format!("sweep-{recipe}")));
        }
        assert_eq!(folder_of("scans", true), Path::new("runs/sweep-scans-smoke"));
    }
}
