//! Checks that the files of a data set are the published ones, and complete.

use std::path::Path;

use super::check_report::{CheckReport, FileCheck, FileReport, PicturesReport};
use super::error::{DataError, Result};
use super::keys::values::{Broken, Fit};
use super::pictures::read::{Pictures, read_pictures};
use super::pictures::resize::ResizeSpec;
use super::section::DataSection;
use super::source::{About, ArrayFiles, Medium, PictureFiles};

/// Side of pictures decoded for the check.
const SIDE: usize = 8;

/// Checks every file of a data set in a folder, and every picture if it has picture files.
///
/// # Errors
/// Only if `folder` is not a folder: faults of files are in the report.
pub(crate) fn check(folder: &Path, section: &DataSection) -> Result<CheckReport> {
    let about = section.dataset.about();
    let mut report = CheckReport {
        name: about.name.into(),
        folder: folder.into(),
        files: Vec::new(),
        pictures: None,
        problem: None,
        sound: false,
    };
    match section.dataset.medium() {
        Medium::Drawn(_) => report.sound = true,
        Medium::Arrays(set) => check_arrays(set, folder, &mut report)?,
        Medium::Pictures(set) => check_pictures(set, about, section, folder, &mut report)?,
    }
    Ok(report)
}

/// Checks each file, and reads all of them together if each is usable.
fn check_arrays(set: &dyn ArrayFiles, folder: &Path, report: &mut CheckReport) -> Result<()> {
    report.files = set.check(folder)?;
    let usable = report.files.iter().all(|file| file.state.is_usable());
    report.problem = if usable { set.read(folder).err().map(|error| error.to_string()) } else { None };
    report.sound = usable && report.problem.is_none();
    Ok(())
}

/// Reads the annotations and decodes every picture.
fn check_pictures(
    set: &dyn PictureFiles,
    about: &About,
    section: &DataSection,
    folder: &Path,
    report: &mut CheckReport,
) -> Result<()> {
    let annotations = set.annotations(&section.options(), folder);
    report.files =
        needed(about, annotations.as_ref().ok().map(|annotations| annotations.root.as_path()), folder);
    let annotations = match annotations {
        Ok(annotations) => annotations,
        Err(error @ DataError::NotAFolder(_)) => return Err(error),
        Err(error) => {
            report.problem = Some(error.to_string());
            return Ok(());
        }
    };
    let resize = ResizeSpec { side: SIDE, channels: 3, fit: Fit::Whole };
    let listed = annotations.catalogue.len();
    let Pictures { broken, .. } = read_pictures(annotations.list(), resize, Broken::Skip, None)?;
    let is_whole = set.is_whole(&section.options());
    report.problem = about.pictures.filter(|&all| is_whole && all != listed).map(|all| {
        format!(
            "{listed} pictures, where the official data set has {all}; it can be used, but results are not comparable"
        )
    });
    report.sound = broken.is_empty() && report.problem.is_none();
    let broken = broken.iter().map(ToString::to_string).collect();
    report.pictures = Some(PicturesReport { listed, broken, notes: annotations.notes });
    Ok(())
}

