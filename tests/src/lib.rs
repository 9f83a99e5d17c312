//! Shared by the workspace's tests: the folders of the repository and of reference data, comparisons of numbers, and the list of
//! skipped tests.
#![allow(clippy::unwrap_used)]

#[cfg(test)]
mod imports;
#[cfg(test)]
mod reads;
pub mod reference;
pub mod repository;
pub mod schema;
pub mod settings;
pub mod skipped;
#[cfg(test)]
mod step_code;
pub mod tables;
#[cfg(test)]
mod uploads;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

/// The folder of reference vectors; its README describes them.
pub fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// The folder of real data: `mnist` holds the first digits of both splits, `mnist-labels` two of the official files whole.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

/// An empty folder that is removed at the end of the test: in memory, where Linux has a file system there and `TMPDIR` names no
/// other folder. A disk with ext4 looks at every file that was deleted in the last minutes before it creates one, and tests
/// create and delete thousands.
///
/// # Panics
/// If it cannot be created.
pub fn place() -> TempDir {
    in_memory().map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap()
}

#[cfg(target_os = "linux")]
fn in_memory() -> Option<&'static Path> {
    use rustix::fs::{StatVfsMountFlags, statvfs};
    /// Tests that run side by side take half a GiB.
    const ROOM: u64 = 4 << 30;
    static IS_FIT: LazyLock<bool> = LazyLock::new(|| {
        // Some tests write scripts and start them.
        let is_fit = statvfs("/dev/shm").is_ok_and(|memory| {
            let room = memory.f_bavail.saturating_mul(memory.f_frsize);
            room >= ROOM && !memory.f_flag.contains(StatVfsMountFlags::NOEXEC)
        });
        is_fit && std::env::var_os("TMPDIR").is_none()
    });
    IS_FIT.then_some(Path::new("/dev/shm"))
}

#[cfg(not(target_os = "linux"))]
fn in_memory() -> Option<&'static Path> {
    None
}

/// The binary `simile` that cargo built beside the running test.
///
/// # Panics
/// If it is missing, because the test was built alone.
pub fn program() -> PathBuf {
    binary("simile")
}

/// A binary of the workspace that cargo built beside the running test.
///
/// # Panics
/// If it is missing, because the test was built alone.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().find(|path| path.ends_with("deps")).and_then(Path::parent).unwrap();
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "{} is not there; run `cargo test --workspace`, which builds it",
        program.display()
    );
    program
}

/// A Python that can import `modules`: `SIMILE_PYTHON`, or `python3`. The test is noted as skipped where there is none.
pub fn python(modules: &str) -> Option<PathBuf> {
    let python = std::env::var_os("SIMILE_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let import = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    if import.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skipped::note(&format!("{} has not {modules}; SIMILE_PYTHON can name another", python.display()));
    None
}

/// True if both the binary and the machine have a device; otherwise the test is noted as skipped.
/// `SIMILE_REQUIRE_DEVICES` lists the required devices, separated by commas.
///
/// # Panics
/// If a required device is missing.
pub fn has_device(device: &str) -> bool {
    // Asked once, because each start of the program looks for GPUs.
    static ANSWER: LazyLock<serde_json::Value> = LazyLock::new(|| {
        let output = Command::new(program()).args(["devices", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    });
    let answer = &*ANSWER;
    let rows = answer["devices"].as_array().unwrap();
    let present = |row: &serde_json::Value| row["name"] == device && row["present"] != serde_json::json!([]);
    let has = rows.iter().any(present);
    let required = std::env::var("SIMILE_REQUIRE_DEVICES").unwrap_or_default();
    assert!(has || !required.split(',').any(|name| name == device), "no device `{device}`: {answer}");
    if !has {
        skipped::note(&format!("this build and machine have no device `{device}`"));
    }
    has
}
