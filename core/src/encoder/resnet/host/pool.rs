//! The two pools of a residual network: the maximum of 3×3 places at stride 2 after the first convolution, and the mean
//! of all places at the end.

use crate::encoder::maps::Maps;
use simile_kernels::cpu::parallel;

const SIDE: usize = 3;
const STRIDE: usize = 2;
const PADDING: usize = 1;

/// The maxima, and from which of the nine places each came.
pub(super) fn maximum(maps: &Maps) -> (Maps, Vec<u8>) {
    let sides = [maps.height, maps.width].map(|side| (side + 2 * PADDING).saturating_sub(SIDE) / STRIDE + 1);
    let mut found = Maps::zeros(maps.n, sides, maps.channels);
    let mut sources = vec![0_u8; found.values.len()];
    let image = found.image();
    let images =
        maps.values.chunks(maps.image()).zip(found.values.chunks_mut(image)).zip(sources.chunks_mut(image));
    parallel::map(images, |((maps_of, found), sources)| {
        let rows = found.chunks_exact_mut(maps.channels).zip(sources.chunks_exact_mut(maps.channels));
        for (at, (found, sources)) in rows.enumerate() {
            found.fill(f32::NEG_INFINITY);
            for (tap, place) in places(maps, at / sides[1], at % sides[1]) {
                let values = &maps_of[place * maps.channels..][..maps.channels];
                for ((largest, source), value) in found.iter_mut().zip(sources.iter_mut()).zip(values) {
                    // Not larger, and not NaN.
                    if value > largest || value.is_nan() {
                        (*largest, *source) = (*value, tap);
                    }
                }
            }
        }
    });
    (found, sources)
}

/// The gradient of maps of the shape of `maps` from that of their maxima.
pub(super) fn of_maximum(maps: &Maps, upstream: &Maps, sources: &[u8]) -> Maps {
    let mut found = Maps::zeros(maps.n, [maps.height, maps.width], maps.channels);
    let (image, size, width) = (maps.image(), upstream.image(), upstream.width);
    let images = found.values.chunks_mut(image).zip(upstream.values.chunks(size)).zip(sources.chunks(size));
    parallel::map(images, |((found, upstream), sources)| {
        let rows = upstream.chunks_exact(maps.channels).zip(sources.chunks_exact(maps.channels));
        for (at, (upstream, sources)) in rows.enumerate() {
            for (tap, place) in places(maps, at / width, at % width) {
                let target = &mut found[place * maps.channels..][..maps.channels];
                for ((sum, gradient), source) in target.iter_mut().zip(upstream).zip(sources) {
                    *sum += if *source == tap { *gradient } else { 0.0 };
                }
            }
        }
    });
    found
}

/// The taps of one window that are not padding, each with its place in a map.
fn places(maps: &Maps, row: usize, column: usize) -> impl Iterator<Item = (u8, usize)> {
    let (height, width) = (maps.height, maps.width);
    let within =
        |at: usize, tap: usize, end: usize| (at * STRIDE + tap).checked_sub(PADDING).filter(|&at| at < end);
    (0..SIDE * SIDE).filter_map(move |tap| {
        let place = within(row, tap / SIDE, height)? * width + within(column, tap % SIDE, width)?;
        Some((tap as u8, place))
    })
}

/// The mean over the places of each map, `[n, channels]`.
pub(super) fn mean(maps: &Maps) -> Vec<f32> {
    let share = 1.0 / maps.places() as f32;
    let means = parallel::map(maps.values.chunks(maps.image()), |maps_of| {
        let mut mean = vec![0.0_f32; maps.channels];
        for row in maps_of.chunks_exact(maps.channels) {
            mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        mean.iter_mut().for_each(|sum| *sum *= share);
        mean
    });
    means.concat()
}

/// The gradient of maps of the shape of `maps` from that of their means.
pub(super) fn of_mean(maps: &Maps, upstream: &[f32]) -> Maps {
    let share = 1.0 / maps.places() as f32;
    let mut found = Maps::zeros(maps.n, [maps.height, maps.width], maps.channels);
    let images = found.values.chunks_mut(maps.image()).zip(upstream.chunks(maps.channels));
    parallel::map(images, |(found, upstream)| {
        for row in found.chunks_exact_mut(upstream.len()) {
            row.iter_mut().zip(upstream).for_each(|(value, gradient)| *value = gradient * share);
        }
    });
    found
}
