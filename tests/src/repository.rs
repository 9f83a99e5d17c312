//! The repository: its folder, its files, and texts of it that tests compare with what they are made from, or write anew.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The files of a folder and of those below it for which this is true, in order of their paths.
///
/// # Panics
/// If a folder cannot be read.
pub fn files_below(folder: &Path, is_taken: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if is_taken(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// True for a file whose name ends so, without the dot.
pub fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|extension| extension == ending)
}

/// True if texts are to be written: `SIMILE_WRITE_TABLES=1`.
pub fn writes_tables() -> bool {
    std::env::var_os("SIMILE_WRITE_TABLES").is_some_and(|value| value == "1")
}

/// Asserts that a file has this text, or writes it.
///
/// # Panics
/// If it has another one; the message names the first line that differs.
pub fn assert_kept(file: &Path, text: &str) {
    let content = fs::read_to_string(file).unwrap_or_default();
    // A file that is compiled into a crate is written only where it differs.
    if content != text && writes_tables() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        return;
    }
    let differs = content.lines().zip(text.lines()).position(|(line, wanted)| line != wanted);
    let at = differs.unwrap_or_else(|| content.lines().count().min(text.lines().count()));
    assert!(
        content == text,
        "{}, line {}: expected `{}`; SIMILE_WRITE_TABLES=1 writes it",
        file.display(),
        at + 1,
        text.lines().nth(at).unwrap_or_default()
    );
}
