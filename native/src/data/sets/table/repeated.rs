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
        "{}: the picture `{}` appears twice{others}, so it may be in both training and test; leave one of the rows out",
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
        "`{name}`{others} has pictures in more than one split, so results may be too good: the network has seen the subject; give all \
         pictures of a subject one split"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A number that is off by one, or "1 other rows", would make the reader look for a row that is not there.
    #[test]
    fn a_note_that_names_one_picture_or_subject_counts_the_others() {
        for (count, words) in
            [(1, ""), (2, " (and another row repeats one)"), (3, " (and 2 other rows repeat one)")]
        {
            let files: Vec<String> = (0..2 * count).map(|row| format!("{}.png", row % count)).collect();
            let labels = vec!["x".to_owned(); 2 * count];
            let lines: Vec<u64> = (2..).take(2 * count).collect();
            let note = check_repeated(&files, &labels, &lines).unwrap().unwrap();
            let begin = format!("lines 2 and {}: the picture `0.png` appears twice{words}, so", 2 + count);
            assert!(note.starts_with(&begin) && note.ends_with("; leave one of the rows out"), "{note}");
        }
        for (count, words) in [(1, ""), (2, " (and another subject)"), (3, " (and 2 other subjects)")] {
            let subjects: Vec<usize> = (0..count).chain(0..count).collect();
            let names: Vec<String> = (0..count).map(|subject| format!("p{subject}")).collect();
            let splits = [vec![Split::Train; count], vec![Split::Test; count]].concat();
            let note = in_several_splits(&subjects, &names, &splits).unwrap();
            assert!(note.starts_with(&format!("`p0`{words} has pictures in more than one split")), "{note}");
            assert!(note.ends_with("; give all pictures of a subject one split"), "{note}");
        }
    }
}
