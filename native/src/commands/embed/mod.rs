//! `simile embed`

mod embedder;
mod listing;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use burn::tensor::Device;
use serde::Serialize;
use simile_core::data::ImageSet;
use simile_core::nn::checkpoint::Checkpoint;
use simile_core::numeric::matrix::Matrix;

use self::embedder::{Embedder, PASS, uninterrupted};
use self::listing::Listing;
use super::shared::model_data;
use super::shared::named_data::refuse_folder_of_drawn;
use crate::cli::{Embed, Shard};
use crate::console::{Console, Progress, line};
use crate::data::keys::values::Broken;
use crate::exit::{Interrupted, usage};
use crate::experiment::prepare::images::{ImageForm, PreparedImages};
use crate::export::annotated;
use crate::export::vectors::{Format, csv};
use crate::interrupt;
use crate::peers;
use crate::run_folder::model;

/// The pictures of a pass in words.
const UNIT: &str = "these pictures";

#[derive(Serialize)]
struct Answer {
    images: Vec<String>,
    vectors: Matrix,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<usize>,
}

#[derive(Serialize)]
struct VectorFile {
    file: PathBuf,
    /// The number of rows.
    images: usize,
    dimensions: usize,
    /// The number of pictures that cannot be read, if such are skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<usize>,
}

impl VectorFile {
    fn text(&self) -> String {
        format!("{}: {} x {}", self.file.display(), self.images, self.dimensions)
    }
}

pub(super) fn run(arguments: &Embed, console: Console) -> Result<()> {
    if arguments.shard.is_none() {
        peers::refuse_several(
            "embed all of the pictures",
            Some("give each a part of a --list with --shard"),
        )?;
    }
    let format = arguments.out.as_deref().map(Format::of).transpose()?;
    let device = arguments.device.device.open()?.device;
    let (file, note) = model::chosen(&arguments.model, arguments.variant.name())?;
    note.iter().for_each(line);
    let checkpoint = model::load(&file, &device)?;
    let listing = match &arguments.list {
        Some(list) => listing_of(list)?,
        None if arguments.images.is_empty() => {
            let answer = embed_data_set(arguments, &checkpoint, device)?;
            return console.answer(&answer, || answer.text());
        }
        None => Listing::named(arguments.images.clone()),
    };
    let range = arguments.shard.unwrap_or(Shard::WHOLE).of(listing.count(), PASS);
    let count = range.len();
    // Before there is a temporary file, which a signal would leave behind.
    interrupt::listen_between(UNIT)?;
    let files = listing.files(range);
    let embedder = Embedder { checkpoint, device, broken: arguments.broken };
    match arguments.out.as_deref().zip(format) {
        Some(out) => {
            let vector_file = write(&embedder, (files, count), out)?;
            console.answer(&vector_file, || vector_file.text())
        }
        None => {
            let answer = answer(&embedder, (files, count))?;
            let text = String::from_utf8(csv(&answer.images, &answer.vectors)?)?;
            console.answer(&answer, || text)
        }
    }
}

/// Writes the rows of `count` files to a file of a format.
///
/// # Errors
/// As [`Embedder::each`]; if the file cannot be written.
fn write(
    embedder: &Embedder,
    (files, count): (impl Iterator<Item = Result<PathBuf>>, usize),
    (file, format): (&Path, Format),
) -> Result<VectorFile> {
    let failed = || format!("cannot write {}", file.display());
    let dimensions = embedder.dimensions();
    let mut vectors = format.begin(file, [count, dimensions]).with_context(failed)?;
    let (mut progress, mut done, mut images) = (Progress::new("embedding", 0, count as u64), 0, 0);
    let skipped = embedder.each(files, |pass| {
        // Rows of an array have no names: they follow the list.
        let rows = if format == Format::Npy { pass.with_gaps()? } else { pass.rows.clone() };
        if rows.rows() > 0 {
            vectors.push(&pass.names, &rows).with_context(failed)?;
        }
        images += rows.rows();
        done += (pass.names.len() + pass.broken.len()) as u64;
        progress.at(done, "");
        Ok(())
    })?;
    progress.finish();
    report_skipped(skipped, count, format == Format::Npy)?;
    vectors.finish().with_context(failed)?;
    Ok(VectorFile { file: file.into(), images, dimensions, skipped: embedder.skips().then_some(skipped) })
}

