//! Data by a name: that of a recipe, or of a data set.

use std::path::Path;

use anyhow::Result;
use simile_core::augment::Augmentation;
use simile_core::nn::EncoderConfig;

use crate::config::explain::suggestion;
use crate::config::probe::ProbeSection;
use crate::config::shipped::Shipped;
use crate::config::{Changes, Recipe};
use crate::data::{DataSection, DatasetName, sets};
use crate::exit::usage;

/// The data section of a name: that of a recipe, or a data set with its defaults.
pub(super) struct NamedData {
    pub(super) data: DataSection,
    /// An encoder with the input size of the images.
    pub(super) encoder: EncoderConfig,
    /// The probe section of the recipe.
    pub(super) probe: Option<ProbeSection>,
    /// The augmentation of the recipe.
    pub(super) augmentation: Augmentation,
}

/// The data of a recipe, or a data set by its name.
pub(super) fn section(name: &str) -> Result<NamedData> {
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
    if Shipped::find(name).is_none() && !path.exists() {
        if is_path(name) {
            return Err(usage(format_args!("there is no file `{name}`")));
        }
        return Err(usage(format_args!(
            "no data set or recipe is named `{name}`{}",
            suggestion(name, sets::names())
        )));
    }
    let recipe = Recipe::load(name, &Changes::default())?;
    Ok(NamedData {
        data: recipe.data,
        encoder: recipe.encoder.config,
        probe: Some(recipe.probe),
        augmentation: recipe.augment,
    })
}

/// Checks that a folder which is named for data that are drawn is there. They are drawn without it, so that a mistyped one would go
/// unsaid.
///
/// # Errors
/// A usage error otherwise.
pub(super) fn check_folder_of_drawn(data: &DataSection, folder: Option<&Path>) -> Result<()> {
    match folder.filter(|folder| data.dataset.is_drawn() && !folder.exists()) {
        Some(absent) => Err(usage(format_args!(
            "--data names {}, which is not there; `{}` is drawn and needs no folder, leave it out",
            absent.display(),
            data.dataset.name()
        ))),
        None => Ok(()),
    }
}

/// True for a name that only a file can have.
fn is_path(name: &str) -> bool {
    name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|ending| ending == "toml")
}
