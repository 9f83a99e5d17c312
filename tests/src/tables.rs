//! Parts of the tables that tests compare with the descriptions of objectives or the program, or write anew.

use std::path::{Path, PathBuf};

use simile_core::loss::spec::Spec;

/// Text for a cell of a table on a page of the book, which may hold HTML too.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// The file of a description, in the repository.
pub fn file(spec: &Spec) -> PathBuf {
    Path::new("core/src").join(spec.module.trim_start_matches("simile_core::").replace("::", "/") + ".rs")
}
