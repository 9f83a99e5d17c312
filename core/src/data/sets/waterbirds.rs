//! Waterbirds (Sagawa et al. 2020) from `metadata.csv` of `waterbird_complete95_forest2water2`: land birds and
//! water birds on backgrounds of land or water.

use crate::data::catalogue::groups;
use crate::data::formats::lines::Text;
use crate::data::{Catalogue, Condition, Part, Result};

/// Reads the catalogue: class `y`, condition `place` and the four groups class × place; split 0 training, 1
/// validation, 2 test.
///
/// # Errors
/// [`DatasetError::Line`](crate::data::DatasetError::Line) names the line that cannot be parsed.
pub fn catalogue(metadata: &Text<'_>) -> Result<Catalogue> {
    let csv = metadata.csv()?;
    let columns = ["img_filename", "y", "split", "place"].map(|name| csv.column(name));
    let [file, class, split, place] = columns;
    let (file, class, split, place) = (file?, class?, split?, place?);
    let (mut files, mut labels, mut parts, mut places) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
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
        parts.push(match word(split) {
            "0" => Part::Train,
            "1" => Part::Validation,
            "2" => Part::Test,
            other => return Err(csv.error(line, format!("`split` is `{other}`, expected 0, 1 or 2"))),
        });
    }
    let names = |names: [&str; 2]| names.map(String::from).to_vec();
    let (classes, grounds) = (names(["landbird", "waterbird"]), names(["land", "water"]));
    let group = groups(&labels, &classes, &places, &grounds);
    let place = Condition::Categorical { values: places, names: grounds };
    Catalogue::new(metadata.origin, files, parts, labels, classes)?
        .with_condition("bias", place.clone())?
        .with_condition("place", place)?
        .with_condition("group", group)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const METADATA: &str = "img_id,img_filename,y,split,place,place_filename\n\
        1,001.A/A_1.jpg,1,2,1,/o/ocean/00004600.jpg\n2,001.A/A_2.jpg,0,0,1,/o/ocean/1.jpg\n3,b.jpg,0,1,0,/x.jpg\n";

    #[test]
    fn rows_become_pictures_with_their_group() {
        let birds = catalogue(&Text::new(METADATA, "metadata.csv")).unwrap();
        assert_eq!(birds.files[0], "001.A/A_1.jpg");
        assert_eq!(
            (birds.labels, birds.parts),
            (vec![1, 0, 0], vec![Part::Test, Part::Train, Part::Validation])
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
