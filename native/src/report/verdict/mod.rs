//! The verdict on a run, or on several that differ in the seed alone: the leak of the attribute and the accuracy of the
//! classes of each variant, beside those of the first one.

mod hiding;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::advice::{HidingOutcome, Width, advice};
use super::chance::{Chance, NOTICEABLE, Samples};
use super::pool::{Pool, pools};
use crate::config::Recipe;
use crate::config::probe::ProbeSection;
use crate::config::variant::RecipeVariant;
use crate::metrics::Metrics;
use crate::metrics::format::MetricFormat;
use crate::metrics::leak::{LINEAR, amount, area_of, is_share, share_of};
use crate::metrics::mean_std::MeanStd;
use crate::metrics::metric::{Predictor, linear, name_for_attribute};
use crate::metrics::names::{CONDITION_TOP1, R2, TOP1};
use crate::metrics::two_sample::{TwoSampleTest, least_in_words, p_in_words};
use crate::run_folder::finished::FinishedRun;
use crate::run_folder::record::{KernelFault, RunResult, VariantResult};

/// The verdict in sentences, the most important one first. The numbers of a variant that diverged are those of a network before
/// that, and are not counted.
///
/// # Errors
/// If a metric is not finite.
pub(crate) fn verdict(recipe: &Recipe, runs: &[&RunResult]) -> Result<Vec<String>> {
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    if first.smoke.is_some() || first.variants.is_empty() {
        return Ok(Vec::new());
    }
    let described = recipe.variants();
    let variants: Vec<Variant<'_>> = first
        .variants
        .iter()
        .map(|variant| Variant::of(&variant.name, &described, &recipe.probe, runs))
        .collect();
    let untrained: Vec<&Metrics> =
        runs.iter().filter_map(|run| Some(&run.untrained.as_ref()?.metrics)).collect();
    let base: Vec<&Metrics> = runs.iter().map(|run| &run.base_rates).collect();
    let samples = Samples::of(first, recipe.data.evaluation_split());
    let references = References { untrained, base, condition: &first.condition, samples };
    let mut sentences = references.sentences(&variants)?;
    let counted = !sentences.is_empty();
    sentences.extend(diverged(runs));
    if counted {
        sentences.push(match runs {
            [_] => reliability_of_one_seed(&variants, samples),
            _ => reliability_of_seeds(&variants),
        });
    }
    for (variant, leak) in references.failed_to_hide(&variants) {
        let images = first.images.map(|images| images.train);
        let hiding = HidingOutcome { attribute: &variant.attribute, leak, width: variant.width, images };
        sentences.extend(advice(recipe, variant.name, hiding));
    }
    Ok(sentences)
}

impl FinishedRun {
    /// The verdict on runs of one recipe that differ in the seed alone; none on others. A variant that diverged is in none of its
    /// numbers.
    ///
    /// # Errors
    /// If a metric is not finite.
    pub(crate) fn verdict(runs: &[Self]) -> Result<Vec<String>> {
        let is_repeat = |pool: &Pool<'_>| pool.runs.len() + pool.diverged.len() == runs.len();
        let recipe = runs.first().and_then(|run| Recipe::resolved(&run.recipe, Path::new(&run.folder)).ok());
        match recipe.filter(|_| pools(runs).iter().all(is_repeat)) {
            Some(recipe) => verdict(&recipe, &runs.iter().map(|run| &run.result).collect::<Vec<_>>()),
            None => Ok(Vec::new()),
        }
    }
}

/// A variant in the runs in which it did not diverge.
struct Variant<'a> {
    name: &'a str,
    /// The attribute that its objective hides or keeps, if the recipe probes it, or else the one whose leak the run measures.
    attribute: String,
    /// True if its objective brings images together that are alike in the attribute.
    keeps: bool,
    metrics: Vec<&'a Metrics>,
    /// The width to try for its kernel, if another one may help.
    width: Option<Width>,
    /// The p-values of its comparison with the first variant, image by image; only where there is a single run.
    paired: Option<&'a BTreeMap<String, f64>>,
}

impl<'a> Variant<'a> {
    fn of(name: &'a str, described: &[RecipeVariant], probe: &ProbeSection, runs: &[&'a RunResult]) -> Self {
        let variants = runs.iter().filter_map(|run| run.variants.iter().find(|variant| variant.name == name));
        let variants: Vec<&VariantResult> = variants.filter(|variant| variant.diverged().is_none()).collect();
        let paired = if runs.len() == 1 { variants.first().map(|variant| &variant.paired) } else { None };
        let metrics: Vec<&Metrics> = variants.iter().map(|variant| &variant.metrics).collect();
        let has_in_some_run = |fault| variants.iter().any(|variant| variant.kernel_fault() == Some(fault));
        let width = match has_in_some_run(KernelFault::TooNarrow) {
            true => Some(Width::Wider),
            false if has_in_some_run(KernelFault::EquallyApart) => None,
            false => Some(Width::Narrower),
        };
        let objective =
            described.iter().find(|variant| variant.name == name).map(|variant| &variant.objective);
        let own = objective.and_then(|objective| objective.condition());
        let keeps = objective.is_some_and(|objective| objective.keeps_condition());
        let attribute = probe.judged(own.as_deref()).to_owned();
        Self { name, attribute, keeps, metrics, width, paired }
    }
}

