//! An encoder as an ONNX file that takes pictures: preprocessing and network in one graph.

mod builder;
mod network;
mod picture;
mod proto;

use anyhow::Result;
use prost::Message as _;
use simile_core::nn::checkpoint::{Metadata, tensors};

use self::builder::{Builder, Side, value};
use self::network::Layers;
use self::proto::{Element, Model, OperatorSet, Property};

/// Name of the input: pictures `[n, height, width, channels]` of bytes.
pub(crate) const INPUT: &str = "pictures";
/// Name of the output: `[n, features]`.
pub(crate) const OUTPUT: &str = "vectors";

/// The operators of ONNX 1.13, the first whose `Resize` has an antialiased filter.
const OPERATORS: i64 = 18;
/// The format of the file of ONNX 1.13.
const FORMAT: i64 = 8;

/// The file for a checkpoint of this metadata and these bytes.
///
/// # Errors
/// The bytes are no checkpoint of such an encoder.
pub(crate) fn file(metadata: &Metadata, checkpoint: &[u8]) -> Result<Vec<u8>> {
    let (encoder, side) = (&metadata.encoder, metadata.input_size);
    let mut graph = Builder::default();
    let images = picture::prepared(&mut graph, INPUT, metadata);
    let tensors = tensors(checkpoint)?;
    let last = Layers { graph: &mut graph, tensors: &tensors }.all(&images, &encoder.operations())?;
    let sides = [Side::Any("n"), Side::Any("height"), Side::Any("width"), Side::Of(encoder.channels)];
    let about = match encoder.channels {
        1 => "grey pictures, 0 to 255",
        _ => "pictures in red, green and blue, 0 to 255",
    };
    let input = value(INPUT, about, Element::Byte, sides);
    let sides = [Side::Any("n"), Side::Of(metadata.embedding_size)];
    let output = value(OUTPUT, "as `simile embed` gives them", Element::Float, sides);
    let name = encoder.name.name();
    let property = |key: &str, value: String| Property { key: key.into(), value };
    let model = Model {
        ir_version: FORMAT,
        producer_name: "simile".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        doc_string: format!("Simile's encoder {name}: pictures to {} features", metadata.embedding_size),
        graph: Some(graph.finish(name, input, &last, output)),
        opset_import: vec![OperatorSet { domain: String::new(), version: OPERATORS }],
        metadata_props: vec![
            property("encoder", serde_json::to_string(encoder)?),
            property("input_size", side.to_string()),
        ],
    };
    Ok(model.encode_to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use burn::tensor::Device;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use simile_core::nn::checkpoint::Checkpoint;
    use simile_core::nn::resnet::Stem;
    use simile_core::nn::{Architecture, EncoderConfig};

    use super::proto::Graph;
    use super::*;

    fn checkpoint(encoder: EncoderConfig, resize: Option<usize>) -> (Metadata, Vec<u8>) {
        let mut metadata = Metadata::new(encoder.clone(), vec![0.5; 3], vec![0.25; 3]);
        metadata.resize = resize;
        let encoder = encoder.init(&Device::flex(), &mut ChaCha8Rng::seed_from_u64(2)).unwrap();
        let checkpoint = Checkpoint { encoder, head: None, metadata: metadata.clone() };
        (metadata, pollster::block_on(checkpoint.to_bytes()).unwrap())
    }

    /// Each input of a node was made before it, and the last node makes the output.
    fn check_order(graph: &Graph) {
        let constants = graph.initializer.iter().map(|tensor| tensor.name.as_str());
        let mut known_names: BTreeSet<&str> = constants.chain([INPUT, ""]).collect();
        assert_eq!(known_names.len(), graph.initializer.len() + 2, "a name is used twice");
        for node in &graph.node {
            for input in &node.input {
                assert!(known_names.contains(input.as_str()), "{} of {}", input, node.name);
            }
            assert!(node.output.iter().all(|output| known_names.insert(output)), "{}", node.name);
        }
        assert_eq!(graph.node.last().unwrap().output, [OUTPUT]);
    }

    #[test]
    fn a_graph_is_whole_and_has_every_tensor_of_its_network() {
        let config = |name| EncoderConfig { name, ..EncoderConfig::default() };
        // The others differ from one of these by the number or the width of their layers.
        let larger = [Architecture::ResNet34, Architecture::ResNet101, Architecture::VitB16];
        let all = Architecture::ALL.iter().filter(|name| !larger.contains(name));
        let all = all.map(|&name| (config(name), None));
        let cifar = EncoderConfig {
            stem: Some(Stem::Cifar),
            width: Some(8),
            output: Some(16),
            ..config(Architecture::ResNet18)
        };
        for (encoder, resize) in all.chain([(cifar, Some(40))]) {
            let name = encoder.name.name();
            let (metadata, bytes) = checkpoint(encoder, resize);
            let model = Model::decode(file(&metadata, &bytes).unwrap().as_slice()).unwrap();
            let graph = model.graph.unwrap();
            check_order(&graph);
            for (tensor, values) in tensors(&bytes).unwrap() {
                // An autoencoder's variance is no part of its features.
                if tensor.starts_with("log_variance") {
                    continue;
                }
                let initializer = graph.initializer.iter().find(|initializer| initializer.name == tensor);
                let initializer =
                    initializer.unwrap_or_else(|| unreachable!("{name}: {tensor} is not in the graph"));
                assert_eq!(
                    initializer.dims,
                    values.shape.iter().map(|&side| side as i64).collect::<Vec<_>>()
                );
                assert!(initializer.raw_data == values.to_le_bytes(), "{name}: {tensor}");
            }
            let kinds: BTreeSet<&str> = graph.node.iter().map(|node| node.op_type.as_str()).collect();
            assert!(kinds.contains("Resize") && kinds.contains("Gemm") | kinds.contains("Conv"), "{name}");
        }
    }

    /// ONNX Runtime is no part of these tests: those of the command line run such a file where it is installed.
    #[test]
    fn pictures_are_resized_by_a_size_for_each_axis() {
        let (mut metadata, bytes) = checkpoint(EncoderConfig::default(), Some(40));
        for recipe in [serde_json::Value::Null, serde_json::json!({ "data": { "fit": "whole" } })] {
            metadata.recipe = recipe;
            let model = Model::decode(file(&metadata, &bytes).unwrap().as_slice()).unwrap();
            let graph = model.graph.unwrap();
            check_order(&graph);
            let of = |output: &str| graph.node.iter().find(|node| node.output == [output]).unwrap();
            let resize = graph.node.iter().find(|node| node.op_type == "Resize").unwrap();
            assert!(resize.attribute.iter().all(|attribute| attribute.name != "axes"));
            let sizes = of(&resize.input[3]);
            assert_eq!((sizes.op_type.as_str(), sizes.input.len()), ("Concat", 2));
            let first = of(&sizes.input[0]);
            assert_eq!((first.op_type.as_str(), &first.input[0]), ("Shape", &resize.input[0]));
            assert_eq!((first.attribute[0].name.as_str(), first.attribute[0].integer), ("end", Some(2)));
            let last = graph.initializer.iter().find(|tensor| tensor.name == sizes.input[1]).unwrap();
            assert_eq!(last.raw_data, [40_i64, 40].map(i64::to_le_bytes).concat());
        }
        metadata.recipe = serde_json::json!({ "data": { "side": 50 } });
        let graph = Model::decode(file(&metadata, &bytes).unwrap().as_slice()).unwrap().graph.unwrap();
        check_order(&graph);
        let resizes = graph.node.iter().filter(|node| node.op_type == "Resize").count();
        assert_eq!(resizes, 2, "to the square that the run kept, and from there");
    }

    #[test]
    fn a_missing_tensor_is_named() {
        let (metadata, _) = checkpoint(EncoderConfig::default(), None);
        let (_, other) = checkpoint(EncoderConfig { name: Architecture::Mlp, ..Default::default() }, None);
        let text = file(&metadata, &other).unwrap_err().to_string();
        assert!(text.contains("lacks the tensor conv1.weight"), "{text}");
    }
}
