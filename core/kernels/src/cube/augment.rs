//! Views of images: the source of each pixel, and the order of its colour changes.
//!
//! A cube processes a part of the pixels of one view with all their channels. Contrast needs the mean grey of a
//! whole image, so the steps from contrast on are a separate kernel. A batch may have more values than 32 bits can count: the
//! launches choose the type of indices.

use cubecl::prelude::*;

use super::colour::{cut, grey, mix, step};
use crate::cpu::augment::{CONTRAST, COSINE, FLIPPED, GREY, NUMBERS, RADIUS, SINE, STEPS};

/// Units of a cube.
pub(crate) const UNITS: usize = 256;
/// Number of pixels of a unit.
const EACH: usize = 8;
/// Number of pixels of a cube.
pub(crate) const PART: usize = UNITS * EACH;
/// Number of views along the second axis of cubes; further views are along the third axis.
pub(crate) const FOLD: usize = 32_768;

#[cube]
fn larger(a: i32, b: i32) -> i32 {
    if a > b { a } else { b }
}

/// The first source pixel in `from` of output `i` in `to`. With `s = from / to` a filter extends `support max(s,
/// 1)` from the centre `(i + ½) s`: all in integers, in units of `1 / (2 to)` pixels.
#[cube]
fn first_tap(i: i32, from: i32, to: i32, #[comptime] support: i32) -> i32 {
    let low = (2 * i + 1) * from + to - 2 * support * larger(from, to);
    larger(low, 0) / (2 * to)
}

/// The pixel after the last source pixel.
#[cube]
fn end_tap(i: i32, from: i32, to: i32, #[comptime] support: i32) -> i32 {
    let high = ((2 * i + 1) * from + to + 2 * support * larger(from, to)) / (2 * to);
    if high < from { high } else { from }
}

/// The weight of pixel `j`, before normalisation to sum 1.
#[cube]
fn weight(j: i32, i: i32, from: i32, to: i32, #[comptime] support: i32) -> f32 {
    let distance =
        f32::cast_from((2 * j + 1) * to - (2 * i + 1) * from) / f32::cast_from(2 * larger(from, to));
    let x = distance.abs();
    let mut tap_weight = 0.0_f32;
    if comptime!(support == 1) {
        if x < 1.0_f32 {
            tap_weight = 1.0_f32 - x;
        }
    } else if x < 1.0_f32 {
        tap_weight = (1.5_f32 * x - 2.5_f32) * x * x + 1.0_f32;
    } else if x < 2.0_f32 {
        tap_weight = ((2.5_f32 - 0.5_f32 * x) * x - 4.0_f32) * x + 2.0_f32;
    }
    tap_weight
}

/// The sizes of a batch of images and of their views.
#[derive(CubeType, CubeLaunch)]
pub(crate) struct ViewSizes {
    /// Number of views.
    pub(crate) count: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) to_height: usize,
    pub(crate) to_width: usize,
    /// How many numbers describe a view.
    pub(crate) stride: usize,
}

/// The window of an image that fills a view, and the size of the view.
#[derive(CubeType)]
struct Window {
    /// The place of its first value in the first channel of the image.
    first: usize,
    /// Pixels of a row of the image.
    stride: usize,
    /// Pixels of a channel of the image.
    plane: usize,
    rows: i32,
    columns: i32,
    to_rows: i32,
    to_columns: i32,
}

/// The window of the view whose numbers begin at `first_number`, in the image whose values begin at `first`.
#[cube]
fn window_of(
    numbers: &Tensor<f32>,
    first_number: usize,
    first: usize,
    plane: usize,
    sizes: &ViewSizes,
) -> Window {
    let top = usize::cast_from(numbers[first_number]);
    let left = usize::cast_from(numbers[first_number + 1]);
    Window {
        first: first + top * sizes.width + left,
        stride: sizes.width,
        plane,
        rows: i32::cast_from(numbers[first_number + 2]),
        columns: i32::cast_from(numbers[first_number + 3]),
        to_rows: sizes.to_height as i32,
        to_columns: sizes.to_width as i32,
    }
}

/// The pixel of the resized window that a view shows at a place.
#[derive(CubeType)]
struct Source {
    row: i32,
    column: i32,
    /// False where a rotation brings in a place beside the window; it is black.
    is_inside: bool,
}

