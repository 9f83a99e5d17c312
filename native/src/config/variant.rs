//! The objectives that a recipe compares: `[[variant]]` as it is written, and the variant that is trained.

use serde::{Deserialize, Serialize};
use simile_core::algorithm::AlgorithmConfig;
use simile_core::error::Error;
use simile_core::numeric::matrix::Matrix;

use super::explain::suggestion;
use super::fault::Fault;
use super::objective::ObjectiveSection;
use super::reader_error::ReaderError;

/// `[[variant]]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VariantSection {
    pub(crate) name: String,
    pub(crate) objective: ObjectiveSection,
    /// That of the recipe if absent.
    #[serde(default, rename = "method", skip_serializing_if = "Option::is_none")]
    pub(crate) algorithm: Option<AlgorithmConfig>,
}

/// A variant that is trained. It is no `Variant`, since the `variant` of an objective is its form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecipeVariant {
    pub(crate) name: String,
    pub(crate) objective: ObjectiveSection,
    pub(crate) algorithm: AlgorithmConfig,
}

impl VariantSection {
    /// The variant that is trained; `algorithm` is that of the recipe.
    pub(super) fn with_algorithm(&self, algorithm: &AlgorithmConfig) -> RecipeVariant {
        let Self { name, objective, algorithm: own } = self.clone();
        RecipeVariant { name, objective, algorithm: own.unwrap_or_else(|| algorithm.clone()) }
    }
}

impl RecipeVariant {
    /// The number of scores of its network, for given numbers of classes and values of the bias; none if it gives
    /// projections.
    pub(crate) fn scores(&self, classes: usize, bias_count: usize) -> Option<usize> {
        self.algorithm.scores(&self.objective.name, classes, bias_count)
    }

    /// Reduces the scores of its network to one for each class.
    ///
    /// # Errors
    /// As [`class_scores`](simile_core::loss::ObjectiveConfig::class_scores) of the objective.
    pub(crate) fn class_scores(&self, scores: Matrix) -> Result<Matrix, String> {
        self.objective.config()?.class_scores(scores).map_err(|error| error.to_string())
    }

    /// Checks that the method can train the objective over a run of `steps`.
    ///
    /// # Errors
    /// A setting is unknown, out of range, or incompatible with another. The path of the fault is that of the section that holds it,
    /// `objective` or `method`.
    pub(super) fn check(&self, steps: u64) -> Result<(), Fault> {
        let objective = self.objective.config().map_err(|reason| Fault::new("objective", "", reason))?;
        self.algorithm.check(&objective, steps).map_err(|error| {
            let section = match &error {
                Error::Parameter { name, .. } if name.starts_with("method.") => "method",
                _ => "objective",
            };
            let reason = match &error {
                Error::Unknown { kind, name, known } => {
                    let hint = suggestion(name, known.iter().map(String::as_str));
                    format!("unknown {kind} `{name}`{hint}")
                }
                _ => ReaderError::of(&error.to_string()).to_string(),
            };
            Fault::new(section, "", reason)
        })
    }
}
