//! One run in several processes, started by `mpirun`. CONTRIBUTING.md has the command that builds the program with MPI.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use simile_tests::repository::files_below;
use simile_tests::{place, skipped};

use crate::support::cluster::on_two_nodes;
use crate::support::models::header;
use crate::support::pictures::tabled_with;
use crate::support::process::wait_until;
use crate::support::program::{ALONE, complaint, simile, stderr_of, text_of};
use crate::support::recipes::{Edited as _, place_with};
use crate::support::run::{result, standing};

/// A step of 22 samples in chunks of 4: with four processes, two have two chunks and two have one. The network has no batch norm,
/// which over chunks of few samples would double rounding differences with every step.
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

/// The head that gives [`LENET`] batch norm.
const NORMALISED: &str = "[head]\nkind = \"mlp-normalised\"\nhidden = 32";

/// The means for several processes that this program or machine lacks.
static LACK: LazyLock<Option<&str>> = LazyLock::new(|| {
    let place = place_with("a.toml", LENET);
    let mut alone = simile(place.path(), &["train", "a.toml", "--smoke"]);
    let output = alone.env("SLURM_STEP_NUM_TASKS", "2").output().unwrap();
    let text = stderr_of(&output);
    assert_eq!(output.status.code(), Some(2), "one of two processes trained alone: {text}");
    if text.contains("built without MPI") {
        Some("this program was built without the feature `mpi`")
    } else if Command::new("mpirun").arg("--version").output().is_err() {
        Some("this machine has no mpirun")
    } else {
        None
    }
});

/// True if the program has MPI and the machine has `mpirun`; otherwise the test is noted as skipped.
fn has_mpi() -> bool {
    if let Some(lack) = *LACK {
        skipped::note(lack);
    }
    LACK.is_none()
}

/// `mpirun` in a folder, for more processes than there are cores.
fn launcher(place: &Path) -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"])
        .current_dir(place)
        .envs(ALONE)
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        // Two that begin at once may both make Open MPI's folder in the usual place, where one of them then fails.
        .env("TMPDIR", place);
    command
}

/// `mpirun` with this number of processes of the program.
fn mpirun(place: &Path, count: usize, arguments: &[&str]) -> Command {
    let mut command = launcher(place);
    command
        .args(["-n", &count.to_string()])
        .arg(simile_tests::program())
        .args(arguments)
        .env("SIMILE_CACHE", place.join("cache"))
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    command
}

fn train(place: &Path, count: usize, arguments: &[&str]) -> String {
    let output = mpirun(place, count, &[&["train"], arguments].concat()).output().unwrap();
    let text = stderr_of(&output);
    assert!(output.status.success(), "{count} processes: {text}");
    text
}

/// The numbers of the encoder and the head, without running statistics.
fn parameters(run: &Path) -> Vec<(String, Vec<f32>)> {
    let bytes = fs::read(run.join("model.safetensors")).unwrap();
    let (header, data) = header(&bytes);
    let tensors = header.as_object().unwrap().iter();
    let of = |(name, tensor): (&String, &Value)| {
        let [start, end] = [0, 1].map(|at| tensor["data_offsets"][at].as_u64().unwrap() as usize + data);
        let numbers =
            bytes[start..end].chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
        (name.clone(), numbers.collect())
    };
    tensors.filter(|(name, tensor)| tensor["dtype"] == "F32" && !name.contains("running")).map(of).collect()
}

/// The largest difference of the parameters of two runs.
fn difference(run: &Path, expected: &Path) -> f32 {
    let (tensors, expected) = (parameters(run), parameters(expected));
    assert!(!expected.is_empty() && tensors.len() == expected.len());
    let pairs = tensors.iter().zip(&expected).flat_map(|(tensor, expected)| tensor.1.iter().zip(&expected.1));
    pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()))
}

/// Trains a recipe with steps that are too small to move a parameter.
fn untrained(place: &Path, recipe: &str, run: &str) {
    let steps = ["--set", "optimizer.learning_rate=1e-30", "--set", "train.iterations=1"];
    simile(place, &[&["train", recipe, "--out", run], &steps[..]].concat()).assert().success();
}

/// Asserts that the parameters of two runs differ by less than a number, 1e-6 after a few steps and 1e-5 after hundreds, and by
/// little beside the change that the steps made: losing a part of a gradient would change them by about as much.
fn assert_near(run: &Path, expected: &Path, untrained: &Path, most: f32) {
    let (off, moved) = (difference(run, expected), difference(expected, untrained));
    assert!(off < most && 20.0 * off < moved, "{off} of steps of {moved}, {most} allowed: {}", run.display());
}

