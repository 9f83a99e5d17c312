//! The columns of a user's table by their roles: the class, the split, the subject, and those that may be attributes.

use anyhow::Result;

use super::class;
use super::kind::Column;
use super::split::SplitColumn;
use super::subject::SubjectColumn;
use super::table::UserTable;
use crate::console::line;
use crate::words::counted;

/// The remedy where another column is taken for the class.
const NAME_THE_CLASS: &str = "name the column of the class with --label";

/// The columns of a table by their roles.
pub(crate) struct Roles {
    pub(crate) split: Option<SplitColumn>,
    /// The column of the subjects, which is among `columns` too.
    pub(crate) subject: Option<String>,
    /// The columns of no other role, which may be attributes.
    pub(crate) columns: Vec<Column>,
    /// The classes with their numbers of rows.
    pub(crate) classes: Vec<(String, usize)>,
    /// A note on the column that is named as one of subjects.
    pub(crate) on_subject: Option<String>,
    /// A note on classes that hardly seem to be classes.
    pub(crate) on_classes: Option<String>,
}

impl Roles {
    /// The roles of the columns beside those of the files and of the class. A row is a `thing`; columns that `is_asked` for are
    /// attributes. Notes on the split are printed; the others are for the caller, who has notes of its own between them.
    ///
    /// # Errors
    /// As [`UserTable::split`].
    pub(crate) fn of(
        table: &UserTable,
        file: Option<&str>,
        class: &str,
        is_asked: impl Fn(&str) -> bool,
        thing: &str,
    ) -> Result<Self> {
        let split = table.split(class, line)?;
        let subject = table.subject(class, is_asked);
        let on_subject = subject.as_ref().and_then(|subject| subject.note(split.is_some(), thing));
        let others =
            table.candidates(&[file, Some(class), split.as_ref().map(|split| split.column.as_str())]);
        let columns = others.into_iter().map(|name| Column::of(name, table.cells(name))).collect();
        let classes = counted(table.cells(class).filter(|cell| !cell.is_empty()));
        let on_classes = class::mostly_single_row_classes(class, &classes, thing, NAME_THE_CLASS);
        let subject = subject.and_then(SubjectColumn::subject);
        Ok(Self { split, subject, columns, classes, on_subject, on_classes })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The roles of a table of twenty rows, two of each patient, of which some attributes are asked for.
    fn of(asked: &[&str]) -> Roles {
        let place = tempfile::tempdir().unwrap();
        let row = |at: usize| {
            let split = if at < 12 { "train" } else { "test" };
            format!("{at}.png,{},{split},{},p{}\n", at % 2, ["north", "south"][at / 2 % 2], at / 2)
        };
        let csv = place.path().join("a.csv");
        let rows: String = (0..20).map(row).collect();
        std::fs::write(&csv, format!("file,ill,split,hospital,patient\n{rows}")).unwrap();
        let table = UserTable::read(&csv).unwrap();
        Roles::of(&table, Some("file"), "ill", |name| asked.contains(&name), "scan").unwrap()
    }

    #[test]
    fn each_column_has_one_role_and_that_of_the_subjects_may_be_an_attribute() {
        let Roles { split, subject, columns, classes, .. } = of(&[]);
        assert_eq!(split.unwrap().column, "split");
        assert_eq!(subject.as_deref(), Some("patient"));
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["hospital", "patient"]);
        assert_eq!(classes, [("0".to_owned(), 10), ("1".to_owned(), 10)]);
        assert_eq!(of(&["patient"]).subject, None);
    }
}
