//! Batch normalisation of maps with what follows it in a block: the sum with the identity, and the rectifier.
//!
//! ```text
//! z = γ x̂ + β [+ identity],  x̂ = (y - mean) / sqrt(var + ε),  output = max(z, 0)
//! dL/dy = γ / sqrt(var + ε) ( dz - mean(dz) - x̂ mean(dz x̂) ),  dL/dγ = sum(dz x̂),  dL/dβ = sum(dz)
//! ```

use burn::module::{Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use pulp::Arch;

use crate::encoder::layers::BatchNorm;
use crate::encoder::maps::{Maps, floats};
use crate::encoder::tape::accumulate;
use simile_kernels::cpu::parallel;

/// Places that one round of a loop has.
const PART: usize = 512;

/// A normalisation in a training step.
#[derive(Debug)]
pub(super) struct Norm {
    gain: ParamId,
    shift: ParamId,
    device: Device,
    gains: Vec<f32>,
    shifts: Vec<f32>,
    statistics: Statistics,
}

/// Of the places of a batch, by channel.
#[derive(Debug)]
struct Statistics {
    means: Vec<f32>,
    /// `1 / sqrt(var + ε)`.
    scales: Vec<f32>,
}

impl Norm {
    /// Takes the statistics of `maps` and moves the running ones; `None` where the layer has no gain and shift.
    pub(super) fn observe(layer: &BatchNorm, maps: &Maps) -> Option<Self> {
        let (gain, shift) = (layer.weight.as_ref()?, layer.bias.as_ref()?);
        let moments = Moments::of(maps);
        let device = gain.val().without_autodiff().device();
        let tensor = |values: &[f32]| {
            Tensor::<1>::from_data(TensorData::new(values.to_vec(), [values.len()]), &device)
        };
        let samples = maps.n * maps.places();
        let variances: Vec<f32> = moments.squares.iter().map(|square| square / samples as f32).collect();
        layer.observe(tensor(&moments.means), tensor(&variances), samples);
        let scales =
            variances.iter().map(|variance| (variance + layer.epsilon as f32).sqrt().recip()).collect();
        let statistics = Statistics { means: moments.means, scales };
        Some(Self {
            gain: gain.id,
            shift: shift.id,
            gains: values(gain),
            shifts: values(shift),
            statistics,
            device,
        })
    }

    /// Writes the output: normalised, with the identity added, rectified if `rectified`.
    pub(super) fn forward(&self, maps: &Maps, identity: Option<&Maps>, rectified: bool, output: &mut Maps) {
        let factors: Vec<f32> = self.gains.iter().zip(&self.statistics.scales).map(|(g, s)| g * s).collect();
        let means = self.statistics.means.iter().zip(&factors).zip(&self.shifts);
        let offsets: Vec<f32> = means.map(|((mean, factor), shift)| shift - mean * factor).collect();
        let parts =
            output.values.chunks_mut(PART * maps.channels).zip(maps.values.chunks(PART * maps.channels));
        let activation = Activation { factors, offsets, identity, rectified };
        parallel::map(parts.enumerate(), |(at, (output, maps))| {
            output.copy_from_slice(maps);
            activation.apply(at, output);
        });
    }

    /// Writes the gradient with respect to the maps, from that of what [`forward`](Self::forward) gave, to `found`.
    ///
    /// `upstream` becomes the gradient of the sum before the rectifier, which is that of the identity too.
    pub(super) fn backward(
        &self,
        maps: &Maps,
        output: Option<&Maps>,
        upstream: &mut Maps,
        parameters: &mut GradientsParams,
        found: &mut Maps,
    ) {
        let channels = maps.channels;
        let size = PART * channels;
        let Statistics { means, scales } = &self.statistics;
        let parts = upstream.values.chunks_mut(size).enumerate().zip(maps.values.chunks(size));
        let sums = parallel::map(parts, |((at, upstream), maps)| {
            if let Some(output) = output {
                let output = &output.values[at * size..];
                let keep = |(g, y): (&mut f32, &f32)| *g = if *y > 0.0 { *g } else { 0.0 };
                Arch::new().dispatch(|| upstream.iter_mut().zip(output).for_each(keep));
            }
            let (mut sum, mut along) = (vec![0.0_f32; channels], vec![0.0_f32; channels]);
            for (g, y) in upstream.chunks_exact(channels).zip(maps.chunks_exact(channels)) {
                let sums = sum.iter_mut().zip(&mut along).zip(g).zip(y.iter().zip(means));
                Arch::new().dispatch(|| {
                    for (((sum, along), g), (y, mean)) in sums {
                        *sum += g;
                        *along += g * (y - mean);
                    }
                });
            }
            (sum, along)
        });
        let (of_shift, of_gain): (Vec<_>, Vec<_>) = sums.into_iter().unzip();
        let of_shift = parallel::sum(of_shift, channels);
        let of_gain: Vec<f32> =
            parallel::sum(of_gain, channels).iter().zip(scales).map(|(sum, scale)| sum * scale).collect();

        // What a channel subtracts is linear in y: a slope and an offset, which has its mean in it.
        let share = 1.0 / (maps.n * maps.places()) as f32;
        let factors: Vec<f32> = self.gains.iter().zip(scales).map(|(gain, scale)| gain * scale).collect();
        let slopes: Vec<f32> = of_gain.iter().zip(scales).map(|(sum, scale)| sum * scale * share).collect();
        let offsets: Vec<f32> = of_shift
            .iter()
            .zip(means.iter().zip(&slopes))
            .map(|(sum, (mean, slope))| sum * share - mean * slope)
            .collect();
        let parts =
            found.values.chunks_mut(size).zip(upstream.values.chunks(size)).zip(maps.values.chunks(size));
        parallel::map(parts, |((found, upstream), maps)| {
            let rows = found
                .chunks_exact_mut(channels)
                .zip(upstream.chunks_exact(channels))
                .zip(maps.chunks_exact(channels));
            for ((found, g), y) in rows {
                let constants = factors.iter().zip(slopes.iter().zip(&offsets));
                Arch::new().dispatch(|| {
                    for (((found, g), y), (factor, (slope, offset))) in
                        found.iter_mut().zip(g).zip(y).zip(constants)
                    {
                        *found = factor * (g - offset - y * slope);
                    }
                });
            }
        });
        accumulate(parameters, self.gain, self.tensor(of_gain));
        accumulate(parameters, self.shift, self.tensor(of_shift));
    }

    fn tensor(&self, values: Vec<f32>) -> Tensor<1> {
        let length = values.len();
        Tensor::from_data(TensorData::new(values, [length]), &self.device)
    }
}

/// Normalises by the running statistics, adds the identity and rectifies, in place.
pub(super) fn evaluate(layer: &BatchNorm, maps: &mut Maps, identity: Option<&Maps>, rectified: bool) {
    let of = |tensor: Tensor<1>| floats(&tensor.without_autodiff().into_data()).to_vec();
    let (means, variances) = (of(layer.running_mean.value_sync()), of(layer.running_var.value_sync()));
    let of = |parameter: &Option<Param<Tensor<1>>>, usual: f32| match parameter {
        Some(parameter) => values(parameter),
        None => vec![usual; means.len()],
    };
    let (gains, shifts) = (of(&layer.weight, 1.0), of(&layer.bias, 0.0));
    let factor = |(gain, variance): (&f32, &f32)| gain / (variance + layer.epsilon as f32).sqrt();
    let factors: Vec<f32> = gains.iter().zip(&variances).map(factor).collect();
    let offset = |(shift, (mean, factor)): (&f32, (&f32, &f32))| shift - mean * factor;
    let offsets: Vec<f32> = shifts.iter().zip(means.iter().zip(&factors)).map(offset).collect();
    let activation = Activation { factors, offsets, identity, rectified };
    let size = PART * maps.channels;
    parallel::map(maps.values.chunks_mut(size).enumerate(), |(at, maps)| activation.apply(at, maps));
}

/// `y <- max(factor y + offset [+ identity], 0)` by channel.
struct Activation<'a> {
    factors: Vec<f32>,
    offsets: Vec<f32>,
    identity: Option<&'a Maps>,
    rectified: bool,
}

