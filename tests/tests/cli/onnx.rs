//! `simile export --to onnx`: a file that gives the vectors of `simile embed` from the pixels of pictures.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use simile_core::nn::{Architecture, EncoderConfig};
use simile_tests::place;

use crate::support::models::{STORED, encoders, set_data, write};
use crate::support::pictures::picture;
use crate::support::program::{complaint, json, simile};
use crate::support::python::answer;

/// Runs every file on every picture: bytes `[1, height, width, channels]`.
const RUN: &str = r#"
import json, sys
import numpy as np
import onnxruntime
from PIL import Image
answer = {}
for name, pictures in json.loads(sys.argv[1]).items():
    session = onnxruntime.InferenceSession(name + ".onnx", providers=["CPUExecutionProvider"])
    (entry,) = session.get_inputs()
    rows = []
    for picture in pictures:
        pixels = np.asarray(Image.open(picture).convert({1: "L", 3: "RGB"}[entry.shape[3]]))
        pixels = pixels.reshape(*pixels.shape[:2], -1)
        one = session.run(["vectors"], {"pictures": pixels[None]})[0]
        two = session.run(["vectors"], {"pictures": np.stack([pixels, pixels])})[0]
        assert one.shape == (1, two.shape[1]) and np.abs(two - one).max() <= 1e-4 * np.abs(one).max(), name
        rows.append(one[0].tolist())
    answer[name] = rows
print(json.dumps(answer))
"#;

/// Wide, high, small, and of the very size of most inputs. An encoder of grey pictures takes grey ones alone: Pillow rounds a
/// colour to grey before it resizes, and the program after.
fn pictures(place: &Path) -> impl Fn(usize) -> &'static [&'static str] {
    for (name, size) in [("wide.png", [90, 50]), ("high.png", [45, 131]), ("small.png", [17, 19])] {
        picture(&place.join(name), size, |x, y| [(x * 2) as u8, (y * 5) as u8, (x * y) as u8]);
    }
    let grey = |x: u32, y: u32| image::Luma([((x * 7) ^ (y * 3)) as u8]);
    image::GrayImage::from_fn(SAME, SAME, grey).save(place.join("same.png")).unwrap();
    image::GrayImage::from_fn(60, 41, grey).save(place.join("grey.png")).unwrap();
    |channels| if channels == 1 { &PICTURES[3..] } else { &PICTURES }
}

/// The side of `same.png`, which is that of most inputs.
const SAME: u32 = 32;
const PICTURES: [&str; 5] = ["wide.png", "high.png", "small.png", "same.png", "grey.png"];

/// The networks of [`encoders`], and two that see whole pictures.
fn networks() -> Vec<(String, EncoderConfig, Option<usize>)> {
    let lenet = EncoderConfig { name: Architecture::LeNet5, ..EncoderConfig::default() };
    let whole = [("whole", None), ("whole-middle", Some(40))];
    let whole = whole.map(|(name, resize)| (name.to_owned(), lenet.clone(), resize));
    encoders().into_iter().chain(whole).collect()
}

#[test]
fn an_onnx_file_gives_the_vectors_of_the_program() {
    // The contents of a file are tested beside the code that writes it, for all networks.
    let Some(python) = simile_tests::python("onnxruntime, numpy, PIL") else { return };
    let place = place();
    let pictures = pictures(place.path());
    for (name, config, resize) in networks() {
        let file = place.path().join(format!("{name}.safetensors"));
        write(&file, config, resize);
        match name.as_str() {
            "whole" => set_data(&file, json!({ "fit": "whole" })),
            "whole-middle" => set_data(&file, json!({ "fit": "whole", "side": 50 })),
            STORED => set_data(&file, json!({ "side": 50 })),
            _ => {}
        }
        let answer =
            json(place.path(), &["export", &format!("{name}.safetensors"), "--to", "onnx", "--json"]);
        assert_eq!(answer["files"], json!([format!("{name}.onnx")]));
    }
    let jobs: BTreeMap<String, &[&str]> =
        networks().into_iter().map(|(name, config, _)| (name, pictures(config.channels))).collect();
    let whole = |(name, config, resize): (String, EncoderConfig, Option<usize>)| {
        (name, resize.unwrap_or(config.input_size) as u32)
    };
    let sides: BTreeMap<String, u32> = networks().into_iter().map(whole).collect();
    let answer = answer(&python, place.path(), RUN, &[&json!(jobs).to_string()]);
    let numbers = |rows: &Value| -> Vec<Vec<f64>> { serde_json::from_value(rows.clone()).unwrap() };
    for (name, pictures) in jobs {
        let file = format!("{name}.safetensors");
        let embed = [&["embed", &file, "--json"][..], pictures].concat();
        let expected = numbers(&json(place.path(), &embed)["vectors"]);
        let (vectors, side) = (numbers(&answer[name.as_str()]), sides[&name]);
        let largest = expected.concat().iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert!(largest > 1e-3, "{name}: {largest}");
        for ((picture, expected), vector) in pictures.iter().zip(&expected).zip(&vectors) {
            let off = expected.iter().zip(vector).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
            // ONNX Runtime's filter rounds one value in a thousand to the other side: a picture that is resized differs by that.
            let most = if *picture == "same.png" && side == SAME { 1e-4 } else { 5e-3 };
            assert!(off < most * largest, "{name}, {picture}: off by {off} of {largest}");
        }
    }
}

#[test]
fn a_file_that_is_there_is_left() {
    let place = place();
    let (_, config, _) = encoders().swap_remove(0);
    write(&place.path().join("a.safetensors"), config, None);
    let export = ["export", "a.safetensors", "--to", "onnx", "--out", "made.onnx"];
    simile(place.path(), &export).assert().success();
    let text = complaint(place.path(), &export, 2);
    assert!(text.contains("made.onnx is there already") && text.contains("--out"), "{text}");
}
