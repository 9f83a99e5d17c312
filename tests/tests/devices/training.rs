//! Training and embedding on every device of the binary, compared with the CPU.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use simile_tests::{has_device, program};

const RECIPE: &str = r#"
[data]
dataset = "digits"
train = 64
test = 32

[augment]
crop = { scale = [0.5, 1.0] }

[optimizer]
name = "adam"

[train]
batch = 32
iterations = 6
log_every = 1

[probe]
steps = 5

[objective]
name = "fair-cclk"
temperature = 0.5
kernel = { name = "rbf", sigma = 20.0 }
"#;

/// The same on few pictures, for ndarray: Burn's convolutions there take a minute of the other in a build for tests.
const FEW: [&str; 8] = [
    "--set",
    "data.train=16",
    "--set",
    "data.test=8",
    "--set",
    "train.batch=8",
    "--set",
    "train.iterations=2",
];

/// The settings of the runs on a device, and the folder of those on the CPU that they are compared with.
fn size(device: &str) -> (&'static [&'static str], &'static str) {
    if device == "ndarray" { (&FEW, "cpu-few") } else { (&[], "cpu") }
}

/// The answer of a command, and what it said beside it.
fn simile(place: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(program()).current_dir(place).args(arguments).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {told}");
    (String::from_utf8(output.stdout).unwrap(), told)
}

/// The losses of a run, and what it said.
fn train_telling(place: &Path, out: &str, device: &str, more: &[&str]) -> (Vec<f64>, String) {
    let arguments = [&["train", "tiny.toml", "--out", out, "--device", device], more].concat();
    let (_, told) = simile(place, &arguments);
    let lines = fs::read_to_string(place.join(out).join("metrics.jsonl")).unwrap();
    let loss = |line| serde_json::from_str::<Value>(line).unwrap()["loss"].as_f64().unwrap();
    (lines.lines().map(loss).collect(), told)
}

fn train(place: &Path, out: &str, device: &str, more: &[&str]) -> Vec<f64> {
    train_telling(place, out, device, more).0
}

