//! Pillow's resampling of images of bytes, bit for bit: fixed-point weights along rows, rounded to bytes, then along columns. (Pillow 13.0
//! takes columns first for high pictures.)
//!
//! Rows are resampled 16 at a time, turned so that the values of a column lie side by side: then both passes are sums of
//! vectors. A side that keeps its length needs no pass: its weights would be 1 and 0.

use super::resample::Filter;
use super::turn::{Column, LINES, turn, turn_back};

/// Fraction bits of Pillow's weights.
const PRECISION: u32 = 22;
/// Values of a row that are summed together.
const RUN: usize = 64;

/// The resampling of images of one size to another.
pub struct Resize {
    channels: usize,
    from: [usize; 2],
    to: [usize; 2],
    horizontal: Axis,
    vertical: Axis,
    /// Rows at their new length.
    narrow: Vec<u8>,
    /// Some rows, turned, before and after.
    turned: Vec<Column<u8>>,
    resampled: Vec<Column<u8>>,
}

impl Resize {
    /// From images of `from` rows and columns to those of `to`, with interleaved channels.
    pub fn new(filter: Filter, from: [usize; 2], to: [usize; 2], channels: usize) -> Self {
        let [height, width] = from;
        Self {
            channels,
            from,
            to,
            horizontal: Axis::new(filter, width, to[1]),
            vertical: Axis::new(filter, height, to[0]),
            narrow: vec![0; height * to[1] * channels],
            turned: vec![[0; LINES]; width * channels],
            resampled: vec![[0; LINES]; to[1] * channels],
        }
    }

    /// Resamples an image. Bytes of `output` beyond the image stay unchanged; those for which `image` is too short mean nothing.
    pub fn apply(&mut self, image: &[u8], output: &mut [u8]) {
        let Self { channels, from, to, horizontal, vertical, narrow, turned, resampled } = self;
        let (before, after) = (from[1] * *channels, to[1] * *channels);
        if before == 0 || after == 0 {
            return;
        }
        let [keeps_height, keeps_width] = [0, 1].map(|side| from[side] == to[side]);
        let length = output.len().min(from[0] * after);
        vectorised!(match (keeps_height, keeps_width) {
            (_, true) => vertical.across(image, after, output),
            (true, false) =>
                horizontal.along_rows(image, *channels, [turned, resampled], &mut output[..length]),
            (false, false) => {
                horizontal.along_rows(image, *channels, [turned, resampled], narrow);
                vertical.across(narrow, after, output);
            }
        });
    }
}

/// The weights of one axis as Pillow rounds them.
struct Axis {
    taps: Vec<(usize, Vec<i32>)>,
}

impl Axis {
    fn new(filter: Filter, input: usize, output: usize) -> Self {
        let mut taps = Vec::with_capacity(output);
        filter.weights(input, output, |_, first, weights| {
            let fixed = weights.iter().map(|w| (w * f64::from(1 << PRECISION)).round() as i32).collect();
            taps.push((first, fixed));
        });
        Self { taps }
    }

    /// Resamples rows of `channels` interleaved values, with scratch memory for some of them, turned, before and after.
    #[inline(always)]
    fn along_rows(
        &self,
        rows: &[u8],
        channels: usize,
        [turned, resampled]: [&mut Vec<Column<u8>>; 2],
        output: &mut [u8],
    ) {
        let (before, after) = (turned.len(), resampled.len());
        for (lines, output) in rows.chunks(LINES * before).zip(output.chunks_mut(LINES * after)) {
            turn(lines, before, 0, turned);
            self.along(turned, channels, resampled);
            turn_back(resampled, output);
        }
    }

