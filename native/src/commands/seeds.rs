//! `simile train --seeds N`: runs that differ in the seed alone, judged together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use comfy_table::CellAlignment;
use serde::Serialize;

use crate::cli::Train;
use crate::config::Recipe;
use crate::console::{Console, line, table};
use crate::exit::{Interrupted, usage};
use crate::experiment::run_outcome::{RunOutcome, run_or_resume};
use crate::interrupt;
use crate::metrics::format::MetricFormat;
use crate::metrics::mean_std::MeanStd;
use crate::metrics::over_runs::over_runs;
use crate::report::{RunRecord, page, smoke};
use crate::run_folder::folder::{self, RECIPE, REPORT, RESULT};
use crate::run_folder::record::{RunResult, devices_of_all};

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
    let last = first.saturating_add(count.saturating_sub(1));
    if i64::try_from(last).is_err() {
        return Err(usage(format_args!("the last seed would be {last}, expected at most {}", i64::MAX)));
    }
    let mut diverged = Vec::new();
    let mut records = Vec::new();
    for seed in first..=last {
        // A signal that came at the end of the run before lets that run finish, and begins none.
        if interrupt::is_requested() {
            return Err(interrupted());
        }
        let folder = root.join(format!("seed-{seed}"));
        let mut of_seed = recipe.clone();
        of_seed.train.seed = seed;
        line(format_args!("seed {seed}: {} of {count}", seed - first + 1));
        match run_or_resume(&folder, of_seed, data.as_deref(), device, &|_| Ok(())).map_err(of_all)? {
            RunOutcome::Done(_) => {}
            RunOutcome::Diverged(message) => {
                diverged.push(format!("seed {seed}: {message}"));
                if !folder.join(RESULT).is_file() {
                    continue;
                }
            }
            RunOutcome::Missing(reason) => anyhow::bail!("seed {seed}: {reason}"),
        }
        records.push(RunRecord::read(&folder)?);
    }
    anyhow::ensure!(!records.is_empty(), "{}", diverged.join("; "));
    let report = root.join(REPORT);
    folder::write(&report, page(&records)?.as_bytes())?;
    line(format_args!("report {}", report.display()));
    let verdict = RunRecord::verdict(&records)?;
    let runs = records.into_iter().map(|record| record.result).collect();
    let answer = Answer { folder: root, verdict, runs };
    if !diverged.is_empty() {
        // A failure has no answer on stdout.
        line(text(&answer));
        anyhow::bail!(diverged.join("; "));
    }
    console.answer(&answer, || text(&answer))
}

/// The error of one run as that of all: an interrupted one names the command for itself alone.
fn of_all(error: anyhow::Error) -> anyhow::Error {
    if error.is::<Interrupted>() { interrupted() } else { error }
}

/// The interruption that the user requested, of all runs.
fn interrupted() -> anyhow::Error {
    Interrupted("the same command continues from here".into()).into()
}

/// The verdict, and mean and deviation of every variant over the runs in which it did not diverge.
fn text(Answer { verdict, runs, .. }: &Answer) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let measured = first.variants.iter().flat_map(|variant| variant.metrics.keys().map(String::as_str));
    let shown: Vec<(&str, MetricFormat)> = over_runs(measured)
        .into_iter()
        .map(|name| (name, MetricFormat::of(name, &first.condition)))
        .collect();
    let mut table =
        table(["Variant"].into_iter().chain(shown.iter().map(|(_, format)| format.title.as_str())));
    let names = first.variants.iter().map(|variant| variant.name.as_str());
    let references = first.references().map(|(name, _)| name);
    for row in names.chain(references) {
        let measured: Vec<&BTreeMap<String, f64>> =
            runs.iter().filter_map(|run| metrics_of(run, row)).collect();
        let cells = shown.iter().map(|(metric, format)| {
            let values: Vec<f64> =
                measured.iter().filter_map(|metrics| metrics.get(*metric).copied()).collect();
            format.mean_std(MeanStd::of(&values))
        });
        table.add_row(std::iter::once(row.to_owned()).chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let verdict: String = verdict.iter().map(|sentence| format!("{sentence}\n")).collect();
    let smoke = smoke(first).map(|words| format!("\n{words}")).unwrap_or_default();
    let without =
        if runs.iter().any(|run| run.diverged().is_some()) { ", without variants that diverged" } else { "" };
    format!(
        "{verdict}{table}\nmean ± standard deviation of {} seeds{without}, {}{smoke}",
        runs.len(),
        devices_of_all(runs.iter())
    )
}

/// The metrics of a row in a run: of a variant that did not diverge, or of a reference.
fn metrics_of<'a>(run: &'a RunResult, row: &str) -> Option<&'a BTreeMap<String, f64>> {
    match run.variants.iter().find(|variant| variant.name == row) {
        Some(variant) => variant.diverged().is_none().then_some(&variant.metrics),
        None => run.references().find(|(name, _)| *name == row).map(|(_, metrics)| metrics),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Changes;
    use crate::metrics::names::{BASE_RATE, TOP1};
    use crate::report::testing;
    use crate::run_folder::record::{EarlierDevice, VariantResult};

    #[test]
    fn a_variant_that_diverged_is_in_no_mean() {
        let variants = [
            [testing::variant("A", 0.5), testing::variant("B", 0.9)],
            [testing::variant("A", 0.7), testing::diverged("B", 0.1)],
        ];
        let result = |(seed, variants): (u64, [VariantResult; 2])| {
            let base_rates = BTreeMap::from([(TOP1.to_owned(), 0.2)]);
            RunResult { base_rates, ..testing::run("x", seed, "", variants.to_vec()).result }
        };
        let runs: Vec<RunResult> = (0..).zip(variants).map(result).collect();
        let top1 = |row: &str| -> Vec<f64> {
            runs.iter().filter_map(|run| metrics_of(run, row)).map(|metrics| metrics[TOP1]).collect()
        };
        assert_eq!((top1("A"), top1("B")), (vec![0.5, 0.7], vec![0.9]));
        assert_eq!((top1(BASE_RATE), top1("C")), (vec![0.2, 0.2], vec![]));
        let text = text(&Answer { folder: PathBuf::new(), verdict: Vec::new(), runs });
        for said in ["60.00 ± 14.14", "90.00", "2 seeds, without variants that diverged"] {
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn a_run_that_changed_its_device_says_both() {
        let mut runs =
            [0, 1].map(|seed| testing::run("x", seed, "", vec![testing::variant("A", 0.5)]).result);
        let (device, variant, others) = ("gpu".into(), "A".into(), BTreeMap::new());
        runs[1].earlier_devices = vec![EarlierDevice { device, variant, iteration: 1, others }];
        let text = text(&Answer { folder: PathBuf::new(), verdict: Vec::new(), runs: runs.to_vec() });
        assert!(text.ends_with("2 seeds, cpu; gpu until iteration 1 of A, then cpu"), "{text}");
    }

    #[test]
    fn a_further_attribute_has_its_means() {
        let result = |seed: u64| {
            let mut variant = testing::variant("A", 0.5);
            variant.metrics.extend([("half_top1".to_owned(), 0.31), ("half_top1_nonlinear".into(), 0.72)]);
            testing::run("x", seed, "", vec![variant]).result
        };
        let runs = [0, 1].map(result).to_vec();
        let text = text(&Answer { folder: PathBuf::new(), verdict: Vec::new(), runs });
        for said in ["Leak of half %", "31.00 ± 0.00", "72.00 ± 0.00"] {
            assert!(text.contains(said), "{text}");
        }
    }

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