/// The embedding of an image by the model that the CPU trained.
fn embed(place: &Path, device: &str) -> Vec<f64> {
    let (answer, _) =
        simile(place, &["embed", "cpu/model.safetensors", "image.png", "--device", device, "--json"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let numbers: Vec<f64> = serde_json::from_value(answer["vectors"][0].clone()).unwrap();
    assert_eq!(numbers.len(), 84);
    numbers
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The recipe with two full batches an epoch and one of 16 images.
fn with_a_rest() -> String {
    RECIPE.replace("train = 64", "train = 80")
}

/// Otherwise it would be pooled with runs of its last device.
#[test]
fn a_run_that_changes_its_device_names_both() {
    if !has_device("ndarray") {
        return;
    }
    let place = simile_tests::place();
    fs::write(place.path().join("tiny.toml"), RECIPE).unwrap();
    train(place.path(), "run", "cpu", &FEW);
    let longer = ["train", "--resume", "run", "--device", "ndarray", "--set", "train.iterations=3"];
    let (answer, _) = simile(place.path(), &[&longer[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let kept = fs::read_to_string(place.path().join("run/result.json")).unwrap();
    for result in [answer, serde_json::from_str(&kept).unwrap()] {
        let before = serde_json::json!([{ "device": "cpu (CPU)", "arm": "fair-cclk", "iteration": 2 }]);
        assert_eq!(result["earlier_devices"], before);
        assert!(result["device"].as_str().unwrap().starts_with("ndarray"), "{result}");
    }
}

/// A GPU compiles and chooses kernels for every shape, so that the rest of an epoch is left out there; the first step is announced.
#[test]
fn they_train_and_embed_as_the_cpu_does() {
    let place = simile_tests::place();
    fs::write(place.path().join("tiny.toml"), with_a_rest()).unwrap();
    let stripes = image::RgbImage::from_fn(32, 32, |x, y| image::Rgb([(x * 7) as u8, (y * 5) as u8, 90]));
    stripes.save(place.path().join("image.png")).unwrap();
    let all = train(place.path(), "cpu", "cpu", &["--set", "train.drop_last=true"]);
    let embedding = embed(place.path(), "cpu");
    assert_eq!(all.len(), 6);
    assert!(all[5] < all[0], "{all:?}");

    for device in ["ndarray", "wgpu", "vulkan", "cuda"] {
        if !has_device(device) {
            continue;
        }
        let difference = largest_difference(&embed(place.path(), device), &embedding);
        println!("{device}: embeddings differ by {difference:.1e}");
        assert!(difference < 1e-4, "{device}: embeddings differ by {difference}");
        // Rounding grows from step to step; a wrong gradient shows at the second one.
        let (settings, of_cpu) = size(device);
        let losses =
            if settings.is_empty() { all.clone() } else { train(place.path(), of_cpu, "cpu", settings) };
        let (device_losses, told) = train_telling(place.path(), device, device, settings);
        let difference = largest_difference(&device_losses, &losses);
        println!("{device}: losses differ by {difference:.1e}");
        assert!(difference < 1e-3, "{device}: {device_losses:?}, not {losses:?}");
        if device == "ndarray" {
            continue;
        }
        assert!(told.contains("the first step compiles and tunes kernels"), "{told}");
        let ended = told.split(" and started ").nth(1);
        let kernels = ended.and_then(|ended| ended.split(' ').next()?.parse::<u64>().ok());
        assert!(kernels.is_some_and(|kernels| kernels > 0), "{told}");
        assert!(!told.contains("kernels are tuned for it too"), "all batches are full: {told}");
        let recipe = fs::read_to_string(place.path().join(device).join("recipe.toml")).unwrap();
        assert!(recipe.contains("drop_last = true"), "{recipe}");
    }
}

#[test]
fn a_gpu_takes_the_rest_of_an_epoch_if_the_recipe_says_so() {
    let place = simile_tests::place();
    let recipe = with_a_rest().replace("iterations = 6", "iterations = 3");
    fs::write(place.path().join("tiny.toml"), recipe).unwrap();
    let full = train(place.path(), "full", "cpu", &["--set", "train.drop_last=true"]);
    let rest = train(place.path(), "rest", "cpu", &[]);
    assert!(largest_difference(&full[..2], &rest[..2]) == 0.0 && full[2] != rest[2], "{full:?} {rest:?}");
    for device in ["wgpu", "vulkan", "cuda"].into_iter().filter(|device| has_device(device)) {
        let with_the_rest = ["--set", "train.drop_last=false"];
        let (losses, told) = train_telling(place.path(), device, device, &with_the_rest);
        assert!(largest_difference(&losses, &rest) < 1e-3, "{device}: {losses:?}, not {rest:?}");
        // Its kernels have other shapes, once more.
        let notices = |told: &str, text: &str| told.matches(text).count();
        assert_eq!(
            notices(&told, "fair-cclk: a batch of 16 images: kernels are tuned for it too"),
            1,
            "{told}"
        );
        assert_eq!(notices(&told, "kernels are tuned for it too"), 1, "{told}");
        assert_eq!(notices(&told, "fair-cclk: its step took "), 1, "{told}");
        let profiled = ["train", "tiny.toml", "--profile", "1", "--out", "p", "--device", device];
        let (_, told) = simile(place.path(), &[&profiled[..], &with_the_rest].concat());
        assert_eq!(notices(&told, "the first step compiles and tunes kernels"), 1, "{told}");
        assert_eq!(notices(&told, "a batch of 16 images: kernels are tuned for it too"), 1, "{told}");
    }
}

/// Chunks on two devices of different backends, which exchange the same data as two GPUs.
#[test]
fn several_share_a_step_as_one_alone_takes_it() {
    let place = simile_tests::place();
    fs::write(place.path().join("tiny.toml"), RECIPE).unwrap();
    let chunks = ["--set", "method={ name = \"cached\", chunk = 11 }"];
    let all = train(place.path(), "cpu", "cpu", &chunks);
    assert!(all[5] < all[0], "{all:?}");
    for (out, device) in [("two", "ndarray"), ("other-two", "wgpu"), ("gpu", "vulkan"), ("nvidia", "cuda")] {
        if !has_device(device) {
            continue;
        }
        let both = format!("cpu,{device}");
        let (settings, of_cpu) = size(device);
        let few = [settings, &["--set", "method={ name = \"cached\", chunk = 3 }"]].concat();
        let (chunks, losses) = match settings {
            [] => (&chunks[..], all.clone()),
            _ => (&few[..], train(place.path(), of_cpu, "cpu", &few)),
        };
        let device_losses = train(place.path(), out, &both, chunks);
        let difference = largest_difference(&device_losses, &losses);
        println!("{both}: losses differ by {difference:.1e}");
        assert!(difference < 1e-3, "{both}: {device_losses:?}, not {losses:?}");
        let result = fs::read_to_string(place.path().join(out).join("result.json")).unwrap();
        assert!(result.contains(&format!(", {device} (")), "{result}");
        let unfit = [
            ("method={ name = \"single\" }", "`cached`"),
            ("method={ name = \"cached\", chunk = 32 }", "method.chunk"),
        ];
        for (method, named) in unfit {
            let arguments = ["train", "tiny.toml", "--device", &both, "--set", method];
            let refused = Command::new(program()).current_dir(place.path()).args(arguments).output().unwrap();
            let message = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(refused.status.code() == Some(2) && message.contains(named), "{message}");
        }
    }
}
