//! `simile embed`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use image::DynamicImage;
use serde::Serialize;
use simile_core::checkpoint::Metadata;
use simile_core::dataset::Images;
use simile_core::matrix::Matrix;
use simile_core::preprocess::fit;

use crate::cli::Embed;
use crate::console::Console;
use crate::export::{Format, csv};
use crate::model;
use crate::run::splits::represent;

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
    let mut pixels = Vec::new();
    for path in &arguments.images {
        pixels.extend(read(path, &checkpoint.metadata)?.pixels);
    }
    let (side, channels) = (checkpoint.metadata.input_size, checkpoint.metadata.encoder.channels);
    let images = Images::new(side, side, channels, pixels)?;
    let vectors =
        represent(&checkpoint.encoder, &images, &model::normalisation(&checkpoint), &device.device)?;

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

/// A picture of any size, fitted to the encoder's input as the page does it.
fn read(path: &Path, metadata: &Metadata) -> Result<Images> {
    let picture = image::open(path).with_context(|| format!("cannot read the image {}", path.display()))?;
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let (channels, pixels) = match picture {
        DynamicImage::ImageLuma8(grey) => (1, grey.into_raw()),
        DynamicImage::ImageRgb8(colour) => (3, colour.into_raw()),
        other => (4, other.into_rgba8().into_raw()),
    };
    let picture = Images::new(height, width, channels, pixels)?;
    fit(&picture, metadata.input_size, metadata.input_size, metadata.encoder.channels)
        .with_context(|| format!("cannot fit the image {}", path.display()))
}
