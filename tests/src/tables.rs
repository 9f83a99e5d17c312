//! Texts of the repository that tests compare with the descriptions of objectives or the program, or write anew.

use std::path::{Path, PathBuf};

use simile_core::loss::spec::Spec;

/// True if the texts are to be written: `SIMILE_WRITE_TABLES=1`.
pub fn writes_tables() -> bool {
    std::env::var_os("SIMILE_WRITE_TABLES").is_some_and(|value| value == "1")
}

/// Text for a cell of a table on a page of the book, which may hold HTML too.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// The folder of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The file of a description, in the repository.
pub fn file(spec: &Spec) -> PathBuf {
    Path::new("core/src").join(spec.module.trim_start_matches("simile_core::").replace("::", "/") + ".rs")
}
