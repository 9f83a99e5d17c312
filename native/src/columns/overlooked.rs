//! The column of subjects that a recipe does not name, so that pictures of one subject may be both trained on and held out.

use std::path::Path;

use super::table::UserTable;
use crate::data::TableSection;

/// A note on the column of a table that has a usual name of one of subjects, if the section gives it no role and pictures are held out
/// at random: where no column says the splits, or where a recipe `draws` some of the training pictures. None if the table cannot be
/// read: its reader says why.
pub(crate) fn note(section: &TableSection, folder: &Path, draws: bool) -> Option<String> {
    if section.subject.is_some() || (section.split.is_some() && !draws) {
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
    fn note_for(keys: &str, last_patient: &str, draws: bool) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let row = |at: usize| {
            let patient = if at == 9 { last_patient.to_owned() } else { format!("p{}", at / 2) };
            format!("{at}.png,{},train,{patient}\n", ["ill", "well"][at % 2])
        };
        let rows: String = (0..10).map(row).collect();
        std::fs::write(folder.path().join("a.csv"), format!("file,label,split,Patient\n{rows}")).unwrap();
        let section: TableSection = toml::from_str(&format!("csv = \"a.csv\"\n{keys}")).unwrap();
        note(&section, folder.path(), draws)
    }

    #[test]
    fn a_column_of_patients_that_has_no_role_is_said() {
        let text = note_for("", "p4", false).unwrap();
        assert!(
            text.contains("a.csv: `Patient` seems to name the patient, or another subject, of each"),
            "{text}"
        );
        assert!(text.ends_with("write subject = \"Patient\" in [data.table]"), "{text}");
        let with_gap = note_for("", "", false).unwrap();
        assert!(with_gap.contains("fill its empty cells, and write subject ="), "{with_gap}");
        for keys in [
            "subject = \"Patient\"",
            "split = \"split\"",
            "conditions = { who = [\"Patient\"] }",
            "label = \"Patient\"",
        ] {
            assert_eq!(note_for(keys, "p4", false), None, "{keys}");
        }
    }

    /// It was not said where a column says the splits, although the recipe held out training pictures at random.
    #[test]
    fn a_column_of_patients_is_said_beside_that_of_splits_if_training_pictures_are_held_out() {
        let text = note_for("split = \"split\"", "p4", true).unwrap();
        assert!(text.contains("pictures of one `Patient` may be both trained on and held out"), "{text}");
        for keys in ["subject = \"Patient\"", "split = \"split\"\nsubject = \"Patient\""] {
            assert_eq!(note_for(keys, "p4", true), None, "{keys}");
        }
    }
}
