//! The memory of a step beside that of the device, before any image is read: a batch that cannot fit is refused with the size
//! that would, where it would otherwise end the process in the middle of its first step.

use anyhow::Result;
use simile_core::algorithm::{AlgorithmConfig, BatchStatistics, CachedSettings, StepSize};
use simile_core::train::{StepMemory, StoredPictures};

use super::available::{available, mebibytes};
use super::size;
use crate::config::Recipe;
use crate::config::sections::RecipeVariant;
use crate::console::line;
use crate::devices::{AvailableDevice, DeviceKind, DeviceSet};
use crate::exit::usage;
use crate::experiment::step_settings::{batches_ahead, side_of_pictures, step_settings, step_size};

/// The share of the memory that a proposed batch may take by the estimate, which is a lower bound.
const SHARE: f64 = 0.75;

/// The memory of a device, as far as it is known.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Bytes for everything.
    all: Option<u64>,
    /// Bytes for one tensor.
    tensor: Option<u64>,
}

impl Room {
    /// The free memory of the machine for its CPU; the memory that the driver of a GPU reports. `SIMILE_MEMORY` gives it in
    /// MiB.
    ///
    /// # Errors
    /// A usage error if that is no whole number.
    fn of(device: &AvailableDevice) -> Result<Self> {
        let given = mebibytes("SIMILE_MEMORY", "the MiB of memory that a run may take on its device")?;
        let (all, tensor) = match device.kind {
            DeviceKind::Cpu => (Some(available()), None),
            _ => {
                simile_kernels::memory(&device.device).map_or((None, None), |has| (has.all, Some(has.tensor)))
            }
        };
        Ok(Self { all: given.or(all), tensor })
    }

    /// True if a step fits beside `resident` bytes of images.
    fn holds(self, step: &StepMemory, resident: u64) -> bool {
        let needed = step.total().saturating_add(resident);
        self.all.is_none_or(|all| needed <= all) && self.tensor.is_none_or(|most| step.largest <= most)
    }

    fn with_reserve(self) -> Self {
        Self { all: self.all.map(|all| (all as f64 * SHARE) as u64), ..self }
    }
}

/// A step of a variant on one of its devices.
struct Step<'r> {
    recipe: &'r Recipe,
    variant: &'r RecipeVariant,
    /// Number of training images.
    images: usize,
    /// Bytes of these that stay on the device.
    resident: u64,
    /// True for the device that has the batch, false for one that computes chunks of it.
    is_first: bool,
    /// Number of devices that share it.
    devices: usize,
}

impl Step<'_> {
    /// The memory of a step on a batch of `batch` samples by a method.
    fn memory(&self, batch: usize, method: AlgorithmConfig) -> Result<StepMemory> {
        let config = step_settings(self.recipe, self.variant, method)?;
        let StepSize { samples, classified } = step_size(self.recipe, &config, batch);
        let at_most = |count: usize| count.min(self.images);
        let size = StepSize { samples: at_most(samples), classified: classified.map(at_most) };
        let side = side_of_pictures(self.recipe);
        let bytes = (size.samples * config.encoder.channels * side * side) as u64;
        let ahead = if self.resident > 0 { 0 } else { batches_ahead(bytes) };
        let of_helper = if self.is_first { None } else { config.helper_memory(size, self.devices) };
        let stored = StoredPictures { side, ahead };
        Ok(of_helper.unwrap_or_else(|| config.step_memory(size, stored, self.devices)))
    }

    /// The key that sets the number of images at once, its value, and the remedy with the largest value that fits.
    ///
    /// # Errors
    /// As the settings of the variant.
    fn remedy(&self, fits: impl Fn(&StepMemory) -> bool) -> Result<(&'static str, usize, String)> {
        let batch = self.recipe.train.batch;
        let statistics = match self.variant.method() {
            AlgorithmConfig::Cached(cached) => cached.statistics,
            _ => BatchStatistics::default(),
        };
        let cached = |chunk: usize| AlgorithmConfig::Cached(CachedSettings { chunk, statistics });
        let chunked = |chunk: usize| self.memory(batch, cached(chunk));
        let (key, count, of) = match self.variant.method() {
            AlgorithmConfig::Cached(CachedSettings { chunk, .. }) => {
                ("method.chunk", chunk, largest(chunk.min(batch), |chunk| Ok(fits(&chunked(chunk)?)))?)
            }
            AlgorithmConfig::Single(_) => {
                ("train.batch", batch, largest(batch, |chunk| Ok(fits(&chunked(chunk)?)))?)
            }
            method => {
                let whole = |batch: usize| self.memory(batch, method.clone());
                ("train.batch", batch, largest(batch, |batch| Ok(fits(&whole(batch)?)))?)
            }
        };
        let remedy = match (self.variant.method(), of) {
            (AlgorithmConfig::Single(_), Some(chunk)) => format!(
                "`method = {{ name = \"cached\", chunk = {chunk} }}` takes the step in chunks that fit, or lower \
                 train.batch to {chunk}"
            ),
            (_, Some(count)) => format!("lower it to {count}"),
            (method, None) => match largest(batch, |batch| Ok(fits(&self.memory(batch, method.clone())?)))? {
                Some(batch) => format!("lower train.batch to {batch}"),
                None => "no batch fits; take smaller images, encoder.input_size, or another encoder".into(),
            },
        };
        Ok((key, count, remedy))
    }
}

