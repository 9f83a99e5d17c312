//! `simile embed`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde::Serialize;
use simile_core::augment::Normalisation;
use simile_core::augment::preprocess::middle;
use simile_core::data::{ImageSet, Images};
use simile_core::nn::checkpoint::Checkpoint;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::to_matrix;

use super::model_data;
use crate::cli::{Embed, Shard};
use crate::console::{Console, Progress, line};
use crate::data::listing::Listing;
use crate::data::settings::Fit;
use crate::data::{ResizeSpec, read_picture};
use crate::exit::{Interrupted, usage};
use crate::experiment::prepare::images::PreparedImages;
use crate::export::annotated;
use crate::export::vectors::{Format, csv};
use crate::interrupt;
use crate::run_folder::model;

/// Pictures in one forward pass. Shards are cut between passes, so that every picture is in the same pass however many
/// shards there are.
const PASS: usize = 64;
/// The pictures of a pass in words.
const UNIT: &str = "these pictures";

#[derive(Serialize)]
struct Answer {
    images: Vec<String>,
    vectors: Matrix,
}

#[derive(Serialize)]
struct Written {
    file: PathBuf,
    images: usize,
    dimensions: usize,
}

pub(super) fn run(arguments: &Embed, console: Console) -> Result<()> {
    let format = arguments.out.as_deref().map(Format::of).transpose()?;
    let device = arguments.device.device.open()?.device;
    let (file, said) = model::chosen(&arguments.model, arguments.variant.as_deref())?;
    said.iter().for_each(line);
    let checkpoint = model::load(&file, &device)?;
    let listing = match &arguments.list {
        Some(list) => listed(list)?,
        None if arguments.images.is_empty() => {
            let answer = own(arguments, &checkpoint, device)?;
            let Written { file, images, dimensions } = &answer;
            return console.answer(&answer, || format!("{}: {images} x {dimensions}", file.display()));
        }
        None => Listing::named(arguments.images.clone()),
    };
    let range = arguments.shard.unwrap_or(Shard::WHOLE).of(listing.count(), PASS);
    let (images, dimensions) = (range.len(), checkpoint.metadata.encoder.embedding_size());
    // Before there is a temporary file, which a signal would leave behind.
    interrupt::listen_between(UNIT)?;
    let files = listing.files(range);
    let embedder = Embedder { normalisation: model::normalisation(&checkpoint), checkpoint, device };
    match (&arguments.out, format) {
        (Some(file), Some(format)) => {
            let failed = || format!("cannot write {}", file.display());
            let mut vectors = format.begin(file, [images, dimensions]).with_context(failed)?;
            let (mut progress, mut done) = (Progress::new("embedding", 0, images as u64), 0);
            embedder.each(files, |names, rows| {
                vectors.push(names, rows).with_context(failed)?;
                done += names.len() as u64;
                progress.at(done, "");
                Ok(())
            })?;
            progress.finish();
            vectors.finish().with_context(failed)?;
            let written = Written { file: file.clone(), images, dimensions };
            console.answer(&written, || format!("{}: {images} x {dimensions}", file.display()))
        }
        _ => {
            let (mut names, mut values) = (Vec::with_capacity(images), Vec::new());
            embedder.each(files, |of_pass, rows| {
                names.extend_from_slice(of_pass);
                values.extend_from_slice(rows.data());
                Ok(())
            })?;
            let vectors = Matrix::new(names.len(), dimensions, values)?;
            let text = String::from_utf8(csv(&names, &vectors)?)?;
            console.answer(&Answer { images: names, vectors }, || text)
        }
    }
}

/// The pictures of a list.
///
/// # Errors
/// If it cannot be read; a usage error if it names none.
fn listed(list: &Path) -> Result<Listing> {
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
fn own(arguments: &Embed, checkpoint: &Checkpoint, device: Device) -> Result<Written> {
    if arguments.shard.is_some() {
        return Err(usage("--shard divides images that are named, or a list of them with --list"));
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
    let folder = model_data::folder(model, arguments.data.as_deref())?;
    let splits = model_data::splits(model, &recipe, folder.as_deref(), &device)?;
    let normalisation = model::normalisation(checkpoint);
    let sides = (checkpoint.metadata.input_size, checkpoint.metadata.resize);
    let features = |images: &ImageSet| {
        let prepared = PreparedImages::new(images, sides, &normalisation, &device);
        prepared.features_while(&checkpoint.encoder, &uninterrupted)
    };
    interrupt::listen_between(UNIT)?;
    let [images, dimensions] =
        annotated::write(&file, &splits, features).map_err(|error| match error.is::<Interrupted>() {
            true => error,
            false => error.context(format!("cannot write {}", file.display())),
        })?;
    Ok(Written { file, images, dimensions })
}

/// Fails once the user, or the system, has asked to stop.
///
/// # Errors
/// [`Interrupted`].
fn uninterrupted() -> Result<()> {
    if interrupt::is_requested() {
        return Err(Interrupted("nothing is kept; the same command begins again".into()).into());
    }
    Ok(())
}

/// An encoder and the form of its images.
struct Embedder {
    checkpoint: Checkpoint,
    normalisation: Normalisation,
    device: Device,
}

impl Embedder {
    /// Gives the names and the rows of each pass of [`PASS`] files to `keep`, in order.
    ///
    /// # Errors
    /// If a file cannot be read or is no picture, and as `keep`; [`Interrupted`] between passes if the user requests it.
    fn each(
        &self,
        mut files: impl Iterator<Item = Result<PathBuf>>,
        mut keep: impl FnMut(&[String], &Matrix) -> Result<()>,
    ) -> Result<()> {
        loop {
            let pass = files.by_ref().take(PASS).collect::<Result<Vec<PathBuf>>>()?;
            if pass.is_empty() {
                return Ok(());
            }
            uninterrupted()?;
            let names: Vec<String> = pass.iter().map(|path| path.display().to_string()).collect();
            keep(&names, &self.rows(&pass)?)?;
        }
    }

    fn rows(&self, files: &[PathBuf]) -> Result<Matrix> {
        let metadata = &self.checkpoint.metadata;
        let (side, channels) = (metadata.input_size, metadata.encoder.channels);
        let fit = if metadata.sees_whole_pictures() { Fit::Whole } else { Fit::Middle };
        let resize = ResizeSpec { side: metadata.resize.unwrap_or(side), channels, fit };
        let one =
            |path: &PathBuf| -> Result<Vec<u8>> { Ok(middle(&read_picture(path, resize)?, side)?.pixels) };
        let pixels = files.par_iter().map(one).collect::<Vec<_>>();
        // The first file in order that cannot be read is named.
        let pixels = pixels.into_iter().collect::<Result<Vec<_>>>()?.concat();
        let images = Images::new(side, side, channels, pixels)?;
        let prepared = PreparedImages::new(&images.into(), (side, None), &self.normalisation, &self.device);
        Ok(to_matrix(&prepared.features(&self.checkpoint.encoder)?)?)
    }
}
