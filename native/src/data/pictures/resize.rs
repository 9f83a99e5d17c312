//! The output size of pictures.

use serde::{Deserialize, Serialize};

use crate::data::keys::values::Fit;

/// The output format of pictures: squares of `side` pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResizeSpec {
    pub(crate) side: usize,
    pub(crate) channels: usize,
    pub(crate) fit: Fit,
}

impl ResizeSpec {
    /// The width of a picture over its height, divided by that of its square, if that is kept beside squares; else 1.
    pub(super) fn stretch(self, height: usize, width: usize) -> f32 {
        if self.fit.keeps_shape() { width as f32 / height.max(1) as f32 } else { 1.0 }
    }

    /// Bytes of one picture.
    pub(super) fn bytes(self) -> usize {
        self.side * self.side * self.channels
    }
}
