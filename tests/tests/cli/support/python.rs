//! Programs in Python.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::program::{json_of, stderr_of};

/// The JSON document that a program prints, which Python runs with arguments in a folder.
pub(crate) fn answer(python: &Path, folder: &Path, program: &str, arguments: &[&str]) -> Value {
    let mut command = Command::new(python);
    let output = command.current_dir(folder).args(["-c", program]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output));
    json_of(&output)
}