/// Checks that a step of every variant fits on each device, and says how much memory the largest takes. `images` is the number of
/// training images, of which `resident` bytes stay on the first device.
///
/// # Errors
/// A usage error that names the batch or the chunk, and the largest that fits.
pub(crate) fn check_step(recipe: &Recipe, images: (usize, u64), devices: &DeviceSet) -> Result<()> {
    let count = devices.all().count();
    devices.all().enumerate().try_for_each(|at| check_device(recipe, images, at, count))
}

fn check_device(
    recipe: &Recipe,
    (images, resident): (usize, u64),
    (at, device): (usize, &AvailableDevice),
    devices: usize,
) -> Result<()> {
    let (room, is_first) = (Room::of(device)?, at == 0);
    let resident = if is_first { resident } else { 0 };
    let mut most: Option<StepMemory> = None;
    for variant in &recipe.variants() {
        let step = Step { recipe, variant, images: images.max(1), resident, is_first, devices };
        let memory = step.memory(recipe.train.batch, variant.method())?;
        if room.holds(&memory, resident) {
            most = most.into_iter().chain([memory]).max_by_key(StepMemory::total);
            continue;
        }
        let (key, count, remedy) = step.remedy(|memory| room.with_reserve().holds(memory, resident))?;
        let needed = memory.total().saturating_add(resident);
        let limit = match room.all.filter(|all| needed > *all) {
            Some(all) => format!("{device} has {}", size(all.into())),
            None => format!(
                "its largest tensor {}, and {device} takes {} in one",
                size(memory.largest.into()),
                size(room.tensor.unwrap_or_default().into())
            ),
        };
        return Err(usage(format_args!(
            "`{key}` is {count}: a step of `{}` needs at least {} of memory, {} of it for what {} keeps for its backward pass, and \
             {limit}; {remedy}",
            variant.name,
            size(needed.into()),
            size(memory.activations.into()),
            recipe.encoder.config.name.name(),
        )));
    }
    if let Some(most) = most {
        let free = room.all.map(|all| format!(" of {}", size(all.into()))).unwrap_or_default();
        let needed = most.total().saturating_add(resident);
        let place = if is_first { String::new() } else { format!(" on {device}") };
        line(format_args!("a step takes at least {}{free} of memory{place}", size(needed.into())));
    }
    Ok(())
}

/// The largest count below `count` that fits, if one does: a multiple of 16 unless that is 0.
fn largest(count: usize, fits: impl Fn(usize) -> Result<bool>) -> Result<Option<usize>> {
    let (mut low, mut high) = (0, count);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if fits(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(match low {
        0 => None,
        1..16 => Some(low),
        _ => Some(low / 16 * 16),
    })
}
