//! `simile train`

use anyhow::Result;
use comfy_table::CellAlignment;

use crate::cli::Train;
use crate::console::{Console, line, table};
use crate::exit::usage;
use crate::recipe::{Changes, Recipe};
use crate::report::time;
use crate::run::folder::{MODEL, REPORT};
use crate::run::interrupt;
use crate::run::record::{MSE, R2, RunResult, TOP1};
use crate::run::start::{begin, resume};

pub(super) fn run(arguments: &Train, console: Console) -> Result<()> {
    let (data, device) = (arguments.data.clone(), arguments.device.device);
    let (folder, session) = match (&arguments.resume, &arguments.recipe) {
        (Some(run), _) => resume(run, data, device)?,
        (None, Some(name)) => {
            let Train { set, arms, seed, smoke, .. } = arguments;
            let recipe = Recipe::load(name, &Changes { set, arms, seed: *seed, smoke: *smoke })?;
            begin(recipe, arguments.out.as_deref(), data, device.open()?)?
        }
        (None, None) => return Err(usage("name a recipe, or a run with --resume")),
    };
    interrupt::listen()?;
    let result = session.run()?;
    line(format_args!("model  {}", folder.path(MODEL).display()));
    line(format_args!("report {}", folder.path(REPORT).display()));
    console.answer(&result, || text(&result))
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
