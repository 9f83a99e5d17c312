//! Training in a page: by a visitor, and through the package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use simile_core::data::synthetic::colour_mnist::Colours;
use simile_core::data::synthetic::digits::draw_digits;
use simile_tests::program;

use crate::{Where, is_ready, run, screenshots, succeed, workspace};

/// Accuracy in percent that Fair-CCLK has to reach during training, and its least lead over SimCLR.
const LEVEL: f64 = 60.0;
const LEAD: f64 = 45.0;

/// Steps of each network: the level is reached in about 50.
const STEPS: u32 = 80;

#[test]
fn a_visitor_can_train_two_networks() {
    if !is_ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let result = run(
        "train.mjs",
        Where::Cpu.job(),
        json!({
            "site": workspace().join("www/dist"),
            "settings": { "iterations": STEPS, "batch": 128, "seed": 0 },
            "level": LEVEL,
            "lead": LEAD,
            "patience": 900,
            "own": own_images(folder.path()),
            "folder": folder.path(),
            "screenshots": screenshots(),
        }),
    );
    println!("{}; passed at {}, {} at last", result["rate"], result["passed"], result["final"]);
    assert_eq!(result["complaints"], json!([]));
    assert_eq!(result["violations"], json!([]), "accessibility");
    assert_eq!(result["overflow"], false, "the page is wider than a phone");
    assert_eq!(result["invalid"], 1, "a field that is empty is pointed out");
    assert_eq!(result["steps"], "400", "an address without a number of steps leaves the usual one");
    assert!(result["late"].as_str().unwrap().contains("press Reset"), "{}", result["late"]);
    assert!(result["device"].as_str().unwrap().starts_with("CPU"), "{}", result["device"]);
    let numbers = |value: &Value| -> [f64; 2] { serde_json::from_value(value.clone()).unwrap() };

    let [unconditional, fair] = numbers(&result["final"]["digit"]);
    assert!(fair >= LEVEL && fair >= unconditional + LEAD, "{}", result["final"]);
    let [colour, left] = numbers(&result["final"]["colour"]);
    assert!(left < colour - 0.1, "{}", result["final"]);
    assert_eq!(numbers(&result["final"]["step"]), [f64::from(STEPS); 2]);
    assert_eq!(result["still"][0], result["still"][1], "a paused run stands still");
    assert!(result["map"].as_str().unwrap().contains(&format!("{fair:.1} %")), "{}", result["map"]);
    assert_eq!(result["saved"], json!(["simclr.safetensors", "fair-cclk.safetensors"]));
    assert_eq!((&result["cleared"], &result["workers"]), (&json!("–"), &json!(0)), "reset frees both");
    let address = format!("?iterations={STEPS}&batch=128&temperature=0.5&lambda=0.01&seed=0&device=auto");
    let shared = (&result["address"], &result["again"]);
    assert_eq!(shared, (&json!(address), &json!(STEPS.to_string())), "a run can be shared");

    // The command line draws the same digits again and measures the same accuracy for the files.
    for (at, name) in ["left", "right"].into_iter().enumerate() {
        let metrics = evaluate(&folder.path().join(format!("{name}.safetensors")));
        let top1 = 100.0 * metrics["top1"].as_f64().unwrap();
        let shown = numbers(&result["final"]["digit"])[at];
        // The page rounds to a tenth of a percent; a digit on the border may fall to either side.
        assert!((top1 - shown).abs() < 0.36, "{name}: {top1} by the command line, {shown} in the page");
        let leak = metrics["condition_r2"].as_f64().unwrap();
        let shown = numbers(&result["final"]["colour"])[at];
        assert!((leak - shown).abs() < 2e-3, "{name}: {leak} by the command line, {shown} in the page");
    }
    evaluate(&folder.path().join("early.safetensors"));

    assert!(result["classless"].as_str().unwrap().contains("one for each class"), "{}", result["classless"]);
    let source = result["source"].as_str().unwrap();
    assert!(source.contains("60 images of 10 classes"), "{source}");
    assert_eq!(numbers(&result["own"]["step"]), [20.0, 20.0]);
    assert!(numbers(&result["own"]["accuracy"]).iter().all(|accuracy| (0.0..=100.0).contains(accuracy)));
    assert!(result["broken"].as_str().unwrap().contains("0/broken.png"), "{}", result["broken"]);
    assert!(result["drawn"].as_str().unwrap().contains("digits that this page draws"), "{}", result["drawn"]);
    assert_eq!(result["unprepared"], 0, "a reset ends the preparation");
    let mut command = Command::new(program());
    let vectors = folder.path().join("own.npy");
    command.arg("embed").arg(folder.path().join("own.safetensors"));
    succeed(command.arg(folder.path().join("own/1/00.png")).arg("--out").arg(vectors));
}

/// A folder with a folder of drawn digits for each class.
fn own_images(folder: &Path) -> PathBuf {
    let folder = folder.join("own");
    let digits = draw_digits(60, Colours::Palette, 11).unwrap();
    let mut counts = [0; 10];
    for (pixels, &label) in digits.images.in_memory().unwrap().iter().zip(&digits.labels) {
        let class = folder.join(label.to_string());
        fs::create_dir_all(&class).unwrap();
        let image = image::RgbImage::from_raw(32, 32, pixels.to_vec()).unwrap();
        image.save(class.join(format!("{:02}.png", counts[label]))).unwrap();
        counts[label] += 1;
    }
    folder
}

fn evaluate(model: &Path) -> Value {
    let mut command = Command::new(program());
    let output = succeed(command.arg("evaluate").arg(model).args(["--device", "cpu", "--json"]));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["metrics"].clone()
}

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
    let folder = tempfile::tempdir().unwrap();
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
    assert_eq!(result["complaints"], json!([]));
    assert_eq!(result["device"]["kind"], place.name());

    let out = folder.path().join("run");
    let mut command = Command::new(program());
    command.args(["train", "fair-digits", "--arm", "Fair-CCLK", "--device", "cpu", "--seed", "5"]);
    for setting in [
        "train.iterations=8",
        "train.batch=16",
        "train.log_every=1",
        "data.train=128",
        "data.test=64",
        "augment.crop.scale=[0.3,1.0]",
        "arm.Fair-CCLK.objective.temperature=0.5",
    ] {
        command.args(["--set", setting]);
    }
    succeed(command.arg("--out").arg(&out));
    let lines = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
    let loss = |line: &str| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64().unwrap();
    let expected: Vec<f64> = lines.lines().map(loss).collect();
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
        return assert!(matches!(place, Where::WebGpu), "what is refused on the CPU is missing");
    };
    for (what, expected) in [
        ("unknown", "no-such"),
        ("batch", "batch_size"),
        ("early", "taken back"),
        ("aborted", "taken back"),
        ("disposed", "disposed"),
        ("part", "count is 1.5, expected an integer"),
        ("rate", "`learningRate` is NaN, expected a finite number"),
    ] {
        assert!(messages[what].as_str().unwrap().contains(expected), "{what}: {messages:?}");
    }
    for (message, label) in result["labels"].as_array().unwrap().iter().zip(["-1", "1.5", "65536", "NaN"]) {
        let expected = format!("the label of image 1 is {label}, expected an integer from 0 to 65535");
        assert_eq!(message, &json!(expected));
    }
    let steps = result["stepsAfterAbort"].as_u64().unwrap();
    assert_eq!(result["counted"], steps - 1, "steps before the abort are counted");
    assert!(steps < 60, "a call of 400 steps went on to {steps} after it was taken back");
}
