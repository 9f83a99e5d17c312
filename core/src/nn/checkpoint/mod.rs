//! A `.safetensors` file with a trained encoder and everything that is needed to use it.
//!
//! The header's metadata key `simile` is a JSON document, [`Metadata`]. Tensors are 32-bit floats with PyTorch's names
//! and shapes (`conv1.weight`, `fc.weight` as `[out, in]`, `layer1.0.bn1.running_mean`); those of the projection head,
//! if it is kept, begin with `head.`. So in PyTorch `net.load_state_dict(safetensors.torch.load_file(path),
//! strict=False)` loads the encoder. Names and shapes do not determine the activations and pools between the
//! layers: `simile export --to pytorch` writes the module too.
//!
//! A file is checked before it is used: header, sizes, names, element types, finite values. Every fault is a
//! [`CheckpointError`], never a panic and never a network with half of its tensors.
//!
//! From a file and pictures to embeddings, which the probes of [`eval`](crate::eval) take, 64 pictures at a time; `formats::picture` needs
//! the feature `pictures`:
//!
//! ```
//! # #[cfg(feature = "pictures")] {
//! use std::{error::Error, ops::Range};
//!
//! use burn::tensor::{Device, Tensor, read_sync};
//! use simile_core::data::{Images, formats::picture};
//! use simile_core::nn::checkpoint::Checkpoint;
//! use simile_core::numeric::rows::FeatureTable;
//! use simile_core::train::embed;
//!
//! fn embeddings(model: &[u8], files: &[Vec<u8>], device: &Device) -> Result<FeatureTable, Box<dyn Error>> {
//!     let Checkpoint { metadata, encoder, .. } = Checkpoint::from_bytes(model, device)?;
//!     let (side, channels) = (metadata.input_size, metadata.encoder.channels);
//!     let pictures = |range: Range<usize>| -> Result<Tensor<4>, Box<dyn Error>> {
//!         let mut pixels = Vec::new();
//!         for file in &files[range] {
//!             pixels.extend(metadata.fitted(&picture::decode(file)?)?.pixels);
//!         }
//!         let images = Images::new(side, side, channels, pixels)?;
//!         Ok(metadata.normalisation().apply(images.to_tensor(device))?)
//!     };
//!     read_sync(embed(&encoder, files.len(), 64, pictures))    // in a page: `.await`
//! }
//! # use simile_core::nn::{EncoderConfig, checkpoint::Metadata};
//! # use simile_core::train::{Purpose, stream};
//! # fn check() -> Result<(), Box<dyn Error>> {
//! #     let (device, config) = (Device::flex(), EncoderConfig::default());
//! #     let encoder = config.init(&device, &mut stream(0, Purpose::Initialisation, 0))?;
//! #     let metadata = Metadata::new(config, vec![0.5; 3], vec![0.25; 3]);
//! #     let model = read_sync(Checkpoint { metadata, encoder, head: None }.to_bytes())?;
//! #     let file = picture::to_jpeg(&image::RgbImage::new(40, 36), 90)?;
//! #     assert_eq!(embeddings(&model, &vec![file; 65], &device)?.values().len(), 65 * 84);
//! #     Ok(())
//! # }
//! # check().unwrap();
//! # }
//! ```

mod archive;
mod error;
mod likely;
mod weights;

use std::collections::BTreeMap;

use burn::module::Module as _;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use archive::HostTensor;
use archive::check_same_tensors;
pub(crate) use archive::{Archive, Flat, STATE_KEY, flattened, metadata};
pub use error::{CheckpointError, Result};
pub use weights::{ImportedEncoder, Weights};

use crate::augment::Normalisation;
use crate::augment::preprocess::{fit_middle, fit_whole};
use crate::data::{DatasetError, Images};
use crate::nn::head::{HeadConfig, ProjectionHead};
use crate::nn::initial::Zeros;
use crate::nn::{Encoder, EncoderConfig};

/// The tensors of a file by name, those of the head too, for programs that write them in another format.
///
/// # Errors
/// The file is not one of float tensors.
pub fn tensors(bytes: &[u8]) -> Result<BTreeMap<String, HostTensor>> {
    Ok(Archive::parse(bytes)?.tensors)
}

/// The version that this program writes.
pub const FORMAT_VERSION: u32 = 1;

const KEY: &str = "simile";
const HEAD: &str = "head";
/// Largest side of an image; a limit, because the header determines how much memory is allocated.
const LARGEST: usize = 8192;

