//! Named tensors from any program, and the encoder built from them.

use std::collections::{BTreeMap, BTreeSet};

use burn::module::Module;
use burn::tensor::Device;
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use super::archive::{Archive, HostTensor, check_finite, flattened, format};
use super::error::{CheckpointError, Result};
use super::likely::{belongs, likely};
use super::{Checkpoint, Metadata, blank_encoder, field};
use crate::nn::design::Shapes;
use crate::nn::{Architecture, EncoderConfig};

/// PyTorch's counter in each batch norm, which no encoder here needs.
const COUNTER: &str = "num_batches_tracked";

/// Tensors under the names of another program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Weights {
    tensors: BTreeMap<String, HostTensor>,
    /// Tensors that are not floats, with their types.
    others: BTreeMap<String, String>,
    /// Tensors that were brought from another side of images to the encoder's.
    resampled: Vec<String>,
}

/// An encoder from another program's tensors.
#[derive(Debug, Clone)]
pub struct ImportedEncoder {
    /// The encoder, without a head.
    pub checkpoint: Checkpoint,
    /// The prefix of the names of its tensors: `""`, `"state_dict.module."`, ...
    pub prefix: String,
    /// Tensors that the encoder does not use, such as a classifier.
    pub unused: Vec<String>,
    /// Tensors that were learned for images of another side and were resampled, such as the positions of a vision transformer.
    pub resampled: Vec<String>,
}

