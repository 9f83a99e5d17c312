//! `simile export --to pytorch`: the same features from the same pictures.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use simile_core::nn::{Architecture, EncoderConfig};
use simile_tests::place;

use crate::support::models::{STORED, encoders, header, set_data, write};
use crate::support::program::{complaint, json, simile, stdout};
use crate::support::python::answer;

/// Embeds the pictures with every module in turn, while it trains, and tries to load into each the weights of the others.
const EMBED: &str = r#"
import importlib.util, json, sys
class File:
    def __fspath__(self):
        return "wide.png"
answer = {}
names = sys.argv[1].split(",")
for name in names:
    spec = importlib.util.spec_from_file_location(name, name + "-pytorch/model.py")
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    encoder = model.Encoder.load()
    refused = 0
    for other in names:
        try:
            model.Encoder.load(other + "-pytorch/weights.safetensors")
        except ValueError:
            refused += 1
    pictures = sys.argv[2].split(",")
    rows = encoder.train().embed(pictures, batch=2)
    try:
        encoder.embed(pictures[0])
        one = ""
    except TypeError as error:
        one = str(error)
    faults = []
    for given, batch in [(File(), 2), (b"wide.png", 2), (pictures, 0), (pictures, -1)]:
        try:
            encoder.embed(given, batch=batch)
            faults.append("")
        except (TypeError, ValueError) as error:
            faults.append(str(error))
    answer[name] = {
        "rows": rows.tolist(),
        "refused": refused,
        "is_training": all(module.training for module in encoder.modules()),
        "none": list(encoder.embed([]).shape),
        "one": one,
        "faults": faults,
    }
print(json.dumps(answer))
"#;

const PICTURES: [&str; 5] = ["wide.png", "clear.png", "grey.png", "key.png", "grey-key.png"];

/// A PNG in which one value is transparent: with a chunk `tRNS` before its pixels.
fn with_transparent(path: &Path, value: &[u8], checksum: [u8; 4]) {
    let bytes = fs::read(path).unwrap();
    let pixels = bytes.windows(4).position(|name| name == b"IDAT").unwrap() - 4;
    let length = (value.len() as u32).to_be_bytes();
    let chunk = [&length[..], b"tRNS", value, &checksum].concat();
    fs::write(path, [&bytes[..pixels], &chunk, &bytes[pixels..]].concat()).unwrap();
}

#[test]
fn an_exported_module_has_the_layers_and_the_features_of_the_encoder() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    image::RgbImage::from_fn(90, 50, |x, y| image::Rgb([(x * 2) as u8, (y * 5) as u8, (x * y) as u8]))
        .save(at("wide.png"))
        .unwrap();
    image::RgbaImage::from_fn(32, 40, |x, y| image::Rgba([200, (x * 8) as u8, 9, (y * 6) as u8]))
        .save(at("clear.png"))
        .unwrap();
    image::GrayImage::from_fn(33, 33, |x, y| image::Luma([(x * y) as u8])).save(at("grey.png")).unwrap();
    let is_key = |x: u32, y: u32| (x / 8 + y / 8).is_multiple_of(2);
    let colour = |x, y| if is_key(x, y) { [60, 60, 9] } else { [(x * 6) as u8, 20, (y * 6) as u8] };
    image::RgbImage::from_fn(40, 32, |x, y| image::Rgb(colour(x, y))).save(at("key.png")).unwrap();
    with_transparent(&at("key.png"), &[0, 60, 0, 60, 0, 9], [94, 218, 246, 70]);
    let grey = |x, y| if is_key(x, y) { 60 } else { (x * 6) as u8 };
    image::GrayImage::from_fn(32, 40, |x, y| image::Luma([grey(x, y)])).save(at("grey-key.png")).unwrap();
    with_transparent(&at("grey-key.png"), &[0, 60], [89, 252, 177, 191]);
    for (name, config, resize) in encoders() {
        let file = format!("{name}.safetensors");
        write(&at(&file), config, resize);
        if name == STORED {
            set_data(&at(&file), json!({ "side": 50 }));
        }
        let answer = json(place.path(), &["export", &file, "--to", "pytorch", "--json"]);
        assert_eq!(answer["files"], json!(["model.py", "weights.safetensors"]));
        assert_eq!(answer["folder"], format!("{name}-pytorch"));
    }
    same_tensors(place.path());
    same_features(place.path());
}

