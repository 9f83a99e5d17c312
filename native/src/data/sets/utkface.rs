//! UTKFace: aligned and cropped faces in one folder, or in several below it, with age, gender and race in the file
//! names.

use std::path::Path;

use simile_core::data::DatasetError;
use simile_core::data::sets::utkface;
use simile_core::data::sets::utkface::FaceBias;

use crate::data::error::{DataError, Result};
use crate::data::files::walk::pictures;
use crate::data::pictures::annotations::{Annotations, inner_folder, split};
use crate::data::settings::{Options, Sampling, SplitSection};
use crate::data::source::{About, Kind, PictureFiles, Source};

pub(super) struct Utkface;

static ABOUT: About = About {
    name: "utkface",
    files: "UTKFace/AGE_GENDER_RACE_DATE.jpg.chip.jpg (the aligned and cropped faces)",
    variables: "age, race, bias, group",
    home: "https://susanqq.github.io/UTKFace/",
    licence: "non-commercial research",
    get: "follow the authors' page to their drive and unpack UTKFace.tar.gz",
    ..About::NOTHING
};

impl Source for Utkface {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }

    fn keys(&self) -> &'static [&'static str] {
        &["split", "faces"]
    }
}

impl PictureFiles for Utkface {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let section = options.faces.cloned().unwrap_or_default();
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
        let root = inner_folder(folder, &["UTKFace", "utkface/UTKFace", "utkface"]);
        let (catalogue, odd) = utkface::catalogue(&pictures(&root)?, bias).map_err(|error| match error {
            DatasetError::Empty { .. } => {
                let reason = "no picture is named AGE_GENDER_RACE_DATE.jpg, as the authors name them".into();
                DataError::Table { path: root.clone(), reason }
            }
            error => error.into(),
        })?;
        let catalogue = match section.sampling {
            Sampling::Published => utkface::published(catalogue, section.correlation, section.seed)?,
            Sampling::All => split(catalogue, options.split.unwrap_or(&SplitSection::default()))?,
        };
        let notes = match odd.as_slice() {
            [] => Vec::new(),
            [first, ..] => vec![format!(
                "left out {} files whose names lack age, gender or race, such as {first}",
                odd.len()
            )],
        };
        Ok(Annotations { root, catalogue, notes })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::settings::FacesSection;
    use simile_core::data::Part;
    use std::fs;

    fn faces(section: &FacesSection, folder: &Path) -> Result<Annotations> {
        Utkface.annotations(&Options { faces: Some(section), ..Options::default() }, folder)
    }

    #[test]
    fn faces_are_read_from_their_names() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("utkface");
        fs::create_dir(&folder).unwrap();
        for at in 0..40_usize {
            let (age, gender, race) = (1 + 2 * at, at % 2, at / 2 % 5);
            let name = format!("{age}_{gender}_{race}_20170116{at:09}.jpg.chip.jpg");
            fs::write(folder.join(name), "").unwrap();
        }
        let all = FacesSection { sampling: Sampling::All, ..FacesSection::default() };
        let all = faces(&all, place.path()).unwrap();
        assert!(all.notes.is_empty(), "{:?}", all.notes);
        assert_eq!(all.catalogue.len(), 40);
        let published = faces(&FacesSection::default(), place.path()).unwrap().catalogue;
        assert!(published.len() < 40 && !published.of(Part::Test).is_empty());
        let empty = tempfile::tempdir().unwrap();
        let text = faces(&FacesSection::default(), empty.path()).unwrap_err().to_string();
        assert!(text.contains(&empty.path().display().to_string()) && text.contains("AGE_GENDER"), "{text}");
        let wrong = FacesSection { bias: Some("height".into()), ..FacesSection::default() };
        let text = faces(&wrong, place.path()).unwrap_err().to_string();
        assert!(text.contains("`data.faces.bias` is height"), "{text}");
    }
}
