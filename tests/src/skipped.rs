//! Tests that could not run on this machine, with the reasons. Each adds a line to the file of the current run of
//! `cargo test`; the test program `unrun`, which cargo runs after these tests, prints them.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The list of the run that ended last, in the target folder: empty where every test ran.
const LAST: &str = "skipped.txt";

/// Notes that the running test cannot run.
///
/// # Panics
/// If the line cannot be written, because the test would then be skipped silently.
pub fn note(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    print!("skipped {line}");
    let mut file = fs::OpenOptions::new().create(true).append(true).open(notes()).unwrap();
    // One call, so that lines of concurrent tests stay whole.
    file.write_all(line.as_bytes()).unwrap();
}

/// The lines of this run of `cargo test`, each once, in order. They are written to `LAST`, and the file of the run is
/// removed.
///
/// # Panics
/// If the target folder cannot be written to.
pub fn take() -> Vec<String> {
    let text = fs::read_to_string(notes()).unwrap_or_default();
    let lines: BTreeSet<&str> = text.lines().collect();
    let lines: Vec<String> = lines.into_iter().map(String::from).collect();
    let _ = fs::remove_file(notes());
    fs::write(folder().join(LAST), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    lines
}

/// A run is identified by the process that started its test programs, so that an interrupted run leaves no line to
/// another.
fn notes() -> PathBuf {
    #[cfg(unix)]
    let run = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let run = "run";
    folder().join(format!("skipped-{run}.txt"))
}

/// `target/tmp`.
fn folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target =
        test.ancestors().find(|path| path.ends_with("deps")).and_then(Path::parent).and_then(Path::parent);
    let folder = target.unwrap().join("tmp");
    fs::create_dir_all(&folder).unwrap();
    folder
}
