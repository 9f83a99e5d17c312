//! Training in a page through the package.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};
use simile_tests::program;

use crate::data::evaluate;
use crate::{Where, is_ready, run, succeed, workspace};

#[test]
fn a_run_in_a_page_is_that_of_the_command_line_on_the_cpu() {
    runs_as_the_command_line_does(Where::Cpu);
}

#[test]
fn a_run_in_a_page_is_that_of_the_command_line_on_webgpu() {
    runs_as_the_command_line_does(Where::WebGpu);
}

fn runs_as_the_command_line_does(place: Where) {
    if !is_ready() {
        return;
    }
    let folder = simile_tests::place();
    let options = json!({
        "objective": "fair-cclk",
        "variant": "normalised",
        "temperature": 0.5,
        "lambda": 0.01,
        "kernel": { "name": "rbf", "sigma": 20.0 },
        "seed": 5,
        "iterations": 8,
        "batch": 16,
        "images": 128,
        "testImages": 64,
    });
    let job = json!({ "package": workspace().join("web/pkg"), "folder": folder.path(), "options": options });
    let result = run("trainer.mjs", place.job(), job);
    assert_eq!(result["device"]["kind"], place.name());

    let expected = losses_of_the_command_line(folder.path());
    let losses: Vec<f64> = serde_json::from_value(result["losses"].clone()).unwrap();
    assert_eq!(losses.len(), expected.len());
    assert_eq!(result["lengths"], json!([3, 1, 4, 8]), "a call does the steps that are left");
    for (step, (browser_loss, expected)) in losses.iter().zip(&expected).enumerate() {
        assert!(
            (browser_loss - expected).abs() < 1e-3 * expected.abs(),
            "step {step}: {browser_loss}, {expected} natively"
        );
    }

    // The metrics are those of `simile evaluate` for the file, and `Encoder` loads it too.
    let metrics = evaluate(&folder.path().join("model.safetensors"));
    let reading = &result["reading"];
    let difference =
        |name: &str, key: &str| (reading[key].as_f64().unwrap() - metrics[name].as_f64().unwrap()).abs();
    assert!(difference("top1", "accuracy") < 0.04, "{reading} {metrics}");
    assert!(difference("condition_r2", "leak") < 0.01, "{reading} {metrics}");
    assert_eq!(result["shapes"], json!({ "map": 128, "labels": 64, "colours": 192, "vector": 84 }));

    assert!(result["ended"].as_str().unwrap().contains("at its end"), "{}", result["ended"]);
    let Some(messages) = result["messages"].as_object() else {
        return assert!(matches!(place, Where::WebGpu), "the refusals of the CPU are missing");
    };
    wrong_calls_are_refused(messages);
    for (message, label) in result["labels"].as_array().unwrap().iter().zip(["-1", "1.5", "65536", "NaN"]) {
        let expected = format!("the label of image 1 is {label}, expected an integer from 0 to 65535");
        assert_eq!(message, &json!(expected));
    }
    assert!(result["accuracy"].is_number(), "{}", result["accuracy"]);
    let warnings = result["warnings"].as_array().unwrap();
    let apart = warnings.iter().any(|text| text.as_str().unwrap().contains("apart by `colour`"));
    assert!(apart, "a kernel that tells all images apart: {warnings:?}");
    let diverged: Vec<String> = serde_json::from_value(result["diverged"].clone()).unwrap();
    let errors: Vec<&String> = diverged.iter().skip_while(|message| message.is_empty()).collect();
    assert!(errors.len() > 2 && errors[0].contains("is not a finite number between steps"), "{diverged:?}");
    assert!(errors.iter().all(|error| *error == errors[0]), "{diverged:?}");
    assert_eq!(result["failed"], json!(errors[0]));
    let passed = diverged.len() - errors.len();
    assert!(passed > 0, "{diverged:?}");
    assert_eq!(result["divergedAt"], json!([passed, passed]), "steps before the failure are counted");
    let decoded = result["decoded"].as_u64().unwrap();
    assert!((1..=16).contains(&decoded), "{decoded} pictures are held at once");
    let steps = result["stepsAfterAbort"].as_u64().unwrap();
    assert_eq!(result["counted"], steps - 1, "steps before the abort are counted");
    assert!(steps < 60, "a call of 400 steps went on to {steps} after it was taken back");
}

/// The loss of each step of the same run by the command line.
fn losses_of_the_command_line(folder: &Path) -> Vec<f64> {
    let out = folder.join("run");
    let mut command = Command::new(program());
    command.args(["train", "fair-digits", "--variant", "Fair-CCLK", "--device", "cpu", "--seed", "5"]);
    for setting in [
        "train.iterations=8",
        "train.batch=16",
        "train.log_every=1",
        "data.train=128",
        "data.test=64",
        "augment.crop.scale=[0.3,1.0]",
        "variant.Fair-CCLK.objective.temperature=0.5",
    ] {
        command.args(["--set", setting]);
    }
    succeed(command.arg("--out").arg(&out));
    let lines = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let loss = |line: &str| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64().unwrap();
    lines.lines().map(loss).collect()
}

/// Asserts that a call that cannot be answered says why.
fn wrong_calls_are_refused(messages: &Map<String, Value>) {
    for (what, expected) in [
        ("unknown", "no-such"),
        ("batch", "batch is 0, expected an integer from 2"),
        ("many", "images is 1000000000, expected an integer from 2 to 100000"),
        ("alone", "batch is 1, expected an integer from 2"),
        ("none", "iterations is 0, expected an integer from 1"),
        ("text", "images is the string \"64\", expected a number of digits or a list"),
        ("few", "images is a list of 1, expected 4 or more"),
        ("held", "with 6 images testImages is 100, expected an integer from 2 to 4"),
        ("option", "a Trainer have an unknown `temperatur`; known: objective"),
        ("early", "taken back"),
        ("aborted", "taken back"),
        ("disposed", "disposed"),
        ("part", "count is 1.5, expected an integer"),
        ("rate", "`learningRate` is NaN, expected a finite number"),
        ("one", "`images` is of one class, expected at least 2 classes"),
        ("method", "`objective` is byol, which a Trainer cannot train; `simile train` trains it"),
        ("still", "`learningRate` is 0, expected"),
        ("unsignalled", "`signal` is an AbortController, expected an AbortSignal"),
    ] {
        assert!(messages[what].as_str().unwrap().contains(expected), "{what}: {messages:?}");
    }
    let of_recipe = |text: &str| text.contains("method.name") || text.contains("optimizer.");
    let named = messages.values().find(|text| text.as_str().is_some_and(of_recipe));
    assert_eq!(named, None, "a page has no recipe");
}
