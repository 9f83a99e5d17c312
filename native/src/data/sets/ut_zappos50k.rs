//! UT-Zappos50K (Yu and Grauman 2014) in the layout of its two archives: shoes of 21 sub-categories with 126 binary attributes.
//!
//! `meta-data-bin.csv` has the column `CID` and 151 binary ones, `Group.Value`: 4 of `Category`, 21 of `SubCategory`, and 126 of
//! heel height, insole, closure, gender, material and toe style. Category and sub-category determine the class, so
//! they are no attributes; the "seven attributes" of CCL-K's text would include one of them. The split of CCL-K is
//! a random 7:3. Its list, `meta_data_bin_train.csv` of the release, is not read; here the split is drawn with a seed.

use std::collections::HashMap;
use std::path::Path;

use simile_core::data::formats::lines::Text;
use simile_core::data::{Catalogue, Condition, DatasetError, Split};
use simile_core::numeric::matrix::Matrix;

use super::split::SplitSection;
use crate::data::error::{DataError, Result};
use crate::data::files::walk::pictures;
use crate::data::keys::of_dataset::{OptionType, ReadOptions};
use crate::data::pictures::annotations::{Annotations, root, text};
use crate::data::source::{About, Constants, Download, Medium, PictureFiles, Source};

pub(super) struct UtZappos50k;

/// The published folders of pictures; the first that is there is read. The configuration of CCL-K's release names the square one.
const PICTURES: [&str; 2] = ["ut-zap50k-images-square", "ut-zap50k-images"];

static ABOUT: About = About {
    name: "ut-zappos50k",
    files: "ut-zap50k-data/meta-data-bin.csv, ut-zap50k-images-square/**/*.jpg (or ut-zap50k-images)",
    classes: "21 sub-categories; 3 in 10 are held out",
    attributes: "attributes (126)",
    home: "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/",
    licence: "non-commercial research",
    downloads: &[
        Download::unpacked(
            "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/ut-zap50k-data.zip",
            None,
            "ut-zappos50k",
        ),
        Download::unpacked(
            "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/ut-zap50k-images-square.zip",
            None,
            "ut-zappos50k",
        ),
    ],
    needed: &["ut-zap50k-data/meta-data-bin.csv"],
    pictures: Some(50_025),
    normalise: Some(Constants {
        name: "ut-zappos",
        mean: [0.8342, 0.8142, 0.8081],
        std: [0.2804, 0.3014, 0.3072],
    }),
    ..About::NOTHING
};

impl Source for UtZappos50k {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }

    fn options(&self) -> &'static [OptionType] {
        const { &[OptionType::of::<SplitSection>()] }
    }
}

impl PictureFiles for UtZappos50k {
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let root =
            root(folder, &["ut-zappos50k", "utzap50k", "ut-zap50k"], "ut-zap50k-data/meta-data-bin.csv")?;
        let Some(name) = PICTURES.iter().find(|name| root.join(name).is_dir()) else {
            return Err(DataError::Missing {
                folder: root,
                missing: vec![format!("the folder {}", PICTURES[0])],
            });
        };
        let root_of_pictures = root.join(name);
        let (table, origin) = text(&root.join("ut-zap50k-data/meta-data-bin.csv"))?;
        let catalogue = catalogue(&Text::new(&table, &origin), &pictures(&root_of_pictures)?)?;
        Ok(Annotations {
            root: root_of_pictures,
            catalogue: options.get::<SplitSection>().cloned().unwrap_or_default().split(catalogue)?,
            notes: Vec::new(),
        })
    }

    #[cfg(test)]
    fn parse_changed(&self, texts: &[Text<'_>; 8]) -> Vec<Result<()>> {
        let paths: Vec<String> = texts[1].text.lines().map(String::from).collect();
        vec![catalogue(&texts[0], &paths).map(drop).map_err(Into::into)]
    }
}

/// Groups of columns that become attributes.
const GROUPS: [&str; 6] = ["HeelHeight", "Insole", "Closure", "Gender", "Material", "ToeStyle"];

/// Number of binary attributes.
const ATTRIBUTES: usize = 126;
/// Number of classes.
const CLASSES: usize = 21;

