//! The images that a run trains on and those that it is judged by.

use std::path::Path;

use anyhow::{Context as _, Result};
use simile_core::augment::{ImageStore, Normalisation};
use simile_core::dataset::colour_mnist::colour_mnist;
use simile_core::dataset::digits::{SIDE, draw_digits};
use simile_core::dataset::{Dataset, Images};
use simile_core::encoder::Encoder;
use simile_core::matrix::Matrix;
use simile_core::train::{Model, embed, score};

use crate::data::load_mnist;
use crate::exit::usage;
use crate::recipe::sections::{DataSection, DatasetName};

/// Seeds of generated images: the test split must share none with the training split.
const TEST_SEED: u64 = 1 << 63;
/// Seed of the choice of images to hold out; the same for every run, so that runs are compared on the same images.
const HOLD_OUT_SEED: u64 = 0;
/// Images that are embedded at once.
const BATCH: usize = 512;

/// Training images, and those that a probe is measured on: the test images, or held-out training images.
#[derive(Debug)]
pub(crate) struct Splits {
    pub(crate) train: Dataset,
    pub(crate) test: Dataset,
}

impl Splits {
    /// Reads or generates the data of a recipe. `folder` holds the files of data sets that have any.
    ///
    /// # Errors
    /// A usage error if a folder is needed and none was named; a failure if a file is missing or damaged.
    pub(crate) fn load(section: &DataSection, folder: Option<&Path>, seed: u64) -> Result<Self> {
        let colours = section.colours;
        let (train, test) = match section.dataset {
            DatasetName::Digits => {
                let count = |given: Option<usize>| given.unwrap_or_default();
                let train = draw_digits(count(section.train), colours, seed)?;
                (train, draw_digits(count(section.test), colours, seed ^ TEST_SEED)?)
            }
            DatasetName::ColourMnist => {
                let files = load_mnist(folder.ok_or_else(no_folder)?)?;
                let train = first(files.train, section.train)?;
                let test = first(files.test, section.test)?;
                (
                    colour_mnist(&train, colours, SIDE, seed)?,
                    colour_mnist(&test, colours, SIDE, seed ^ TEST_SEED)?,
                )
            }
        };
        match section.validation {
            0 => Ok(Self { train, test }),
            held_out => {
                let (train, test) =
                    train.split(held_out, HOLD_OUT_SEED).context("holding out images for validation")?;
                Ok(Self { train, test })
            }
        }
    }
}

/// The data set has files and nobody said where.
pub(crate) fn no_folder() -> anyhow::Error {
    usage("this data set has files; name their folder with --data DIR (`simile data list` says which)")
}

fn first(dataset: Dataset, count: Option<usize>) -> Result<Dataset> {
    match count {
        Some(count) if count < dataset.len() => Ok(dataset.subset(&(0..count).collect::<Vec<_>>())?),
        _ => Ok(dataset),
    }
}

/// The class scores of every image, `[n, classes]`.
///
/// # Errors
/// As [`represent`].
pub(crate) fn class_scores(
    model: &Model,
    images: &Images,
    normalisation: &Normalisation,
    device: &burn::tensor::Device,
) -> Result<Matrix> {
    let store = ImageStore::new(images, device);
    let batch = |range: std::ops::Range<usize>| normalisation.apply(store.batch(&range.collect::<Vec<_>>())?);
    Ok(pollster::block_on(score(model, store.len(), BATCH, batch))?)
}

/// The representation of every image, `[n, embedding size]`.
///
/// # Errors
/// If images do not fit the encoder, or a value is not finite.
pub(crate) fn represent(
    encoder: &Encoder,
    images: &Images,
    normalisation: &Normalisation,
    device: &burn::tensor::Device,
) -> Result<Matrix> {
    let store = ImageStore::new(images, device);
    let batch = |range: std::ops::Range<usize>| normalisation.apply(store.batch(&range.collect::<Vec<_>>())?);
    Ok(pollster::block_on(embed(encoder, store.len(), BATCH, batch))?)
}
