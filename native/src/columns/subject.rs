//! The column of a user's table that says the subject of each row, such as the patient.

use std::collections::BTreeSet;

use csv::StringRecord;

use crate::console::line;

/// Usual names of the column, for [`columns::named`](super::named).
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

/// The column that is named as one of subjects, if there are several and some have more than one row. Rows without a class do not count:
/// they are left out.
pub(crate) fn find(header: &[String], rows: &[StringRecord], label: &str) -> Option<String> {
    let column = named(header).filter(|column| *column != label)?;
    let place = |column: &str| header.iter().position(|name| name == column);
    let (at, class) = (place(column)?, place(label)?);
    let has_class = |row: &&StringRecord| row.get(class).is_some_and(|cell| !cell.is_empty());
    let cells: Vec<&str> = rows.iter().filter(has_class).map(|row| row.get(at).unwrap_or_default()).collect();
    are_several(column, &cells).then(|| column.clone())
}

/// The first column that has a usual name.
pub(crate) fn named(header: &[String]) -> Option<&String> {
    super::named(header, &NAMES)
}

/// True if the cells of a column are several subjects, some of which have more than one row. A column with empty cells is said, and passed
/// over, because its rows would be left out.
pub(crate) fn are_several(column: &str, cells: &[&str]) -> bool {
    let subjects: BTreeSet<&str> = cells.iter().copied().collect();
    if subjects.len() < FEWEST || subjects.len() == cells.len() {
        return false;
    }
    if subjects.contains("") {
        line(with_gaps(column));
        return false;
    }
    true
}

/// A note on a column of subjects with empty cells.
pub(crate) fn with_gaps(column: &str) -> String {
    format!(
        "column `{column}` has empty cells, so the rows of one {column} may be in both parts; fill them to hold out whole ones"
    )
}

/// Says that subjects are held out whole, where no column says the splits. Each row is a `thing`. A subject that is `asked` for as an
/// attribute is no longer one, because a probe can name only those of its values that it was fitted to.
pub(crate) fn say(subject: Option<&String>, is_asked: bool, thing: &str) {
    match subject {
        Some(subject) if is_asked => line(format_args!(
            "`{subject}` is asked for as an attribute, so {thing}s of one `{subject}` are both trained and tested on: \
             the accuracy of the class may be too high"
        )),
        Some(subject) => line(format_args!("{thing}s of one `{subject}` are held out together")),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str, cells: &[&str]) -> Option<String> {
        let rows: Vec<StringRecord> = cells.iter().map(|cell| StringRecord::from(vec!["x", cell])).collect();
        find(&["label".into(), header.into()], &rows, "label")
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
        assert_eq!(find(&header, &with_blank_row, "label").as_deref(), Some("patient"));
    }
}
