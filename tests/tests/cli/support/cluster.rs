//! Slurm and other engines of clusters, where they are installed. `SIMILE_REQUIRE_CLUSTERS=1` makes the absence of one an error.

use std::path::Path;
use std::process::{Command, Output};

use simile_tests::{repository, skipped};

use crate::support::program::ALONE;

/// True if a command succeeds; otherwise the test is noted as skipped.
pub(crate) fn is_there(command: &[&str], remedy: &str) -> bool {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let is_there = output.is_ok_and(|output| output.status.success());
    let is_required = std::env::var_os("SIMILE_REQUIRE_CLUSTERS").is_some_and(|set| set == "1");
    assert!(is_there || !is_required, "`{}` fails: {remedy}", command.join(" "));
    if !is_there {
        skipped::note(&format!("`{}` fails: {remedy}", command.join(" ")));
    }
    is_there
}

/// The end of a program of a cluster, which finds ours in `SIMILE` and is killed after minutes.
pub(crate) fn run(place: &Path, program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "300"]).arg(program).args(arguments).current_dir(place);
    command.env("SIMILE", simile_tests::program()).env("SIMILE_CACHE", place.join("cache")).envs(ALONE);
    command.output().unwrap()
}

/// The end of a command within a Slurm of two nodes; none, and noted, where there is no Slurm.
pub(crate) fn on_two_nodes(place: &Path, command: &[&str]) -> Option<Output> {
    const APART: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let begin = ["sh", "-c", "command -v slurmctld slurmd && mount -t tmpfs tmpfs /run"];
    let sandbox = [&["unshare"], &APART[..], &begin].concat();
    if !is_there(&sandbox, "as root, `apt-get install slurm-wlm`") {
        return None;
    }
    let loopback = repository::root().join("tests/slurm/loopback.sh").display().to_string();
    Some(run(place, Path::new("unshare"), &[&APART[..], &["bash", &loopback], command].concat()))
}
