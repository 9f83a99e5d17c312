//! Features of another network in a file of the data folder.

use std::fs;
use std::path::Path;

use simile_core::data::formats::features::Features;
use simile_core::data::formats::lines::Text;

use crate::data::error::{DataError, Result};
use crate::data::files::{content, is_gzip};
use crate::data::settings::FeaturesSection;

/// Reads the two files of `[data.features]`.
///
/// # Errors
/// If one is missing, damaged or of another form, or they do not belong together.
pub(crate) fn read_features(section: &FeaturesSection, folder: &Path) -> Result<Features> {
    let (file, list) = (folder.join(&section.file), folder.join(&section.paths));
    // Features of many pictures are larger than any file of a known data set.
    let bytes = match is_gzip(&file) {
        true => content(&file)?,
        false => fs::read(&file).map_err(|source| DataError::Read { path: file.clone(), source })?,
    };
    let paths = content(&list)?;
    let (origin, name) = (file.display().to_string(), list.display().to_string());
    Ok(Features::parse(&bytes, &origin, &Text::new(&String::from_utf8_lossy(&paths), &name))?)
}
