//! `[objective]`: what is minimised, and the variables of the data set that it is given.

use serde::{Deserialize, Serialize};
use simile_core::loss::{Conditioning, ObjectiveConfig};
use toml::Table;

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

/// The variable that is conditioned on and probed where none is named.
pub(super) fn default_condition() -> String {
    "colour".into()
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
