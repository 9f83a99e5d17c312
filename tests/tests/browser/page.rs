//! The package and the site, built as `cargo web build --quick` does.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Once;
use std::time::SystemTime;

use crate::workspace;

/// The last files written by a build of the package and of the site.
const BUILT: [&str; 2] = ["web/pkg/package.json", "www/dist/index.html"];

/// Files and folders that the package and the site are made of.
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "core", "web", "www"];

/// Subfolders that are not sources.
const MADE: [&str; 5] = ["node_modules", "pkg", "dist", "generated", "tests"];

/// Builds the site, once for all tests, where it is missing or older than a source.
///
/// # Panics
/// If the build fails; the message is its output.
pub(crate) fn build_if_stale() {
    static BUILD: Once = Once::new();
    BUILD.call_once(|| {
        let built = BUILT.map(|file| modified(&workspace().join(file))).into_iter().min().flatten();
        let newest = SOURCES.iter().filter_map(|source| newest_below(&workspace().join(source))).max();
        if built > newest {
            return;
        }
        println!("building the page, which takes minutes");
        let mut build = Command::new(simile_tests::binary("simile-bundle"));
        let status = build.args(["build", "--quick"]).current_dir(workspace()).status().unwrap();
        assert!(status.success(), "the page cannot be built ({status})");
    });
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// The latest time of change of the files in a folder, or of the file itself.
fn newest_below(path: &Path) -> Option<SystemTime> {
    let Ok(entries) = fs::read_dir(path) else { return modified(path) };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let sources = paths.filter(|path| !MADE.iter().any(|folder| path.ends_with(folder)));
    sources.filter_map(|path| newest_below(&path)).max()
}
