use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend as _, Backend};

use crate::AugmentationOps;
use crate::cpu::augment::Views;

// Views are inputs of networks, and constants.
impl<B: Backend + AugmentationOps, C: CheckpointStrategy> AugmentationOps for Autodiff<B, C> {
    fn augment(images: FloatTensor<Self>, views: Views) -> FloatTensor<Self> {
        Self::from_inner(B::augment(images.into_primitive(), views))
    }
}
