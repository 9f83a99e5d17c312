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
//! From a file and pictures to embeddings, which the probes of [`eval`](crate::eval) take; `formats::picture` needs the feature
//! `pictures`:
//!
//! ```
//! # #[cfg(feature = "pictures")] {
//! use std::{error::Error, ops::Range};
//!
//! use burn::tensor::Device;
//! use simile_core::augment::ImageStore;
//! use simile_core::data::formats::picture;
//! use simile_core::data::{ImageSet, Images};
//! use simile_core::nn::checkpoint::Checkpoint;
//! use simile_core::numeric::rows::FeatureTable;
//! use simile_core::train::embed;
//!
//! async fn embeddings(model: &[u8], files: &[Vec<u8>], device: &Device) -> Result<FeatureTable, Box<dyn Error>> {
//!     let Checkpoint { metadata, encoder, .. } = Checkpoint::from_bytes(model, device)?;
//!     let mut pixels = Vec::new();
//!     for file in files {
//!         pixels.extend(metadata.fitted(&picture::decode(file)?)?.pixels);
//!     }
//!     let side = metadata.input_size;
//!     let images = ImageSet::from(Images::new(side, side, metadata.encoder.channels, pixels)?);
//!     let (store, normalisation) = (ImageStore::new(&images, device)?, metadata.normalisation());
//!     let batch = |range: Range<usize>| normalisation.apply(store.batch(&range.collect::<Vec<_>>())?);
//!     Ok(embed(&encoder, store.len(), 256, batch).await?)
//! }
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
        let of_recipe = self.recipe.pointer("/data/side").and_then(Value::as_u64);
        let of_recipe = of_recipe.and_then(|side| usize::try_from(side).ok());
        of_recipe
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
        let of_head = self.head.as_ref().map_or(0, |head| head.min_parameters(self.embedding_size));
        let expected = self.encoder.min_parameters() + of_head;
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
    /// Asynchronous because a page cannot wait for its GPU; on other devices the future is ready at once.
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
mod tests {
    use std::collections::HashMap;

    use burn::tensor::{Tensor, TensorData};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use safetensors::{Dtype, SafeTensors, tensor::TensorView};

    use super::*;
    use crate::augment::preprocess::middle;
    use crate::data::resize::{Interpolation, resize};
    use crate::nn::Architecture;
    use crate::nn::head::HeadKind;

    fn checkpoint(head: Option<HeadConfig>) -> Checkpoint {
        let device = Device::flex();
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let encoder = EncoderConfig::default();
        let mut metadata = Metadata::new(encoder.clone(), vec![0.5; 3], vec![0.25, 0.2, 0.3]);
        metadata.recipe = serde_json::json!({ "name": "colour-mnist", "temperature": 0.1 });
        metadata.head = head.clone();
        let head = head.map(|config| config.init(metadata.embedding_size, &device, &mut rng).unwrap());
        Checkpoint { encoder: encoder.init(&device, &mut rng).unwrap(), head, metadata }
    }

