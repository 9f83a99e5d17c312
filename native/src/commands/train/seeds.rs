//! `simile train --seeds N`: runs that differ in the seed alone, judged together.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use crate::cli::Train;
use crate::commands::shared::runs::refuse_run;
use crate::config::Recipe;
use crate::console::{Console, line, table_of_numbers};
use crate::exit::{Interrupted, usage};
use crate::experiment::resume::recipe_of;
use crate::experiment::several::outcome::{RunOutcome, refuse_another, run_or_resume};
use crate::interrupt;
use crate::metrics::Metrics;
use crate::metrics::format::MetricFormat;
use crate::metrics::mean_std::MeanStd;
use crate::metrics::over_runs::over_runs;
use crate::report::{page, smoke};
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::folder::{self, REPORT, RESULT, RunFolder, entries};
use crate::run_folder::record::{RunResult, devices_of_all};

/// The beginning of the name of the folder of one run; its seed follows.
const SEED_PREFIX: &str = "seed-";

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

/// Takes the number of iterations of the runs that were begun before, which go on with the same command. A draft that measures the
/// machine again may find another number.
pub(super) fn take_begun_iterations(recipe: &mut Recipe, arguments: &Train) {
    let Some(begun) = begun_iterations(&root(recipe, arguments), recipe) else { return };
    if begun != recipe.train.iterations {
        line(format_args!("{begun} iterations, as the runs that were begun"));
    }
    recipe.train.iterations = begun;
}

/// The number of iterations of the first run in a folder that differs from a recipe in this number and the seed alone.
fn begun_iterations(root: &Path, recipe: &Recipe) -> Option<usize> {
    let iterations_of = |name: &String| {
        let (seed, run) = (seed_of(name)?, RunFolder::open(&root.join(name)).ok()?);
        let begun = recipe_of(&run).ok()?.train;
        let mut alike = recipe.clone();
        (alike.train.iterations, alike.train.seed) = (begun.iterations, begun.seed);
        refuse_another(&run, alike).ok()?;
        Some((seed, begun.iterations))
    };
    entries(root).iter().filter_map(iterations_of).min().map(|(_, iterations)| iterations)
}

/// The seed of a run by the name of its folder; none of another folder or file.
fn seed_of(name: &str) -> Option<u64> {
    name.strip_prefix(SEED_PREFIX)?.parse().ok()
}

/// Refuses a folder that holds anything but runs of this command and their report, which takes the place of another one.
fn check_root(root: &Path) -> Result<()> {
    refuse_run(root)?;
    let is_own = |name: &String| seed_of(name).is_some() || name == REPORT || name.starts_with('.');
    match entries(root).into_iter().filter(|name| !is_own(name)).min() {
        Some(other) => Err(usage(format_args!(
            "{} holds {other}, which is no run of --seeds; name a new folder with --out",
            root.display()
        ))),
        None => Ok(()),
    }
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
    check_root(&root)?;
    let first = recipe.train.seed;
    let last = first.saturating_add(count.saturating_sub(1));
    if i64::try_from(last).is_err() {
        return Err(usage(format_args!("the last seed would be {last}, expected at most {}", i64::MAX)));
    }
    let mut diverged = Vec::new();
    let mut finished = Vec::new();
    for seed in first..=last {
        // A signal that came at the end of the run before lets that run finish, and begins none.
        if interrupt::is_requested() {
            return Err(Interrupted::to_continue().into());
        }
        let folder = root.join(format!("{SEED_PREFIX}{seed}"));
        let mut seeded = recipe.clone();
        seeded.train.seed = seed;
        line(format_args!("seed {seed}: {} of {count}", seed - first + 1));
        match run_or_resume(&folder, seeded, data.as_deref(), device, &|_| Ok(())).map_err(as_of_all)? {
            RunOutcome::Done(_) => {}
            RunOutcome::Diverged(message) => {
                diverged.push(format!("seed {seed}: {message}"));
                if !folder.join(RESULT).is_file() {
                    continue;
                }
            }
            RunOutcome::Missing(reason) => anyhow::bail!("seed {seed}: {reason}"),
        }
        finished.push(FinishedRun::read(&folder)?);
    }
    anyhow::ensure!(!finished.is_empty(), "{}", diverged.join("; "));
    let report = root.join(REPORT);
    folder::write(&report, page(&finished)?.as_bytes())?;
    line(format_args!("report {}", report.display()));
    let verdict = FinishedRun::verdict(&finished)?;
    let runs = finished.into_iter().map(|run| run.result).collect();
    let answer = Answer { folder: root, verdict, runs };
    if !diverged.is_empty() {
        // A failure has no answer on stdout.
        line(text(&answer));
        anyhow::bail!(diverged.join("; "));
    }
    console.answer(&answer, || text(&answer))
}

/// The error of one run as that of all: an interrupted one names the command for itself alone.
fn as_of_all(error: anyhow::Error) -> anyhow::Error {
    if error.is::<Interrupted>() { Interrupted::to_continue().into() } else { error }
}

