//! Networks: checkpoints of ours, and files of PyTorch.

use burn::tensor::Device;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use simile_core::data::formats::features::ListedFeatures;
use simile_core::data::formats::lines::Text;
use simile_core::nn::checkpoint::{Checkpoint, Metadata, Weights};
use simile_core::nn::head::{HeadConfig, HeadKind};
use simile_core::nn::{Architecture, EncoderConfig};

use super::super::repair;
use super::{Target, said};
use crate::export::pytorch;
use crate::import::torch::{self, hostile};

pub(super) fn targets() -> Vec<Target> {
    vec![
        Target { seeds: checkpoint_seeds, ..Target::new("safetensors", HEADER, run_safetensors) },
        Target {
            hostile: || hostile::all().into_iter().map(|(_, bytes)| bytes).collect(),
            ..Target::new("torch", PICKLE, run_torch)
        },
        Target::new("pickle", PICKLE, |bytes| run_torch(&around(bytes))),
    ]
}

const HEADER: &[&[u8]] = &[
    b"\"dtype\":\"F32\"",
    b"\"dtype\":\"F64\"",
    b"\"dtype\":\"F4\"",
    b"\"dtype\":\"BOOL\"",
    b"\"shape\":[",
    b"\"data_offsets\":[0,",
    b"__metadata__",
    b"18446744073709551615",
    b"4294967296,4294967296",
    b"\\\"resnet50\\\"",
    b"\\\"vae\\\"",
    b"\\\"mlp\\\"",
    b"\\\"dcgan\\\"",
    b"\\\"output\\\":65536",
    b"\\\"resize\\\":8192",
    b"\\\"channels\\\":64",
    b"\\\"input_size\\\":256",
    b"\\\"head\\\":{\\\"hidden\\\":65536,\\\"output\\\":65536}",
];

/// The smallest encoder, with a head and without.
fn checkpoint_seeds() -> Vec<Vec<u8>> {
    let device = Device::flex();
    let checkpoint = |head: Option<HeadConfig>| {
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        let config =
            EncoderConfig { name: Architecture::SimpleConv1x1, channels: 1, ..EncoderConfig::default() };
        let mut metadata = Metadata::new(config.clone(), vec![0.5], vec![0.5]);
        metadata.head = head.clone();
        let head = head.map(|head| head.init(metadata.embedding_size, &device, &mut draw).unwrap());
        let checkpoint = Checkpoint { encoder: config.init(&device, &mut draw).unwrap(), head, metadata };
        pollster::block_on(checkpoint.to_bytes()).unwrap()
    };
    vec![checkpoint(None), checkpoint(Some(HeadConfig { kind: HeadKind::Linear, hidden: None, output: 2 }))]
}

fn run_safetensors(bytes: &[u8]) {
    let device = Device::flex();
    if let Some(metadata) = said(Metadata::from_bytes(bytes)) {
        said(pytorch::source(&metadata));
    }
    if let Some(checkpoint) = said(Checkpoint::from_bytes(bytes, &device)) {
        said(pollster::block_on(checkpoint.to_bytes()));
    }
    if let Some(weights) = said(Weights::from_safetensors(bytes)) {
        into_encoder(weights);
    }
    said(ListedFeatures::parse(bytes, "features", &Text::new("a/b.jpg\nb/c.jpg\n", "paths")));
}

fn into_encoder(weights: Weights) {
    let config = EncoderConfig { name: Architecture::SimpleConv1x1, channels: 1, ..EncoderConfig::default() };
    said(weights.into_encoder(Metadata::new(config, vec![0.5], vec![0.5]), None, &Device::flex()));
}

const PICKLE: &[&[u8]] = &[
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"ctorch._utils\n_rebuild_parameter\n",
    b"ccollections\nOrderedDict\n",
    b"ctorch\nFloatStorage\n",
    b"ctorch\nBFloat16Storage\n",
    b"X\x07\0\0\0storage",
    b"X\xff\xff\xff\xff",
    b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x80\x02",
    b"\x80\x04\x95",
    b"tQ",
    b"tR",
    b"\x85",
    b"\x86",
    b"\x87",
    b"\x93",
    b"\x94",
    b"(",
    b"t",
    b"}",
    b"]",
    b"u",
    b"e",
    b"s",
    b"2",
    b"0",
    b"h\0",
    b"q\0",
    b"K\0",
    b"J\xff\xff\xff\xff",
    b".",
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06",
];

/// A pickle in an archive with as many storages as those of the corpus name.
fn around(pickle: &[u8]) -> Vec<u8> {
    let storages: Vec<(String, Vec<u8>)> =
        (0..10).map(|key| (format!("a/data/{key}"), 1.5_f32.to_le_bytes().repeat(64))).collect();
    let storages = storages.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    let entries = [("a/data.pkl", pickle), ("a/byteorder", b"little".as_slice())];
    repair::zip(&entries.into_iter().chain(storages).collect::<Vec<_>>())
}

fn run_torch(bytes: &[u8]) {
    if let Some(weights) = said(torch::read(bytes)) {
        into_encoder(weights);
    }
}
