//! Views of images, image by image: an image of 32 x 32 pixels stays in the fastest cache from its first step to
//! its last.
//!
//! The definitions are torchvision's. Steps, in this order: the window and its resampling, rotation, horizontal
//! flip, colour changes in a separate order for each image, grey, blur.

mod colour;
mod view;

use std::borrow::Cow;

use super::parallel;
use super::pixels::{intensity, separate};
use super::resample::{Taps, TurnedLines, gaussian};

#[cfg(feature = "cube")]
pub(crate) use colour::LUMINANCE;
#[cfg(feature = "cube")]
pub(crate) use view::{CONTRAST, COSINE, FLIPPED, GREY, NUMBERS, RADIUS, SINE, STEPS};
pub use view::{Colour, View, Views};

/// The sides of images: channels, height and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sides {
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels of a row.
    pub width: usize,
}

impl Sides {
    fn area(self) -> usize {
        self.height * self.width
    }

    fn values(self) -> usize {
        self.channels * self.area()
    }
}

/// The views of a batch of images, `[n, channels, height, width]`; computed in place if they have the size of the
/// images, else beside them. Every image costs a few operations a pixel and step, and needs only its own scratch memory
/// besides the batch.
pub(crate) fn augment(images: Cow<'_, [f32]>, sides: Sides, views: &Views) -> Vec<f32> {
    if views.size == [sides.height, sides.width] {
        return in_place(images.into_owned(), sides, views);
    }
    let ours = Sides { height: views.size[0], width: views.size[1], ..sides };
    let mut output = vec![0.0; views.views.len() * ours.values()];
    let batch = output.chunks_exact_mut(ours.values().max(1)).zip(images.chunks_exact(sides.values().max(1)));
    parallel::map_in(batch.zip(views.views.iter()), Scratch::default, |scratch, ((output, image), view)| {
        let window = view.window.unwrap_or([0, 0, sides.height, sides.width]);
        scratch.narrow(image, sides, window, views);
        scratch.widen(output, ours, window, views);
        scratch.change(output, ours, view, views);
    });
    output
}

fn in_place(mut images: Vec<f32>, sides: Sides, views: &Views) -> Vec<f32> {
    let batch = images.chunks_exact_mut(sides.values().max(1)).zip(views.views.iter());
    parallel::map_in(batch, Scratch::default, |scratch, (image, view)| {
        let window = view.window.filter(|window| *window != [0, 0, sides.height, sides.width]);
        if let Some(window) = window {
            scratch.narrow(image, sides, window, views);
            scratch.widen(image, sides, window, views);
        }
        scratch.change(image, sides, view, views);
    });
    images
}

/// The views of images of bytes, each row-major `[height, width, channels]`, as numbers from 0 to 1,
/// `[n, channels, views.size]`: what [`augment`](crate::augment) gives for them, without a copy of the images as numbers. Each value is
/// then multiplied by the first number of its channel in `normalisation`, and the second is added; without numbers it stays as it is. It
/// is for images in the host's memory, and for a device that computes there. There must be a view for each image.
pub fn augment_pixels<'a>(
    images: impl IntoIterator<Item = &'a [u8]>,
    [height, width, channels]: [usize; 3],
    views: &Views,
    normalisation: &[[f32; 2]],
) -> Vec<f32> {
    let sides = Sides { channels, height, width };
    let ours = Sides { height: views.size[0], width: views.size[1], ..sides };
    let whole = [0, 0, height, width];
    let mut output = parallel::zeros(views.views.len() * ours.values());
    let batch = output.chunks_exact_mut(ours.values().max(1)).zip(images);
    parallel::map_in(batch.zip(views.views.iter()), Scratch::default, |scratch, ((output, image), view)| {
        let window = view.window.unwrap_or(whole);
        if window == whole && views.size == [height, width] {
            vectorised!(separate(image, channels, output, intensity));
        } else {
            scratch.narrow_pixels(image, sides, window, views);
            scratch.widen(output, ours, window, views);
        }
        scratch.change(output, ours, view, views);
        vectorised!(for (plane, [scale, shift]) in output.chunks_exact_mut(ours.area()).zip(normalisation) {
            for value in plane {
                *value = *value * scale + shift;
            }
        });
    });
    output
}

/// Scratch memory, reused from image to image.
#[derive(Default)]
struct Scratch {
    taps: Taps,
    /// Rows of the window at the width of the view, or another plane.
    rows: Vec<f32>,
    turned: TurnedLines,
}