impl Weights {
    /// The tensors of a safetensors file. Floats of any width become 32-bit floats.
    ///
    /// # Errors
    /// The bytes are not such a file, or an incomplete one.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes).map_err(format)?;
        let mut weights = Self::default();
        for (name, view) in file.iter() {
            match floats(&view) {
                Some(values) => weights.insert(name, view.shape().to_vec(), values)?,
                None => weights.insert_other(name, &format!("{:?}", view.dtype())),
            }
        }
        Ok(weights)
    }

    /// Adds a tensor of floats, in row order.
    ///
    /// # Errors
    /// [`CheckpointError::Shape`] if the number of values does not match the shape.
    pub fn insert(&mut self, name: &str, shape: Vec<usize>, values: Vec<f32>) -> Result<()> {
        let count = shape.iter().try_fold(1_usize, |count, &side| count.checked_mul(side));
        if count != Some(values.len()) {
            return Err(CheckpointError::Shape {
                name: name.into(),
                expected: shape,
                found: vec![values.len()],
            });
        }
        self.tensors.insert(name.into(), HostTensor { shape, values });
        Ok(())
    }

    /// Records a tensor of another type, such as integers, so that errors can name it.
    pub fn insert_other(&mut self, name: &str, kind: &str) {
        self.others.insert(name.into(), kind.into());
    }

    /// Names of the tensors that were learned for images of another side and were resampled.
    pub fn resampled(&self) -> &[String] {
        &self.resampled
    }

    /// Replaces parts of names, where the first part is in one; returns the former names by the new ones.
    fn rename(&mut self, parts: &[(&str, &str)]) -> BTreeMap<String, String> {
        let names = || self.tensors.keys().chain(self.others.keys());
        if !parts.first().is_some_and(|(first, _)| names().any(|name| name.contains(first))) {
            return BTreeMap::new();
        }
        let renamed = |name: &str| {
            parts.iter().fold(name.to_owned(), |name, (theirs, ours)| name.replace(theirs, ours))
        };
        let former = names().map(|name| (renamed(name), name.clone())).collect();
        let (tensors, others) = (std::mem::take(&mut self.tensors), std::mem::take(&mut self.others));
        self.tensors = tensors.into_iter().map(|(name, tensor)| (renamed(&name), tensor)).collect();
        self.others = others.into_iter().map(|(name, kind)| (renamed(&name), kind)).collect();
        former
    }

    /// Brings tensors under `prefix` to the encoder's side of images.
    fn fit(&mut self, prefix: &str, encoder: &EncoderConfig) {
        for (name, tensor) in &mut self.tensors {
            let bare = name.strip_prefix(prefix);
            let fitted = bare.and_then(|bare| encoder.for_side(bare, &tensor.shape, &tensor.values));
            if let Some((shape, values)) = fitted {
                *tensor = HostTensor { shape, values };
                self.resampled.push(name.clone());
            }
        }
    }

    /// Removes tensors whose names begin with `beginning`, and returns their names.
    pub fn leave_out(&mut self, beginning: &str) -> Vec<String> {
        let all = self.tensors.keys().chain(self.others.keys());
        let names: Vec<String> = all.filter(|name| name.starts_with(beginning)).cloned().collect();
        for name in &names {
            self.tensors.remove(name);
            self.others.remove(name);
        }
        names
    }

    /// The encoder that `metadata` describes, from the tensors whose names begin with `prefix`. Without a prefix it
    /// is searched: the plain names if all are present, else the only prefix with all of them. The dot at the end of
    /// a prefix may be left out. Errors and lists have the names of the file.
    ///
    /// # Errors
    /// A tensor is missing, has another shape, or is not of finite floats; no name begins with the prefix; the encoder
    /// is present under several prefixes; tensors of the network are left over, so that it is another network
    /// ([`CheckpointError::LeftOver`]); or the metadata contradicts itself.
    pub fn into_encoder(
        mut self,
        metadata: Metadata,
        prefix: Option<&str>,
        device: &Device,
    ) -> Result<ImportedEncoder> {
        metadata.validate()?;
        if metadata.head.is_some() {
            return Err(field("head", "given", "none, an imported file has no projection head"));
        }
        let parts = metadata.encoder.name.also_named();
        let former = self.rename(parts);
        if former.is_empty() {
            return self.assembled(metadata, prefix, device);
        }
        let name_in_file = |name: String| {
            // A tensor that is missing has no former name.
            former
                .get(&name)
                .cloned()
                .unwrap_or_else(|| parts.iter().fold(name, |name, (theirs, ours)| name.replace(ours, theirs)))
        };
        let mut imported =
            self.assembled(metadata, prefix, device).map_err(|error| error.renamed(name_in_file))?;
        for names in [&mut imported.unused, &mut imported.resampled] {
            *names = std::mem::take(names).into_iter().map(&name_in_file).collect();
        }
        Ok(imported)
    }

    /// [`into_encoder`](Self::into_encoder), with the names of the encoder.
    fn assembled(
        mut self,
        metadata: Metadata,
        prefix: Option<&str>,
        device: &Device,
    ) -> Result<ImportedEncoder> {
        let blank = blank_encoder(&metadata.encoder, device)?;
        let expected: Vec<String> = flattened("", &blank).into_iter().map(|tensor| tensor.name).collect();
        let prefix = match prefix {
            Some(prefix) => self.dotted(prefix, &expected)?,
            None => self.prefix(&expected)?,
        };
        self.check_whole(&prefix, &expected, metadata.encoder.name)?;
        self.fit(&prefix, &metadata.encoder);
        let mut archive = Archive::default();
        for name in &expected {
            let theirs = format!("{prefix}{name}");
            match (self.tensors.remove(&theirs), self.others.remove(&theirs)) {
                (Some(tensor), _) => {
                    check_finite(&theirs, &tensor.values)?;
                    archive.tensors.insert(name.clone(), tensor);
                }
                (None, Some(found)) => return Err(CheckpointError::ElementType { name: theirs, found }),
                (None, None) => return Err(CheckpointError::MissingTensor { name: theirs }),
            }
        }
        let encoder =
            archive.restore("", blank).map_err(|error| error.renamed(|name| format!("{prefix}{name}")))?;
        let remaining: BTreeSet<String> = self.tensors.into_keys().chain(self.others.into_keys()).collect();
        let unused = remaining.into_iter().filter(|name| !name.ends_with(COUNTER)).collect();
        let checkpoint = Checkpoint { metadata, encoder, head: None };
        Ok(ImportedEncoder { checkpoint, prefix, unused, resampled: self.resampled })
    }

    /// Fails if all tensors of the encoder are present together with further tensors of the network, as in a deeper
    /// network that starts with the same blocks. A head behind the encoder, or another copy of it, is allowed.
    fn check_whole(&self, prefix: &str, expected: &[String], encoder: Architecture) -> Result<()> {
        let network_tensors =
            || self.tensors.iter().filter_map(|(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)));
        let encoder_names: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
        if !encoder_names.iter().all(|name| self.tensors.contains_key(&format!("{prefix}{name}"))) {
            return Ok(());
        }
        let shapes: Shapes<'_> =
            network_tensors().map(|(name, tensor)| (name, tensor.shape.as_slice())).collect();
        let further = shapes.keys().filter(|name| !encoder_names.contains(*name) && !name.ends_with(COUNTER));
        let further = further.filter(|name| belongs(name, expected, &shapes));
        let names: Vec<String> = further.map(|name| format!("{prefix}{name}")).collect();
        if names.is_empty() {
            return Ok(());
        }
        let same = format!("`{}`", encoder.name());
        let likely = likely(&shapes).filter(|hint| !hint.contains(&same));
        let likely = likely.unwrap_or_else(|| "this is the file of another network".into());
        Err(CheckpointError::LeftOver { names, likely })
    }

    /// The tensors of an encoder in a checkpoint of this program, as initial weights of another; head and image
    /// size may differ, and a setting may be written in one of the two and left to its default in the other.
    ///
    /// # Errors
    /// The file cannot be read, or contains an encoder with other layers than `encoder`.
    pub fn from_encoder_file(bytes: &[u8], encoder: &EncoderConfig) -> Result<(Self, Metadata)> {
        let metadata = Metadata::from_bytes(bytes)?;
        let theirs = EncoderConfig { input_size: encoder.input_size, ..metadata.encoder.clone() };
        if !theirs.has_layers_of(encoder) {
            let written = |config: &EncoderConfig| serde_json::to_string(config).unwrap_or_default();
            return Err(field("encoder", written(&metadata.encoder), written(encoder)));
        }
        let mut weights = Self::from_safetensors(bytes)?;
        weights.fit("", encoder);
        Ok((weights, metadata))
    }

    /// The module with its tensors replaced by those of the same names, none of which may be missing.
    pub(crate) fn put_into<M: Module>(&self, module: M) -> Result<M> {
        Archive { tensors: self.tensors.clone() }.restore("", module)
    }

    /// A prefix as it was given, or with the dot that it lacks at its end.
    fn dotted(&self, prefix: &str, expected: &[String]) -> Result<String> {
        let has =
            |start: &str| self.tensors.keys().chain(self.others.keys()).any(|name| name.starts_with(start));
        let dotted = format!("{prefix}.");
        if prefix.is_empty() || expected.iter().any(|name| has(&format!("{prefix}{name}"))) {
            Ok(prefix.into())
        } else if has(&dotted) {
            Ok(dotted)
        } else if has(prefix) {
            Ok(prefix.into())
        } else {
            Err(CheckpointError::NoPrefix { prefix: prefix.into() })
        }
    }

    /// The prefix of the tensors `expected`; if no prefix has all of them, the one with most, so that the error
    /// names the first missing tensor in full.
    fn prefix(&self, expected: &[String]) -> Result<String> {
        let names: BTreeSet<&str> =
            self.tensors.keys().chain(self.others.keys()).map(String::as_str).collect();
        // Of any expected tensor, because the first one may be missing.
        let before = |name: &&str| {
            let prefixes = expected.iter().filter_map(|ending| name.strip_suffix(ending.as_str()));
            let modules = prefixes.filter(|prefix| prefix.is_empty() || prefix.ends_with('.'));
            modules.map(str::to_owned).collect::<Vec<_>>()
        };
        let count_with = |prefix: &str| {
            expected.iter().filter(|name| names.contains(format!("{prefix}{name}").as_str())).count()
        };
        let mut best: (usize, Vec<String>) = (0, vec![]);
        for prefix in names.iter().flat_map(before).collect::<BTreeSet<_>>() {
            let count = count_with(&prefix);
            if prefix.is_empty() && count == expected.len() {
                return Ok(prefix);
            }
            match count.cmp(&best.0) {
                std::cmp::Ordering::Greater => best = (count, vec![prefix]),
                std::cmp::Ordering::Equal => best.1.push(prefix),
                std::cmp::Ordering::Less => {}
            }
        }
        match best {
            (count, prefixes) if count == expected.len() && prefixes.len() > 1 => {
                Err(CheckpointError::Ambiguous { prefixes })
            }
            (_, prefixes) => Ok(prefixes.into_iter().next().unwrap_or_default()),
        }
    }
}

