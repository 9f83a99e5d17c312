//! Estimates the time of training all variants before the first one begins. For every method of the variants it measures some steps
//! on small batches and, if the run is long and there is time, on larger ones, up to a quarter of a full batch.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use simile_core::data::Dataset;
use simile_core::nn::checkpoint::Weights;
use simile_core::train::Trainer;

use crate::config::Recipe;
use crate::config::sections::RecipeVariant;
use crate::console::line;
use crate::devices::DeviceSet;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::prefetch::resident_limit;
use crate::experiment::prepare::solves::Solves;
use crate::experiment::session::Session;
use crate::experiment::train::loader::{DataLoader, solves};
use crate::experiment::train::trainer::{share, trainer_config};
use crate::interrupt;
use crate::report::time;

/// Images of the first measured batch.
const FIRST: usize = 4;
/// The next batch is larger by a factor in these bounds.
const GROWTH: [usize; 2] = [2, 16];
/// A full batch is at most so many times as large as the last measured one, if there is time for such a one.
const REACH: usize = 4;
/// The steps of a measurement, of which the first is not counted.
const STEPS: usize = 3;
/// Time in seconds that the measurement of all variants may take.
const MOST: f64 = 3.0;
/// The share of it for solves alone.
const SOLVES: f64 = 0.3;
/// In seconds: a solve that takes at most this long is done twice.
const QUICK: f64 = 0.1;
/// Samples of the first measured solve, of a full batch that has more: enough to be solved as that is.
const FIRST_SOLVE: usize = 2048;
/// In seconds: a run that is expected to take less is not measured more closely, and no estimate is printed.
const SHORT: f64 = 10.0;

/// The expected seconds of training all variants of a session's whole run, which are also printed. `None` if no step can be
/// measured; for a run in several processes, since one of them cannot take a step alone; and for a run on a GPU, whose first
/// steps compile kernels. A smoke test on a GPU measures full batches.
pub(super) fn estimate(session: &Session) -> Option<f64> {
    let Session { recipe, devices, splits, weights, .. } = session;
    if devices.has_gpu() && recipe.smoke.is_none() || !devices.processes.is_alone() {
        return None;
    }
    let seconds = training_seconds(recipe, &splits.train, devices, weights.as_ref())?;
    let (whole, count) = (recipe.whole(), recipe.variants().len());
    if recipe.smoke.is_none() && seconds >= SHORT {
        let size = format!("{} iterations of {} images", whole.iterations, whole.batch);
        let variants = if count == 1 { String::new() } else { format!("{count} variants of ") };
        line(format_args!("training {variants}{size} takes about {} on {devices}", time(seconds)));
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
    let images = whole.batch.min(train.len());
    let train = train.subset(&(0..images).collect::<Vec<_>>()).ok()?;
    let most = MOST / variants.len() as f64;
    let steps = (whole.iterations * variants.len()) as f64;
    // Steps without their solves, which differ between variants of the same method.
    let mut measured: Vec<(&RecipeVariant, f64)> = Vec::new();
    let mut seconds = 0.0;
    for variant in &variants {
        let before = measured.iter().find(|(other, _)| other.method == variant.method).map(|(_, pace)| *pace);
        let trial = Trial { recipe, variant, train: &train, devices, weights, most };
        let solves = trial.solves().ok()?;
        let solve = |samples| solves.as_ref().map_or(0.0, |solves| seconds_of(solves, samples));
        let of_solve = growing(images, SOLVES * most, solve);
        let pace = before.or_else(|| trial.seconds_a_step(steps, of_solve, solve))?;
        measured.push((variant, pace));
        seconds += trial.joined(pace, of_solve) * whole.iterations as f64;
    }
    // The measurement is not more precise than a millisecond.
    Some((1e3 * seconds).round() / 1e3)
}

/// The measurement of a variant.
struct Trial<'a> {
    recipe: &'a Recipe,
    variant: &'a RecipeVariant,
    /// The training images for one full batch, or all images if there are fewer.
    train: &'a Dataset,
    devices: &'a DeviceSet,
    weights: Option<&'a Arc<Weights>>,
    /// Time in seconds that the measurement of the variant may take.
    most: f64,
}

