//! `simile evaluate`

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use burn::tensor::Device;
use serde::Serialize;
use simile_core::augment::Augmentation;
use simile_core::data::Dataset;
use simile_core::nn::EncoderConfig;
use simile_core::nn::checkpoint::Metadata;

use super::shared::model_data;
use super::shared::named_data::{NamedData, refuse_folder_of_drawn, section};
use crate::cli::Evaluate;
use crate::config::explain::suggestion;
use crate::config::measured::MeasuredObjective;
use crate::config::probe::{Probe, ProbeSection};
use crate::console::{Console, line, table_of_numbers};
use crate::data::EvaluationSplit;
use crate::exit::usage;
use crate::experiment::evaluate::probe::objective::{self, Frozen, Viewing};
use crate::experiment::evaluate::probe::{
    LabelledFeatures, ProbeResults, base_rates, check_names, in_words, measure, neighbours, same_names,
};
use crate::experiment::preflight::{WarningTerms, check_classes, class_warning, leak_warnings};
use crate::experiment::prepare::images::{ImageForm, PreparedImages};
use crate::experiment::prepare::prior;
use crate::experiment::prepare::splits::Splits;
use crate::metrics::Metrics;
use crate::metrics::catalogue::order;
use crate::metrics::format::MetricFormat;
use crate::metrics::names::BASE_RATE;
use crate::peers;
use crate::run_folder::model;
use crate::run_folder::record::ProbeFit;
use crate::vectors::{ProbeVectors, Sources};

#[derive(Serialize)]
struct Answer {
    model: String,
    probe: Probe,
    /// The protocol of the metrics, in words.
    protocol: String,
    metrics: Metrics,
    /// The fits of the probes that have a ridge penalty.
    probes: BTreeMap<String, ProbeFit>,
    /// The metrics of predicting the most frequent value and the mean, without any encoder.
    base_rates: Metrics,
    /// The attribute whose leak was measured.
    condition: String,
}

pub(super) fn run(arguments: &Evaluate, console: Console) -> Result<()> {
    peers::refuse_several("do the whole evaluation", None)?;
    let answer = match &arguments.model {
        Some(model) => evaluate_model(model, arguments)?,
        None => evaluate_vectors(arguments)?,
    };
    console.answer(&answer, || text(&answer))
}

/// Probes given vectors.
fn evaluate_vectors(arguments: &Evaluate) -> Result<Answer> {
    let ProbeVectors { train, test, evaluation_split } = ProbeVectors::read(Sources {
        parts: &arguments.vectors,
        table: arguments.table.as_deref(),
        label: arguments.label.as_deref(),
        condition: arguments.condition.as_deref(),
    })?;
    check_condition(arguments.condition.as_deref(), &train.dataset)?;
    let mut also: Vec<String> = train.dataset.conditions.keys().cloned().collect();
    let condition = match &arguments.condition {
        Some(condition) => condition.clone(),
        None => also.first().cloned().unwrap_or_default(),
    };
    also.retain(|name| *name != condition);
    let mut probe = ProbeSection { condition, also, ..ProbeSection::default() };
    // All columns of the file are probed, so that nobody has asked for this one.
    while let Some([named, left_out]) = same_names(&probe).map(|names| names.map(str::to_owned)) {
        line(format_args!(
            "note: `{left_out}` is not probed, because results on it and on `{named}` would have the same names; rename one column"
        ));
        probe.also.retain(|name| *name != left_out);
    }
    let parts: Vec<String> = arguments.vectors.iter().map(|part| part.display().to_string()).collect();
    let described =
        DescribedProbe { section: &probe, probe: arguments.probe, things: "vectors", evaluation_split };
    let sets = [&train.dataset, &test.dataset];
    described.check(sets)?;
    // Images say it when they are read.
    class_warning(sets, described.warning_terms())
        .iter()
        .for_each(|warning| line(format_args!("warning: {warning}")));
    described.answer(parts.join(", "), train.labelled(), test.labelled())
}

