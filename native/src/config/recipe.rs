//! A recipe, by its sections.

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use simile_core::algorithm::AlgorithmConfig;
use simile_core::augment::{Augmentation, Normalisation};
use simile_core::optim::OptimizerConfig;
use simile_core::optim::schedule::Schedule;

use super::encoder::EncoderSection;
use super::objective::ObjectiveSection;
use super::origin::Origin;
use super::probe::ProbeSection;
use super::reader_error::ReaderError;
use super::sections::{ClassifiedSection, HeadSection, SmokeSection, TrainSection};
use super::selection::SelectionSection;
use super::variant::{RecipeVariant, VariantSection};
use super::views::normalisation;
use crate::data::DataSection;

/// Everything that decides a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// Name of the run folder; the file's name if absent.
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) data: DataSection,
    #[serde(default)]
    pub(crate) encoder: EncoderSection,
    #[serde(default)]
    pub(crate) head: HeadSection,
    #[serde(default, deserialize_with = "super::views::deserialize")]
    pub(crate) augment: Augmentation,
    /// The images whose classes are learned; absent if these are the views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classified: Option<ClassifiedSection>,
    /// The objective to minimise; absent if the variants define theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) objective: Option<ObjectiveSection>,
    /// The training algorithm, with its networks and memory beside the encoder; a variant can have its own.
    #[serde(default, rename = "method")]
    pub(crate) algorithm: AlgorithmConfig,
    #[serde(default)]
    pub(crate) optimizer: OptimizerConfig,
    #[serde(default)]
    pub(crate) schedule: Schedule,
    pub(crate) train: TrainSection,
    /// The selection of the encoder; absent if the last one is evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) selection: Option<SelectionSection>,
    #[serde(default)]
    pub(crate) probe: ProbeSection,
    /// Objectives to compare, trained one after the other from the same initial weights.
    #[serde(default, rename = "variant", alias = "arm", skip_serializing_if = "Vec::is_empty")]
    pub(crate) written_variants: Vec<VariantSection>,
    /// The mark of a smoke test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) smoke: Option<SmokeSection>,
    /// The places of its keys.
    #[serde(skip)]
    pub(crate) origin: Origin,
}

impl Recipe {
    /// The variants to train; the recipe's objective alone is one.
    pub(crate) fn variants(&self) -> Vec<RecipeVariant> {
        match &self.objective {
            Some(objective) if self.written_variants.is_empty() => vec![RecipeVariant {
                name: objective.name.clone(),
                objective: objective.clone(),
                algorithm: self.algorithm.clone(),
            }],
            _ => {
                self.written_variants.iter().map(|variant| variant.with_algorithm(&self.algorithm)).collect()
            }
        }
    }

    /// The recipe as serialised to the run folder: every default filled in.
    ///
    /// # Errors
    /// If it cannot be written as TOML.
    pub(crate) fn to_toml(&self) -> Result<String> {
        toml::to_string(self).context("writing the recipe")
    }

    /// The normalisation of the encoder's images.
    ///
    /// # Errors
    /// The name is unknown, or there is not one constant a channel.
    pub(crate) fn normalisation(&self) -> Result<Normalisation, String> {
        normalisation(self.data.normalise.as_ref(), self.encoder.config.channels)
    }

    /// The recipe of a TOML table.
    ///
    /// # Errors
    /// Names the key that is unknown, missing or of another type.
    pub(super) fn from_table(table: toml::Table) -> Result<Self, ReaderError> {
        table.try_into().map_err(|error: toml::de::Error| ReaderError::of(error.message()))
    }
}
