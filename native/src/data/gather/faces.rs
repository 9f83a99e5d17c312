//! UTKFace and CelebA.

use std::path::{Path, PathBuf};

use simile_core::data::DatasetError;
use simile_core::data::formats::lines::Text;
use simile_core::data::sets::utkface::FaceBias;
use simile_core::data::sets::{celeba, utkface};

use super::{Gathered, root, split, text};
use crate::data::settings::{FacesSection, Sampling, SplitSection};
use crate::data::walk::pictures;
use crate::data::{DataError, Result};

/// UTKFace: aligned and cropped faces in one folder, or in several below it.
///
/// # Errors
/// If there is no picture, or the class or the bias is none of UTKFace's.
pub(super) fn utkface(
    section: &FacesSection,
    split_section: &SplitSection,
    folder: &Path,
) -> Result<Gathered> {
    let unknown = |key: &str, value: &str, reason: &str| {
        DataError::Dataset(DatasetError::Parameter {
            name: key.into(),
            value: value.into(),
            reason: reason.into(),
        })
    };
    if let Some(target) = section.target.as_deref().filter(|target| *target != "gender") {
        return Err(unknown("data.faces.target", target, "expected `gender`, the class of UTKFace"));
    }
    let bias = match section.bias.as_deref() {
        None | Some("race") => FaceBias::Race,
        Some("age") => FaceBias::Age,
        Some(other) => return Err(unknown("data.faces.bias", other, "expected `race` or `age`")),
    };
    let inner = ["UTKFace", "utkface/UTKFace", "utkface"].map(|name| folder.join(name));
    let root = inner.into_iter().find(|path| path.is_dir()).unwrap_or_else(|| folder.into());
    let (catalogue, odd) = utkface::catalogue(&pictures(&root)?, bias).map_err(|error| match error {
        DatasetError::Empty { .. } => {
            let reason = "no picture is named AGE_GENDER_RACE_DATE.jpg, as the authors name them".into();
            DataError::Table { path: root.clone(), reason }
        }
        error => error.into(),
    })?;
    let catalogue = match section.sampling {
        Sampling::Published => utkface::published(catalogue, section.correlation, section.seed)?,
        Sampling::All => split(catalogue, split_section)?,
    };
    let notes = match odd.as_slice() {
        [] => Vec::new(),
        [first, ..] => vec![format!(
            "left out {} files whose names lack age, gender or race, such as {first}",
            odd.len()
        )],
    };
    Ok(Gathered { root, catalogue, notes })
}

/// CelebA: its two lists beside `img_align_celeba`, or in the folders of the official drive.
///
/// # Errors
/// Names the missing file, or the file and line of what is not understood.
pub(super) fn celeba(section: &FacesSection, folder: &Path) -> Result<Gathered> {
    let list = |name: &str, inner: &str| -> Result<PathBuf> {
        let nested = format!("celeba/{inner}");
        let found = root(folder, &[inner, "celeba", "CelebA", &nested], name)?;
        Ok(found.join(name))
    };
    let attributes = text(&list("list_attr_celeba.txt", "Anno")?)?;
    let partition = text(&list("list_eval_partition.txt", "Eval")?)?;
    let target = section.target.as_deref().unwrap_or("blond-hair");
    let bias = section.bias.as_deref().unwrap_or("male");
    let texts = (Text::new(&attributes.0, &attributes.1), Text::new(&partition.0, &partition.1));
    let catalogue = celeba::catalogue(&texts.0, &texts.1, target, bias)?;
    let catalogue = match section.sampling {
        Sampling::Published => celeba::published(catalogue, target, section.seed)?,
        Sampling::All => catalogue,
    };
    // Without the folder every picture is missing, and the first one is named.
    let root = root(folder, &["Img", "celeba", "CelebA", "celeba/Img"], "img_align_celeba")
        .unwrap_or_else(|_| folder.into());
    Ok(Gathered { root, catalogue, notes: Vec::new() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use simile_core::data::Part;
    use std::fs;

    /// Names and lists as they are published; made up.
    fn samples() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (faces, people) = (folder.path().join("utkface"), folder.path().join("celeba"));
        fs::create_dir(&faces).unwrap();
        fs::create_dir(&people).unwrap();
        for at in 0..40_usize {
            let (age, gender, race) = (1 + 2 * at, at % 2, at / 2 % 5);
            fs::write(faces.join(format!("{age}_{gender}_{race}_20170116{at:09}.jpg.chip.jpg")), "").unwrap();
        }
        // The header ends in a blank, and a blank stands before each number that is not negative.
        let names = "5_o_Clock_Shadow Bald Blond_Hair Heavy_Makeup Male Young \n";
        let (mut attributes, mut partition) = (format!("8\n{names}"), String::new());
        for at in 1..=8_usize {
            let bits = (0..6).map(|bit| if (at + bit) % 3 == 0 { "  1" } else { " -1" });
            attributes += &format!("{at:06}.jpg{}\n", bits.collect::<String>());
            partition += &format!("{at:06}.jpg {}\n", at % 3);
        }
        fs::write(people.join("list_attr_celeba.txt"), attributes).unwrap();
        fs::write(people.join("list_eval_partition.txt"), partition).unwrap();
        folder
    }

    #[test]
    fn faces_are_read_from_names_and_lists() {
        let samples = samples();
        let samples = samples.path();
        let split = SplitSection::default();
        let all = FacesSection { sampling: Sampling::All, ..FacesSection::default() };
        let faces = utkface(&all, &split, samples).unwrap();
        assert!(faces.notes.is_empty(), "{:?}", faces.notes);
        assert_eq!(faces.catalogue.len(), 40);
        let published = utkface(&FacesSection::default(), &split, samples).unwrap().catalogue;
        assert!(published.len() < 40 && !published.of(Part::Test).is_empty());
        let people = celeba(&all, samples).unwrap().catalogue;
        assert_eq!((people.len(), people.conditions["attributes"].to_matrix().columns()), (8, 6));
        assert_eq!(people.classes[1], "Blond_Hair");
        let empty = tempfile::tempdir().unwrap();
        let text = utkface(&FacesSection::default(), &split, empty.path()).unwrap_err().to_string();
        assert!(text.contains(&empty.path().display().to_string()) && text.contains("AGE_GENDER"), "{text}");
        let wrong = FacesSection { bias: Some("height".into()), ..FacesSection::default() };
        assert!(
            utkface(&wrong, &split, samples).unwrap_err().to_string().contains("`data.faces.bias` is height")
        );
    }
}
