//! The archives that `cargo publish` uploads hold all files that their build reads. `cargo package` tests that they compile,
//! by building each from scratch.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use simile_tests::repository;

/// The crates that are published, with their folders.
const CRATES: [(&str, &str); 3] =
    [("simile-kernels", "core/kernels"), ("simile-core", "core"), ("simile", "native")];

/// The files in the archive of a crate.
fn listed(name: &str) -> BTreeSet<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository::root())
        .args(["package", "--list", "--allow-dirty", "--offline", "--package", name])
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(PathBuf::from).collect()
}

/// The files that the code of a source file includes, its tests aside, as paths in the crate.
fn included(file: &Path, text: &str) -> Vec<PathBuf> {
    let code = text.split("#[cfg(test)]\n#[allow").next().unwrap_or_default();
    let parts = code.split("include_str!(").chain(code.split("include_bytes!(")).skip(1);
    let names = parts.filter_map(|rest| rest.strip_prefix('"')?.split('"').next());
    names.map(|name| plain(&file.parent().unwrap().join(name))).collect()
}

/// A path without `..`; one that leaves the crate keeps it.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        if part != Component::ParentDir || !plain.pop() {
            plain.push(part);
        }
        plain
    })
}

#[test]
fn an_archive_holds_what_its_build_reads() {
    for (name, folder) in CRATES {
        let files = listed(name);
        for needed in ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(files.contains(Path::new(needed)), "{name} has no {needed}");
        }
        let sources = files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "rs"));
        let mut inclusions = 0;
        for file in sources.filter(|file| file.starts_with("src") && !file.ends_with("tests.rs")) {
            let text = fs::read_to_string(repository::root().join(folder).join(file)).unwrap();
            for needed in included(file, &text) {
                assert!(files.contains(&needed), "{name}: {} includes {}", file.display(), needed.display());
                inclusions += 1;
            }
        }
        assert!(inclusions > 0, "{name}: no file is included");
        let strange = |file: &&PathBuf| {
            !["rs", "toml", "lock", "md", "py", "json", "css", "js"]
                .iter()
                .any(|kind| file.extension().is_some_and(|extension| extension == *kind))
        };
        let others: Vec<_> = files.iter().filter(strange).collect();
        assert!(others.len() <= 4, "{name}: {others:?}");
    }
}

#[test]
fn what_the_command_line_ships_is_in_its_archive() {
    let files = listed("simile");
    for folder in ["recipes", "tables"] {
        let entries = fs::read_dir(repository::root().join("native").join(folder)).unwrap();
        for entry in entries {
            let file = Path::new(folder).join(entry.unwrap().file_name());
            assert!(files.contains(&file), "{}", file.display());
        }
    }
}

#[test]
fn a_crate_says_what_it_is() {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository::root())
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    for (name, _) in CRATES {
        let package = packages.iter().find(|package| package["name"] == name).unwrap();
        for field in ["description", "license", "readme", "rust_version"] {
            assert!(package[field].is_string(), "{name} has no {field}");
        }
        for field in ["keywords", "categories"] {
            assert!(!package[field].as_array().unwrap().is_empty(), "{name} has no {field}");
        }
    }
    let core = packages.iter().find(|package| package["name"] == "simile-core").unwrap();
    let documented = core["metadata"]["docs"]["rs"]["features"].as_array().unwrap();
    assert!(documented.contains(&"pictures".into()), "docs.rs leaves out `formats::picture`: {documented:?}");
    let published = packages.iter().filter(|package| package["publish"].is_null());
    assert_eq!(published.count(), CRATES.len(), "all others say publish = false");
}