/// The values of a tensor of floats of any width.
fn floats(view: &TensorView<'_>) -> Option<Vec<f32>> {
    let bytes = view.data();
    Some(match view.dtype() {
        Dtype::F32 => bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect(),
        Dtype::F64 => bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes) as f32).collect(),
        Dtype::F16 => bytes.as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect(),
        Dtype::BF16 => bytes.as_chunks().0.iter().map(|&bytes| bf16::from_le_bytes(bytes).to_f32()).collect(),
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use safetensors::tensor::TensorView;

    use super::*;
    use crate::nn::resnet::Stem;

    fn metadata() -> Metadata {
        Metadata::new(EncoderConfig::default(), vec![0.0; 3], vec![1.0; 3])
    }

    /// Adds the tensors of a LeNet-5 filled with `value`, under a prefix.
    fn add(weights: &mut Weights, prefix: &str, value: f32) {
        let blank = blank_encoder(&EncoderConfig::default(), &Device::flex()).unwrap();
        for tensor in flattened("", &blank) {
            let count = tensor.shape.iter().product();
            weights.insert(&format!("{prefix}{}", tensor.name), tensor.shape, vec![value; count]).unwrap();
        }
    }

    fn read(weights: Weights, prefix: Option<&str>) -> Result<ImportedEncoder> {
        weights.into_encoder(metadata(), prefix, &Device::flex())
    }

    #[test]
    fn tensors_are_found_behind_what_wraps_them() {
        for prefix in ["", "module.", "state_dict.module.encoder."] {
            let mut weights = Weights::default();
            add(&mut weights, prefix, 0.5);
            weights.insert("head.weight", vec![2], vec![1.0, 2.0]).unwrap();
            weights.insert_other("bn1.num_batches_tracked", "Long");
            weights.insert_other("state_dict.epoch", "Long");
            let imported = read(weights, None).unwrap();
            assert_eq!(imported.prefix, prefix);
            assert_eq!(imported.unused, ["head.weight", "state_dict.epoch"]);
        }
    }

    #[test]
    fn of_two_encoders_one_has_to_be_named() {
        let mut weights = Weights::default();
        add(&mut weights, "encoder_k.", 0.25);
        add(&mut weights, "encoder_q.", 0.5);
        let error = read(weights.clone(), None).unwrap_err();
        assert!(error.to_string().contains("`encoder_k.` and `encoder_q.`"), "{error}");
        let imported = read(weights.clone(), Some("encoder_q.")).unwrap();
        let values = flattened("", &imported.checkpoint.encoder)[0].values.clone();
        assert_eq!(values.max().into_scalar::<f32>(), 0.5);
        // Plain names are the encoder itself, regardless of other tensors.
        add(&mut weights, "", 0.75);
        assert_eq!(read(weights, None).unwrap().prefix, "");
    }

    #[test]
    fn a_prefix_may_lack_its_dot_and_has_to_be_that_of_a_tensor() {
        let mut weights = Weights::default();
        add(&mut weights, "module.encoder_k.", 0.25);
        add(&mut weights, "module.encoder_q.", 0.5);
        for given in ["module.encoder_q", "module.encoder_q."] {
            assert_eq!(read(weights.clone(), Some(given)).unwrap().prefix, "module.encoder_q.");
        }
        let unknown = CheckpointError::NoPrefix { prefix: "encoder_q".into() };
        assert_eq!(read(weights, Some("encoder_q")).unwrap_err(), unknown);
        // Not all names have a dot there.
        let mut weights = Weights::default();
        add(&mut weights, "net_", 0.5);
        assert_eq!(read(weights, Some("net_")).unwrap().prefix, "net_");
    }

    /// Their names are those of the file, which `leave_out` takes too.
    #[test]
    fn tensors_of_torchvisions_transformers_are_named_as_in_their_file() {
        let config = EncoderConfig { name: Architecture::VitS16, input_size: 16, ..EncoderConfig::default() };
        let block = "module.encoder.layers.encoder_layer_3";
        let message = |weights: Weights| {
            let metadata = Metadata::new(config.clone(), vec![0.5; 3], vec![0.5; 3]);
            weights.into_encoder(metadata, None, &Device::flex()).unwrap_err().to_string()
        };
        let mut weights = Weights::default();
        weights.insert(&format!("{block}.ln_1.weight"), vec![384], vec![1.0; 384]).unwrap();
        let text = message(weights.clone());
        assert!(text.contains("`module.class_token` is missing"), "{text}");
        weights.insert_other("module.class_token", "Long");
        let text = message(weights);
        assert!(text.contains("`module.class_token` holds Long"), "{text}");

        let mut weights = Weights::default();
        for tensor in flattened("", &blank_encoder(&config, &Device::flex()).unwrap()) {
            let parts = config.name.also_named().iter();
            let name = parts.fold(tensor.name, |name, (theirs, ours)| name.replace(ours, theirs));
            let values = vec![0.5; tensor.shape.iter().product()];
            weights.insert(&format!("module.{name}"), tensor.shape, values).unwrap();
        }
        let gate = format!("{block}.gate.weight");
        weights.insert(&gate, vec![1], vec![1.0]).unwrap();
        let text = message(weights.clone());
        assert!(text.contains(&format!("`{gate}`")), "{text}");
        assert_eq!(weights.leave_out(&gate), std::slice::from_ref(&gate));
        weights.insert(&format!("{block}.mlp.3.bias"), vec![3], vec![1.0; 3]).unwrap();
        let text = message(weights);
        assert!(text.contains(&format!("`{block}.mlp.3.bias` has shape")), "{text}");
    }

    /// `layer1.0.conv1.weight` ends as the first tensor does, but `layer1.0.` is no prefix of the others.
    #[test]
    fn a_missing_first_tensor_is_named_in_full() {
        let config = EncoderConfig { name: Architecture::ResNet18, ..EncoderConfig::default() };
        let blank = flattened("", &blank_encoder(&config, &Device::flex()).unwrap());
        for prefix in ["", "model."] {
            let mut weights = Weights::default();
            for tensor in blank.iter().filter(|tensor| tensor.name != "conv1.weight") {
                let values = vec![0.5; tensor.shape.iter().product()];
                weights.insert(&format!("{prefix}{}", tensor.name), tensor.shape.clone(), values).unwrap();
            }
            let metadata = Metadata::new(config.clone(), vec![0.0; 3], vec![1.0; 3]);
            let text = weights.into_encoder(metadata, None, &Device::flex()).unwrap_err().to_string();
            assert!(text.contains(&format!("`{prefix}conv1.weight`")), "{text}");
        }
    }

    /// A deeper network of the same kind has all tensors of the shallower one, but computes other features.
    #[test]
    fn the_first_blocks_of_a_deeper_network_are_refused() {
        let config = EncoderConfig { name: Architecture::ResNet18, ..EncoderConfig::default() };
        let blank = flattened("", &blank_encoder(&config, &Device::flex()).unwrap());
        let mut weights = Weights::default();
        let mut add = |name: String, shape: &[usize]| {
            let values = vec![0.5; shape.iter().product()];
            weights.insert(&format!("module.{name}"), shape.to_vec(), values).unwrap();
        };
        for tensor in &blank {
            // ResNet-34: blocks 2, 2..4, 2..6 and 2 of the stages equal their second blocks.
            if let Some((stage, rest)) = tensor.name.split_once(".1.") {
                let more = match stage {
                    "layer1" | "layer4" => 2..3,
                    "layer2" => 2..4,
                    "layer3" => 2..6,
                    _ => 0..0,
                };
                more.for_each(|block| add(format!("{stage}.{block}.{rest}"), &tensor.shape));
            }
            add(tensor.name.clone(), &tensor.shape);
        }
        add("fc.weight".into(), &[10, 512]);
        let metadata = Metadata::new(config, vec![0.0; 3], vec![1.0; 3]);
        let read = |weights: &Weights| weights.clone().into_encoder(metadata.clone(), None, &Device::flex());
        let text = read(&weights).unwrap_err().to_string();
        assert!(text.contains("`module.layer1.2.bn1.bias`") && text.contains("`resnet34`"), "{text}");
        assert!(!text.contains("fc.weight"), "{text}");
        // It is allowed to leave them out explicitly.
        for stage in 1..=4 {
            for block in 2..6 {
                weights.leave_out(&format!("module.layer{stage}.{block}."));
            }
        }
        assert_eq!(read(&weights).unwrap().unused, ["module.fc.weight"]);
    }

    #[test]
    fn settings_of_initial_weights_may_have_a_default_written_or_left_out() {
        let residual = |stem, output| EncoderConfig {
            name: Architecture::ResNet18,
            stem,
            width: Some(8),
            output,
            ..EncoderConfig::default()
        };
        let metadata = Metadata::new(residual(None, None), vec![0.0; 3], vec![1.0; 3]);
        let encoder = blank_encoder(&metadata.encoder, &Device::flex()).unwrap();
        let file = pollster::block_on(Checkpoint { metadata, encoder, head: None }.to_bytes()).unwrap();
        let read = |encoder: &EncoderConfig| Weights::from_encoder_file(&file, encoder).map(drop);
        assert_eq!(read(&residual(Some(Stem::Imagenet), None)), Ok(()));
        for other in [residual(Some(Stem::Cifar), None), residual(None, Some(64))] {
            let error = read(&other).unwrap_err();
            assert!(matches!(error, CheckpointError::Field { .. }), "{error}");
        }
        let width = |width| EncoderConfig { width, output: Some(16), ..residual(None, None) };
        assert!(width(None).has_layers_of(&width(Some(64))));
        assert!(!width(Some(64)).has_layers_of(&width(Some(32))));
        let coded = |output| EncoderConfig { name: Architecture::Vae, output, ..EncoderConfig::default() };
        assert!(coded(None).has_layers_of(&coded(Some(128))));
        assert!(!coded(None).has_layers_of(&coded(Some(64))));
    }

    #[test]
    fn what_is_missing_is_named_in_full() {
        let mut weights = Weights::default();
        add(&mut weights, "module.", 0.5);
        weights.tensors.remove("module.fc.bias");
        let missing = CheckpointError::MissingTensor { name: "module.fc.bias".into() };
        assert_eq!(read(weights.clone(), None).unwrap_err(), missing);
        weights.insert_other("module.fc.bias", "Long");
        assert!(matches!(read(weights.clone(), None), Err(CheckpointError::ElementType { .. })));
        weights.insert("module.fc.bias", vec![84], vec![f32::NAN; 84]).unwrap();
        let error = read(weights.clone(), None).unwrap_err();
        assert!(error.to_string().ends_with("holds NaN at position 0; the network did not train"), "{error}");
        // A double may be too large, which is no fault of the training.
        weights.insert("module.fc.bias", vec![84], vec![1e300_f64 as f32; 84]).unwrap();
        let error = read(weights, None).unwrap_err().to_string();
        assert!(error.contains("holds inf") && error.contains("too large for 32-bit floats"), "{error}");
        let nothing = CheckpointError::MissingTensor { name: "conv1.weight".into() };
        assert_eq!(read(Weights::default(), None).unwrap_err(), nothing);
        assert!(Weights::default().insert("a", vec![usize::MAX, 2], vec![]).is_err());
    }

    #[test]
    fn floats_of_every_width_are_read() {
        let half = f16::from_f32(-1.5).to_le_bytes();
        let brain = bf16::from_f32(2.0).to_le_bytes();
        let double = 0.125_f64.to_le_bytes();
        let whole = 3_i64.to_le_bytes();
        let view = |kind, bytes| TensorView::new(kind, vec![1], bytes).unwrap();
        let tensors = [
            ("a", view(Dtype::F16, &half)),
            ("b", view(Dtype::BF16, &brain)),
            ("c", view(Dtype::F64, &double)),
            ("d", view(Dtype::I64, &whole)),
        ];
        let weights = Weights::from_safetensors(&safetensors::serialize(tensors, None).unwrap()).unwrap();
        let values: Vec<f32> = weights.tensors.values().map(|tensor| tensor.values[0]).collect();
        assert_eq!(values, [-1.5, 2.0, 0.125]);
        assert_eq!(weights.others["d"], "I64");
    }
}
