//! `simile sweep`

use std::path::{Path, PathBuf};

use anyhow::Result;
use simile_core::data::Split;

use super::named_data::check_folder_of_drawn;
use super::runs;
use crate::cli::Sweep as Arguments;
use crate::config::set::key_of;
use crate::config::{Changes, Recipe};
use crate::console::{Console, line};
use crate::data::settings::JudgedBy;
use crate::data::{DataSection, catalogue};
use crate::exit::usage;
use crate::experiment::run_outcome::RunOutcome;
use crate::experiment::several::{Missing, RunMetrics, Several, devices_of, nothing_missing};
use crate::names::kept;
use crate::run_folder::folder;
use crate::run_folder::record::RunResult;
use crate::shell::quoted;
use crate::sweep::axis::{Axis, Point, points};
use crate::sweep::front;
use crate::sweep::leak::{Attributes, Leak};
use crate::sweep::noise::Noise;
use crate::sweep::outcome::{Aim, Outcome};
use crate::sweep::output::{FinalImages, Limit, Sweep};
use crate::sweep::plan::{Plan, settings};

pub(super) fn run(arguments: &Arguments, console: Console) -> Result<()> {
    let axes = Axis::all(&arguments.grid)?;
    let grid = points(&axes, None, 0).len();
    let first = arguments.seed.unwrap_or_default();
    let tried = points(&axes, arguments.random.map(|count| count as usize), first);
    let name = Path::new(&arguments.recipe).file_stem().unwrap_or_default().to_string_lossy();
    let out = arguments.out.clone().unwrap_or_else(|| folder_of(&name));
    let plan = Plan {
        recipe: &arguments.recipe,
        set: &arguments.set,
        variant: arguments.variant.as_deref(),
        seeds: first..first.saturating_add(arguments.seeds),
        smoke: arguments.smoke,
        out: &out,
    };
    let aim = Aim { by: &arguments.by, lowest: arguments.lowest };
    aim.check_name()?;
    let tasks = plan.tasks(&axes, &tried)?;
    check_folder_of_drawn(&plan.recipe_at(&axes, &tried, 0)?.data, arguments.data.as_deref())?;
    let attributes = Attributes::of(&plan, &axes, &tried)?;
    let several = Several {
        tasks,
        out: &out,
        data: arguments.data.as_deref(),
        devices: &arguments.runs.device,
        jobs: arguments.runs.jobs.map(usize::from),
        recipe: &|index| plan.recipe_at(&axes, &tried, index),
        check: &|known| {
            aim.check_run(known).and_then(|()| check_limit(arguments.leak_at_most, &attributes, known))
        },
    };
    if runs::listed_or_run(&several, &arguments.runs, console)? {
        return Ok(());
    }
    line(format_args!("{} of {grid} points, {} runs each", tried.len(), arguments.seeds));
    let outcomes = several.all()?;
    let (missing, count) = (several.missing(&outcomes), several.tasks.len());
    if missing.len() == count {
        return nothing_missing(&missing, count);
    }
    let search = Search {
        arguments,
        name: &name,
        plan: &plan,
        axes: &axes,
        tried: &tried,
        attributes: &attributes,
        grid,
        aim,
    };
    let sweep = search.summary(&outcomes, missing)?;
    write(&sweep, &out)?;
    console.answer(&sweep, || sweep.text())?;
    nothing_missing(&sweep.missing, count)
}

/// The folder of the sweep of a recipe.
fn folder_of(recipe: &str) -> PathBuf {
    Path::new("runs").join(format!("sweep-{}", kept(recipe)))
}

/// The points that a sweep tries, out of those of the grid.
struct Search<'a> {
    arguments: &'a Arguments,
    /// The name of the recipe.
    name: &'a str,
    plan: &'a Plan<'a>,
    axes: &'a [Axis],
    tried: &'a [Point],
    /// The variables whose leak the runs may measure.
    attributes: &'a Attributes,
    /// Number of points of the whole grid.
    grid: usize,
    aim: Aim<'a>,
}

