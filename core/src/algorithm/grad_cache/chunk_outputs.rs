//! The outputs of the chunks of a process.

use burn::tensor::Tensor;

/// The outputs of each view: those of every chunk, on its device.
pub(super) struct ChunkOutputs {
    pub(super) embeddings: [Vec<Tensor<2>>; 2],
    pub(super) projections: [Vec<Tensor<2>>; 2],
}
