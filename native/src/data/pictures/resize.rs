//! The output size of pictures.

use serde::{Deserialize, Serialize};

use crate::data::settings::Fit;

/// The output format of pictures: squares of `side` pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResizeSpec {
    pub(crate) side: usize,
    pub(crate) channels: usize,
    pub(crate) fit: Fit,
}

impl ResizeSpec {
    /// Bytes of one picture.
    pub(super) fn bytes(self) -> usize {
        self.side * self.side * self.channels
    }
}
