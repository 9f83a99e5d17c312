//! Estimates the time of training all variants before the first one begins: the sum over the variants of the iterations times the
//! seconds of a step.
//!
//! A step has two parts. One is the solve of the objective, if its condition has to be solved for; it needs no network. The other is
//! the rest, called the bare step here. A processor does one after the other, so their seconds add up. A GPU computes the bare step
//! while the processor solves, so the longer one counts.
//!
//! Both parts are measured on smaller batches and extrapolated to a full one: the solve for each variant, the bare step once for each
//! method, because variants of one method differ in their solves alone. The bare step is measured on a few images first. If the run is
//! long and there is time, larger batches follow, up to a quarter of a full one. On a GPU it is measured on a full batch.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use simile_core::data::Dataset;
use simile_core::nn::checkpoint::Weights;

use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::devices::DeviceSet;
use crate::experiment::memory::counts::most_samples;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::prefetch::resident_limit;
use crate::experiment::prepare::solves::Solves;
use crate::experiment::session::Session;
use crate::experiment::train::loader::{DataLoader, solves};
use crate::experiment::train::trainer::TrainerInputs;
use crate::interrupt;
use crate::units;

/// Images of the first measured batch.
const FIRST_BATCH: usize = 4;
/// The next measured batch is larger by a factor from the first of these to the second.
const GROWTH: [usize; 2] = [2, 16];
/// If there is time, batches are measured until a full one is at most so many times as large.
const EXTRAPOLATION: usize = 4;
/// The steps that are taken for each measured batch. The first is not counted.
const STEPS: usize = 3;
/// Seconds that the measurement of all variants may take.
const BUDGET: f64 = 3.0;
/// The share of the budget for solves alone.
const SOLVE_SHARE: f64 = 0.3;
/// A solve that takes at most so many seconds is done twice.
const QUICK_SOLVE: f64 = 0.1;
/// Samples of the first measured solve if a full batch has more. So many are solved by the same method as a full batch.
const FIRST_SOLVE: usize = 2048;
/// A run that is expected to take fewer seconds is not measured more closely, and no estimate is printed.
const SHORT_RUN: f64 = 10.0;

/// The expected seconds of training all variants of a session's whole run, which are also printed. `None` if no step can be
/// measured; for a run in several processes, since one of them cannot take a step alone; and for a run on a GPU, whose first
/// steps compile kernels. A smoke test on a GPU measures full batches.
pub(super) fn estimate(session: &Session) -> Option<f64> {
    let Session { recipe, devices, splits, weights, .. } = session;
    if devices.has_gpu() && recipe.smoke.is_none() || !devices.processes.is_alone() {
        return None;
    }
    let seconds = training_seconds(recipe, &splits.train, devices, weights.as_ref())?;
    if recipe.smoke.is_none() && seconds >= SHORT_RUN {
        let variants = recipe.variants();
        let batches = variants.iter().map(|variant| full_batch(recipe, variant, splits.train.len()));
        let (iterations, batch) = (recipe.train.iterations, batches.max().unwrap_or_default());
        let size = format!("{iterations} iterations of {batch} images");
        let variants =
            if variants.len() == 1 { String::new() } else { format!("{} variants of ", variants.len()) };
        line(format_args!("training {variants}{size} takes about {} on {devices}", units::seconds(seconds)));
    }
    Some(seconds)
}

/// The seconds of training all variants of the whole run, measured on some of its training images. `None` if no step can be taken.
pub(crate) fn training_seconds(
    recipe: &Recipe,
    train: &Dataset,
    devices: &DeviceSet,
    weights: Option<&Arc<Weights>>,
) -> Option<f64> {
    let (whole, variants) = (recipe.whole(), recipe.variants());
    let full_batches: Vec<usize> =
        variants.iter().map(|variant| full_batch(recipe, variant, train.len())).collect();
    let images = whole.batch.min(train.len());
    let train = train.subset(&(0..images).collect::<Vec<_>>()).ok()?;
    let budget = BUDGET / variants.len() as f64;
    let steps = (whole.iterations * variants.len()) as f64;
    // The seconds of a bare step, with the first variant of each method and batch.
    let mut bare_steps: Vec<(&RecipeVariant, usize, f64)> = Vec::new();
    let mut seconds = 0.0;
    for (variant, full_batch) in variants.iter().zip(full_batches) {
        let trial = Trial { recipe, variant, full_batch, train: &train, devices, weights, budget };
        let solves = trial.solves().ok()?;
        let time_solve = |samples| solves.as_ref().map_or(0.0, |solves| seconds_of_solve(solves, samples));
        let full_solve = seconds_of_full_solve(images, SOLVE_SHARE * budget, time_solve);
        let is_same = |(other, batch, _): &&(&RecipeVariant, usize, f64)| {
            (&other.algorithm, *batch) == (&variant.algorithm, full_batch)
        };
        let bare_step = match bare_steps.iter().find(is_same) {
            Some(&(.., measured)) => measured,
            None => trial.seconds_of_bare_step(steps, full_solve, time_solve)?,
        };
        bare_steps.push((variant, full_batch, bare_step));
        seconds += trial.seconds_of_step(bare_step, full_solve) * whole.iterations as f64;
    }
    // The measurement is not more precise than a millisecond.
    Some((1e3 * seconds).round() / 1e3)
}

