//! Pictures in several rows of a table, and subjects in several splits.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use simile_core::data::Split;

/// Refuses a picture in several rows of different classes; returns a note on pictures in several rows of one class.
pub(super) fn check_repeated(
    files: &[String],
    labels: &[String],
    lines: &[u64],
) -> Result<Option<String>, String> {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (row, file) in files.iter().enumerate() {
        match first.entry(file.trim_start_matches("./")) {
            Entry::Vacant(entry) => drop(entry.insert(row)),
            Entry::Occupied(entry) => repeated.push((*entry.get(), row)),
        }
    }
    let in_lines = |&(one, other): &(usize, usize)| {
        let [one, other] = [one, other].map(|row| lines.get(row).copied().unwrap_or(0));
        format!("lines {one} and {other}")
    };
    let differ = |&&(one, other): &&(usize, usize)| labels.get(one) != labels.get(other);
    if let Some(rows) = repeated.iter().find(differ) {
        let label = |row: usize| labels.get(row).map_or("", String::as_str);
        return Err(format!(
            "{}: the picture `{}` has two classes, `{}` and `{}`; leave one of the rows out",
            in_lines(rows),
            files[rows.0],
            label(rows.0),
            label(rows.1)
        ));
    }
    let Some(rows) = repeated.first() else { return Ok(None) };
    let others = match repeated.len() - 1 {
        0 => String::new(),
        1 => " (and another row repeats one)".into(),
        others => format!(" (and {others} other rows repeat one)"),
    };
    Ok(Some(format!(
        "{}: the picture `{}` appears twice{others}, so it may be in both training and test",
        in_lines(rows),
        files[rows.0]
    )))
}

/// A note on the subjects with pictures in more than one split.
pub(crate) fn in_several_splits(subjects: &[usize], names: &[String], splits: &[Split]) -> Option<String> {
    let mut first: BTreeMap<usize, Split> = BTreeMap::new();
    let is_shared =
        |(subject, split): &(&usize, &Split)| *first.entry(**subject).or_insert(**split) != **split;
    let shared: BTreeSet<usize> =
        subjects.iter().zip(splits).filter(is_shared).map(|(subject, _)| *subject).collect();
    let name = names.get(*shared.first()?)?;
    let others = match shared.len() - 1 {
        0 => String::new(),
        1 => " (and another subject)".into(),
        others => format!(" (and {others} other subjects)"),
    };
    Some(format!(
        "`{name}`{others} has pictures in more than one split, so results may be too good: the network has seen the subject"
    ))
}