    fn bytes(checkpoint: &Checkpoint) -> Vec<u8> {
        pollster::block_on(checkpoint.to_bytes()).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Checkpoint> {
        Checkpoint::from_bytes(bytes, &Device::flex())
    }

    /// Rewrites a file with changed tensors.
    fn rewritten(
        bytes: &[u8],
        mut change: impl FnMut(&mut Vec<(String, Dtype, Vec<usize>, Vec<u8>)>),
    ) -> Vec<u8> {
        let file = SafeTensors::deserialize(bytes).unwrap();
        let mut tensors: Vec<_> = file
            .iter()
            .map(|(name, view)| (name.to_string(), view.dtype(), view.shape().to_vec(), view.data().to_vec()))
            .collect();
        change(&mut tensors);
        let views: Vec<_> = tensors
            .iter()
            .map(|(name, kind, shape, data)| (name, TensorView::new(*kind, shape.clone(), data).unwrap()))
            .collect();
        let document = metadata(bytes, KEY).unwrap();
        safetensors::serialize(views, Some(HashMap::from([(KEY.to_string(), document)]))).unwrap()
    }

    /// A header may describe a network of seventeen gigabytes.
    #[test]
    fn a_network_that_the_file_cannot_fill_is_not_made() {
        let good = bytes(&checkpoint(None));
        let changes: [(&str, Value); 4] = [
            ("resnet50", serde_json::json!({ "output": 65536 })),
            ("vae", serde_json::json!({ "output": 65536, "input_size": 256 })),
            ("mlp", serde_json::json!({ "channels": 64, "input_size": 256 })),
            ("dcgan", serde_json::json!({ "input_size": 128 })),
        ];
        for (name, change) in changes {
            let large = with_document(&good, |document| {
                document["encoder"]["name"] = name.into();
                for (key, value) in change.as_object().unwrap() {
                    document["encoder"][key] = value.clone();
                }
                let config: EncoderConfig = serde_json::from_value(document["encoder"].clone()).unwrap();
                document["input_size"] = config.input_size.into();
                document["embedding_size"] = config.embedding_size().into();
                for constants in ["mean", "std"] {
                    document[constants] = vec![0.5; config.channels].into();
                }
            });
            let error = read(&large).unwrap_err();
            assert!(matches!(error, CheckpointError::TooFew { .. }), "{name}: {error}");
        }
        let head = with_document(&good, |document| {
            document["head"] = serde_json::json!({ "kind": "mlp", "hidden": 65536, "output": 65536 });
        });
        assert!(matches!(read(&head), Err(CheckpointError::TooFew { .. })));
    }

    fn with_document(bytes: &[u8], edit: impl Fn(&mut Value)) -> Vec<u8> {
        let mut document: Value = serde_json::from_str(&metadata(bytes, KEY).unwrap()).unwrap();
        edit(&mut document);
        let archive = Archive::parse(bytes).unwrap();
        archive.into_bytes(KEY, document.to_string()).unwrap()
    }

    #[test]
    fn a_file_gives_back_the_same_network() {
        for head in [
            None,
            Some(HeadConfig::default()),
            Some(HeadConfig { kind: HeadKind::Mlp, ..HeadConfig::default() }),
        ] {
            let written = checkpoint(head);
            let bytes = bytes(&written);
            let read = read(&bytes).unwrap();
            assert_eq!(read.metadata, written.metadata);
            let pixels: Vec<f32> = (0..3 * 1024).map(|i| (i % 97) as f32 / 97.0).collect();
            let image = Tensor::<4>::from_data(TensorData::new(pixels, [1, 3, 32, 32]), &Device::flex());
            let (before, after) = (written.encoder.forward(image.clone()), read.encoder.forward(image));
            assert_eq!(before.clone().into_data(), after.clone().into_data());
            if let (Some(written), Some(read)) = (&written.head, &read.head) {
                assert_eq!(written.forward(before).into_data(), read.forward(after).into_data());
            }
            assert_eq!(self::bytes(&read), bytes);
        }
    }

    /// Vectors of `simile embed` differed from those of the run by 3 to 5 %, where `data.side` was not the side of the input.
    #[test]
    fn a_picture_is_fitted_by_way_of_the_square_that_the_run_kept() {
        let picture =
            Images::new(90, 120, 3, (0..90 * 120 * 3).map(|at| (at * at % 251) as u8).collect()).unwrap();
        let mut metadata = Metadata::new(EncoderConfig::default(), vec![0.5; 3], vec![0.25; 3]);
        let evaluated = |images: &Images, side| resize(images, side, side, Interpolation::Bilinear).unwrap();
        for is_whole in [false, true] {
            let fit = if is_whole { "whole" } else { "middle" };
            let one = if is_whole { fit_whole } else { fit_middle };
            let with = |data: Value| serde_json::json!({ "data": data });
            metadata.recipe = with(serde_json::json!({ "fit": fit, "side": 50 }));
            let kept = one(&picture, None, 50, 3).unwrap();
            metadata.resize = None;
            assert_eq!(metadata.fitted(&picture).unwrap(), evaluated(&kept, 32));
            assert_ne!(metadata.fitted(&picture).unwrap(), one(&picture, None, 32, 3).unwrap());
            assert_eq!(metadata.fitted(&kept).unwrap(), evaluated(&kept, 32), "so does the square");
            metadata.resize = Some(40);
            assert_eq!(metadata.fitted(&picture).unwrap(), middle(&evaluated(&kept, 40), 32).unwrap());
            // Without `data.side`, or with one that no run has, it is made of the file.
            for side in [Value::Null, 1_000_000.into()] {
                metadata.recipe = with(serde_json::json!({ "fit": fit, "side": side }));
                assert_eq!(metadata.fitted(&picture).unwrap(), one(&picture, Some(40), 32, 3).unwrap());
            }
        }
    }

    #[test]
    fn names_and_shapes_are_pytorchs() {
        let bytes = bytes(&checkpoint(Some(HeadConfig::default())));
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let mut names: Vec<_> = file.iter().map(|(name, view)| (name, view.shape().to_vec())).collect();
        names.sort();
        let expected: [(&str, &[usize]); 16] = [
            ("conv1.bias", &[6]),
            ("conv1.weight", &[6, 3, 5, 5]),
            ("conv2.bias", &[16]),
            ("conv2.weight", &[16, 6, 5, 5]),
            ("conv3.bias", &[120]),
            ("conv3.weight", &[120, 16, 5, 5]),
            ("fc.bias", &[84]),
            ("fc.weight", &[84, 120]),
            ("head.bn1.bias", &[84]),
            ("head.bn1.running_mean", &[84]),
            ("head.bn1.running_var", &[84]),
            ("head.bn1.weight", &[84]),
            ("head.bn2.running_mean", &[128]),
            ("head.bn2.running_var", &[128]),
            ("head.w1.weight", &[84, 84]),
            ("head.w2.weight", &[128, 84]),
        ];
        let names: Vec<_> = names.iter().map(|(name, shape)| (*name, shape.as_slice())).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_cut_file_is_an_error_at_every_length() {
        let bytes = bytes(&checkpoint(None));
        for length in (0..2000).chain((2000..bytes.len()).step_by(997)).chain([bytes.len() - 1]) {
            let error = read(&bytes[..length]).unwrap_err();
            assert!(matches!(error, CheckpointError::Format { .. }), "{length}: {error}");
        }
    }

    #[test]
    fn a_flipped_bit_in_the_header_never_panics() {
        let bytes = bytes(&checkpoint(Some(HeadConfig::default())));
        let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for at in (0..header).step_by(3) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            // Some flips leave a valid file with another meaning, as in a digit of the recipe.
            if let Ok(read) = read(&bytes) {
                read.metadata.validate().unwrap();
            }
        }
    }

    #[test]
    fn each_fault_has_its_own_error() {
        let good = bytes(&checkpoint(None));
        let fault = |bytes: &[u8]| read(bytes).unwrap_err();
        let expect = |bytes: &[u8], expected: CheckpointError| assert_eq!(fault(bytes), expected);

        let missing = rewritten(&good, |tensors| tensors.retain(|(name, ..)| name != "fc.bias"));
        expect(&missing, CheckpointError::MissingTensor { name: "fc.bias".into() });

        let unknown = rewritten(&good, |tensors| {
            tensors.push(("fc2.bias".into(), Dtype::F32, vec![1], vec![0; 4]));
        });
        expect(&unknown, CheckpointError::UnknownTensor { name: "fc2.bias".into() });

        let reshaped = rewritten(&good, |tensors| {
            tensors.iter_mut().filter(|(name, ..)| name == "fc.weight").for_each(|t| t.2 = vec![120, 84]);
        });
        let (expected, found) = (vec![84, 120], vec![120, 84]);
        expect(&reshaped, CheckpointError::Shape { name: "fc.weight".into(), expected, found });

        let typed = rewritten(&good, |tensors| {
            tensors.iter_mut().filter(|(name, ..)| name == "fc.bias").for_each(|t| t.1 = Dtype::I32);
        });
        expect(&typed, CheckpointError::ElementType { name: "fc.bias".into(), found: "I32".into() });

        let infinite = rewritten(&good, |tensors| {
            let inf = f32::INFINITY.to_le_bytes();
            tensors
                .iter_mut()
                .filter(|(name, ..)| name == "fc.bias")
                .for_each(|t| t.3[8..12].copy_from_slice(&inf));
        });
        let (position, value) = (2, f32::INFINITY);
        expect(&infinite, CheckpointError::NotFinite { name: "fc.bias".into(), position, value });

        let foreign = safetensors::serialize(Vec::<(String, TensorView<'_>)>::new(), None).unwrap();
        assert!(matches!(fault(&foreign), CheckpointError::Metadata { .. }));
        let later = with_document(&good, |document| document["version"] = 2.into());
        expect(&later, CheckpointError::Version { found: 2, known: 1 });
        for (key, value) in [
            ("input_size", serde_json::json!(28)),
            ("embedding_size", 128.into()),
            ("resize", 31.into()),
            ("mean", serde_json::json!([0.5])),
            ("std", serde_json::json!([0.5, 0.0, 0.5])),
            ("encoder", serde_json::json!({ "name": "lenet5", "input_size": 1_000_000 })),
            ("encoder", serde_json::json!({ "name": "lenet5", "channels": 1_000_000 })),
            ("head", serde_json::json!({ "output": 1_000_000_000 })),
        ] {
            let bytes = with_document(&good, |document| document[key] = value.clone());
            assert!(fault(&bytes).to_string().contains(&format!("`{key}`")), "{key}: {}", fault(&bytes));
        }
        let unknown = with_document(&good, |document| document["encoder"]["name"] = "resnet9000".into());
        assert!(fault(&unknown).to_string().contains("resnet9000"));
    }

    #[test]
    fn a_network_that_is_not_finite_is_not_written() {
        let mut checkpoint = checkpoint(None);
        checkpoint.encoder = checkpoint.encoder.map(&mut Spoil);
        let error = pollster::block_on(checkpoint.to_bytes()).unwrap_err();
        assert!(matches!(error, CheckpointError::NotFinite { .. }), "{error}");
    }

    /// It was written, and could not be read.
    #[test]
    fn a_network_that_is_not_the_one_of_the_metadata_is_not_written() {
        let of = |config: EncoderConfig, head: Option<HeadConfig>| {
            let channels = config.channels;
            let mut metadata = Metadata::new(config, vec![0.5; channels], vec![0.25; channels]);
            metadata.head = head;
            let written = Checkpoint { metadata, ..checkpoint(Some(HeadConfig::default())) };
            pollster::block_on(written.to_bytes()).map(|_| ())
        };
        let lenet = EncoderConfig::default();
        assert_eq!(of(lenet.clone(), Some(HeadConfig::default())), Ok(()));
        let grey = EncoderConfig { channels: 1, ..lenet.clone() };
        let (expected, found) = (vec![6, 1, 5, 5], vec![6, 3, 5, 5]);
        let error = CheckpointError::Shape { name: "conv1.weight".into(), expected, found };
        assert_eq!(of(grey, Some(HeadConfig::default())), Err(error));
        let mlp = EncoderConfig { name: Architecture::Mlp, ..lenet.clone() };
        let error = of(mlp, Some(HeadConfig::default())).unwrap_err();
        assert!(matches!(error, CheckpointError::MissingTensor { .. }), "{error}");
        let small = HeadConfig { output: 7, ..HeadConfig::default() };
        let error = of(lenet, Some(small)).unwrap_err().to_string();
        assert!(error.contains("`head."), "{error}");
    }

    struct Spoil;

    impl burn::module::ModuleMapper for Spoil {
        fn map_float<const D: usize>(
            &mut self,
            param: burn::module::Param<Tensor<D>>,
        ) -> burn::module::Param<Tensor<D>> {
            param.map(|tensor| tensor / 0.0)
        }
    }

    #[test]
    fn a_foreign_file_is_imported_and_what_is_left_over_is_named() {
        let ours = bytes(&checkpoint(None));
        let archive = Archive::parse(&ours).unwrap();
        let mut tensors: Vec<_> =
            archive.tensors.iter().map(|(n, t)| (n.clone(), t.shape.clone(), t.values.clone())).collect();
        tensors.push(("classifier.weight".into(), vec![2], vec![1.0, 2.0]));
        let buffers: Vec<Vec<u8>> = tensors
            .iter()
            .map(|(_, _, values)| values.iter().flat_map(|v| v.to_le_bytes()).collect())
            .collect();
        let mut views: Vec<_> = tensors
            .iter()
            .zip(&buffers)
            .map(|((name, shape, _), data)| {
                (name.clone(), TensorView::new(Dtype::F32, shape.clone(), data).unwrap())
            })
            .collect();
        let count = 7_i64.to_le_bytes();
        views.push(("bn1.num_batches_tracked".into(), TensorView::new(Dtype::I64, vec![], &count).unwrap()));
        let foreign = safetensors::serialize(views, None).unwrap();

        let metadata = Metadata::new(EncoderConfig::default(), vec![0.0; 3], vec![1.0; 3]);
        let weights = Weights::from_safetensors(&foreign).unwrap();
        let imported = weights.into_encoder(metadata, None, &Device::flex()).unwrap();
        assert_eq!(imported.unused, ["classifier.weight"]);
        let again = Archive::parse(&bytes(&imported.checkpoint)).unwrap();
        assert_eq!(again, archive);
    }
}
