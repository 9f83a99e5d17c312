//! The command line from the outside: a process, its exit code, its streams and its files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod book;
mod campaign;
mod cluster;
mod data;
mod documents;
mod export;
mod faults;
mod fetch;
mod import;
mod inputs;
mod loss;
mod memory;
mod methods;
mod mpi;
mod newcomer;
mod onnx;
mod own_data;
mod profile;
mod reference;
mod reproduce;
mod resume;
mod runs;
mod schema;
mod selection;
mod sets;
mod several;
mod signals;
mod snapshots;
mod sweep;
mod vectors;

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use simile_tests::place;

/// Tests run side by side, so that threads of each process would only wait for each other: they took a third of the time. Other
/// test programs run it with all threads.
const ONE_THREAD: (&str, &str) = ("RAYON_NUM_THREADS", "1");

/// `simile` with arguments, in a folder where it may write.
fn simile(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(simile_tests::program());
    command
        .current_dir(place)
        .env("SIMILE_CACHE", place.join("cache"))
        .envs([ONE_THREAD])
        .args(arguments)
        .timeout(std::time::Duration::from_secs(120));
    command
}

/// The text on stdout of a command that succeeds.
fn stdout(place: &Path, arguments: &[&str]) -> String {
    let output = simile(place, arguments).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

/// The text on stdout, parsed as one JSON document.
fn json(place: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(place, arguments)).unwrap()
}

/// The text on stderr of a command that fails with `code`.
fn complaint(place: &Path, arguments: &[&str], code: i32) -> String {
    let output = simile(place, arguments).assert().code(code).get_output().clone();
    assert!(output.stdout.is_empty(), "a failure answered: {}", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains("panicked"), "{text}");
    text
}
