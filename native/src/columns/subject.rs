//! The column of a user's table that says the subject of each row, such as the patient.

use std::collections::BTreeSet;

use csv::StringRecord;

use super::names;

/// Usual names of the column, for [`names::named`].
const NAMES: [&str; 9] = [
    "patient",
    "patientid",
    "patients",
    "subject",
    "subjectid",
    "participant",
    "participantid",
    "personid",
    "individualid",
];
/// Fewest subjects: a column of fewer values may be a category of that name, such as the subject of a painting.
const FEWEST: usize = 5;

/// A column that is named as one of subjects, and holds several.
#[derive(Debug, PartialEq)]
pub(crate) struct SubjectColumn {
    column: String,
    /// True if cells are empty, so that their rows would be left out.
    has_gaps: bool,
    /// True if it is asked for as an attribute. It is no longer the subject then, because a probe can name only those of its values that
    /// it was fitted to.
    is_asked: bool,
}

impl SubjectColumn {
    /// The column that is named as one of subjects, if there are several and some have more than one row. Rows without a class do not
    /// count: they are left out.
    pub(super) fn find(
        header: &[String],
        rows: &[StringRecord],
        label: &str,
        is_asked: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let column = named(header).filter(|column| *column != label)?;
        let place = |column: &str| header.iter().position(|name| name == column);
        let (at, class) = (place(column)?, place(label)?);
        let has_class = |row: &&StringRecord| row.get(class).is_some_and(|cell| !cell.is_empty());
        let cells: Vec<&str> =
            rows.iter().filter(has_class).map(|row| row.get(at).unwrap_or_default()).collect();
        Self::of(column, &cells, is_asked(column))
    }

    /// The column of a usual name, if its cells are several subjects, some of which have more than one row.
    pub(crate) fn of(column: &str, cells: &[&str], is_asked: bool) -> Option<Self> {
        let subjects: BTreeSet<&str> = cells.iter().copied().collect();
        let are_several = subjects.len() >= FEWEST && subjects.len() < cells.len();
        are_several.then(|| Self { column: column.into(), has_gaps: subjects.contains(""), is_asked })
    }

    /// A note on the rows of one subject, each of which is a `thing`: on empty cells, or on the rows that are held out where no column
    /// says the splits.
    pub(crate) fn note(&self, has_split: bool, thing: &str) -> Option<String> {
        let column = &self.column;
        match (self.has_gaps, has_split, self.is_asked) {
            (true, ..) => Some(with_gaps(column)),
            (false, true, _) => None,
            (false, false, true) => Some(format!(
                "`{column}` is asked for as an attribute, so {thing}s of one `{column}` are both trained and tested on: \
                 the accuracy of the class may be too high"
            )),
            (false, false, false) => Some(format!("{thing}s of one `{column}` are held out together")),
        }
    }

    /// A note on a column that a recipe for pictures does not name, and a remedy. None if it is asked for as an attribute.
    pub(super) fn overlooked(&self) -> Option<String> {
        let Self { column, has_gaps, is_asked } = self;
        let fill = if *has_gaps { "fill its empty cells, and " } else { "" };
        (!is_asked).then(|| {
            format!(
                "`{column}` seems to name the patient, or another subject, of each picture; pictures of one `{column}` may be both \
                 trained on and held out, so results may be too good: {fill}write subject = {column:?} in [data.table]"
            )
        })
    }

    /// Its name, if the rows of one subject are held out together.
    pub(crate) fn subject(self) -> Option<String> {
        (!self.has_gaps && !self.is_asked).then_some(self.column)
    }
}

/// The first column that has a usual name.
pub(crate) fn named(header: &[String]) -> Option<&String> {
    names::named(header, &NAMES)
}

/// The column of the subjects if it is no attribute: whole subjects are held out, of which a probe could name none. Where a column says
/// the splits, a subject may be in both.
pub(crate) fn held_out(subject: Option<&str>, has_split: bool) -> Option<&str> {
    subject.filter(|_| !has_split)
}

/// A note on a column of subjects with empty cells.
pub(crate) fn with_gaps(column: &str) -> String {
    format!(
        "column `{column}` has empty cells, so rows of one {column} may be in both splits; fill them to keep each {column} in one split"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str, cells: &[&str]) -> Option<String> {
        let rows: Vec<StringRecord> = cells.iter().map(|cell| StringRecord::from(vec!["x", cell])).collect();
        SubjectColumn::find(&["label".into(), header.into()], &rows, "label", |_| false)?.subject()
    }

    #[test]
    fn a_column_of_subjects_is_known_by_its_name_and_has_fewer_subjects_than_rows() {
        let several = ["a", "b", "a", "c", "d", "e"];
        assert_eq!(of("Patient", &several).as_deref(), Some("Patient"));
        for name in ["subject_id", "Patient ID", "patient-id", "Patients"] {
            assert_eq!(of(name, &several).as_deref(), Some(name));
        }
        assert_eq!(of("age", &several), None);
        assert_eq!(of("label", &several), None);
        assert_eq!(of("patient", &["a", "b", "c", "d", "e"]), None, "each has one row");
        assert_eq!(of("subject", &["face", "sea", "face", "sea", "face", "sea"]), None, "a category");
        assert_eq!(of("patient", &["a", "", "a", "b", "c", "d", "e"]), None);
        let with_blank_row: Vec<StringRecord> =
            [("x", "a"), ("x", "a"), ("", ""), ("x", "b"), ("x", "c"), ("x", "d"), ("x", "e")]
                .iter()
                .map(|(class, who)| StringRecord::from(vec![*class, *who]))
                .collect();
        let header = ["label".to_owned(), "patient".to_owned()];
        let column = SubjectColumn::find(&header, &with_blank_row, "label", |_| false);
        assert_eq!(column.and_then(SubjectColumn::subject).as_deref(), Some("patient"));
    }
}