    /// Resamples turned rows of `channels` interleaved values.
    #[inline(always)]
    fn along(&self, input: &[Column<u8>], channels: usize, output: &mut [Column<u8>]) {
        for (pixel, (first, weights)) in output.chunks_exact_mut(channels).zip(&self.taps) {
            for (channel, output) in pixel.iter_mut().enumerate() {
                let mut sums = [1 << (PRECISION - 1); LINES];
                let columns = input.iter().skip(first * channels + channel).step_by(channels);
                for (column, &weight) in columns.zip(weights) {
                    sums.iter_mut().zip(column).for_each(|(sum, &value)| *sum += i32::from(value) * weight);
                }
                output.iter_mut().zip(sums).for_each(|(output, sum)| *output = byte(sum));
            }
        }
    }

    /// Resamples across rows of `stride` values.
    #[inline(always)]
    fn across(&self, input: &[u8], stride: usize, output: &mut [u8]) {
        for (output, (first, weights)) in output.chunks_exact_mut(stride).zip(&self.taps) {
            let rows = input.get(first * stride..).unwrap_or_default();
            let (runs, rest) = output.as_chunks_mut::<RUN>();
            let start = runs.len() * RUN;
            for (at, output) in runs.iter_mut().enumerate() {
                let mut sums = [1 << (PRECISION - 1); RUN];
                for (row, &weight) in rows.chunks_exact(stride).zip(weights) {
                    if let Some(values) = row[at * RUN..].first_chunk::<RUN>() {
                        sums.iter_mut()
                            .zip(values)
                            .for_each(|(sum, &value)| *sum += i32::from(value) * weight);
                    }
                }
                output.iter_mut().zip(sums).for_each(|(output, sum)| *output = byte(sum));
            }
            for (at, output) in (start..).zip(rest) {
                let products = rows.chunks_exact(stride).zip(weights).map(|(row, w)| i32::from(row[at]) * w);
                *output = byte((1 << (PRECISION - 1)) + products.sum::<i32>());
            }
        }
    }
}

/// A sum of products with weights, to which a half is added already.
#[inline(always)]
fn byte(sum: i32) -> u8 {
    (sum >> PRECISION).clamp(0, 255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One value after the other.
    fn plain(filter: Filter, image: &[u8], from: [usize; 2], to: [usize; 2], channels: usize) -> Vec<u8> {
        let resampled = |line: &[u8], length: usize| -> Vec<u8> {
            let axis = Axis::new(filter, line.len(), length);
            let value = |(first, weights): &(usize, Vec<i32>)| {
                let products = line[*first..].iter().zip(weights).map(|(&v, w)| i32::from(v) * w);
                byte((1 << (PRECISION - 1)) + products.sum::<i32>())
            };
            axis.taps.iter().map(value).collect()
        };
        let ([height, width], [high, wide]) = (from, to);
        let mut output = vec![0; high * wide * channels];
        for channel in 0..channels {
            let row = |y: usize| -> Vec<u8> {
                (0..width).map(|x| image[(y * width + x) * channels + channel]).collect()
            };
            let narrow: Vec<Vec<u8>> = (0..height).map(|y| resampled(&row(y), wide)).collect();
            for x in 0..wide {
                let column: Vec<u8> = narrow.iter().map(|row| row[x]).collect();
                for (y, value) in resampled(&column, high).into_iter().enumerate() {
                    output[(y * wide + x) * channels + channel] = value;
                }
            }
        }
        output
    }

    #[test]
    fn blocks_of_rows_give_what_single_values_give() {
        let sizes = [
            ([37, 53], [32, 48], 3),
            ([16, 16], [16, 7], 1),
            ([5, 90], [80, 24], 2),
            ([1, 1], [3, 40], 3),
            ([37, 53], [50, 53], 3),
            ([37, 53], [37, 70], 3),
        ];
        for (from, to, channels) in sizes {
            let values = from[0] * from[1] * channels;
            let image: Vec<u8> =
                (0..values as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            for filter in [Filter::Bilinear, Filter::Bicubic] {
                let mut output = vec![0; to[0] * to[1] * channels];
                Resize::new(filter, from, to, channels).apply(&image, &mut output);
                assert_eq!(output, plain(filter, &image, from, to, channels), "{from:?} {to:?} {filter:?}");
            }
        }
    }
}