#[test]
fn processes_train_the_network_that_one_trains() {
    if !has_mpi() {
        return;
    }
    let place = place();
    let path = |run: &str| place.path().join(run);
    let normalised = LENET.edited("[head]\nkind = \"mlp\"", NORMALISED);
    let trials: [(&str, &str, &str, &[usize]); 3] = [
        ("plain", LENET, "chunk", &[1, 2, 4]),
        ("normalised", &normalised, "chunk", &[2]),
        ("normalised", &normalised, "batch", &[4]),
    ];
    for (name, recipe, statistics, counts) in trials {
        let text = recipe.edited("chunk = 4", &format!("chunk = 4\nstatistics = \"{statistics}\""));
        fs::write(path(&format!("{name}.toml")), text).unwrap();
        let recipe = format!("{name}.toml");
        let run = |count: usize| format!("{name}-{statistics}-{count}");
        // How a run normalises does not change the parameters that it begins with.
        let initial = format!("{name}-untrained");
        if !path(&initial).exists() {
            untrained(place.path(), &recipe, &initial);
        }
        simile(place.path(), &["train", &recipe, "--out", &run(0)]).assert().success();
        for &count in counts {
            let text = train(place.path(), count, &[&recipe, "--out", &run(count)]);
            assert_near(&path(&run(count)), &path(&run(0)), &path(&initial), 1e-6);
            assert_eq!(text.matches("report ").count(), 1, "one process speaks: {text}");
            let losses =
                |run: &str| fs::read_to_string(path(run).join("metrics.jsonl")).unwrap().lines().count();
            assert_eq!(losses(&run(count)), losses(&run(0)));
        }
    }
    // With equal bits everywhere, a broadcast after each step changes nothing.
    let often = ["plain.toml", "--set", "train.checkpoint_every=1", "--out", "often"];
    train(place.path(), 3, &often);
    train(place.path(), 3, &["plain.toml", "--set", "train.checkpoint_every=100", "--out", "seldom"]);
    assert!(parameters(&path("often")) == parameters(&path("seldom")), "ranks have different numbers");
}

#[test]
fn srun_shares_the_steps_of_a_run_between_two_nodes() {
    if !has_mpi() {
        return;
    }
    let place = place_with("lenet.toml", LENET);
    let path = |run: &str| place.path().join(run);
    let program = simile_tests::program().display().to_string();
    // Open MPI leaves the loopback device out, which is all that these nodes have.
    let srun = [
        "env",
        "OMPI_MCA_btl_tcp_if_include=lo",
        "srun",
        "-N2",
        "--ntasks-per-node=1",
        "--gpus-per-task=1",
        "--mpi=pmix",
    ];
    let train = [program.as_str(), "train", "lenet.toml", "--out", "shared"];
    let Some(output) = on_two_nodes(place.path(), &[&srun[..], &train].concat()) else { return };
    let said = text_of(&output);
    assert!(output.status.success() && said.matches("report ").count() == 1, "{said}");
    simile(place.path(), &["train", "lenet.toml", "--out", "alone"]).assert().success();
    untrained(place.path(), "lenet.toml", "untrained");
    assert_near(&path("shared"), &path("alone"), &path("untrained"), 1e-6);
}