/// The images of a full batch of a variant in the whole run. If none comes twice, they are no more than the training images, of which a
/// smoke test has fewer than the run.
fn full_batch(recipe: &Recipe, variant: &RecipeVariant, images: usize) -> usize {
    let batch = recipe.whole().batch;
    match recipe.smoke {
        Some(_) => batch,
        None => most_samples(variant, batch, images).unwrap_or(batch.min(images)),
    }
}

/// A variant whose steps are measured.
struct Trial<'a> {
    recipe: &'a Recipe,
    variant: &'a RecipeVariant,
    /// The images of a full batch of the whole run.
    full_batch: usize,
    /// The training images for one full batch, or all images if there are fewer.
    train: &'a Dataset,
    devices: &'a DeviceSet,
    weights: Option<&'a Arc<Weights>>,
    /// Seconds that the measurement of the variant may take.
    budget: f64,
}

impl Trial<'_> {
    /// The seconds of a bare step on a full batch of the whole run; `None` if no batch can be measured. A solve for a full batch takes
    /// `full_solve`, and the run has `steps` steps of all variants: if all of these seem to take little time, no larger batch is
    /// measured. `time_solve` measures solves for smaller batches.
    fn seconds_of_bare_step(
        &self,
        steps: f64,
        full_solve: f64,
        time_solve: impl Fn(usize) -> f64,
    ) -> Option<f64> {
        let (began, full) = (Instant::now(), self.full_batch);
        let is_short_run = |bare_step| self.seconds_of_step(bare_step, full_solve) * steps < SHORT_RUN;
        // The images of each measured batch, and the seconds of a bare step on it.
        let mut measured: Vec<(usize, f64)> = Vec::new();
        let mut batch = if self.devices.has_gpu() { full } else { FIRST_BATCH.min(full) };
        loop {
            let [mut next, largest_next] = GROWTH.map(|factor| batch * factor);
            let images = batch.min(self.train.len());
            // Some objectives are not defined on a few images: then the next batch is tried.
            if let Ok(seconds) = self.time_steps(images) {
                // A GPU computes while the processor solves, so its steps are not longer by the solve.
                let solve = if self.devices.has_gpu() { 0.0 } else { time_solve(images) };
                measured.push((images, (seconds - solve).max(0.0)));
                let seconds_left = self.budget - began.elapsed().as_secs_f64();
                // The batch that can be measured in the time that is left, if time is in proportion to images.
                let affordable = (seconds_left / (STEPS as f64 * seconds) * images as f64) as usize;
                let full_step = extrapolated_step(&measured, full);
                if full_step.is_some_and(is_short_run) || affordable < next.min(full) {
                    return full_step;
                }
                next = affordable.min(largest_next).min(full.div_ceil(EXTRAPOLATION)).max(next);
            }
            let is_near_full = measured.len() > 1 && batch * EXTRAPOLATION >= full;
            if batch >= full || is_near_full || interrupt::is_requested() {
                return extrapolated_step(&measured, full);
            }
            batch = next.min(full);
        }
    }

    /// The seconds of a step from those of its bare step and its solve: a processor does one after the other, while a GPU computes as
    /// the processor solves.
    fn seconds_of_step(&self, bare_step: f64, solve: f64) -> f64 {
        if self.devices.has_gpu() { bare_step.max(solve) } else { bare_step + solve }
    }

    /// The solves of the variant's objective, if it has any.
    fn solves(&self) -> Result<Option<Solves>> {
        let &Self { recipe, variant, train, devices, .. } = self;
        solves(variant, &Context::new(&variant.objective, train, recipe.train.seed)?, &devices.first.device)
    }

    /// The measured seconds of a step with its solve on a batch of this size, after a first step that is not counted.
    fn time_steps(&self, batch: usize) -> Result<f64> {
        let &Self { variant, train, devices, weights, .. } = self;
        let mut recipe = self.recipe.clone();
        // The loader reads batches ahead until the last iteration, so the trial has as many iterations as the whole run.
        (recipe.train.batch, recipe.train.iterations) = (batch, recipe.whole().iterations.max(STEPS));
        let device = &devices.first.device;
        let mut loader = DataLoader::with_resident_limit(resident_limit()?, variant, &recipe, train, device)?;
        let inputs = TrainerInputs { variant, recipe: &recipe, train, devices, weights };
        let mut trainer = inputs.trainer(loader.context(), loader.batches_per_epoch(), None)?;
        let mut step = || -> Result<()> {
            loader.step(&mut trainer)?;
            device.sync().context("waiting for the device")
        };
        step()?;
        // The faster one, because other programs can only slow a step down.
        let mut fastest = f64::INFINITY;
        for _ in 1..STEPS {
            let began = Instant::now();
            step()?;
            fastest = fastest.min(began.elapsed().as_secs_f64());
        }
        Ok(fastest)
    }
}

