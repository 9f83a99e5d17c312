//! Checks that a training step fits into the memory of each of its devices, before any image is read: a batch that cannot fit is
//! refused with the size that would, where it would otherwise end the process in the middle of its first step.
//!
//! The first device of a process has the batch, so its sum is that of [`StepMemory::total`] and the training images that stay on the
//! device. Every other device computes chunks of the batch: its sum has a copy of the network and its chunks alone. Both are lower
//! bounds. The sum is compared with the memory of the device, and the largest tensor of the step with that which a GPU can allocate.

use anyhow::Result;
use simile_core::algorithm::{AlgorithmConfig, BatchStatistics, GradCacheSettings, StepSize};
use simile_core::train::{PictureForm, StepMemory, StoredPictures};

use super::available::{available, mebibytes};
use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::devices::{AvailableDevice, DeviceKind, DeviceSet};
use crate::exit::usage;
use crate::experiment::step_settings::{batches_ahead, side_of_pictures, step_settings, step_size};
use crate::units;

/// The share of the memory that a proposed batch may take by the estimate, which is a lower bound.
const SHARE_OF_PROPOSAL: f64 = 0.75;

/// The source of the number of bytes that a run may take on a device.
#[derive(Debug, Clone, Copy)]
enum MemorySource {
    /// The memory of the machine that is free now.
    Free,
    /// All memory of a GPU, as its driver reports it.
    Gpu,
    /// `SIMILE_MEMORY`.
    Variable,
}

/// The number of bytes that a run may take on a device.
#[derive(Debug, Clone, Copy)]
struct TotalMemory {
    bytes: u64,
    source: MemorySource,
}

impl TotalMemory {
    /// The limit as the reason of a refusal.
    fn reason(self, device: &AvailableDevice) -> String {
        let bytes = units::bytes(self.bytes.into());
        match self.source {
            MemorySource::Free => format!("{bytes} are free on {device}"),
            MemorySource::Gpu => format!("{device} has {bytes}"),
            MemorySource::Variable => format!("SIMILE_MEMORY allows {bytes}"),
        }
    }

    /// The limit after the word `of`.
    fn in_words(self) -> String {
        let bytes = units::bytes(self.bytes.into());
        match self.source {
            MemorySource::Free => format!("{bytes} of free memory"),
            MemorySource::Gpu => format!("{bytes} of memory"),
            MemorySource::Variable => format!("{bytes} that SIMILE_MEMORY allows"),
        }
    }
}

/// The limits of the memory of a device, as far as they are known.
#[derive(Debug, Clone, Copy)]
struct MemoryLimits {
    /// That of everything together.
    total: Option<TotalMemory>,
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
        let set_total = mebibytes("SIMILE_MEMORY", "the MiB of memory that a run may take on its device")?;
        let set_total = set_total.map(|bytes| TotalMemory { bytes, source: MemorySource::Variable });
        let (total, tensor) = match device.kind {
            DeviceKind::Cpu => (Some(TotalMemory { bytes: available(), source: MemorySource::Free }), None),
            _ => match simile_kernels::memory(&device.device) {
                Some(has) => {
                    let all = has.all.map(|bytes| TotalMemory { bytes, source: MemorySource::Gpu });
                    (all, Some(has.tensor))
                }
                None => (None, None),
            },
        };
        Ok(Self { total: set_total.or(total), tensor })
    }

    /// True if a step fits beside `resident` bytes of images.
    fn allow(self, step: &StepMemory, resident: u64) -> bool {
        let needed = step.total().saturating_add(resident);
        self.total.is_none_or(|most| needed <= most.bytes)
            && self.tensor.is_none_or(|most| step.largest <= most)
    }

    /// The limits for a batch that a message proposes.
    fn for_proposal(self) -> Self {
        let share = |total: TotalMemory| TotalMemory {
            bytes: (total.bytes as f64 * SHARE_OF_PROPOSAL) as u64,
            source: total.source,
        };
        Self { total: self.total.map(share), ..self }
    }
}

/// The training images of a run, or those of one of its devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrainingImages {
    /// Number of all of them.
    pub(crate) count: usize,
    /// Bytes of those that stay on the device.
    pub(crate) resident: u64,
}

