//! The settings of an algorithm: their meaning, the objectives that they fit, the algorithm that they build, and the workload of a
//! step. The file of each algorithm implements the trait for its own; recipes call an algorithm with its settings a training method.

use std::fmt::Debug;

use burn::tensor::Device;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use super::class_scores::class_scores;
use super::workload::{StepContext, Workload};
use super::{Algorithm, ModelConfig, TrainingSet};
use crate::error::{Error, Result, within};
use crate::loss::ObjectiveConfig;
use crate::loss::spec::Spec;

/// The inputs beside its settings from which an algorithm is built, for a run of `steps`.
#[derive(Debug, Clone, Copy)]
pub(super) struct AlgorithmContext<'a> {
    pub(super) network: &'a ModelConfig,
    pub(super) objective: &'a ObjectiveConfig,
    pub(super) training: &'a TrainingSet,
    pub(super) steps: u64,
    pub(super) device: &'a Device,
}

/// Rows of projections that an algorithm keeps beside its networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRows {
    /// The key that counts them.
    pub key: &'static str,
    /// Their number.
    pub count: usize,
    /// How many times the algorithm keeps that number of rows.
    pub times: usize,
}

/// A part of an algorithm that begins to act after a number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Onset {
    /// The key that counts the steps.
    pub key: &'static str,
    /// Their number.
    pub steps: u64,
    /// The part and what it lacks before, such as `the prototypes are not trained`.
    pub before: &'static str,
}

/// A loss among the settings of an algorithm, beside the objective that the recipe names.
#[derive(Debug, Clone, PartialEq)]
pub struct InnerLoss {
    /// The key of its settings in a recipe, such as `method.triplet`.
    pub key: &'static str,
    /// Its description.
    pub spec: &'static Spec,
    /// Its settings by their names, as JSON.
    pub settings: Value,
}

/// A key of an algorithm's settings, and its meaning: a sentence with unit, range and default.
pub(super) type Meaning = (&'static str, &'static str);

/// The settings of an algorithm.
pub(super) trait AlgorithmSettings: Debug {
    /// The meanings of its settings, for those who write a recipe.
    fn meanings() -> &'static [Meaning]
    where
        Self: Sized,
    {
        &[]
    }

    /// Settings, objectives and encoders with which tests train it.
    #[cfg(test)]
    fn examples() -> &'static [[&'static str; 3]]
    where
        Self: Sized;

    /// Checks the settings beside an objective that the algorithm trains, for a run of `steps`.
    ///
    /// # Errors
    /// One is out of range, or does not fit the objective.
    fn check(&self, _objective: &Spec, _steps: u64) -> Result<()> {
        Ok(())
    }

    /// The algorithm in its initial state.
    ///
    /// # Errors
    /// The network or the training set lacks a property that the algorithm needs.
    fn build(&self, context: &AlgorithmContext<'_>, rng: &mut ChaCha8Rng) -> Result<Box<dyn Algorithm>>;

    /// The workload of a step: parameters, passes of networks, and comparisons.
    fn workload(&self, step: &StepContext<'_>) -> Workload;

    /// The rows of projections that it keeps beside its networks, for an objective that it trains.
    ///
    /// # Errors
    /// The settings of the objective cannot be read.
    fn stored_rows(&self, _objective: &ObjectiveConfig) -> Result<Vec<StoredRows>> {
        Ok(Vec::new())
    }

    /// The parts that begin to act after a number of steps.
    fn onsets(&self) -> Vec<Onset> {
        Vec::new()
    }

    /// The loss among its settings, if there is one.
    fn inner_loss(&self) -> Option<InnerLoss> {
        None
    }

    /// The evaluated network in words, if it is the second of two that the algorithm draws; else it is the first, as in most algorithms.
    fn second_network_evaluated(&self) -> Option<&'static str> {
        None
    }

    /// The scores that the network's head must give, for `classes` and a bias of `bias_count` values; `None` if the objective compares
    /// projections.
    fn scores(&self, objective: &str, classes: usize, bias_count: usize) -> Option<usize> {
        if self.takes_images_to_classify() {
            Some(classes)
        } else {
            class_scores(objective, classes, bias_count)
        }
    }

    /// True if the objective compares two views of the same image.
    fn sees_two_views(&self, objective: &Spec) -> bool {
        objective.needs_views()
    }

    /// True if a classifier is trained jointly with the objective, on a separate batch of images if there is one.
    fn takes_images_to_classify(&self) -> bool {
        false
    }

    /// True if it has a network that needs the samples without augmentation, if it trains this objective.
    fn takes_plain(&self, _objective: &Spec) -> bool {
        false
    }

    /// The fewest samples of a batch on which it trains as it is defined.
    fn least_batch(&self) -> usize {
        2
    }

    /// The samples that it computes at once, if devices and processes can share them.
    fn chunk(&self) -> Option<usize> {
        None
    }

    /// The steps of the first of two stages, if it has two.
    fn first_steps(&self) -> Option<u64> {
        None
    }

    /// A mutable reference to the steps of the first stage, if there are two.
    fn first_steps_mut(&mut self) -> Option<&mut u64> {
        None
    }
}

/// The meaning of the setting of the steps of the first of two stages.
pub(super) const FIRST_STEPS: Meaning = (
    "first_steps",
    "Iterations of the first of two stages, 1 or more and fewer than `train.iterations`; has to be given.",
);

/// Checks a setting that counts something.
pub(super) fn at_least_one(name: &str, count: usize) -> Result<()> {
    match count {
        0 => Err(Error::parameter(name, count, "expected 1 or more")),
        _ => Ok(()),
    }
}

/// Checks the momentum of a network that follows the trained one.
pub(super) fn check_momentum(momentum: f64) -> Result<()> {
    let name = "method.momentum";
    if within(name, momentum, 0.0, 1.0)? < 1.0 {
        return Ok(());
    }
    Err(Error::parameter(
        name,
        momentum,
        "expected a number from 0 to below 1: with 1 the average never changes",
    ))
}

/// Checks the steps of the first of two stages.
pub(super) fn check_stages(first_steps: u64, steps: u64) -> Result<()> {
    match first_steps {
        1.. if first_steps < steps => Ok(()),
        _ => {
            let range = format!("expected at least 1 and less than the {steps} of the run");
            Err(Error::parameter("method.first_steps", first_steps, &range))
        }
    }
}
