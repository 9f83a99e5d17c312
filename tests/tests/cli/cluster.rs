//! The scripts of `examples`, each with the engine that it is for.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use simile_tests::{place, repository};

use crate::support::cluster::{is_there, on_two_nodes, run};
use crate::support::process::wait_until;
use crate::support::program::{simile, stdout, text_of};
use crate::support::run::assert_same_end;
use crate::support::scans::scans;

/// A sweep of two runs with this number of steps.
fn sweep<'a>(out: &'a str, iterations: &'a str) -> Vec<&'a str> {
    let sweep = ["sweep", "fair-digits", "--device", "cpu", "--variant", "SimCLR", "--out", out];
    let small = ["--set", "data.train=96", "--set", "data.test=40", "--set", "data.validation=32"];
    let steps = ["--set", iterations, "--set", "train.checkpoint_every=5", "--set", "probe.steps=5"];
    let grid = ["--set", "augment.crop={ scale = [0.3, 1.0] }", "--grid", "train.batch=16,24"];
    [&sweep[..], &small, &steps, &grid].concat()
}

/// Asserts that the runs of a sweep are those of one process.
fn assert_same_runs(place: &Path, out: &str, iterations: &str) {
    simile(place, &sweep("whole", iterations)).assert().success();
    for batch in ["train.batch=16", "train.batch=24"] {
        let run = |out: &str| format!("{out}/{batch}/seed-0");
        assert_same_end(place, &run("whole"), &run(out));
    }
}

#[test]
fn slurm_puts_a_task_back_and_it_ends_with_the_same_bytes_on_the_other_node() {
    let place = place();
    // A run lasts for seconds, so that it can be put back in the middle.
    let iterations = "train.iterations=400";
    let script = |name: &str| repository::root().join(name).display().to_string();
    let (requeue, submit) = (script("tests/slurm/requeue.sh"), script("examples/slurm/submit.sh"));
    let command = [&["bash", &requeue, &submit], &sweep("swept", iterations)[..]].concat();
    let Some(output) = on_two_nodes(place.path(), &command) else { return };
    let logs = || {
        let files = fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.extension().is_some_and(|ending| ending == "log"));
        logs.map(|path| format!("{}:\n{}\n", path.display(), fs::read_to_string(&path).unwrap()))
            .collect::<String>()
    };
    assert!(output.status.success(), "{}\n{}", text_of(&output), logs());
    let said = logs();
    // Of the task that is cancelled, the one that is put back, and the one that is signalled.
    assert_eq!(said.matches("stopping after this step").count(), 3, "{said}");
    assert!(place.path().join("swept/sweep.json").exists() && said.contains("Best by validation"), "{said}");
    assert_same_runs(place.path(), "swept", iterations);
}

#[test]
fn gnu_parallel_runs_a_sweep() {
    if !is_there(&["sh", "-c", "parallel --version | grep GNU"], "`apt-get install parallel`") {
        return;
    }
    let place = place();
    let iterations = "train.iterations=40";
    let output =
        run(place.path(), &repository::root().join("examples/parallel/run.sh"), &sweep("swept", iterations));
    assert!(
        output.status.success() && text_of(&output).contains("Best by validation"),
        "{}",
        text_of(&output)
    );
    assert_eq!(fs::read_to_string(place.path().join("parallel.log")).unwrap().lines().count(), 2);
    assert_same_runs(place.path(), "swept", iterations);
}

/// In place of the program: a list of three runs, of which the last waits for the first, runs that say their GPU, and a table. The
/// first two runs wait for each other, so that each has a place of its own.
const STAND_IN: &str = r#"#!/bin/sh
case "$*" in
*--list) printf '0\ta\ta\t0\t-\tmissing\n1\tb\tb\t0\t-\tmissing\n2\tc\tc\t0\t0\tmissing\n' ;;
*--task*)
  for task; do :; done
  touch "begun-$task"
  echo "on GPU <$CUDA_VISIBLE_DEVICES>"
  if [ "$task" != 2 ]; then
    for _ in $(seq 200); do
      [ -e begun-0 ] && [ -e begun-1 ] && break
      sleep 0.05
    done
  fi
  sleep "$PAUSE" ;;
*) echo collected ;;
esac
"#;

