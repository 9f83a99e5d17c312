//! The trained network.

use burn::module::Module;

use super::Encoder;
use super::head::ProjectionHead;

/// An encoder with its head.
#[derive(Module, Debug)]
pub struct Model {
    /// Images to embeddings.
    pub encoder: Encoder,
    /// Embeddings to projections.
    pub head: ProjectionHead,
}
