//! Pixels of images: bytes, of which each pixel has one a channel, side by side.

/// A byte of an image as a number from 0 to 1, to the last bit `byte / 255`: `1/255 = 2⁻⁸ + 2⁻¹⁶ + 2⁻²⁴ + …`, of which the first two
/// terms give an exact product. Processors take several times as long to divide.
#[inline(always)]
pub(super) fn intensity(byte: u8) -> f32 {
    const LARGE: f32 = 1.0 / 256.0 + 1.0 / 65_536.0;
    const SMALL: f32 = (LARGE + 1.0 / 16_777_216.0) / 65_536.0;
    let byte = f32::from(byte);
    byte * LARGE + byte * SMALL
}

/// Separates the channels of an image into planes, one after the other, each byte as `value` gives it.
#[inline(always)]
pub fn separate<T>(image: &[u8], channels: usize, planes: &mut [T], value: impl Fn(u8) -> T) {
    let pixels = image.len() / channels.max(1);
    if channels == 3 && planes.len() >= image.len() {
        // All three in one pass, which is one of vector instructions.
        let (red, others) = planes.split_at_mut(pixels);
        let (green, blue) = others.split_at_mut(pixels);
        let places = red.iter_mut().zip(green).zip(blue);
        for (&[r, g, b], ((red, green), blue)) in image.as_chunks::<3>().0.iter().zip(places) {
            (*red, *green, *blue) = (value(r), value(g), value(b));
        }
        return;
    }
    for (channel, plane) in planes.chunks_exact_mut(pixels.max(1)).enumerate() {
        let bytes = image.iter().skip(channel).step_by(channels);
        plane.iter_mut().zip(bytes).for_each(|(place, &byte)| *place = value(byte));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_divided_as_the_processor_divides() {
        assert!((0..=255).all(|byte| intensity(byte) == f32::from(byte) / 255.0));
    }

    #[test]
    fn channels_become_planes() {
        for channels in 1..=4 {
            let image: Vec<u8> = (0..5 * channels as u8).collect();
            let mut planes = vec![0; image.len()];
            separate(&image, channels, &mut planes, |byte| byte);
            let expected =
                (0..channels).flat_map(|channel| (0..5).map(move |at| (at * channels + channel) as u8));
            assert!(planes.iter().copied().eq(expected), "{channels} channels: {planes:?}");
        }
    }
}