#[test]
fn gnu_parallel_takes_the_gpus_that_are_allotted_and_ends_with_an_interrupt() {
    if !is_there(&["sh", "-c", "parallel --version | grep GNU"], "`apt-get install parallel`") {
        return;
    }
    let place = place();
    let program = place.path().join("stand-in");
    fs::write(&program, STAND_IN).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = |allotted: Option<&str>, gpus: &str, pause: &str| {
        // A test that runs in the background of a script ignores interrupts, and so would the processes that it starts.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(repository::root().join("examples/parallel/run.sh"));
        command.args(["sweep", "a b"]).current_dir(place.path()).stdin(Stdio::null());
        command
            .env("SIMILE", &program)
            .env("GPUS", gpus)
            .env("PAUSE", pause)
            .env_remove("CUDA_VISIBLE_DEVICES");
        command.envs(allotted.map(|list| ("CUDA_VISIBLE_DEVICES", list)));
        command
    };
    for (allotted, gpus) in [(Some("5,7"), ["<5>", "<7>"]), (Some(""), ["<>", "<>"]), (None, ["<0>", "<1>"])]
    {
        let output = command(allotted, "2", "0").output().unwrap();
        let said = text_of(&output);
        assert!(output.status.success() && said.contains("collected"), "{said}");
        assert!(gpus.iter().all(|gpu| said.contains(gpu)), "{said}");
        for task in 0..3 {
            fs::remove_file(place.path().join(format!("begun-{task}"))).unwrap();
        }
    }
    let output = command(Some("5,7"), "3", "0").output().unwrap();
    assert!(
        output.status.code() == Some(2) && text_of(&output).contains("GPUS is 3"),
        "{}",
        text_of(&output)
    );

    let mut long = command(None, "2", "30");
    let long = long.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = long.spawn().unwrap();
    wait_until(&mut child, "a run", || place.path().join("begun-0").exists());
    // As a terminal does, to all processes of the command.
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.code() == Some(130) && !text_of(&output).contains("collected"),
        "{}",
        text_of(&output)
    );
}

#[test]
fn the_job_of_kubernetes_has_an_index_for_every_run_of_its_command() {
    let job = fs::read_to_string(repository::root().join("examples/kubernetes/runs.yaml")).unwrap();
    let (_, after) = job.split_once("args:\n").unwrap();
    let arguments = after.lines().map_while(|line| line.trim_start().strip_prefix("- "));
    let arguments = arguments.filter(|argument| !argument.starts_with("--task"));
    let place = place();
    let runs = stdout(place.path(), &arguments.chain(["--list"]).collect::<Vec<_>>()).lines().count();
    assert!(job.contains(&format!("  completions: {runs}\n")), "{runs} runs");
}

/// The commands at the head of a script of `examples`, which go on after a backslash.
fn shown(script: &str) -> Vec<String> {
    let text = fs::read_to_string(repository::root().join("examples").join(script)).unwrap();
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).collect();
    let joined = head.join("\n").replace("\\\n", " ");
    let commands = joined.lines().filter_map(|line| line.split_once(script)?.1.strip_prefix(' '));
    commands.map(|arguments| arguments.replace("/data/", "")).collect()
}

#[test]
fn the_commands_that_the_scripts_show_have_runs() {
    let place = place();
    scans(place.path(), 24);
    stdout(place.path(), &["init", "scans", "--hide", "hospital", "--out", "hospital.toml"]);
    for (script, commands) in [("slurm/submit.sh", 2), ("parallel/run.sh", 1)] {
        let shown = shown(script);
        assert_eq!(shown.len(), commands, "{script}: {shown:?}");
        for command in shown {
            let line = format!("{} {command} --list", simile_tests::program().display());
            let output = run(place.path(), Path::new("sh"), &["-c", &line]);
            let said = text_of(&output);
            assert!(output.status.success() && said.contains("missing"), "{script}: {command}: {said}");
        }
    }
}

#[test]
fn kubernetes_takes_the_jobs() {
    let python = std::env::var("SIMILE_PYTHON").unwrap_or_else(|_| "python3".into());
    let remedy = "`pip install kubernetes-validate`; SIMILE_PYTHON can name another Python";
    if !is_there(&[&python, "-c", "import kubernetes_validate"], remedy) {
        return;
    }
    let validate = "
import sys, yaml, kubernetes_validate
for path in sys.argv[1:]:
    for document in yaml.safe_load_all(open(path)):
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
";
    let jobs =
        ["runs.yaml", "collect.yaml"].map(|name| repository::root().join("examples/kubernetes").join(name));
    let output = Command::new(python).args(["-c", validate]).args(jobs).output().unwrap();
    assert!(output.status.success(), "{}", text_of(&output));
}
