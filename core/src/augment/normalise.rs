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

/// Published constants by data set.
const NAMED: [(&str, [f64; 3], [f64; 3]); 6] = [
    ("cifar-10", [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]),
    ("cifar-100", [0.5071, 0.4865, 0.4409], [0.2009, 0.1984, 0.2023]),
    ("cub", [0.4863, 0.4999, 0.4312], [0.2070, 0.2018, 0.2428]),
    ("half", [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]),
    ("imagenet", [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ("ut-zappos", [0.8342, 0.8142, 0.8081], [0.2804, 0.3014, 0.3072]),
];

impl Normalisation {
    /// No change to `channels` channels: mean 0, standard deviation 1.
    pub fn identity(channels: usize) -> Self {
        Self { mean: vec![0.0; channels], std: vec![1.0; channels] }
    }

    /// The constants of a data set: `cifar-10`, `cifar-100`, `cub`, `half` (0.5 and 0.5), `imagenet`, `ut-zappos`.
    ///
    /// # Errors
    /// [`Error::Unknown`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        match NAMED.iter().find(|(known, ..)| *known == name) {
            Some((_, mean, std)) => Ok(Self { mean: mean.to_vec(), std: std.to_vec() }),
            None => Err(Error::Unknown {
                kind: "normalisation",
                name: name.into(),
                known: NAMED.iter().map(|(known, ..)| String::from(*known)).collect(),
            }),
        }
    }

    /// Normalises images, `[n, channels, height, width]`.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is not one mean and one deviation a channel, [`Error::Parameter`] for a deviation
    /// that is not above zero.
    pub fn apply(&self, images: Tensor<4>) -> Result<Tensor<4>> {
        let channels = images.dims()[1];
        for (name, found) in [("mean", self.mean.len()), ("std", self.std.len())] {
            if found != channels {
                return Err(Error::shape(name, format!("{channels} values"), format!("{found} values")));
            }
        }
        self.std.iter().try_for_each(|&std| positive("std", std).map(|_| ()))?;
        if *self == Self::identity(channels) {
            return Ok(images);
        }
        let place = (&images.device(), images.dtype());
        let constants =
            |values: Vec<f32>| Tensor::<4>::from_data(TensorData::new(values, [1, channels, 1, 1]), place);
        let scale = self.std.iter().map(|std| (1.0 / std) as f32).collect();
        let shift = self.mean.iter().zip(&self.std).map(|(mean, std)| (-mean / std) as f32).collect();
        Ok(images * constants(scale) + constants(shift))
    }
}
