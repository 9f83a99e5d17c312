//! Optional tensors for the arguments of operations: Burn routes an `Option` in results alone.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, ExtensionType};

/// An optional tensor.
#[derive(Debug, Clone, ExtensionType)]
#[extension_type(fusion: cfg(feature = "fusion"))]
pub enum Optional<B: Backend> {
    /// No tensor.
    Nothing,
    /// A tensor.
    Just(FloatTensor<B>),
}

impl<B: Backend> Optional<B> {
    pub(crate) fn of(tensor: Option<FloatTensor<B>>) -> Self {
        tensor.map_or(Self::Nothing, Self::Just)
    }

    pub(crate) fn into_option(self) -> Option<FloatTensor<B>> {
        match self {
            Self::Nothing => None,
            Self::Just(tensor) => Some(tensor),
        }
    }
}
