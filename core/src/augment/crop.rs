//! Random resized crop: a window of random area and shape, resized with an antialiasing filter.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::data::resize::Interpolation;
use crate::error::{Error, Result, positive, within};

/// Parameters of a random resized crop, as torchvision's `RandomResizedCrop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Crop {
    /// Bounds of the window's area as a part of the image's, above 0 to 1, the lower one first. Default: `[0.08, 1.0]`.
    pub scale: [f64; 2],
    /// Bounds of its width over its height, above 0, the lower one first. Default: `[3/4, 4/3]`.
    pub ratio: [f64; 2],
    /// Filter of the resizing. Default: bilinear.
    pub interpolation: Interpolation,
}

impl Default for Crop {
    fn default() -> Self {
        Self { scale: [0.08, 1.0], ratio: [3.0 / 4.0, 4.0 / 3.0], interpolation: Interpolation::Bilinear }
    }
}

/// A part of an image, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First row.
    pub top: usize,
    /// First column.
    pub left: usize,
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
}

impl Crop {
    pub(super) fn validate(&self) -> Result<()> {
        for bound in self.scale {
            within("crop.scale", positive("crop.scale", bound)?, 0.0, 1.0)?;
        }
        for bound in self.ratio {
            positive("crop.ratio", bound)?;
        }
        for (name, [low, high]) in [("crop.scale", self.scale), ("crop.ratio", self.ratio)] {
            if low > high {
                return Err(Error::parameter(
                    name,
                    format!("[{low}, {high}]"),
                    "expected [smallest, largest]",
                ));
            }
        }
        Ok(())
    }

    /// Draws a window: its area is uniform in `scale`, its shape log-uniform in `ratio`, its position uniform where
    /// it fits. After ten draws that do not fit, the largest central window of a shape within `ratio`. Shapes are those of
    /// the picture, whose width over its height is `stretch` times that of the image.
    pub(super) fn draw(&self, (height, width): (usize, usize), stretch: f64, rng: &mut impl Rng) -> Window {
        let [low, high] = self.scale;
        let [narrow, wide] = self.ratio;
        for _ in 0..10 {
            let area = (height * width) as f64 * rng.random_range(low..=high);
            let ratio = rng.random_range(narrow.ln()..=wide.ln()).exp() / stretch;
            let w = (area * ratio).sqrt().round_ties_even() as usize;
            let h = (area / ratio).sqrt().round_ties_even() as usize;
            if (1..=width).contains(&w) && (1..=height).contains(&h) {
                // 32 bits give the same draw where `usize` has 32 and where it has 64.
                let top = rng.random_range(0..=(height - h) as u32) as usize;
                let left = rng.random_range(0..=(width - w) as u32) as usize;
                return Window { top, left, height: h, width: w };
            }
        }
        let shape = width as f64 / height as f64 * stretch;
        Window::middle((height, width), shape.clamp(narrow, wide) / stretch)
    }
}

impl Window {
    /// The largest central window of an image whose width is `ratio` times its height, in pixels.
    pub(super) fn middle((height, width): (usize, usize), ratio: f64) -> Self {
        let high = ((width as f64 / ratio).round_ties_even() as usize).clamp(1, height);
        let wide = ((height as f64 * ratio).round_ties_even() as usize).clamp(1, width);
        Self { top: (height - high) / 2, left: (width - wide) / 2, height: high, width: wide }
    }

    /// Its middle, of this share of each side. A half is rounded to the even number, as in torchvision's `CenterCrop`.
    pub(super) fn middle_of(self, share: f64) -> Self {
        let within = |start: usize, length: usize| {
            let part = ((length as f64 * share).round_ties_even() as usize).clamp(1, length);
            (start + ((length - part) as f64 / 2.0).round_ties_even() as usize, part)
        };
        let ((top, height), (left, width)) = (within(self.top, self.height), within(self.left, self.width));
        Self { top, left, height, width }
    }

    /// The window as first row, first column, rows and columns, if it lies in an image of this size.
    pub(super) fn within(self, height: usize, width: usize) -> Result<[usize; 4]> {
        let fits = |start: usize, length: usize, end: usize| {
            length > 0 && start.checked_add(length).is_some_and(|stop| stop <= end)
        };
        if fits(self.top, self.height, height) && fits(self.left, self.width, width) {
            Ok([self.top, self.left, self.height, self.width])
        } else {
            Err(Error::shape("window", format!("a part of {height}x{width} pixels"), format!("{self:?}")))
        }
    }
}
