//! `simile train --seeds N`: runs that differ in the seed alone, judged together.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use comfy_table::CellAlignment;
use serde::Serialize;

use crate::cli::Train;
use crate::config::Recipe;
use crate::console::{Console, line, table};
use crate::exit::usage;
use crate::experiment::settle::{Settled, settle};
use crate::metrics::format::MetricFormat;
use crate::metrics::mean_std::MeanStd;
use crate::metrics::names::{MSE, R2, TOP1};
use crate::report::{RunRecord, page, smoke};
use crate::run_folder::folder::{self, RECIPE, REPORT, RESULT};
use crate::run_folder::record::RunResult;

/// Metrics of the answer, where they were measured.
const SHOWN: [&str; 6] = [TOP1, "unbiased", "worst_group", R2, MSE, "condition_top1"];

#[derive(Serialize)]
struct Answer {
    /// The folder of the runs and of their report.
    folder: PathBuf,
    verdict: Vec<String>,
    runs: Vec<RunResult>,
}

/// The folder of the runs.
fn root(recipe: &Recipe, arguments: &Train) -> PathBuf {
    let usual = || PathBuf::from("runs").join(format!("{}-seeds", recipe.folder_name()));
    arguments.out.clone().unwrap_or_else(usual)
}

/// The number of iterations of the runs that were begun before, which go on with the same command. A draft that measures the
/// machine again may find another number.
pub(super) fn begun_iterations(recipe: &Recipe, arguments: &Train) -> Option<usize> {
    iterations_in(&root(recipe, arguments))
}

fn iterations_in(root: &Path) -> Option<usize> {
    let runs = fs::read_dir(root).ok()?.filter_map(Result::ok);
    let mut recipes = runs.map(|run| run.path().join(RECIPE)).filter(|path| path.is_file());
    let path = recipes.next()?;
    Recipe::resolved(&fs::read_to_string(&path).ok()?, &path).ok().map(|recipe| recipe.train.iterations)
}

/// Runs a recipe with `count` seeds, from the recipe's on.
pub(super) fn run(
    recipe: Recipe,
    data: Option<PathBuf>,
    count: u64,
    arguments: &Train,
    console: Console,
) -> Result<()> {
    let [device] = arguments.devices.device[..] else {
        return Err(usage("several devices share one run; with --seeds, name one device"));
    };
    let root = root(&recipe, arguments);
    let first = recipe.train.seed;
    let mut diverged = Vec::new();
    let mut records = Vec::new();
    for seed in first..first.saturating_add(count) {
        let folder = root.join(format!("seed-{seed}"));
        let mut of_seed = recipe.clone();
        of_seed.train.seed = seed;
        line(format_args!("seed {seed}: {} of {count}", seed - first + 1));
        match settle(&folder, of_seed, data.as_deref(), device)? {
            Settled::Done(_) => {}
            Settled::Diverged(message) => {
                diverged.push(format!("seed {seed}: {message}"));
                if !folder.join(RESULT).is_file() {
                    continue;
                }
            }
            Settled::Missing(reason) => anyhow::bail!("seed {seed}: {reason}"),
        }
        records.push(RunRecord::read(&folder)?);
    }
    anyhow::ensure!(!records.is_empty(), "{}", diverged.join("; "));
    let report = root.join(REPORT);
    folder::write(&report, page(&records)?.as_bytes())?;
    line(format_args!("report {}", report.display()));
    anyhow::ensure!(diverged.is_empty(), "{}", diverged.join("; "));
    let verdict = RunRecord::verdict(&records)?;
    let runs = records.into_iter().map(|record| record.result).collect();
    let answer = Answer { folder: root, verdict, runs };
    console.answer(&answer, || text(&answer))
}

/// The verdict, and mean and deviation of every arm.
fn text(Answer { verdict, runs, .. }: &Answer) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let has = |name: &&str| first.arms.iter().any(|arm| arm.metrics.contains_key(*name));
    let shown: Vec<(&str, MetricFormat)> =
        SHOWN.into_iter().filter(has).map(|name| (name, MetricFormat::of(name, &first.condition))).collect();
    let mut table =
        table(["Variant"].into_iter().chain(shown.iter().map(|(_, format)| format.title.as_str())));
    let names = first.arms.iter().map(|arm| arm.name.as_str());
    let references = first.references().map(|(name, _)| name);
    for row in names.chain(references) {
        let metrics = |run: &RunResult, metric: &str| {
            let of_arm = run.arms.iter().find(|arm| arm.name == row).map(|arm| &arm.metrics);
            let metrics = of_arm
                .or_else(|| run.references().find(|(name, _)| *name == row).map(|(_, metrics)| metrics));
            metrics.and_then(|metrics| metrics.get(metric).copied())
        };
        let cells = shown.iter().map(|(metric, format)| {
            let values: Vec<f64> = runs.iter().filter_map(|run| metrics(run, metric)).collect();
            format.mean_std(MeanStd::of(&values))
        });
        table.add_row(std::iter::once(row.to_owned()).chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let verdict: String = verdict.iter().map(|sentence| format!("{sentence}\n")).collect();
    let smoke = smoke(first).map(|words| format!("\n{words}")).unwrap_or_default();
    format!("{verdict}{table}\nmean ± standard deviation of {} seeds, {}{smoke}", runs.len(), first.device)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Changes;

    #[test]
    fn runs_that_were_begun_say_their_length() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(iterations_in(&place.path().join("absent")), None);
        assert_eq!(iterations_in(place.path()), None);
        let set = ["train.iterations=700".to_owned()];
        let recipe = Recipe::load("fair-digits", &Changes { set: &set, ..Changes::default() }).unwrap();
        let folder = place.path().join("seed-0");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(RECIPE), recipe.to_toml().unwrap()).unwrap();
        assert_eq!(iterations_in(place.path()), Some(700));
    }
}