impl<'a> Search<'a> {
    /// The points with the metrics of their runs, the best first, and the point to take.
    ///
    /// # Errors
    /// A usage error if no run measures the metric by which the points are ranked.
    fn summary(&self, outcomes: &[RunOutcome], missing: Vec<Missing>) -> Result<Sweep<'a>> {
        let Self { arguments, name, plan, axes, tried, attributes, grid, aim } = *self;
        let runs = plan.runs_of_points(axes, tried, outcomes);
        let mut points: Vec<Outcome> = runs.iter().map(|runs| Outcome::of(axes, runs)).collect();
        aim.rank(&mut points)?;
        let noise = Noise { held_out: held_out(outcomes) };
        let leak = attributes.leak(|metric| points.iter().any(|point| point.mean(metric).is_some()));
        let front = front::mark(&mut points, aim, leak.as_ref().map(|leak| leak.metric.as_str()), noise);
        let limit = limit(arguments.leak_at_most, attributes, leak.as_ref())?;
        let within = |point: &Outcome| limit.as_ref().is_none_or(|limit| limit.holds(point));
        let chosen = points.iter().position(|point| point.diverged.is_empty() && within(point));
        let best = chosen.and_then(|at| points.get(at));
        let data = plan.recipe_at(axes, tried, 0)?.data;
        let final_images = final_images(&data, arguments.data.as_deref());
        Ok(Sweep {
            recipe: name,
            variant: plan.variant_of(axes, tried)?,
            axes,
            aim,
            grid,
            seeds: arguments.seeds,
            device: devices_of(outcomes, &arguments.runs.device)?,
            version: env!("CARGO_PKG_VERSION"),
            command: command(arguments),
            best: best.map_or_else(String::new, |best| train(arguments, axes, best, final_images)),
            final_images,
            condition: attributes.probed.clone(),
            attribute: attribute(attributes, outcomes),
            leak,
            front,
            limit,
            chosen,
            noise,
            points,
            missing,
        })
    }
}

/// The variable by whose leak points are compared: the one that the variant hides or keeps, or else the condition of the runs, which
/// is empty where their data have no variables.
fn attribute(attributes: &Attributes, outcomes: &[RunOutcome]) -> String {
    let condition = || outcomes.iter().find_map(done).map(|run| run.condition.clone());
    attributes.own.clone().or_else(condition).unwrap_or_default()
}

/// The bound on the leak of the best point, by the leak by which points are compared.
///
/// # Errors
/// A usage error if a bound is given and no run measures a leak.
fn limit(most: Option<f64>, attributes: &Attributes, leak: Option<&Leak>) -> Result<Option<Limit>> {
    let Some(most) = most else { return Ok(None) };
    leak.map(|leak| Some(Limit { leak: leak.clone(), most })).ok_or_else(|| no_leak(attributes))
}

/// Refuses a bound on a leak before the first run, if that will measure none.
fn check_limit(most: Option<f64>, attributes: &Attributes, metrics: RunMetrics<'_>) -> Result<()> {
    match metrics {
        RunMetrics::Names(names)
            if most.is_some() && attributes.leak(|metric| names.contains(metric)).is_none() =>
        {
            Err(no_leak(attributes))
        }
        RunMetrics::Names(_) | RunMetrics::Outcome(_) => Ok(()),
    }
}

fn no_leak(attributes: &Attributes) -> anyhow::Error {
    usage(attributes.unmeasured())
}

