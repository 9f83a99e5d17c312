//! What a run writes down about itself: `metrics.jsonl` while it trains, `result.json` at its end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metrics::names::BASE_RATE;

/// One line of `metrics.jsonl`. It holds nothing that differs between two runs of the same seed, device and
/// version: no times, no paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// Name of the arm.
    pub(crate) arm: String,
    /// Iterations done.
    pub(crate) iteration: usize,
    /// The objective on this iteration's batch.
    pub(crate) loss: f64,
    /// The learning rate of this iteration.
    pub(crate) learning_rate: f64,
}

/// `result.json`: the final numbers and what produced them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunResult {
    pub(crate) recipe: String,
    /// The variable whose leak was measured.
    pub(crate) condition: String,
    pub(crate) seed: u64,
    pub(crate) device: String,
    pub(crate) version: String,
    /// Wall time of the whole run in seconds, without the time between an interruption and its resumption.
    pub(crate) seconds: f64,
    pub(crate) arms: Vec<ArmResult>,
    /// What the same probes read off the encoder before its first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) untrained: Option<Untrained>,
    /// Metrics of naming the most frequent value and the mean, without any encoder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) base_rates: BTreeMap<String, f64>,
}

/// Warnings of each arm before it began, by its name.
pub(crate) type Warnings = BTreeMap<String, Vec<String>>;

/// An encoder that was not trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Untrained {
    /// How its row is called.
    pub(crate) name: String,
    pub(crate) metrics: BTreeMap<String, f64>,
    /// As those of an arm.
    pub(crate) probes: BTreeMap<String, ProbeFit>,
}

/// The final numbers of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArmResult {
    pub(crate) name: String,
    pub(crate) objective: String,
    pub(crate) iterations: usize,
    /// Mean loss over the last tenth of the iterations.
    pub(crate) final_loss: f64,
    /// Wall time of training in seconds.
    pub(crate) training_seconds: f64,
    /// Metrics by name: `top1`, `condition_r2`, ...
    pub(crate) metrics: BTreeMap<String, f64>,
    /// How the probes were fitted that have a ridge penalty: `class`, `condition`, `condition_nonlinear`, and the names of
    /// further variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) probes: BTreeMap<String, ProbeFit>,
    /// How they were measured, and of which encoder.
    #[serde(default)]
    pub(crate) protocol: String,
    /// The same metrics of the last encoder, where another was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<BTreeMap<String, f64>>,
    /// The evaluations that the encoder was chosen by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) evaluations: Vec<Evaluation>,
    /// Why training ended before its last iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<Stopped>,
    /// What makes its numbers doubtful, each with a remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// How a probe was fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProbeFit {
    /// Its ridge penalty.
    pub(crate) ridge: f64,
    /// Training images that the penalty was chosen on; none if it was given.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) held_out: usize,
    /// Random features that it reads beside the representation.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) random_features: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// An encoder on its way, judged on held-out training images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evaluation {
    pub(crate) iteration: u64,
    /// The metric that the encoder is chosen by.
    pub(crate) value: f64,
    pub(crate) metrics: BTreeMap<String, f64>,
}

/// Training that ended early.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stopped {
    pub(crate) why: Why,
    /// In words, with the iterations.
    pub(crate) message: String,
}

/// Why training ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Why {
    /// A number was not finite; the encoder is that of the last checkpoint before.
    Diverged,
    /// No evaluation was better for as long as was asked for.
    NoBetter,
}

impl RunResult {
    /// What the arms are held against, by name: the encoder that was not trained, and no encoder at all.
    pub(crate) fn references(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, f64>)> {
        let untrained = self.untrained.iter().map(|before| (before.name.as_str(), &before.metrics));
        let base = (!self.base_rates.is_empty()).then_some((BASE_RATE, &self.base_rates));
        untrained.chain(base)
    }

    /// What the first arm that diverged says of it.
    pub(crate) fn diverged(&self) -> Option<&str> {
        self.arms.iter().find_map(ArmResult::diverged)
    }
}

impl ArmResult {
    /// In words that its training diverged, if it did.
    pub(crate) fn diverged(&self) -> Option<&str> {
        let stopped = self.stopped.as_ref().filter(|stopped| stopped.why == Why::Diverged);
        stopped.map(|stopped| stopped.message.as_str())
    }

    /// A metric, if it was measured.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }
}
