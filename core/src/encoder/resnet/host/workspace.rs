//! Memory that the layers of a pass take in turn. What is fresh from the operating system is cleared page by page as it is
//! first written, which took a quarter of a training step; what another layer has left behind is not.

use crate::encoder::maps::Maps;

/// What the layers share.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// The kernel of a layer in the form that its products want: four times as large as the weight in Winograd's way, and
    /// so made again for the gradient.
    pub(super) kernel: Vec<f32>,
    spare: Vec<Vec<f32>>,
}

impl Workspace {
    /// Maps that hold anything, for a caller that writes every value.
    pub(super) fn maps(&mut self, n: usize, [height, width]: [usize; 2], channels: usize) -> Maps {
        let length = n * height * width * channels;
        // The smallest that suffices, so that large ones are there for large maps.
        let fitting = self.spare.iter().enumerate().filter(|(_, spare)| spare.capacity() >= length);
        let best = fitting.min_by_key(|(_, spare)| spare.capacity()).map(|(at, _)| at);
        let mut values = best.map(|at| self.spare.swap_remove(at)).unwrap_or_default();
        values.resize(length, 0.0);
        Maps { values, n, height, width, channels }
    }

    /// Maps of the shape of others that hold anything.
    pub(super) fn maps_like(&mut self, maps: &Maps) -> Maps {
        self.maps(maps.n, [maps.height, maps.width], maps.channels)
    }

    /// Zeros of the shape of others.
    pub(super) fn zeros_like(&mut self, maps: &Maps) -> Maps {
        let mut zeros = self.maps_like(maps);
        zeros.values.fill(0.0);
        zeros
    }

    /// Takes maps that are no longer needed.
    pub(super) fn recycle(&mut self, maps: Maps) {
        self.spare.push(maps.values);
    }
}
