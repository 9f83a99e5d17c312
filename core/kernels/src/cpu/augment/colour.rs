//! Colour changes of one image.

use super::{Colour, View};

/// Weights of red, green and blue in torchvision's `rgb_to_grayscale`.
pub(crate) const LUMINANCE: [f32; 3] = [0.2989, 0.587, 0.114];

/// Changes the colours of an image whose planes have `area` pixels; an image without three planes stays unchanged.
#[inline(always)]
pub(super) fn change(image: &mut [f32], area: usize, view: &View) {
    if view.colour.is_none() && !view.grey {
        return;
    }
    if let [red, green, blue] = image.chunks_exact_mut(area.max(1)).collect::<Vec<_>>().as_mut_slice() {
        let mut planes = Planes { red, green, blue };
        // Not by a closure, which would be compiled without the vector instructions that the caller asks for.
        for step in view.colour.iter().flatten() {
            planes.change(*step);
        }
        if view.grey {
            planes.mix(0.0, 1.0);
        }
    }
}

/// The colours of one image.
struct Planes<'a> {
    red: &'a mut [f32],
    green: &'a mut [f32],
    blue: &'a mut [f32],
}

impl Planes<'_> {
    #[inline(always)]
    fn each(&mut self, change: impl Fn([f32; 3]) -> [f32; 3]) {
        let pixels = self.red.iter_mut().zip(self.green.iter_mut()).zip(self.blue.iter_mut());
        for ((red, green), blue) in pixels {
            [*red, *green, *blue] = change([*red, *green, *blue]);
        }
    }

    #[inline(always)]
    fn change(&mut self, step: Colour) {
        match step {
            Colour::Brightness(factor) => self.mix(factor, 0.0),
            Colour::Saturation(factor) => self.mix(factor, 1.0 - factor),
            Colour::Contrast(factor) => {
                let base = (1.0 - factor) * self.mean_grey();
                self.each(
                    #[inline(always)]
                    |colour| colour.map(|value| clamp(value * factor + base)),
                );
            }
            Colour::Hue(turn) => self.each(
                #[inline(always)]
                |colour| turn_hue(colour, 6.0 * turn),
            ),
        }
    }

    /// `factor` of each colour and `added` of its grey.
    #[inline(always)]
    fn mix(&mut self, factor: f32, added: f32) {
        self.each(
            #[inline(always)]
            |colour| {
                let grey = added * grey(colour);
                colour.map(|value| clamp(value * factor + grey))
            },
        );
    }

    /// The mean grey of all pixels: sums of 64 in `f32`, whose precision does not depend on the image size, added
    /// in `f64`.
    #[inline(always)]
    fn mean_grey(&self) -> f32 {
        let mean = |plane: &[f32]| {
            let sums = plane.chunks(64).map(|run| f64::from(run.iter().sum::<f32>()));
            (sums.sum::<f64>() / plane.len() as f64) as f32
        };
        grey([mean(self.red), mean(self.green), mean(self.blue)])
    }
}

#[inline(always)]
fn grey([red, green, blue]: [f32; 3]) -> f32 {
    let [red_weight, green_weight, blue_weight] = LUMINANCE;
    red * red_weight + green * green_weight + blue * blue_weight
}

#[inline(always)]
fn clamp(value: f32) -> f32 {
    larger(smaller(value, 1.0), 0.0)
}

// Unlike those of the standard library these do not check for NaN, and are one vector instruction.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Turns the hue by `turn` sectors of the colour circle's six, `-3 ..= 3`.
#[inline(always)]
fn turn_hue([red, green, blue]: [f32; 3], turn: f32) -> [f32; 3] {
    let value = larger(larger(red, green), blue);
    let chroma = value - smaller(smaller(red, green), blue);
    let divisor = if chroma == 0.0 { 1.0 } else { chroma };
    // The position on the circle, counted from the largest channel.
    let (is_red, is_green) = (red == value, green == value);
    let first = if is_red {
        0.0
    } else if is_green {
        2.0
    } else {
        4.0
    };
    let ahead = if is_red {
        green - blue
    } else if is_green {
        blue - red
    } else {
        red - green
    };
    let sector = first + ahead / divisor + turn;
    let sector = if sector < 0.0 { sector + 6.0 } else { sector };
    let sector = if sector >= 6.0 { sector - 6.0 } else { sector };
    // Fraction of the chroma in each channel: red 1 at both ends of 0..6 and none from 2 to 4, green and blue 1
    // about 2 and 4, falling to none over the second sector away.
    let shares = [(sector - 3.0).abs() - 1.0, 2.0 - (sector - 2.0).abs(), 2.0 - (sector - 4.0).abs()];
    shares.map(|share| clamp(value + (clamp(share) - 1.0) * chroma))
}
