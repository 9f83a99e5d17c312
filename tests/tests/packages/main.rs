//! The packages that others install: the archives of the crates, and the Python package.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod crates;
mod python;

use std::path::{Path, PathBuf};

/// The folder of the workspace.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