/// The source of pixel `at` of a view, by its flip and rotation.
#[cube]
fn source_of(numbers: &Tensor<f32>, first_number: usize, at: usize, sizes: &ViewSizes) -> Source {
    let cosine = numbers[first_number + COSINE];
    let sine = numbers[first_number + SINE];
    let row = at / sizes.to_width;
    let column = at % sizes.to_width;
    let is_flipped = numbers[first_number + FLIPPED] > 0.5_f32;
    let column = if is_flipped { sizes.to_width - 1 - column } else { column };
    // Without a rotation these are row and column again.
    let middle_x = f32::cast_from(sizes.to_width) * 0.5_f32;
    let middle_y = f32::cast_from(sizes.to_height) * 0.5_f32;
    let x = f32::cast_from(column) + 0.5_f32 - middle_x;
    let y = f32::cast_from(row) + 0.5_f32 - middle_y;
    let from_x = (cosine * x - sine * y + middle_x).floor();
    let from_y = (sine * x + cosine * y + middle_y).floor();
    let is_inside = from_x >= 0.0_f32
        && from_y >= 0.0_f32
        && from_x < f32::cast_from(sizes.to_width)
        && from_y < f32::cast_from(sizes.to_height);
    Source { row: i32::cast_from(from_y), column: i32::cast_from(from_x), is_inside }
}

/// The weights of all pixels of an axis for output `i`, added up.
#[cube]
fn all_weights(first: i32, end: i32, i: i32, from: i32, to: i32, #[comptime] support: i32) -> f32 {
    let mut sum = 0.0_f32;
    for j in first..end {
        sum += weight(j, i, from, to, support);
    }
    sum
}

/// Puts the colour of the resized window at row `i` and column `j` into `values`, which are zero.
#[cube]
fn resize(
    images: &Tensor<f32>,
    values: &mut Array<f32>,
    window: &Window,
    i: i32,
    j: i32,
    #[comptime] channels: usize,
    #[comptime] support: i32,
) {
    let first_row = first_tap(i, window.rows, window.to_rows, support);
    let end_row = end_tap(i, window.rows, window.to_rows, support);
    let first_column = first_tap(j, window.columns, window.to_columns, support);
    let end_column = end_tap(j, window.columns, window.to_columns, support);
    let across = all_weights(first_column, end_column, j, window.columns, window.to_columns, support);
    let along = all_weights(first_row, end_row, i, window.rows, window.to_rows, support);
    for l in first_row..end_row {
        let mut line = Array::<f32>::new(channels);
        #[unroll]
        for channel in 0..channels {
            line[channel] = 0.0_f32;
        }
        for k in first_column..end_column {
            let column_weight = weight(k, j, window.columns, window.to_columns, support) / across;
            let place = window.first + l as usize * window.stride + k as usize;
            #[unroll]
            for channel in 0..channels {
                line[channel] = line[channel] + column_weight * images[channel * window.plane + place];
            }
        }
        let row_weight = weight(l, i, window.rows, window.to_rows, support);
        #[unroll]
        for channel in 0..channels {
            // A cubic is clipped after each of the two passes.
            if comptime!(support == 2) {
                line[channel] = cut(line[channel]);
            }
            values[channel] = values[channel] + row_weight * line[channel];
        }
    }
    #[unroll]
    for channel in 0..channels {
        values[channel] = values[channel] / along;
        if comptime!(support == 2) {
            values[channel] = cut(values[channel]);
        }
    }
}

/// The colour changes of a view before contrast.
#[cube]
fn before_contrast(values: &mut Array<f32>, numbers: &Tensor<f32>, first_number: usize) {
    let turn = usize::cast_from(numbers[first_number + CONTRAST]);
    for t in 0..turn {
        let pair = first_number + STEPS + 2 * t;
        step(values, numbers[pair], numbers[pair + 1]);
    }
    if turn == 4 && numbers[first_number + GREY] > 0.5_f32 {
        mix(values, 0.0_f32, 1.0_f32);
    }
}

/// Writes the sum of a number of each unit of the cube to `sums[at]`, if there is such a place.
#[cube]
fn add_up(number: f32, sums: &mut Tensor<f32>, at: usize, exists: bool) {
    let mut shared = Shared::<[f32]>::new_slice(UNITS);
    let slot = UNIT_POS as usize;
    shared[slot] = number;
    let halvings = comptime!(UNITS.ilog2() as usize);
    #[unroll]
    for level in 0..halvings {
        let half = comptime!(UNITS >> (level + 1));
        sync_cube();
        if slot < half {
            shared[slot] = shared[slot] + shared[slot + half];
        }
    }
    if slot == 0 && exists {
        sums[at] = shared[0usize];
    }
}