impl Trial<'_> {
    /// The seconds of a step on a full batch of the whole run, without its solve, which takes `of_solve`. `steps` is the number of such
    /// steps in all variants, and `solve` measures solves of smaller batches.
    fn seconds_a_step(&self, steps: f64, of_solve: f64, solve: impl Fn(usize) -> f64) -> Option<f64> {
        let (began, full) = (Instant::now(), self.recipe.whole().batch);
        let mut measured: Vec<(usize, f64)> = Vec::new();
        let mut batch = if self.devices.has_gpu() { full } else { FIRST.min(full) };
        loop {
            let [mut next, most] = GROWTH.map(|factor| batch * factor);
            let images = batch.min(self.train.len());
            if let Ok(seconds) = self.seconds(images) {
                let own = if self.devices.has_gpu() { 0.0 } else { solve(images) };
                measured.push((images, (seconds - own).max(0.0)));
                let left = self.most - began.elapsed().as_secs_f64();
                let affordable = (left / (STEPS as f64 * seconds) * images as f64) as usize;
                let of_full = extrapolated(&measured, full);
                let is_short = |of_full| self.joined(of_full, of_solve) * steps < SHORT;
                if of_full.is_some_and(is_short) || affordable < next.min(full) {
                    return of_full;
                }
                next = affordable.min(most).min(full.div_ceil(REACH)).max(next);
            }
            let is_enough = measured.len() > 1 && batch * REACH >= full;
            if batch >= full || is_enough || interrupt::is_requested() {
                return extrapolated(&measured, full);
            }
            batch = next.min(full);
        }
    }

    /// The seconds of a step with its solve: the processor does one beside the other, a GPU computes while the processor solves.
    fn joined(&self, pace: f64, of_solve: f64) -> f64 {
        if self.devices.has_gpu() { pace.max(of_solve) } else { pace + of_solve }
    }

    /// The solves of the variant's objective, if it has any.
    fn solves(&self) -> Result<Option<Solves>> {
        let &Self { recipe, variant, train, devices, .. } = self;
        solves(variant, &Context::new(&variant.objective, train, recipe.train.seed)?, &devices.first.device)
    }

    /// The seconds of a step on a batch of this size, after a first step that is not counted.
    fn seconds(&self, batch: usize) -> Result<f64> {
        let &Self { variant, train, devices, weights, .. } = self;
        let mut recipe = self.recipe.clone();
        // Batches are read ahead until the last iteration.
        (recipe.train.batch, recipe.train.iterations) = (batch, recipe.whole().iterations.max(STEPS));
        let device = &devices.first.device;
        let mut loader = DataLoader::with_resident_limit(resident_limit()?, variant, &recipe, train, device)?;
        let context = loader.context();
        let epoch = (train, loader.batches_per_epoch());
        let config = trainer_config(variant, &recipe, context, epoch, weights.cloned())?;
        let mut trainer = Trainer::new(config, &context.training_set(), device)?;
        share(&mut trainer, batch, devices)?;
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

/// The seconds of a solve for the first `samples`: the faster of two, unless one takes long.
fn seconds_of(solves: &Solves, samples: usize) -> f64 {
    let samples: Vec<usize> = (0..samples).collect();
    let once = || {
        let began = Instant::now();
        solves.at_once(&samples);
        began.elapsed().as_secs_f64()
    };
    let first = once();
    if first > QUICK { first } else { first.min(once()) }
}

/// The seconds of a solve for so many samples: measured, on ever more of them as long as twice as many seem to take at most `most`
/// seconds. From there on by their cube, as if no factors of lower rank were found.
fn growing(samples: usize, most: f64, solve: impl Fn(usize) -> f64) -> f64 {
    let mut measured = FIRST_SOLVE.min(samples);
    loop {
        let seconds = solve(measured);
        if measured == samples || 4.0 * seconds > most {
            return seconds * (samples as f64 / measured as f64).powi(3);
        }
        measured = samples.min(2 * measured);
    }
}

/// The seconds of a step on so many images, from those of smaller batches: on the line through the last two, because a part of a
/// step, such as the update, takes as long for any batch. In proportion to the last one where that line would begin below zero.
fn extrapolated(measured: &[(usize, f64)], images: usize) -> Option<f64> {
    let (&(last, seconds), before) = measured.split_last()?;
    let further = images.saturating_sub(last) as f64;
    let in_proportion = seconds + further * seconds / last.max(1) as f64;
    let Some(&(fewer, less)) = before.last().filter(|(fewer, _)| *fewer < last) else {
        return Some(in_proportion);
    };
    let of_image = ((seconds - less) / (last - fewer) as f64).max(0.0);
    Some(in_proportion.min(seconds + further * of_image))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn what_takes_as_long_for_any_batch_is_counted_once() {
        let of = |measured: &[(usize, f64)]| extrapolated(measured, 256);
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
            growing(samples, most, |samples| {
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
