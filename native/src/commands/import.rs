//! `simile import`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use burn::tensor::Device;
use serde::Serialize;
use simile_core::error::Error;
use simile_core::nn::checkpoint::{CheckpointError, ImportedEncoder, Metadata, Weights};
use simile_core::nn::{Architecture, EncoderConfig};

use crate::cli::Import;
use crate::console::Console;
use crate::exit::usage;
use crate::import::torch;
use crate::run_folder::folder;
use crate::shell::quoted;

/// Largest number of listed tensors, where many are left out, such as those of an optimiser.
const FEW: usize = 8;
/// Sides of images: of photographs, and of small pictures for networks that take no larger ones.
const USUAL_SIDES: [usize; 2] = [224, 32];

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
    check_normalisation(&arguments.mean, &arguments.std)?;
    let encoder = EncoderConfig {
        name: arguments.encoder,
        input_size: arguments.input_size.unwrap_or_else(|| usual_side(arguments.encoder)),
        channels: arguments.mean.len(),
        stem: arguments.stem,
        width: arguments.width,
        output: arguments.output,
    };
    encoder.validate().map_err(by_option)?;
    let metadata = Metadata::new(encoder.clone(), arguments.mean.clone(), arguments.std.clone());
    metadata.validate().map_err(usage)?;
    let place = |path: &Path| fs::canonicalize(path).ok();
    if place(source).is_some_and(|source| place(&arguments.out) == Some(source)) {
        let out = arguments.out.display();
        return Err(usage(format_args!("--out {out} is the file that is imported; name another")));
    }
    if arguments.out.is_file() {
        let out = arguments.out.display();
        return Err(usage(format_args!(
            "{out} is there already; name another file with --out, or remove it"
        )));
    }
    let weights = weights(source, &arguments.leave_out)?;
    let ImportedEncoder { checkpoint, prefix, unused, resampled } = weights
        .into_encoder(metadata, arguments.prefix.as_deref(), &Device::flex())
        .map_err(|error| explained(error, source, &encoder))?;
    folder::write(&arguments.out, &pollster::block_on(checkpoint.to_bytes())?)?;
    let (file, embedding_size) = (arguments.out.clone(), encoder.embedding_size());
    let answer = Answer { file, embedding_size, encoder, prefix, unused, resampled };
    console.answer(&answer, || text(&answer))
}

/// The first of the usual sides that a network takes.
fn usual_side(name: Architecture) -> usize {
    let takes = |&side: &usize| {
        EncoderConfig { name, input_size: side, ..EncoderConfig::default() }.validate().is_ok()
    };
    USUAL_SIDES.into_iter().find(takes).unwrap_or_default()
}

/// The error of a setting by its option, in place of its key in a recipe.
fn by_option(error: Error) -> anyhow::Error {
    match error {
        Error::Parameter { name, value, reason } => {
            let option = name.strip_prefix("encoder.").map(|key| format!("--{}", key.replace('_', "-")));
            usage(Error::Parameter { name: option.unwrap_or(name), value, reason })
        }
        error => usage(error),
    }
}

/// Checks `--mean` and `--std`; those of pixels in 0 to 255 are the usual mistake.
fn check_normalisation(mean: &[f64], std: &[f64]) -> Result<()> {
    if mean.len() != std.len() || !matches!(mean.len(), 1 | 3) {
        return Err(usage(format_args!(
            "--mean and --std have as many numbers as pictures have channels, 1 or 3: here are {} and {}",
            mean.len(),
            std.len()
        )));
    }
    for (option, values, smallest) in [("--mean", mean, 0.0), ("--std", std, f64::MIN_POSITIVE)] {
        match values.iter().find(|value| !(smallest..=1.0).contains(*value)) {
            Some(value) if *value > 1.0 => {
                return Err(usage(format_args!(
                    "{option}: {value} is above 1, and both are those of pixels in 0 to 1; divide --mean and --std by 255"
                )));
            }
            Some(value) => {
                let expected = if smallest == 0.0 { "0 to 1" } else { "a number above 0, of at most 1" };
                return Err(usage(format_args!("{option}: {value}, expected {expected}")));
            }
            None => {}
        }
    }
    Ok(())
}

