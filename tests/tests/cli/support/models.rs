//! Files of models: written without training, and as another program writes them.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};
use simile_core::nn::checkpoint::{Checkpoint, Metadata};
use simile_core::nn::head::HeadConfig;
use simile_core::nn::resnet::Stem;
use simile_core::nn::{Architecture, EncoderConfig};

/// The header of a safetensors file with the place of each tensor, and the start of the data.
pub(crate) fn header(bytes: &[u8]) -> (Value, usize) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), 8 + length)
}

/// Writes a network with statistics and gains that differ from the initial ones, and with a head, which no export
/// contains.
pub(crate) fn write(path: &Path, config: EncoderConfig, resize: Option<usize>) {
    let device = Device::flex();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let channels = config.channels;
    let mut metadata = Metadata::new(config.clone(), vec![0.4; channels], vec![0.3; channels]);
    (metadata.resize, metadata.head) = (resize, Some(HeadConfig { output: 8, ..HeadConfig::default() }));
    let head = HeadConfig { output: 8, ..HeadConfig::default() };
    let head = head.init(metadata.embedding_size, &device, &mut rng).unwrap();
    let checkpoint =
        Checkpoint { encoder: config.init(&device, &mut rng).unwrap(), head: Some(head), metadata };
    let mut bytes = pollster::block_on(checkpoint.to_bytes()).unwrap();
    let (tensors, start) = header(&bytes);
    for (name, tensor) in tensors.as_object().unwrap() {
        let layer = name.rsplit('.').nth(1).unwrap_or_default();
        let is_norm = layer.starts_with("bn") || name.contains("downsample.1");
        let Some(offsets) = tensor["data_offsets"].as_array().filter(|_| is_norm) else { continue };
        let [from, to] = [0, 1].map(|at| start + offsets[at].as_u64().unwrap() as usize);
        for (at, number) in bytes[from..to].chunks_exact_mut(4).enumerate() {
            let wave = (0.7 * at as f32 + name.len() as f32).sin();
            let value =
                if name.ends_with("var") || name.ends_with("weight") { 1.0 + 0.4 * wave } else { 0.2 * wave };
            number.copy_from_slice(&value.to_le_bytes());
        }
    }
    fs::write(path, bytes).unwrap();
}

/// Writes the data section of a recipe into the file of an encoder.
pub(crate) fn set_data(file: &Path, data: Value) {
    let mut checkpoint = Checkpoint::from_bytes(&fs::read(file).unwrap(), &Device::flex()).unwrap();
    checkpoint.metadata.recipe = json!({ "data": data });
    fs::write(file, pollster::block_on(checkpoint.to_bytes()).unwrap()).unwrap();
}

/// The encoder whose pictures are stored as squares of 50 pixels, of their middle, and resized again.
pub(crate) const STORED: &str = "lenet-stored";

/// Every kind of network, and the options that change the layers of some. Those that are left out differ from one of these by
/// the number or the width of their layers.
pub(crate) fn encoders() -> Vec<(String, EncoderConfig, Option<usize>)> {
    use Architecture::{LeNet5, Mlp, ResNet18, ResNet34, ResNet50, ResNet101, Vae, VitB16};
    let larger = [ResNet34, ResNet101, VitB16];
    let config = |name| EncoderConfig { name, ..EncoderConfig::default() };
    let stem = |name, stem, output| EncoderConfig { stem: Some(stem), output, ..config(name) };
    let wide = |width, config| EncoderConfig { width: Some(width), ..config };
    let changed = [
        ("lenet", config(LeNet5), Some(40)),
        (STORED, config(LeNet5), Some(40)),
        ("lenet-grey", EncoderConfig { channels: 1, ..config(LeNet5) }, None),
        ("resnet18", EncoderConfig { input_size: 64, ..config(ResNet18) }, Some(72)),
        ("resnet18-cifar", stem(ResNet18, Stem::Cifar, None), None),
        ("resnet18-padded", wide(24, stem(ResNet18, Stem::CifarPadded, Some(40))), None),
        ("resnet50", wide(10, stem(ResNet50, Stem::Cifar, None)), None),
        ("mlp", EncoderConfig { input_size: 28, ..config(Mlp) }, Some(31)),
        ("vae", EncoderConfig { input_size: 18, output: Some(10), ..config(Vae) }, None),
    ];
    let is_other = |name: &&Architecture| {
        !larger.contains(name) && changed.iter().all(|(_, other, _)| other.name != **name)
    };
    let others = Architecture::ALL.iter().filter(is_other);
    let others = others.map(|&name| (name.name().to_owned(), config(name), None)).collect::<Vec<_>>();
    let changed = changed.map(|(file, config, resize)| (file.to_owned(), config, resize));
    changed.into_iter().chain(others).collect()
}

/// The tensors of a model as another program writes them: without Simile's metadata.
pub(crate) fn foreign(model: &[u8]) -> Vec<u8> {
    under(model, &[""])
}

/// The tensors of a model under each prefix, without Simile's metadata.
pub(crate) fn under(model: &[u8], prefixes: &[&str]) -> Vec<u8> {
    let (tensors, start) = header(model);
    let numbers = &model[start..];
    let tensors = tensors.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    let mut header = Map::new();
    for (copy, prefix) in prefixes.iter().enumerate() {
        for (name, tensor) in tensors.clone() {
            let offsets: [usize; 2] = serde_json::from_value(tensor["data_offsets"].clone()).unwrap();
            let mut tensor = tensor.clone();
            tensor["data_offsets"] = json!(offsets.map(|offset| offset + copy * numbers.len()));
            header.insert(format!("{prefix}{name}"), tensor);
        }
    }
    let header = Value::Object(header).to_string();
    let numbers = numbers.repeat(prefixes.len());
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), numbers.as_slice()].concat()
}

/// Writes an encoder as another program has it.
pub(crate) fn write_foreign(path: &Path, config: EncoderConfig) {
    write(path, config, None);
    fs::write(path, foreign(&fs::read(path).unwrap())).unwrap();
}
