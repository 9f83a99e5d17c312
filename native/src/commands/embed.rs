//! `simile embed`

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use simile_core::augment::preprocess::middle;
use simile_core::data::Images;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::to_matrix;

use crate::cli::Embed;
use crate::console::Console;
use crate::data::settings::Fit;
use crate::data::{ResizeSpec, read_picture};
use crate::experiment::prepare::images::PreparedImages;
use crate::export::vectors::{Format, csv};
use crate::run_folder::model;

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
    let device = arguments.device.device.open()?;
    let checkpoint = model::load(&arguments.model, &device.device)?;
    let (side, channels) = (checkpoint.metadata.input_size, checkpoint.metadata.encoder.channels);
    let resize = ResizeSpec { side: checkpoint.metadata.resize.unwrap_or(side), channels, fit: Fit::Middle };
    let mut pixels = Vec::new();
    for path in &arguments.images {
        pixels.extend(middle(&read_picture(path, resize)?, side)?.pixels);
    }
    let images = Images::new(side, side, channels, pixels)?;
    let normalisation = model::normalisation(&checkpoint);
    let vectors = PreparedImages::new(&images.into(), (side, None), &normalisation, &device.device)
        .features(&checkpoint.encoder)?;
    let vectors = to_matrix(&vectors)?;

    let names: Vec<String> = arguments.images.iter().map(|path| path.display().to_string()).collect();
    match (&arguments.out, format) {
        (Some(file), Some(format)) => {
            format.write(file, &names, &vectors)?;
            let (images, dimensions) = (vectors.rows(), vectors.columns());
            let written = Written { file: file.clone(), images, dimensions };
            console.answer(&written, || format!("{}: {images} x {dimensions}", file.display()))
        }
        _ => {
            let text = String::from_utf8(csv(&names, &vectors)?)?;
            console.answer(&Answer { images: names, vectors }, || text)
        }
    }
}
