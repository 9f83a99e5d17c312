//! The requirements of a run beside its recipe, checked before any training.

use crate::config::Recipe;
use crate::data::MissingData;
use crate::experiment::prepare::{prior, weights};
use crate::run_folder::model;

/// The missing data and models of a recipe, and how to get them; none if all are present.
pub(crate) fn missing_inputs(recipe: &Recipe, data: &mut MissingData<'_>) -> Option<String> {
    data.of(&recipe.data).or_else(|| missing_models(recipe))
}

/// The first missing model of a recipe, with a remedy.
pub(crate) fn missing_models(recipe: &Recipe) -> Option<String> {
    let of_weights = || {
        let path = recipe.encoder.weights.as_ref()?;
        (!model::file(path).is_file()).then(|| weights::not_there(recipe, path))
    };
    let of_prior = || {
        let path = &recipe.data.prior.as_ref()?.model;
        let file = model::file(path);
        let absent = || match model::unwritten(&file) {
            Some(message) => format!("`data.prior.model`: {message}"),
            None => {
                let remedy = prior::trained_by(path).unwrap_or_else(|| "train it first".into());
                format!("`data.prior.model`, {}, is not there; {remedy}", path.display())
            }
        };
        (!file.is_file()).then(absent)
    };
    of_weights().or_else(of_prior)
}
