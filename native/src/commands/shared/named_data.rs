//! Data by a name: that of a recipe, or of a data set.

use std::path::Path;

use anyhow::Result;
use simile_core::augment::Augmentation;
use simile_core::nn::EncoderConfig;

use super::shipped::{ShippedKind, refuse_other_kind};
use crate::config::explain::suggestion;
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

/// The data of a recipe, or a data set by its name.
pub(in crate::commands) fn section(name: &str) -> Result<NamedData> {
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
        if is_path(name) {
            return Err(usage(format_args!("there is no file `{name}`")));
        }
        return Err(usage(format_args!(
            "no data set or recipe is named `{name}`{}",
            suggestion(name, sets::names().iter().copied())
        )));
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

/// True for a name that only a file can have.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|ending| ending == "toml")
}
