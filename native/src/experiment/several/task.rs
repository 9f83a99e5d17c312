//! One of several runs: its work, its line in the list of all, and the message where it is missing.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use super::outcome::read_outcome;
use crate::console::line;
use crate::run_folder::folder::{RECIPE, process_at_work};

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// The row of the table, or the point of the sweep, whose runs differ in their seeds.
    pub(crate) group: String,
    pub(crate) seed: u64,
    pub(crate) folder: PathBuf,
    /// The run whose encoder it begins with, which comes earlier.
    pub(crate) after: Option<usize>,
    /// Its data or weights that are not on this machine, in words.
    pub(crate) missing: Option<String>,
}

/// A line of the list.
#[derive(Debug, Serialize)]
pub(crate) struct ListEntry<'t> {
    index: usize,
    folder: String,
    #[serde(rename = "row")]
    group: &'t str,
    seed: u64,
    /// The index of the run that must be there first.
    after: Option<usize>,
    done: bool,
}

/// A run without a result.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Missing {
    pub(crate) index: usize,
    pub(crate) folder: String,
    pub(crate) reason: String,
}

impl Task {
    /// True if it has a result, which needs nothing that is missing.
    pub(crate) fn has_ended(&self) -> bool {
        read_outcome(&self.folder).is_some()
    }

    /// True if a process works on it, or did.
    pub(super) fn is_begun(&self) -> bool {
        self.folder.join(RECIPE).is_file() || process_at_work(&self.folder).is_some()
    }
}

impl<'t> ListEntry<'t> {
    /// The line of the run of an index.
    pub(super) fn of(index: usize, task: &'t Task) -> Self {
        let Task { group, seed, folder, after, .. } = task;
        let (done, folder) = (task.has_ended(), folder.display().to_string());
        Self { index, folder, group, seed: *seed, after: *after, done }
    }

    /// Its fields with tabs between them.
    pub(crate) fn text(&self) -> String {
        let Self { index, folder, group, seed, after, done } = self;
        let after = after.map_or_else(|| "-".into(), |after| after.to_string());
        let done = if *done { "done" } else { "missing" };
        format!("{index}\t{folder}\t{group}\t{seed}\t{after}\t{done}")
    }
}

/// Fails if a run is missing, with the indices in the form that `sbatch --array` takes; a line for each comes before.
///
/// # Errors
/// A run is missing.
pub(crate) fn nothing_missing(missing: &[Missing], count: usize) -> Result<()> {
    for Missing { index, folder, reason } in missing {
        line(format_args!("missing: {index}, {folder}: {reason}"));
    }
    match missing.len() {
        0 => Ok(()),
        some => anyhow::bail!(
            "{some} of {count} runs are missing: {}; the same command with --task INDEX runs one of them, and with --jobs N \
             all of them here",
            ranges(missing.iter().map(|one| one.index))
        ),
    }
}

/// Numbers in rising order as `0,3-5`.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_named_as_an_array_takes_them() {
        assert_eq!(ranges([0, 3, 4, 5, 9].into_iter()), "0,3-5,9");
        let one = |index| Missing { index, folder: "a".into(), reason: "not begun".into() };
        let error = nothing_missing(&[one(3), one(4)], 8).unwrap_err().to_string();
        assert!(error.starts_with("2 of 8 runs are missing: 3-4;"), "{error}");
        nothing_missing(&[], 8).unwrap();
    }
}
