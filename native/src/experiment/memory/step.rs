//! Checks that a training step fits into the memory of each of its devices, before any image is read: a batch that cannot fit is
//! refused with the size that would, where it would otherwise end the process in the middle of its first step.
//!
//! The first device of a process has the batch, so its sum is that of [`StepMemory::total`] and the training images that stay on the
//! device. Every other device computes chunks of the batch: its sum has a copy of the network and its chunks alone. Both are lower
//! bounds. The sum is compared with the memory of the device, and the largest tensor of the step with that which a GPU can allocate.

use anyhow::Result;
use simile_core::algorithm::{AlgorithmConfig, BatchStatistics, CachedSettings, StepSize};
use simile_core::train::{StepMemory, StoredPictures};

use super::available::{available, mebibytes};
use super::with_unit;
use crate::config::Recipe;
use crate::config::sections::RecipeVariant;
use crate::console::line;
use crate::devices::{AvailableDevice, DeviceKind, DeviceSet};
use crate::exit::usage;
use crate::experiment::step_settings::{batches_ahead, side_of_pictures, step_settings, step_size};

/// The share of the memory that a proposed batch may take by the estimate, which is a lower bound.
const SHARE_OF_PROPOSAL: f64 = 0.75;

/// The limits of the memory of a device, as far as they are known.
#[derive(Debug, Clone, Copy)]
struct MemoryLimits {
    /// Bytes of everything together.
    total: Option<u64>,
    /// Bytes of one tensor.
    tensor: Option<u64>,
}

impl MemoryLimits {
    /// For the CPU, the free memory of the machine; for a GPU, the limits that its driver reports. `SIMILE_MEMORY` gives the total in
    /// MiB.
    ///
    /// # Errors
    /// A usage error if that is no whole number.
    fn of(device: &AvailableDevice) -> Result<Self> {
        let given = mebibytes("SIMILE_MEMORY", "the MiB of memory that a run may take on its device")?;
        let (total, tensor) = match device.kind {
            DeviceKind::Cpu => (Some(available()), None),
            _ => {
                simile_kernels::memory(&device.device).map_or((None, None), |has| (has.all, Some(has.tensor)))
            }
        };
        Ok(Self { total: given.or(total), tensor })
    }

    /// True if a step fits beside `resident` bytes of images.
    fn allow(self, step: &StepMemory, resident: u64) -> bool {
        let needed = step.total().saturating_add(resident);
        self.total.is_none_or(|most| needed <= most) && self.tensor.is_none_or(|most| step.largest <= most)
    }

    /// The limits for a batch that a message proposes.
    fn for_proposal(self) -> Self {
        let total = self.total.map(|total| (total as f64 * SHARE_OF_PROPOSAL) as u64);
        Self { total, ..self }
    }
}

/// A step of a variant on one of the devices of a process.
struct Step<'r> {
    recipe: &'r Recipe,
    variant: &'r RecipeVariant,
    /// Number of training images.
    images: usize,
    /// Bytes of the training images that stay on this device.
    resident: u64,
    /// True for the device that has the batch, false for one that computes chunks of it.
    is_first: bool,
    /// Number of devices that share the step.
    devices: usize,
}