/// Needs Python, and no PyTorch.
fn same_tensors(place: &Path) {
    let Some(python) = simile_tests::python("json") else { return };
    for (name, ..) in encoders() {
        let folder = place.join(format!("{name}-pytorch"));
        let shapes = answer(&python, &folder, include_str!("structure.py"), &[]);
        let (tensors, _) = header(&fs::read(folder.join("weights.safetensors")).unwrap());
        let of_encoder =
            |(name, tensor): (&String, &Value)| Some((name.clone(), tensor.get("shape")?.clone()));
        let expected: Map<String, Value> = tensors
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| !name.starts_with("head."))
            .filter_map(of_encoder)
            .collect();
        assert_eq!(shapes, Value::Object(expected), "{name}");
    }
}

fn same_features(place: &Path) {
    let Some(python) = simile_tests::python("torch, safetensors, numpy, PIL") else { return };
    let names: Vec<String> = encoders().into_iter().map(|(name, ..)| name).collect();
    let answer = answer(&python, place, EMBED, &[&names.join(","), &PICTURES.join(",")]);
    let numbers = |rows: &Value| -> Vec<Vec<f64>> { serde_json::from_value(rows.clone()).unwrap() };
    for name in &names {
        let file = format!("{name}.safetensors");
        let embed = [&["embed", &file, "--json"][..], &PICTURES].concat();
        let (expected, features) =
            (numbers(&json(place, &embed)["vectors"]), numbers(&answer[name.as_str()]["rows"]));
        let largest = expected.concat().iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert!(largest > 1e-3, "{name}: {largest}");
        for (expected, feature) in expected.concat().iter().zip(features.concat()) {
            assert!((expected - feature).abs() < 1e-4 * largest, "{name}: {feature} instead of {expected}");
        }
        let answer = &answer[name.as_str()];
        assert_eq!(answer["refused"], names.len() - 1, "{name}");
        assert_eq!(answer["is_training"], true, "{name}");
        assert_eq!(answer["none"], json!([0, expected[0].len()]), "{name}");
        let one = answer["one"].as_str().unwrap();
        assert!(one.contains("is one picture, expected a list: ['wide.png']"), "{name}: {one}");
        let faults: Vec<String> = serde_json::from_value(answer["faults"].clone()).unwrap();
        let expected = ["is one picture", "is of type bytes", "`batch` is 0,", "`batch` is -1,"];
        for (fault, words) in faults.iter().zip(expected) {
            assert!(fault.contains(words), "{name}: {fault}");
        }
    }
}

/// Loads into a module its own weights with one setting of the preprocessing changed.
const RELOAD: &str = r#"
import json
from model import Encoder
from safetensors import safe_open
from safetensors.torch import load_file, save_file
tensors = load_file("weights.safetensors")
with safe_open("weights.safetensors", framework="pt") as file:
    says = json.loads(file.metadata()["simile"])
answer = {}
for name, change in {
    "mean": {"mean": [0.4, 0.4, 0.5]},
    "std": {"std": [0.3, 0.3, 0.2]},
    "resize": {"resize": None},
    "fit": {"recipe": {"data": {"fit": "whole"}}},
    "side": {"recipe": {"data": {"side": 50}}},
    "nothing": {"recipe": {"data": {"fit": "middle"}}},
}.items():
    save_file(tensors, "changed.safetensors", {"simile": json.dumps(says | change)})
    try:
        Encoder.load("changed.safetensors")
        answer[name] = ""
    except ValueError as error:
        answer[name] = str(error)