impl Activation<'_> {
    /// In place, in one of the parts.
    fn apply(&self, part: usize, maps: &mut [f32]) {
        let channels = self.factors.len();
        let least = if self.rectified { 0.0 } else { f32::NEG_INFINITY };
        let identity = self.identity.map(|identity| &identity.values[part * PART * channels..]);
        for (row, maps) in maps.chunks_exact_mut(channels).enumerate() {
            let constants = self.factors.iter().zip(&self.offsets);
            Arch::new().dispatch(|| match identity {
                Some(identity) => {
                    let identity = &identity[row * channels..];
                    for ((y, (factor, offset)), identity) in maps.iter_mut().zip(constants).zip(identity) {
                        *y = rectify(*y * factor + offset + identity, least);
                    }
                }
                None => {
                    maps.iter_mut().zip(constants).for_each(|(y, (f, o))| *y = rectify(*y * f + o, least));
                }
            });
        }
    }
}

/// The larger of both; NaN stays, which `max` would hide.
#[inline(always)]
fn rectify(value: f32, least: f32) -> f32 {
    if value < least { least } else { value }
}

/// Mean and sum of squared deviations by channel.
struct Moments {
    count: usize,
    means: Vec<f32>,
    squares: Vec<f32>,
}

impl Moments {
    fn of(maps: &Maps) -> Self {
        let channels = maps.channels;
        let parts = parallel::map(maps.values.chunks(PART * channels), |part| Self::of_part(part, channels));
        let none = Self { count: 0, means: vec![0.0; channels], squares: vec![0.0; channels] };
        parts.into_iter().fold(none, Self::with)
    }

    fn of_part(part: &[f32], channels: usize) -> Self {
        let count = part.len() / channels;
        let mut means = vec![0.0_f32; channels];
        for row in part.chunks_exact(channels) {
            Arch::new().dispatch(|| means.iter_mut().zip(row).for_each(|(sum, y)| *sum += y));
        }
        means.iter_mut().for_each(|sum| *sum /= count as f32);
        let mut squares = vec![0.0_f32; channels];
        for row in part.chunks_exact(channels) {
            let add = |(square, (y, mean)): (&mut f32, (&f32, &f32))| *square += (y - mean) * (y - mean);
            Arch::new().dispatch(|| squares.iter_mut().zip(row.iter().zip(&means)).for_each(add));
        }
        Self { count, means, squares }
    }

    /// Of both parts together (Chan, Golub & LeVeque, 1983).
    fn with(mut self, other: Self) -> Self {
        let count = self.count + other.count;
        let share = other.count as f32 / count as f32;
        let between = self.count as f32 * share;
        let ours = self.means.iter_mut().zip(&mut self.squares);
        for ((mean, square), (other_mean, other_square)) in ours.zip(other.means.iter().zip(&other.squares)) {
            let difference = other_mean - *mean;
            *mean += difference * share;
            *square += other_square + difference * difference * between;
        }
        Self { count, ..self }
    }
}

fn values(parameter: &Param<Tensor<1>>) -> Vec<f32> {
    floats(&parameter.val().without_autodiff().into_data()).to_vec()
}
