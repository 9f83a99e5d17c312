//! Features of another network in a file of the data folder.

use std::path::Path;

use simile_core::data::formats::features::Features;
use simile_core::data::formats::lines::Text;

use crate::data::error::Result;
use crate::data::files::content;
use crate::data::settings::FeaturesSection;

/// Reads the two files of `[data.features]`.
///
/// # Errors
/// If one is missing, damaged or of another form, or they do not belong together.
pub(crate) fn read_features(section: &FeaturesSection, folder: &Path) -> Result<Features> {
    let (file, list) = (folder.join(&section.file), folder.join(&section.paths));
    let (bytes, paths) = (content(&file)?, content(&list)?);
    let (origin, name) = (file.display().to_string(), list.display().to_string());
    Ok(Features::parse(&bytes, &origin, &Text::new(&String::from_utf8_lossy(&paths), &name))?)
}
