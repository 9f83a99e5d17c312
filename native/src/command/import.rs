//! `simile import`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use serde::Serialize;
use simile_core::checkpoint::{Checkpoint, Metadata};
use simile_core::encoder::EncoderConfig;

use crate::cli::Import;
use crate::console::Console;
use crate::exit::usage;
use crate::run::folder;

#[derive(Serialize)]
struct Answer {
    file: PathBuf,
    encoder: EncoderConfig,
    embedding_size: usize,
    /// Tensors of the source that the encoder has no use for, such as a classifier.
    unused: Vec<String>,
}

pub(super) fn run(arguments: &Import, console: Console) -> Result<()> {
    let source = &arguments.source;
    if source.extension().is_none_or(|ending| ending != "safetensors") {
        return Err(usage(format_args!(
            "{} is not a .safetensors file; in Python, `safetensors.torch.save_file(torch.load(PATH), \
             \"model.safetensors\")` makes one of a state dict",
            source.display()
        )));
    }
    let encoder = EncoderConfig {
        name: arguments.encoder,
        input_size: arguments.input_size,
        channels: arguments.mean.len(),
        stem: arguments.stem,
        output: arguments.output,
    };
    encoder.validate().map_err(usage)?;
    let metadata = Metadata::new(encoder.clone(), arguments.mean.clone(), arguments.std.clone());
    metadata.validate().map_err(usage)?;
    let bytes = fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let (checkpoint, unused) = Checkpoint::import(&bytes, metadata, &Device::flex())
        .with_context(|| format!("{} is not a {}", source.display(), encoder.name.name()))?;
    folder::write(&arguments.out, &pollster::block_on(checkpoint.to_bytes())?)?;
    let answer =
        Answer { file: arguments.out.clone(), embedding_size: encoder.embedding_size(), encoder, unused };
    console.answer(&answer, || {
        let unused = if answer.unused.is_empty() {
            String::new()
        } else {
            format!("\nleft out: {}", answer.unused.join(", "))
        };
        let (name, size) = (answer.encoder.name.name(), answer.embedding_size);
        format!("{}: {name}, {size} features{unused}", answer.file.display())
    })
}
