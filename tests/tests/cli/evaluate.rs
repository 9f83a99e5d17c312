//! Evaluating an encoder: on other data, by objectives, and the images that its protocol names.

use std::fs;

use serde_json::Value;
use simile_tests::data;

use crate::support::models::foreign;
use crate::support::program::{complaint, json, simile, stdout};
use crate::support::recipes::{Edited as _, classifier, place_with};

#[test]
fn an_encoder_is_judged_on_other_data() {
    let place = place_with("mine.toml", &classifier());
    simile(place.path(), &["train", "mine.toml", "--out", "run"]).assert().success();
    let model = fs::read(place.path().join("run/model.safetensors")).unwrap();
    fs::write(place.path().join("theirs.safetensors"), foreign(&model)).unwrap();
    let import = ["import", "theirs.safetensors", "--encoder", "lenet5", "--input-size", "32"];
    simile(place.path(), &[&import[..], &["--out", "m.safetensors"]].concat()).assert().success();
    let text = complaint(place.path(), &["evaluate", "m.safetensors"], 1);
    assert!(text.contains("--on"), "{text}");
    fs::write(
        place.path().join("other.toml"),
        classifier().edited("steps = 5", "solver = \"sgd\"\nsgd = { epochs = 3 }"),
    )
    .unwrap();
    let answer = json(place.path(), &["evaluate", "m.safetensors", "--on", "other.toml", "--json"]);
    assert!(answer["metrics"]["top1"].is_number() && answer["metrics"]["condition_r2"].is_number());
    let protocol = answer["protocol"].as_str().unwrap();
    assert!(protocol.contains("SGD, 3 epochs") && protocol.contains("32 test images"), "{protocol}");
    let palette = ["evaluate", "m.safetensors", "--on", "other.toml", "--condition", "palette", "--json"];
    assert!(json(place.path(), &palette)["metrics"]["condition_top1"].is_number());
    assert!(
        complaint(place.path(), &["evaluate", "m.safetensors", "--on", "cifar-11"], 2).contains("cifar-10")
    );
    // An attribute that is not there is refused before the images are embedded.
    let text = complaint(place.path(), &["evaluate", "run", "--condition", "palete"], 2);
    assert!(text.contains("--condition palete") && text.contains("did you mean `palette`?"), "{text}");
    let text = stdout(place.path(), &["evaluate", "run"]);
    let place_of = |title: &str| text.find(title).ok_or_else(|| format!("no `{title}` in\n{text}")).unwrap();
    assert!(place_of("Top-1 %") < place_of("Leak of colour, R²"), "{text}");
    assert!(place_of("MSE of colour") < place_of("Balanced accuracy %"), "{text}");
}

/// The files of other data would be looked for among those of the run.
#[test]
fn other_data_have_a_folder_of_their_own() {
    let place = place_with("mine.toml", &classifier());
    let mnist = data().display().to_string();
    let train = ["train", "colour-mnist", "--smoke", "--variant", "SimCLR", "--data", &mnist, "--out", "run"];
    simile(place.path(), &train).assert().success();
    let top1 = |rest: &[&str]| {
        json(place.path(), &[&["evaluate", "run", "--json"], rest].concat())["metrics"]["top1"].clone()
    };
    assert!(top1(&[]).is_number(), "its own data are in the folder that it records");
    assert!(top1(&["--on", "mine.toml"]).is_number(), "digits that are drawn need no folder");
    let text = complaint(place.path(), &["evaluate", "run", "--on", "biased-mnist"], 2);
    assert!(text.contains("--data DIR"), "{text}");
}

#[test]
fn objectives_are_measured_on_the_frozen_network() {
    let place = place_with("mine.toml", &classifier());
    let objectives = "probe.objectives=[{ name = \"nt-xent\", temperature = 0.1, batch = 16 }, \
                      { name = \"align-uniform\", of = \"projection\", batch = 16 }]";
    let train = ["train", "mine.toml", "--set", objectives, "--out", "run", "--json"];
    let variant = json(place.path(), &train)["arms"][0].clone();
    let nt_xent = |part: &str| variant["metrics"][format!("nt_xent_{part}")].as_f64().unwrap();
    assert!(nt_xent("train") > 0.0 && nt_xent("test") > 0.0 && nt_xent("train") != nt_xent("test"));
    assert!(variant["metrics"]["align_uniform_test"].is_number());
    assert!(variant["protocol"].as_str().unwrap().contains("nt-xent of the representation"), "{variant}");
    let again = json(place.path(), &["evaluate", "run", "--json"])["metrics"].clone();
    assert_eq!(again["nt_xent_test"], variant["metrics"]["nt_xent_test"]);
    assert!(again["align_uniform_test"].is_null(), "the file holds no head");
    let set = |objective: &str| {
        let setting = format!("probe.objectives=[{objective}]");
        complaint(place.path(), &["train", "mine.toml", "--set", &setting, "--out", "never"], 2)
    };
    assert!(set("{ name = \"nt-xnt\" }").contains("did you mean `nt-xent`?"));
    assert!(set("{ name = \"moco\" }").contains("cannot evaluate `moco` on a frozen network"));
    assert!(set("{ name = \"nt-xent\", temprature = 1.0 }").contains("temprature"));
}

#[test]
fn held_out_images_are_called_so() {
    let place = place_with("mine.toml", &classifier());
    let train = ["train", "mine.toml", "--set", "data.validation=16", "--out", "run", "--json"];
    let protocol = |answer: &Value| answer["protocol"].as_str().unwrap().to_owned();
    let trained = protocol(&json(place.path(), &train)["arms"][0]);
    let evaluated = protocol(&json(place.path(), &["evaluate", "run", "--json"]));
    for protocol in [trained, evaluated] {
        assert!(protocol.contains("16 held-out training images"), "{protocol}");
    }
}
