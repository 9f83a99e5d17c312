#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor, TensorData};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::foreign::resampled;
use super::{Vit, VitConfig};
use crate::nn::checkpoint::{ImportedEncoder, Metadata, Weights, flattened};
use crate::nn::norm_steps::Flow;
use crate::nn::{Architecture, EncoderConfig, noise};

fn value(name: &str, shape: &[usize]) -> Vec<f32> {
    let scaled = |v: f64| match shape {
        _ if name.contains("norm") && name.ends_with("weight") => 1.0 + 0.2 * v,
        [_, inputs @ ..] if name.ends_with("weight") => {
            v * (6.0 / inputs.iter().product::<usize>() as f64).sqrt()
        }
        _ => 0.5 * v,
    };
    let noise = noise(shape.iter().product(), name.bytes().map(u32::from).sum());
    noise.into_iter().map(|v| scaled(v) as f32).collect()
}

#[derive(Deserialize)]
struct Reference {
    side: usize,
    largest: f64,
    first: Vec<Vec<f64>>,
    sum: Vec<f64>,
    positions: Vec<Positions>,
}

#[derive(Deserialize)]
struct Positions {
    from: usize,
    to: usize,
    values: Vec<f64>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../../../../tests/vectors/vit.json")).unwrap()
}

/// The name of a tensor in torchvision's `vit_b_16`.
fn torchvision_name(name: &str) -> String {
    let Some((block, layer)) = name.strip_prefix("blocks.").and_then(|rest| rest.split_once('.')) else {
        return match name {
            "cls_token" => "class_token".into(),
            "pos_embed" => "encoder.pos_embedding".into(),
            _ => name.replace("patch_embed.proj", "conv_proj").replace("norm.", "encoder.ln."),
        };
    };
    let layer = match layer {
        "attn.qkv.weight" => "self_attention.in_proj_weight".into(),
        "attn.qkv.bias" => "self_attention.in_proj_bias".into(),
        _ => layer
            .replace("attn.proj", "self_attention.out_proj")
            .replace("norm", "ln_")
            .replace("fc1", "0")
            .replace("fc2", "3"),
    };
    format!("encoder.layers.encoder_layer_{block}.{layer}")
}

/// The same tensors under the names of timm, or of torchvision, give timm's features.
#[test]
fn an_imported_network_gives_timms_features() {
    let Reference { side, largest, first, sum, .. } = reference();
    let (device, name) = (Device::flex(), Architecture::VitS16);
    let config = EncoderConfig { name, input_size: side, ..EncoderConfig::default() };
    let blank = config.init(&device, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    let tensors: Vec<(String, Vec<usize>)> =
        flattened("", &blank).into_iter().map(|tensor| (tensor.name, tensor.shape)).collect();
    let pixels: Vec<f32> = noise(2 * 3 * side * side, 0).into_iter().map(|v| v as f32).collect();
    let images = Tensor::<4>::from_data(TensorData::new(pixels, [2, 3, side, side]), &device);
    for theirs in [str::to_owned, torchvision_name] {
        let mut weights = Weights::default();
        for (name, shape) in &tensors {
            weights.insert(&theirs(name), shape.clone(), value(name, shape)).unwrap();
        }
        weights.insert("head.weight", vec![1, 384], vec![0.0; 384]).unwrap();
        let metadata = Metadata::new(config.clone(), vec![0.5; 3], vec![0.5; 3]);
        let ImportedEncoder { checkpoint, unused, resampled, .. } =
            weights.into_encoder(metadata, None, &device).unwrap();
        assert_eq!((unused, resampled), (vec!["head.weight".to_owned()], vec![]));
        let features: Vec<f64> =
            checkpoint.encoder.forward(images.clone()).into_data().iter::<f64>().collect();
        for (row, (first, sum)) in features.chunks_exact(384).zip(first.iter().zip(&sum)) {
            let worst = row.iter().zip(first).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-5 * largest, "{worst} of {largest}");
            assert!((row.iter().sum::<f64>() - sum).abs() < 1e-4 * largest);
        }
    }
}

#[test]
fn positions_of_another_side_are_timms() {
    for Positions { from, to, values } in reference().positions {
        let theirs: Vec<f32> = noise(2 * (1 + from * from), 1).into_iter().map(|v| v as f32).collect();
        let (shape, positions) = resampled(to, "pos_embed", &[1, 1 + from * from, 2], &theirs).unwrap();
        assert_eq!(shape, [1, 1 + to * to, 2]);
        assert_eq!(positions.len(), values.len());
        for (position, expected) in positions.iter().zip(&values) {
            assert!((f64::from(*position) - expected).abs() < 1e-6, "{from} to {to}: {position} {expected}");
        }
        assert_eq!(resampled(from, "pos_embed", &[1, 1 + from * from, 2], &theirs), None);
        assert_eq!(resampled(to, "cls_token", &[1, 1 + from * from, 2], &theirs), None);
        assert_eq!(resampled(to, "pos_embed", &[1, 2 + from * from, 2], &theirs), None);
    }
}