/// The metadata of the network in the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Version of the format, [`FORMAT_VERSION`].
    pub version: u32,
    /// Name and settings of the encoder.
    pub encoder: EncoderConfig,
    /// Side of the square input in pixels.
    pub input_size: usize,
    /// Side that an image is resized to before the crop of its middle `input_size`; absent if nothing is cropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resize: Option<usize>,
    /// Mean of each channel, subtracted from pixels in 0 to 1.
    pub mean: Vec<f64>,
    /// Standard deviation of each channel, the divisor of pixels.
    pub std: Vec<f64>,
    /// Number of features of the embedding.
    pub embedding_size: usize,
    /// Settings of the projection head, if the file contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<HeadConfig>,
    /// The recipe of the network; null if it was imported.
    #[serde(default)]
    pub recipe: Value,
    /// The variant of the recipe that was trained, if there is a recipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The program that made the file, such as `simile 0.1.0`. No date stands beside it: the same run gives the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// This program, as files name it.
const PROGRAM: &str = concat!("simile ", env!("CARGO_PKG_VERSION"));

impl Metadata {
    /// The metadata of an encoder whose images are normalised by `mean` and `std`.
    pub fn new(encoder: EncoderConfig, mean: Vec<f64>, std: Vec<f64>) -> Self {
        Self {
            version: FORMAT_VERSION,
            input_size: encoder.input_size,
            resize: None,
            embedding_size: encoder.embedding_size(),
            encoder,
            mean,
            std,
            head: None,
            recipe: Value::Null,
            variant: None,
            program: Some(PROGRAM.into()),
        }
    }

    /// True if the network was judged on whole pictures, squeezed into squares (`data.fit = "whole"` or `"crops"` of the recipe),
    /// and not on their middle.
    pub fn sees_whole_pictures(&self) -> bool {
        self.recipe.pointer("/data/fit").is_some_and(|fit| fit == "whole" || fit == "crops")
    }

    /// Side of the squares that the run kept of its pictures, of which it made the images that it was judged on: `data.side` of the
    /// recipe, or the side of these images before their crop.
    pub fn stored_side(&self) -> usize {
        let recipe_side = self.recipe.pointer("/data/side").and_then(Value::as_u64);
        let recipe_side = recipe_side.and_then(|side| usize::try_from(side).ok());
        recipe_side
            .filter(|side| (1..=LARGEST).contains(side))
            .unwrap_or_else(|| self.resize.unwrap_or(self.input_size))
    }

    /// A picture as the network takes it: its middle, or all of it, at the size of its input. It is made of the square that a run
    /// keeps, so that its numbers are those of the run.
    ///
    /// # Errors
    /// As [`fit_middle`].
    pub fn fitted(&self, picture: &Images) -> Result<Images, DatasetError> {
        let fit = if self.sees_whole_pictures() { fit_whole } else { fit_middle };
        let channels = self.encoder.channels;
        let stored = fit(picture, None, self.stored_side(), channels)?;
        fit(&stored, self.resize, self.input_size, channels)
    }

    /// The normalisation of images that the network takes.
    pub fn normalisation(&self) -> Normalisation {
        Normalisation { mean: self.mean.clone(), std: self.std.clone() }
    }

    /// Reads the header of a file, but no tensor.
    ///
    /// # Errors
    /// The header is not one of this format, or contradicts itself.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let document = metadata(bytes, KEY)?;
        let not_read = |e: serde_json::Error| CheckpointError::Metadata {
            key: KEY,
            reason: format!("is not readable: {e}"),
        };
        let version: Version = serde_json::from_str(&document).map_err(not_read)?;
        if version.version != FORMAT_VERSION {
            return Err(CheckpointError::Version { found: version.version, known: FORMAT_VERSION });
        }
        let metadata: Self = serde_json::from_str(&document).map_err(not_read)?;
        metadata.validate()?;
        Ok(metadata)
    }

    /// Checks that the fields agree with each other.
    ///
    /// # Errors
    /// [`CheckpointError::Field`] names the first that does not.
    pub fn validate(&self) -> Result<()> {
        self.encoder
            .validate()
            .map_err(|e| field("encoder", e.to_string(), "settings that the network can have"))?;
        if self.input_size != self.encoder.input_size {
            return Err(field("input_size", self.input_size, self.encoder.input_size));
        }
        if let Some(resize) = self.resize.filter(|resize| !(self.input_size..=LARGEST).contains(resize)) {
            return Err(field("resize", resize, format!("{} to {LARGEST}", self.input_size)));
        }
        if self.embedding_size != self.encoder.embedding_size() {
            return Err(field("embedding_size", self.embedding_size, self.encoder.embedding_size()));
        }
        for (name, values, smallest) in
            [("mean", &self.mean, f64::MIN), ("std", &self.std, f64::MIN_POSITIVE)]
        {
            if values.len() != self.encoder.channels {
                return Err(field(name, format!("{values:?}"), format!("{} numbers", self.encoder.channels)));
            }
            if !values.iter().all(|v| v.is_finite() && *v >= smallest) {
                let expected = if name == "std" { "finite numbers above 0" } else { "finite numbers" };
                return Err(field(name, format!("{values:?}"), expected));
            }
        }
        match &self.head {
            Some(head) => {
                head.validate().map_err(|e| field("head", e.to_string(), "settings that a head can have"))
            }
            None => Ok(()),
        }
    }

    /// Fails if the network has more values than the file: a header of a few bytes can describe a network of
    /// gigabytes.
    fn check_size(&self, numbers: u64) -> Result<()> {
        let head_parameters = self.head.as_ref().map_or(0, |head| head.min_parameters(self.embedding_size));
        let expected = self.encoder.min_parameters() + head_parameters;
        if numbers < expected { Err(CheckpointError::TooFew { found: numbers, expected }) } else { Ok(()) }
    }
}

