//! Checks that the probes of a run can be fitted and measured, and that the metrics exist that it is to choose by.

use std::collections::BTreeSet;

use anyhow::{Context as _, Error, Result};
use simile_core::data::Dataset;
use simile_core::eval::sgd_probe::SgdProbeConfig;
use simile_core::numeric::matrix::Matrix;

use super::stand_in::{StandIn, first_of_each};
use super::would_fail;
use crate::config::Recipe;
use crate::config::probe::{Probe, ProbeSection};
use crate::data::TableSection;
use crate::exit::usage;
use crate::experiment::evaluate::probe::watched::unchecked;
use crate::experiment::evaluate::probe::{class_metrics, measure, measure_classes_while};
use crate::experiment::prepare::splits::{Evaluated, Splits};
use crate::metrics::metric::{OBJECTIVE_SPLITS, Predictor};

/// Checks that the probes can be fitted and measured, and that the metric for the choice of the encoder exists. Returns the names of
/// all metrics of the run.
pub(super) fn check_probes(recipe: &Recipe, splits: &Splits) -> Result<BTreeSet<String>> {
    let Splits { train, to_choose, .. } = splits;
    check_classes(train, "images").map_err(|error| of_one_class(recipe, &error))?;
    let names = metric_names(recipe, splits)?;
    let (Some(selection), Some(to_choose)) = (&recipe.selection, to_choose) else { return Ok(names) };
    let probe = in_short(&recipe.probe);
    let fitted = StandIn::of(train, 0)?;
    let held_out = StandIn::of(to_choose, 2)?;
    // Class scores have the metrics of a linear probe.
    let readout = selection.readout.probe().unwrap_or(Probe::Linear);
    let metrics = measure_classes_while(&probe, readout, [fitted.labelled(), held_out.labelled()], unchecked)
        .context(format!("on {} images to choose by", to_choose.len()))
        .map_err(would_fail)?;
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
pub(in crate::experiment) fn metric_names(recipe: &Recipe, splits: &Splits) -> Result<BTreeSet<String>> {
    let mut names = check_measured(&recipe.probe, splits)?;
    let classes = splits.train.classes.len();
    if recipe.variants().iter().any(|variant| variant.scores(classes, 0).is_some()) {
        let some = StandIn::of(&splits.evaluated.dataset, 1)?.dataset;
        let own = class_metrics(&recipe.probe, &Matrix::zeros(some.len(), classes), &some)?;
        names.extend(own.into_keys().map(|name| Predictor::OwnClassifier.named(&name)));
    }
    for objective in &recipe.probe.objectives {
        names.extend(OBJECTIVE_SPLITS.map(|split| objective.metric(split)));
    }
    Ok(names)
}

/// Checks that probes can be fitted to the training images and measured on the evaluation images. Returns the names of the metrics.
///
/// # Errors
/// A usage error says why they cannot.
pub(crate) fn check_measured(probe: &ProbeSection, splits: &Splits) -> Result<BTreeSet<String>> {
    let Splits { train, evaluated: Evaluated { dataset: test, split }, .. } = splits;
    check_classes(train, "images")?;
    let measured = measure(
        &in_short(probe),
        Probe::Linear,
        StandIn::of(train, 0)?.labelled(),
        StandIn::of(test, 1)?.labelled(),
    );
    let measured = measured.context(format!("on {} {split} images", test.len())).map_err(would_fail)?;
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

/// The key of the column of the class.
const LABEL: &[&str] = &["data", "table", "label"];

/// The error of training images of one class, with the place of a key that may be the cause, and with remedies.
fn of_one_class(recipe: &Recipe, error: &Error) -> Error {
    let Recipe { data, selection, origin, smoke, .. } = recipe;
    let counts = [
        // A smoke test has no more than its own number.
        (data.train.is_some() && smoke.is_none(), ["data", "train"]),
        (data.validation > 0, ["data", "validation"]),
        (selection.as_ref().is_some_and(|selection| selection.held_out > 0), ["selection", "held_out"]),
    ];
    let set: Vec<[&str; 2]> =
        counts.into_iter().filter(|(is_set, _)| *is_set).map(|(_, path)| path).collect();
    let column = data.of_dataset.get::<TableSection>().map(|_| LABEL);
    let path = match &set[..] {
        [] => column.unwrap_or_default(),
        [only] => only,
        // Any of them may be the cause.
        _ => &[],
    };
    let another = column.map(|column| {
        let key = if origin.is_drafted { "--label".to_owned() } else { column.join(".") };
        format!("name the column of the class with {key}")
    });
    let other_number = |path: &[&str; 2]| {
        let change = if path[1] == "train" { "raise" } else { "lower" };
        format!("{change} {}", path.join("."))
    };
    let remedies: Vec<String> = another.into_iter().chain(set.iter().map(other_number)).collect();
    let remedies = if remedies.is_empty() { String::new() } else { format!("; {}", remedies.join(", or ")) };
    usage(format_args!("{}{error}{remedies}", origin.of(path)))
}

/// A probe that takes one step.
fn in_short(probe: &ProbeSection) -> ProbeSection {
    let sgd = SgdProbeConfig { epochs: 1, ..probe.sgd.clone() };
    ProbeSection { steps: probe.steps.min(1), sgd, ..probe.clone() }
}
