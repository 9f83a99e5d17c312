//! What the workspace's tests share: where reference data lies, and how numbers are compared.

use std::path::PathBuf;

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
