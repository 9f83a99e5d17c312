//! `simile train`

mod profile;
mod seeds;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::Train;
use crate::commands::init::draft;
use crate::commands::shared::named_data::refuse_folder_of_drawn;
use crate::commands::shared::own_pictures::for_a_folder;
use crate::commands::shared::shipped::{ShippedKind, refuse_other_kind};
use crate::config::key_path::key_of;
use crate::config::own_names::{Accepted, near_folder, no_such_name};
use crate::config::shipped::Shipped;
use crate::config::{Changes, Recipe};
use crate::console::{Console, line, table_of_numbers};
use crate::devices::DeviceSet;
use crate::exit::usage;
use crate::experiment::follow::follow;
use crate::experiment::resume::{ResumeOptions, recipe_of, resume};
use crate::experiment::run;
use crate::metrics::Metrics;
use crate::metrics::format::MetricFormat;
use crate::metrics::metric::Predictor;
use crate::metrics::over_runs::over_runs;
use crate::peers::{self, ProcessGroup, SEPARATE};
use crate::report::smoke;
use crate::run_folder::digest::Digest;
use crate::run_folder::folder::{MODEL, REPORT, RunFolder};
use crate::run_folder::record::RunResult;
use crate::units::{self, NOTHING};

pub(super) fn run(arguments: &Train, console: Console) -> Result<()> {
    let launched = peers::launched()?;
    let is_same_command = launched.processes.all_have(digest(arguments))?;
    let outcome = match launched.processes.is_leader() {
        true if !is_same_command => Err(usage(format_args!(
            "the processes were started with different arguments; give all of them the same, except for --data and --device, or set \
             {SEPARATE}=1 if these are separate runs"
        ))),
        true => lead(arguments, console, &launched.processes),
        false => {
            follow(&launched.processes, &arguments.devices.device, arguments.data.path().map(Path::to_owned))
        }
    };
    launched.end(outcome)
}

/// A number of the arguments that all processes of a run have in common.
fn digest(arguments: &Train) -> usize {
    // Each process may have a folder and devices of its own.
    let Train { recipe, data: _, own, devices: _, out, seed, seeds, set, variants, smoke, profile, resume } =
        arguments;
    let common = format!("{:?}", (recipe, own, out, seed, seeds, set, variants, smoke, profile, resume));
    // As many bits as the processes exchange.
    (Digest::of(common.as_bytes()).crc32c & 0x00FF_FFFF) as usize
}

/// Trains in this process, with the others of its group.
fn lead(arguments: &Train, console: Console, processes: &ProcessGroup) -> Result<()> {
    let Train { set, variants, seed, smoke, .. } = arguments;
    let (devices, data) = (&arguments.devices.device, arguments.data.path());
    check_seed(*seed, set)?;
    let changes = Changes { set, variants, seed: *seed, smoke: *smoke };
    let (folder, result) = match (&arguments.resume, &arguments.recipe) {
        (Some(_), _) if !arguments.own.is_empty() => {
            return Err(usage(
                "--hide, --keep, --label and --csv are for a new run; leave them out with --resume",
            ));
        }
        (Some(run), _) => {
            if data.is_some() {
                refuse_folder_of_drawn(&recipe_of(&RunFolder::open(run)?)?.data, data)?;
            }
            resume(run, ResumeOptions { data, devices, set, processes, check: None })?
        }
        (None, Some(name)) => {
            let RecipeWithData { recipe, data } = recipe_with_data(name, arguments, &changes)?;
            if !processes.is_alone() && (arguments.profile.is_some() || arguments.seeds.is_some()) {
                return Err(usage("--profile and --seeds are for one process; start one"));
            }
            if let Some(steps) = arguments.profile {
                return profile::run(recipe, data, steps, arguments, console);
            }
            if let Some(seeds) = arguments.seeds {
                return seeds::run(recipe, data, seeds, arguments, console);
            }
            run::run(
                recipe,
                arguments.out.as_deref(),
                data,
                DeviceSet::open_in(processes, devices)?,
                &|_| Ok(()),
            )?
        }
        (None, None) => return Err(usage("name a recipe, or a run with --resume")),
    };
    line(format_args!("model  {}", folder.path(MODEL).display()));
    line(format_args!("report {}", folder.path(REPORT).display()));
    // The numbers of a diverged variant belong to an earlier state of the network, so that the command fails.
    match result.diverged() {
        Some(message) => anyhow::bail!("{message}"),
        None => console.answer(&result, || text(&result)),
    }
}

/// A recipe, with the folder of its data.
struct RecipeWithData {
    recipe: Recipe,
    data: Option<PathBuf>,
}

