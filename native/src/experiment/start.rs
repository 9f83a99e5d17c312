//! A run is begun in a new folder, or goes on where its folder says that it stands.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::finish::finish;
use super::folder::{RECIPE, REPORT, RESULT, RunFolder, WEIGHTS};
use super::interrupt;
use super::prior;
use super::record::RunResult;
use super::rehearsal::rehearse;
use super::session::Session;
use super::splits::Splits;
use super::state::Standing;
use super::training::is_divergence;
use super::{further, weights};
use crate::config::Recipe;
use crate::config::difference::{Difference, differences};
use crate::console::line;
use crate::devices::{DeviceChoice, Team};
use crate::exit::{told, usage};
use crate::names::{quoted, resuming};

/// Trains in `out`, or in a folder of the recipe's name that is free.
///
/// # Errors
/// If the data cannot be read or the folder cannot be made; whatever stops the run.
pub(crate) fn train(
    mut recipe: Recipe,
    out: Option<&Path>,
    data: Option<PathBuf>,
    team: Team,
) -> Result<(RunFolder, RunResult)> {
    computes(&recipe, &team)?;
    let bytes = weights::of_recipe(&recipe)?;
    let splits = Splits::of(&recipe, data.as_deref())?;
    let splits = prior::add(splits, recipe.data.prior.as_ref(), &team.first.device)?;
    let warnings = rehearse(&recipe, &splits, &team)?;
    interrupt::listen()?;
    let folder = RunFolder::create(out, &recipe.name)?;
    line(format_args!("{} into {}", recipe.name, folder.root().display()));
    let weights = bytes.as_ref().map(|bytes| weights::begin(&mut recipe, bytes)).transpose()?;
    // First of all files: from here on the folder can be gone on with.
    folder.write(RECIPE, recipe.to_toml()?)?;
    let mut standing = Standing::at_start(&recipe, team.to_string(), data)?;
    standing.warnings = warnings;
    if let Some(bytes) = bytes {
        standing.keep(&folder, WEIGHTS, &bytes)?;
    }
    standing.write(&folder)?;
    let result = Session::new(folder.clone(), recipe, team, splits, weights, standing)?.run()?;
    Ok((folder, result))
}

/// # Errors
/// A usage error if a device does not compute in the recipe's precision. Decoding may take long; this comes before it.
fn computes(recipe: &Recipe, team: &Team) -> Result<()> {
    for device in std::iter::once(&team.first.device).chain(&team.helpers()) {
        recipe.train.precision.check(&recipe.encoder.config, device).map_err(usage)?;
    }
    Ok(())
}

/// What may be different when a run goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anew<'a> {
    /// Where the data set's files are now, if that has changed.
    pub(crate) data: Option<&'a Path>,
    pub(crate) devices: &'a [DeviceChoice],
    /// Keys of the recipe: more iterations.
    pub(crate) set: &'a [String],
}

/// Goes on with the run in a folder.
///
/// # Errors
/// A usage error if there is no run, it has finished, or a key is to change that decides what was done already; a failure
/// if a file of it is missing or damaged, or another process works on it; whatever stops the run.
pub(crate) fn resume(run: &Path, anew: Anew<'_>) -> Result<(RunFolder, RunResult)> {
    let folder = RunFolder::open(run)?.taken()?;
    let written = recipe_of(&folder)?;
    let Some(mut standing) = Standing::read(&folder)? else { return from_the_start(folder, written, anew) };
    standing.verify(&folder)?;
    let (recipe, more) = further::recipe(&folder, &standing, &written, anew.set)?;
    if more {
        standing.follow(&recipe)?;
    } else if standing.finished && has_result(&folder) && folder.path(REPORT).is_file() {
        return Err(has_finished(&folder));
    }
    standing.drop_outdated(&folder);
    if standing.current().is_none() {
        line(format_args!("{}: all arms are done; writing result and report", run.display()));
        return Ok((folder.clone(), finish(&folder, &recipe, standing)?));
    }
    standing.data = anew.data.map(Path::to_owned).or(standing.data);
    let team = same_devices(&standing, anew.devices)?;
    let weights = match &recipe.encoder.weights {
        Some(_) => Some(weights::begin(&mut recipe.clone(), &standing.file(&folder, WEIGHTS)?)?),
        None => None,
    };
    let splits = Splits::of(&recipe, standing.data.as_deref())?;
    let splits = prior::add(splits, recipe.data.prior.as_ref(), &team.first.device)?;
    if more {
        // First the state: it alone says how long the run is.
        standing.write(&folder)?;
    }
    if !anew.set.is_empty() {
        folder.write(RECIPE, recipe.to_toml()?)?;
    }
    interrupt::listen()?;
    let result = Session::new(folder.clone(), recipe, team, splits, weights, standing)?.run()?;
    Ok((folder, result))
}