/// The rows of `count` files.
///
/// # Errors
/// As [`Embedder::each`].
fn answer(
    embedder: &Embedder,
    (files, count): (impl Iterator<Item = Result<PathBuf>>, usize),
) -> Result<Answer> {
    let (mut images, mut values) = (Vec::with_capacity(count), Vec::new());
    let skipped = embedder.each(files, |pass| {
        images.extend_from_slice(&pass.names);
        values.extend_from_slice(pass.rows.data());
        Ok(())
    })?;
    report_skipped(skipped, count, false)?;
    let vectors = Matrix::new(images.len(), embedder.dimensions(), values)?;
    Ok(Answer { images, vectors, skipped: embedder.skips().then_some(skipped) })
}

/// Says how many of `count` pictures were skipped, and whether they have rows.
///
/// # Errors
/// If all of them were skipped.
fn report_skipped(skipped: usize, count: usize, has_rows: bool) -> Result<()> {
    ensure!(
        skipped == 0 || skipped < count,
        "none of {count} pictures can be read, for the reasons above; name PNG, JPEG or WebP files"
    );
    if skipped > 0 {
        let rows = if has_rows { ", whose rows are NaN" } else { "" };
        line(format_args!("skipped: {skipped} of {count} pictures{rows}"));
    }
    Ok(())
}

/// The pictures of a list.
///
/// # Errors
/// If it cannot be read; a usage error if it names none.
fn listing_of(list: &Path) -> Result<Listing> {
    let listing = Listing::of(list)?;
    match listing.count() {
        0 => Err(usage(format_args!(
            "the list {} names no pictures; expected one path per line",
            list.display()
        ))),
        _ => Ok(listing),
    }
}

/// Writes the images that the model was trained and tested on, with their attributes.
fn embed_data_set(arguments: &Embed, checkpoint: &Checkpoint, device: Device) -> Result<VectorFile> {
    if arguments.shard.is_some() {
        return Err(usage("--shard divides images that are named, or a list of them with --list"));
    }
    if arguments.broken == Broken::Skip {
        return Err(usage(
            "--broken is for images that are named, or a list of them with --list; those of the model's data set follow its \
             recipe (data.broken)",
        ));
    }
    let (file, model) = match &arguments.out {
        Some(file) if Format::of(file)? == Format::Parquet => (file.clone(), &arguments.model),
        _ => {
            return Err(usage(
                "name images or a list of them; or, for the images that the model was trained and tested on, with class and \
                 attributes, a file with --out FILE.parquet",
            ));
        }
    };
    let instead = "name images, or a list of them with --list";
    let recipe = model_data::recipe(model, &checkpoint.metadata, instead)?;
    refuse_folder_of_drawn(&recipe.data, arguments.data.as_deref())?;
    let folder = model_data::folder(model, arguments.data.as_deref())?;
    let splits = model_data::splits(model, &recipe, folder.as_deref(), &device)?;
    let form = ImageForm::from(&checkpoint.metadata);
    let features = |images: &ImageSet| {
        let prepared = PreparedImages::new(images, &form, &device);
        prepared.features_while(&checkpoint.encoder, &uninterrupted)
    };
    annotated::left_out(&splits).iter().for_each(line);
    interrupt::listen_between(UNIT)?;
    let [images, dimensions] =
        annotated::write(&file, &splits, features).map_err(|error| match error.is::<Interrupted>() {
            true => error,
            false => error.context(format!("cannot write {}", file.display())),
        })?;
    Ok(VectorFile { file, images, dimensions, skipped: None })
}
