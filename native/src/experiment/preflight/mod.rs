//! Checks before a run has a folder: all stages after training are run once, with random features of some images
//! instead of those of a network, so that a run which would fail at its end fails at once.

mod figures;
mod keys;
mod leak_warnings;
mod probes;
mod stand_in;
mod warnings;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use self::figures::check_figures;
use self::keys::{check_attributes, check_evaluated, check_ridge, place_of};
use self::probes::check_probes;
use self::warnings::{Doubts, doubts};
use crate::config::Recipe;
use crate::config::variant::RecipeVariant;
use crate::console::line;
use crate::devices::DeviceSet;
use crate::exit::{Subject, message_with_causes, usage, usage_about};
use crate::experiment::memory::counts;
use crate::experiment::memory::step::{TrainingImages, check_step};
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::order::Order;
use crate::experiment::prepare::prefetch::resident_limit;
use crate::experiment::prepare::splits::Splits;
use crate::experiment::step_settings::side_of_pictures;
use crate::experiment::train::trainer::TrainerInputs;
use crate::run_folder::record::{KernelFaults, Warnings};

pub(crate) use self::leak_warnings::{WarningTerms, class_warning, leak_warnings};
pub(super) use self::probes::metric_names;
pub(crate) use self::probes::{check_classes, check_measured};
pub(super) use self::warnings::{print_unreached_stage_warnings, unreached_stage_warnings};

/// Checks that every device computes in the recipe's precision.
///
/// # Errors
/// A usage error that names the key, and says which networks or devices do.
pub(super) fn check_precision(recipe: &Recipe, devices: &DeviceSet) -> Result<()> {
    for device in devices.all() {
        let checked = recipe.train.precision.check(&recipe.encoder.config, &device.device);
        let place = || recipe.origin.of(&["train", "precision"]);
        checked.map_err(|error| usage(format_args!("{}{error}", place())))?;
    }
    Ok(())
}

/// Checks that a step fits on every device; `images` is the number of training images.
///
/// # Errors
/// A usage error that names the batch or the chunk, and the largest that fits.
pub(super) fn check_memory(recipe: &Recipe, images: usize, devices: &DeviceSet) -> Result<()> {
    let side = side_of_pictures(recipe) as u64;
    let bytes = side * side * recipe.encoder.config.channels as u64 * images as u64;
    let resident = if bytes <= resident_limit()? { bytes } else { 0 };
    // Each process has its part of a batch.
    let mut own = recipe.clone();
    own.train.batch = recipe.train.batch.div_ceil(devices.processes.count());
    check_step(&own, TrainingImages { count: images, resident }, devices).map_err(|error| {
        match devices.processes.count() {
            1 => error,
            count => usage(format_args!(
                "{error}; these are the numbers of one process, and a batch is divided among {count}"
            )),
        }
    })
}

/// The warnings and metrics of a run, as far as they are known before it begins.
pub(super) struct PreflightReport {
    /// The warnings of each variant but those that depend on the length of the run.
    pub(super) warnings: Warnings,
    pub(super) kernel_faults: KernelFaults,
    /// The names of the metrics that its variants will have, or can have.
    pub(super) metrics: BTreeSet<String>,
}

/// Prepares every variant without images: its condition, its clusters, its networks, its probes and its figures. Prints the
/// warnings.
///
/// # Errors
/// A usage error if the run would fail later.
pub(super) fn preflight(recipe: &Recipe, splits: &Splits, devices: &DeviceSet) -> Result<PreflightReport> {
    let Splits { train, evaluated, .. } = splits;
    check_evaluated(recipe, evaluated)?;
    check_attributes(recipe, train)?;
    check_ridge(recipe, train)?;
    let probe_warnings = leak_warnings::probe_warnings(recipe, train, evaluated);
    counts::check_run(recipe, train)?;
    let metrics = check_probes(recipe, splits)?;
    let (mut warnings, mut kernel_faults) = (Warnings::new(), KernelFaults::new());
    for variant in recipe.variants() {
        let doubts = check_variant(&variant, recipe, splits, devices).map_err(|error| {
            let place = recipe.origin.of(&place_of(recipe, &variant, &error));
            error.context(format!("{place}variant `{}`", variant.name))
        })?;
        let Doubts { warnings: mut variant_warnings, kernel } = doubts;
        variant_warnings
            .iter()
            .for_each(|warning| line(format_args!("warning: {}: {warning}", variant.name)));
        variant_warnings.extend(probe_warnings.iter().cloned());
        kernel_faults.extend(kernel.map(|fault| (variant.name.clone(), fault)));
        warnings.insert(variant.name, variant_warnings);
    }
    print_unreached_stage_warnings(recipe);
    probe_warnings.iter().for_each(|warning| line(format_args!("warning: {warning}")));
    for measured in &recipe.probe.objectives {
        let name = &measured.objective.name;
        Context::new(&measured.objective, &evaluated.dataset, recipe.train.seed)
            .with_context(|| format!("{}measuring `{name}`", recipe.origin.of(&["probe", "objectives"])))?;
    }
    Ok(PreflightReport { warnings, kernel_faults, metrics })
}

/// The refusal of a run in which a stage after training would fail.
fn would_fail(error: anyhow::Error) -> anyhow::Error {
    usage(format_args!("the evaluation would fail: {}", message_with_causes(&error)))
}

/// Checks that a variant can be trained and drawn, and returns the doubts about its settings.
fn check_variant(
    variant: &RecipeVariant,
    recipe: &Recipe,
    splits: &Splits,
    devices: &DeviceSet,
) -> Result<Doubts> {
    let train = &splits.train;
    let context = Context::new(&variant.objective, train, recipe.train.seed)?;
    drop(Order::of(&variant.objective, &context, recipe.train.sampling(train.len()))?);
    let inputs = TrainerInputs { variant, recipe, train, devices, weights: None };
    let trainer = inputs.trainer(&context, 1, None)?;
    let scores = trainer.config().head.output;
    if let Some(width) = recipe.head.output.filter(|&width| width != scores) {
        line(format_args!(
            "{}: its network gives {scores} scores; `head.output`, {width}, is the width of projections",
            variant.name
        ));
    }
    // Its figures would fail too, as if only the evaluation read too many columns.
    if let (Some(kernel), Some(z)) = (warnings::kernel(&variant.objective), context.condition()) {
        kernel.fits(&z).map_err(|error| usage_about(Subject::ObjectiveKey("kernel"), error))?;
    }
    check_figures(variant, recipe, splits)?;
    doubts(variant, recipe, &context, train)
}
