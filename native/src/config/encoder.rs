//! `[encoder]`: core's settings of the network, and the source of its weights.

use std::path::PathBuf;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use simile_core::nn::EncoderConfig;
use toml::{Table, Value};

/// The network of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct EncoderSection {
    #[serde(flatten)]
    pub(crate) config: EncoderConfig,
    /// The model or run with the initial weights; random if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights: Option<PathBuf>,
}

/// Implemented by hand, because serde cannot both flatten and refuse unknown keys.
impl<'de> Deserialize<'de> for EncoderSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Table::deserialize(deserializer)?;
        let weights = match table.remove("weights") {
            None => None,
            Some(Value::String(path)) => Some(PathBuf::from(path)),
            Some(other) => {
                return Err(D::Error::custom(format!("`weights` is a file in quotes, not {other}")));
            }
        };
        let config = table.try_into().map_err(|error: toml::de::Error| D::Error::custom(error.message()))?;
        Ok(Self { config, weights })
    }
}
