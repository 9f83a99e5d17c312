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
        let last = arm.last.iter().map(|metrics| (format!("{}, last", arm.name), metrics));
        for (name, metrics) in std::iter::once((arm.name.clone(), &arm.metrics)).chain(last) {
            let number = |name: &str, digits: usize, unit: f64| {
                metrics.get(name).map_or_else(|| "–".into(), |value| format!("{:.digits$}", value * unit))
            };
            table.add_row([
                name,
                number(TOP1, 2, 100.0) + " %",
                number(MSE, 1, 1.0),
                number(R2, 3, 1.0),
                format!("{:.4}", arm.final_loss),
                time(arm.training_seconds),
            ]);
        }
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
