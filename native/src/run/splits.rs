//! The images that a run trains on and those that it is judged by.

use std::path::Path;

use anyhow::{Context as _, Result};
use simile_core::dataset::biased_mnist::{UNBIASED, biased_mnist};
use simile_core::dataset::cifar::Cifar;
use simile_core::dataset::colour_mnist::colour_mnist;
use simile_core::dataset::digits::{SIDE, draw_digits};
use simile_core::dataset::resize::{Interpolation, resize};
use simile_core::dataset::{Dataset, Images};
use simile_core::encoder::EncoderConfig;
use simile_core::train::TEST_SEED;

use crate::console::line;
use crate::data::{CifarSplits, Mnist, gather, load_cifar, load_imagenet32, load_mnist, load_stl10};
use crate::exit::usage;
use crate::recipe::Recipe;
use crate::recipe::data::{DataSection, DatasetName};

use super::pictures;

/// Seed of the choice of images to hold out; the same for every run, so that runs are compared on the same images.
const HOLD_OUT_SEED: u64 = 0;

/// Training images, and those that a probe is measured on: the test images, or held-out training images.
#[derive(Debug)]
pub(crate) struct Splits {
    pub(crate) train: Dataset,
    pub(crate) test: Dataset,
}

impl Splits {
    /// The data of a recipe. Training images keep their own size where its views are resized.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn of(recipe: &Recipe, folder: Option<&Path>) -> Result<Self> {
        let own_size = recipe.augment.size.is_some();
        Self::load(&recipe.data, folder, recipe.train.seed, &recipe.encoder, own_size)
    }

    /// Reads or generates the data of a recipe, in the size that its encoder takes, or in that of its files if
    /// `own_size` says that views are resized. `folder` holds the files of data sets that have any.
    ///
    /// # Errors
    /// A usage error if a folder is needed and none was named, or the encoder takes other channels; a failure if a file
    /// is missing or damaged.
    pub(crate) fn load(
        section: &DataSection,
        folder: Option<&Path>,
        seed: u64,
        encoder: &EncoderConfig,
        own_size: bool,
    ) -> Result<Self> {
        let (train, test) = read(section, folder, seed, encoder)?;
        let (train, test) = (first(train, section.train)?, first(test, section.test)?);
        // Held out before they are coloured: a validation set is coloured as the test set is.
        let (train, test) = match section.validation {
            0 => (train, test),
            held_out => train.split(held_out, HOLD_OUT_SEED).context("holding out images for validation")?,
        };
        let side = if own_size { train.images.height } else { SIDE };
        let (train, test) = coloured(section, train, test, side, seed)?;
        check_channels(&train.images, encoder)?;
        if own_size {
            return Ok(Self { train, test });
        }
        Ok(Self { train: fitted(train, encoder)?, test: fitted(test, encoder)? })
    }
}

/// Both splits as their files have them; drawn digits have their colours already.
fn read(
    section: &DataSection,
    folder: Option<&Path>,
    seed: u64,
    encoder: &EncoderConfig,
) -> Result<(Dataset, Dataset)> {
    let folder = || folder.ok_or_else(no_folder);
    let cifar = |which: Cifar| -> Result<(Dataset, Dataset)> {
        let CifarSplits { train, test, missing } = load_cifar(which, folder()?)?;
        if !missing.is_empty() {
            line(format_args!("without {}, which are not there", missing.join(", ")));
        }
        Ok((train, test))
    };
    match section.dataset {
        DatasetName::Digits => {
            let count = |given: Option<usize>| given.unwrap_or_default();
            let train = draw_digits(count(section.train), section.colours, seed)?;
            Ok((train, draw_digits(count(section.test), section.colours, seed ^ TEST_SEED)?))
        }
        DatasetName::Mnist | DatasetName::ColourMnist | DatasetName::BiasedMnist => {
            let Mnist { train, test } = load_mnist(folder()?)?;
            Ok((train, test))
        }
        DatasetName::Cifar10 => cifar(Cifar::Ten),
        DatasetName::Cifar100 => cifar(Cifar::Hundred),
        DatasetName::Stl10 => Ok(load_stl10(folder()?)?),
        DatasetName::Imagenet32 => Ok(load_imagenet32(folder()?)?),
        DatasetName::Table
        | DatasetName::Folders
        | DatasetName::Imagenet100
        | DatasetName::TinyImagenet
        | DatasetName::Caltech101
        | DatasetName::Caltech256
        | DatasetName::UtZappos50k
        | DatasetName::Cub200
        | DatasetName::Waterbirds
        | DatasetName::Utkface
        | DatasetName::Celeba
        | DatasetName::Chexpert => {
            let folder = folder()?;
            let gathered = gather(section, folder)?.ok_or_else(|| usage("`data.table` is missing"))?;
            pictures::read(section, &gathered, folder, encoder)
        }
    }
}

/// Grey digits as the recipe colours them, ColorMNIST's at a `side` of its own; anything else as it is.
fn coloured(
    section: &DataSection,
    train: Dataset,
    test: Dataset,
    side: usize,
    seed: u64,
) -> Result<(Dataset, Dataset)> {
    let colours = section.colours;
    Ok(match section.dataset {
        DatasetName::ColourMnist => (
            colour_mnist(&train, colours, side, seed)?,
            colour_mnist(&test, colours, side, seed ^ TEST_SEED)?,
        ),
        DatasetName::BiasedMnist => {
            let correlation = section.correlation.unwrap_or(UNBIASED);
            (biased_mnist(&train, correlation, seed)?, biased_mnist(&test, UNBIASED, seed ^ TEST_SEED)?)
        }
        _ => (train, test),
    })
}

fn check_channels(images: &Images, encoder: &EncoderConfig) -> Result<()> {
    let channels = images.channels;
    if channels == encoder.channels {
        return Ok(());
    }
    Err(usage(format_args!(
        "the images have {channels} channels and the encoder takes {}; set encoder.channels={channels}",
        encoder.channels
    )))
}

/// Images in the size that the encoder takes.
fn fitted(dataset: Dataset, encoder: &EncoderConfig) -> Result<Dataset> {
    let Images { height, width, .. } = dataset.images;
    let side = encoder.input_size;
    if (height, width) == (side, side) {
        return Ok(dataset);
    }
    let images = resize(&dataset.images, side, side, Interpolation::Bilinear)?;
    Ok(Dataset { images, ..dataset })
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
