//! Measures some training steps of every variant, as a whole and by stage, to show where their time goes.

pub(crate) mod cost;
mod spans;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use serde::Serialize;
use simile_core::nn::checkpoint::Weights;
use simile_core::train::Trainer;
use simile_kernels::Launches;

use self::cost::Cost;
use self::spans::{Recorded, RecordedStages, Spans};
use self::trace::TraceFile;
use crate::config::Recipe;
use crate::config::sections::RecipeVariant;
use crate::console::{Progress, line};
use crate::devices::DeviceSet;
use crate::exit::{Interrupted, usage};
use crate::experiment::prepare::weights;
use crate::experiment::run::{Prepared, prepare};
use crate::experiment::train::loader::{DataLoader, Waited};
use crate::experiment::train::trainer::{share, trainer_config};
use crate::interrupt;

/// Number of steps before the measurement, in which devices compile and choose their kernels.
const WARM_UP: usize = 3;

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

/// Measures `steps` steps of every variant, and writes their stages to the file `trace`.
///
/// # Errors
/// As the run itself would: the data cannot be read, or a step fails; a usage error if a variant's first stage of training
/// has fewer steps; a failure if the file cannot be written; [`Interrupted`] if the user requests it.
pub(crate) fn profile(
    recipe: Recipe,
    data: Option<PathBuf>,
    devices: DeviceSet,
    (steps, trace): (usize, &Path),
) -> Result<Profile> {
    // A file that cannot be written is an error before the data are read.
    drop(TraceFile::begin(trace)?);
    let mut prepared = prepare(recipe, data, devices)?;
    // From here on a signal leaves no temporary file behind.
    let mut events = TraceFile::begin(trace)?;
    let weights = match &prepared.weights {
        Some(bytes) => Some(weights::begin(&mut prepared.recipe, bytes)?),
        None => None,
    };
    // Batches are read and conditions solved ahead until the last iteration: those that are measured are before it.
    let iterations = &mut prepared.recipe.train.iterations;
    *iterations = (*iterations).max(WARM_UP + 2 * steps);
    let mut variants = Vec::new();
    for variant in prepared.recipe.variants() {
        let measured = profile_variant(&prepared, &variant, weights.clone(), steps);
        let (profile, stages) = measured.with_context(|| format!("variant `{}`", variant.name))?;
        events.add(&variant.name, &stages);
        variants.push(profile);
    }
    events.finish()?;
    Ok(Profile {
        recipe: prepared.recipe.name.clone(),
        device: prepared.devices.to_string(),
        batch: prepared.recipe.train.batch,
        trace: trace.to_owned(),
        variants,
    })
}

fn profile_variant(
    prepared: &Prepared,
    variant: &RecipeVariant,
    weights: Option<Arc<Weights>>,
    steps: usize,
) -> Result<(VariantProfile, RecordedStages)> {
    let Prepared { recipe, devices, splits, .. } = prepared;
    let device = &devices.first.device;
    let loader = DataLoader::new(variant, recipe, &splits.train, device)?;
    let context = loader.context();
    let epoch = (&splits.train, loader.batches_per_epoch());
    let config = trainer_config(variant, recipe, context, epoch, weights)?;
    let mut trainer = Trainer::new(config, &context.training_set(), device).map_err(usage)?;
    share(&mut trainer, recipe.train.batch, devices)?;

    line(format_args!("{}: measuring {steps} steps twice on {devices}", variant.name));
    let progress = Progress::new(&variant.name, 0, (WARM_UP + 2 * steps) as u64);
    let mut training = Training { trainer, loader, progress };
    let (spans, recorded) = Spans::listen(device.clone());
    // Threads that work for the steps start in the first step; their stages are recorded from then on.
    let passes = tracing::subscriber::with_default(spans, || training.passes(steps, device, &recorded));
    let Undisturbed { seconds, images, of_host, waited, launches } = passes?;
    training.progress.finish();
    let stages = recorded.finish();
    let in_step = |time: Duration| 1e3 * time.as_secs_f64() / steps as f64;
    let waiting =
        WaitingTime { images_ms: waited.images.map(in_step), solves_ms: waited.solves.map(in_step) };
    let profile = VariantProfile {
        name: variant.name.clone(),
        steps,
        step_ms: 1e3 * seconds / steps as f64,
        host_ms: in_step(of_host),
        waiting,
        images_per_second: images as f64 / seconds,
        stages: times(&stages, steps),
        launches: sorted(launches, steps),
        cost: Cost::of(recipe, variant)?,
    };
    Ok((profile, stages))
}

/// The time of steps that did not wait for the device in between.
struct Undisturbed {
    seconds: f64,
    images: usize,
    /// The time until the host began to wait for the device at their end.
    of_host: Duration,
    waited: Waited,
    launches: BTreeMap<String, u64>,
}

/// A variant in training, without its run folder.
struct Training {
    trainer: Trainer,
    loader: DataLoader,
    progress: Progress,
}

impl Training {
    /// Takes steps to warm up, measures others as a whole, and records the stages of the same number of further ones.
    fn passes(&mut self, steps: usize, device: &Device, recorded: &Recorded) -> Result<Undisturbed> {
        self.run(WARM_UP, device)?;
        self.loader.take_waited();
        let launches = Launches::count();
        let started = Instant::now();
        let (images, of_host) = self.run(steps, device)?;
        let seconds = started.elapsed().as_secs_f64();
        let (waited, launches) = (self.loader.take_waited(), launches.finish());
        recorded.begin();
        self.run(steps, device)?;
        Ok(Undisturbed { seconds, images, of_host, waited, launches })
    }

    /// Takes some steps, reads the loss as a run does at its log lines, and waits for the device. Returns the number of images, and
    /// the time of the host before it waits.
    fn run(&mut self, steps: usize, device: &Device) -> Result<(usize, Duration)> {
        let (started, mut images) = (Instant::now(), 0);
        for _ in 0..steps {
            if self.trainer.awaits_scores() {
                let done = self.trainer.step_number();
                return Err(usage(format_args!("its first stage has only {done} steps; measure fewer")));
            }
            images += spans::step(|| self.loader.step(&mut self.trainer))?;
            if interrupt::is_requested() {
                return Err(Interrupted("a profile keeps nothing; run it again".into()).into());
            }
            self.progress.at(self.trainer.step_number(), "");
        }
        let of_host = started.elapsed();
        pollster::block_on(self.trainer.mean_loss())?;
        device.sync().context("waiting for the device")?;
        Ok((images, of_host))
    }
}

/// The mean time of every stage in a step.
fn times(stages: &RecordedStages, steps: usize) -> Vec<StageTime> {
    let by_name = stages.own_seconds();
    let all: f64 = by_name.iter().map(|(_, seconds)| seconds).sum();
    let time = |(name, seconds): (&'static str, f64)| StageTime {
        name,
        ms: 1e3 * seconds / steps as f64,
        share: if all > 0.0 { seconds / all } else { 0.0 },
    };
    by_name.into_iter().map(time).collect()
}

fn sorted(launches: BTreeMap<String, u64>, steps: usize) -> Vec<KernelLaunches> {
    let mut sorted: Vec<_> = launches.into_iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mean = |(kernel, count)| KernelLaunches { kernel, per_step: count as f64 / steps as f64 };
    sorted.into_iter().map(mean).collect()
}
