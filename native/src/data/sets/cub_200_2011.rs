//! CUB-200-2011 (Wah et al. 2011) in the layout of its archive: birds of 200 species with 312 binary attributes, and the split of
//! its authors (5,994 to train on, 5,794 to test). The attributes may be absent, which a note reports.
//!
//! An attribute is taken as its annotator marked it, present or not, regardless of the certainty; released code of
//! CCL-K and of Decoupled Uniformity does the same.

use std::collections::HashMap;
use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, Condition, DatasetError, Split};
use simile_core::numeric::matrix::Matrix;

use crate::data::error::Result;
use crate::data::keys::of_dataset::ReadOptions;
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::source::{About, Constants, Download, Medium, PictureFiles, Source};

pub(super) struct Cub200;

static ABOUT: About = About {
    name: "cub-200-2011",
    files: "CUB_200_2011 as it unpacks: images/, images.txt, classes.txt, image_class_labels.txt, \
            train_test_split.txt, attributes/image_attribute_labels.txt",
    classes: "200 species; the authors' split, 5,994 to train on and 5,794 to test",
    attributes: "attributes (312)",
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
    normalise: Some(Constants { name: "cub", mean: [0.4863, 0.4999, 0.4312], std: [0.2070, 0.2018, 0.2428] }),
    ..About::NOTHING
};

impl Source for Cub200 {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }
}

impl PictureFiles for Cub200 {
    fn annotate(&self, _options: &ReadOptions, folder: &Path) -> Result<Annotations> {
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
        let catalogue = catalogue(&Files {
            images: Text::new(&images.0, &images.1),
            labels: Text::new(&labels.0, &labels.1),
            classes: Text::new(&classes.0, &classes.1),
            split: Text::new(&split.0, &split.1),
            attributes: attributes.as_ref().map(|(text, origin)| Text::new(text, origin)),
        })?;
        Ok(Annotations { root, catalogue, notes })
    }

    #[cfg(test)]
    fn parse_changed(&self, texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        let [images, labels, classes, split, attributes, ..] = *texts;
        let attributes = Some(attributes).filter(|attributes| !attributes.text.is_empty());
        vec![catalogue(&Files { images, labels, classes, split, attributes }).map(drop).map_err(Into::into)]
    }
}

/// The texts of the annotation files.
#[derive(Debug, Clone, Copy)]
struct Files<'a> {
    /// `images.txt`: `<image id> <path below images/>`.
    images: Text<'a>,
    /// `image_class_labels.txt`: `<image id> <class id>`.
    labels: Text<'a>,
    /// `classes.txt`: `<class id> <name>`.
    classes: Text<'a>,
    /// `train_test_split.txt`: `<image id> <1 for training, 0 for test>`.
    split: Text<'a>,
    /// `attributes/image_attribute_labels.txt`: `<image id> <attribute id> <present> <certainty> <seconds>`. Some
    /// lines of the published file have more words; they are ignored.
    attributes: Option<Text<'a>>,
}

/// Number of attributes of a picture.
const ATTRIBUTES: usize = 312;

/// Reads the catalogue. Condition, if the file of attributes is given: `attributes`, `[n, 312]` of 0 and 1.
///
/// # Errors
/// [`DatasetError::Line`] names the file and the line that cannot be parsed, or of a picture that is missing in
/// another file.
fn catalogue(files: &Files<'_>) -> Result<Catalogue, DatasetError> {
    let mut paths = Vec::new();
    let mut rows: HashMap<&str, usize> = HashMap::new();
    for row in files.images.words() {
        let (line, [id, path]) = row?;
        if rows.insert(id, paths.len()).is_some() {
            return Err(files.images.error(line, format!("image {id} is there twice")));
        }
        paths.push(format!("images/{path}"));
    }
    let mut classes = Vec::new();
    let mut class_rows: HashMap<&str, usize> = HashMap::new();
    for row in files.classes.words() {
        let (_, [id, name]) = row?;
        class_rows.insert(id, classes.len());
        classes.push(name.to_owned());
    }
    let labels = by_image(&files.labels, &rows, |line, class| {
        let known = class_rows.get(class).copied();
        known.ok_or_else(|| {
            files.labels.error(line, format!("class {class} is not in {}", files.classes.origin))
        })
    })?;
    let splits = by_image(&files.split, &rows, |line, word| match word {
        "1" => Ok(Split::Train),
        "0" => Ok(Split::Test),
        other => Err(files.split.error(line, format!("`{other}`, expected 1 to train on or 0 to test"))),
    })?;
    let catalogue = Catalogue::new(files.images.origin, paths, splits, labels, classes)?;
    match &files.attributes {
        Some(text) => {
            let attributes = attributes(text, &rows)?;
            catalogue.with_condition("attributes", Condition::Numeric(attributes.into()))
        }
        None => Ok(catalogue),
    }
}

/// Reads the second word of each line for the picture that the first word names.
fn by_image<T: Clone>(
    text: &Text<'_>,
    rows: &HashMap<&str, usize>,
    mut read: impl FnMut(usize, &str) -> Result<T, DatasetError>,
) -> Result<Vec<T>, DatasetError> {
    let mut values: Vec<Option<T>> = vec![None; rows.len()];
    for row in text.words() {
        let (line, [id, word]) = row?;
        let value = read(line, word)?;
        *slot(text, rows, &mut values, line, id)? = Some(value);
    }
    let known = values.iter().flatten().count();
    let values: Option<Vec<T>> = values.into_iter().collect();
    values.ok_or_else(|| DatasetError::Count { what: text.origin.into(), expected: rows.len(), found: known })
}

