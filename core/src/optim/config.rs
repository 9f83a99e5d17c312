//! `[optimizer]`: the rule and its settings.

use serde::{Deserialize, Serialize};

use super::lars::Lars;
use super::rules::{Adam, Sgd};
use crate::error::{Result, positive, single};

/// Settings of an optimiser: `{"name": "lars", ...}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum OptimizerConfig {
    /// Stochastic gradient descent.
    Sgd(Sgd),
    /// Adam with coupled weight decay.
    Adam(Adam),
    /// Adam with decoupled weight decay.
    AdamW(Adam),
    /// Layer-wise adaptive rate scaling.
    Lars(Lars),
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self::Adam(Adam::default())
    }
}

impl OptimizerConfig {
    /// The base learning rate, which a [`Schedule`](super::schedule::Schedule) multiplies.
    pub fn learning_rate(&self) -> f64 {
        match self {
            Self::Sgd(rule) => rule.learning_rate,
            Self::Adam(rule) | Self::AdamW(rule) => rule.learning_rate,
            Self::Lars(rule) => rule.learning_rate,
        }
    }

    /// The maximum norm of the gradient of the whole model, which is clipped to it.
    pub fn clip_norm(&self) -> Option<f64> {
        match self {
            Self::Sgd(rule) => rule.clip_norm,
            Self::Adam(rule) | Self::AdamW(rule) => rule.clip_norm,
            Self::Lars(rule) => rule.clip_norm,
        }
    }

    /// The numbers of its state for each parameter: momentum, or two moments.
    pub fn slots(&self) -> u64 {
        match self {
            Self::Sgd(rule) if rule.momentum == 0.0 => 0,
            Self::Sgd(_) | Self::Lars(_) => 1,
            Self::Adam(_) | Self::AdamW(_) => 2,
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::error::Error::Parameter) names the parameter that is out of range.
    pub fn validate(&self) -> Result<()> {
        let name = "optimizer.learning_rate";
        single(name, positive(name, self.learning_rate())?)?;
        if let Some(length) = self.clip_norm() {
            positive("optimizer.clip_norm", length)?;
        }
        match self {
            Self::Sgd(rule) => rule.validate(),
            Self::Adam(rule) | Self::AdamW(rule) => rule.validate(),
            Self::Lars(rule) => rule.validate(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::optim::Optimizer;

    #[test]
    fn a_recipe_reads_as_it_is_written_and_unknown_keys_are_errors() {
        let config: OptimizerConfig =
            serde_json::from_str(r#"{"name":"lars","variant":"released","learning_rate":0.5}"#).unwrap();
        assert!(matches!(config, OptimizerConfig::Lars(Lars { learning_rate: 0.5, .. })));
        assert!(serde_json::from_str::<OptimizerConfig>(r#"{"name":"adamw","beta":0.5}"#).is_err());
        assert!(serde_json::from_str::<OptimizerConfig>(r#"{"name":"rmsprop"}"#).is_err());
        let wrong = OptimizerConfig::Adam(Adam { beta1: 1.0, ..Adam::default() });
        assert!(Optimizer::new(wrong).unwrap_err().to_string().contains("optimizer.beta1"));
    }
}
