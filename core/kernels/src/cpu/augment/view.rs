//! The parameters of the view of each image of a batch.

use std::sync::Arc;

use crate::cpu::resample::{Filter, gaussian};

/// One step of a change of colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Colour {
    /// `clamp(r x)`.
    Brightness(f32),
    /// `clamp(r x + (1 - r) m)` with the mean grey `m` of the image.
    Contrast(f32),
    /// `clamp(r x + (1 - r) g)` with the grey `g` of each pixel.
    Saturation(f32),
    /// The hue turned by this fraction of the circle, at most half of it either way.
    Hue(f32),
}

/// The parameters of one view. The default changes nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View {
    /// First row, first column, rows and columns of the crop; `None` for the whole image.
    pub window: Option<[usize; 4]>,
    /// Counter-clockwise rotation in degrees.
    pub angle: f64,
    /// True if left and right are exchanged.
    pub flip: bool,
    /// Colour changes in order, each kind at most once.
    pub colour: Option<[Colour; 4]>,
    /// True if the image becomes grey.
    pub grey: bool,
    /// Standard deviation of the blur in pixels.
    pub sigma: Option<f64>,
}

/// The parameters of the views of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Views {
    /// Height and width of the views.
    pub size: [usize; 2],
    /// The filter of the windows.
    pub filter: Filter,
    /// Pixels that a blur reaches to either side.
    pub radius: usize,
    /// One for each image.
    pub views: Arc<[View]>,
}

/// Number of values of a view before the weights of its blur.
pub(crate) const NUMBERS: usize = 18;
/// Their offsets, after the window: cosine and sine of the angle, flags of flip and grey, the index of the contrast
/// (4 without one), the radius of the blur, then kind and factor of each of four steps.
pub(crate) const COSINE: usize = 4;
pub(crate) const SINE: usize = 5;
pub(crate) const FLIPPED: usize = 6;
pub(crate) const GREY: usize = 7;
pub(crate) const CONTRAST: usize = 8;
pub(crate) const RADIUS: usize = 9;
pub(crate) const STEPS: usize = 10;

impl Views {
    /// The count of numbers for each view in [`numbers`](Self::numbers).
    pub fn numbers_of_each(radius: usize) -> usize {
        NUMBERS + 1 + radius
    }

    /// The data that a device needs in addition to images of `height` x `width` pixels: for each view 18 numbers
    /// and the weights of its blur, 1 + `radius`.
    pub fn numbers(&self, height: usize, width: usize) -> Vec<f32> {
        let stride = Self::numbers_of_each(self.radius);
        let mut numbers = vec![0.0; self.views.len() * stride];
        for (numbers, view) in numbers.chunks_exact_mut(stride).zip(self.views.iter()) {
            let window = view.window.unwrap_or([0, 0, height, width]);
            numbers.iter_mut().zip(window).for_each(|(number, side)| *number = side as f32);
            let (sine, cosine) = view.angle.to_radians().sin_cos();
            let flag = |on: bool| f32::from(u8::from(on));
            let contrast = |step: &Colour| matches!(step, Colour::Contrast(_));
            let turn = view.colour.as_ref().and_then(|steps| steps.iter().position(contrast));
            let radius = if view.sigma.is_some() { self.radius } else { 0 };
            (numbers[COSINE], numbers[SINE]) = (cosine as f32, sine as f32);
            (numbers[FLIPPED], numbers[GREY]) = (flag(view.flip), flag(view.grey));
            (numbers[CONTRAST], numbers[RADIUS]) = (turn.unwrap_or(4) as f32, radius as f32);
            let steps = numbers[STEPS..NUMBERS].chunks_exact_mut(2);
            for (pair, step) in steps.zip(view.colour.iter().flatten()) {
                let (kind, factor) = match *step {
                    Colour::Brightness(factor) => (1.0, factor),
                    Colour::Contrast(factor) => (2.0, factor),
                    Colour::Saturation(factor) => (3.0, factor),
                    Colour::Hue(turn) => (4.0, 6.0 * turn),
                };
                pair.copy_from_slice(&[kind, factor]);
            }
            let weights = view.sigma.map_or_else(|| vec![1.0], |sigma| gaussian(sigma, self.radius));
            numbers[NUMBERS..].iter_mut().zip(weights).for_each(|(number, weight)| *number = weight);
        }
        numbers
    }

    /// True if any view depends on the mean of its image.
    pub fn has_contrast(&self) -> bool {
        let contrast = |step: &Colour| matches!(step, Colour::Contrast(_));
        self.views.iter().any(|view| view.colour.iter().flatten().any(contrast))
    }

    /// True if any view is blurred.
    pub fn has_blur(&self) -> bool {
        self.views.iter().any(|view| view.sigma.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_batch_takes_less_than_a_megabyte_besides_its_pictures() {
        use Colour::{Brightness, Contrast, Hue, Saturation};
        let view = View {
            window: Some([3, 5, 200, 100]),
            angle: 20.0,
            flip: true,
            colour: Some([Brightness(1.1), Contrast(0.9), Saturation(1.2), Hue(0.1)]),
            grey: true,
            sigma: Some(1.5),
        };
        let views =
            Views { size: [224, 224], filter: Filter::Bicubic, radius: 11, views: vec![view; 1024].into() };
        let bytes = size_of_val(views.numbers(256, 256).as_slice());
        assert!(bytes < 1 << 20, "{bytes}");
    }
}
