//! Conversion of maps with separate channel planes, such as images, to maps with contiguous channels.

use super::parallel;

/// Copies values `[n, height, width, channels]` with `strides` in `values` to row order. One pass with reads and writes,
/// an image at a time.
pub(crate) fn side_by_side(values: &[f32], sides: [usize; 4], strides: [usize; 4]) -> Vec<f32> {
    let [n, height, width, channels] = sides;
    let [image_stride, row_stride, place_stride, channel_stride] = strides;
    let row = width * channels;
    let mut maps = parallel::zeros(n * height * row);
    parallel::map(maps.chunks_exact_mut((height * row).max(1)).enumerate(), |(image, target)| {
        for (y, target) in target.chunks_exact_mut(row.max(1)).enumerate() {
            for channel in 0..channels {
                let first = image * image_stride + y * row_stride + channel * channel_stride;
                let values = values[first..].iter().step_by(place_stride.max(1));
                target[channel..].iter_mut().step_by(channels).zip(values).for_each(|(to, from)| *to = *from);
            }
        }
    });
    maps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_become_places() {
        let (n, height, width, channels) = (2, 3, 4, 3);
        let values: Vec<f32> = (0..n * channels * height * width).map(|i| i as f32).collect();
        let strides = [channels * height * width, width, 1, height * width];
        let maps = side_by_side(&values, [n, height, width, channels], strides);
        for (at, value) in maps.into_iter().enumerate() {
            let (place, channel) = (at / channels, at % channels);
            let (image, within) = (place / (height * width), place % (height * width));
            assert_eq!(value as usize, (image * channels + channel) * height * width + within);
        }
    }
}
