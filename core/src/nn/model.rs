//! The trained network.

use burn::module::Module;

use super::head::ProjectionHead;
use super::{Encoder, Flow, Section};

/// An encoder with its head.
#[derive(Module, Debug)]
pub struct Model {
    /// Images to embeddings.
    pub encoder: Encoder,
    /// Embeddings to projections.
    pub head: ProjectionHead,
}

impl Model {
    /// The layers of both in sections, from images to projections; the last section is the head.
    pub(crate) fn sections(&self) -> Vec<Section<'_>> {
        let head = Section::of(|rows| Flow::from_rows(self.head.forward(Flow::from(rows).rows())).maps);
        let mut sections = self.encoder.sections();
        sections.push(head.with(&self.head));
        sections
    }
}