impl Step<'_> {
    /// The memory of the step, if the device has so much.
    ///
    /// # Errors
    /// A usage error that names the batch or the chunk, and the largest that fits.
    fn check(&self, device: &AvailableDevice, limits: MemoryLimits) -> Result<StepMemory> {
        let memory = self.memory(self.recipe.train.batch, self.variant.method())?;
        if limits.allow(&memory, self.resident) {
            return Ok(memory);
        }
        let (key, count) = self.images_at_once();
        let remedy = self.remedy(limits.for_proposal())?;
        let needed = memory.total().saturating_add(self.resident);
        let limit = match limits.total.filter(|total| needed > *total) {
            Some(total) => format!("{device} has {}", with_unit(total.into())),
            None => format!(
                "its largest tensor {}, and {device} takes {} in one",
                with_unit(memory.largest.into()),
                with_unit(limits.tensor.unwrap_or_default().into())
            ),
        };
        Err(usage(format_args!(
            "`{key}` is {count}: a step of `{}` needs at least {} of memory, {} of it for what {} keeps for its backward pass, and \
             {limit}; {remedy}",
            self.variant.name,
            with_unit(needed.into()),
            with_unit(memory.activations.into()),
            self.recipe.encoder.config.name.name(),
        )))
    }

    /// The memory of the step with `batch` samples and a method, without the images that stay on the device.
    fn memory(&self, batch: usize, method: AlgorithmConfig) -> Result<StepMemory> {
        let config = step_settings(self.recipe, self.variant, method)?;
        let StepSize { samples, classified } = step_size(self.recipe, &config, batch);
        let at_most_all = |count: usize| count.min(self.images);
        let size = StepSize { samples: at_most_all(samples), classified: classified.map(at_most_all) };
        let of_helper = if self.is_first { None } else { config.helper_memory(size, self.devices) };
        let side = side_of_pictures(self.recipe);
        let batch_bytes = (size.samples * config.encoder.channels * side * side) as u64;
        // Images that stay on the device are gathered there for each batch. Batches of others are read ahead, and wait there.
        let ahead = if self.resident > 0 { 0 } else { batches_ahead(batch_bytes) };
        let stored = StoredPictures { side, ahead };
        Ok(of_helper.unwrap_or_else(|| config.step_memory(size, stored, self.devices)))
    }

    /// The key that sets how many images the network sees at once, and its value.
    fn images_at_once(&self) -> (&'static str, usize) {
        match self.variant.method() {
            AlgorithmConfig::Cached(CachedSettings { chunk, .. }) => ("method.chunk", chunk),
            _ => ("train.batch", self.recipe.train.batch),
        }
    }

    /// The change of the recipe with which the step keeps the limits, in words.
    ///
    /// # Errors
    /// As the settings of the variant.
    fn remedy(&self, limits: MemoryLimits) -> Result<String> {
        let (method, batch) = (self.variant.method(), self.recipe.train.batch);
        let fits = |batch: usize, method: AlgorithmConfig| -> Result<bool> {
            Ok(limits.allow(&self.memory(batch, method)?, self.resident))
        };
        let smaller_batch = || largest(batch, |batch| fits(batch, method.clone()));
        let smaller_chunk = |chunk: usize, statistics: BatchStatistics| {
            let cached = |chunk: usize| AlgorithmConfig::Cached(CachedSettings { chunk, statistics });
            largest(chunk.min(batch), |chunk| fits(batch, cached(chunk)))
        };
        // `cached` takes the step of `single` with the activations of one chunk at a time, so it is proposed instead of `single`.
        let proposal = match &method {
            AlgorithmConfig::Cached(CachedSettings { chunk, statistics }) => {
                smaller_chunk(*chunk, *statistics)?.map(|chunk| format!("lower it to {chunk}"))
            }
            AlgorithmConfig::Single(_) => smaller_chunk(batch, BatchStatistics::default())?.map(|chunk| {
                format!(
                    "`method = {{ name = \"cached\", chunk = {chunk} }}` takes the step in chunks that fit, or lower \
                     train.batch to {chunk}"
                )
            }),
            _ => smaller_batch()?.map(|batch| format!("lower it to {batch}")),
        };
        Ok(match proposal {
            Some(proposal) => proposal,
            None => match smaller_batch()? {
                Some(batch) => format!("lower train.batch to {batch}"),
                None => "no batch fits; take smaller images, encoder.input_size, or another encoder".into(),
            },
        })
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
    let (limits, is_first) = (MemoryLimits::of(device)?, at == 0);
    let resident = if is_first { resident } else { 0 };
    let mut most: Option<StepMemory> = None;
    for variant in &recipe.variants() {
        let step = Step { recipe, variant, images: images.max(1), resident, is_first, devices };
        let memory = step.check(device, limits)?;
        most = most.into_iter().chain([memory]).max_by_key(StepMemory::total);
    }
    if let Some(most) = most {
        let of_total =
            limits.total.map(|total| format!(" of {}", with_unit(total.into()))).unwrap_or_default();
        let needed = most.total().saturating_add(resident);
        let place = if is_first { String::new() } else { format!(" on {device}") };
        line(format_args!("a step takes at least {}{of_total} of memory{place}", with_unit(needed.into())));
    }
    Ok(())
}

/// The largest count below `count` that fits, if one does: a multiple of 16 unless that is 0.
fn largest(count: usize, fits: impl Fn(usize) -> Result<bool>) -> Result<Option<usize>> {
    // `low` fits or is 0; `high` does not fit, as far as is known.
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
