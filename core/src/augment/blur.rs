//! Gaussian blur with a separate standard deviation for each sample, as torchvision's `GaussianBlur`: a kernel of
//! fixed size, reflected at the border.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, positive, within};

/// Parameters of a Gaussian blur, as torchvision's `RandomApply([GaussianBlur(kernel, sigma)], probability)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Blur {
    /// Pixels of the kernel, an odd number below twice the shorter side of the view. Default: `3`.
    pub kernel: usize,
    /// Bounds of the standard deviation in pixels, above 0, the lower one first. Default: `[0.1, 2.0]`.
    pub sigma: [f64; 2],
    /// Probability of a blur. Default: `0.5`.
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

    /// Pixels that the kernel reaches to either side, in views of this size.
    pub(super) fn radius(&self, [height, width]: [usize; 2]) -> Result<usize> {
        let radius = self.kernel / 2;
        if radius >= height || radius >= width {
            let expected = format!("at most {} for {height}x{width} pixels", 2 * height.min(width) - 1);
            return Err(Error::parameter("blur.kernel", self.kernel, &expected));
        }
        Ok(radius)
    }
}
