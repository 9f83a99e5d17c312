//! Training in a page through the package.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use simile_tests::program;

use crate::data::evaluate;
use crate::{Where, is_ready, run, succeed};

#[test]
fn a_run_in_a_page_is_that_of_the_command_line_on_the_cpu() {
    runs_as_the_command_line_does(Where::Cpu);
}

#[test]
fn a_run_in_a_page_is_that_of_the_command_line_on_webgpu() {
    runs_as_the_command_line_does(Where::WebGpu);
}

#[test]
fn calls_of_a_trainer_that_cannot_be_answered_say_why() {
    if is_ready() {
        run("trainer/calls.mjs", Where::Cpu, json!({ "options": options() }));
    }
}

fn options() -> Value {
    json!({
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
    })
}

fn runs_as_the_command_line_does(place: Where) {
    if !is_ready() {
        return;
    }
    let folder = simile_tests::place();
    let result = run("trainer/run.mjs", place, json!({ "folder": folder.path(), "options": options() }));
    let expected = losses_of_the_command_line(folder.path());
    let losses: Vec<f64> = serde_json::from_value(result["losses"].clone()).unwrap();
    assert_eq!(losses.len(), expected.len());
    for (step, (browser_loss, expected)) in losses.iter().zip(&expected).enumerate() {
        assert!(
            (browser_loss - expected).abs() < 1e-3 * expected.abs(),
            "step {step}: {browser_loss}, {expected} natively"
        );
    }

    // The metrics are those of `simile evaluate` for the file.
    let metrics = evaluate(&folder.path().join("model.safetensors"));
    let reading = &result["reading"];
    let difference =
        |name: &str, key: &str| (reading[key].as_f64().unwrap() - metrics[name].as_f64().unwrap()).abs();
    assert!(difference("top1", "accuracy") < 0.04, "{reading} {metrics}");
    assert!(difference("condition_r2", "leak") < 0.01, "{reading} {metrics}");
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
