//! The data of a trained model: those that its recipe names.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use simile_core::nn::checkpoint::Metadata;

use crate::config::Recipe;
use crate::exit::usage;
use crate::experiment::prepare::data_errors::explained;
use crate::experiment::prepare::prior;
use crate::experiment::prepare::splits::Splits;
use crate::experiment::resume::same_data::check_same_pictures;
use crate::run_folder::folder::RunFolder;
use crate::run_folder::model::file as file_of;
use crate::run_folder::state::RunState;

/// The folder of the data: the given one, or the one of the run, if its state still records it.
///
/// # Errors
/// If the folder of the run cannot be read.
pub(in crate::commands) fn folder(model: &Path, named: Option<&Path>) -> Result<Option<PathBuf>> {
    match (named, model.is_dir()) {
        (Some(folder), _) => Ok(Some(folder.to_owned())),
        (None, true) => {
            let state = RunState::read(&RunFolder::open(model)?);
            Ok(state.ok().flatten().and_then(|state| state.data))
        }
        (None, false) => Ok(None),
    }
}

/// The recipe of a model. `instead` is the advice in the error if the model has none that can be followed.
///
/// # Errors
/// If the model has no recipe, or one with a key that no recipe may have.
pub(in crate::commands) fn recipe(model: &Path, metadata: &Metadata, instead: &str) -> Result<Recipe> {
    if metadata.recipe.is_null() {
        anyhow::bail!(
            "the model {} has no recipe (imported models have none), so its data are not known; {instead}",
            model.display()
        );
    }
    Recipe::from_model(&metadata.recipe)
        .map_err(|reason| anyhow::anyhow!("{}: its recipe: {reason}; {instead}", model.display()))
}

/// The images of the recipe of a model.
///
/// # Errors
/// If they cannot be read, or are not those on which the run of the model was trained.
pub(in crate::commands) fn splits(
    model: &Path,
    recipe: &Recipe,
    folder: Option<&Path>,
    device: &Device,
) -> Result<Splits> {
    let splits = match folder.filter(|folder| !folder.is_dir()) {
        None => Splits::of(recipe, folder)?,
        Some(absent) => Splits::of(recipe, folder).map_err(|error| {
            let absent = absent.display();
            let words =
                format!("the data of the model are not in {absent}; name their folder with --data DIR");
            explained(error, words)
        })?,
    };
    if model.is_dir() {
        // Otherwise images that it was trained on may be among those to test on.
        check_same_pictures(model, &splits, &recipe.data).map_err(|error| {
            let file = file_of(model);
            usage(format_args!(
                "{error}; to use its encoder on these pictures, name {} instead of the run",
                file.display()
            ))
        })?;
    }
    let section = recipe.data.prior.as_ref();
    let with_prior = prior::add(splits, section, device);
    match section.and_then(prior::absent) {
        Some(_) => with_prior.context(
            "the recipe of this model reads a second model, its prior; put it back, or a link to it",
        ),
        None => with_prior,
    }
}
