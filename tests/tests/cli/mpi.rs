//! One run in several processes, started by `mpirun`. CONTRIBUTING.md has the command that builds the program with MPI.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::runs::{result, standing, wait_until};
use crate::{complaint, place, simile};

/// A step of 22 samples in chunks of 4: with four processes, two have two chunks and two have one. Without batch norm over chunks
/// of few samples, which doubles the difference of a rounding with every step.
const LENET: &str = r#"
[data]
dataset = "digits"
train = 88
test = 32

[augment]
crop = { scale = [0.5, 1.0] }

[head]
kind = "mlp"
output = 16

[optimizer]
name = "sgd"
learning_rate = 0.002

[train]
batch = 22
iterations = 8
log_every = 1
checkpoint_every = 3

[method]
name = "cached"
chunk = 4

[probe]
steps = 5

[objective]
name = "supcon"
temperature = 0.5
"#;

/// Batch norm over chunks of four pictures enlarges roundings a thousandfold, so that its steps are small.
const RESNET: &str = r#"
[data]
dataset = "digits"
train = 64
test = 16

[encoder]
name = "resnet18"
stem = "cifar"
input_size = 12

[head]
hidden = 16
output = 8

[augment]
crop = { scale = [0.5, 1.0] }

[optimizer]
name = "sgd"
learning_rate = 0.00001

[train]
batch = 16
iterations = 2
log_every = 1

[method]
name = "cached"
chunk = 4

[probe]
steps = 5

[objective]
name = "nt-xent"
temperature = 0.5
"#;

/// False, and noted, where the program has no MPI or the machine no `mpirun`.
fn has_mpi() -> bool {
    let place = place();
    fs::write(place.path().join("a.toml"), LENET).unwrap();
    let mut alone = simile(place.path(), &["train", "a.toml", "--smoke"]);
    let output = alone.env("SLURM_STEP_NUM_TASKS", "2").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "one of two processes trained alone: {text}");
    let missing = if text.contains("built without MPI") {
        Some("this program was built without the feature `mpi`")
    } else if Command::new("mpirun").arg("--version").output().is_err() {
        Some("this machine has no mpirun")
    } else {
        None
    };
    missing.into_iter().for_each(simile_tests::skipped::note);
    missing.is_none()
}

/// `mpirun` of so many processes, whatever number of cores there is.
fn mpirun(place: &Path, count: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", &count.to_string()])
        .arg(simile_tests::program())
        .args(arguments)
        .current_dir(place)
        .env("SIMILE_CACHE", place.join("cache"))
        .env("RAYON_NUM_THREADS", "1")
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        .env("OMPI_MCA_mpi_yield_when_idle", "1");
    command
}

