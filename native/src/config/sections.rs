//! The sections of a recipe that belong to the command line; the others are core's own settings.

use serde::{Deserialize, Serialize};
use simile_core::algorithm::AlgorithmConfig;
use simile_core::augment::Augmentation;
use simile_core::error::Error;
use simile_core::eval::sgd_probe::SgdProbeConfig;
use simile_core::loss::{Conditioning, ObjectiveConfig};
use simile_core::nn::head::{HeadConfig, HeadKind};
use simile_core::numeric::matrix::Matrix;
use simile_core::train::Precision;
use toml::Table;

use super::Fault;
use super::explain::{reword, suggestion};
use super::measured::{self, MeasuredObjective};
use super::penalty::Penalty;

/// `[objective]`: what to minimise and what it conditions on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ObjectiveSection {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<String>,
    /// Which variable of the data set is the conditioning variable `z`. Where none is named an objective that needs one
    /// takes `colour`, and one that needs none takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) condition: Option<String>,
    /// Number of k-means clusters of the condition that take the place of the classes as `labels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clusters: Option<usize>,
    /// Clusters that agree in so many binary columns of the condition, those of largest entropy, take that place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) top_attributes: Option<usize>,
    /// Make each batch of so many groups of samples whose condition is nearest to each other's; shuffled if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) neighbourhoods: Option<usize>,
    /// Which categorical variable of the data set is the `bias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bias: Option<String>,
    /// Draw each batch with replacement, a sample as often as its bias is rare in its class, and at most so many times as
    /// often as the one drawn least (BiasCon: 10); shuffled if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) oversample: Option<f64>,
    /// Whatever the objective itself knows: temperature, lambda, kernel, ...
    #[serde(flatten)]
    pub(crate) parameters: Table,
}

/// `[classified]`: the images whose classes are learned beside a contrastive objective, by a method with a classifier.
/// Without the section they are the batch's own first views.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClassifiedSection {
    /// How many of them a step takes, in an order of their own.
    pub(crate) batch: usize,
    /// How they are seen; as they are if absent.
    #[serde(default, deserialize_with = "super::views::deserialize")]
    pub(crate) augment: Augmentation,
}

/// `[train]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrainSection {
    pub(crate) batch: usize,
    pub(crate) iterations: usize,
    #[serde(default)]
    pub(crate) seed: u64,
    /// Whether batch norm takes the statistics of each view apart, as released, or of both together.
    #[serde(default)]
    pub(crate) views_apart: bool,
    /// Share that a moving average of the network keeps at each update; the average is judged and saved. None if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ema: Option<f64>,
    /// Iterations whose gradients are averaged for one update of the network.
    #[serde(default = "default_accumulate")]
    pub(crate) accumulate: usize,
    /// What encoders compute in as they train.
    #[serde(default)]
    pub(crate) precision: Precision,
    /// The mean loss of every so many iterations is a line of `metrics.jsonl`. Reading it waits for the device.
    #[serde(default = "default_log_every")]
    pub(crate) log_every: usize,
    /// A checkpoint to resume from is written every so many iterations.
    #[serde(default = "default_checkpoint_every")]
    pub(crate) checkpoint_every: usize,
    /// And at the latest after so many minutes. No number of the run depends on it.
    #[serde(default = "default_checkpoint_minutes")]
    pub(crate) checkpoint_minutes: f64,
}

/// `[probe]`: how the representation is judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProbeSection {
    /// Which variable of the data set the leak is measured of.
    pub(crate) condition: String,
    /// Other variables to read off, each of whose metrics begins with its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) also: Vec<String>,
    /// How the linear classifier of the class is fitted.
    pub(crate) solver: Solver,
    /// L-BFGS steps of the linear classifier.
    pub(crate) steps: usize,
    /// The ridge penalty of linear probes, or several of which one is chosen on held-out training images.
    pub(crate) ridge: Penalty,
    /// Objectives that are evaluated on the frozen network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) objectives: Vec<MeasuredObjective>,
    /// Settings of the solver `sgd`.
    pub(crate) sgd: SgdProbeConfig,
}

/// How a linear classifier is fitted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Solver {
    /// To the minimum, `steps` and `ridge`.
    #[default]
    Lbfgs,
    /// By descent, `[probe.sgd]`.
    Sgd,
}

/// `[head]`: the layers between the embedding and the objective. What is left out follows from the objective: a linear
/// layer with a score for each class, or the released projection head.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HeadSection {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<HeadKind>,
    /// Width of the hidden layer; the embedding size if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden: Option<usize>,
    /// Width of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<usize>,
}

/// `[[arm]]`: one of several objectives that are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arm {
    pub(crate) name: String,
    pub(crate) objective: ObjectiveSection,
    /// The recipe's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<AlgorithmConfig>,
}

fn default_condition() -> String {
    "colour".into()
}

fn default_accumulate() -> usize {
    1
}

