//! The answer of a profile: the costs of its steps, by variant.

use std::path::PathBuf;

use serde::Serialize;

use super::cost::Cost;

/// The measured steps of a recipe.
#[derive(Debug, Serialize)]
pub(crate) struct Profile {
    pub(crate) recipe: String,
    pub(crate) device: String,
    pub(crate) batch: usize,
    /// The file of all stages, which Perfetto and `chrome://tracing` open.
    pub(crate) trace: PathBuf,
    #[serde(rename = "arms")]
    pub(crate) variants: Vec<VariantProfile>,
}

/// The measured steps of a variant.
#[derive(Debug, Serialize)]
pub(crate) struct VariantProfile {
    pub(crate) name: String,
    /// Number of steps.
    pub(crate) steps: usize,
    /// Milliseconds of a step, measured over all steps without waiting for the device between them.
    pub(crate) step_ms: f64,
    /// Milliseconds of a step in which the host prepares it and submits work to the device; on a CPU that is the whole step.
    pub(crate) host_ms: f64,
    /// The part of these milliseconds in which the host waits for threads that prepare ahead.
    pub(crate) waiting: WaitingTime,
    /// Images a second, of which each gives two views.
    pub(crate) images_per_second: f64,
    /// The stages of the same number of further steps, in each of which the host waits for the device at the end of
    /// every stage. Their sum may exceed the time of a step, in which host and device work at the same time.
    pub(crate) stages: Vec<StageTime>,
    /// Kernels that a step starts on a GPU, the most frequent first; empty on a CPU.
    pub(crate) launches: Vec<KernelLaunches>,
    /// The arithmetic, memory traffic and uploads of a full batch, by formula.
    pub(crate) cost: Cost,
}

/// Milliseconds in a step in which it waits for other threads of the host.
#[derive(Debug, Serialize)]
pub(crate) struct WaitingTime {
    /// For images that are read ahead; none if they lie on the device.
    pub(crate) images_ms: Option<f64>,
    /// For solves of the objective; none if it has none.
    pub(crate) solves_ms: Option<f64>,
}

/// The time of a stage in a step.
#[derive(Debug, Serialize)]
pub(crate) struct StageTime {
    pub(crate) name: &'static str,
    /// Milliseconds in a step, without those of the stages inside it.
    pub(crate) ms: f64,
    /// The share of all stages.
    pub(crate) share: f64,
}

/// The launches of a kernel.
#[derive(Debug, Serialize)]
pub(crate) struct KernelLaunches {
    pub(crate) kernel: String,
    /// The mean number in a step.
    pub(crate) per_step: f64,
}
