//! Data by a name: that of a recipe, or of a data set.

use std::path::Path;

use anyhow::Result;
use simile_core::augment::Augmentation;
use simile_core::nn::EncoderConfig;

use super::shipped::{ShippedKind, refuse_other_kind};
use crate::config::own_names::{Accepted, no_such_name};
use crate::config::probe::ProbeSection;
use crate::config::shipped::Shipped;
use crate::config::{Changes, Recipe};
use crate::data::{DataSection, DatasetName, sets};
use crate::exit::usage;
use crate::shell::quoted;

/// The data section of a name: that of a recipe, or a data set with its defaults.
pub(in crate::commands) struct NamedData {
    pub(in crate::commands) data: DataSection,
    /// An encoder with the input size of the images.
    pub(in crate::commands) encoder: EncoderConfig,
    /// The probe section of the recipe.
    pub(in crate::commands) probe: Option<ProbeSection>,
    /// The augmentation of the recipe.
    pub(in crate::commands) augmentation: Augmentation,
}

impl From<Recipe> for NamedData {
    fn from(recipe: Recipe) -> Self {
        Self {
            data: recipe.data,
            encoder: recipe.encoder.config,
            probe: Some(recipe.probe),
            augmentation: recipe.augment,
        }
    }
}

/// The data of a recipe, or a data set by its name. `folders` is true if the command takes folders of pictures too: a name that is not
/// there may then be that of one.
///
/// # Errors
/// A usage error if the name is not known, or its data cannot be read without a recipe; as [`Recipe::load`].
pub(in crate::commands) fn section(name: &str, folders: bool) -> Result<NamedData> {
    // A table cannot be read without the names of its columns, which are in a recipe.
    if let Some(data) = DatasetName::find(name).map(DataSection::of).filter(|data| data.check().is_ok()) {
        return Ok(NamedData {
            encoder: data.dataset.native(),
            data,
            probe: None,
            augmentation: Augmentation::default(),
        });
    }
    let path = Path::new(name);
    if DatasetName::find(name).is_some() && !path.is_file() {
        let remedy = match path.is_dir() {
            true => format!("write ./{name} for the folder"),
            false => {
                "`simile init DIR` writes one, and `simile data check DIR` looks through the folder itself"
                    .into()
            }
        };
        return Err(usage(format_args!(
            "the data set `{name}` cannot be read without a recipe, which names its CSV file and columns; {remedy}"
        )));
    }
    refuse_other_kind(name, &[ShippedKind::Recipe, ShippedKind::Dataset])?;
    if Shipped::find(name).is_none() && !path.exists() {
        let kinds = if folders { "data set, recipe or folder" } else { "data set or recipe" };
        return Err(no_such_name(name, Accepted { kinds, folders, data_sets: sets::names() }));
    }
    Ok(Recipe::load(name, &Changes::default())?.into())
}

/// Refuses a folder for data that are drawn: it would be ignored without a word.
///
/// # Errors
/// A usage error if there is one.
pub(in crate::commands) fn refuse_folder_of_drawn(data: &DataSection, folder: Option<&Path>) -> Result<()> {
    let Some(folder) = folder.filter(|_| data.dataset.is_drawn()) else { return Ok(()) };
    let (shown, dataset) = (folder.display(), data.dataset.name());
    let place = if folder.exists() { "which would not be read" } else { "which is not there" };
    let own = match folder.is_dir() {
        true => {
            format!("; `simile init {}` writes a recipe for pictures in it", quoted(&shown.to_string()))
        }
        false => String::new(),
    };
    Err(usage(format_args!(
        "--data names {shown}, {place}; `{dataset}` is drawn and needs no folder, leave it out{own}"
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A recipe was not thought of, although it is taken.
    #[test]
    fn a_name_that_is_nearly_that_of_a_shipped_recipe_is_said_beside_the_list_of_data_sets() {
        let refused = |folders| section("fair-digit", folders).err().unwrap().to_string();
        let hint =
            format!("is named `fair-digit`; did you mean `fair-digits`? known: {}", sets::names().join(", "));
        assert_eq!(refused(true), format!("no data set, recipe or folder {hint}"));
        assert_eq!(refused(false), format!("no data set or recipe {hint}"));
    }
}
