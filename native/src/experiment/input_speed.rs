//! The speed at which images reach a network: read and decoded once, then batch after batch of views, as a run makes them, but
//! without a network.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use simile_core::train::{Purpose, stream};

use crate::config::Recipe;
use crate::console::{Progress, line};
use crate::devices::DeviceSet;
use crate::exit::Interrupted;
use crate::experiment::memory::used::UsedMemory;
use crate::experiment::prepare::splits::Splits;
use crate::experiment::train::loader::DataLoader;
use crate::interrupt;

/// The measured input of a recipe.
#[derive(Debug, Serialize)]
pub(crate) struct InputSpeed {
    pub(crate) recipe: String,
    pub(crate) device: String,
    pub(crate) batch: usize,
    /// Training and evaluation images.
    pub(crate) images: usize,
    /// Seconds in which these were read: decoded, or looked up in the cache.
    pub(crate) read_seconds: f64,
    /// The epochs, each of the training images.
    pub(crate) epochs: Vec<Epoch>,
    /// Bytes of host memory in the end, without pages of files.
    pub(crate) host_bytes: Option<u64>,
}

/// A measured epoch.
#[derive(Debug, Serialize)]
pub(crate) struct Epoch {
    /// Images of which views were made.
    pub(crate) images: usize,
    pub(crate) seconds: f64,
    /// Seconds in which a batch was waited for, its images and its solve; none if the images lie on the device and nothing is
    /// solved.
    pub(crate) waited_seconds: Option<f64>,
    pub(crate) images_per_second: f64,
}

/// Measures some epochs of the images of a recipe's first variant.
///
/// # Errors
/// As the run itself would: the data cannot be read, or do not suit the recipe; [`Interrupted`] if the user requests it.
pub(crate) fn measure_input(
    mut recipe: Recipe,
    data: Option<PathBuf>,
    devices: &DeviceSet,
    epochs: usize,
) -> Result<InputSpeed> {
    recipe.train.set_device_defaults(devices.has_gpu());
    let began = Instant::now();
    let splits = Splits::of(&recipe, data.as_deref())?;
    let read_seconds = began.elapsed().as_secs_f64();
    // Until here a signal ends the program at once.
    interrupt::listen()?;

    let device = &devices.first.device;
    let variants = recipe.variants();
    let variant = variants.first().context("the recipe has no objective")?;
    let mut loader = DataLoader::new(variant, &recipe, &splits.train, device)?;
    let steps = loader.batches_per_epoch();
    ensure!(steps > 0, "an epoch has no batch; lower train.batch");
    let end = epochs as u64 * steps;
    line(format_args!("{}: {epochs} epochs of {steps} batches on {devices}", variant.name));
    let mut progress = Progress::new(&variant.name, 0, end);
    let mut measured = Vec::with_capacity(epochs);
    for epoch in 0..epochs as u64 {
        let (began, mut images) = (Instant::now(), 0);
        for step in epoch * steps..(epoch + 1) * steps {
            let mut rng = stream(recipe.train.seed, Purpose::Augmentation, step);
            images += loader.batch(step, end, &mut rng)?.images;
            if interrupt::is_requested() {
                return Err(Interrupted("nothing is kept; measure again".into()).into());
            }
            progress.at(step + 1, "");
        }
        device.sync().context("waiting for the device")?;
        let seconds = began.elapsed().as_secs_f64();
        let waited_seconds = loader.take_waited().sum().map(|waited| waited.as_secs_f64());
        let images_per_second = images as f64 / seconds;
        measured.push(Epoch { images, seconds, waited_seconds, images_per_second });
    }
    progress.finish();
    Ok(InputSpeed {
        recipe: recipe.name.clone(),
        device: devices.to_string(),
        batch: recipe.train.batch,
        images: splits.train.len() + splits.evaluated.dataset.len(),
        read_seconds,
        epochs: measured,
        host_bytes: UsedMemory::now(device).host,
    })
}
