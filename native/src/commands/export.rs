//! `simile export`

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use serde::Serialize;
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::Checkpoint;

use crate::cli::{Export, Target};
use crate::console::Console;
use crate::exit::usage;
use crate::export::pytorch;
use crate::run_folder::folder;
use crate::run_folder::model;

#[derive(Serialize)]
struct Answer {
    folder: PathBuf,
    /// The names of the written files.
    files: Vec<&'static str>,
    encoder: EncoderConfig,
    embedding_size: usize,
}

pub(super) fn run(arguments: &Export, console: Console) -> Result<()> {
    let Target::Pytorch = arguments.to;
    let file = model::file(&arguments.model);
    let bytes = model::read(&file)?;
    let Checkpoint { metadata, .. } = Checkpoint::from_bytes(&bytes, &Device::flex())
        .with_context(|| format!("{} cannot be exported", file.display()))?;
    let folder = arguments.out.clone().unwrap_or_else(|| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        file.with_file_name(format!("{stem}-pytorch"))
    });
    if folder.is_file() || fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let reason = format!("{} is there already; name another folder with --out", folder.display());
        return Err(usage(reason));
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    folder::write(&folder.join(pytorch::SOURCE), pytorch::source(&metadata)?.as_bytes())?;
    folder::write(&folder.join(pytorch::WEIGHTS), &bytes)?;
    let files = vec![pytorch::SOURCE, pytorch::WEIGHTS];
    let (encoder, embedding_size) = (metadata.encoder, metadata.embedding_size);
    let answer = Answer { folder, files, encoder, embedding_size };
    console.answer(&answer, || text(&answer))
}

fn text(answer: &Answer) -> String {
    let Answer { folder, files, encoder, embedding_size } = answer;
    let (folder, name) = (folder.display(), encoder.name.name());
    format!(
        "{folder}: {}\n{name}, {embedding_size} features; in Python, in that folder:\n\
         from model import Encoder; Encoder.load().embed([\"picture.png\"])",
        files.join(", ")
    )
}
