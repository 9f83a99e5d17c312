//! The errors of reading the data of a run, with their remedies.

use simile_core::data::DatasetError;

use crate::config::own_names::near_folder;
use crate::data::{DataError, DataSection, unread};
use crate::exit::usage;

/// The error of reading a data set, which is one of usage if it names a key of the recipe whose value the pictures cannot have. That of a
/// folder that is not there names the nearest.
pub(crate) fn refused(section: &DataSection, error: DataError) -> anyhow::Error {
    match &error {
        DataError::Dataset(DatasetError::Parameter { name, .. }) if name.starts_with("data.") => {
            usage(&error)
        }
        DataError::NotAFolder(folder) => {
            let with_near = format!("{error}{}", near_folder(folder));
            anyhow::Error::new(error).context(with_near)
        }
        _ => unread(section, error),
    }
}

/// The error of reading images after words on the folder of their data. If it says no more than that the folder is not there, the words
/// stand alone: they name it, and the remedy.
pub(crate) fn explained(error: anyhow::Error, words: String) -> anyhow::Error {
    match error.downcast_ref() {
        Some(DataError::NotAFolder(_)) => anyhow::Error::msg(words),
        _ => error.context(words),
    }
}

/// The error for a data set with files but without a folder.
pub(crate) fn no_folder(section: &DataSection) -> anyhow::Error {
    match section.dataset.is_own() {
        true => usage("the recipe is for pictures of your own; name their folder with --data DIR"),
        false => usage(
            "this data set has files; name their folder with --data DIR (`simile data list` says which)",
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::exit::message_with_causes;
    use crate::experiment::prepare::splits::Splits;

    #[test]
    fn a_folder_that_is_not_there_is_named_once() {
        let section: DataSection =
            toml::from_str("dataset = \"table\"\ntest = 2\n[table]\ncsv = \"a.csv\"").unwrap();
        let encoder = section.dataset.native();
        let error = Splits::load(&section, Some(Path::new("/nowhere")), &encoder).unwrap_err();
        let words = || "its data were in /nowhere; name their folder".to_owned();
        assert_eq!(message_with_causes(&explained(error, words())), words());
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("scans")).unwrap();
        let error = Splits::load(&section, Some(&place.path().join("scan")), &encoder).unwrap_err();
        let (said, near) = (message_with_causes(&error), place.path().join("scans"));
        assert!(said.ends_with(&format!("with --data; did you mean `{}`?", near.display())), "{said}");
        assert_eq!(said.matches("is not a folder").count(), 1, "{said}");
        assert_eq!(message_with_causes(&explained(error, words())), words());
        let other = message_with_causes(&explained(anyhow::anyhow!("disk full"), words()));
        assert_eq!(other, format!("{}: disk full", words()));
    }
}
