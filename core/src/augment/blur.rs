//! Gaussian blur with a standard deviation of its own for each sample, as torchvision's `GaussianBlur`: a kernel of
//! fixed size, reflected at the border. Like the crop it is separable, so it is two products with a matrix a sample.

use burn::tensor::{Tensor, TensorData};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::Sample;
use crate::error::{Error, Result, positive, within};

/// Parameters of a Gaussian blur, as torchvision's `RandomApply([GaussianBlur(kernel, sigma)], probability)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blur {
    /// Pixels of the kernel, an odd number. Default: `3`.
    pub kernel: usize,
    /// Bounds of the standard deviation in pixels. Default: `[0.1, 2.0]`.
    pub sigma: [f64; 2],
    /// Probability of any blur at all. Default: `0.5`.
    pub probability: f64,
}

impl Default for Blur {
    fn default() -> Self {
        Self { kernel: 3, sigma: [0.1, 2.0], probability: 0.5 }
    }
}

impl Blur {
    pub(super) fn validate(&self) -> Result<()> {
        if self.kernel.is_multiple_of(2) {
            return Err(Error::parameter("blur.kernel", self.kernel, "expected an odd number"));
        }
        let [low, high] = self.sigma;
        positive("blur.sigma", low)?;
        positive("blur.sigma", high)?;
        if low > high {
            return Err(Error::parameter(
                "blur.sigma",
                format!("[{low}, {high}]"),
                "expected [smallest, largest]",
            ));
        }
        within("blur.probability", self.probability, 0.0, 1.0)?;
        Ok(())
    }

    /// Draws a standard deviation, or no blur.
    pub(super) fn draw(&self, rng: &mut impl Rng) -> Option<f64> {
        let [low, high] = self.sigma;
        rng.random_bool(self.probability).then(|| rng.random_range(low..=high))
    }

    /// Blurs each sample by its standard deviation.
    pub(super) fn apply(&self, images: Tensor<4>, samples: &[Sample]) -> Result<Tensor<4>> {
        let [n, channels, height, width] = images.dims();
        let radius = self.kernel / 2;
        if radius >= height || radius >= width {
            let expected = format!("at most {} for {height}x{width} pixels", 2 * height.min(width) - 1);
            return Err(Error::parameter("blur.kernel", self.kernel, &expected));
        }
        let place = (&images.device(), images.dtype());
        let matrices = |side: usize| {
            let values: Vec<f32> =
                samples.iter().flat_map(|sample| self.matrix(sample.sigma, side)).collect();
            Tensor::<3>::from_data(TensorData::new(values, [n, side, side]), place)
        };
        let vertical = matrices(height);
        let horizontal = if height == width { vertical.clone() } else { matrices(width) };
        // A row of the matrix makes an output pixel; for the product from the right that is a column.
        let narrowed = images.reshape([n, channels * height, width]).matmul(horizontal.swap_dims(1, 2));
        Ok(vertical.unsqueeze_dim::<4>(1).matmul(narrowed.reshape([n, channels, height, width])))
    }

    /// `side` x `side`, row-major: row `i` holds the weights of output pixel `i`.
    fn matrix(&self, sigma: Option<f64>, side: usize) -> Vec<f32> {
        let radius = (self.kernel / 2) as isize;
        let weight = |offset: isize| match sigma {
            Some(sigma) => (-0.5 * (offset as f64 / sigma).powi(2)).exp(),
            None => f64::from(u8::from(offset == 0)),
        };
        let total: f64 = (-radius..=radius).map(weight).sum();
        let mut matrix = vec![0.0; side * side];
        for (i, row) in matrix.chunks_exact_mut(side).enumerate() {
            for offset in -radius..=radius {
                // Reflected without repeating the border: -1 is 1 and `side` is `side - 2`.
                let at = (i as isize + offset).unsigned_abs();
                let at = if at < side { at } else { 2 * side - 2 - at };
                if let Some(entry) = row.get_mut(at) {
                    *entry += (weight(offset) / total) as f32;
                }
            }
        }
        matrix
    }
}