/// The processes that a launcher started.
fn started_by(launcher: u32) -> Vec<u32> {
    let output = Command::new("ps").args(["-o", "pid=", "--ppid", &launcher.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// The steps are enough for a signal to arrive among them, and small, so that rounding differences stay small too.
const LONG: [&str; 4] = ["--set", "train.iterations=120", "--set", "optimizer.learning_rate=1e-4"];

/// The iterations of the only variant in the last checkpoint.
fn taken(run: &Path) -> u64 {
    standing(run).and_then(|state| state["arms"][0]["iteration"].as_u64()).unwrap_or_default()
}

/// The code and the text of a run of two processes whose second one gets a signal after a few steps.
fn signalled(place: &Path, run: &str, signal: &str) -> (Option<i32>, String) {
    let begin = [&["train", "lenet.toml", "--out", run], &LONG[..]].concat();
    let mut child = mpirun(place, 2, &begin).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, "a checkpoint", || taken(&place.join(run)) > 0);
    let started = started_by(child.id());
    let second = started.iter().max().unwrap();
    assert!(Command::new("kill").args([signal, &second.to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    // `mpirun` ends what it started, and does not always wait for that.
    let works = |process: &u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"));
        // Its first thread may have ended before the others, which hold the lock of the run.
        let has_threads =
            || fs::read_dir(format!("/proc/{process}/task")).is_ok_and(|threads| threads.count() > 1);
        stat.is_ok_and(|stat| !stat.contains(") Z") || has_threads())
    };
    let begun = Instant::now();
    while started.iter().any(works) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{started:?} go on");
        sleep(Duration::from_millis(20));
    }
    (output.status.code(), stderr_of(&output))
}

#[test]
fn what_ends_one_process_ends_all_and_another_number_goes_on() {
    if !has_mpi() {
        return;
    }
    let place = place_with("lenet.toml", LENET);
    let path = |run: &str| place.path().join(run);
    simile(place.path(), &[&["train", "lenet.toml", "--out", "whole"], &LONG[..]].concat())
        .assert()
        .success();
    untrained(place.path(), "lenet.toml", "untrained");

    let (code, text) = signalled(place.path(), "asked", "-TERM");
    assert_eq!(code, Some(143), "{text}");
    assert!(text.contains("`simile train --resume asked`"), "{text}");
    train(place.path(), 3, &["--resume", "asked"]);
    assert_near(&path("asked"), &path("whole"), &path("untrained"), 1e-5);

    let (code, text) = signalled(place.path(), "killed", "-KILL");
    assert!(code != Some(0) && text.contains("signal 9"), "{code:?} {text}");
    simile(place.path(), &["train", "--resume", "killed"]).assert().success();
    assert_near(&path("killed"), &path("whole"), &path("untrained"), 1e-5);
    assert_eq!(result(&path("killed"))["arms"][0]["iterations"], 120);
}

/// Pictures of a table with a CSV file in a folder, each with pixels of its own; as many as are kept decoded.
fn pictures(folder: &Path) {
    let row =
        |at: usize| format!("{},{}", ["grid", "stripes"][at % 2], if at < 288 { "train" } else { "test" });
    tabled_with(folder, "label,split", (0..300).map(row), [32, 32], |at, x, y| {
        let at = at as u32;
        [(x * (at % 7 + 3) + y * (at % 2) * 40 + at) as u8; 3]
    });
}

/// Two processes that train on pictures in the folders `first` and `second`, which are made, each with a cache of its own, as on
/// machines without a common disk.
fn on_two_disks(place: &Path) -> Command {
    let table = "dataset = \"table\"\n[data.table]\ncsv = \"images.csv\"\nsplit = \"split\"\n";
    let recipe = LENET.edited("dataset = \"digits\"\ntrain = 88\ntest = 32\n", table);
    fs::write(place.join("own.toml"), recipe).unwrap();
    let train = [&["train", "own.toml", "--out", "run"], &LONG[..]].concat();
    let program = simile_tests::program();
    let mut command = launcher(place);
    command.env("SIMILE_RESIDENT", "0");
    for (at, data) in ["first", "second"].into_iter().enumerate() {
        pictures(&place.join(data));
        let cache = format!("SIMILE_CACHE={}", place.join(format!("cache-{at}")).display());
        command.args(if at == 0 { &["-n", "1", "env"][..] } else { &[":", "-n", "1", "env"] });
        command.arg(cache).arg(&program).args(&train).args(["--data", data]);
    }
    command
}

#[test]
fn processes_with_other_pictures_do_not_train_together() {
    if !has_mpi() {
        return;
    }
    let place = place();
    let mut command = on_two_disks(place.path());
    let table = place.path().join("second/images.csv");
    let without_last = fs::read_to_string(&table).unwrap().edited("299.png,stripes,test\n", "");
    fs::write(table, without_last).unwrap();
    let output = command.output().unwrap();
    let text = stderr_of(&output);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("process 1: the images of this process have other file names"), "{text}");
    assert!(text.contains("process 1 cannot take part"), "{text}");
}

#[test]
fn an_error_of_one_process_in_the_middle_ends_all_with_a_checkpoint() {
    if !has_mpi() {
        return;
    }
    let place = place();
    let path = |name: &str| place.path().join(name);
    let mut command = on_two_disks(place.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(&mut child, "a checkpoint", || taken(&path("run")) > 0);
    // The second process finds its decoded pictures damaged, and those that they were decoded from gone.
    fs::remove_dir_all(path("second")).unwrap();
    for file in files_below(&path("cache-1"), |_| true) {
        let length = fs::metadata(&file).unwrap().len();
        let mut file = fs::OpenOptions::new().write(true).open(file).unwrap();
        file.write_all(&vec![0; length as usize]).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let text = stderr_of(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let cause = text.lines().find(|line| line.starts_with("process 1: "));
    assert!(cause.is_some_and(|cause| cause.contains(".png")), "{text}");
    assert!(text.contains("error: process 1 failed; continue with `simile train --resume run`"), "{text}");
    let stopped = taken(&path("run"));
    assert!((1..120).contains(&stopped), "{stopped}");

    simile(place.path(), &["train", "--resume", "run", "--data", "first"]).assert().success();
    let whole = [&["train", "own.toml", "--out", "whole", "--data", "first"], &LONG[..]].concat();
    simile(place.path(), &whole).assert().success();
    let data = ["--set", "optimizer.learning_rate=1e-30", "--set", "train.iterations=1", "--data", "first"];
    simile(place.path(), &[&["train", "own.toml", "--out", "untrained"], &data[..]].concat())
        .assert()
        .success();
    assert_near(&path("run"), &path("whole"), &path("untrained"), 1e-5);
}

#[test]
fn what_processes_cannot_share_is_refused_once() {
    if !has_mpi() {
        return;
    }
    let place = place_with("lenet.toml", LENET);
    let refused = |arguments: &[&str]| {
        let output = mpirun(place.path(), 2, arguments).output().unwrap();
        let text = stderr_of(&output);
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

    // Two runs that are meant to be separate.
    let program = simile_tests::program();
    let mut command = launcher(place.path());
    command.args(["-n", "1"]).arg(&program).args(["train", "lenet.toml", "--out", "one"]);
    command.args([":", "-n", "1"]).arg(&program).args(["train", "lenet.toml", "--out", "other"]);
    let output = command.output().unwrap();
    let text = stderr_of(&output);
    assert!(!output.status.success() && text.contains("with different arguments"), "{text}");
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    assert!(
        ["one", "other"].iter().all(|run| !place.path().join(run).exists()),
        "a refused run has a folder"
    );

    // One process alone has no such device.
    let mut command = launcher(place.path());
    let train = ["train", "lenet.toml", "--out", "one"];
    command.args(["-n", "1"]).arg(&program).args(train).args([":", "-n", "1"]).arg(&program).args(train);
    let output = command.args(["--data", "/nowhere", "--device", "cpu:7"]).output().unwrap();
    let text = stderr_of(&output);
    assert!(text.contains("process 1: ") && text.contains("cpu:7"), "{text}");
    assert!(text.contains("process 1 cannot take part"), "{text}");
}

#[test]
fn several_processes_without_mpi_do_not_race_for_one_folder() {
    let place = place_with("lenet.toml", LENET);
    let begin = |variables: &[(&str, &str)]| {
        let mut command = simile(place.path(), &["train", "lenet.toml", "--smoke", "--out", "run"]);
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let output = begin(&[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "1")]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr_of(&output);
    assert!(text.contains("srun started 2 processes"), "{text}");
    assert!(!place.path().join("run").exists());
    // Runs of a sweep are no parts of a step, so that a program with MPI refuses them, too.
    let sweep =
        ["sweep", "lenet.toml", "--set", "data.validation=16", "--grid", "train.batch=8,16", "--out", "run"];
    let output = simile(place.path(), &sweep).env("SLURM_STEP_NUM_TASKS", "2").output().unwrap();
    let text = stderr_of(&output);
    assert!(output.status.code() == Some(2) && text.contains("--task"), "{text}");
    assert!(!place.path().join("run").exists());
    // The same of commands in which each would do all of the work, but for a part of a list.
    let several = |arguments: &[&str]| {
        let output = simile(place.path(), arguments).env("SLURM_STEP_NUM_TASKS", "2").output().unwrap();
        (output.status.code(), stderr_of(&output))
    };
    for command in [&["evaluate", "run"][..], &["report", "run"], &["embed", "run", "a.png"]] {
        let (code, text) = several(command);
        assert!(code == Some(2) && text.contains("srun started 2 processes"), "{command:?}: {text}");
    }
    let (_, text) = several(&["embed", "run", "--list", "all.txt", "--shard", "0/2"]);
    assert!(!text.contains("srun started"), "{text}");
    // A task of an array, and a run of its own.
    for variables in [
        [("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_PROCID", "0")],
        [("SLURM_STEP_NUM_TASKS", "2"), ("SIMILE_SEPARATE", "1")],
    ] {
        let output = begin(&variables);
        assert!(output.status.success(), "{}", stderr_of(&output));
        fs::remove_dir_all(place.path().join("run")).unwrap();
    }
    assert!(complaint(place.path(), &["train", "no-such.toml"], 2).contains("no-such.toml"));
}
