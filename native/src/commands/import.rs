//! `simile import`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use burn::tensor::Device;
use serde::Serialize;
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::{CheckpointError, Imported, Metadata, Weights};

use crate::cli::Import;
use crate::console::Console;
use crate::exit::usage;
use crate::import::torch;
use crate::run_folder::folder;

/// Largest number of listed tensors, where many are left out, such as those of an optimiser.
const FEW: usize = 8;

#[derive(Serialize)]
struct Answer {
    file: PathBuf,
    encoder: EncoderConfig,
    embedding_size: usize,
    /// The prefix of the names of its tensors.
    prefix: String,
    /// Tensors of the source that the encoder does not use, such as a classifier.
    unused: Vec<String>,
    /// Tensors that were learned for images of another side and were resampled.
    resampled: Vec<String>,
}

pub(super) fn run(arguments: &Import, console: Console) -> Result<()> {
    let source = &arguments.source;
    let encoder = EncoderConfig {
        name: arguments.encoder,
        input_size: arguments.input_size,
        channels: arguments.mean.len(),
        stem: arguments.stem,
        width: arguments.width,
        output: arguments.output,
    };
    encoder.validate().map_err(usage)?;
    let metadata = Metadata::new(encoder.clone(), arguments.mean.clone(), arguments.std.clone());
    metadata.validate().map_err(usage)?;
    let place = |path: &Path| fs::canonicalize(path).ok();
    if place(source).is_some_and(|source| place(&arguments.out) == Some(source)) {
        let out = arguments.out.display();
        return Err(usage(format_args!("--out {out} is the file that is imported; name another")));
    }
    let bytes = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let mut weights = weights(&bytes).with_context(|| format!("{} cannot be imported", source.display()))?;
    for beginning in &arguments.leave_out {
        if weights.leave_out(beginning).is_empty() {
            let reason = format!("{} has no tensor whose name begins with `{beginning}`", source.display());
            return Err(usage(reason));
        }
    }
    let Imported { checkpoint, prefix, unused, resampled } = weights
        .into_encoder(metadata, arguments.prefix.as_deref(), &Device::flex())
        .map_err(|error| match error {
            CheckpointError::LeftOver { .. } => anyhow!("{error}; `--leave-out TEXT` does without them"),
            error => match width_in(&error, &encoder) {
                Some(width) => anyhow!("{error}; a narrower or wider network takes `--width {width}`"),
                None => error.into(),
            },
        })
        .with_context(|| format!("{} is not a {}", source.display(), encoder.name.name()))?;
    folder::write(&arguments.out, &pollster::block_on(checkpoint.to_bytes())?)?;
    let (file, embedding_size) = (arguments.out.clone(), encoder.embedding_size());
    let answer = Answer { file, embedding_size, encoder, prefix, unused, resampled };
    console.answer(&answer, || text(&answer))
}

/// The width that a file has by the shape of its first convolution, if that is another than the encoder's, which can have it.
fn width_in(error: &CheckpointError, encoder: &EncoderConfig) -> Option<usize> {
    let CheckpointError::Shape { name, expected, found } = error else { return None };
    let is_first = name == "conv1.weight" || name.ends_with(".conv1.weight") && !name.contains("layer");
    let (Some(&width), Some(&wanted)) = (found.first(), expected.first()) else { return None };
    let other = EncoderConfig { width: Some(width), ..encoder.clone() };
    (is_first && width != wanted && other.validate().is_ok()).then_some(width)
}

/// The tensors of a file of either format, which is recognised by its first bytes.
fn weights(bytes: &[u8]) -> Result<Weights> {
    // A length, and then a header in JSON.
    let is_safetensors = bytes.get(8) == Some(&b'{');
    Ok(if is_safetensors { Weights::from_safetensors(bytes)? } else { torch::read(bytes)? })
}

fn text(answer: &Answer) -> String {
    let (name, size) = (answer.encoder.name.name(), answer.embedding_size);
    let mut text = format!("{}: {name}, {size} features", answer.file.display());
    if !answer.prefix.is_empty() {
        text += &format!("\nfrom the tensors under `{}`", answer.prefix);
    }
    if !answer.resampled.is_empty() {
        let side = answer.encoder.input_size;
        text += &format!("\nresampled for images of {side} pixels: {}", answer.resampled.join(", "));
    }
    match answer.unused.len() {
        0 => {}
        count @ 1..=FEW => text += &format!("\nleft out: {}", answer.unused[..count].join(", ")),
        count => text += &format!("\nleft out: {} and {} more", answer.unused[..FEW].join(", "), count - FEW),
    }
    text
}
