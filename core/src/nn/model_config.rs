//! The settings of a network.

use std::sync::Arc;

use burn::tensor::Device;

use super::checkpoint::Weights;
use super::head::HeadConfig;
use super::initial::InitialValues;
use super::{EncoderConfig, Model};
use crate::error::{Error, Result};

/// The settings of a network: encoder, head, initial weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelConfig {
    /// Images to embeddings.
    pub encoder: EncoderConfig,
    /// Embeddings to projections, or to class scores.
    pub head: HeadConfig,
    /// Initial weights of the encoder; random if absent.
    pub weights: Option<Arc<Weights>>,
}

impl ModelConfig {
    /// A network of initial values on an autodiff device; an encoder that has `weights` has these.
    ///
    /// # Errors
    /// A setting is out of range, or the weights belong to another encoder.
    pub fn init(&self, device: &Device, initial: &mut impl InitialValues) -> Result<Model> {
        let device = device.clone().autodiff();
        let mut encoder = self.encoder.init(&device, initial)?;
        if let Some(weights) = &self.weights {
            encoder = weights.put_into(encoder).map_err(|error| Error::Degenerate {
                reason: format!("the encoder cannot start from these weights: {error}"),
                remedy: "name the file of an encoder with the same layers".into(),
            })?;
        }
        let head = self.head.init(self.encoder.embedding_size(), &device, initial)?;
        Ok(Model { encoder, head })
    }
}