/// Reads the catalogue of the pictures under `paths`, in the order of the table; all of them are [`Split::Train`] until
/// some are held out. A picture's file is its `CID` with a dot for the dash: `100627-72` is `100627.72.jpg`.
///
/// Condition: `attributes`, `[n, 126]` of 0 and 1.
///
/// # Errors
/// [`DatasetError::Line`] names the line that cannot be parsed, or of a shoe
/// without a picture.
fn catalogue(table: &Text<'_>, paths: &[String]) -> Result<Catalogue, DatasetError> {
    let csv = table.csv()?;
    let id = csv.column("CID")?;
    let columns = |groups: &[&str], expected: usize| {
        let is_in_group = |name: &str| name.split('.').next().is_some_and(|group| groups.contains(&group));
        let columns: Vec<usize> = (0..csv.header.len()).filter(|&at| is_in_group(&csv.header[at])).collect();
        match columns.len() {
            count if count == expected => Ok(columns),
            count => {
                let reason = format!("{count} columns of {}, expected {expected}", groups.join(", "));
                Err(csv.error(1, format!("{reason}; get the official meta-data-bin.csv")))
            }
        }
    };
    let (classes, attributes) = (columns(&["SubCategory"], CLASSES)?, columns(&GROUPS, ATTRIBUTES)?);
    let by_name: HashMap<&str, &String> = paths
        .iter()
        .filter_map(|path| Some((path.rsplit('/').next()?.strip_suffix(".jpg")?, path)))
        .collect();

    let (mut files, mut labels, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (line, row) in csv.rows() {
        let word = |at: usize| row.get(at).unwrap_or_default();
        let file = by_name.get(word(id).replace('-', ".").as_str()).copied().ok_or_else(|| {
            csv.error(line, format!("there is no picture {}.jpg of it", word(id).replace('-', ".")))
        })?;
        let bit = |at: usize| match word(at) {
            "0" => Ok(0.0),
            "1" => Ok(1.0),
            other => {
                Err(csv.error(line, format!("column `{}` is `{other}`, expected 0 or 1", csv.header[at])))
            }
        };
        let bits = classes.iter().map(|&at| bit(at)).collect::<Result<Vec<f64>, DatasetError>>()?;
        let mut members = bits.iter().enumerate().filter(|&(_, &bit)| bit > 0.0).map(|(class, _)| class);
        let (Some(label), None) = (members.next(), members.next()) else {
            return Err(csv.error(line, "expected exactly one sub-category"));
        };
        files.push(file.clone());
        labels.push(label);
        for &at in &attributes {
            values.push(bit(at)?);
        }
    }
    let names = classes.iter().map(|&at| csv.header[at].trim_start_matches("SubCategory.").replace('.', " "));
    let splits = vec![Split::Train; files.len()];
    let rows = files.len();
    let catalogue = Catalogue::new(table.origin, files, splits, labels, names.collect())?;
    let attributes = Matrix::from_fn(rows, ATTRIBUTES, |row, at| values[row * ATTRIBUTES + at]);
    catalogue.with_condition("attributes", Condition::Numeric(attributes.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    /// The official columns: their groups and numbers, quoted as R writes them.
    fn header() -> String {
        let groups =
            [("Category", 4), ("SubCategory", 21), ("HeelHeight", 7), ("Insole", 20), ("Closure", 19)];
        let more = [("Gender", 8), ("Material", 54), ("ToeStyle", 18)];
        let columns = groups
            .iter()
            .chain(&more)
            .flat_map(|(group, n)| (0..*n).map(move |i| format!("\"{group}.V{i}.x\"")));
        std::iter::once("\"CID\"".to_owned()).chain(columns).collect::<Vec<_>>().join(",")
    }

    fn row(id: &str, ones: &[usize]) -> String {
        let bits = (0..151).map(|at| if ones.contains(&at) { "1" } else { "0" });
        std::iter::once(id).chain(bits).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn the_columns_beyond_the_categories_are_the_attributes() {
        let table =
            format!("{}\n{}\n{}\n", header(), row("100627-72", &[0, 6, 25, 150]), row("7-1", &[3, 24, 30]));
        let paths = ["Boots/Ankle/Brand/7.1.jpg", "Shoes/Flat/Other Brand/100627.72.jpg"].map(String::from);
        let shoes = catalogue(&Text::new(&table, "meta-data-bin.csv"), &paths).unwrap();
        assert_eq!(shoes.files, [paths[1].clone(), paths[0].clone()]);
        assert_eq!((shoes.labels.clone(), shoes.classes.len()), (vec![2, 20], 21));
        assert_eq!(shoes.classes[2], "V2 x");
        let attributes = shoes.conditions["attributes"].to_matrix();
        assert_eq!((attributes.columns(), attributes.row(0)[0], attributes.row(0)[125]), (126, 1.0, 1.0));
        assert_eq!((attributes.row(1).iter().sum::<f64>(), attributes.row(1)[5]), (1.0, 1.0));
    }

    #[test]
    fn the_square_pictures_are_read_where_both_folders_are_there() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("ut-zap50k-data")).unwrap();
        let shoes: Vec<String> = (0..10).map(|at| row(&format!("7-{at}"), &[4, 30])).collect();
        let table = format!("{}\n{}\n", header(), shoes.join("\n"));
        fs::write(place.path().join("ut-zap50k-data/meta-data-bin.csv"), table).unwrap();
        let annotated = || UtZappos50k.annotate(&ReadOptions::default(), place.path());
        let error = annotated().unwrap_err().to_string();
        assert!(error.contains("ut-zap50k-images-square"), "{error}");
        for name in ["ut-zap50k-images", "ut-zap50k-images-square"] {
            let folder = place.path().join(name);
            fs::create_dir(&folder).unwrap();
            for at in 0..10 {
                fs::write(folder.join(format!("7.{at}.jpg")), "").unwrap();
            }
            assert_eq!(annotated().unwrap().root, folder);
        }
    }

    #[test]
    fn what_is_not_official_is_named_by_its_line() {
        let text = |table: &str| {
            catalogue(&Text::new(table, "bin.csv"), &["a/7.1.jpg".into()]).unwrap_err().to_string()
        };
        assert!(text("CID,Category.Shoes\n").contains("0 columns of SubCategory, expected 21"));
        let absent = text(&format!("{}\n{}\n", header(), row("8-1", &[4])));
        assert!(absent.contains("bin.csv, line 2: there is no picture 8.1.jpg"), "{absent}");
        assert!(
            text(&format!("{}\n{}\n", header(), row("7-1", &[4, 5]))).contains("exactly one sub-category")
        );
        assert!(
            text(&format!("{}\n{}\n", header(), row("7-1", &[4]).replace(",1,", ",x,"))).contains("is `x`")
        );
    }
}
