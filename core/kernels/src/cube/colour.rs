//! Colour changes of one pixel.

use cubecl::prelude::*;

use crate::cpu::augment::LUMINANCE;

/// A value within the range of colours.
#[cube]
pub(crate) fn cut(value: f32) -> f32 {
    value.clamp(0.0_f32, 1.0_f32)
}

/// The grey of a colour.
#[cube]
pub(crate) fn grey(red: f32, green: f32, blue: f32) -> f32 {
    let red_weight = comptime!(LUMINANCE[0]);
    let green_weight = comptime!(LUMINANCE[1]);
    let blue_weight = comptime!(LUMINANCE[2]);
    red * red_weight + green * green_weight + blue * blue_weight
}

/// `factor` of a colour and `added` of its grey.
#[cube]
pub(crate) fn mix(values: &mut Array<f32>, factor: f32, added: f32) {
    let base = added * grey(values[0usize], values[1usize], values[2usize]);
    #[unroll]
    for channel in 0..3usize {
        values[channel] = cut(values[channel] * factor + base);
    }
}

/// Turns the hue by `turn` sectors of the colour circle's six.
#[cube]
fn turn_hue(values: &mut Array<f32>, turn: f32) {
    let red = values[0usize];
    let green = values[1usize];
    let blue = values[2usize];
    let value = red.max(green).max(blue);
    let chroma = value - red.min(green).min(blue);
    let mut divisor = chroma + 0.0_f32;
    if chroma == 0.0_f32 {
        divisor = 1.0_f32;
    }
    // The position on the circle, counted from the largest channel.
    let mut sector = 4.0_f32 + (red - green) / divisor;
    if red == value {
        sector = (green - blue) / divisor;
    } else if green == value {
        sector = 2.0_f32 + (blue - red) / divisor;
    }
    sector += turn;
    if sector < 0.0_f32 {
        sector += 6.0_f32;
    }
    if sector >= 6.0_f32 {
        sector -= 6.0_f32;
    }
    let red_ramp = (sector - 3.0_f32).abs() - 1.0_f32;
    let green_ramp = 2.0_f32 - (sector - 2.0_f32).abs();
    let blue_ramp = 2.0_f32 - (sector - 4.0_f32).abs();
    values[0usize] = cut(value + (cut(red_ramp) - 1.0_f32) * chroma);
    values[1usize] = cut(value + (cut(green_ramp) - 1.0_f32) * chroma);
    values[2usize] = cut(value + (cut(blue_ramp) - 1.0_f32) * chroma);
}

/// A colour change that only needs the pixel itself.
#[cube]
pub(crate) fn step(values: &mut Array<f32>, kind: f32, factor: f32) {
    if kind == 1.0_f32 {
        mix(values, factor, 0.0_f32);
    }
    if kind == 3.0_f32 {
        mix(values, factor, 1.0_f32 - factor);
    }
    if kind == 4.0_f32 {
        turn_hue(values, factor);
    }
}
