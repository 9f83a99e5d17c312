//! Normalisation of an encoder's input: mean and standard deviation of each channel.

use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, positive};

/// `(x − mean) / std` for each channel, of values between 0 and 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalisation {
    /// Mean of each channel.
    pub mean: Vec<f64>,
    /// Standard deviation of each channel.
    pub std: Vec<f64>,
}

impl Normalisation {
    /// No change to `channels` channels: mean 0, standard deviation 1.
    pub fn identity(channels: usize) -> Self {
        Self { mean: vec![0.0; channels], std: vec![1.0; channels] }
    }

    /// Normalises images, `[n, channels, height, width]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is not one mean and one deviation a channel, [`Error::Parameter`] for a deviation
    /// that is not above zero.
    pub fn apply(&self, images: Tensor<4>) -> Result<Tensor<4>> {
        let channels = images.dims()[1];
        let coefficients = self.coefficients(channels)?;
        if coefficients.is_empty() {
            return Ok(images);
        }
        let place = (&images.device(), images.dtype());
        let constants = |at: usize| {
            let values: Vec<f32> = coefficients.iter().map(|of_channel| of_channel[at]).collect();
            Tensor::<4>::from_data(TensorData::new(values, [1, channels, 1, 1]), place)
        };
        Ok(images * constants(0) + constants(1))
    }

    /// The factor of each channel and the number that is then added; none if they change nothing.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub(super) fn coefficients(&self, channels: usize) -> Result<Vec<[f32; 2]>> {
        for (name, count) in [("mean", self.mean.len()), ("std", self.std.len())] {
            if count != channels {
                return Err(Error::shape(name, format!("{channels} values"), format!("{count} values")));
            }
        }
        self.std.iter().try_for_each(|&std| positive("std", std).map(|_| ()))?;
        if *self == Self::identity(channels) {
            return Ok(Vec::new());
        }
        let of_channel = |(mean, std): (&f64, &f64)| [(1.0 / std) as f32, (-mean / std) as f32];
        Ok(self.mean.iter().zip(&self.std).map(of_channel).collect())
    }
}
