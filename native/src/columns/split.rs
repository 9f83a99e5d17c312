//! The column of a user's table that says the split of each row: training, validation or test.

use csv::StringRecord;
use simile_core::data::Split;

use crate::data::csv_file::row_line;
use crate::data::keys::values::JudgedBy;

/// Usual names of the column.
const NAMES: [&str; 5] = ["split", "part", "subset", "set", "fold"];
/// Usual words for a split that the reader of tables does not take, with those that it takes.
const WORDS: [(&str, &str); 3] = [("training", "train"), ("valid", "validation"), ("testing", "test")];

/// The column of the splits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SplitColumn {
    pub(crate) column: String,
    /// The split to judge by: that of the test, or the validation split where no row is of the test.
    pub(crate) judged_by: JudgedBy,
}

/// The first column but that of the class whose name is usual for splits and whose cells are splits. Empty cells say nothing.
/// One that is `train` in every row, or is called so and has no word for a split, is passed over, and `note` gets a note on it.
///
/// # Errors
/// Names line, column and cell if only some of the cells are splits, or some are `train` and the others empty; the column if it
/// leaves no row to train on.
pub(crate) fn find(
    header: &[String],
    rows: &[StringRecord],
    label: &str,
    mut note: impl FnMut(String),
) -> Result<Option<SplitColumn>, String> {
    let named = |name: &'static str| {
        let columns = header.iter().enumerate();
        columns.filter(move |(_, column)| column.eq_ignore_ascii_case(name) && *column != label)
    };
    for (at, column) in NAMES.into_iter().flat_map(named) {
        if let Some(judged_by) = judged_by(column, at, rows, &mut note)? {
            return Ok(Some(SplitColumn { column: column.clone(), judged_by }));
        }
    }
    ["split", "fold"]
        .into_iter()
        .flat_map(named)
        .filter_map(|(at, column)| unknown(column, at, rows))
        .for_each(note);
    Ok(None)
}

/// A note on a column that is called a split and has no word for one, such as `0` or `tr`: its rows are not divided by it.
fn unknown(column: &str, at: usize, rows: &[StringRecord]) -> Option<String> {
    let cells = || rows.iter().filter_map(|row| row.get(at)).filter(|cell| !cell.is_empty());
    let first = cells().find(|cell| meant(cell).is_none())?;
    cells().all(|cell| meant(cell).is_none()).then(|| {
        format!(
            "column `{column}` (`{first}`, ...) is not read as the split: it has none of the words `train`, `validation` and `test`"
        )
    })
}

/// The split that a cell means, also where the reader of tables does not take it.
fn meant(cell: &str) -> Option<Split> {
    let word = cell.to_ascii_lowercase();
    let known = WORDS.iter().find(|(other, _)| *other == word).map_or(word.as_str(), |(_, split)| *split);
    Split::named(known).ok()
}

/// The split to judge by, if the cells of a column are splits. None if no cell is one, or all are `train`, so that none is judged by.
fn judged_by(
    column: &str,
    at: usize,
    rows: &[StringRecord],
    note: &mut impl FnMut(String),
) -> Result<Option<JudgedBy>, String> {
    let cells =
        || rows.iter().filter_map(move |row| Some((row, row.get(at)?))).filter(|(_, cell)| !cell.is_empty());
    let splits: Vec<Split> = cells().filter_map(|(_, cell)| Split::named(cell).ok()).collect();
    if !cells().any(|(_, cell)| meant(cell).is_some()) {
        return Ok(None);
    }
    if let Some((row, cell)) = cells().find(|(_, cell)| Split::named(cell).is_err()) {
        let line = row_line(row);
        let remedy = match meant(cell) {
            Some(split) => format!("write `{}`", split.name()),
            None => "write one of them".into(),
        };
        return Err(format!(
            "line {line}: column `{column}` is `{cell}`, expected `train`, `validation` or `test`; {remedy}, or rename the \
             column if it holds no splits"
        ));
    }
    let has = |split: Split| splits.contains(&split);
    match (has(Split::Train), has(Split::Test), has(Split::Validation)) {
        (false, ..) => Err(format!(
            "no row of column `{column}` is `train`, so there is nothing to train on; write it into the rows to train on"
        )),
        (true, true, _) => Ok(Some(JudgedBy::Test)),
        (true, false, true) => Ok(Some(JudgedBy::Validation)),
        (true, false, false) => match rows.iter().find(|row| row.get(at).is_none_or(str::is_empty)) {
            Some(row) => Err(empty(column, row)),
            None => {
                note(format!("every row of column `{column}` is `train`; a fifth is held out at random"));
                Ok(None)
            }
        },
    }
}

/// The fault of a row without a split.
pub(crate) fn empty(column: &str, row: &StringRecord) -> String {
    format!(
        "line {}: column `{column}` is empty; write the split of every row, or rename the column",
        row_line(row)
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The split that is found in a table with the columns `class` and `column`, whose cells are given.
    fn of(column: &str, cells: &[&str]) -> Result<Option<SplitColumn>, String> {
        let table: String = cells.iter().map(|cell| format!("a,{cell}\n")).collect();
        let text = format!("class,{column}\n{table}");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
        let rows: Vec<StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        find(&header, &rows, "class", drop)
    }

    #[test]
    fn splits_are_told_by_their_words() {
        let judged = |column: &str, cells: &[&str]| of(column, cells).unwrap().map(|split| split.judged_by);
        assert_eq!(judged("split", &["train", "test", "val"]), Some(JudgedBy::Test));
        assert_eq!(judged("Split", &["train", "", "test"]), Some(JudgedBy::Test));
        assert_eq!(judged("fold", &["train", "validation"]), Some(JudgedBy::Validation));
        for (column, cells) in [
            ("split", ["train", "train"]),
            ("fold", ["0", "1"]),
            ("site", ["train", "test"]),
            ("set", ["", ""]),
        ] {
            assert_eq!(judged(column, &cells), None, "{column}: {cells:?}");
        }
    }

    #[test]
    fn a_column_that_is_called_a_split_and_says_none_is_named() {
        let note = |cells: &[&str]| {
            let rows: Vec<StringRecord> =
                cells.iter().map(|cell| StringRecord::from(vec!["a", cell])).collect();
            unknown("split", 1, &rows)
        };
        let text = note(&["", "tr", "te"]).unwrap();
        assert!(text.starts_with("column `split` (`tr`, ...) is not read as the split"), "{text}");
        assert_eq!(note(&["train", "train"]), None);
        assert_eq!(note(&["", ""]), None);
    }

    #[test]
    fn a_split_that_would_be_dropped_is_named() {
        let fault = |cells: &[&str]| of("split", cells).unwrap_err();
        let capitals = fault(&["train", "Test"]);
        assert!(capitals.contains("line 3: column `split` is `Test`"), "{capitals}");
        assert!(capitals.contains("write `test`"), "{capitals}");
        assert!(fault(&["training", "validation"]).contains("write `train`"));
        assert!(fault(&["train", "test", "left"]).contains("is `left`"));
        assert!(fault(&["test", "val"]).contains("no row of column `split` is `train`"));
        let blank = fault(&["train", "", "train"]);
        assert!(
            blank.starts_with("line 3: column `split` is empty; write the split of every row"),
            "{blank}"
        );
    }
}
