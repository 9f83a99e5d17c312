//! What the workspace's tests share: where reference data lies, and how numbers are compared.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

pub mod reference;
pub mod schema;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of reference vectors: `SIMILE_VECTORS`, or `shared/vectors` beside the checkout.
pub fn vectors() -> Option<PathBuf> {
    folder("SIMILE_VECTORS", "../../shared/vectors")
}

/// The folder of real data: `SIMILE_DATA`, or `shared/data` beside the checkout.
pub fn data() -> Option<PathBuf> {
    folder("SIMILE_DATA", "../../shared/data")
}

fn folder(variable: &str, beside: &str) -> Option<PathBuf> {
    let given = std::env::var_os(variable).map(PathBuf::from);
    let path = given.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(beside));
    path.is_dir().then_some(path)
}

/// The binary `simile` that cargo built beside the running test.
///
/// # Panics
/// If it is not there: the test was built alone.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().find(|path| path.ends_with("deps")).and_then(Path::parent).unwrap();
    let program = folder.join(format!("simile{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "{} is not there; run `cargo test --workspace`, which builds it",
        program.display()
    );
    program
}

/// A Python that can import `modules`: `SIMILE_PYTHON`, or `python3`. Says so where there is none.
pub fn python(modules: &str) -> Option<PathBuf> {
    let python = std::env::var_os("SIMILE_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let import = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    if import.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!("skipped: {} has not {modules}; SIMILE_PYTHON can name another", python.display());
    None
}

/// Whether the binary has a device and the machine too; says so where not. `SIMILE_REQUIRE_DEVICES` names, with commas
/// between them, those that have to be there.
///
/// # Panics
/// If one that has to be there is missing.
pub fn has_device(device: &str) -> bool {
    let output = Command::new(program()).args(["devices", "--json"]).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = answer["devices"].as_array().unwrap();
    let present = |row: &serde_json::Value| row["name"] == device && row["present"] != serde_json::json!([]);
    let has = rows.iter().any(present);
    let required = std::env::var("SIMILE_REQUIRE_DEVICES").unwrap_or_default();
    assert!(has || !required.split(',').any(|name| name == device), "no device `{device}`: {answer}");
    if !has {
        println!("skipped: this build and machine have no device `{device}`");
    }
    has
}
