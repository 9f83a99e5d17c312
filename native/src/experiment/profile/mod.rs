//! Measures some training steps of every variant, as a whole and by stage, to show where their time goes.

pub(crate) mod answer;
pub(crate) mod cost;
mod spans;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use burn::tensor::Device;
use simile_core::nn::checkpoint::Weights;
use simile_core::train::Trainer;
use simile_kernels::LaunchCounter;

use self::answer::{KernelLaunches, Profile, StageTime, VariantProfile, WaitingTime};
use self::cost::Cost;
use self::spans::{Recorded, RecordedStages, Spans};
use self::trace::TraceFile;
use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::console::{Progress, line};
use crate::devices::DeviceSet;
use crate::exit::{Interrupted, usage};
use crate::experiment::prepare::weights;
use crate::experiment::run::{Prepared, prepare};
use crate::experiment::train::loader::{DataLoader, WaitedTime};
use crate::experiment::train::trainer::TrainerInputs;
use crate::experiment::train::tuning::Tuning;
use crate::interrupt;

/// Number of steps before the measurement, in which devices compile and choose their kernels.
const WARM_UP: usize = 3;

/// Measures `steps` steps of every variant, and writes their stages to the file `trace`.
///
/// # Errors
/// As the run itself would: the data cannot be read, or a step fails; a usage error if a variant's first stage of training
/// has fewer steps; a failure if the file cannot be written; [`Interrupted`] if the user requests it.
pub(crate) fn profile(
    recipe: Recipe,
    data: Option<PathBuf>,
    devices: DeviceSet,
    steps: usize,
    trace: &Path,
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
        let measured = profile_variant(&prepared, &variant, weights.as_ref(), steps);
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
    weights: Option<&Arc<Weights>>,
    steps: usize,
) -> Result<(VariantProfile, RecordedStages)> {
    let Prepared { recipe, devices, splits, .. } = prepared;
    let device = &devices.first.device;
    let loader = DataLoader::new(variant, recipe, &splits.train, device)?;
    let inputs = TrainerInputs { variant, recipe, train: &splits.train, devices, weights };
    let trainer = inputs.trainer(loader.context(), loader.batches_per_epoch(), None)?;

    line(format_args!("{}: measuring {steps} steps twice on {devices}", variant.name));
    let progress = Progress::new(&variant.name, 0, (WARM_UP + 2 * steps) as u64);
    let mut training = Training { trainer, loader, progress };
    let (spans, recorded) = Spans::listen(device.clone());
    // Threads that work for the steps start in the first step; their stages are recorded from then on.
    let tuning = Tuning::new(&variant.name, devices.has_gpu());
    let passes = || training.passes(tuning, steps, device, &recorded);
    let passes = tracing::subscriber::with_default(spans, passes);
    let MeasuredSteps { seconds, images, host_time, waited, launches } = passes?;
    training.progress.finish();
    let stages = recorded.finish();
    let in_step = |time: Duration| 1e3 * time.as_secs_f64() / steps as f64;
    let waiting =
        WaitingTime { images_ms: waited.images.map(in_step), solves_ms: waited.solves.map(in_step) };
    let profile = VariantProfile {
        name: variant.name.clone(),
        steps,
        step_ms: 1e3 * seconds / steps as f64,
        host_ms: in_step(host_time),
        waiting,
        images_per_second: images as f64 / seconds,
        stages: times(&stages, steps),
        launches: sorted(launches, steps),
        cost: Cost::of(recipe, variant)?,
    };
    Ok((profile, stages))
}

/// The time of steps that did not wait for the device in between.
struct MeasuredSteps {
    seconds: f64,
    images: usize,
    /// The time until the host began to wait for the device at their end.
    host_time: Duration,
    waited: WaitedTime,
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
    fn passes(
        &mut self,
        tuning: Tuning,
        steps: usize,
        device: &Device,
        recorded: &Recorded,
    ) -> Result<MeasuredSteps> {
        self.run(WARM_UP, device, Some(tuning))?;
        self.loader.take_waited();
        let launches = LaunchCounter::count();
        let started = Instant::now();
        let (images, host_time) = self.run(steps, device, None)?;
        let seconds = started.elapsed().as_secs_f64();
        let (waited, launches) = (self.loader.take_waited(), launches.finish());
        recorded.begin();
        self.run(steps, device, None)?;
        Ok(MeasuredSteps { seconds, images, host_time, waited, launches })
    }

    /// Takes some steps, reads the loss as a run does at its log lines, and waits for the device. Returns the number of images, and
    /// the time of the host before it waits. With `tuning`, steps that tune kernels are announced; their device is waited for.
    fn run(
        &mut self,
        steps: usize,
        device: &Device,
        mut tuning: Option<Tuning>,
    ) -> Result<(usize, Duration)> {
        let (started, mut images) = (Instant::now(), 0);
        for _ in 0..steps {
            if self.trainer.awaits_scores() {
                let done = self.trainer.step_number();
                return Err(usage(format_args!("its first stage has only {done} steps; measure fewer")));
            }
            images += spans::step(|| self.step(device, tuning.as_mut()))?;
            if interrupt::is_requested() {
                return Err(Interrupted("a profile keeps nothing; run it again".into()).into());
            }
            self.progress.at(self.trainer.step_number(), "");
        }
        let host_time = started.elapsed();
        pollster::block_on(self.trainer.mean_loss())?;
        device.sync().context("waiting for the device")?;
        Ok((images, host_time))
    }

    /// Takes the next step, announced if it tunes kernels; returns the number of images.
    fn step(&mut self, device: &Device, tuning: Option<&mut Tuning>) -> Result<usize> {
        let Some(tuning) = tuning else { return self.loader.step(&mut self.trainer) };
        let first = tuning.before_first_batch();
        let batch = self.loader.next(&self.trainer)?;
        tuning.step(first, batch, &mut self.trainer, device)
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
