//! The column of a user's table that says the subject of each row, such as the patient.

use std::collections::BTreeSet;

use csv::StringRecord;

use super::columns::named;
use crate::console::line;

/// Usual names of the column.
const NAMES: [&str; 12] = [
    "patient",
    "patient_id",
    "patientid",
    "subject",
    "subject_id",
    "subjectid",
    "participant",
    "participant_id",
    "person",
    "person_id",
    "individual",
    "animal",
];

/// The column that is named as one of subjects, if some of them have several rows. One with empty cells is said, and passed over,
/// because its rows would be left out.
pub(super) fn find(header: &[String], rows: &[StringRecord], label: &str) -> Option<String> {
    let column = named(header, &NAMES).filter(|column| *column != label)?;
    let at = header.iter().position(|name| name == column)?;
    let cells = || rows.iter().map(|row| row.get(at).unwrap_or_default());
    let subjects: BTreeSet<&str> = cells().collect();
    if subjects.len() < 2 || subjects.len() == rows.len() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str, cells: &[&str]) -> Option<String> {
        let rows: Vec<StringRecord> = cells.iter().map(|cell| StringRecord::from(vec!["x", cell])).collect();
        find(&["label".into(), header.into()], &rows, "label")
    }

    #[test]
    fn a_column_of_subjects_is_known_by_its_name_and_has_fewer_subjects_than_rows() {
        assert_eq!(of("Patient", &["a", "b", "a"]).as_deref(), Some("Patient"));
        assert_eq!(of("subject_id", &["1", "1", "2"]).as_deref(), Some("subject_id"));
        assert_eq!(of("age", &["a", "b", "a"]), None);
        assert_eq!(of("patient", &["a", "b", "c"]), None, "each has one row");
        assert_eq!(of("patient", &["a", "a", "a"]), None, "nothing can be held out");
        assert_eq!(of("patient", &["a", "", "a"]), None);
        assert_eq!(of("label", &["a", "b", "a"]), None);
    }
}