/// A probe with its settings, and words for the data on which it is fitted and measured.
struct DescribedProbe<'a> {
    section: &'a ProbeSection,
    probe: Probe,
    /// The word for a row of the data, such as `images`.
    things: &'a str,
    evaluation_split: EvaluationSplit,
}

impl DescribedProbe<'_> {
    fn warning_terms(&self) -> WarningTerms<'_> {
        WarningTerms {
            things: self.things,
            evaluation_split: self.evaluation_split,
            key: Some("--condition"),
        }
    }

    /// Refuses training rows of one class and attributes whose results would have the same names. Warns of leaks that cannot be measured
    /// on these training and test rows, or that look smaller than they are.
    fn check(&self, sets: [&Dataset; 2]) -> Result<()> {
        check_classes(sets[0], self.things)?;
        check_names(self.section)?;
        let warnings = leak_warnings(self.section, sets, self.warning_terms());
        warnings.iter().for_each(|warning| line(format_args!("warning: {warning}")));
        Ok(())
    }

    /// Fits the probes to features of the training split and measures them on the others.
    fn answer(
        &self,
        model: String,
        train: LabelledFeatures<'_>,
        test: LabelledFeatures<'_>,
    ) -> Result<Answer> {
        let Self { section, probe, things, evaluation_split } = *self;
        let base_rates = base_rates(section, train.dataset, test.dataset)?;
        if let Some(note) = self.many_neighbours(train.dataset) {
            line(note);
        }
        let protocol = format!(
            "{}, fitted to {} training {things} and measured on {} {} {things}",
            in_words(section, probe, train.dataset.len()),
            train.dataset.len(),
            test.dataset.len(),
            evaluation_split.in_protocol()
        );
        let ProbeResults { metrics, probes, .. } = measure(section, probe, train, test)?;
        let condition = section.condition.clone();
        Ok(Answer { model, probe, protocol, metrics, probes, base_rates, condition })
    }

    /// A note where more neighbours vote than the smallest class has members, so that some of other classes always vote too.
    fn many_neighbours(&self, train: &Dataset) -> Option<String> {
        let (votes, things) = (neighbours(train.len()), self.things);
        let counts = || train.class_counts().into_iter().filter(|&count| count > 0);
        let (smallest, largest) = (counts().min()?, counts().max()?);
        let effect = match smallest < largest {
            true => "predictions favour frequent classes".to_owned(),
            false => format!("{things} of other classes always vote too"),
        };
        (self.probe == Probe::Knn && votes > smallest).then(|| {
            format!(
                "note: {votes} nearest neighbours vote, more than the {smallest} training {things} of the smallest class, so {effect}; \
                 `--probe linear` does not depend on that"
            )
        })
    }
}

/// Probes a model on images.
fn evaluate_model(model: &Path, arguments: &Evaluate) -> Result<Answer> {
    let device = arguments.device.device.open()?;
    let (file, note) = model::chosen(model, arguments.variant.name())?;
    note.iter().for_each(line);
    let checkpoint = model::load(&file, &device.device)?;
    let folder = match arguments.on {
        None => model_data::folder(model, arguments.data.as_deref())?,
        // The folder of the run has its own data, which would be judged under the name of the others.
        Some(_) => arguments.data.clone(),
    };
    let EvaluationInputs { splits, probe, augmentation } =
        evaluation_inputs(arguments, model, &checkpoint.metadata, folder.as_deref(), &device.device)?;
    let form = ImageForm::from(&checkpoint.metadata);
    let (sets, evaluation_split) = ([&splits.train, &splits.evaluated.dataset], splits.evaluated.split);
    let described =
        DescribedProbe { section: &probe, probe: arguments.probe, things: "images", evaluation_split };
    described.check(sets)?;
    let features = |images| PreparedImages::new(images, &form, &device.device).features(&checkpoint.encoder);
    let (train, test) = (features(&sets[0].images)?, features(&sets[1].images)?);
    let mut answer = described.answer(
        model.display().to_string(),
        LabelledFeatures { features: &train, dataset: sets[0] },
        LabelledFeatures { features: &test, dataset: sets[1] },
    )?;
    let viewing =
        Viewing { augmentation: &augmentation, normalisation: &form.normalisation, device: &device.device };
    let network = Frozen::new(&checkpoint.encoder, None);
    let losses = objective::measure(&probe.objectives, &network, &viewing, sets)?;
    let is_measured = |one: &&MeasuredObjective| losses.contains_key(&one.metric("test"));
    let (measured, others): (Vec<_>, Vec<_>) = probe.objectives.iter().partition(is_measured);
    for one in others {
        line(format_args!("not measured: {}; the file holds no head", one.in_words()));
    }
    answer.protocol.extend(measured.iter().map(|one| format!("; {}", one.in_words())));
    answer.metrics.extend(losses);
    Ok(answer)
}