/// The measured seconds of a solve for the first `samples`: the faster of two, unless one takes long.
fn seconds_of_solve(solves: &Solves, samples: usize) -> f64 {
    let samples: Vec<usize> = (0..samples).collect();
    let once = || {
        let began = Instant::now();
        solves.at_once(&samples);
        began.elapsed().as_secs_f64()
    };
    let first = once();
    if first > QUICK_SOLVE { first } else { first.min(once()) }
}

/// The seconds of a solve for all `samples` of a full batch. `time_solve` measures solves for more and more samples, twice as many each
/// time, as long as the next seems to take at most `most` seconds. From the last one on time grows by the cube of the samples, as if
/// no factors of lower rank were found.
fn seconds_of_full_solve(samples: usize, most: f64, time_solve: impl Fn(usize) -> f64) -> f64 {
    let mut measured = FIRST_SOLVE.min(samples);
    loop {
        let seconds = time_solve(measured);
        // Twice as many samples take about four times as long.
        if measured == samples || 4.0 * seconds > most {
            return seconds * (samples as f64 / measured as f64).powi(3);
        }
        measured = samples.min(2 * measured);
    }
}

/// The seconds of a bare step on so many images, from the measured images and seconds of smaller batches; `None` if there are none. It
/// is on the line through the last two, because a part of a step, such as the update, takes as long for any batch. It is in proportion
/// to the last one where that line would begin below zero.
fn extrapolated_step(measured: &[(usize, f64)], images: usize) -> Option<f64> {
    let (&(last, seconds), before) = measured.split_last()?;
    let further = images.saturating_sub(last) as f64;
    let in_proportion = seconds + further * seconds / last.max(1) as f64;
    let Some(&(fewer, fewer_seconds)) = before.last().filter(|(fewer, _)| *fewer < last) else {
        return Some(in_proportion);
    };
    let seconds_an_image = ((seconds - fewer_seconds) / (last - fewer) as f64).max(0.0);
    Some(in_proportion.min(seconds + further * seconds_an_image))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::config::sections::SmokeSection;
    use crate::config::testing::with_iterations;

    /// The time was that of a batch of `train.batch` images, however few there were.
    #[test]
    fn a_batch_has_no_more_images_than_there_are_unless_some_come_twice() {
        let mut recipe = with_iterations(2);
        recipe.train.batch = 1_000_000_000;
        let mut variant = recipe.variants().remove(0);
        assert_eq!(full_batch(&recipe, &variant, 96), 96);
        variant.objective.oversample = Some(10.0);
        assert_eq!(full_batch(&recipe, &variant, 96), 1_000_000_000);
        variant.objective.oversample = None;
        recipe.smoke = Some(SmokeSection { iterations: 2, batch: 512 });
        assert_eq!(full_batch(&recipe, &variant, 96), 512, "the run has more images");
    }

    #[test]
    fn what_takes_as_long_for_any_batch_is_counted_once() {
        let of = |measured: &[(usize, f64)]| extrapolated_step(measured, 256);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(8, 0.5)]), Some(16.0));
        // A quarter of a second, and 1/32 of one for each image.
        assert_eq!(of(&[(8, 0.5), (16, 0.75)]), Some(8.25));
        assert_eq!(of(&[(4, 9.0), (8, 0.5), (16, 0.75)]), Some(8.25), "the last two count");
        // More than in proportion.
        assert_eq!(of(&[(8, 0.25), (16, 1.0)]), Some(16.0));
        // Other programs made the smaller batch slow.
        assert_eq!(of(&[(8, 0.75), (16, 0.5)]), Some(0.5));
        assert_eq!(of(&[(8, 0.5), (8, 0.5)]), Some(16.0), "no more images than these");
    }

    #[test]
    fn solves_are_measured_while_there_is_time_and_then_grow_by_the_cube() {
        let asked = RefCell::new(Vec::new());
        let of = |samples, most| {
            asked.borrow_mut().clear();
            // An eighth of a second for 2048 samples.
            seconds_of_full_solve(samples, most, |samples| {
                asked.borrow_mut().push(samples);
                (samples as f64 / 4096.0).powi(3)
            })
        };
        assert_eq!((of(1024, 0.0), asked.take()), (0.015625, vec![1024]));
        assert_eq!((of(4096, 0.4), asked.take()), (1.0, vec![2048]));
        assert_eq!((of(3072, 0.5), asked.take()), (0.421875, vec![2048, 3072]));
        assert_eq!((of(16384, 0.5), asked.take()), (64.0, vec![2048, 4096]));
    }
}
