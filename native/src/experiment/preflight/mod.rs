//! Checks before a run has a folder: all stages after training are run once, with random features of some images
//! instead of those of a network, so that a run which would fail at its end fails at once.

mod batches;
mod warnings;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use simile_core::data::{Condition, Dataset, Images};
use simile_core::eval::sgd_probe::SgdProbeConfig;
use simile_core::numeric::matrix::Matrix;
use simile_core::numeric::rows::FeatureTable;
use simile_core::numeric::split::split_indices;
use simile_core::train::Trainer;

use self::batches::check_batches;
use crate::config::objective::BatchRule;
use crate::config::probe::{Probe, ProbeSection};
use crate::config::sections::RecipeVariant;
use crate::config::selection::Readout;
use crate::config::{Recipe, VARIANTS};
use crate::console::line;
use crate::devices::DeviceSet;
use crate::exit::{message_with_causes, usage};
use crate::experiment::evaluate::draw::Drawing;
use crate::experiment::evaluate::probe::watched::unchecked;
use crate::experiment::evaluate::probe::{LabelledFeatures, class_metrics, measure, measure_classes_while};
use crate::experiment::features::Features;
use crate::experiment::memory::limits;
use crate::experiment::memory::step::check_step;
use crate::experiment::prepare::context::Context;
use crate::experiment::prepare::prefetch::resident_limit;
use crate::experiment::prepare::splits::Splits;
use crate::experiment::step_settings::side_of_pictures;
use crate::experiment::train::trainer::{share, trainer_config};
use crate::metrics::names::CLASSIFIER;
use crate::run_folder::figures::Figures;
use crate::run_folder::record::Warnings;

pub(super) use self::batches::check_length;
pub(crate) use self::warnings::{Words, class_warning, leak_warnings};
pub(super) use self::warnings::{print_never_begun, renew_for_length};