/// The recipe of a name, or the one for a folder of pictures.
fn recipe_with_data(name: &str, arguments: &Train, changes: &Changes<'_>) -> Result<RecipeWithData> {
    let (folder, own) = (Path::new(name), &arguments.own);
    if folder.is_dir() && Shipped::find(name).is_none() {
        if let Some(data) = arguments.data.path().filter(|data| !is_same(data, folder)) {
            return Err(usage(format_args!(
                "`{name}` is a folder of pictures, and --data names another one, {}; name one of them",
                data.display()
            )));
        }
        let draft = draft(folder, own, &DeviceSet::open(&arguments.devices.device)?)?;
        draft.notes().iter().for_each(line);
        let mut recipe = draft.load(changes)?;
        let is_set = changes.set.iter().any(|setting| key_of(setting) == "train.iterations");
        if arguments.seeds.is_some() && !is_set {
            seeds::take_begun_iterations(&mut recipe, arguments);
        }
        return Ok(RecipeWithData { recipe, data: Some(folder.to_owned()) });
    }
    let is_unknown = !folder.exists() && Shipped::find(name).is_none();
    if !own.is_empty() && is_unknown {
        return Err(usage(format_args!("there is no folder `{name}`{}", near_folder(folder))));
    }
    if !own.is_empty() {
        return Err(for_a_folder("--hide, --keep, --label and --csv", name));
    }
    refuse_other_kind(name, &[ShippedKind::Recipe])?;
    if is_unknown {
        let kinds = "recipe, file or folder";
        return Err(no_such_name(name, Accepted { kinds, folders: true, data_sets: &[] }));
    }
    let (recipe, data) = (Recipe::load(name, changes)?, arguments.data.path());
    refuse_folder_of_drawn(&recipe.data, data)?;
    Ok(RecipeWithData { recipe, data: data.map(Path::to_owned) })
}

/// Refuses two different seeds, of which one would count without a word.
fn check_seed(seed: Option<u64>, set: &[String]) -> Result<()> {
    let seed_of = |setting: &String| {
        let (key, value) = setting.split_once('=')?;
        (key.trim() == "train.seed").then(|| value.trim().parse::<u64>().ok())?
    };
    match (seed, set.iter().rev().find_map(seed_of)) {
        (Some(seed), Some(other)) if seed != other => {
            Err(usage(format_args!("--seed {seed} and --set train.seed={other} differ; give one of them")))
        }
        _ => Ok(()),
    }
}

/// True if two paths lead to the same place.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn text(result: &RunResult) -> String {
    let measured = result.variants.iter().flat_map(|variant| variant.metrics.keys().map(String::as_str));
    let shown: Vec<(&str, MetricFormat)> = over_runs(measured)
        .into_iter()
        .filter(|name| Predictor::of(name).0 != Predictor::Nonlinear)
        .map(|name| (name, MetricFormat::of(name, &result.condition)))
        .collect();
    let titles = shown.iter().map(|(_, format)| format.title.as_str());
    let mut table = table_of_numbers(["Variant"].into_iter().chain(titles).chain(["Final loss", "Training"]));
    let numbers = |metrics: &Metrics| -> Vec<String> {
        shown.iter().map(|(name, format)| format.number(metrics.get(*name).copied())).collect()
    };
    for variant in &result.variants {
        let last = variant.last.iter().map(|metrics| (format!("{}, last", variant.name), metrics));
        for (name, metrics) in std::iter::once((variant.name.clone(), &variant.metrics)).chain(last) {
            let loss = variant.final_loss.map_or_else(|| NOTHING.into(), |loss| format!("{loss:.4}"));
            let rest = [loss, units::seconds(variant.training_seconds)];
            table.add_row([name].into_iter().chain(numbers(metrics)).chain(rest));
        }
    }
    for (name, metrics) in result.references() {
        table.add_row([name.to_owned()].into_iter().chain(numbers(metrics)));
    }
    let mut protocols: Vec<String> = vec![];
    for variant in &result.variants {
        if result.variants.iter().all(|other| other.protocol == variant.protocol) {
            protocols = vec![format!("\nmeasured by {}", variant.protocol)];
            break;
        }
        protocols.push(format!("\n{}: measured by {}", variant.name, variant.protocol));
    }
    let (protocols, took) = (protocols.concat(), units::seconds(result.seconds));
    let smoke = smoke(result).map(|words| format!("\n{words}")).unwrap_or_default();
    let verdict: String = result.verdict.iter().map(|sentence| format!("{sentence}\n")).collect();
    format!("{verdict}{table}{protocols}\n{took} in all, seed {}, {}{smoke}", result.seed, result.devices())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::metrics::names::CONDITION_TOP1;
    use crate::run_folder::record::EarlierDevice;
    use crate::run_folder::testing::{run, variant};

    #[test]
    fn the_table_of_a_run_has_the_leaks_of_further_attributes() {
        let mut plain = variant("plain", 0.5);
        let leaks = [CONDITION_TOP1, "condition_top1_nonlinear", "age_r2", "age_r2_nonlinear"];
        plain.metrics.extend(leaks.map(|name| (name.to_owned(), 0.5)));
        let mut result = run("a", 0, "", vec![plain]).result;
        result.condition = "site".into();
        let text = text(&result);
        // In a narrow terminal a title has several lines.
        let places = ["Top-1", "site", "age"].map(|word| text.find(word));
        assert!(places.is_sorted() && places[0].is_some(), "{places:?} in {text}");
        assert!(!text.contains("non-linear"), "{text}");
        let (device, variant, others) = ("gpu".into(), "plain".into(), BTreeMap::new());
        result.earlier_devices = vec![EarlierDevice { device, variant, iteration: 1, others }];
        let text = super::text(&result);
        assert!(text.ends_with("seed 0, gpu until iteration 1 of plain, then cpu"), "{text}");
    }
}
