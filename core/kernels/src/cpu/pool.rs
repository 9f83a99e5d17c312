//! Pools of maps `[n, height, width, channels]`.

use super::geometry::Geometry;
use super::parallel;

/// The largest value of each window, and its index in the window. Kernels have up to 16 × 16 positions.
pub(crate) fn max_pool(maps: &[f32], geometry: &Geometry) -> (Vec<f32>, Vec<u8>) {
    let (channels, [_, width]) = (geometry.inputs, geometry.sides());
    let mut maxima = vec![f32::NEG_INFINITY; geometry.results()];
    let mut sources = vec![0_u8; maxima.len()];
    let size = geometry.places() * channels;
    let images = maps.chunks(geometry.image()).zip(maxima.chunks_mut(size)).zip(sources.chunks_mut(size));
    parallel::map(images, |((maps, maxima), sources)| {
        let rows = maxima.chunks_exact_mut(channels).zip(sources.chunks_exact_mut(channels));
        for (at, (maxima, sources)) in rows.enumerate() {
            for (tap, place) in places(geometry, at / width, at % width) {
                let values = &maps[place * channels..][..channels];
                for ((largest, source), value) in maxima.iter_mut().zip(sources.iter_mut()).zip(values) {
                    // The comparison also selects NaN.
                    if value > largest || value.is_nan() {
                        (*largest, *source) = (*value, tap);
                    }
                }
            }
        }
    });
    (maxima, sources)
}

/// The gradient of maps from that of their maxima.
pub(crate) fn max_pool_backward(upstream: &[f32], sources: &[u8], geometry: &Geometry) -> Vec<f32> {
    let (channels, [_, width]) = (geometry.inputs, geometry.sides());
    let mut grad_maps = vec![0.0; geometry.n * geometry.image()];
    let size = geometry.places() * channels;
    let images = grad_maps.chunks_mut(geometry.image()).zip(upstream.chunks(size)).zip(sources.chunks(size));
    parallel::map(images, |((grad_maps, upstream), sources)| {
        let rows = upstream.chunks_exact(channels).zip(sources.chunks_exact(channels));
        for (at, (upstream, sources)) in rows.enumerate() {
            for (tap, place) in places(geometry, at / width, at % width) {
                let target = &mut grad_maps[place * channels..][..channels];
                for ((sum, gradient), source) in target.iter_mut().zip(upstream).zip(sources) {
                    *sum += if *source == tap { *gradient } else { 0.0 };
                }
            }
        }
    });
    grad_maps
}

/// The mean over the positions of each map.
pub(crate) fn mean_pool(maps: &[f32], places: usize, channels: usize) -> Vec<f32> {
    let share = 1.0 / places as f32;
    let mut means = vec![0.0_f32; maps.len() / places];
    parallel::map(maps.chunks(places * channels).zip(means.chunks_mut(channels)), |(maps, means)| {
        for row in maps.chunks_exact(channels) {
            means.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        means.iter_mut().for_each(|sum| *sum *= share);
    });
    means
}

/// The gradient of maps from that of their means.
pub(crate) fn mean_pool_backward(upstream: &[f32], places: usize, channels: usize) -> Vec<f32> {
    let share = 1.0 / places as f32;
    let mut grad_maps = vec![0.0; upstream.len() * places];
    parallel::map(
        grad_maps.chunks_mut(places * channels).zip(upstream.chunks(channels)),
        |(grad_maps, upstream)| {
            for row in grad_maps.chunks_exact_mut(channels) {
                row.iter_mut().zip(upstream).for_each(|(value, gradient)| *value = gradient * share);
            }
        },
    );
    grad_maps
}

/// The taps of one window that are not padding, each with its position in a map.
fn places(geometry: &Geometry, row: usize, column: usize) -> impl Iterator<Item = (u8, usize)> {
    let Geometry { height, width, kernel, stride, padding, .. } = *geometry;
    let within = move |at: usize, tap: usize, end: usize| {
        (at * stride + tap).checked_sub(padding).filter(|&at| at < end)
    };
    (0..kernel * kernel).filter_map(move |tap| {
        let place = within(row, tap / kernel, height)? * width + within(column, tap % kernel, width)?;
        Some((tap as u8, place))
    })
}
