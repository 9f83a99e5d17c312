//! Waterbirds (Sagawa et al. 2020) in the layout of its archive, which is also that of WILDS: land birds and water birds of
//! CUB-200-2011 on backgrounds of land or water.

use std::path::Path;

use simile_core::data::catalogue::groups;
use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, Condition, DatasetError, Split};

use crate::data::error::Result;
use crate::data::keys::of_dataset::ReadOptions;
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::source::{About, Download, Medium, PictureFiles, Source};

pub(super) struct Waterbirds;

static ABOUT: About = About {
    name: "waterbirds",
    files: "waterbird_complete95_forest2water2, or WILDS's waterbirds_v1.0, as it unpacks: metadata.csv and the pictures that it names",
    classes: "landbird, waterbird; the authors' training, validation and test splits",
    attributes: "place, bias, group",
    home: "https://github.com/kohpangwei/group_DRO",
    licence: "those of CUB-200-2011 and Places: non-commercial research",
    downloads: &[Download::unpacked(
        "https://nlp.stanford.edu/data/dro/waterbird_complete95_forest2water2.tar.gz",
        None,
        "",
    )],
    needed: &["metadata.csv"],
    pictures: Some(11_788),
    ..About::NOTHING
};

impl Source for Waterbirds {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }
}

impl PictureFiles for Waterbirds {
    fn annotate(&self, _options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let inner = [
            "waterbird_complete95_forest2water2",
            "waterbirds",
            "waterbirds/waterbird_complete95_forest2water2",
            "waterbirds_v1.0",
        ];
        let root = root(folder, &inner, "metadata.csv")?;
        let (metadata, origin) = text(&root.join("metadata.csv"))?;
        let catalogue = catalogue(&Text::new(&metadata, &origin))?;
        Ok(Annotations { root, catalogue, notes: Vec::new() })
    }

    #[cfg(test)]
    fn parse_changed(&self, texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        vec![catalogue(&texts[0]).map(drop).map_err(Into::into)]
    }
}

/// Reads the catalogue: class `y`, condition `place` and the four groups class × place; split 0 training, 1
/// validation, 2 test.
///
/// # Errors
/// [`DatasetError::Line`] names the line that cannot be parsed.
fn catalogue(metadata: &Text<'_>) -> Result<Catalogue, DatasetError> {
    let csv = metadata.csv()?;
    let columns = ["img_filename", "y", "split", "place"].map(|name| csv.column(name));
    let [file, class, split, place] = columns;
    let (file, class, split, place) = (file?, class?, split?, place?);
    let (mut files, mut labels, mut splits, mut places) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (line, row) in csv.rows() {
        let word = |at: usize| row.get(at).unwrap_or_default();
        let either = |at: usize, name: &str| match word(at) {
            "0" => Ok(0),
            "1" => Ok(1),
            other => Err(csv.error(line, format!("`{name}` is `{other}`, expected 0 or 1"))),
        };
        files.push(word(file).to_owned());
        labels.push(either(class, "y")?);
        places.push(either(place, "place")?);
        splits.push(match word(split) {
            "0" => Split::Train,
            "1" => Split::Validation,
            "2" => Split::Test,
            other => return Err(csv.error(line, format!("`split` is `{other}`, expected 0, 1 or 2"))),
        });
    }
    let names = |names: [&str; 2]| names.map(String::from).to_vec();
    let (classes, backgrounds) = (names(["landbird", "waterbird"]), names(["land", "water"]));
    let group = groups(&labels, &classes, &places, &backgrounds);
    let place = Condition::Categorical { values: places, names: backgrounds };
    Catalogue::new(metadata.origin, files, splits, labels, classes)?
        .with_condition("bias", place.clone())?
        .with_condition("place", place)?
        .with_condition("group", group)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_table_is_read_where_the_archives_put_it() {
        let table = "img_id,img_filename,y,split,place,place_filename\n\
                     1,001.Black_footed_Albatross/Albatross_0046_18.jpg,1,2,1,/o/ocean/00004600.jpg\n\
                     2,001.Black_footed_Albatross/Albatross_0009_34.jpg,1,1,0,/b/bamboo_forest/00003975.jpg\n\
                     3,010.Red_winged_Blackbird/Blackbird_0064_4936.jpg,0,0,0,/b/bamboo_forest/00000012.jpg\n";
        for unpacked in ["waterbird_complete95_forest2water2", "waterbirds_v1.0"] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join(unpacked);
            fs::create_dir(&root).unwrap();
            fs::write(root.join("metadata.csv"), table).unwrap();
            let water = Waterbirds.annotations(&ReadOptions::default(), folder.path()).unwrap().catalogue;
            assert_eq!((water.len(), water.classes.len()), (3, 2));
            assert_eq!(
                [Split::Train, Split::Validation, Split::Test].map(|split| water.of(split).len()),
                [1, 1, 1]
            );
        }
    }

    const METADATA: &str = "img_id,img_filename,y,split,place,place_filename\n\
        1,001.A/A_1.jpg,1,2,1,/o/ocean/00004600.jpg\n2,001.A/A_2.jpg,0,0,1,/o/ocean/1.jpg\n3,b.jpg,0,1,0,/x.jpg\n";

    #[test]
    fn rows_become_pictures_with_their_group() {
        let birds = catalogue(&Text::new(METADATA, "metadata.csv")).unwrap();
        assert_eq!(birds.files[0], "001.A/A_1.jpg");
        assert_eq!(
            (birds.labels, birds.splits),
            (vec![1, 0, 0], vec![Split::Test, Split::Train, Split::Validation])
        );
        let Condition::Categorical { values, names } = &birds.conditions["group"] else { unreachable!() };
        assert_eq!((values.as_slice(), names[1].as_str()), (&[3, 1, 0][..], "landbird, water"));
    }

    #[test]
    fn faults_are_named_by_line() {
        let text = |table: &str| catalogue(&Text::new(table, "metadata.csv")).unwrap_err().to_string();
        assert!(
            text(&METADATA.replace(",0,0,1,", ",0,3,1,")).contains("metadata.csv, line 3: `split` is `3`")
        );
        assert!(text(&METADATA.replace("place,", "where,")).contains("no column `place`"));
        assert!(text("img_id,img_filename,y,split,place\n").contains("no images"));
    }
}