/// Refuses a `--condition` that the data do not have, before any image is embedded.
fn check_condition(condition: Option<&str>, train: &Dataset) -> Result<()> {
    let Some(name) = condition.filter(|name| !train.conditions.contains_key(*name)) else { return Ok(()) };
    if train.conditions.is_empty() {
        return Err(usage(format_args!("--condition {name}: these data have no attributes; leave it out")));
    }
    let hint = suggestion(name, train.conditions.keys().map(String::as_str));
    Err(usage(format_args!("--condition {name}: these data have no such attribute{hint}")))
}

/// The data and settings for evaluating a model.
struct EvaluationInputs {
    splits: Splits,
    probe: ProbeSection,
    /// The augmentation for the views of objectives.
    augmentation: Augmentation,
}

/// Resolves the data and the probe: those of the training run, or those of `--on`.
fn evaluation_inputs(
    arguments: &Evaluate,
    model: &Path,
    metadata: &Metadata,
    folder: Option<&Path>,
    device: &Device,
) -> Result<EvaluationInputs> {
    let (splits, mut probe, is_chosen, augmentation) = match &arguments.on {
        None => {
            let instead = "name a data set or a recipe with --on";
            let recipe = model_data::recipe(model, metadata, instead)?;
            refuse_folder_of_drawn(&recipe.data, arguments.data.as_deref())?;
            let splits = model_data::splits(model, &recipe, folder, device)?;
            (splits, recipe.probe, true, recipe.augment)
        }
        Some(name) => {
            let NamedData { data, probe, augmentation, .. } = section(name, false)?;
            refuse_folder_of_drawn(&data, folder)?;
            let input_size = metadata.resize.unwrap_or(metadata.input_size);
            let encoder = EncoderConfig { input_size, ..metadata.encoder.clone() };
            let splits = prior::add(Splits::load(&data, folder, &encoder)?, data.prior.as_ref(), device)?;
            let is_chosen = probe.is_some();
            (splits, probe.unwrap_or_default(), is_chosen, augmentation)
        }
    };
    check_condition(arguments.condition.as_deref(), &splits.train)?;
    match (&arguments.condition, splits.train.conditions.keys().next()) {
        (Some(condition), _) => probe.ask_for(condition),
        (None, Some(first)) if !is_chosen => probe.condition.clone_from(first),
        _ => {}
    }
    Ok(EvaluationInputs { splits, probe, augmentation })
}

fn text(answer: &Answer) -> String {
    let mut metrics: Vec<(&str, f64)> =
        answer.metrics.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    metrics.sort_by(|(one, _), (other, _)| order(one).cmp(&order(other)));
    let mut table = table_of_numbers(["Metric", "Value", BASE_RATE]);
    for (name, value) in metrics {
        let format = MetricFormat::of(name, &answer.condition);
        let number = format.number(Some(value));
        let base = format.number(answer.base_rates.get(name).copied());
        table.add_row([format.title, number, base]);
    }
    format!("{table}\n{}", answer.protocol)
}
