//! The records of a run: `metrics.jsonl` during training, `result.json` at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::metrics::Metrics;
use crate::metrics::names::BASE_RATE;
use crate::run_folder::digest::Digest;

/// One line of `metrics.jsonl`. It holds nothing that differs between two runs of the same seed, device and
/// version: no times, no paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// Name of the variant.
    #[serde(rename = "arm")]
    pub(crate) variant: String,
    /// Iterations done.
    pub(crate) iteration: usize,
    /// The mean loss of the iterations since the variant's last line.
    pub(crate) loss: f64,
    /// The learning rate of this iteration.
    pub(crate) learning_rate: f64,
}

/// `result.json`: the final numbers and the settings that produced them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunResult {
    pub(crate) recipe: String,
    /// The attribute whose leak was measured.
    pub(crate) condition: String,
    pub(crate) seed: u64,
    /// The device at the end.
    pub(crate) device: String,
    pub(crate) version: String,
    /// Wall time of the whole run in seconds, without the time between an interruption and its resumption.
    pub(crate) seconds: f64,
    // Files and answers keep the former name of a variant, by which programs read them.
    #[serde(rename = "arms")]
    pub(crate) variants: Vec<VariantResult>,
    /// The results of the same probes on the encoder before its first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) untrained: Option<Untrained>,
    /// Metrics of predicting the most frequent value and the mean, without any encoder.
    #[serde(default, skip_serializing_if = "Metrics::is_empty")]
    pub(crate) base_rates: Metrics,
    /// The mark of a smoke test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) smoke: Option<SmokeTest>,
    /// The verdict in sentences: the leak and the accuracy of each variant beside the first one, and advice for the next run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) verdict: Vec<String>,
    /// When the run ended: UTC, as in RFC 3339.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) date: String,
    /// The command that began the run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) command: String,
    /// The iterations that it was planned for before it was made longer, each time. Its numbers need not be those of a run that had its
    /// present length from the beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) extended_at: Vec<usize>,
    /// The devices that it was on before `device`, in order. Its numbers need not be those of a run on one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) earlier_devices: Vec<EarlierDevice>,
    /// The size of its data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) images: Option<ImageCounts>,
    /// The digest of the names, classes, sizes and attributes of its picture files, if its data are such files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) picture_files: Option<Digest>,
}

/// A device that a run was on before another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EarlierDevice {
    pub(crate) device: String,
    /// The variant in training when the run left it.
    #[serde(rename = "arm")]
    pub(crate) variant: String,
    /// Iterations of that variant done by then.
    pub(crate) iteration: u64,
    /// Iterations done of each later variant, if the run was made longer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) others: BTreeMap<String, u64>,
}

impl fmt::Display for EarlierDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, variant, iteration, others } = self;
        write!(f, "{device} until iteration {iteration} of {variant}")?;
        others.iter().try_for_each(|(variant, iteration)| write!(f, " and {iteration} of {variant}"))
    }
}

/// The devices of a run in the order in which it was on them, in words.
pub(crate) fn devices_in_words(earlier: &[EarlierDevice], last: &str) -> String {
    let earlier = earlier.iter().map(EarlierDevice::to_string);
    earlier.chain([last.to_owned()]).collect::<Vec<_>>().join(", then ")
}

/// The devices of several runs in words, each once. Between them stands a semicolon, because those of one run have commas.
pub(crate) fn devices_of_all<'r>(runs: impl Iterator<Item = &'r RunResult>) -> String {
    let devices: BTreeSet<String> = runs.map(RunResult::devices).collect();
    devices.into_iter().collect::<Vec<_>>().join("; ")
}

/// Numbers of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageCounts {
    /// Number of images to train on, and to fit probes to.
    pub(crate) train: usize,
    /// Number of images to measure probes on: test images, or others by `data.validation` and `data.judged_by`.
    pub(crate) test: usize,
    /// Number of subjects of these, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) test_subjects: Option<usize>,
}

/// The mark of a smoke test, whose numbers mean nothing, with the size of the run that it stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SmokeTest {
    /// Iterations of each variant of the whole run.
    pub(crate) iterations: usize,
    /// Images of each of its batches.
    pub(crate) batch: usize,
    /// The seconds that training all variants of it is expected to take here, if that could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expected_seconds: Option<f64>,
}

/// Warnings of each variant before it began, by its name.
pub(crate) type Warnings = BTreeMap<String, Vec<String>>;

/// A fault of a kernel in the first batch, from which the width to try next follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KernelFault {
    /// It tells all images apart, and a wider one would tell fewer.
    TooNarrow,
    /// The images that differ are equally far apart, so that a kernel of any width has one value for all of them.
    EquallyApart,
}

impl KernelFault {
    /// The starts of warnings of builds whose results and states have no `kernel`, each with its fault.
    const FORMER: [(&str, Self); 2] = [
        ("the kernel tells all images of the first batch apart", Self::TooNarrow),
        ("the images of the first batch that differ are equally far apart", Self::EquallyApart),
    ];

