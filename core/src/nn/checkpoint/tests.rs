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
    for head in
        [None, Some(HeadConfig::default()), Some(HeadConfig { kind: HeadKind::Mlp, ..HeadConfig::default() })]
    {
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
    let buffers: Vec<Vec<u8>> =
        tensors.iter().map(|(_, _, values)| values.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
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