fn train(place: &Path, count: usize, arguments: &[&str]) -> String {
    let output = mpirun(place, count, &[&["train"], arguments].concat()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{count} processes: {text}");
    text
}

/// The numbers of the encoder and the head, without running statistics.
fn parameters(run: &Path) -> Vec<(String, Vec<f32>)> {
    let bytes = fs::read(run.join("model.safetensors")).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let tensors = header.as_object().unwrap().iter();
    let of = |(name, tensor): (&String, &Value)| {
        let [start, end] =
            [0, 1].map(|at| tensor["data_offsets"][at].as_u64().unwrap() as usize + 8 + length);
        let numbers =
            bytes[start..end].chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        (name.clone(), numbers.collect())
    };
    tensors.filter(|(name, tensor)| tensor["dtype"] == "F32" && !name.contains("running")).map(of).collect()
}

/// Asserts that the parameters of two runs differ by less than a number: 1e-6 after a few steps, 1e-5 after hundreds.
fn assert_near(found: &Path, expected: &Path, most: f32) {
    let (found, expected) = (parameters(found), parameters(expected));
    assert!(!expected.is_empty() && found.len() == expected.len());
    for ((name, found), (_, expected)) in found.iter().zip(&expected) {
        let off = found.iter().zip(expected).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(off < most, "{name} differs by {off}");
    }
}

#[test]
fn processes_train_the_network_that_one_trains() {
    if !has_mpi() {
        return;
    }
    let place = place();
    let path = |run: &str| place.path().join(run);
    for (name, recipe) in [("lenet", LENET), ("resnet", RESNET)] {
        for statistics in ["chunk", "batch"] {
            let text = recipe.replace("chunk = 4", &format!("chunk = 4\nstatistics = \"{statistics}\""));
            fs::write(path(&format!("{name}.toml")), text).unwrap();
            let recipe = format!("{name}.toml");
            let run = |count: usize| format!("{name}-{statistics}-{count}");
            let mut alone = simile(place.path(), &["train", &recipe, "--out", &run(0)]);
            alone.env("RAYON_NUM_THREADS", "1").assert().success();
            for count in [1, 2, 4] {
                let text = train(place.path(), count, &[&recipe, "--out", &run(count)]);
                assert_near(&path(&run(count)), &path(&run(0)), 1e-6);
                assert_eq!(text.matches("report ").count(), 1, "one process speaks: {text}");
                let losses =
                    |run: &str| fs::read_to_string(path(run).join("metrics.jsonl")).unwrap().lines().count();
                assert_eq!(losses(&run(count)), losses(&run(0)));
            }
        }
    }
    // With equal bits everywhere, a broadcast after each step changes nothing.
    let often = ["lenet.toml", "--set", "train.checkpoint_every=1", "--out", "often"];
    train(place.path(), 3, &often);
    train(place.path(), 3, &["lenet.toml", "--set", "train.checkpoint_every=100", "--out", "seldom"]);
    assert!(parameters(&path("often")) == parameters(&path("seldom")), "ranks have different numbers");
}

/// The processes that a launcher started.
fn started_by(launcher: u32) -> Vec<u32> {
    let output = Command::new("ps").args(["-o", "pid=", "--ppid", &launcher.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Steps enough for a signal to arrive among them, and small, so that the differences of roundings stay small too.
const LONG: [&str; 4] = ["--set", "train.iterations=200", "--set", "optimizer.learning_rate=1e-4"];

/// The iterations of the only arm in the last checkpoint.
fn taken(run: &Path) -> u64 {
    standing(run).and_then(|state| state["arms"][0]["iteration"].as_u64()).unwrap_or_default()
}

/// The code and the text of a run of two processes whose second one gets a signal after a few steps.
fn signalled(place: &Path, run: &str, signal: &str) -> (Option<i32>, String) {
    let begin = [&["train", "lenet.toml", "--out", run], &LONG[..]].concat();
    let mut child = mpirun(place, 2, &begin).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, "a checkpoint", || taken(&place.join(run)) > 0);
    let second = started_by(child.id()).into_iter().max().unwrap();
    assert!(Command::new("kill").args([signal, &second.to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_ends_one_process_ends_all_and_another_number_goes_on() {
    if !has_mpi() {
        return;
    }
    let place = place();
    let path = |run: &str| place.path().join(run);
    fs::write(path("lenet.toml"), LENET).unwrap();
    simile(place.path(), &[&["train", "lenet.toml", "--out", "whole"], &LONG[..]].concat())
        .assert()
        .success();

    let (code, text) = signalled(place.path(), "asked", "-TERM");
    assert_eq!(code, Some(143), "{text}");
    assert!(text.contains("`simile train --resume asked`"), "{text}");
    train(place.path(), 3, &["--resume", "asked"]);
    assert_near(&path("asked"), &path("whole"), 1e-5);

    let (code, text) = signalled(place.path(), "killed", "-KILL");
    assert!(code != Some(0) && text.contains("signal 9"), "{code:?} {text}");
    simile(place.path(), &["train", "--resume", "killed"]).assert().success();
    assert_near(&path("killed"), &path("whole"), 1e-5);
    assert_eq!(result(&path("killed"))["arms"][0]["iterations"], 200);
}

#[test]
fn what_processes_cannot_share_is_refused_once() {
    if !has_mpi() {
        return;
    }
    let place = place();
    fs::write(place.path().join("lenet.toml"), LENET).unwrap();
    let refused = |arguments: &[&str]| {
        let output = mpirun(place.path(), 2, arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{text}");
        assert_eq!(text.matches("error: ").count(), 1, "{text}");
        text
    };
    let text = refused(&["train", "lenet.toml", "--set", "method={ name = \"single\" }"]);
    assert!(text.contains("is single") && text.contains("chunks of `cached`"), "{text}");
    let text = refused(&["train", "dcgan-digits"]);
    assert!(text.contains("is dcgan") && text.contains("chunks of `cached`"), "{text}");
    let text = refused(&["train", "lenet.toml", "--set", "method.chunk=22"]);
    assert!(text.contains("2 devices without work"), "{text}");
    assert!(refused(&["train", "no-such.toml"]).contains("no-such.toml"));
    assert!(refused(&["train", "lenet.toml", "--profile"]).contains("one process"));
    assert!(!place.path().join("runs").exists(), "a refused run has a folder");

    // One process alone has no such device.
    let mut command = Command::new("mpirun");
    let program = simile_tests::program();
    let common = ["--allow-run-as-root", "--oversubscribe", "-n", "1"];
    let train = ["train", "lenet.toml", "--out", "one"];
    command.args(common).arg(&program).args(train).args([":", "-n", "1"]).arg(&program).args(train);
    let output =
        command.args(["--data", "/nowhere", "--device", "cpu:7"]).current_dir(place.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("process 1: ") && text.contains("cpu:7"), "{text}");
    assert!(text.contains("process 1 cannot take part"), "{text}");
}

#[test]
fn several_processes_without_mpi_do_not_race_for_one_folder() {
    let place = place();
    fs::write(place.path().join("lenet.toml"), LENET).unwrap();
    let begin = |variables: &[(&str, &str)]| {
        let mut command = simile(place.path(), &["train", "lenet.toml", "--smoke", "--out", "run"]);
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let output = begin(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("srun started 2 processes"), "{text}");
    assert!(!place.path().join("run").exists());
    // A task of an array, and a run of its own.
    for variables in [
        [("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")],
        [("SLURM_STEP_NUM_TASKS", "2"), ("SIMILE_SEPARATE", "1")],
    ] {
        let output = begin(&variables);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::remove_dir_all(place.path().join("run")).unwrap();
    }
    assert!(complaint(place.path(), &["train", "no-such.toml"], 2).contains("no-such.toml"));
}
