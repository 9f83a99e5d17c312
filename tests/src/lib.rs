//! What the workspace's tests share: where reference data lies, and how numbers are compared.
#![allow(clippy::unwrap_used)]

pub mod reference;

use std::path::{Path, PathBuf};

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
