//! `simile sweep`

use std::path::Path;

use anyhow::Result;

use super::runs;
use crate::cli::Sweep as Arguments;
use crate::console::{Console, line};
use crate::experiment::several::{Several, devices_of, nothing_missing};
use crate::names::{quoted, slug};
use crate::run_folder::folder;
use crate::sweep::axis::{Axis, points};
use crate::sweep::outcome::{Aim, Outcome};
use crate::sweep::output::Sweep;
use crate::sweep::plan::{Plan, settings};

pub(super) fn run(arguments: &Arguments, console: Console) -> Result<()> {
    let axes = Axis::all(&arguments.grid)?;
    let whole = points(&axes, None, 0).len();
    let first = arguments.seed.unwrap_or_default();
    let tried = points(&axes, arguments.random.map(|count| count as usize), first);
    let name = Path::new(&arguments.recipe).file_stem().unwrap_or_default().to_string_lossy();
    let out =
        arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(format!("sweep-{}", slug(&name))));
    let plan = Plan {
        recipe: &arguments.recipe,
        set: &arguments.set,
        arm: arguments.arm.as_deref(),
        seeds: first..first.saturating_add(arguments.seeds),
        smoke: arguments.smoke,
        out: &out,
    };
    let several = Several {
        tasks: plan.tasks(&axes, &tried)?,
        out: &out,
        data: arguments.data.as_deref(),
        devices: &arguments.runs.device,
        jobs: arguments.runs.jobs.map(usize::from),
        recipe: &|index| plan.recipe_at(&axes, &tried, index),
    };
    if runs::listed_or_run(&several, &arguments.runs, console)? {
        return Ok(());
    }
    line(format_args!("{} of {whole} points, {} runs each", tried.len(), arguments.seeds));
    let arm = plan.arm_of(&axes, &tried)?;
    let settled = several.all()?;
    let (missing, count) = (several.missing(&settled), several.tasks.len());
    if missing.len() == count {
        return nothing_missing(&missing, count);
    }

    let mut outcomes: Vec<Outcome> =
        plan.tried(&axes, &tried, &settled).iter().map(|tried| Outcome::of(&axes, tried)).collect();
    let aim = Aim { by: &arguments.by, lowest: arguments.lowest };
    aim.rank(&mut outcomes)?;
    let best = outcomes.first().filter(|best| best.diverged.is_empty());
    let sweep = Sweep {
        recipe: &name,
        arm,
        axes: &axes,
        aim,
        grid: whole,
        seeds: arguments.seeds,
        device: devices_of(&settled, &arguments.runs.device)?,
        version: env!("CARGO_PKG_VERSION"),
        command: command(arguments),
        best: best.map_or_else(String::new, |best| train(arguments, &axes, best)),
        points: outcomes,
        missing,
    };
    let files: [(&str, Vec<u8>); 4] = [
        ("sweep.md", sweep.markdown().into_bytes()),
        ("sweep.csv", sweep.csv()?),
        ("sweep.json", serde_json::to_vec_pretty(&sweep)?),
        ("sweep.html", sweep.html()?.into_bytes()),
    ];
    for (name, bytes) in files {
        let path = out.join(name);
        folder::write(&path, &bytes)?;
        line(format_args!("wrote {}", path.display()));
    }
    console.answer(&sweep, || sweep.text())?;
    nothing_missing(&sweep.missing, count)
}

/// The command line of the sweep, without folders.
fn command(arguments: &Arguments) -> String {
    let grid = arguments.grid.iter().map(|grid| format!(" --grid {}", quoted(grid)));
    let random = arguments.random.map(|count| format!(" --random {count}"));
    let rest = [format!(" --by {}", arguments.by), format!(" --seeds {}", arguments.seeds)];
    let words = grid.chain(random).chain(common(arguments)).chain(rest);
    format!("simile sweep {}{}", arguments.recipe, words.collect::<String>())
}

/// The command that trains the best point and evaluates it on the test images.
fn train(arguments: &Arguments, axes: &[Axis], best: &Outcome) -> String {
    let set = settings(axes, &best.point).map(|setting| format!(" --set {}", quoted(&setting)));
    let words: String = common(arguments).chain(set).collect();
    format!("simile train {}{words} --set data.validation=0", arguments.recipe)
}

fn common(arguments: &Arguments) -> impl Iterator<Item = String> + '_ {
    let arm = arguments.arm.iter().map(|arm| format!(" --variant {}", quoted(arm)));
    let data = arguments.data.iter().map(|_| " --data DIR".to_owned());
    arm.chain(data).chain(arguments.set.iter().map(|setting| format!(" --set {}", quoted(setting))))
}
