//! Rotation, flip, colour jitter and grey of images that lie in the host's memory, image by image: one of 32 x 32
//! pixels stays in the fastest cache from its first step to its last. The definitions are those of the modules
//! beside this one, which change a whole batch by one tensor operation after the other, wherever it lies.

use burn::tensor::Tensor;

use super::Sample;
use super::colour::{ColourChange, ColourStep, LUMINANCE};
use super::rotate::sources;
use crate::host::Numbers;
use simile_kernels::cpu::parallel;

/// Changes each image (`[n, channels, height, width]`, `f32` of the host) as its sample says; windows and blurs are
/// made elsewhere.
pub(super) fn change(images: Tensor<4>, samples: &[Sample]) -> Tensor<4> {
    let same =
        |sample: &Sample| sample.angle == 0.0 && !sample.flip && sample.colour.is_none() && !sample.grey;
    if samples.iter().all(same) {
        return images;
    }
    let [_, channels, height, width] = images.dims();
    let area = height * width;
    let device = images.device();
    let mut numbers = Numbers::of(images);
    let images = numbers.chunks_exact_mut((channels * area).max(1)).zip(samples);
    parallel::map_in(
        images,
        || vec![0.0; area],
        |scratch, (image, sample)| {
            if sample.angle != 0.0 {
                rotate(image, scratch, sample.angle, (height, width));
            }
            if sample.flip {
                image.chunks_exact_mut(width).for_each(<[f32]>::reverse);
            }
            // Jitter and grey are refused for images of other channels.
            if let [red, green, blue] = image.chunks_exact_mut(area).collect::<Vec<_>>().as_mut_slice() {
                let mut planes = Planes { red, green, blue };
                if let Some(colour) = &sample.colour {
                    planes.change(colour);
                }
                if sample.grey {
                    planes.mix(0.0, 1.0);
                }
            }
        },
    );
    numbers.into_tensor(&device)
}

/// Every channel, in turn, by way of `scratch`.
fn rotate(image: &mut [f32], scratch: &mut [f32], angle: f64, (height, width): (usize, usize)) {
    let sources: Vec<i32> = sources(angle, height, width).collect();
    for plane in image.chunks_exact_mut(height * width) {
        scratch.copy_from_slice(plane);
        for (pixel, &source) in plane.iter_mut().zip(&sources) {
            // What comes from outside is black.
            *pixel = scratch.get(source as usize).copied().unwrap_or_default();
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
    fn each(&mut self, change: impl Fn([f32; 3]) -> [f32; 3]) {
        let pixels = self.red.iter_mut().zip(self.green.iter_mut()).zip(self.blue.iter_mut());
        for ((red, green), blue) in pixels {
            [*red, *green, *blue] = change([*red, *green, *blue]);
        }
    }

    fn change(&mut self, change: &ColourChange) {
        for step in change.order {
            match step {
                ColourStep::Brightness => self.mix(change.brightness as f32, 0.0),
                ColourStep::Saturation => self.mix(change.saturation as f32, 1.0 - change.saturation as f32),
                ColourStep::Contrast => {
                    let factor = change.contrast as f32;
                    let base = (1.0 - factor) * self.mean_grey();
                    self.each(|colour| colour.map(|value| clamp(value * factor + base)));
                }
                ColourStep::Hue => self.each(|colour| turn_hue(colour, 6.0 * change.hue as f32)),
            }
        }
    }

    /// `kept` of each colour and `added` of its grey.
    fn mix(&mut self, kept: f32, added: f32) {
        self.each(|colour| {
            let grey = added * grey(colour);
            colour.map(|value| clamp(value * kept + grey))
        });
    }

    /// Of all pixels: sums of 64 in `f32`, which no size of the image makes coarse, together in `f64`.
    fn mean_grey(&self) -> f32 {
        let mean = |plane: &[f32]| {
            let sums = plane.chunks(64).map(|run| f64::from(run.iter().sum::<f32>()));
            (sums.sum::<f64>() / plane.len() as f64) as f32
        };
        grey([mean(self.red), mean(self.green), mean(self.blue)])
    }
}

fn grey([red, green, blue]: [f32; 3]) -> f32 {
    let [of_red, of_green, of_blue] = LUMINANCE;
    red * of_red + green * of_green + blue * of_blue
}

fn clamp(value: f32) -> f32 {
    larger(smaller(value, 1.0), 0.0)
}

// Unlike those of the standard library these do not ask after NaN, and are one vector instruction.
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Turns the hue by `turn` sectors of the colour circle's six, `-3 ..= 3`.
fn turn_hue([red, green, blue]: [f32; 3], turn: f32) -> [f32; 3] {
    let value = larger(larger(red, green), blue);
    let chroma = value - smaller(smaller(red, green), blue);
    let divisor = if chroma == 0.0 { 1.0 } else { chroma };
    // The place on the circle, counted from the channel that is largest.
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
    // How much of the chroma a channel has: see the shares of `colour`.
    let shares = [(sector - 3.0).abs() - 1.0, 2.0 - (sector - 2.0).abs(), 2.0 - (sector - 4.0).abs()];
    shares.map(|share| clamp(value + (clamp(share) - 1.0) * chroma))
}
