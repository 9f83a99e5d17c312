//! A trained encoder from a run folder or a file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use simile_core::augment::Normalisation;
use simile_core::nn::checkpoint::Checkpoint;

use crate::run_folder::folder::MODEL;

/// The file itself, or the model in a run folder.
pub(crate) fn file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(MODEL) } else { path.to_owned() }
}

/// Reads a checkpoint onto a device.
///
/// # Errors
/// Names the file if it cannot be read or is not a checkpoint.
pub(crate) fn load(path: &Path, device: &Device) -> Result<Checkpoint> {
    let file = file(path);
    let bytes = fs::read(&file).with_context(|| format!("cannot read the model {}", file.display()))?;
    Checkpoint::from_bytes(&bytes, device).with_context(|| format!("{} cannot be used", file.display()))
}

/// The normalisation of the encoder's images.
pub(crate) fn normalisation(checkpoint: &Checkpoint) -> Normalisation {
    Normalisation { mean: checkpoint.metadata.mean.clone(), std: checkpoint.metadata.std.clone() }
}