print(json.dumps(answer))
"#;

#[test]
fn a_module_refuses_weights_of_another_preprocessing() {
    let Some(python) = simile_tests::python("torch, safetensors") else { return };
    let place = place();
    let config = EncoderConfig { name: Architecture::SimpleConv1x1, ..EncoderConfig::default() };
    write(&place.path().join("a.safetensors"), config, Some(40));
    simile(place.path(), &["export", "a.safetensors", "--to", "pytorch"]).assert().success();
    let folder = place.path().join("a-pytorch");
    let answer = answer(&python, &folder, RELOAD, &[]);
    for name in ["mean", "std", "resize", "fit", "side"] {
        let text = answer[name].as_str().unwrap();
        assert!(text.contains("changed.safetensors") && text.contains(&format!("`{name}`")), "{answer}");
    }
    assert_eq!(answer["nothing"], "");
}

#[test]
fn a_variant_of_a_run_is_exported_by_its_name() {
    let place = place();
    let run = place.path().join("run");
    fs::create_dir(&run).unwrap();
    let recipe = stdout(place.path(), &["recipes", "show", "fair-digits"]);
    fs::write(run.join("recipe.toml"), format!("name = \"run\"\n{recipe}")).unwrap();
    for (file, name) in [
        ("model.safetensors", Architecture::Mlp),
        ("model-fair-cclk.safetensors", Architecture::Mlp),
        ("model-simclr.safetensors", Architecture::SimpleConv1x1),
    ] {
        write(&run.join(file), EncoderConfig { name, ..EncoderConfig::default() }, None);
    }
    let export = ["export", "run", "--to", "onnx", "--json"];
    assert_eq!(json(place.path(), &export)["encoder"]["name"], "mlp");
    let answer = json(place.path(), &[&export[..], &["--variant", "SimCLR"]].concat());
    assert_eq!(
        (&answer["files"], &answer["encoder"]["name"]),
        (&json!(["model-simclr.onnx"]), &json!("simple-conv-1x1"))
    );
    let text = complaint(place.path(), &["export", "run", "--to", "onnx", "--variant", "SimCRL"], 2);
    assert!(text.contains("no variant `SimCRL`") && text.contains("did you mean `SimCLR`?"), "{text}");
    let one = ["export", "run/model.safetensors", "--to", "onnx", "--variant", "SimCLR"];
    assert!(complaint(place.path(), &one, 2).contains("is one model"));
}

#[test]
fn the_code_for_an_exported_file_runs_where_the_command_did() {
    let place = place();
    let config = EncoderConfig { name: Architecture::SimpleConv1x1, ..EncoderConfig::default() };
    fs::create_dir(place.path().join("run")).unwrap();
    write(&place.path().join("run/model.safetensors"), config, None);
    let text = stdout(place.path(), &["export", "run", "--to", "onnx"]);
    assert!(text.contains("onnxruntime.InferenceSession(\"run/model.onnx\")"), "{text}");
}

#[test]
fn nothing_is_exported_over_what_is_there_and_of_no_model() {
    let place = place();
    let config = EncoderConfig { name: Architecture::SimpleConv1x1, ..EncoderConfig::default() };
    write(&place.path().join("a.safetensors"), config, None);
    let export = ["export", "a.safetensors", "--to", "pytorch", "--out", "made/here"];
    simile(place.path(), &export).assert().success();
    let text = complaint(place.path(), &export, 2);
    assert!(text.contains("made/here") && text.contains("--out"), "{text}");
    fs::write(place.path().join("b.safetensors"), b"nothing").unwrap();
    let text = complaint(place.path(), &["export", "b.safetensors", "--to", "pytorch"], 1);
    assert!(text.contains("b.safetensors"), "{text}");
    assert!(!place.path().join("b-pytorch").exists());
    assert!(complaint(place.path(), &["export", "a.safetensors", "--to", "torch"], 2).contains("pytorch"));
}