/// Window, rotation, flip, and the colour changes before contrast; `sums` receives the grey of each cube's pixels.
#[cube(launch, address_type = "dynamic")]
pub(crate) fn view(
    images: &Tensor<f32>,
    numbers: &Tensor<f32>,
    output: &mut Tensor<f32>,
    sums: &mut Tensor<f32>,
    sizes: &ViewSizes,
    #[comptime] channels: usize,
    #[comptime] support: i32,
    #[comptime] contrast: bool,
) {
    let image = CUBE_POS_Z as usize * FOLD + CUBE_POS_Y as usize;
    let mut light = 0.0_f32;
    if image < sizes.count {
        let area = sizes.to_height * sizes.to_width;
        let first_number = image * sizes.stride;
        let plane = sizes.height * sizes.width;
        let first = image * channels * plane;
        let window = window_of(numbers, first_number, first, plane, sizes);
        for i in 0..EACH {
            let at = CUBE_POS_X as usize * PART + i * UNITS + UNIT_POS as usize;
            if at < area {
                let source = source_of(numbers, first_number, at, sizes);
                let mut values = Array::<f32>::new(channels);
                #[unroll]
                for channel in 0..channels {
                    values[channel] = 0.0_f32;
                }
                if source.is_inside {
                    resize(images, &mut values, &window, source.row, source.column, channels, support);
                }
                if comptime!(channels == 3) {
                    before_contrast(&mut values, numbers, first_number);
                    if contrast {
                        light += grey(values[0usize], values[1usize], values[2usize]);
                    }
                }
                #[unroll]
                for channel in 0..channels {
                    output[(image * channels + channel) * area + at] = values[channel];
                }
            }
        }
    }
    if contrast {
        add_up(light, sums, image * CUBE_COUNT_X as usize + CUBE_POS_X as usize, image < sizes.count);
    }
}

/// Contrast and the following colour steps, in place.
#[cube(launch, address_type = "dynamic")]
pub(crate) fn after_contrast(
    output: &mut Tensor<f32>,
    numbers: &Tensor<f32>,
    sums: &Tensor<f32>,
    count: usize,
    area: usize,
    stride: usize,
) {
    let image = CUBE_POS_Z as usize * FOLD + CUBE_POS_Y as usize;
    if image < count {
        let first_number = image * stride;
        let turn = usize::cast_from(numbers[first_number + CONTRAST]);
        if turn < 4 {
            let parts = CUBE_COUNT_X as usize;
            let mut light = 0.0_f32;
            for part in 0..parts {
                light += sums[image * parts + part];
            }
            let factor = numbers[first_number + STEPS + 2 * turn + 1];
            let base = (1.0_f32 - factor) * light / f32::cast_from(area);
            for i in 0..EACH {
                let at = CUBE_POS_X as usize * PART + i * UNITS + UNIT_POS as usize;
                if at < area {
                    let mut values = Array::<f32>::new(3usize);
                    #[unroll]
                    for channel in 0..3usize {
                        values[channel] = cut(output[(image * 3 + channel) * area + at] * factor + base);
                    }
                    for t in turn + 1..4usize {
                        let pair = first_number + STEPS + 2 * t;
                        step(&mut values, numbers[pair], numbers[pair + 1]);
                    }
                    if numbers[first_number + GREY] > 0.5_f32 {
                        mix(&mut values, 0.0_f32, 1.0_f32);
                    }
                    #[unroll]
                    for channel in 0..3usize {
                        output[(image * 3 + channel) * area + at] = values[channel];
                    }
                }
            }
        }
    }
}

/// One of the two passes of a blur.
#[cube(launch, address_type = "dynamic")]
pub(crate) fn blur(
    images: &Tensor<f32>,
    numbers: &Tensor<f32>,
    output: &mut Tensor<f32>,
    count: usize,
    channels: usize,
    height: usize,
    width: usize,
    stride: usize,
    #[comptime] vertical: bool,
) {
    let at = ABSOLUTE_POS;
    if at >= count {
        terminate!();
    }
    let first_number = at / (channels * height * width) * stride;
    let radius = usize::cast_from(numbers[first_number + RADIUS]);
    let (side, place, step) =
        if comptime!(vertical) { (height, at / width % height, width) } else { (width, at % width, 1usize) };
    let start = at - place * step;
    let mut sum = numbers[first_number + NUMBERS] * images[at];
    for distance in 1..radius + 1 {
        // Reflected without the border itself: -1 is 1 and `side` is `side - 2`.
        let before = if place >= distance { place - distance } else { distance - place };
        let after = place + distance;
        let after = if after < side { after } else { 2 * side - 2 - after };
        let both = images[start + before * step] + images[start + after * step];
        sum += numbers[first_number + NUMBERS + distance] * both;
    }
    output[at] = sum;
}
