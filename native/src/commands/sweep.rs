//! `simile sweep`

use std::path::Path;

use anyhow::Result;

use crate::cli::Sweep as Arguments;
use crate::console::{Console, line};
use crate::interrupt;
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
    let device = arguments.device.device;
    let plan = Plan {
        recipe: &arguments.recipe,
        set: &arguments.set,
        arm: arguments.arm.as_deref(),
        seeds: first..first.saturating_add(arguments.seeds),
        smoke: arguments.smoke,
        data: arguments.data.as_deref(),
        device,
        out: &out,
        jobs: arguments.jobs as usize,
    };
    line(format_args!("{} of {whole} points, {} runs each", tried.len(), arguments.seeds));
    interrupt::listen()?;
    let arm = plan.arm_of(&axes, &tried)?;
    let tried = plan.run(&axes, tried)?;

    let mut outcomes: Vec<Outcome> = tried.iter().map(|tried| Outcome::of(&axes, tried)).collect();
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
        device: device.open()?.to_string(),
        version: env!("CARGO_PKG_VERSION"),
        command: command(arguments),
        best: best.map_or_else(String::new, |best| train(arguments, &axes, best)),
        points: outcomes,
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
    console.answer(&sweep, || sweep.text())
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
    let arm = arguments.arm.iter().map(|arm| format!(" --arm {}", quoted(arm)));
    let data = arguments.data.iter().map(|_| " --data DIR".to_owned());
    arm.chain(data).chain(arguments.set.iter().map(|setting| format!(" --set {}", quoted(setting))))
}
