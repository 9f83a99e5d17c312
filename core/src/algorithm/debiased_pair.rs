//! The network that can only learn the bias, trained beside the main network: in ReBias, LearnedMixin, RUBi and
//! SoftCon.
//!
//! Its input may be smaller than that of the main network. Images are then averaged over areas of equal size, which
//! keeps the local colour and saves work: with 1×1 kernels the work is proportional to the number of pixels.
//!
//! LfF, ReBias and the weighting by difficulty train both networks from the first step on, as a [`DebiasedPair`].

use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::module::adaptive_avg_pool2d;

use super::ModelConfig;
use crate::error::{Error, Result};
use crate::nn::head::HeadConfig;
use crate::nn::{EncoderConfig, Model};

/// The main network and the biased one, both trained by one optimiser.
#[derive(Module, Debug)]
pub(super) struct DebiasedPair {
    pub(super) debiased: Model,
    pub(super) biased: Model,
}

/// The settings of the biased network: randomly initialised with `encoder`, or a copy of `main` with another head.
pub(super) fn biased_network(
    main: &ModelConfig,
    encoder: Option<&EncoderConfig>,
    head: HeadConfig,
) -> ModelConfig {
    match encoder {
        Some(encoder) => ModelConfig { encoder: encoder.clone(), head, weights: None },
        None => ModelConfig { head, ..main.clone() },
    }
}

/// The images of the biased network, in its size.
#[derive(Debug, Clone, Copy)]
pub(super) struct BiasedInput {
    side: usize,
}

impl BiasedInput {
    /// Images for `biased`, made of those for `main`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if `biased` takes larger ones than `main`.
    pub(super) fn of(biased: &ModelConfig, main: &ModelConfig) -> Result<Self> {
        let (side, most) = (biased.encoder.input_size, main.encoder.input_size);
        if side > most {
            let range = format!("expected at most the {most} of the main network");
            return Err(Error::parameter("method.encoder.input_size", side, &range));
        }
        Ok(Self { side })
    }

    /// Averages images `[n, channels, h, w]` over areas, to `[n, channels, side, side]`.
    pub(super) fn downsample(self, images: Tensor<4>) -> Tensor<4> {
        let [.., height, width] = images.dims();
        if [height, width] == [self.side; 2] {
            return images;
        }
        adaptive_avg_pool2d(images, [self.side; 2])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn network(input_size: usize) -> ModelConfig {
        ModelConfig {
            encoder: EncoderConfig { input_size, ..EncoderConfig::default() },
            ..ModelConfig::default()
        }
    }

    #[test]
    fn smaller_images_are_averages_over_areas() {
        let values: Vec<f32> = (0..3 * 16 * 16).map(|i| (i as f32).sin()).collect();
        let images = Tensor::<1>::from_floats(values.as_slice(), &Device::flex()).reshape([1, 3, 16, 16]);
        let downsampled = BiasedInput::of(&network(8), &network(16)).unwrap().downsample(images.clone());
        assert_eq!(downsampled.dims(), [1, 3, 8, 8]);
        let downsampled: Vec<f32> = downsampled.into_data().iter::<f32>().collect();
        for (channel, row, column) in [(0, 0, 0), (1, 7, 3), (2, 4, 7)] {
            let at = |y: usize, x: usize| values[(channel * 16 + 2 * row + y) * 16 + 2 * column + x];
            let mean = (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1)) / 4.0;
            assert!((downsampled[(channel * 8 + row) * 8 + column] - mean).abs() < 1e-6);
        }
        let same = BiasedInput::of(&network(16), &network(16)).unwrap().downsample(images.clone());
        assert_eq!(same.into_data().iter::<f32>().collect::<Vec<_>>(), values);
    }

    #[test]
    fn larger_images_are_refused() {
        let error = BiasedInput::of(&network(32), &network(28)).unwrap_err().to_string();
        assert!(error.contains("method.encoder.input_size") && error.contains("28"), "{error}");
    }
}