/// Writes the sweep for readers, spreadsheets, programs and browsers.
fn write(sweep: &Sweep<'_>, out: &Path) -> Result<()> {
    let files: [(&str, Vec<u8>); 4] = [
        ("sweep.md", sweep.markdown().into_bytes()),
        ("sweep.csv", sweep.csv()?),
        ("sweep.json", serde_json::to_vec_pretty(sweep)?),
        ("sweep.html", sweep.html()?.into_bytes()),
    ];
    for (name, bytes) in files {
        let path = out.join(name);
        folder::write(&path, &bytes)?;
        line(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// The command line of the sweep, without folders.
fn command(arguments: &Arguments) -> String {
    let grid = arguments.grid.iter().map(|grid| format!(" --grid {}", quoted(grid)));
    let random = arguments.random.map(|count| format!(" --random {count}"));
    let rest = [format!(" --by {}", arguments.by), format!(" --seeds {}", arguments.seeds)];
    let given = [
        arguments.seed.map(|seed| format!(" --seed {seed}")),
        arguments.lowest.then(|| " --lowest".to_owned()),
        arguments.leak_at_most.map(|most| format!(" --leak-at-most {most}")),
        arguments.smoke.then(|| " --smoke".to_owned()),
    ];
    let words = grid.chain(random).chain(common(arguments)).chain(rest).chain(given.into_iter().flatten());
    format!("simile sweep {}{}", quoted(&arguments.recipe), words.collect::<String>())
}

/// The images on which a sweep over data evaluates the best point: those of the test, unless there are none.
fn final_images(data: &DataSection, folder: Option<&Path>) -> FinalImages {
    // Data that are not on this machine may have some.
    let has_test = || {
        let all = folder.and_then(|folder| catalogue(data, folder).ok());
        all.is_none_or(|all| all.splits.contains(&Split::Test))
    };
    if data.judged_by == JudgedBy::Test || has_test() {
        return FinalImages::Test;
    }
    if data.validation > 0 { FinalImages::Validation } else { FinalImages::ValidationAgain }
}

/// The command that trains the best point on all training images and evaluates it on the final images, as it can be pasted: a
/// setting that a later one replaces is left out, and so are those by which the sweep held images out, unless the recipe has
/// them too.
fn train(arguments: &Arguments, axes: &[Axis], best: &Outcome, final_images: FinalImages) -> String {
    let is_on_test = final_images == FinalImages::Test;
    let replaced = |at: usize, setting: &str| {
        let later = arguments.set.iter().skip(at + 1).map(|later| key_of(later));
        later.chain(axes.iter().map(|axis| axis.key.as_str())).any(|later| later == key_of(setting))
    };
    let is_undone = |key: &str| key == HELD_OUT || (key == JUDGED_BY && is_on_test);
    let unchanged = arguments.set.iter().enumerate();
    let unchanged = unchanged.filter(|(at, setting)| !is_undone(key_of(setting)) && !replaced(*at, setting));
    let settings = unchanged.map(|(_, setting)| setting.clone()).chain(settings(axes, &best.point));
    let own = Recipe::load(&arguments.recipe, &Changes::default()).map(|recipe| recipe.data).ok();
    let holds_out = own.as_ref().is_some_and(|data| data.validation > 0);
    let judges = is_on_test && own.is_some_and(|data| data.judged_by == JudgedBy::Validation);
    let undone = [(holds_out, format!("{HELD_OUT}=0")), (judges, format!("{JUDGED_BY}=test"))];
    let settings =
        settings.chain(undone.into_iter().filter(|(is_own, _)| *is_own).map(|(_, setting)| setting));
    let words = variant_and_data(arguments, |data| quoted(&data.display().to_string()));
    let words = words.chain(settings.map(|setting| format!(" --set {}", quoted(&setting))));
    format!("simile train {}{}", quoted(&arguments.recipe), words.collect::<String>())
}

/// The keys by which images of a sweep are held out: their number, and the split that judges.
const HELD_OUT: &str = "data.validation";
const JUDGED_BY: &str = "data.judged_by";

fn common(arguments: &Arguments) -> impl Iterator<Item = String> + '_ {
    let set = arguments.set.iter().map(|setting| format!(" --set {}", quoted(setting)));
    variant_and_data(arguments, |_| "DIR".to_owned()).chain(set)
}

fn variant_and_data(
    arguments: &Arguments,
    folder: impl Fn(&Path) -> String + 'static,
) -> impl Iterator<Item = String> + '_ {
    let variant = arguments.variant.iter().map(|variant| format!(" --variant {}", quoted(variant)));
    variant.chain(arguments.data.iter().map(move |data| format!(" --data {}", folder(data))))
}

/// The number of images by which the points are judged, or of their subjects, if a run knows it.
fn held_out(outcomes: &[RunOutcome]) -> Option<usize> {
    let images = outcomes.iter().find_map(|outcome| done(outcome)?.images)?;
    Some(images.test_subjects.unwrap_or(images.test))
}

/// The result of a run that has one.
fn done(outcome: &RunOutcome) -> Option<&RunResult> {
    match outcome {
        RunOutcome::Done(result) => Some(&**result),
        RunOutcome::Diverged(_) | RunOutcome::Missing(_) => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::report::testing::{run, variant};
    use crate::run_folder::record::ImageCounts;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        sweep: Arguments,
    }

    fn parsed(words: &str) -> Arguments {
        Line::try_parse_from(format!("sweep {words} --grid train.batch=16,32").split(' ')).unwrap().sweep
    }

    fn best() -> Outcome {
        let point = points(&Axis::all(&["train.batch=16,32".to_owned()]).unwrap(), None, 0)[1].clone();
        Outcome {
            settings: [].into(),
            metrics: [].into(),
            diverged: Vec::new(),
            folder: String::new(),
            front: None,
            point,
        }
    }

    #[test]
    fn different_recipes_have_sweeps_in_different_folders() {
        for recipe in ["scans", "日本", "MyData"] {
            assert_eq!(folder_of(recipe), Path::new("runs").join(format!("sweep-{recipe}")));
        }
    }

    #[test]
    fn subjects_are_counted_instead_of_their_images() {
        let of = |test_subjects| {
            let mut result = run("a", 0, "", vec![variant("plain", 0.5)]).result;
            result.images = Some(ImageCounts { train: 400, test: 100, test_subjects });
            held_out(&[RunOutcome::Missing("not begun".to_owned()), RunOutcome::Done(Box::new(result))])
        };
        assert_eq!((of(Some(17)), of(None)), (Some(17), Some(100)));
    }

    #[test]
    fn points_are_compared_by_an_attribute_that_the_data_have() {
        let of = |own: Option<&str>, condition: &str| {
            let mut result = run("a", 0, "", vec![variant("plain", 0.5)]).result;
            result.condition = condition.into();
            let attributes = Attributes { own: own.map(str::to_owned), probed: "colour".into() };
            attribute(&attributes, &[RunOutcome::Done(Box::new(result))])
        };
        assert_eq!(of(Some("age"), "colour"), "age");
        assert_eq!(of(None, "colour"), "colour");
        assert_eq!(of(None, ""), "", "the data have no variables");
    }

    #[test]
    fn the_best_point_is_judged_on_the_test_images() {
        let trained = |words: &str, final_images| {
            let arguments = parsed(words);
            train(&arguments, &Axis::all(&arguments.grid).unwrap(), &best(), final_images)
        };
        let (on_test, on_validation) = (FinalImages::Test, FinalImages::Validation);
        assert_eq!(
            trained("waterbirds", on_test),
            "simile train waterbirds --set train.batch=32 --set data.judged_by=test"
        );
        assert_eq!(trained("waterbirds", on_validation), "simile train waterbirds --set train.batch=32");
        let held_out = "fair-digits --set data.judged_by=validation --set data.validation=100";
        assert_eq!(trained(held_out, on_test), "simile train fair-digits --set train.batch=32");
        assert_eq!(
            trained(held_out, on_validation),
            "simile train fair-digits --set data.judged_by=validation --set train.batch=32"
        );
    }

    #[test]
    fn the_command_of_a_sweep_says_all_that_decides() {
        let words = "it's.toml --random 1 --seed 3 --by condition_r2 --lowest --leak-at-most 0.5 --smoke";
        let command = command(&parsed(words));
        for part in [
            r"simile sweep 'it'\''s.toml' --grid",
            "--random 1",
            "--seed 3",
            "--by condition_r2 --seeds",
            "--lowest",
            "--leak-at-most 0.5",
            "--smoke",
        ] {
            assert!(command.contains(part), "{part}: {command}");
        }
    }
}
