//! Checks that a run has the data that it began with: its pictures with their attributes, and the model of its prior.

use std::path::Path;

use anyhow::Result;

use super::recipe::PRIOR;
use crate::config::Recipe;
use crate::data::DataSection;
use crate::exit::usage;
use crate::experiment::prepare::prior;
use crate::experiment::prepare::splits::Splits;
use crate::run_folder::digest::Digest;
use crate::run_folder::folder::{RESULT, RunFolder};
use crate::run_folder::record::{ImageCounts, RunResult};
use crate::run_folder::state::RunState;

/// Checks that the splits have as many images, of the same classes, file names, sizes of files and attributes, as those that the run
/// began with.
pub(super) fn same_data(
    folder: &RunFolder,
    state: &RunState,
    splits: &Splits,
    section: &DataSection,
) -> Result<()> {
    let now = [splits.train.len(), splits.evaluated.dataset.len()];
    let change = match state.images {
        Some(ImageCounts { train, test, .. }) if now != [train, test] => Some(format!(
            "it began with {train} training and {test} {} images, and now there are {} and {}",
            splits.evaluated.split, now[0], now[1]
        )),
        _ => splits.data_digests(section).change_from(&state.data_digests),
    };
    change.map_or(Ok(()), |change| Err(other_data(folder, &change)))
}

/// Checks the pictures of a run's own data, now read from elsewhere or again, against those that it had: by its state, or by its result
/// where the state was deleted. Data sets of authors are always the same.
///
/// # Errors
/// A usage error if they are others; a failure if the folder cannot be read.
pub(crate) fn check_same_pictures(run: &Path, splits: &Splits, section: &DataSection) -> Result<()> {
    if !section.dataset.is_own() {
        return Ok(());
    }
    let folder = RunFolder::open(run)?;
    // A state that this program does not read is as good as none: the run has its result.
    if let Some(state) = RunState::read(&folder).ok().flatten() {
        return same_data(&folder, &state, splits, section);
    }
    let result = folder.read_json::<RunResult>(RESULT).ok();
    match result.and_then(|result| result.picture_files) {
        Some(begun) if splits.data_digests(section).whole() != Some(begun) => Err(other_data(
            &folder,
            "names, classes, sizes or attributes of its pictures are not those of its result",
        )),
        _ => Ok(()),
    }
}

fn other_data(folder: &RunFolder, change: &str) -> anyhow::Error {
    usage(format_args!(
        "the data of {} have changed: {change}; put the data back as they were, or begin another run in another folder",
        folder.root().display()
    ))
}

/// The digest of the model of the prior, after a check that it is the one that the run began with.
pub(super) fn same_prior(state: &RunState, recipe: &Recipe) -> Result<Option<Digest>> {
    let Some(section) = &recipe.data.prior else { return Ok(None) };
    let now = prior::digest(section)?;
    match state.prior.filter(|begun| *begun != now) {
        Some(_) => Err(usage(format_args!(
            "`{PRIOR}`, {}, is another model than the one that the run began with; put that back, or begin another run",
            section.model.display()
        ))),
        None => Ok(Some(now)),
    }
}