/// The tensors of a file of either format, which is recognised by its first bytes, without those that are left out.
fn weights(source: &Path, left_out: &[String]) -> Result<Weights> {
    let bytes = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let in_file = || format!("{} cannot be imported", source.display());
    match Metadata::from_bytes(&bytes) {
        Ok(_) => {
            return Err(usage(format_args!(
                "{} is a model of Simile, with its encoder and its preprocessing, and can be used as it is",
                source.display()
            )));
        }
        Err(CheckpointError::Format { .. } | CheckpointError::Metadata { .. }) => {}
        Err(error) => return Err(error).with_context(in_file),
    }
    // A length, and then a header in JSON.
    let is_safetensors = bytes.get(8) == Some(&b'{');
    let mut weights = match is_safetensors {
        true => Weights::from_safetensors(&bytes).with_context(in_file)?,
        false => torch::read(&bytes).with_context(in_file)?,
    };
    for beginning in left_out {
        if weights.leave_out(beginning).is_empty() {
            let reason = format!("{} has no tensor whose name begins with `{beginning}`", source.display());
            return Err(usage(reason));
        }
    }
    Ok(weights)
}

/// The reason why a file does not have the encoder, with the option that helps.
fn explained(error: CheckpointError, source: &Path, encoder: &EncoderConfig) -> anyhow::Error {
    let option = match &error {
        CheckpointError::NoPrefix { .. } => {
            return usage(format_args!("{}: {error} (--prefix)", source.display()));
        }
        CheckpointError::LeftOver { .. } => Some("`--leave-out TEXT` does without them".into()),
        CheckpointError::Ambiguous { prefixes } => {
            prefixes.first().map(|prefix| format!("`--prefix {}` takes the first", quoted(prefix)))
        }
        error => match (channels_in(error, encoder), width_in(error, encoder)) {
            (Some(1), _) => {
                Some("a network of grey pictures takes `--mean` and `--std` of one number each".into())
            }
            (Some(channels), _) => Some(format!(
                "a network of coloured pictures takes `--mean` and `--std` of {channels} numbers each"
            )),
            (None, Some(width)) => Some(format!("a narrower or wider network takes `--width {width}`")),
            (None, None) => None,
        },
    };
    let explained = match option {
        Some(option) => anyhow!("{error}; {option}"),
        None => error.into(),
    };
    explained.context(format!("{} is not a {}", source.display(), encoder.name.name()))
}

/// The channels of pictures that a file has by the shape of its first layer, if those are others than the encoder's.
fn channels_in(error: &CheckpointError, encoder: &EncoderConfig) -> Option<usize> {
    let CheckpointError::Shape { expected, found, .. } = error else { return None };
    let (&expected_inputs, &inputs) = (expected.get(1)?, found.get(1)?);
    // A convolution has one input a channel, a linear layer one a pixel of each.
    let per_channel =
        [1, encoder.input_size.pow(2)].into_iter().find(|each| expected_inputs == encoder.channels * each)?;
    [1, 3].into_iter().find(|&channels| channels != encoder.channels && inputs == channels * per_channel)
}

/// The width that a file has by the shape of its first convolution, if that is another than the encoder's, which can have it.
fn width_in(error: &CheckpointError, encoder: &EncoderConfig) -> Option<usize> {
    let CheckpointError::Shape { name, expected, found } = error else { return None };
    let is_first = name == "conv1.weight" || name.ends_with(".conv1.weight") && !name.contains("layer");
    let (Some(&width), Some(&expected_width)) = (found.first(), expected.first()) else { return None };
    let other = EncoderConfig { width: Some(width), ..encoder.clone() };
    (is_first && width != expected_width && other.validate().is_ok()).then_some(width)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_network_has_a_usual_side() {
        for &network in Architecture::ALL {
            assert!(USUAL_SIDES.contains(&usual_side(network)), "{}", network.name());
        }
        let sides = [Architecture::LeNet5, Architecture::Dcgan, Architecture::ResNet18, Architecture::VitS16];
        assert_eq!(sides.map(usual_side), [32, 32, 224, 224]);
    }

    #[test]
    fn a_setting_is_refused_by_its_option() {
        let encoder = EncoderConfig { input_size: 224, ..EncoderConfig::default() };
        let refused = by_option(encoder.validate().unwrap_err()).to_string();
        assert!(refused.starts_with("`--input-size` is 224"), "{refused}");
    }
}