    /// The fault that is known from the warnings of such a build alone.
    fn from_warnings(warnings: &[String]) -> Option<Self> {
        let is_told = |(start, _): &(&str, Self)| warnings.iter().any(|warning| warning.starts_with(*start));
        Self::FORMER.into_iter().find(is_told).map(|(_, fault)| fault)
    }
}

/// The faults of kernels before training, by the name of the variant.
pub(crate) type KernelFaults = BTreeMap<String, KernelFault>;

/// An encoder that was not trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Untrained {
    /// The name of its row.
    pub(crate) name: String,
    pub(crate) metrics: Metrics,
    /// The fits of its probes, as for a variant.
    pub(crate) probes: BTreeMap<String, ProbeFit>,
}

/// The final numbers of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct VariantResult {
    pub(crate) name: String,
    pub(crate) objective: String,
    pub(crate) iterations: usize,
    /// Mean of the logged losses in the last tenth of the iterations, or the last one before if that has none. If there is none up to
    /// `iterations`, because training diverged, the first one after it; none if no loss was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) final_loss: Option<f64>,
    /// Wall time of training in seconds.
    pub(crate) training_seconds: f64,
    /// Metrics by name: `top1`, `condition_r2`, ...
    pub(crate) metrics: Metrics,
    /// The fits of the probes with a ridge penalty: `class`, `condition`, `condition_nonlinear`, and the same two of
    /// further attributes, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) probes: BTreeMap<String, ProbeFit>,
    /// The protocol of the metrics, and the choice of the encoder.
    #[serde(default)]
    pub(crate) protocol: String,
    /// The same metrics of the last encoder, if another was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<Metrics>,
    /// The evaluations for the choice of the encoder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) evaluations: Vec<SelectionEvaluation>,
    /// The reason why training ended before its last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<Stopped>,
    /// Warnings about its numbers, each with a remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    /// The fault of its kernel in the first batch, if it has one. Results of older builds lack it: [`kernel_fault`](Self::kernel_fault)
    /// reads it from their warnings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kernel: Option<KernelFault>,
    /// The p-values of McNemar's exact test of this variant and the first one on the same images, or on their subjects, by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) paired: BTreeMap<String, f64>,
}

/// The record of the fit of a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProbeFit {
    /// Its ridge penalty.
    pub(crate) ridge: f64,
    /// Training images for choosing the penalty; 0 if it was given.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) held_out: usize,
    /// Random features beside the representation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) random_features: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An evaluation of the encoder during training, on the images of `[selection]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SelectionEvaluation {
    pub(crate) iteration: u64,
    /// The value of the metric for the choice of the encoder.
    pub(crate) value: f64,
    pub(crate) metrics: Metrics,
}

/// The best evaluation; the first one among equals.
pub(crate) fn best(evaluations: &[SelectionEvaluation]) -> Option<&SelectionEvaluation> {
    evaluations.iter().reduce(|best, other| if other.value > best.value { other } else { best })
}

/// Training that ended early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stopped {
    #[serde(rename = "why")]
    pub(crate) reason: StopReason,
    /// The same in words, with the iterations.
    pub(crate) message: String,
}

/// The reason why training ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StopReason {
    /// A number was not finite; the encoder is that of the last multiple of `checkpoint_every` before, or, if its outputs are not finite
    /// either, the one before the first step.
    Diverged,
    /// No evaluation improved for `selection.patience` evaluations.
    NoBetter,
}

impl RunResult {
    /// Its devices in the order in which it was on them, in words.
    pub(crate) fn devices(&self) -> String {
        devices_in_words(&self.earlier_devices, &self.device)
    }

    /// The references for the variants, by name: the untrained encoder, and no encoder at all.
    pub(crate) fn references(&self) -> impl Iterator<Item = (&str, &Metrics)> {
        let untrained = self.untrained.iter().map(|before| (before.name.as_str(), &before.metrics));
        let base = (!self.base_rates.is_empty()).then_some((BASE_RATE, &self.base_rates));
        untrained.chain(base)
    }

    /// The message of the first variant that diverged.
    pub(crate) fn diverged(&self) -> Option<&str> {
        self.variants.iter().find_map(VariantResult::diverged)
    }
}

impl VariantResult {
    /// The fault of its kernel in the first batch, if it has one.
    pub(crate) fn kernel_fault(&self) -> Option<KernelFault> {
        self.kernel.or_else(|| KernelFault::from_warnings(&self.warnings))
    }

    /// The message of the divergence of its training, if it diverged.
    pub(crate) fn diverged(&self) -> Option<&str> {
        let stopped = self.stopped.as_ref().filter(|stopped| stopped.reason == StopReason::Diverged);
        stopped.map(|stopped| stopped.message.as_str())
    }

    /// A metric, if it was measured.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}
