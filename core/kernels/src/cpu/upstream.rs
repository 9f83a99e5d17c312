//! The upstream gradient of a convolution.

use std::ops::Range;

/// The gradient of a convolution, possibly computed one part at a time just before it is used.
pub(crate) trait Upstream: Sync {
    /// A range of the values, from memory or written to `scratch`. Ranges contain all channels of their positions.
    fn part<'a>(&'a self, range: Range<usize>, scratch: &'a mut Vec<f32>) -> &'a [f32];
}

impl Upstream for &[f32] {
    fn part<'a>(&'a self, range: Range<usize>, _: &'a mut Vec<f32>) -> &'a [f32] {
        &self[range]
    }
}