/// The variants that diverged, with their seeds if there are several.
fn diverged(runs: &[&RunResult]) -> Option<String> {
    let of_run = |run: &&RunResult| -> Vec<String> {
        let variants = run.variants.iter().filter(|variant| variant.diverged().is_some());
        let seed = if runs.len() > 1 { format!(" with seed {}", run.seed) } else { String::new() };
        variants.map(|variant| format!("{}{seed}", variant.name)).collect()
    };
    let diverged: Vec<String> = runs.iter().flat_map(of_run).collect();
    (!diverged.is_empty()).then(|| format!("Diverged, and not counted here: {}.", diverged.join(", ")))
}

/// How far the numbers of one run can be relied on.
fn reliability_of_one_seed(variants: &[Variant<'_>], samples: Option<Samples>) -> String {
    let is_paired = |variant: &Variant<'_>| variant.paired.is_some_and(|paired| !paired.is_empty());
    let has_first = variants.first().is_some_and(|first| !first.metrics.is_empty());
    if !(has_first && variants.iter().any(is_paired)) {
        return "One seed: a difference of a few points may be chance; run more with `--seeds 5`.".into();
    }
    let images = samples.map(|samples| format!(" on the {samples}")).unwrap_or_default();
    format!(
        "One seed: each p (McNemar's exact test{images}) compares the networks of this seed only; other seeds may differ. Run \
         more with `--seeds 5`."
    )
}

/// How far the numbers of several runs can be relied on.
fn reliability_of_seeds(variants: &[Variant<'_>]) -> String {
    let before = variants.first().map_or(0, |first| first.metrics.len());
    let counts: Vec<usize> =
        variants.iter().map(|variant| variant.metrics.len()).filter(|count| *count > 0).collect();
    let (fewest, most) =
        (counts.iter().min().copied().unwrap_or_default(), counts.iter().max().copied().unwrap_or_default());
    let seeds = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    // A run of a single variant is compared with another run, of as many seeds.
    let others = match counts.as_slice() {
        [_, others @ ..] if !others.is_empty() => others,
        alone => alone,
    };
    let least = least_in_words(others.iter().filter_map(|count| TwoSampleTest::least(*count, before)));
    let least = least
        .map(|p| format!(" p, of a two-sided permutation test, cannot fall below {p}."))
        .unwrap_or_default();
    format!("Mean ± standard deviation of {seeds} seeds.{least}")
}

/// The numbers that a variant is held against.
struct References<'a> {
    untrained: Vec<&'a Metrics>,
    base: Vec<&'a Metrics>,
    condition: &'a str,
    samples: Option<Samples>,
}

/// The values of a metric in the runs that measured it.
fn values(runs: &[&Metrics], metric: &str) -> Vec<f64> {
    runs.iter().filter_map(|metrics| metrics.get(metric).copied()).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    MeanStd::of(values).map(|mean_std| mean_std.mean)
}

/// The mean amount of a leak.
fn mean_leak(runs: &[&Metrics], metric: &str) -> Option<f64> {
    mean(&values(runs, metric).iter().map(|value| amount(metric, *value)).collect::<Vec<_>>())
}

impl References<'_> {
    /// A sentence on each variant that did not diverge, beside the first one.
    fn sentences(&self, variants: &[Variant<'_>]) -> Result<Vec<String>> {
        let Some((first, others)) = variants.split_first() else { return Ok(Vec::new()) };
        let plain = (!first.metrics.is_empty()).then_some(first.metrics.as_slice());
        let mut sentences = Vec::new();
        for variant in others.iter().filter(|other| !other.metrics.is_empty()) {
            sentences.push(format!("{}: {}", variant.name, self.sentence(plain, variant)?));
        }
        match plain {
            Some(_) if sentences.is_empty() => {
                sentences.push(format!("{}: {}", first.name, self.sentence(None, first)?));
            }
            Some(_) => sentences.push(format!("The number before each arrow belongs to {}.", first.name)),
            None => {}
        }
        Ok(sentences)
    }

    /// The metrics in a sentence on a variant, with the subject of each and the name of its reference: those of its attribute, of the
    /// attribute that the run measures, and of the class.
    fn metrics_of_sentence(&self, attribute: &str) -> Vec<(String, String, &'static str)> {
        let mut metrics = Vec::new();
        let mut attributes = vec![attribute, self.condition];
        attributes.dedup();
        for attribute in attributes {
            let named = name_for_attribute(CONDITION_TOP1, attribute, self.condition);
            metrics.push((named, format!("{attribute} can be named"), "chance"));
            let r2 = name_for_attribute(R2, attribute, self.condition);
            metrics.push((r2, format!("{attribute} can be predicted with an R² of"), "the mean alone"));
        }
        metrics.push((TOP1.to_owned(), "class accuracy".to_owned(), "chance"));
        metrics
    }

    /// The sentence on a variant, beside another one.
    fn sentence(&self, plain: Option<&[&Metrics]>, variant: &Variant<'_>) -> Result<String> {
        let runs = variant.metrics.as_slice();
        let paired = variant.paired.filter(|_| plain.is_some());
        let mut parts = Vec::new();
        let attribute = variant.attribute.as_str();
        let leak_metrics = LINEAR.map(|metric| name_for_attribute(metric, attribute, self.condition));
        if !attribute.is_empty() && leak_metrics.iter().all(|metric| values(runs, metric).is_empty()) {
            parts.push(format!("how much of {attribute} leaks could not be measured"));
        }
        for (metric, subject, chance) in self.metrics_of_sentence(attribute) {
            let metric = metric.as_str();
            let format = MetricFormat::of(metric, self.condition);
            let is_percent = format.is_percent();
            let own_values = values(runs, metric);
            if own_values.is_empty() {
                continue;
            }
            let write = |values: &[f64]| written(values, &format);
            let before = plain.map(|plain| values(plain, metric)).filter(|before| !before.is_empty());
            let arrow = before.as_ref().map(|before| format!("{} → ", write(before))).unwrap_or_default();
            let unit = if is_percent { " %" } else { "" };
            let often = if is_percent && metric != TOP1 { " of the time" } else { "" };
            let mut beside = Vec::new();
            let reference_words = |name: &str, runs: &[&Metrics]| {
                let reference = mean(&values(runs, metric))?;
                Some(format!("{name} {}{unit}", written(&[reference], &format)))
            };
            beside.extend(reference_words(chance, &self.base));
            beside.extend(reference_words("untrained network", &self.untrained));
            if let Some(test) =
                before.map(|before| TwoSampleTest::of(&own_values, &before)).transpose()?.flatten()
            {
                beside.push(p_in_words(test.p_value));
            }
            beside.extend(paired.and_then(|paired| paired.get(metric)).map(|&p| p_in_words(p)));
            let nonlinear = Predictor::Nonlinear.named(metric);
            if let (Some(nonlinear_mean), Some(linear)) =
                (mean_leak(runs, &nonlinear), mean_leak(runs, metric))
                && nonlinear_mean > linear + NOTICEABLE
            {
                beside.push(format!("a non-linear probe finds {}{unit}", write(&values(runs, &nonlinear))));
            }
            beside.extend(self.area(plain, runs, metric));
            let beside = if beside.is_empty() { String::new() } else { format!(" ({})", beside.join(", ")) };
            parts.push(format!("{subject} {arrow}{}{unit}{often}{beside}", write(&own_values)));
        }
        Ok(parts.join("; ") + ".")
    }

    /// The area under the ROC curve, where of one of the variants it alone says that an attribute leaks: the accuracy of a rare value can
    /// be that of chance though the value is known.
    fn area(&self, plain: Option<&[&Metrics]>, runs: &[&Metrics], share: &str) -> Option<String> {
        let area = area_of(share)?;
        let chances = [share, area.as_str()].map(|metric| self.chance(metric));
        let reveals_alone = |runs: &[&Metrics]| {
            let leaks = mean_leak(runs, share).zip(mean_leak(runs, &area));
            leaks.is_some_and(|(named, ranked)| chances[0].is_little(named) && !chances[1].is_little(ranked))
        };
        let after = values(runs, &area);
        if after.is_empty() || ![plain, Some(runs)].into_iter().flatten().any(reveals_alone) {
            return None;
        }
        let before = plain.map(|plain| values(plain, &area)).filter(|before| !before.is_empty());
        let format = MetricFormat::of(&area, self.condition);
        let arrow = before.map(|before| format!("{} → ", written(&before, &format))).unwrap_or_default();
        Some(format!("ROC-AUC {arrow}{} % where chance has 50 %", written(&after, &format)))
    }

    /// The value of a metric by chance. It is uncertain: with few images, or few of a value, a probe that knows nothing is far from it.
    fn chance(&self, metric: &str) -> Chance {
        let beside_area = share_of(metric);
        let without_base = if beside_area.is_some() { 0.5 } else { 0.0 };
        let base = [metric, linear(metric)].into_iter().find_map(|metric| mean_leak(&self.base, metric));
        let base = base.unwrap_or(without_base);
        match beside_area {
            // The base rate of the share is the part of the images that have the more frequent value.
            Some(share) => Chance::from_area(base, self.samples, mean(&values(&self.base, &share))),
            None if is_share(metric) => Chance::from_share(base, self.samples),
            None => Chance::from_r2(base, self.samples),
        }
    }
}

/// Mean and deviation of a metric in a sentence: in whole percent, other units with two digits.
fn written(values: &[f64], format: &MetricFormat) -> String {
    let digits = if format.is_percent() { 0 } else { 2 };
    let scaled: Vec<f64> = values.iter().map(|value| format.value(*value)).collect();
    MeanStd::of(&scaled).map(|mean_std| mean_std.text(digits)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