/// Checks that every device computes in the recipe's precision.
///
/// # Errors
/// A usage error that names the device.
pub(super) fn check_precision(recipe: &Recipe, devices: &DeviceSet) -> Result<()> {
    for device in devices.all() {
        recipe.train.precision.check(&recipe.encoder.config, &device.device).map_err(usage)?;
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
    check_step(&own, (images, resident), devices).map_err(|error| match devices.processes.count() {
        1 => error,
        count => usage(format_args!(
            "{error}; these are the numbers of one process, and a batch is divided among {count}"
        )),
    })
}

/// The warnings and metrics of a run, as far as they are known before it begins.
pub(super) struct PreflightReport {
    /// The warnings of each variant.
    pub(super) warnings: Warnings,
    /// The names of the metrics that its variants will have, or can have.
    pub(super) metrics: BTreeSet<String>,
}

/// Prepares every variant without images: its condition, its clusters, its networks, its probes and its figures. Prints the
/// warnings.
///
/// # Errors
/// A usage error if the run would fail later.
pub(super) fn preflight(recipe: &Recipe, splits: &Splits, devices: &DeviceSet) -> Result<PreflightReport> {
    let Splits { train, test, .. } = splits;
    check_test_images(recipe, test)?;
    check_variables(recipe, train)?;
    check_ridge(recipe, train)?;
    let probe_warnings = warnings::probe_warnings(recipe, train, (test, recipe.data.evaluation_split()));
    limits::check_run(recipe, train)?;
    let metrics = check_probes(recipe, splits)?;
    let mut warnings = Warnings::new();
    for variant in recipe.variants() {
        let variant_warnings = check_variant(&variant, recipe, splits, devices);
        let mut variant_warnings = variant_warnings.map_err(|error| {
            let place = recipe.origin.of(&place_of(recipe, &variant, &error.to_string()));
            error.context(format!("{place}variant `{}`", variant.name))
        })?;
        variant_warnings
            .iter()
            .for_each(|warning| line(format_args!("warning: {}: {warning}", variant.name)));
        variant_warnings.extend(probe_warnings.iter().cloned());
        warnings.insert(variant.name, variant_warnings);
    }
    probe_warnings.iter().for_each(|warning| line(format_args!("warning: {warning}")));
    for measured in &recipe.probe.objectives {
        let name = &measured.objective.name;
        Context::new(&measured.objective, test, recipe.train.seed)
            .with_context(|| format!("measuring `{name}`"))?;
    }
    Ok(PreflightReport { warnings, metrics })
}

/// Checks that a variant can be trained and drawn, and returns its warnings.
fn check_variant(
    variant: &RecipeVariant,
    recipe: &Recipe,
    splits: &Splits,
    devices: &DeviceSet,
) -> Result<Vec<String>> {
    let (train, batch, seed) = (&splits.train, recipe.train.batch, recipe.train.seed);
    let context = Context::new(&variant.objective, train, seed)?;
    match variant.objective.batch_rule().map_err(usage)? {
        BatchRule::Shuffled => {}
        BatchRule::ConditionGroups(groups) => drop(context.condition_groups(groups, batch, seed)?),
        BatchRule::Oversampled(most) => drop(context.weighted(most, batch, seed)?),
        BatchRule::OneCluster => drop(context.cluster_batches(batch, seed)?),
    }
    check_batches(variant, recipe, &context, train)?;
    let config = trainer_config(variant, recipe, &context, (train, 1), None)?;
    if let Some(width) = recipe.head.output.filter(|&width| width != config.head.output) {
        line(format_args!(
            "{}: its network gives {} scores; `head.output`, {width}, is the width of projections",
            variant.name, config.head.output
        ));
    }
    let trainer = Trainer::new(config, &context.training_set(), &devices.first.device);
    share(&mut trainer.map_err(usage)?, batch, devices)?;
    check_figures(variant, recipe, splits)?;
    warnings::variant_warnings(variant, recipe, &context, train)
}

/// Number of images that stand for a whole split, and most features of each.
const SOME: usize = 512;
const FEATURES: usize = 3;
/// Number of images for figures.
const FEW: usize = 24;

/// Checks that the probes can be fitted and measured, and that the metric for the choice of the encoder exists. Returns the names of
/// all metrics of the run.
fn check_probes(recipe: &Recipe, splits: &Splits) -> Result<BTreeSet<String>> {
    let names = metric_names(recipe, splits)?;
    let Splits { train, validation, .. } = splits;
    let (Some(selection), Some(validation)) = (&recipe.selection, validation) else { return Ok(names) };
    let probe = in_short(&recipe.probe);
    let fitted = StandIn::of(train, 0)?;
    let held_out = StandIn::of(validation, 2)?;
    let way = if selection.probe == Readout::Knn { Probe::Knn } else { Probe::Linear };
    let metrics = measure_classes_while(&probe, way, [fitted.labelled(), held_out.labelled()], unchecked)
        .context(format!("on {} images to choose by", validation.len()))
        .map_err(refused)?;
    match metrics.contains_key(&selection.metric) {
        true => Ok(names),
        false => Err(usage(format_args!(
            "{}`selection.metric` is `{}`, which these data do not have; known: {}",
            recipe.origin.of(&["selection", "metric"]),
            selection.metric,
            metrics.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// The names of all metrics of a run: of its probes, of its objectives on frozen networks, and of classifiers of its variants.
pub(super) fn metric_names(recipe: &Recipe, splits: &Splits) -> Result<BTreeSet<String>> {
    let mut names = check_measured(&recipe.probe, splits, recipe.data.evaluation_split())?;
    let classes = splits.train.classes.len();
    if recipe.variants().iter().any(|variant| variant.scores(classes, 0).is_some()) {
        let some = StandIn::of(&splits.test, 1)?.dataset;
        let own = class_metrics(&recipe.probe, &Matrix::zeros(some.len(), classes), &some)?;
        names.extend(own.into_keys().map(|name| format!("{CLASSIFIER}{name}")));
    }
    for objective in &recipe.probe.objectives {
        names.extend(["train", "test"].map(|split| format!("{}_{split}", objective.metric())));
    }
    Ok(names)
}

/// Checks that probes can be fitted to the training images and measured on the test images. `evaluation_split` names their split.
/// Returns the names of the metrics.
///
/// # Errors
/// A usage error says why they cannot.
pub(crate) fn check_measured(
    probe: &ProbeSection,
    splits: &Splits,
    evaluation_split: &str,
) -> Result<BTreeSet<String>> {
    let Splits { train, test, .. } = splits;
    check_classes(train, "images")?;
    let measured = measure(
        &in_short(probe),
        Probe::Linear,
        StandIn::of(train, 0)?.labelled(),
        StandIn::of(test, 1)?.labelled(),
    );
    let measured =
        measured.context(format!("on {} {evaluation_split} images", test.len())).map_err(refused)?;
    Ok(measured.metrics.into_keys().collect())
}

/// Checks that the rows to which probes are fitted, `things` in words, are of two classes or more.
///
/// # Errors
/// A usage error names the only class.
pub(crate) fn check_classes(train: &Dataset, things: &str) -> Result<()> {
    let [first] = first_of_each(&train.labels).collect::<Vec<_>>()[..] else { return Ok(()) };
    let name = train.classes.get(train.labels[first]).map_or("?", String::as_str);
    Err(usage(format_args!(
        "all {} training {things} are of the class `{name}`; a classifier needs at least two classes",
        train.len()
    )))
}

/// A probe that takes one step.
fn in_short(probe: &ProbeSection) -> ProbeSection {
    let sgd = SgdProbeConfig { epochs: 1, ..probe.sgd.clone() };
    ProbeSection { steps: probe.steps.min(1), sgd, ..probe.clone() }
}

fn refused(error: anyhow::Error) -> anyhow::Error {
    usage(format_args!("the evaluation would fail: {}", message_with_causes(&error)))
}

/// Checks that the figures of a variant can be drawn.
fn check_figures(
    variant: &RecipeVariant,
    recipe: &Recipe,
    Splits { train, test, .. }: &Splits,
) -> Result<()> {
    let few = test.subset(&(0..test.len().min(FEW)).collect::<Vec<_>>())?;
    let condition = &recipe.probe.condition;
    let width = recipe.encoder.config.embedding_size().min(FEATURES);
    let features = random_features([few.len(), width], 1)?;
    Drawing { variant, condition, train, test: &few, features: &features, guesses: &few.labels }
        .add_to(&mut Figures::default())
        .context(format!("drawing {} {} images", test.len(), recipe.data.evaluation_split()))
        .map_err(refused)
}

/// Labels and conditions of images, with random features.
struct StandIn {
    features: Features,
    dataset: Dataset,
}

impl StandIn {
    /// All images of a small split, or some of a large one, with at least one of every class and value that occurs, and two of different
    /// numbers.
    fn of(set: &Dataset, part: usize) -> Result<Self> {
        let (_, some) = split_indices(set.len(), SOME.min(set.len()), 0);
        let mut chosen: BTreeSet<usize> = some.into_iter().collect();
        chosen.extend(first_of_each(&set.labels));
        for condition in set.conditions.values() {
            match condition {
                Condition::Categorical { values, .. } => chosen.extend(first_of_each(values)),
                Condition::Numeric(rows) => {
                    let other = rows.iter_rows().position(|row| row != rows.row(0));
                    chosen.extend(other.map(|other| [0, other]).into_iter().flatten());
                }
            }
        }
        let chosen: Vec<usize> = chosen.into_iter().collect();
        // Probes do not use the pixels.
        let images = Images::new(1, 1, 1, vec![0; chosen.len()])?.into();
        let dataset = Dataset { images, ..set.subset(&chosen)? };
        Ok(Self { features: random_features([chosen.len(), FEATURES], part)?, dataset })
    }

    fn labelled(&self) -> LabelledFeatures<'_> {
        LabelledFeatures { features: &self.features, dataset: &self.dataset }
    }
}

/// Pseudo-random numbers, the same each time.
fn random_features([rows, columns]: [usize; 2], part: usize) -> Result<Features> {
    let value = |at: usize| (at as f64 * 12.9898 + part as f64).sin() as f32;
    let values = (0..rows * columns).map(value).collect();
    Ok(Features::Held(FeatureTable::new(rows, columns, values)?))
}

/// The index of the first occurrence of each value.
fn first_of_each(values: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let mut met = BTreeSet::new();
    values.iter().enumerate().filter(move |(_, value)| met.insert(**value)).map(|(at, _)| at)
}

/// Checks that the probed attributes exist, unless the data set has none at all.
fn check_variables(recipe: &Recipe, train: &Dataset) -> Result<()> {
    let known: Vec<&str> = train.conditions.keys().map(String::as_str).collect();
    let also = recipe.probe.also.iter().map(|name| (name, "also"));
    let mut names = std::iter::once((&recipe.probe.condition, "condition")).chain(also);
    match names.find(|(name, _)| !known.is_empty() && !known.contains(&name.as_str())) {
        None => Ok(()),
        Some((name, key)) => Err(usage(format_args!(
            "{}the data set has no attribute `{name}` to probe; name one with `probe.condition`: {}",
            recipe.origin.of(&["probe", key]),
            known.join(", ")
        ))),
    }
}

/// Checks that there are test images to compare with each other, as figures do.
fn check_test_images(recipe: &Recipe, test: &Dataset) -> Result<()> {
    if test.len() > 1 {
        return Ok(());
    }
    let key = if recipe.data.validation > 0 { "validation" } else { "test" };
    Err(usage(format_args!(
        "{}a run needs at least 2 {} images, and has {}: raise `data.{key}`, or add pictures",
        recipe.origin.of(&["data", key]),
        recipe.data.evaluation_split(),
        test.len()
    )))
}

/// Checks that a probe of a number, which is a regression, has a penalty.
fn check_ridge(recipe: &Recipe, train: &Dataset) -> Result<()> {
    let ProbeSection { ridge, condition, also, .. } = &recipe.probe;
    let is_number = |name: &&String| matches!(train.conditions.get(*name), Some(Condition::Numeric(_)));
    let number = std::iter::once(condition).chain(also).find(is_number);
    match number.filter(|_| ridge.all().contains(&0.0)) {
        None => Ok(()),
        Some(name) => Err(usage(format_args!(
            "{}`probe.ridge` has a penalty of 0, and `{name}` is a number: the weights of its probe, a regression, are not determined \
             where a feature is constant or a combination of others; write a penalty above 0, such as 1e-6",
            recipe.origin.of(&["probe", "ridge"]),
        ))),
    }
}

/// The path of an error of a variant in the text of its recipe: that of the key whose attribute the error names, or that of the variant.
fn place_of<'a>(recipe: &Recipe, variant: &'a RecipeVariant, error: &str) -> Vec<&'a str> {
    let RecipeVariant { name, objective, .. } = variant;
    let path = if recipe.variants.is_empty() { vec![] } else { vec![VARIANTS, name.as_str()] };
    let keys = [("condition", &objective.condition), ("bias", &objective.bias)];
    let is_named = |value: &&String| error.contains(&format!("`{value}`"));
    let key = keys.into_iter().find(|(_, value)| value.as_ref().filter(is_named).is_some());
    let section = (key.is_some() || path.is_empty()).then_some("objective");
    path.into_iter().chain(section).chain(key.map(|(key, _)| key)).collect()
}
