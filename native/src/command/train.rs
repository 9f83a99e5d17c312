//! `simile train`

use std::path::Path;

use anyhow::Result;
use comfy_table::CellAlignment;

use crate::cli::Train;
use crate::console::{Console, line, table};
use crate::device::{DeviceName, Present};
use crate::exit::usage;
use crate::recipe::{Changes, Recipe};
use crate::report::time;
use crate::run::folder::{MODEL, RECIPE, REPORT, RunFolder};
use crate::run::record::{MSE, R2, RunResult, TOP1};
use crate::run::session::Session;
use crate::run::splits::Splits;
use crate::run::state::Standing;

pub(super) fn run(arguments: &Train, console: Console) -> Result<()> {
    let (folder, session) = match (&arguments.resume, &arguments.recipe) {
        (Some(run), _) => resume(run, arguments)?,
        (None, Some(recipe)) => begin(recipe, arguments)?,
        (None, None) => return Err(usage("name a recipe, or a run with --resume")),
    };
    let result = session.run()?;
    line(format_args!("model  {}", folder.path(MODEL).display()));
    line(format_args!("report {}", folder.path(REPORT).display()));
    console.answer(&result, || text(&result))
}

fn begin(name: &str, arguments: &Train) -> Result<(RunFolder, Session)> {
    let Train { set, arms, seed, smoke, .. } = arguments;
    let changes = Changes { set, arms, seed: *seed, smoke: *smoke };
    let recipe = Recipe::load(name, &changes)?;
    let device = arguments.device.device.open()?;
    let splits = Splits::of(&recipe, arguments.data.as_deref())?;
    let folder = RunFolder::create(arguments.out.as_deref(), &recipe.name)?;
    line(format_args!("{} into {}", recipe.name, folder.root().display()));
    folder.write(RECIPE, recipe.to_toml()?)?;
    let standing = Standing {
        arm: recipe.arms().first().map_or_else(String::new, |arm| arm.name.clone()),
        device: device.to_string(),
        data: arguments.data.clone(),
        ..Standing::default()
    };
    let session = Session::new(folder.clone(), recipe, device, splits, standing)?;
    Ok((folder, session))
}

fn resume(run: &Path, arguments: &Train) -> Result<(RunFolder, Session)> {
    let folder = RunFolder::open(run)?;
    let path = folder.path(RECIPE);
    let recipe = Recipe::resolved(&String::from_utf8_lossy(&folder.read(RECIPE)?), &path)?;
    let mut standing = Standing::read(&folder)?;
    if standing.arm.is_empty() {
        return Err(usage(format_args!("the run in {} has finished; see its report", run.display())));
    }
    standing.data = arguments.data.clone().or(standing.data);
    let device = same_device(&standing, arguments.device.device)?;
    let splits = Splits::of(&recipe, standing.data.as_deref())?;
    let session = Session::new(folder.clone(), recipe, device, splits, standing)?;
    Ok((folder, session))
}

/// The device that the run was begun on, unless the user names another, which changes the numbers from here on.
fn same_device(standing: &Standing, asked: DeviceName) -> Result<Present> {
    if asked == DeviceName::Auto {
        let before =
            DeviceName::Auto.present().into_iter().find(|device| device.to_string() == standing.device);
        return before.ok_or_else(|| {
            usage(format_args!(
                "the run was begun on {}, which is not here; name another with --device",
                standing.device
            ))
        });
    }
    let device = asked.open()?;
    if device.to_string() != standing.device {
        line(format_args!(
            "the run was begun on {} and goes on on {device}; its numbers will differ",
            standing.device
        ));
    }
    Ok(device)
}

fn text(result: &RunResult) -> String {
    let condition = result.condition_title();
    let (mse, r2) = (format!("{condition} MSE"), format!("{condition} R²"));
    let mut table = table(["Arm", "Top-1", &mse, &r2, "Final loss", "Training"]);
    for arm in &result.arms {
        let number = |name: &str, digits: usize| {
            arm.metric(name).map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
        };
        let top1 = arm.metric(TOP1).map_or_else(|| "–".into(), |value| format!("{:.2} %", value * 100.0));
        table.add_row([
            arm.name.clone(),
            top1,
            number(MSE, 1),
            number(R2, 3),
            format!("{:.4}", arm.final_loss),
            time(arm.training_seconds),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n{} in all, seed {}, {}", time(result.seconds), result.seed, result.device)
}
