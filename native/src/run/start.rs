//! A run is begun in a new folder, or goes on where its folder says that it stands.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::folder::{RECIPE, RESULT, RunFolder};
use super::prior;
use super::record::RunResult;
use super::rehearsal::rehearse;
use super::session::Session;
use super::splits::Splits;
use super::state::Standing;
use super::weights;
use crate::console::line;
use crate::device::{DeviceChoice, Team};
use crate::exit::usage;
use crate::recipe::Recipe;

/// Begins a run in `out`, or in a folder of the recipe's name that is free.
///
/// # Errors
/// If the data cannot be read or the folder cannot be made.
pub(crate) fn begin(
    mut recipe: Recipe,
    out: Option<&Path>,
    data: Option<PathBuf>,
    team: Team,
) -> Result<(RunFolder, Session)> {
    let bytes = weights::of_recipe(&recipe)?;
    let splits = Splits::of(&recipe, data.as_deref())?;
    let splits = prior::add(splits, recipe.data.prior.as_ref(), &team.first.device)?;
    let warnings = rehearse(&recipe, &splits, &team)?;
    let folder = RunFolder::create(out, &recipe.name)?;
    line(format_args!("{} into {}", recipe.name, folder.root().display()));
    let weights = bytes.map(|bytes| weights::begin(&mut recipe, &bytes, &folder)).transpose()?;
    folder.write(RECIPE, recipe.to_toml()?)?;
    let standing = Standing {
        arm: recipe.arms().first().map_or_else(String::new, |arm| arm.name.clone()),
        device: team.to_string(),
        data,
        warnings,
        ..Standing::default()
    };
    let session = Session::new(folder.clone(), recipe, team, splits, weights, standing)?;
    Ok((folder, session))
}

/// Goes on with the run in a folder. `data` is where its files are now, if that has changed.
///
/// # Errors
/// A usage error if there is no run or it has finished; a failure if its state is damaged.
pub(crate) fn resume(
    run: &Path,
    data: Option<PathBuf>,
    devices: &[DeviceChoice],
) -> Result<(RunFolder, Session)> {
    let folder = RunFolder::open(run)?;
    let recipe = recipe_of(&folder)?;
    let mut standing = Standing::read(&folder)?;
    if standing.arm.is_empty() {
        return Err(usage(format_args!("the run in {} has finished; see its report", run.display())));
    }
    standing.data = data.or(standing.data);
    let team = same_devices(&standing, devices)?;
    let weights = weights::resume(&recipe, &folder)?;
    let splits = Splits::of(&recipe, standing.data.as_deref())?;
    let splits = prior::add(splits, recipe.data.prior.as_ref(), &team.first.device)?;
    let session = Session::new(folder.clone(), recipe, team, splits, weights, standing)?;
    Ok((folder, session))
}

/// The result of the run in `folder`, which is begun, continued or, where it is done, read.
///
/// # Errors
/// A usage error if the folder holds a run of another recipe; whatever stops the run.
pub(crate) fn settle(
    folder: &Path,
    recipe: Recipe,
    data: Option<&Path>,
    device: DeviceChoice,
) -> Result<RunResult> {
    let data = data.map(Path::to_owned);
    if !folder.join(RECIPE).is_file() {
        let (_, session) = begin(recipe, Some(folder), data, Team::open(&[device])?)?;
        return session.run();
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
    if begun != asked {
        return Err(usage(format_args!(
            "{} holds a run of another recipe; name another folder with --out, or remove it",
            folder.display()
        )));
    }
    if standing.path(RESULT).is_file() {
        line(format_args!("{}: done before", folder.display()));
        return standing.read_json(RESULT);
    }
    let (_, session) = resume(folder, data, &[device])?;
    session.run()
}

/// The recipe that a run follows.
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