/// A step of a variant on one of the devices of a process.
struct Step<'r> {
    recipe: &'r Recipe,
    variant: &'r RecipeVariant,
    device: &'r AvailableDevice,
    images: TrainingImages,
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
    fn check(&self, limits: MemoryLimits) -> Result<StepMemory> {
        let memory = self.memory(self.recipe.train.batch, self.variant.algorithm.clone())?;
        if limits.allow(&memory, self.images.resident) {
            return Ok(memory);
        }
        let device = self.device;
        let (key, count) = self.images_at_once();
        let remedy = self.remedy(limits.for_proposal())?;
        let needed = memory.total().saturating_add(self.images.resident);
        let limit = match limits.total.filter(|total| needed > total.bytes) {
            Some(total) => total.reason(device),
            None => format!(
                "its largest tensor {}, and {device} takes {} in one",
                units::bytes(memory.largest.into()),
                units::bytes(limits.tensor.unwrap_or_default().into())
            ),
        };
        Err(usage(format_args!(
            "`{key}` is {count}: a step of `{}` needs at least {} of memory, {} of it for what {} keeps for its backward pass, and \
             {limit}; {remedy}",
            self.variant.name,
            units::bytes(needed.into()),
            units::bytes(memory.activations.into()),
            self.recipe.encoder.config.name.name(),
        )))
    }

    /// The memory of the step with `batch` samples and a method, without the images that stay on the device.
    fn memory(&self, batch: usize, algorithm: AlgorithmConfig) -> Result<StepMemory> {
        let config = step_settings(self.recipe, self.variant, algorithm)?;
        let StepSize { samples, to_classify } = step_size(self.recipe, &config, batch);
        let at_most_all = |count: usize| count.min(self.images.count);
        let size = StepSize { samples: at_most_all(samples), to_classify: to_classify.map(at_most_all) };
        let helper_memory = if self.is_first { None } else { config.helper_memory(size, self.devices) };
        let side = side_of_pictures(self.recipe);
        let batch_bytes = (size.samples * config.encoder.channels * side * side) as u64;
        // Images that stay on a GPU are gathered there for each batch. Batches of others are read ahead, and wait there.
        let is_resident = self.images.resident > 0;
        let ahead = if is_resident { 0 } else { batches_ahead(batch_bytes) };
        let form = match self.device.kind {
            DeviceKind::Cpu if is_resident => PictureForm::InSet,
            DeviceKind::Cpu => PictureForm::Bytes,
            _ => PictureForm::Numbers,
        };
        let stored = StoredPictures { side, ahead, form };
        Ok(helper_memory.unwrap_or_else(|| config.step_memory(size, stored, self.devices)))
    }

    /// The key that sets how many images the network sees at once, and its value.
    fn images_at_once(&self) -> (&'static str, usize) {
        let batch = ("train.batch", self.recipe.train.batch);
        self.variant.algorithm.chunk().map_or(batch, |chunk| ("method.chunk", chunk))
    }

    /// The change of the recipe with which the step keeps the limits, in words.
    ///
    /// # Errors
    /// As the settings of the variant.
    fn remedy(&self, limits: MemoryLimits) -> Result<String> {
        let (algorithm, batch) = (&self.variant.algorithm, self.recipe.train.batch);
        let fits = |batch: usize, algorithm: AlgorithmConfig| -> Result<bool> {
            Ok(limits.allow(&self.memory(batch, algorithm)?, self.images.resident))
        };
        let smaller_batch = || largest(batch, |batch| fits(batch, algorithm.clone()));
        let smaller_chunk = |chunk: usize, statistics: BatchStatistics| {
            let cached = |chunk: usize| AlgorithmConfig::GradCache(GradCacheSettings { chunk, statistics });
            largest(chunk.min(batch), |chunk| fits(batch, cached(chunk)))
        };
        // `cached` takes the step of `single` with the activations of one chunk at a time, so it is proposed instead of `single`.
        let proposal = match algorithm {
            AlgorithmConfig::GradCache(GradCacheSettings { chunk, statistics }) => {
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

/// Checks that a step of every variant fits on each device, and says how much memory the largest takes. Images stay on the first device
/// alone.
///
/// # Errors
/// A usage error that names the batch or the chunk, and the largest that fits.
pub(crate) fn check_step(recipe: &Recipe, images: TrainingImages, devices: &DeviceSet) -> Result<()> {
    let (variants, count) = (recipe.variants(), devices.all().count());
    for (at, device) in devices.all().enumerate() {
        let is_first = at == 0;
        let resident = if is_first { images.resident } else { 0 };
        let images = TrainingImages { count: images.count.max(1), resident };
        let step = |variant| Step { recipe, variant, device, images, is_first, devices: count };
        check_device(device, is_first, variants.iter().map(step))?;
    }
    Ok(())
}

/// Checks that the steps of all variants fit on a device, and says how much memory the largest takes.
fn check_device<'r>(
    device: &AvailableDevice,
    is_first: bool,
    steps: impl Iterator<Item = Step<'r>>,
) -> Result<()> {
    let limits = MemoryLimits::of(device)?;
    let mut most: Option<u64> = None;
    for step in steps {
        let needed = step.check(limits)?.total().saturating_add(step.images.resident);
        most = most.max(Some(needed));
    }
    if let Some(needed) = most {
        let place = if is_first { String::new() } else { format!(" on {device}") };
        let limit = limits.total.map_or_else(|| "memory".to_owned(), TotalMemory::in_words);
        line(format_args!("a step takes at least {} of {limit}{place}", units::bytes(needed.into())));
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
