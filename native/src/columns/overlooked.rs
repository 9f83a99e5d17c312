//! The column of subjects that a recipe does not name, so that pictures of one subject are trained and tested on.

use std::path::Path;

use super::table::UserTable;
use crate::data::TableSection;

/// A note on the column of a table that has a usual name of one of subjects, if test pictures are drawn at random and the section gives
/// it no role. None if the table cannot be read: its reader says why.
pub(crate) fn note(section: &TableSection, folder: &Path) -> Option<String> {
    if section.split.is_some() || section.subject.is_some() {
        return None;
    }
    let path = folder.join(&section.csv);
    let table = UserTable::read(&path).ok()?;
    let is_asked = |name: &str| section.conditions.values().flatten().any(|column| column == name);
    let subject = table.subject(&section.label, is_asked)?;
    Some(format!("{}: {}", path.display(), subject.overlooked()?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The note on a table of ten pictures, two of each patient, for a section with some further keys.
    fn note_for(keys: &str, last_patient: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let row = |at: usize| {
            let patient = if at == 9 { last_patient.to_owned() } else { format!("p{}", at / 2) };
            format!("{at}.png,{},train,{patient}\n", ["ill", "well"][at % 2])
        };
        let rows: String = (0..10).map(row).collect();
        std::fs::write(folder.path().join("a.csv"), format!("file,label,split,Patient\n{rows}")).unwrap();
        let section: TableSection = toml::from_str(&format!("csv = \"a.csv\"\n{keys}")).unwrap();
        note(&section, folder.path())
    }

    #[test]
    fn a_column_of_patients_that_has_no_role_is_said() {
        let text = note_for("", "p4").unwrap();
        assert!(
            text.contains("a.csv: `Patient` seems to name the patient, or another subject, of each"),
            "{text}"
        );
        assert!(text.ends_with("write subject = \"Patient\" in [data.table]"), "{text}");
        let with_gap = note_for("", "").unwrap();
        assert!(with_gap.contains("fill its empty cells, and write subject ="), "{with_gap}");
        for keys in [
            "subject = \"Patient\"",
            "split = \"split\"",
            "conditions = { who = [\"Patient\"] }",
            "label = \"Patient\"",
        ] {
            assert_eq!(note_for(keys, "p4"), None, "{keys}");
        }
    }
}