const TINY: VitConfig = VitConfig { side: 32, channels: 2, width: 12, blocks: 2, heads: 3 };

/// Adds a wave to every parameter, so that no gain, shift or softmax is near its start.
struct Wave;

impl ModuleMapper for Wave {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, device) = (param.id, param.lazy_device());
        let (shape, values) = (param.val().shape(), param.val().into_data());
        let wave = values.iter::<f32>().zip(0..).map(|(value, i)| value + 0.4 * (1.7 * i as f32).sin());
        let moved = TensorData::new(wave.collect::<Vec<f32>>(), shape);
        param.transform_for_load(Tensor::from_data(moved, (&device, DType::F32)), id)
    }
}

/// Adds a number to one value of a parameter.
struct Nudge {
    id: ParamId,
    at: usize,
    by: f32,
}

impl ModuleMapper for Nudge {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if param.id != self.id {
            return param;
        }
        param.map(|tensor| {
            let (shape, device) = (tensor.shape(), tensor.device());
            let mut values = vec![0.0_f32; shape.num_elements()];
            values[self.at] = self.by;
            tensor + Tensor::from_data(TensorData::new(values, shape), &device)
        })
    }
}

/// The gradient of each parameter.
struct Collect<'a> {
    gradients: &'a GradientsParams,
    values: Vec<(ParamId, Vec<f64>)>,
}

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.gradients.get::<D>(param.id).unwrap();
        self.values.push((param.id, gradient.into_data().iter::<f64>().collect()));
    }
}

fn tiny(device: &Device) -> Vit {
    Vit::new(&TINY, device, &mut ChaCha8Rng::seed_from_u64(3)).map(&mut Wave)
}

fn images(n: usize, device: &Device, dtype: DType) -> Tensor<4> {
    let pixels = noise(n * 2 * 32 * 32, 4);
    Tensor::from_data(TensorData::new(pixels, [n, 2, 32, 32]), (device, dtype))
}

/// A weighted sum of the embeddings.
fn loss(embedding: Tensor<2>) -> Tensor<1> {
    let weights = noise(embedding.shape().num_elements(), 9);
    let options = (&embedding.device(), embedding.dtype());
    (embedding.clone() * Tensor::from_data(TensorData::new(weights, embedding.dims()), options)).sum()
}

/// For each parameter the value with the largest gradient, by central differences in `f64`.
#[test]
fn gradients_are_finite_differences() {
    let device = Device::flex().autodiff();
    let network = tiny(&device);
    let mut gradients = loss(network.forward(images(2, &device, DType::F64))).backward();
    let gradients = GradientsParams::from_module(&mut gradients, &network);
    let mut collect = Collect { gradients: &gradients, values: Vec::new() };
    network.visit(&mut collect);
    assert_eq!(collect.values.len(), 4 + 12 * TINY.blocks + 2);
    let plain = Device::flex();
    let network = network.valid();
    let largest =
        collect.values.iter().flat_map(|(_, gradient)| gradient).fold(0.0_f64, |a, b| a.max(b.abs()));
    for (id, gradient) in collect.values {
        let (at, expected) =
            gradient.iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
        let by = 1.0 / 256.0;
        let moved = |by: f32| -> f64 {
            let network = network.clone().map(&mut Nudge { id, at, by });
            loss(network.forward(images(2, &plain, DType::F64))).into_scalar::<f64>()
        };
        let numeric_gradient = (moved(by) - moved(-by)) / (2.0 * f64::from(by));
        assert!(expected.abs() > 1e-6 * largest, "{at}: {expected}");
        assert!(
            (numeric_gradient - expected).abs() < 1e-3 * expected.abs() + 1e-5 * largest,
            "{at}: {numeric_gradient} {expected}"
        );
    }
}

#[test]
fn segments_are_the_network() {
    let device = Device::flex();
    let network = tiny(&device);
    let images = images(3, &device, DType::F32);
    let steps = network.segments().into_iter().flatten();
    let flow = steps.fold(Flow::from(images.clone()), |flow, step| step.forward(flow, &[None, None]));
    assert_eq!(flow.rows().into_data(), network.forward(images).into_data());
}

/// Half precision keeps statistics in `f32`.
#[test]
fn half_precision_gives_the_features_within_its_own() {
    let device = Device::flex();
    let network = tiny(&device);
    let numbers = |dtype| -> Vec<f64> {
        network.forward(images(2, &device, dtype)).into_data().iter::<f64>().collect()
    };
    let (full, half) = (numbers(DType::F32), numbers(DType::BF16));
    let worst = full.iter().zip(&half).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let largest = full.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    assert!(worst < 0.05 * largest, "{worst} of {largest}");
}

#[test]
fn other_sides_than_multiples_of_sixteen_are_refused() {
    for input_size in [8, 40, 1040] {
        let config = EncoderConfig { name: Architecture::VitB16, input_size, ..EncoderConfig::default() };
        let text = config.validate().unwrap_err().to_string();
        assert!(text.contains("encoder.input_size") && text.contains("multiple of 16"), "{text}");
    }
}
