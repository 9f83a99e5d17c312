//! The scripts of `examples`, each with the engine that it is for. `SIMILE_REQUIRE_CLUSTERS=1` makes the absence of an
//! engine an error.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use simile_tests::skipped;

use crate::runs::assert_same_end;
use crate::{ONE_THREAD, newcomer, place, simile, stdout};

/// A sweep of two runs with this number of steps.
fn sweep<'a>(out: &'a str, iterations: &'a str) -> Vec<&'a str> {
    let sweep = ["sweep", "fair-digits", "--device", "cpu", "--variant", "SimCLR", "--out", out];
    let small = ["--set", "data.train=96", "--set", "data.test=40", "--set", "data.validation=32"];
    let steps = ["--set", iterations, "--set", "train.checkpoint_every=5", "--set", "probe.steps=5"];
    let grid = ["--set", "augment.crop={ scale = [0.3, 1.0] }", "--grid", "train.batch=16,24"];
    [&sweep[..], &small, &steps, &grid].concat()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// True if a command succeeds; otherwise the test is noted as skipped.
fn is_there(command: &[&str], remedy: &str) -> bool {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let is_there = output.is_ok_and(|output| output.status.success());
    let is_required = std::env::var_os("SIMILE_REQUIRE_CLUSTERS").is_some_and(|set| set == "1");
    assert!(is_there || !is_required, "`{}` fails: {remedy}", command.join(" "));
    if !is_there {
        skipped::note(&format!("`{}` fails: {remedy}", command.join(" ")));
    }
    is_there
}

fn run(place: &Path, program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "300"]).arg(program).args(arguments).current_dir(place);
    command
        .env("SIMILE", simile_tests::program())
        .env("SIMILE_CACHE", place.join("cache"))
        .envs([ONE_THREAD]);
    command.output().unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The end of a command within a Slurm of two nodes; none, and noted, where there is no Slurm.
pub(crate) fn on_two_nodes(place: &Path, command: &[&str]) -> Option<Output> {
    const APART: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let begin = ["sh", "-c", "command -v slurmctld slurmd && mount -t tmpfs tmpfs /run"];
    let sandbox = [&["unshare"], &APART[..], &begin].concat();
    if !is_there(&sandbox, "as root, `apt-get install slurm-wlm`") {
        return None;
    }
    let loopback = repository().join("tests/slurm/loopback.sh").display().to_string();
    Some(run(place, Path::new("unshare"), &[&APART[..], &["bash", &loopback], command].concat()))
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
    let iterations = "train.iterations=600";
    let script = |name: &str| repository().join(name).display().to_string();
    let (requeue, submit) = (script("tests/slurm/requeue.sh"), script("examples/slurm/submit.sh"));
    let command = [&["bash", &requeue, &submit], &sweep("swept", iterations)[..]].concat();
    let Some(output) = on_two_nodes(place.path(), &command) else { return };
    let logs = || {
        let files = fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.extension().is_some_and(|ending| ending == "log"));
        logs.map(|path| format!("{}:\n{}\n", path.display(), fs::read_to_string(&path).unwrap()))
            .collect::<String>()
    };
    assert!(output.status.success(), "{}\n{}", text(&output), logs());
    let said = logs();
    assert_eq!(said.matches("stopping after this step").count(), 2, "{said}");
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
        run(place.path(), &repository().join("examples/parallel/run.sh"), &sweep("swept", iterations));
    assert!(output.status.success() && text(&output).contains("Best by validation"), "{}", text(&output));
    assert_eq!(fs::read_to_string(place.path().join("parallel.log")).unwrap().lines().count(), 2);
    assert_same_runs(place.path(), "swept", iterations);
}

#[test]
fn the_job_of_kubernetes_has_an_index_for_every_run_of_its_command() {
    let job = fs::read_to_string(repository().join("examples/kubernetes/runs.yaml")).unwrap();
    let (_, after) = job.split_once("args:\n").unwrap();
    let arguments = after.lines().map_while(|line| line.trim_start().strip_prefix("- "));
    let arguments = arguments.filter(|argument| !argument.starts_with("--task"));
    let place = place();
    let runs = stdout(place.path(), &arguments.chain(["--list"]).collect::<Vec<_>>()).lines().count();
    assert!(job.contains(&format!("  completions: {runs}\n")), "{runs} runs");
}

/// The commands at the head of a script of `examples`, which go on after a backslash.
fn shown(script: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join("examples").join(script)).unwrap();
    let head: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).collect();
    let joined = head.join("\n").replace("\\\n", " ");
    let commands = joined.lines().filter_map(|line| line.split_once(script)?.1.strip_prefix(' '));
    commands.map(|arguments| arguments.replace("/data/", "")).collect()
}

#[test]
fn the_commands_that_the_scripts_show_have_runs() {
    let place = place();
    newcomer::scans(place.path(), 24);
    stdout(place.path(), &["init", "scans", "--hide", "hospital", "--out", "hospital.toml"]);
    for (script, commands) in [("slurm/submit.sh", 2), ("parallel/run.sh", 1)] {
        let shown = shown(script);
        assert_eq!(shown.len(), commands, "{script}: {shown:?}");
        for command in shown {
            let line = format!("{} {command} --list", simile_tests::program().display());
            let output = run(place.path(), Path::new("sh"), &["-c", &line]);
            let said = text(&output);
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
    let jobs = ["runs.yaml", "collect.yaml"].map(|name| repository().join("examples/kubernetes").join(name));
    let output = Command::new(python).args(["-c", validate]).args(jobs).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}
