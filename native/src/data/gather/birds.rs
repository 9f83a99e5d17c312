//! CUB-200-2011 and Waterbirds, which is made of it.

use std::path::Path;

use simile_core::dataset::lines::Text;
use simile_core::dataset::{cub, waterbirds};

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
mod tests {
    use super::*;
    use crate::data::mnist::tests::shared;
    use simile_core::dataset::Part;

    #[test]
    fn the_real_annotations_are_read() {
        let Some(samples) = shared("samples") else { return };
        let birds = cub(&samples).unwrap();
        assert_eq!(birds.catalogue.classes.len(), 200);
        let counts = [Part::Train, Part::Test].map(|part| birds.catalogue.of(part).len());
        assert_eq!(counts, [5994, 5794]);
        assert!(birds.catalogue.files[0].starts_with("images/001.Black_footed_Albatross/"));
        assert!(birds.notes[0].contains("image_attribute_labels.txt"), "{:?}", birds.notes);
        let water = waterbirds(&samples).unwrap().catalogue;
        assert_eq!((water.len(), water.classes.len()), (11_788, 2));
    }
}
