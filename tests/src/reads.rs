//! Checks in the sources that no step reads from its device or waits for it. Core reads in one file only, which counts its reads;
//! kernels and the parts of a step in the command line do not read, with the exceptions below. Another test,
//! `native/src/reproduce/reads.rs`, counts the reads that each recipe makes through that file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tables::repository;

/// The sources of a step.
const FOLDERS: [&str; 4] =
    ["core/src", "core/kernels/src", "native/src/experiment/train", "native/src/experiment/prepare"];

/// Calls that read from a device or wait for it; Burn's sorts and searches do so within.
const READS: [&str; 17] = [
    "Transaction",
    "into_data(",
    "into_data_async(",
    ".to_data(",
    "into_scalar",
    "read_sync",
    "read_one",
    "read_lazy",
    "read_tensor",
    ".sync(",
    "argsort",
    "sort_with_indices",
    "topk",
    "nonzero",
    "argwhere",
    "mask_select",
    "mean_loss(",
];

/// Files that may make such a call, with the reason.
const ALLOWED: [(&str, &str, &str); 13] = [
    ("core/src/numeric/read.rs", "Transaction", "the one place of core, which counts"),
    ("core/src/numeric/read.rs", "into_data(", "the memory of a CPU backend"),
    ("core/src/numeric/read.rs", "into_data_async(", "the one place of core, which counts"),
    ("core/src/numeric/read.rs", "read_sync", "the one place of core, which counts"),
    ("core/src/train/mod.rs", "mean_loss(", "its definition: once every `log_every` steps"),
    ("core/kernels/src/ops/augmentation.rs", "into_data(", "a default body: GPUs have one of their own"),
    ("core/kernels/src/ops/augmentation.rs", "read_sync", "a default body: GPUs have one of their own"),
    ("core/kernels/src/backends/flex/pairs.rs", "into_data(", "the memory of a CPU backend"),
    ("core/kernels/src/backends/flex/augmentation.rs", "into_data(", "the memory of a CPU backend"),
    ("core/kernels/src/backends/flex/memory.rs", "into_data(", "the memory of a CPU backend"),
    ("native/src/experiment/train/mod.rs", ".sync(", "the first step on a GPU, whose time is told"),
    ("native/src/experiment/train/mod.rs", "mean_loss(", "the loss of every `log_every` steps"),
    ("native/src/experiment/train/checkpoints.rs", "mean_loss(", "the same, of steps that are repeated"),
];

/// Files of tests alone.
const TESTS: [&str; 4] = ["tests.rs", "finite_difference.rs", "resnet/step_tests.rs", "loader/million.rs"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect()
}

/// The lines of code before the tests of a file.
fn code(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let begins_tests = |at: &usize| {
        let mut rest = lines[*at..].iter().skip_while(|line| line.starts_with("#["));
        lines[*at] == "#[cfg(test)]"
            && rest.next().is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let end = (0..lines.len()).find(begins_tests).unwrap_or(lines.len());
    lines[..end].iter().filter(|line| !line.trim_start().starts_with("//")).copied().collect()
}

#[test]
fn nothing_in_a_step_reads_from_a_device_but_what_is_listed() {
    let (mut unlisted, mut listed, mut left_out) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut count = 0;
    for path in FOLDERS.iter().flat_map(|folder| sources(&repository().join(folder))) {
        if let Some(tests) = TESTS.iter().find(|tests| path.ends_with(tests)) {
            left_out.insert(tests);
            continue;
        }
        count += 1;
        let name = path.strip_prefix(repository()).unwrap().to_string_lossy().replace('\\', "/");
        for line in code(&fs::read_to_string(&path).unwrap()) {
            for call in READS.iter().filter(|call| line.contains(*call)) {
                match ALLOWED.iter().position(|(file, allowed, _)| *file == name && allowed == call) {
                    Some(at) => drop(listed.insert(at)),
                    None => unlisted.push(format!("{name}: {}", line.trim())),
                }
            }
        }
    }
    assert!(count > 100, "{count} files");
    assert!(unlisted.is_empty(), "these read from a device:\n{}", unlisted.join("\n"));
    let stale: Vec<_> = (0..ALLOWED.len()).filter(|at| !listed.contains(at)).map(|at| ALLOWED[at]).collect();
    assert!(stale.is_empty(), "these are allowed and there no more: {stale:?}");
    let stale: Vec<_> = TESTS.iter().filter(|tests| !left_out.contains(tests)).collect();
    assert!(stale.is_empty(), "these are files of tests and there no more: {stale:?}");
}

#[test]
fn tests_of_a_file_are_no_code_and_what_follows_their_name_is() {
    let text = "use a;\n#[cfg(test)]\nmod tests;\n// into_data(\nfn b() {}\n\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    c.into_data();";
    assert_eq!(code(text), ["use a;", "#[cfg(test)]", "mod tests;", "fn b() {}", ""]);
}
