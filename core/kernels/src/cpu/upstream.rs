//! The gradient that a convolution is given, as far as its loops have to know it.

use std::ops::Range;

/// The gradient of a convolution, which may be made a part at a time just before it is used.
pub trait Upstream: Sync {
    /// A range of the values, from memory or written to `scratch`. Ranges have all channels of their places.
    fn part<'a>(&'a self, range: Range<usize>, scratch: &'a mut Vec<f32>) -> &'a [f32];
}

impl Upstream for &[f32] {
    fn part<'a>(&'a self, range: Range<usize>, _: &'a mut Vec<f32>) -> &'a [f32] {
        &self[range]
    }
}