/// The version is read first, because a later version may have other fields.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn field(name: &str, value: impl ToString, expected: impl ToString) -> CheckpointError {
    CheckpointError::Field { field: name.into(), found: value.to_string(), expected: expected.to_string() }
}

/// A trained encoder, with its projection head if kept.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Settings and origin of the network.
    pub metadata: Metadata,
    /// The network.
    pub encoder: Encoder,
    /// The projection head, if `metadata.head` is present.
    pub head: Option<ProjectionHead>,
}

impl Checkpoint {
    /// The bytes of the file; the same network gives the same bytes.
    ///
    /// Asynchronous because a page cannot wait for its GPU; elsewhere [`read_sync`](burn::tensor::read_sync) waits for the result.
    ///
    /// # Errors
    /// The metadata contradicts itself or the networks, a value is not finite, or the device failed.
    pub async fn to_bytes(&self) -> Result<Vec<u8>> {
        self.metadata.validate()?;
        if self.metadata.head.is_some() != self.head.is_some() {
            return Err(field("head", self.metadata.head.is_some(), self.head.is_some()));
        }
        self.check_tensors()?;
        let mut archive = Archive::default();
        archive.add_module("", &self.encoder).await?;
        if let Some(head) = &self.head {
            archive.add_module(HEAD, head).await?;
        }
        let document = serde_json::to_string(&self.metadata)
            .map_err(|e| CheckpointError::Metadata { key: KEY, reason: format!("cannot be written: {e}") })?;
        archive.into_bytes(KEY, document)
    }

    /// Reads a file and puts the network on a device, ready to evaluate; on an autodiff device, ready to train.
    ///
    /// # Errors
    /// Any fault of the file.
    pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<Self> {
        let metadata = Metadata::from_bytes(bytes)?;
        let mut archive = Archive::parse(bytes)?;
        metadata.check_size(archive.numbers())?;
        let encoder = archive.restore("", blank_encoder(&metadata.encoder, device)?)?;
        let head = match &metadata.head {
            None => None,
            Some(config) => {
                Some(archive.restore(HEAD, blank_head(config, metadata.embedding_size, device)?)?)
            }
        };
        archive.finish()?;
        Ok(Self { metadata, encoder, head })
    }

    /// Fails if the networks are not those of the metadata: the file could not be read.
    fn check_tensors(&self) -> Result<()> {
        let Some(device) = self.encoder.devices().into_iter().next() else { return Ok(()) };
        let Metadata { encoder, head, embedding_size, .. } = &self.metadata;
        check_same_tensors("", &self.encoder, &blank_encoder(encoder, &device)?)?;
        match self.head.as_ref().zip(head.as_ref()) {
            None => Ok(()),
            Some((head, config)) => {
                check_same_tensors(HEAD, head, &blank_head(config, *embedding_size, &device)?)
            }
        }
    }
}

/// A network whose values will be replaced.
fn blank_encoder(config: &EncoderConfig, device: &Device) -> Result<Encoder> {
    config
        .init(device, &mut Zeros)
        .map_err(|e| field("encoder", e.to_string(), "settings that the network can have"))
}

/// A head whose values will be replaced.
fn blank_head(config: &HeadConfig, inputs: usize, device: &Device) -> Result<ProjectionHead> {
    config
        .init(inputs, device, &mut Zeros)
        .map_err(|e| field("head", e.to_string(), "settings that a head can have"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