fn default_log_every() -> usize {
    5
}

fn default_checkpoint_every() -> usize {
    200
}

fn default_checkpoint_minutes() -> f64 {
    10.0
}

impl Default for ProbeSection {
    fn default() -> Self {
        Self {
            condition: default_condition(),
            also: vec![],
            solver: Solver::default(),
            steps: 500,
            ridge: Penalty::default(),
            objectives: vec![],
            sgd: SgdProbeConfig::default(),
        }
    }
}

impl ProbeSection {
    pub(super) fn check(&self) -> Result<(), Fault> {
        measured::check(&self.objectives)?;
        self.ridge.check().map_err(|reason| Fault::new("probe", "ridge", reason))?;
        self.sgd.validate().map_err(|error| Fault::new("probe", "sgd", error.to_string()))
    }
}

impl TrainSection {
    pub(super) fn check(&self) -> Result<(), Fault> {
        let counts = [
            ("batch", self.batch, 2),
            ("iterations", self.iterations, 1),
            ("accumulate", self.accumulate, 1),
            ("log_every", self.log_every, 1),
            ("checkpoint_every", self.checkpoint_every, 1),
        ];
        match counts.into_iter().find(|(_, count, least)| count < least) {
            Some((key, _, least)) => {
                Err(Fault::new("train", key, format!("`train.{key}` must be at least {least}")))
            }
            None if self.checkpoint_minutes.is_nan() || self.checkpoint_minutes <= 0.0 => {
                let reason = "`train.checkpoint_minutes` must be above 0";
                Err(Fault::new("train", "checkpoint_minutes", reason))
            }
            None if self.ema.is_some_and(|ema| !(0.0..=1.0).contains(&ema)) => {
                Err(Fault::new("train", "ema", "`train.ema` must be from 0 to 1"))
            }
            None if !self.iterations.is_multiple_of(self.accumulate) => {
                let reason =
                    "`train.iterations` must be a multiple of `train.accumulate`; the rest would be lost";
                Err(Fault::new("train", "accumulate", reason))
            }
            None => Ok(()),
        }
    }
}

impl HeadSection {
    /// The head of a network that gives so many `scores`, or projections.
    pub(crate) fn of(&self, scores: Option<usize>) -> HeadConfig {
        let default = match scores {
            Some(output) => HeadConfig { kind: HeadKind::Linear, output, ..HeadConfig::default() },
            None => HeadConfig::default(),
        };
        HeadConfig {
            kind: self.kind.unwrap_or(default.kind),
            hidden: self.hidden,
            output: self.output.unwrap_or(default.output),
        }
    }
}

impl Arm {
    /// The arm's method.
    pub(crate) fn method(&self) -> AlgorithmConfig {
        self.method.clone().unwrap_or_default()
    }

    /// How many scores its network gives, for so many classes and values of the bias; none if it gives projections.
    pub(crate) fn scores(&self, classes: usize, biases: usize) -> Option<usize> {
        self.method().scores(&self.objective.name, classes, biases)
    }

    /// One score for each class, out of those that its network gives.
    ///
    /// # Errors
    /// As [`ObjectiveConfig::by_class`].
    pub(crate) fn by_class(&self, scores: Matrix) -> Result<Matrix, String> {
        self.objective.config()?.by_class(scores).map_err(|error| error.to_string())
    }

    /// Checks that the method can train the objective over a run of `steps`.
    ///
    /// # Errors
    /// What is unknown, out of range, or does not go together.
    pub(super) fn check(&self, steps: u64) -> Result<(), String> {
        let objective = self.objective.config()?;
        self.method().check(&objective, steps).map_err(|error| match error {
            Error::Unknown { kind, name, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                format!("unknown {kind} `{name}`{}", suggestion(&name, &known))
            }
            error => reword(&error.to_string()),
        })
    }
}

impl ObjectiveSection {
    /// The variable that clusters and neighbourhoods are made of.
    pub(crate) fn variable(&self) -> String {
        self.condition.clone().unwrap_or_else(default_condition)
    }

    /// The variable that the objective gets as `z`.
    pub(crate) fn condition(&self) -> Option<String> {
        (self.condition.is_some() || self.conditioning() == Conditioning::Given).then(|| self.variable())
    }

    /// Where the objective has its conditioning variable from.
    pub(crate) fn conditioning(&self) -> Conditioning {
        self.config().map_or(Conditioning::None, |config| config.conditioning())
    }

    /// The objective as core takes it.
    ///
    /// # Errors
    /// A parameter that JSON has no form of.
    pub(crate) fn config(&self) -> Result<ObjectiveConfig, String> {
        let parameters = serde_json::to_value(&self.parameters).map_err(|error| error.to_string())?;
        let parameters = parameters.as_object().cloned().unwrap_or_default();
        Ok(ObjectiveConfig { name: self.name.clone(), variant: self.variant.clone(), parameters })
    }
}
