//! The column of a user's table that says the subject of each row, such as the patient.

use std::collections::BTreeSet;

use csv::StringRecord;

use super::named;
use crate::console::line;

/// Usual names of the column.
const NAMES: [&str; 10] = [
    "patient",
    "patient_id",
    "patientid",
    "subject",
    "subject_id",
    "subjectid",
    "participant",
    "participant_id",
    "person_id",
    "individual_id",
];
/// Fewest subjects: a column of fewer values may be a category of that name, such as the subject of a painting.
const FEWEST: usize = 5;

/// The column that is named as one of subjects, if there are several and some have more than one row. One with empty cells is said, and
/// passed over, because its rows would be left out.
pub(crate) fn find(header: &[String], rows: &[StringRecord], label: &str) -> Option<String> {
    let column = named(header, &NAMES).filter(|column| *column != label)?;
    let at = header.iter().position(|name| name == column)?;
    let cells = || rows.iter().map(|row| row.get(at).unwrap_or_default());
    let subjects: BTreeSet<&str> = cells().collect();
    if subjects.len() < FEWEST || subjects.len() == rows.len() {
        return None;
    }
    if subjects.contains("") {
        line(format_args!(
            "column `{column}` has empty cells, so that the rows of one {column} may be in both parts; fill them to hold out whole ones"
        ));
        return None;
    }
    Some(column.clone())
}

/// Says that subjects are held out whole, where no column says the parts. Each row is a `thing`.
pub(crate) fn say(subject: Option<&String>, thing: &str) {
    if let Some(subject) = subject {
        line(format_args!("{thing}s of one `{subject}` are held out together"));
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
        assert_eq!(of("subject_id", &several).as_deref(), Some("subject_id"));
        assert_eq!(of("age", &several), None);
        assert_eq!(of("label", &several), None);
        assert_eq!(of("patient", &["a", "b", "c", "d", "e"]), None, "each has one row");
        assert_eq!(of("subject", &["face", "sea", "face", "sea", "face", "sea"]), None, "a category");
        assert_eq!(of("patient", &["a", "", "a", "b", "c", "d", "e"]), None);
    }
}
