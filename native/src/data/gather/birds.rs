//! CUB-200-2011 and Waterbirds, which is made of it.

use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::sets::{cub, waterbirds};

use super::{Gathered, root, text};
use crate::data::Result;

/// CUB-200-2011 as its archive unpacks. The attributes may be absent; then a note says so.
///
/// # Errors
/// Names the missing file, or the file and line of what is not understood.
pub(super) fn cub(folder: &Path) -> Result<Gathered> {
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
    Ok(Gathered { root, catalogue, notes })
}

/// Waterbirds as its archive unpacks.
///
/// # Errors
/// As [`cub()`].
pub(super) fn waterbirds(folder: &Path) -> Result<Gathered> {
    let inner =
        ["waterbird_complete95_forest2water2", "waterbirds", "waterbirds/waterbird_complete95_forest2water2"];
    let root = root(folder, &inner, "metadata.csv")?;
    let (metadata, origin) = text(&root.join("metadata.csv"))?;
    let catalogue = waterbirds::catalogue(&Text::new(&metadata, &origin))?;
    Ok(Gathered { root, catalogue, notes: Vec::new() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
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
        let birds = cub(folder.path()).unwrap();
        assert_eq!(birds.catalogue.classes, ["001.Black_footed_Albatross", "002.Laysan_Albatross"]);
        let counts = [Part::Train, Part::Test].map(|part| birds.catalogue.of(part).len());
        assert_eq!(counts, [3, 1]);
        assert!(birds.catalogue.files[0].starts_with("images/001.Black_footed_Albatross/"));
        assert!(birds.notes[0].contains("image_attribute_labels.txt"), "{:?}", birds.notes);

        let root = folder.path().join("waterbird_complete95_forest2water2");
        fs::create_dir(&root).unwrap();
        let table = "img_id,img_filename,y,split,place,place_filename\n\
                     1,001.Black_footed_Albatross/Albatross_0046_18.jpg,1,2,1,/o/ocean/00004600.jpg\n\
                     2,001.Black_footed_Albatross/Albatross_0009_34.jpg,1,1,0,/b/bamboo_forest/00003975.jpg\n\
                     3,010.Red_winged_Blackbird/Blackbird_0064_4936.jpg,0,0,0,/b/bamboo_forest/00000012.jpg\n";
        fs::write(root.join("metadata.csv"), table).unwrap();
        let water = waterbirds(folder.path()).unwrap().catalogue;
        assert_eq!((water.len(), water.classes.len()), (3, 2));
        assert_eq!([Part::Train, Part::Validation, Part::Test].map(|part| water.of(part).len()), [1, 1, 1]);
    }
}
