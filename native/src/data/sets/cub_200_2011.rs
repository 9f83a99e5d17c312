//! CUB-200-2011 in the layout of its archive: birds with 312 binary attributes. The attributes may be absent, which a
//! note reports.

use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::cub;

use crate::data::error::Result;
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::settings::Options;
use crate::data::source::{About, Download, Kind, PictureFiles, Source};

pub(super) struct Cub200;

static ABOUT: About = About {
    name: "cub-200-2011",
    files: "CUB_200_2011 as it unpacks: images/, images.txt, classes.txt, image_class_labels.txt, \
            train_test_split.txt, attributes/image_attribute_labels.txt",
    variables: "attributes (312)",
    home: "https://data.caltech.edu/records/65de6-vp158",
    licence: "non-commercial research",
    downloads: &[Download::unpacked(
        "https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",
        Some("97eceeb196236b17998738112f37df78"),
        "",
    )],
    needed: &[
        "images.txt",
        "classes.txt",
        "image_class_labels.txt",
        "train_test_split.txt",
        "attributes/image_attribute_labels.txt",
    ],
    pictures: Some(11_788),
    ..About::NOTHING
};

impl Source for Cub200 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn kind(&self) -> Kind<'_> {
        Kind::Pictures(self)
    }
}

impl PictureFiles for Cub200 {
    fn annotate(&self, _options: &Options<'_>, folder: &Path) -> Result<Annotations> {
        let inner = ["CUB_200_2011", "cub-200-2011", "cub-200-2011/CUB_200_2011"];
        let root = root(folder, &inner, "images.txt")?;
        let files = ["images.txt", "image_class_labels.txt", "classes.txt", "train_test_split.txt"];
        let [images, labels, classes, split] = files.map(|name| text(&root.join(name)));
        let (images, labels, classes, split) = (images?, labels?, classes?, split?);
        let path = root.join("attributes/image_attribute_labels.txt");
        let (attributes, notes) = if path.is_file() {
            (Some(text(&path)?), Vec::new())
        } else {
            (None, vec![format!("without the 312 attributes: {} is not there", path.display())])
        };
        let catalogue = cub::catalogue(&cub::Annotations {
            images: Text::new(&images.0, &images.1),
            labels: Text::new(&labels.0, &labels.1),
            classes: Text::new(&classes.0, &classes.1),
            split: Text::new(&split.0, &split.1),
            attributes: attributes.as_ref().map(|(text, origin)| Text::new(text, origin)),
        })?;
        Ok(Annotations { root, catalogue, notes })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(in crate::data) mod tests {
    use super::*;
    use simile_core::data::Part;
    use std::fs;

    /// A folder of CUB-200-2011 in its official layout, of two species, without pictures and attributes.
    pub(in crate::data) fn birds_of_two_species() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("cub-200-2011/CUB_200_2011");
        fs::create_dir_all(&root).unwrap();
        for (name, text) in [
            (
                "images.txt",
                "1 001.Black_footed_Albatross/Albatross_0046_18.jpg\n2 001.Black_footed_Albatross/Albatross_0009_34.jpg\n\
                 3 002.Laysan_Albatross/Albatross_0100_735.jpg\n4 002.Laysan_Albatross/Albatross_0001_2.jpg\n",
            ),
            ("image_class_labels.txt", "1 1\n2 1\n3 2\n4 2\n"),
            ("classes.txt", "1 001.Black_footed_Albatross\n2 002.Laysan_Albatross\n"),
            ("train_test_split.txt", "1 0\n2 1\n3 1\n4 1\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn annotations_are_read_where_the_archive_puts_them() {
        let folder = birds_of_two_species();
        let birds = Cub200.annotations(&Options::default(), folder.path()).unwrap();
        assert_eq!(birds.catalogue.classes, ["001.Black_footed_Albatross", "002.Laysan_Albatross"]);
        let counts = [Part::Train, Part::Test].map(|part| birds.catalogue.of(part).len());
        assert_eq!(counts, [3, 1]);
        assert!(birds.catalogue.files[0].starts_with("images/001.Black_footed_Albatross/"));
        assert!(birds.notes[0].contains("image_attribute_labels.txt"), "{:?}", birds.notes);
    }
}
