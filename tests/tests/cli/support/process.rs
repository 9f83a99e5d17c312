//! The program as a process that works while the test looks on, and gets a signal.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::program::{ALONE, stderr_of};
use crate::support::run::iterations;

/// Begins a run.
pub(crate) fn start(place: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(simile_tests::program());
    command.args(arguments).current_dir(place).env("SIMILE_CACHE", place.join("cache")).envs(ALONE);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a condition holds, while a run continues.
pub(crate) fn wait_until(child: &mut Child, what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before {what}");
        assert!(begun.elapsed() < Duration::from_secs(100), "{what} did not come");
        sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, such as `-INT`, and returns the exit code and the text on stderr.
pub(crate) fn end(child: Child, signal: &str) -> (Option<i32>, String) {
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), stderr_of(&output))
}

/// Interrupts a run into the folder `cut` once there is a checkpoint of a variant.
pub(crate) fn interrupt(place: &Path, arguments: &[&str], variant: &str) {
    let mut child = start(place, arguments);
    let run = place.join("cut");
    wait_until(&mut child, &format!("a checkpoint of {variant}"), || iterations(&run, variant) > 0);
    let (code, text) = end(child, "-INT");
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("--resume cut"), "{text}");
    assert!(!run.join("result.json").exists());
}
