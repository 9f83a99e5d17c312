//! The program as a process that ends by itself, and what it says.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;

/// One thread, because tests run side by side, so that threads of each process would only wait for each other: they took a third of
/// the time. No GPU, which `auto` would look for at each start and choose on some machines: the tests of devices name theirs. Other test
/// programs run it with all threads.
pub(crate) const ALONE: [(&str, &str); 4] = [
    ("RAYON_NUM_THREADS", "1"),
    ("VK_DRIVER_FILES", "/dev/null"),
    ("__EGL_VENDOR_LIBRARY_FILENAMES", "/dev/null"),
    ("CUDA_VISIBLE_DEVICES", ""),
];

/// `simile` with arguments, in a folder where it may write.
pub(crate) fn simile(place: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(simile_tests::program());
    command
        .current_dir(place)
        .env("SIMILE_CACHE", place.join("cache"))
        .envs(ALONE)
        .args(arguments)
        .timeout(Duration::from_secs(120));
    command
}

/// Trains with these arguments, and succeeds.
pub(crate) fn train(place: &Path, rest: &[&str]) {
    simile(place, &[&["train"], rest].concat()).assert().success();
}

/// The text on stdout of a command that succeeds.
pub(crate) fn stdout(place: &Path, arguments: &[&str]) -> String {
    let output = simile(place, arguments).assert().success().get_output().clone();
    String::from_utf8(output.stdout).unwrap()
}

/// The text on stdout, parsed as one JSON document.
pub(crate) fn json(place: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(place, arguments)).unwrap()
}

/// The text on stderr of a command that succeeds.
pub(crate) fn stderr(place: &Path, arguments: &[&str]) -> String {
    let output = simile(place, arguments).assert().success().get_output().clone();
    String::from_utf8(output.stderr).unwrap()
}

/// The text on stderr of a command that fails with `code`.
pub(crate) fn complaint(place: &Path, arguments: &[&str], code: i32) -> String {
    let output = simile(place, arguments).assert().code(code).get_output().clone();
    assert!(output.stdout.is_empty(), "a failure answered: {}", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// The text on stdout of a process that ended.
pub(crate) fn stdout_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The text on stderr of a process that ended.
pub(crate) fn stderr_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// All text of a process that ended: that on stdout, and that on stderr.
pub(crate) fn text_of(output: &Output) -> String {
    stdout_of(output) + &stderr_of(output)
}

/// The JSON document on stdout of a process that ended.
pub(crate) fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error} in {}", text_of(output)))
}
