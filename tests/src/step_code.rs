//! The sources of a training step without their tests, in which tests search for calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::repository::{files_below, has_ending, root};

/// The sources of a step.
const FOLDERS: [&str; 4] =
    ["core/src", "core/kernels/src", "native/src/experiment/train", "native/src/experiment/prepare"];

/// Files of tests alone, and folders of such files.
const TESTS: [&str; 7] = [
    "tests.rs",
    "train/tests",
    "finite_difference.rs",
    "resnet/step_tests.rs",
    "train/communication.rs",
    "train/reads_nothing.rs",
    "loader/million.rs",
];

/// The lines of code of each file, by its place in the repository.
///
/// # Panics
/// If the list of files of tests names one that is there no more.
pub(crate) fn step_code() -> BTreeMap<String, Vec<String>> {
    let (mut files, mut left_out) = (BTreeMap::new(), BTreeSet::new());
    let sources = |folder: &str| files_below(&root().join(folder), |path| has_ending(path, "rs"));
    for path in FOLDERS.into_iter().flat_map(sources) {
        let is_in = |folder: &str| path.parent().is_some_and(|parent| parent.ends_with(folder));
        if let Some(tests) = TESTS.iter().find(|tests| path.ends_with(tests) || is_in(tests)) {
            left_out.insert(tests);
            continue;
        }
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&path).unwrap();
        files.insert(name, code(&text).into_iter().map(str::to_owned).collect());
    }
    assert!(files.len() > 100, "{} files", files.len());
    let stale: Vec<_> = TESTS.iter().filter(|tests| !left_out.contains(tests)).collect();
    assert!(stale.is_empty(), "these are files of tests and there no more: {stale:?}");
    files
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
fn tests_of_a_file_are_no_code_and_what_follows_their_name_is() {
    let text = "use a;\n#[cfg(test)]\nmod tests;\n// into_data(\nfn b() {}\n\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    c.into_data();";
    assert_eq!(code(text), ["use a;", "#[cfg(test)]", "mod tests;", "fn b() {}", ""]);
}
