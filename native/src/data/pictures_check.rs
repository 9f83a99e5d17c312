//! Whether a data set of picture files is whole: its annotations, and every picture that they name.

use std::path::Path;

use serde::Serialize;

use super::check::{FileReport, Report, State};
use super::official::Official;
use super::pictures::{Framing, Pictures, read_pictures};
use super::settings::{Broken, Fit};
use super::{Result, gather};
use crate::config::data::DataSection;

/// What was found out about the pictures.
#[derive(Debug, Serialize)]
pub(crate) struct PicturesReport {
    /// Pictures that the annotations name.
    pub(crate) listed: usize,
    /// Those that are missing or cannot be decoded, each with the reason.
    pub(crate) broken: Vec<String>,
    /// What is absent although the data set can be used without.
    pub(crate) notes: Vec<String>,
}

/// Side that pictures are decoded to, to see whether they can be.
const SIDE: usize = 8;

/// Reads the annotations and decodes every picture.
///
/// # Errors
/// Only for a folder that is none: whatever is wrong with a file is in the report.
pub(super) fn check(official: &Official, section: &DataSection, folder: &Path) -> Result<Report> {
    let gathered = gather(section, folder);
    let root = gathered.as_ref().ok().and_then(|found| found.as_ref()).map(|found| found.root.clone());
    let files = official.needed.iter().map(|name| {
        let above =
            root.iter().flat_map(|root| [root.clone(), root.join("..")]).chain([folder.to_path_buf()]);
        // The last three are those of CelebA's drive.
        let places =
            above.flat_map(|place| ["", "Anno", "Eval", "Img"].map(|inner| place.join(inner).join(name)));
        let path = places.into_iter().find(|path| path.exists());
        let state = match path.as_ref().and_then(|path| path.metadata().ok()) {
            Some(known) if known.is_dir() => State::WellFormed { detail: "a folder".into() },
            Some(known) => State::WellFormed { detail: format!("{} bytes", known.len()) },
            None => State::Missing,
        };
        FileReport { name: (*name).into(), path, state }
    });
    let mut report = Report {
        name: official.name.into(),
        folder: folder.into(),
        files: files.collect(),
        pictures: None,
        problem: None,
        sound: false,
    };
    let gathered = match gathered {
        Ok(Some(gathered)) => gathered,
        Ok(None) => return Ok(report),
        Err(error @ super::DataError::NotAFolder(_)) => return Err(error),
        Err(error) => {
            report.problem = Some(error.to_string());
            return Ok(report);
        }
    };
    let framing = Framing { side: SIDE, channels: 3, fit: Fit::Whole };
    let listed = gathered.catalogue.len();
    let Pictures { broken, .. } =
        read_pictures(&gathered.root, &gathered.catalogue.files, framing, Broken::Skip, None)?;
    // A choice of classes leaves pictures out.
    let is_whole = section.folders.is_none();
    report.problem = official.pictures.filter(|&all| is_whole && all != listed).map(|all| {
        format!(
            "{listed} pictures, where the official data set has {all}; it can be used, but it is not the same"
        )
    });
    report.sound = broken.is_empty() && report.problem.is_none();
    let broken = broken.iter().map(ToString::to_string).collect();
    report.pictures = Some(PicturesReport { listed, broken, notes: gathered.notes });
    Ok(report)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::data::DatasetName;
    use crate::data::gather::birds_of_two_species;
    use crate::data::official::official;

    #[test]
    fn birds_without_pictures_or_attributes_are_told_so() {
        let folder = birds_of_two_species();
        let section = DataSection::of(DatasetName::Cub200);
        let report = check(official("cub-200-2011").unwrap(), &section, folder.path()).unwrap();
        let pictures = report.pictures.as_ref().unwrap();
        assert_eq!((pictures.listed, pictures.broken.len()), (4, 4));
        assert!(!report.sound);
        assert!(pictures.broken[0].contains("Albatross_0046_18.jpg"), "{}", pictures.broken[0]);
        let text = report.to_string();
        assert!(text.contains("missing  attributes/image_attribute_labels.txt"), "{text}");
    }

    #[test]
    fn a_folder_without_annotations_says_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let section = DataSection::of(DatasetName::Waterbirds);
        let report = check(official("waterbirds").unwrap(), &section, folder.path()).unwrap();
        assert!(!report.sound && report.to_string().contains("missing  metadata.csv"), "{report}");
        assert!(check(official("waterbirds").unwrap(), &section, &folder.path().join("none")).is_err());
    }
}
