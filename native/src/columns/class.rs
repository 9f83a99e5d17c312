//! Rules for the column of the class.

use anyhow::Result;

use crate::exit::usage;

/// Checks that the cells of the column of the class have several values.
///
/// # Errors
/// A usage error names the file, the column and the only value.
pub(crate) fn check<S: AsRef<str>>(column: &str, cells: &[S], origin: &str) -> Result<()> {
    let Some((first, others)) = cells.split_first() else { return Ok(()) };
    if others.is_empty() || others.iter().any(|cell| cell.as_ref() != first.as_ref()) {
        return Ok(());
    }
    Err(usage(format_args!(
        "{origin}: the column of the class, `{column}`, is `{}` in all {} rows; a classifier needs at least two classes",
        first.as_ref(),
        cells.len()
    )))
}

/// A note if most rows are the only one of their class, with a remedy. `classes` are those of the column `label`, each with its number
/// of rows; a row is a `thing`.
pub(crate) fn mostly_single_row_classes(
    label: &str,
    classes: &[(String, usize)],
    thing: &str,
    remedy: &str,
) -> Option<String> {
    let rows: usize = classes.iter().map(|(_, count)| count).sum();
    let alone = classes.iter().filter(|(_, count)| *count == 1).count();
    (classes.len() > 2 && 2 * alone > rows).then(|| {
        format!(
            "most of the {} classes of `{label}` have one {thing}; if `{label}` is not the class, {remedy}",
            classes.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::counted;

    #[test]
    fn classes_of_one_row_each_are_said() {
        let of = |cells: &[&str]| {
            mostly_single_row_classes("age", &counted(cells.iter().copied()), "picture", "name another")
        };
        let note = "most of the 4 classes of `age` have one picture; if `age` is not the class, name another";
        assert_eq!(of(&["61", "62", "63.5", "70", "70"]).as_deref(), Some(note));
        assert_eq!(of(&["cat", "dog", "cat", "dog", "eel", "eel", "owl"]), None);
    }
}
