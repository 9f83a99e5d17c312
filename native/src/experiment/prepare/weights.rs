//! The initial weights of a run, copied to its folder so that it can resume without their original file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::Weights;

use crate::config::Recipe;
use crate::console::line;
use crate::data::keys::values::Normalise;
use crate::run_folder::folder::{RunFolder, WEIGHTS};
use crate::run_folder::model::{self, ChosenBy};

/// Reads the weights of the file that a recipe names. If the recipe has no normalisation, it is set to the one of these
/// weights.
///
/// # Errors
/// If the weights belong to another encoder.
pub(crate) fn begin(recipe: &mut Recipe, bytes: &[u8]) -> Result<Arc<Weights>> {
    let (weights, metadata) = Weights::from_encoder_file(bytes, &recipe.encoder.config)?;
    if !weights.resampled().is_empty() {
        let (theirs, ours) = (metadata.input_size, recipe.encoder.config.input_size);
        let names = weights.resampled().join(", ");
        line(format!("{names} of these weights: learned at {theirs} pixels, resampled for {ours}"));
    }
    if recipe.data.normalise.is_none() {
        line("images are normalised as these weights expect; `data.normalise` can say otherwise");
        recipe.data.normalise = Some(Normalise::Own(metadata.normalisation()));
    }
    Ok(Arc::new(weights))
}

/// The bytes of the file that a recipe names, if it does.
///
/// # Errors
/// If it cannot be read, or holds another encoder.
pub(crate) fn read(recipe: &Recipe) -> Result<Option<Vec<u8>>> {
    let Some(path) = &recipe.encoder.weights else { return Ok(None) };
    let file = model::file(path);
    if !file.is_file() {
        anyhow::bail!(not_there(recipe, path));
    }
    let bytes = model::read(&file).context("`encoder.weights`")?;
    let (_, metadata) = Weights::from_encoder_file(&bytes, &recipe.encoder.config)
        .with_context(|| format!("{} cannot be `encoder.weights`", file.display()))?;
    model::note_on_variant(path, &metadata, ChosenBy::File).iter().for_each(line);
    Ok(Some(bytes))
}

/// The message for a missing file, with the command that creates one.
pub(crate) fn not_there(recipe: &Recipe, path: &Path) -> String {
    if let Some(message) = model::unwritten(&model::file(path)) {
        return format!("`encoder.weights`: {message}");
    }
    let EncoderConfig { name, input_size, stem, width, output, .. } = &recipe.encoder.config;
    let stem = stem.and_then(|stem| serde_json::to_value(stem).ok());
    let stem = stem.as_ref().and_then(|stem| stem.as_str()).map(|stem| format!(" --stem {stem}"));
    let width = width.map(|channels| format!(" --width {channels}"));
    let output = output.map(|features| format!(" --output {features}"));
    format!(
        "`encoder.weights`, {0}, is not there; `simile import FILE --encoder {1} --input-size {input_size}{2}{3}{4} --out {0}` \
         makes it of another program's weights, such as torchvision's",
        path.display(),
        name.name(),
        stem.unwrap_or_default(),
        width.unwrap_or_default(),
        output.unwrap_or_default()
    )
}

/// True if a recipe names the same weights, byte by byte, as those at the start of the run.
pub(crate) fn are_those_of(recipe: &Recipe, folder: &RunFolder) -> bool {
    let named = recipe.encoder.weights.as_ref().and_then(|path| fs::read(model::file(path)).ok());
    named.is_some_and(|named| folder.read(WEIGHTS).is_ok_and(|weights| weights == named))
}
