//! `[probe]`: the evaluation of the representation.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use simile_core::eval::sgd_probe::SgdProbeConfig;

use super::fault::Fault;
use super::measured::{self, MeasuredObjective};
use super::objective::default_condition;
use super::penalty::Penalty;

/// `[probe]`: the evaluation of the representation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProbeSection {
    /// The attribute whose leak is measured; empty in the recipe of a run whose data have no attributes.
    pub(crate) condition: String,
    /// Other attributes to predict; their metrics begin with their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) also: Vec<String>,
    /// The solver of the linear classifier of the class.
    pub(crate) solver: Solver,
    /// L-BFGS steps of the linear classifier.
    pub(crate) steps: usize,
    /// The ridge penalty of linear probes, or several candidates of which one is chosen on held-out training images.
    pub(crate) ridge: Penalty,
    /// Objectives that are evaluated on the frozen network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) objectives: Vec<MeasuredObjective>,
    /// Settings of the solver `sgd`.
    pub(crate) sgd: SgdProbeConfig,
}

/// A solver of a linear classifier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Solver {
    /// L-BFGS to the minimum, with `steps` and `ridge`.
    #[default]
    Lbfgs,
    /// Stochastic gradient descent, with `[probe.sgd]`.
    Sgd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Probe {
    /// A ridge-penalised linear classifier, fitted by L-BFGS
    Linear,
    /// The nearest neighbours' classes, weighted by similarity
    Knn,
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
    /// Lets the data of a new run decide whether there is a leak to measure, so that the default does not name an
    /// attribute that is not there. Another name was given on purpose, and stays.
    pub(crate) fn drop_absent_condition(&mut self, has_attributes: bool) {
        if !has_attributes && self.condition == default_condition() {
            self.condition.clear();
        }
    }

    /// True if the recipe asks for the leak of an attribute. Whether it can be measured depends on the data.
    pub(crate) fn probes(&self, attribute: &str) -> bool {
        self.condition == attribute || self.also.iter().any(|name| name == attribute)
    }

    /// The attribute by whose leak a variant is judged: its own, which its objective hides or keeps, if the recipe probes it, or else the
    /// one that the metrics call the condition. Where the leak of its own cannot be measured, that of another does not stand for it.
    pub(crate) fn judged<'a>(&'a self, own: Option<&'a str>) -> &'a str {
        own.filter(|own| self.probes(own)).unwrap_or(&self.condition)
    }

    /// Measures the leak of another attribute; that of the one before is measured still, beside it.
    pub(crate) fn ask_for(&mut self, condition: &str) {
        let before = std::mem::replace(&mut self.condition, condition.to_owned());
        if !before.is_empty() && before != condition {
            self.also.insert(0, before);
        }
        self.also.retain(|name| name != condition);
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        measured::check(&self.objectives)?;
        self.ridge.check().map_err(|reason| Fault::new("probe", "ridge", reason))?;
        self.sgd.validate().map_err(|error| Fault::new("probe", "sgd", error.to_string()))
    }
}
