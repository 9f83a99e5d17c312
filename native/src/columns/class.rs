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

/// A note if most rows are alone in their class. A class is a column with these numbers of rows, each of which is a `thing`.
pub(crate) fn lonely(label: &str, classes: &[(String, usize)], thing: &str) -> Option<String> {
    let rows: usize = classes.iter().map(|(_, count)| count).sum();
    let alone = classes.iter().filter(|(_, count)| *count == 1).count();
    (classes.len() > 2 && 2 * alone > rows).then(|| {
        format!(
            "most of the {} classes have one {thing}: does `{label}` hold numbers? a class column holds names",
            classes.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::words::counted;

    #[test]
    fn classes_of_one_row_each_are_said() {
        let of = |cells: &[&str]| lonely("label", &counted(cells.iter().copied()), "picture");
        let note =
            "most of the 4 classes have one picture: does `label` hold numbers? a class column holds names";
        assert_eq!(of(&["61", "62", "63.5", "70", "70"]).as_deref(), Some(note));
        assert_eq!(of(&["cat", "dog", "cat", "dog", "eel", "eel", "owl"]), None);
    }
}
