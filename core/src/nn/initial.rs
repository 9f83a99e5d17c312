//! The first values of a network's parameters: drawn from a generator, or zeros that a file replaces.
//!
//! They are drawn on the host, one after the other, so that a seed gives the same network on every device. Burn's own generator is
//! global to a backend, and its state cannot be saved.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use rand::{Rng, RngExt as _};
use rand_distr::{Distribution, StandardNormal};

/// Where the first values of parameters come from. An `impl InitialValues` takes any generator of `rand` 0.10;
/// [`train::stream`](crate::train::stream) gives one.
pub trait InitialValues {
    /// A parameter of a shape, with values of a distribution if they are drawn.
    fn parameter<const D: usize>(
        &mut self,
        shape: [usize; D],
        device: &Device,
        distribution: impl Distribution<f32>,
    ) -> Param<Tensor<D>>;
}

impl<R: Rng> InitialValues for R {
    fn parameter<const D: usize>(
        &mut self,
        shape: [usize; D],
        device: &Device,
        distribution: impl Distribution<f32>,
    ) -> Param<Tensor<D>> {
        let values: Vec<f32> = (0..shape.iter().product()).map(|_| distribution.sample(self)).collect();
        Param::from_data(TensorData::new(values, shape), device)
    }
}

/// Zeros, for a network whose parameters come from a file, so that none is drawn in vain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Zeros;

impl InitialValues for Zeros {
    fn parameter<const D: usize>(
        &mut self,
        shape: [usize; D],
        device: &Device,
        _: impl Distribution<f32>,
    ) -> Param<Tensor<D>> {
        Param::from_tensor(Tensor::zeros(shape, device))
    }
}

/// Uniform in `±bound`.
pub(super) struct Uniform {
    pub(super) bound: f32,
}

impl Distribution<f32> for Uniform {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f32 {
        rng.random_range(-self.bound..self.bound)
    }
}

/// Normal, drawn in `f64`.
pub(super) struct Normal {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Distribution<f32> for Normal {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f32 {
        (self.mean + self.deviation * rng.sample::<f64, _>(StandardNormal)) as f32
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::nn::checkpoint::flattened;
    use crate::nn::{Architecture, EncoderConfig};

    /// A seed has to give the network that it gave before.
    #[test]
    fn values_are_drawn_in_order_of_their_distribution() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut same = rng.clone();
        let values =
            |parameter: Param<Tensor<2>>| parameter.val().into_data().iter::<f32>().collect::<Vec<f32>>();
        let uniform = rng.parameter([2, 3], &Device::flex(), Uniform { bound: 0.5 });
        let normal = rng.parameter([3, 1], &Device::flex(), Normal { mean: 1.0, deviation: 0.02 });
        let expected: Vec<f32> = (0..6).map(|_| same.random_range(-0.5..0.5)).collect();
        assert_eq!(values(uniform), expected);
        let expected = (0..3).map(|_| (1.0 + 0.02 * same.sample::<f64, _>(StandardNormal)) as f32);
        assert_eq!(values(normal), expected.collect::<Vec<f32>>());
    }

    #[test]
    fn a_network_of_zeros_has_the_tensors_of_one_that_was_drawn() {
        for name in [Architecture::LeNet5, Architecture::SimpleConv, Architecture::Vae] {
            let config = EncoderConfig { name, ..EncoderConfig::default() };
            let drawn = config.init(&Device::flex(), &mut ChaCha8Rng::seed_from_u64(0)).unwrap();
            let zeros = config.init(&Device::flex(), &mut Zeros).unwrap();
            let shapes = [drawn, zeros].map(|network| {
                let tensors = flattened("", &network).into_iter();
                tensors.map(|tensor| (tensor.name, tensor.shape)).collect::<Vec<_>>()
            });
            assert_eq!(shapes[0], shapes[1], "{}", name.name());
        }
    }
}
