//! One of several runs: begun, resumed or, if it is finished, read.

use std::path::Path;

use anyhow::Result;

use crate::config::Recipe;
use crate::config::difference::decisive;
use crate::console::line;
use crate::devices::{DeviceChoice, DeviceSet};
use crate::exit::{told, usage};
use crate::experiment::prepare::weights;
use crate::experiment::resume::{ResumeOptions, has_result, recipe_of, resume};
use crate::experiment::run::run;
use crate::experiment::train::trainer::is_divergence;
use crate::run_folder::folder::{RECIPE, RESULT, RunFolder};
use crate::run_folder::record::RunResult;

/// The outcome of one of several runs.
#[derive(Debug)]
pub(crate) enum Settled {
    Done(Box<RunResult>),
    /// Its numbers became infinite or NaN; the message.
    Diverged(String),
}

/// The outcome of the run in `folder`, which is begun, resumed or, if it is finished, read.
///
/// # Errors
/// A usage error if the folder holds a run of another recipe; any failure of the run except divergence.
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
        let devices = DeviceSet::open(&[device])?;
        return Ok(run(recipe, Some(folder), data.map(Path::to_owned), devices)?.1);
    }
    let run_folder = RunFolder::open(folder)?;
    let (mut asked, begun) = (recipe, recipe_of(&run_folder)?);
    if asked.encoder.weights.is_some() && asked.data.normalise.is_none() {
        // The normalisation then came from the weights.
        asked.data.normalise.clone_from(&begun.data.normalise);
    }
    // The devices decided what the recipe leaves to them.
    asked.train.drop_last = asked.train.drop_last.or(begun.train.drop_last);
    if weights::are_those_of(&asked, &run_folder) {
        // The path of the weights may have changed.
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
    if has_result(&run_folder) {
        line(format_args!("{}: done before", folder.display()));
        return run_folder.read_json(RESULT);
    }
    Ok(resume(folder, ResumeOptions { data, devices: &[device], set: &[] })?.1)
}
