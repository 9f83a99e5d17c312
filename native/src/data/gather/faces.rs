//! UTKFace and CelebA.

use std::path::{Path, PathBuf};

use simile_core::dataset::lines::Text;
use simile_core::dataset::utkface::FaceBias;
use simile_core::dataset::{DatasetError, celeba, utkface};

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
    use crate::data::mnist::tests::shared;
    use simile_core::dataset::Part;

    #[test]
    fn the_real_samples_are_read() {
        let Some(samples) = shared("samples") else { return };
        let split = SplitSection::default();
        let faces = utkface(&FacesSection::default(), &split, &samples).unwrap();
        assert!(faces.notes.is_empty(), "{:?}", faces.notes);
        let catalogue = faces.catalogue;
        assert_eq!((catalogue.of(Part::Validation).len(), catalogue.of(Part::Test).len()), (4, 4));
        let all = FacesSection { sampling: Sampling::All, ..FacesSection::default() };
        assert_eq!(utkface(&all, &split, &samples).unwrap().catalogue.len(), 40);
        let people = celeba(&all, &samples).unwrap().catalogue;
        assert_eq!((people.len(), people.conditions["attributes"].to_matrix().columns()), (2000, 40));
        assert_eq!(people.classes[1], "Blond_Hair");
        let empty = tempfile::tempdir().unwrap();
        let text = utkface(&FacesSection::default(), &split, empty.path()).unwrap_err().to_string();
        assert!(text.contains(&empty.path().display().to_string()) && text.contains("AGE_GENDER"), "{text}");
        let wrong = FacesSection { bias: Some("height".into()), ..FacesSection::default() };
        assert!(
            utkface(&wrong, &split, &samples)
                .unwrap_err()
                .to_string()
                .contains("`data.faces.bias` is height")
        );
    }
}