impl Scratch {
    /// Resamples the rows of a window to the width of the view.
    fn narrow(&mut self, image: &[f32], sides: Sides, window: [usize; 4], views: &Views) {
        let [top, left, height, width] = window;
        let target = views.size[1];
        self.taps.resample(views.filter, (left, width), target);
        self.rows.resize(sides.channels * height * target, 0.0);
        let Self { taps, rows, turned } = self;
        vectorised!({
            let planes =
                rows.chunks_exact_mut((height * target).max(1)).zip(image.chunks_exact(sides.area()));
            for (rows, plane) in planes {
                let lines = &plane[top * sides.width..][..height * sides.width];
                taps.along(lines, sides.width, turned, rows);
            }
            cut(rows, views);
        });
    }

    /// As [`narrow`](Self::narrow), of an image of bytes.
    fn narrow_pixels(&mut self, image: &[u8], sides: Sides, window: [usize; 4], views: &Views) {
        let [top, left, height, width] = window;
        let (target, stride) = (views.size[1], sides.width * sides.channels);
        self.taps.resample(views.filter, (left, width), target);
        self.rows.resize(sides.channels * height * target, 0.0);
        let Self { taps, rows, turned } = self;
        vectorised!({
            let lines = &image[top * stride..][..height * stride];
            taps.along_pixels(lines, (sides.width, sides.channels), turned, rows);
            cut(rows, views);
        });
    }

    /// Resamples the columns of these rows to the height of the view.
    fn widen(&mut self, image: &mut [f32], ours: Sides, [top, _, height, _]: [usize; 4], views: &Views) {
        self.taps.resample(views.filter, (top, height), ours.height);
        let Self { taps, rows, .. } = self;
        vectorised!({
            let planes = image.chunks_exact_mut(ours.area()).zip(rows.chunks_exact(height * ours.width));
            planes.for_each(|(plane, rows)| taps.across(rows, top, ours.width, plane));
            cut(image, views);
        });
    }

    /// Applies the steps after the window.
    fn change(&mut self, image: &mut [f32], sides: Sides, view: &View, views: &Views) {
        if view.angle != 0.0 {
            self.rotate(image, sides, view.angle);
        }
        if view.flip {
            image.chunks_exact_mut(sides.width).for_each(<[f32]>::reverse);
        }
        vectorised!(colour::change(image, sides.area(), view));
        if let Some(sigma) = view.sigma {
            self.blur(image, sides, &gaussian(sigma, views.radius));
        }
    }

    /// Rotates with the nearest pixel; pixels from outside are black.
    fn rotate(&mut self, image: &mut [f32], sides: Sides, angle: f64) {
        let sources: Vec<usize> = sources(angle, sides.height, sides.width).collect();
        self.rows.resize(sides.area(), 0.0);
        for plane in image.chunks_exact_mut(sides.area()) {
            self.rows.copy_from_slice(plane);
            for (pixel, &source) in plane.iter_mut().zip(&sources) {
                *pixel = self.rows.get(source).copied().unwrap_or_default();
            }
        }
    }

    fn blur(&mut self, image: &mut [f32], sides: Sides, weights: &[f32]) {
        self.rows.resize(sides.values(), 0.0);
        self.taps.blur(weights, sides.width);
        let Self { taps, rows, turned } = self;
        vectorised!(taps.along(image, sides.width, turned, rows));
        taps.blur(weights, sides.height);
        vectorised!({
            let planes = image.chunks_exact_mut(sides.area()).zip(rows.chunks_exact(sides.area()));
            planes.for_each(|(plane, rows)| taps.across(rows, 0, sides.width, plane));
        });
    }
}

/// A cubic overshoots. Pillow stores 8-bit values, so it clips after each of the two passes, and so does this code.
#[inline(always)]
fn cut(values: &mut [f32], views: &Views) {
    if views.filter == super::resample::Filter::Bicubic {
        values.iter_mut().for_each(|value| *value = value.clamp(0.0, 1.0));
    }
}

/// The index of the input pixel of each output pixel; `height * width` for outside.
fn sources(angle: f64, height: usize, width: usize) -> impl Iterator<Item = usize> {
    let (sine, cosine) = angle.to_radians().sin_cos();
    let (middle_x, middle_y) = (width as f64 / 2.0, height as f64 / 2.0);
    (0..height * width).map(move |at| {
        let x = (at % width) as f64 + 0.5 - middle_x;
        let y = (at / width) as f64 + 0.5 - middle_y;
        let column = (cosine * x - sine * y + middle_x).floor();
        let row = (sine * x + cosine * y + middle_y).floor();
        let inside = (0.0..width as f64).contains(&column) && (0.0..height as f64).contains(&row);
        if inside { row as usize * width + column as usize } else { height * width }
    })
}