/// The state of the files whose presence marks a data set of pictures as present.
fn needed(about: &About, root: Option<&Path>, folder: &Path) -> Vec<FileReport> {
    let report = |name: &&str| {
        let places =
            root.iter().flat_map(|root| [root.to_path_buf(), root.join("..")]).chain([folder.to_path_buf()]);
        let path = places.map(|place| place.join(name)).find(|path| path.exists());
        let state = match path.as_ref().and_then(|path| path.metadata().ok()) {
            Some(known) if known.is_dir() => FileCheck::WellFormed { detail: "a folder".into() },
            Some(known) => FileCheck::WellFormed { detail: format!("{} bytes", known.len()) },
            None => FileCheck::Missing,
        };
        FileReport { name: (*name).into(), path, state }
    };
    about.needed.iter().map(report).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::DatasetName;
    use crate::data::arrays::mnist::OFFICIAL;
    use crate::data::arrays::mnist::tests::{real, write_small};
    use crate::data::files::content;
    use crate::data::sets::cub_200_2011::tests::birds_of_two_species;
    use std::fs;

    fn try_check(folder: &Path, name: &str) -> Result<CheckReport> {
        super::check(folder, &DataSection::of(DatasetName::find(name).unwrap()))
    }

    fn check(folder: &Path, name: &str) -> CheckReport {
        try_check(folder, name).unwrap()
    }

    #[test]
    fn the_real_files_have_the_official_md5() {
        let folder = real("mnist-labels");
        let report = check(&folder, "colour-mnist");
        for (at, file) in report.files.iter().enumerate() {
            let official = FileCheck::Official { md5: OFFICIAL[at].archive.into() };
            let expected = if file.name.contains("labels") { official } else { FileCheck::Missing };
            assert_eq!(file.state, expected, "{}", file.name);
        }
        assert!(!report.sound);
        // Repacked or unpacked, the content is still the official one.
        let copy = tempfile::tempdir().unwrap();
        let labels = content(&folder.join("t10k-labels-idx1-ubyte.gz")).unwrap();
        fs::write(copy.path().join("t10k-labels.idx1-ubyte"), labels).unwrap();
        let report = check(copy.path(), "mnist");
        assert_eq!(report.files[3].state, FileCheck::Official { md5: OFFICIAL[3].content.into() });
        // A part of the digits is well formed and usable, but not the official data set.
        let report = check(&real("mnist"), "mnist");
        assert!(report.sound, "{report}");
        assert!(
            report.files.iter().all(|file| matches!(file.state, FileCheck::WellFormed { .. })),
            "{report}"
        );
    }

    #[test]
    fn each_file_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        write_small(folder.path(), 5);
        let report = check(folder.path(), "mnist");
        assert!(report.sound && matches!(&report.files[0].state, FileCheck::WellFormed { .. }), "{report}");
        fs::write(folder.path().join("train-images-idx3-ubyte"), [0, 0, 8]).unwrap();
        fs::remove_file(folder.path().join("t10k-labels-idx1-ubyte")).unwrap();
        let report = check(folder.path(), "mnist");
        let text = report.to_string();
        assert!(text.contains("corrupt  ") && text.contains("train-images-idx3-ubyte: 3 bytes"), "{text}");
        assert!(
            text.contains("missing  t10k-labels-idx1-ubyte")
                && text.contains("is not the complete official data set"),
            "{text}"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["files"][0]["state"], "corrupt");
        assert_eq!(json["sound"], false);
    }

    #[test]
    fn files_that_do_not_fit_together_are_a_problem() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write_small(folder.path(), 5);
        write_small(other.path(), 6);
        fs::copy(other.path().join("train-labels-idx1-ubyte"), folder.path().join("train-labels-idx1-ubyte"))
            .unwrap();
        let report = check(folder.path(), "mnist");
        assert!(!report.sound && report.to_string().contains("6 entries but there are 5 images"), "{report}");
    }

    #[test]
    fn the_part_of_cifar_that_is_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let record: Vec<u8> = std::iter::once(4).chain([9; 3072]).collect();
        fs::write(folder.path().join("data_batch_2.bin"), record.repeat(3)).unwrap();
        fs::write(folder.path().join("test_batch.bin"), record.repeat(2)).unwrap();
        fs::write(folder.path().join("batches.meta.txt"), "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n\n").unwrap();
        let report = check(folder.path(), "cifar-10");
        let state = |name: &str| &report.files.iter().find(|file| file.name == name).unwrap().state;
        assert_eq!(*state("data_batch_1.bin"), FileCheck::Missing);
        assert_eq!(*state("data_batch_2.bin"), FileCheck::WellFormed { detail: "3 images".into() });
        assert_eq!(*state("test_batch.bin"), FileCheck::WellFormed { detail: "2 images".into() });
        assert_eq!(*state("batches.meta.txt"), FileCheck::WellFormed { detail: "10 names".into() });
    }

    #[test]
    fn birds_without_pictures_or_attributes_are_told_so() {
        let folder = birds_of_two_species();
        let report = check(folder.path(), "cub-200-2011");
        let pictures = report.pictures.as_ref().unwrap();
        assert_eq!((pictures.listed, pictures.broken.len()), (4, 4));
        assert!(!report.sound);
        assert!(pictures.broken[0].contains("Albatross_0046_18.jpg"), "{}", pictures.broken[0]);
        let text = report.to_string();
        assert!(text.contains("broken   4 of 4 pictures") && !text.contains(" 0 of"), "{text}");
        assert!(text.contains("missing  attributes/image_attribute_labels.txt"), "{text}");
    }

    #[test]
    fn a_folder_without_annotations_says_what_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let report = check(folder.path(), "waterbirds");
        assert!(!report.sound && report.to_string().contains("missing  metadata.csv"), "{report}");
        assert!(try_check(&folder.path().join("none"), "waterbirds").is_err());
    }
}
