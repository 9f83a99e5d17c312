//! A trained encoder from a run folder or a file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use simile_core::nn::checkpoint::{Checkpoint, Metadata};

use crate::config::Recipe;
use crate::config::explain::suggestion;
use crate::exit::usage;
use crate::names::slug;
use crate::run_folder::folder::{MODEL, RECIPE, RESULT, runs_in};
use crate::shell::{quoted, resume_command};

/// The ending of a model's file.
const ENDING: &str = "safetensors";

/// The file itself, or the model in a run folder: that of the last variant, which is there once it is done.
pub(crate) fn file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(MODEL) } else { path.to_owned() }
}

/// The file name of a variant's model, of a run of several: `model-fair.safetensors`.
pub(crate) fn variant_file(model: &str, variant: &str) -> String {
    model.replacen("model", &format!("model-{}", slug(variant)), 1)
}

/// The file of the model of a variant, by default the last variant. If the run has several variants, a note says which one was taken.
///
/// # Errors
/// A usage error if the variant is not one of the run, or `path` is a file, which holds one variant.
pub(crate) fn chosen(path: &Path, variant: Option<&str>) -> Result<(PathBuf, Option<String>)> {
    let Some(variants) = variants_of(path)? else {
        return match variant {
            None => Ok((file(path), None)),
            Some(_) => Err(usage(format_args!(
                "{} is one model; --variant chooses among those of a run folder",
                path.display()
            ))),
        };
    };
    let Some(chosen) = variant.or(variants.last().map(String::as_str)) else {
        return Ok((file(path), None));
    };
    if !variants.iter().any(|name| name == chosen) {
        let hint = suggestion(chosen, variants.iter().map(String::as_str));
        return Err(usage(format_args!("{} has no variant `{chosen}`{hint}", path.display())));
    }
    if variants.len() == 1 {
        return Ok((file(path), None));
    }
    let others: Vec<&str> = variants.iter().map(String::as_str).filter(|name| *name != chosen).collect();
    let note = match variant {
        Some(_) => format!("the model of `{chosen}`"),
        None => format!(
            "the model of `{chosen}`, the last variant; --variant names another: {}",
            others.join(", ")
        ),
    };
    Ok((path.join(variant_file(MODEL, chosen)), Some(note)))
}

/// The names of the variants of a run, in order; none if `path` is no run folder.
///
/// # Errors
/// If its recipe cannot be read.
fn variants_of(path: &Path) -> Result<Option<Vec<String>>> {
    let place = path.join(RECIPE);
    if !place.is_file() {
        return Ok(None);
    }
    let recipe = fs::read_to_string(&place).with_context(|| format!("cannot read {}", place.display()))?;
    Ok(Some(Recipe::resolved(&recipe, &place)?.variants().into_iter().map(|variant| variant.name).collect()))
}

/// How the user chooses the model of another variant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChosenBy {
    /// By the option `--variant`.
    Variant,
    /// By the name of its file.
    File,
}

/// A note on the variant whose model [`file()`] takes from a run folder, if the run has several.
pub(crate) fn note_on_variant(path: &Path, metadata: &Metadata, chosen_by: ChosenBy) -> Option<String> {
    // A run whose recipe this program does not understand has a model all the same.
    let variants = variants_of(path).ok().flatten().filter(|variants| variants.len() > 1)?;
    let own = metadata.variant.as_ref().or(variants.last())?;
    let others = variants.iter().filter(|name| *name != own);
    let (how, others): (_, Vec<String>) = match chosen_by {
        ChosenBy::Variant => ("--variant names another", others.cloned().collect()),
        ChosenBy::File => ("name a file for another", others.map(|name| variant_file(MODEL, name)).collect()),
    };
    Some(format!("{}: the model of `{own}`, the last variant; {how}: {}", path.display(), others.join(", ")))
}

/// The message for a model that a run has not written yet, with the models of the variants that are done; none if the file is there,
/// or its folder is not that of an unfinished run.
pub(crate) fn unwritten(file: &Path) -> Option<String> {
    let run = file.parent().map(|run| if run.as_os_str().is_empty() { Path::new(".") } else { run })?;
    if file.exists() || !run.join(RECIPE).is_file() || run.join(RESULT).is_file() {
        return None;
    }
    let mut done: Vec<String> = variants_of(run)
        .ok()
        .flatten()
        .unwrap_or_default()
        .iter()
        .map(|variant| variant_file(MODEL, variant))
        .collect();
    done.retain(|name| run.join(name).is_file());
    let others = match done.is_empty() {
        true => String::new(),
        false => format!(", or name the file of a variant that is done: {}", done.join(", ")),
    };
    Some(format!(
        "{} is not there: the run has not finished; continue it with `{}`{others}",
        file.display(),
        resume_command(run)
    ))
}

/// The bytes of a model's file.
///
/// # Errors
/// If it cannot be read; a usage error if it is a file of PyTorch, with the next command, or its folder holds several runs.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    if let Some(message) = unwritten(file) {
        anyhow::bail!(message);
    }
    let is_of_folder = file.ends_with(MODEL) && !file.exists();
    if let Some(message) = file.parent().filter(|_| is_of_folder).and_then(runs_in) {
        return Err(usage(message));
    }
    let bytes = fs::read(file).with_context(|| format!("cannot read the model {}", file.display()))?;
    if is_of_torch(&bytes) {
        let converted = match file.extension().is_some_and(|ending| ending == ENDING) {
            true => file.with_extension(format!("imported.{ENDING}")),
            false => file.with_extension(ENDING),
        };
        let [source, converted] = [file, converted.as_path()].map(|path| quoted(&path.display().to_string()));
        return Err(usage(format_args!(
            "{} is a file of PyTorch; `simile import {source} --encoder NAME --out {converted}` makes a model of it first (`simile import \
             --help` lists the encoders)",
            file.display()
        )));
    }
    Ok(bytes)
}

/// True if bytes are those of `torch.save`: an archive or, before PyTorch 1.6, a pickle.
fn is_of_torch(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || matches!(bytes, [0x80, 2..=5, ..])
}

/// Reads a checkpoint onto a device.
///
/// # Errors
/// Names the file if it cannot be read or is not a checkpoint.
pub(crate) fn load(path: &Path, device: &Device) -> Result<Checkpoint> {
    let file = file(path);
    let bytes = read(&file)?;
    Checkpoint::from_bytes(&bytes, device).with_context(|| format!("{} cannot be used", file.display()))
}