fn slot<'v, T>(
    text: &Text<'_>,
    rows: &HashMap<&str, usize>,
    values: &'v mut [T],
    line: usize,
    id: &str,
) -> Result<&'v mut T, DatasetError> {
    let value = rows.get(id).and_then(|&row| values.get_mut(row));
    value.ok_or_else(|| text.error(line, format!("image {id} is not in images.txt")))
}

fn attributes(text: &Text<'_>, rows: &HashMap<&str, usize>) -> Result<Matrix, DatasetError> {
    let mut table = Matrix::zeros(rows.len(), ATTRIBUTES);
    let mut lines = vec![0_usize; rows.len()];
    for row in text.words() {
        let (line, [id, attribute, present]) = row?;
        let attribute: usize = text.number(line, "the attribute", attribute)?;
        let &row =
            rows.get(id).ok_or_else(|| text.error(line, format!("image {id} is not in images.txt")))?;
        let cell = attribute.checked_sub(1).and_then(|column| table.row_mut(row).get_mut(column));
        let cell = cell
            .ok_or_else(|| text.error(line, format!("attribute {attribute} is outside 1..={ATTRIBUTES}")))?;
        *cell = match present {
            "0" => 0.0,
            "1" => 1.0,
            other => return Err(text.error(line, format!("`{other}`, expected 0 or 1"))),
        };
        if let Some(count) = lines.get_mut(row) {
            *count += 1;
        }
    }
    let complete = lines.iter().filter(|&&count| count >= ATTRIBUTES).count();
    if complete < rows.len() {
        let what = format!("{}: pictures with all of {ATTRIBUTES} attributes", text.origin);
        return Err(DatasetError::Count { what, expected: rows.len(), found: complete });
    }
    Ok(table)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(in crate::data) mod tests {
    use super::*;
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
        let birds = Cub200.annotations(&ReadOptions::default(), folder.path()).unwrap();
        assert_eq!(birds.catalogue.classes, ["001.Black_footed_Albatross", "002.Laysan_Albatross"]);
        let counts = [Split::Train, Split::Test].map(|split| birds.catalogue.of(split).len());
        assert_eq!(counts, [3, 1]);
        assert!(birds.catalogue.files[0].starts_with("images/001.Black_footed_Albatross/"));
        assert!(birds.notes[0].contains("image_attribute_labels.txt"), "{:?}", birds.notes);
    }

    const IMAGES: &str = "1 001.A/A_1.jpg\n2 002.B/B_1.jpg\n";
    const SPLIT: &str = "1 0\n2 1\n";

    fn labels_of_attributes() -> String {
        let line = |image: usize, attribute: usize| {
            let present = usize::from((image + attribute).is_multiple_of(7));
            // The published file has lines with two words too many.
            let odd = if attribute == 10 { " 0 0" } else { "" };
            format!("{image} {attribute} {present} 3 27.708{odd}\n")
        };
        (1..=2).flat_map(|image| (1..=ATTRIBUTES).map(move |attribute| line(image, attribute))).collect()
    }

    fn read(images: &str, split: &str, attributes: Option<&str>) -> Result<Catalogue, DatasetError> {
        catalogue(&Files {
            images: Text::new(images, "images.txt"),
            labels: Text::new("1 1\n2 2\n", "image_class_labels.txt"),
            classes: Text::new("1 001.A\n2 002.B\n", "classes.txt"),
            split: Text::new(split, "train_test_split.txt"),
            attributes: attributes.map(|text| Text::new(text, "image_attribute_labels.txt")),
        })
    }

    #[test]
    fn annotations_of_a_picture_come_together() {
        let birds = read(IMAGES, SPLIT, Some(&labels_of_attributes())).unwrap();
        assert_eq!(birds.files, ["images/001.A/A_1.jpg", "images/002.B/B_1.jpg"]);
        assert_eq!((birds.labels, birds.splits), (vec![0, 1], vec![Split::Test, Split::Train]));
        let attributes = birds.conditions["attributes"].to_matrix();
        assert_eq!((attributes.rows(), attributes.columns()), (2, 312));
        assert_eq!([attributes.row(0)[5], attributes.row(0)[6], attributes.row(1)[4]], [1.0, 0.0, 1.0]);
    }

    #[test]
    fn faults_are_named_by_file_and_line() {
        let text = |result: Result<Catalogue, DatasetError>| result.unwrap_err().to_string();
        assert!(text(read(IMAGES, "1 0\n3 1\n", None)).contains("train_test_split.txt, line 2: image 3"));
        assert!(text(read(IMAGES, "1 0\n", None)).contains("train_test_split.txt has 1 entries"));
        assert!(text(read(IMAGES, "1 0\n2 x\n", None)).contains("line 2: `x`"));
        assert!(
            text(read("1 a.jpg\n1 b.jpg\n", SPLIT, None))
                .contains("images.txt, line 2: image 1 is there twice")
        );
        let short = labels_of_attributes();
        let (short, _) = short.trim_end().rsplit_once('\n').unwrap();
        assert!(text(read(IMAGES, SPLIT, Some(short))).contains("all of 312 attributes has 1 entries"));
        let wrong = text(read(IMAGES, SPLIT, Some("1 313 0 1 2.0\n")));
        assert!(wrong.contains("line 1: attribute 313"), "{wrong}");
    }
}