/// The verdict, and mean and deviation of every variant over the runs in which it did not diverge.
fn text(Answer { verdict, runs, .. }: &Answer) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let measured = first.variants.iter().flat_map(|variant| variant.metrics.keys().map(String::as_str));
    let shown: Vec<(&str, MetricFormat)> = over_runs(measured)
        .into_iter()
        .map(|name| (name, MetricFormat::of(name, &first.condition)))
        .collect();
    let mut table = table_of_numbers(
        ["Variant"].into_iter().chain(shown.iter().map(|(_, format)| format.title.as_str())),
    );
    let names = first.variants.iter().map(|variant| variant.name.as_str());
    let references = first.references().map(|(name, _)| name);
    for row in names.chain(references) {
        let measured: Vec<&Metrics> = runs.iter().filter_map(|run| metrics_of(run, row)).collect();
        let cells = shown.iter().map(|(metric, format)| {
            let values: Vec<f64> =
                measured.iter().filter_map(|metrics| metrics.get(*metric).copied()).collect();
            format.mean_std(MeanStd::of(&values))
        });
        table.add_row(std::iter::once(row.to_owned()).chain(cells));
    }
    let verdict: String = verdict.iter().map(|sentence| format!("{sentence}\n")).collect();
    let smoke = smoke(first).map(|words| format!("\n{words}")).unwrap_or_default();
    let without =
        if runs.iter().any(|run| run.diverged().is_some()) { ", without variants that diverged" } else { "" };
    let seeds = match runs.len() {
        1 => "one seed".to_owned(),
        several => format!("mean ± standard deviation of {several} seeds"),
    };
    format!("{verdict}{table}\n{seeds}{without}, {}{smoke}", devices_of_all(runs.iter()))
}

/// The metrics of a row in a run: of a variant that did not diverge, or of a reference.
fn metrics_of<'a>(run: &'a RunResult, row: &str) -> Option<&'a Metrics> {
    match run.variants.iter().find(|variant| variant.name == row) {
        Some(variant) => variant.diverged().is_none().then_some(&variant.metrics),
        None => run.references().find(|(name, _)| *name == row).map(|(_, metrics)| metrics),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::config::Changes;
    use crate::exit::Usage;
    use crate::metrics::names::{BASE_RATE, TOP1};
    use crate::run_folder::folder::RECIPE;
    use crate::run_folder::record::{EarlierDevice, VariantResult};
    use crate::run_folder::testing;

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
    fn one_seed_has_no_deviation() {
        let runs = vec![testing::run("x", 0, "", vec![testing::variant("A", 0.5)]).result];
        let text = text(&Answer { folder: PathBuf::new(), verdict: Vec::new(), runs });
        assert!(text.contains("\none seed, ") && !text.contains("±"), "{text}");
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

    /// Writes the recipe of a run as it begins.
    fn begin(folder: &Path, recipe: &Recipe) {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join(RECIPE), recipe.to_toml().unwrap()).unwrap();
    }

    #[test]
    fn only_runs_of_the_recipe_that_were_begun_say_their_length() {
        let place = tempfile::tempdir().unwrap();
        let with = |set: &[&str]| {
            let set: Vec<String> = set.iter().map(|&setting| setting.to_owned()).collect();
            Recipe::load("fair-digits", &Changes { set: &set, ..Changes::default() }).unwrap()
        };
        let asked = with(&["train.iterations=600"]);
        let begun = || begun_iterations(place.path(), &asked);
        assert_eq!(begun_iterations(&place.path().join("absent"), &asked), None);
        assert_eq!(begun(), None);
        begin(&place.path().join("fair-digits"), &with(&["train.iterations=7"]));
        begin(&place.path().join("seed-3"), &with(&["train.iterations=7", "train.batch=16"]));
        assert_eq!(begun(), None, "a run of another place, and one of another batch");
        begin(&place.path().join("seed-10"), &with(&["train.iterations=700", "train.seed=10"]));
        assert_eq!(begun(), Some(700));
    }

    #[test]
    fn a_folder_that_holds_something_else_keeps_its_report() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("runs");
        assert!(check_root(&root).is_ok(), "it is new");
        let recipe = Recipe::load("fair-digits", &Changes::default()).unwrap();
        begin(&root, &recipe);
        assert!(check_root(&root).unwrap_err().to_string().contains("holds a run"));
        fs::remove_file(root.join(RECIPE)).unwrap();
        begin(&root.join("seed-0"), &recipe);
        fs::write(root.join(REPORT), "").unwrap();
        assert!(check_root(&root).is_ok(), "the runs go on");
        for name in ["d.png", "b.png", "a.png", "c.png"] {
            fs::write(root.join(name), "").unwrap();
        }
        let refused = check_root(&root).unwrap_err();
        assert!(refused.is::<Usage>() && refused.to_string().contains("holds a.png"), "{refused}");
    }
}
