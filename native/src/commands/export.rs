//! `simile export`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use serde::Serialize;
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::{Checkpoint, Metadata};

use crate::cli::{Export, Target};
use crate::console::{Console, line};
use crate::exit::usage;
use crate::export::{onnx, pytorch};
use crate::run_folder::folder;
use crate::run_folder::model::{self, ChosenBy};

#[derive(Serialize)]
struct Answer {
    folder: PathBuf,
    /// The names of the written files.
    files: Vec<String>,
    encoder: EncoderConfig,
    embedding_size: usize,
}

pub(super) fn run(arguments: &Export, console: Console) -> Result<()> {
    let variant = arguments.variant.name();
    let (file, note) = match variant {
        Some(variant) => model::chosen(&arguments.model, Some(variant))?,
        None => (model::file(&arguments.model), None),
    };
    let bytes = model::read(&file)?;
    let Checkpoint { metadata, .. } = Checkpoint::from_bytes(&bytes, &Device::flex())
        .with_context(|| format!("{} cannot be exported", file.display()))?;
    let note_on_last = || model::note_on_variant(&arguments.model, &metadata, ChosenBy::Variant);
    note.or_else(|| variant.is_none().then(note_on_last).flatten()).iter().for_each(line);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let beside = |name: String| arguments.out.clone().unwrap_or_else(|| file.with_file_name(name));
    let (folder, files, use_it) = match arguments.to {
        Target::Pytorch => {
            let folder = beside(format!("{stem}-pytorch"));
            let files = to_pytorch(&folder, &metadata, &bytes)?;
            let code = "in that folder:\nfrom model import Encoder; Encoder.load().embed([\"picture.png\"])";
            (folder, files, code.to_owned())
        }
        Target::Onnx => {
            let path = beside(format!("{stem}.onnx"));
            to_onnx(&path, &metadata, &bytes)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let code = format!(
                "with pixels [n, height, width, {}] of uint8:\n\
                 onnxruntime.InferenceSession({:?}).run(None, {{{:?}: pixels}})[0]",
                metadata.encoder.channels,
                path.display().to_string(),
                onnx::INPUT
            );
            (path.parent().unwrap_or(Path::new("")).to_owned(), vec![name], code)
        }
    };
    let (encoder, embedding_size) = (metadata.encoder, metadata.embedding_size);
    let answer = Answer { folder, files, encoder, embedding_size };
    console.answer(&answer, || text(&answer, &use_it))
}

fn to_pytorch(folder: &Path, metadata: &Metadata, checkpoint: &[u8]) -> Result<Vec<String>> {
    if folder.is_file() || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(already_there(folder, "folder"));
    }
    let source = pytorch::source(metadata)?;
    write_whole(folder, &[(pytorch::SOURCE, source.as_bytes()), (pytorch::WEIGHTS, checkpoint)])?;
    Ok(vec![pytorch::SOURCE.into(), pytorch::WEIGHTS.into()])
}

/// Writes the files of a folder that is new or empty: all of them or none, because the same command refuses a folder that holds some.
fn write_whole(folder: &Path, files: &[(&str, &[u8])]) -> Result<()> {
    let is_new = !folder.exists();
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let paths = || files.iter().map(|(name, bytes)| (folder.join(name), *bytes));
    paths().try_for_each(|(path, bytes)| folder::write(&path, bytes)).inspect_err(|_| {
        // The same command names a file that cannot be removed.
        paths().for_each(|(path, _)| drop(fs::remove_file(path)));
        if is_new {
            let _ = fs::remove_dir(folder);
        }
    })
}

fn to_onnx(path: &Path, metadata: &Metadata, checkpoint: &[u8]) -> Result<()> {
    if path.exists() {
        return Err(already_there(path, "file"));
    }
    folder::write(path, &onnx::file(metadata, checkpoint)?)
}

fn already_there(path: &Path, kind: &str) -> anyhow::Error {
    usage(format_args!("{} is there already; name another {kind} with --out", path.display()))
}

fn text(answer: &Answer, use_it: &str) -> String {
    let Answer { folder, files, encoder, embedding_size } = answer;
    let (files, name) = (files.join(", "), encoder.name.name());
    let files = match folder.as_os_str().is_empty() {
        true => files,
        false => format!("{}: {files}", folder.display()),
    };
    format!("{files}\n{name}, {embedding_size} features; in Python, {use_it}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// On a full disk the first file stayed, for which the same command then refused the folder.
    #[test]
    fn a_folder_that_cannot_be_written_whole_is_not_left_behind() {
        let place = tempfile::tempdir().unwrap();
        let [new, empty] = ["new", "empty"].map(|name| place.path().join(name));
        fs::create_dir(&empty).unwrap();
        let half: [(&str, &[u8]); 2] = [("a", b"1"), ("absent/b", b"2")];
        assert!(write_whole(&new, &half).is_err() && !new.exists());
        assert!(write_whole(&empty, &half).is_err());
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
        write_whole(&new, &[("a", b"1"), ("b", b"2")]).unwrap();
        assert_eq!(
            (fs::read(new.join("a")).unwrap(), fs::read(new.join("b")).unwrap()),
            (vec![b'1'], vec![b'2'])
        );
    }
}
