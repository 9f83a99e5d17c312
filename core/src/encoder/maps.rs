//! Maps of a batch in the host's memory with the channels of a place side by side, as products want them.

use burn::tensor::{Tensor, TensorData};

use simile_kernels::cpu::parallel;

/// Images that one round of a loop rearranges.
const CHUNK: usize = 8;

/// `[n, height, width, channels]`.
#[derive(Debug, Clone)]
pub(super) struct Maps {
    pub(super) values: Vec<f32>,
    pub(super) n: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
}

impl Maps {
    /// From `[n, channels, height, width]`, which lies here in `f32`.
    pub(super) fn of_images(images: Tensor<4>) -> Self {
        let [n, channels, height, width] = images.dims();
        let planes = images.without_autodiff().into_data();
        let image = channels * height * width;
        let interleave = |chunk: &[f32]| {
            let mut maps = vec![0.0; chunk.len()];
            for (maps, planes) in maps.chunks_exact_mut(image).zip(chunk.chunks_exact(image)) {
                for (channel, plane) in planes.chunks_exact(height * width).enumerate() {
                    let places = maps.iter_mut().skip(channel).step_by(channels);
                    places.zip(plane).for_each(|(place, value)| *place = *value);
                }
            }
            maps
        };
        let values = parallel::map(floats(&planes).chunks(CHUNK * image), interleave).concat();
        Self { values, n, height, width, channels }
    }

    /// Zeros.
    pub(super) fn zeros(n: usize, [height, width]: [usize; 2], channels: usize) -> Self {
        Self { values: vec![0.0; n * height * width * channels], n, height, width, channels }
    }

    /// Number of places of a map.
    pub(super) fn places(&self) -> usize {
        self.height * self.width
    }

    /// Number of values of an image.
    pub(super) fn image(&self) -> usize {
        self.places() * self.channels
    }
}

/// The values of a tensor that holds 32-bit floats.
pub(super) fn floats(data: &TensorData) -> &[f32] {
    data.as_slice().unwrap_or(&[])
}
