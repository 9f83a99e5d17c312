//! CelebA: faces with 40 attributes. Its two lists lie beside `img_align_celeba`, or in the folders of the official drive.

use std::path::{Path, PathBuf};

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::celeba;

use crate::data::error::Result;
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::settings::{Options, Sampling};
use crate::data::source::{About, Kind, PictureFiles, Source};

pub(super) struct Celeba;

static ABOUT: About = About {
    name: "celeba",
    files: "list_attr_celeba.txt, list_eval_partition.txt, img_align_celeba/*.jpg",
    variables: "bias, group, attributes (40)",
    home: "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    licence: "non-commercial research, no redistribution",
    get: "follow the authors' page to their drive; put both lists beside the unpacked img_align_celeba",
    needed: &["list_attr_celeba.txt", "list_eval_partition.txt", "img_align_celeba"],
    ..About::NOTHING
};

impl Source for Celeba {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }

    fn keys(&self) -> &'static [&'static str] {
        &["faces"]
    }
}

impl PictureFiles for Celeba {
    fn annotate(&self, options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let section = options.faces.cloned().unwrap_or_default();
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
        // Without the folder every picture is missing, and the error names the first one.
        let root = root(folder, &["Img", "celeba", "CelebA", "celeba/Img"], "img_align_celeba")
            .unwrap_or_else(|_| folder.into());
        Ok(Annotations { root, catalogue, notes: Vec::new() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::settings::FacesSection;
    use std::fs;

    #[test]
    fn people_are_read_from_the_lists() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("celeba");
        fs::create_dir(&folder).unwrap();
        // The header ends in a blank, and a blank stands before each number that is not negative.
        let names = "5_o_Clock_Shadow Bald Blond_Hair Heavy_Makeup Male Young \n";
        let (mut attributes, mut partition) = (format!("8\n{names}"), String::new());
        for at in 1..=8_usize {
            let bits = (0..6).map(|bit| if (at + bit) % 3 == 0 { "  1" } else { " -1" });
            attributes += &format!("{at:06}.jpg{}\n", bits.collect::<String>());
            partition += &format!("{at:06}.jpg {}\n", at % 3);
        }
        fs::write(folder.join("list_attr_celeba.txt"), attributes).unwrap();
        fs::write(folder.join("list_eval_partition.txt"), partition).unwrap();
        let all = FacesSection { sampling: Sampling::All, ..FacesSection::default() };
        let options = Options { faces: Some(&all), ..Options::default() };
        let people = Celeba.annotations(&options, place.path()).unwrap().catalogue;
        assert_eq!((people.len(), people.conditions["attributes"].to_matrix().columns()), (8, 6));
        assert_eq!(people.classes[1], "Blond_Hair");
    }
}
