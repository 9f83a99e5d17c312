//! Convolutions by the method that suits their shape: [`winograd`], or [`im2col`]. In maps the channels of a
//! position are contiguous, `[n, height, width, channels]`, as the products need them.

use super::geometry::Geometry;
use super::upstream::Upstream;
use super::{im2col, parallel, scratch, winograd};

/// Writes the convolution to `output`. `after` is called for each part of `output` while it is in the cache, with the
/// index of its first value; its results are returned in order.
pub(crate) fn convolve<T: Send>(
    maps: &[f32],
    weight: &[f32],
    geometry: &Geometry,
    output: &mut [f32],
    after: impl Fn(usize, &mut [f32]) -> T + Sync + Send,
) -> Vec<T> {
    with_kernel(weight, geometry, |kernel, is_minimal| {
        if is_minimal {
            winograd::forward(maps, kernel, geometry, output, after)
        } else {
            im2col::forward(maps, kernel, geometry, output, after)
        }
    })
}

/// The requested gradients of maps and weight, from the gradient of the convolution.
pub(crate) fn convolve_backward(
    maps: &[f32],
    weight: &[f32],
    geometry: &Geometry,
    upstream: &impl Upstream,
    wanted: [bool; 2],
) -> [Option<Vec<f32>>; 2] {
    let [grad_maps, is_weight_wanted] = wanted;
    if wanted == [false; 2] {
        return [None, None];
    }
    let mut grad_maps = grad_maps.then(|| parallel::zeros(maps.len()));
    let target = grad_maps.as_deref_mut();
    let grad_weight = with_kernel(weight, geometry, |kernel, is_minimal| {
        if is_minimal {
            winograd::backward(maps, kernel, geometry, upstream, target, is_weight_wanted)
        } else {
            im2col::backward(maps, kernel, geometry, upstream, target, is_weight_wanted)
        }
    });
    [grad_maps, grad_weight]
}

/// Calls `work` with the weight in the layout of the products. It is recomputed for the gradient: in Winograd's
/// form it has four times as many values.
fn with_kernel<T>(weight: &[f32], geometry: &Geometry, work: impl FnOnce(&[f32], bool) -> T) -> T {
    let is_minimal = winograd::applies(geometry);
    let mut kernel =
        scratch::take(if is_minimal { winograd::transformed(geometry) } else { geometry.weights() });
    if is_minimal {
        winograd::transform(weight, geometry, &mut kernel);
    } else {
        im2col::transform(weight, geometry, &mut kernel);
    }
    let result = work(&kernel, is_minimal);
    scratch::give(kernel);
    result
}