/// Begins the run of a folder that has its recipe and no state: its process ended before there was one.
fn from_the_start(folder: RunFolder, mut recipe: Recipe, anew: Anew<'_>) -> Result<(RunFolder, RunResult)> {
    if has_result(&folder) {
        return Err(has_finished(&folder));
    }
    if !anew.set.is_empty() {
        return Err(usage("the run was not begun, so that nothing of it goes on; leave --set out"));
    }
    line(format_args!("{} has no state; its run begins with the first step", folder.root().display()));
    let team = Team::open(anew.devices)?;
    computes(&recipe, &team)?;
    let bytes = weights::of_recipe(&recipe)?;
    let weights = bytes.as_ref().map(|bytes| weights::begin(&mut recipe, bytes)).transpose()?;
    let splits = Splits::of(&recipe, anew.data)?;
    let splits = prior::add(splits, recipe.data.prior.as_ref(), &team.first.device)?;
    let warnings = rehearse(&recipe, &splits, &team)?;
    interrupt::listen()?;
    let mut standing = Standing::at_start(&recipe, team.to_string(), anew.data.map(Path::to_owned))?;
    standing.warnings = warnings;
    if let Some(bytes) = bytes {
        standing.keep(&folder, WEIGHTS, &bytes)?;
    }
    standing.write(&folder)?;
    let result = Session::new(folder.clone(), recipe, team, splits, weights, standing)?.run()?;
    Ok((folder, result))
}

/// Whether the result is written, and can be read.
fn has_result(folder: &RunFolder) -> bool {
    folder.read_json::<RunResult>(RESULT).is_ok()
}

fn has_finished(folder: &RunFolder) -> anyhow::Error {
    let run = folder.root();
    let report = match folder.path(REPORT).is_file() {
        true => format!("see {}", folder.path(REPORT).display()),
        false => format!("`simile report {}` writes its report", quoted(&run.display().to_string())),
    };
    usage(format_args!(
        "the run in {} has finished; {report}. `{} --set train.iterations=N` trains on, up to N iterations",
        run.display(),
        resuming(run)
    ))
}

/// What came of a run that is one of several.
#[derive(Debug)]
pub(crate) enum Settled {
    Done(Box<RunResult>),
    /// Its numbers became infinite or none, in words.
    Diverged(String),
}

/// What comes of the run in `folder`, which is begun, continued or, where it is done, read.
///
/// # Errors
/// A usage error if the folder holds a run of another recipe; whatever stops the run but that it diverges.
pub(crate) fn settle(
    folder: &Path,
    recipe: Recipe,
    data: Option<&Path>,
    device: DeviceChoice,
) -> Result<Settled> {
    match result(folder, recipe, data, device) {
        Ok(result) => Ok(match result.diverged() {
            Some(message) => Settled::Diverged(message.to_owned()),
            None => Settled::Done(Box::new(result)),
        }),
        Err(error) if is_divergence(&error) => Ok(Settled::Diverged(told(&error))),
        Err(error) => Err(error),
    }
}

fn result(folder: &Path, recipe: Recipe, data: Option<&Path>, device: DeviceChoice) -> Result<RunResult> {
    if !folder.join(RECIPE).is_file() {
        let team = Team::open(&[device])?;
        return Ok(train(recipe, Some(folder), data.map(Path::to_owned), team)?.1);
    }
    let standing = RunFolder::open(folder)?;
    let (mut asked, begun) = (recipe, recipe_of(&standing)?);
    if asked.encoder.weights.is_some() && asked.data.normalise.is_none() {
        // Then the weights said it.
        asked.data.normalise.clone_from(&begun.data.normalise);
    }
    if weights::are_those_of(&asked, &standing) {
        // Wherever they lie now.
        asked.encoder.weights.clone_from(&begun.encoder.weights);
    }
    if let Some(difference) = decisive(&begun, &asked)?.first() {
        return Err(usage(format_args!(
            "{} holds a run of another recipe, whose `{}` is {} and not {}; name another folder with --out, or remove it",
            folder.display(),
            difference.key,
            difference.one(),
            difference.other()
        )));
    }
    if has_result(&standing) {
        line(format_args!("{}: done before", folder.display()));
        return standing.read_json(RESULT);
    }
    Ok(resume(folder, Anew { data, devices: &[device], set: &[] })?.1)
}

/// In what two recipes differ that decides the numbers of a run.
///
/// # Errors
/// If one of them cannot be written.
pub(super) fn decisive(one: &Recipe, other: &Recipe) -> Result<Vec<Difference>> {
    const ANYTIME: [&str; 2] = ["train.checkpoint_every", "train.checkpoint_minutes"];
    let mut found = differences(one, other)?;
    found.retain(|difference| !ANYTIME.contains(&difference.key.as_str()));
    Ok(found)
}

/// The recipe of a run folder.
///
/// # Errors
/// If it is missing or damaged.
pub(crate) fn recipe_of(folder: &RunFolder) -> Result<Recipe> {
    Recipe::resolved(&String::from_utf8_lossy(&folder.read(RECIPE)?), &folder.path(RECIPE))
}

/// The devices that the run was begun on, unless the user names others, which change the numbers from here on.
fn same_devices(standing: &Standing, asked: &[DeviceChoice]) -> Result<Team> {
    if asked == [DeviceChoice::AUTO] {
        return Team::again(&standing.device);
    }
    let team = Team::open(asked)?;
    if team.to_string() != standing.device {
        line(format_args!(
            "the run was begun on {} and goes on on {team}; its numbers will differ",
            standing.device
        ));
    }
    Ok(team)
}
