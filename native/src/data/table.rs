//! A folder of pictures with a CSV file that says what each of them is: anybody's own data.
//!
//! ```csv
//! file,label,split,hospital,age
//! scans/0001.png,healthy,train,north,61
//! ```
//!
//! A condition of several columns, or of one whose values are all numbers, is numeric; any other is categorical.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};
use simile_core::dataset::{Condition, Dataset, Images};
use simile_core::matrix::Matrix;

use super::picture::read_picture;
use super::{DataError, Result};

/// `[data.table]`: which columns of which file say what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableSection {
    /// The CSV file in the data folder.
    pub(crate) csv: PathBuf,
    /// Column of the picture's path, relative to the data folder.
    #[serde(default = "file_column")]
    pub(crate) file: String,
    /// Column of the class.
    #[serde(default = "label_column")]
    pub(crate) label: String,
    /// Column that says `train` or `test`; without it `data.test` pictures are held out at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<String>,
    /// Whether a picture that cannot be read ends the run or is left out.
    #[serde(default)]
    pub(crate) broken: Broken,
    /// Columns of each conditioning variable, by its name.
    #[serde(default)]
    pub(crate) conditions: BTreeMap<String, Vec<String>>,
}

/// What to do with a picture that cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Broken {
    #[default]
    Refuse,
    Skip,
}

fn file_column() -> String {
    "file".into()
}

fn label_column() -> String {
    "label".into()
}

/// A table that was read.
#[derive(Debug)]
pub(crate) struct Table {
    /// All pictures, in the order of the table.
    pub(crate) dataset: Dataset,
    /// Whether each belongs to the test split, where a column says so.
    pub(crate) is_test: Option<Vec<bool>>,
    /// Why pictures were left out.
    pub(crate) skipped: Vec<DataError>,
}

/// Reads the table and all of its pictures, fitted to `side` × `side` pixels of `channels`, on all processors.
///
/// # Errors
/// Names the file, the line and the column of what is missing or not understood, and the first picture that cannot be
/// read if those are refused.
pub(crate) fn load_table(
    section: &TableSection,
    folder: &Path,
    side: usize,
    channels: usize,
) -> Result<Table> {
    let rows = Rows::read(section, folder)?;
    let paths: Vec<PathBuf> = rows.files.iter().map(|file| folder.join(file)).collect();
    let mut pixels = Vec::with_capacity(paths.len() * side * side * channels);
    let (mut kept, mut skipped) = (Vec::new(), Vec::new());
    for (row, picture) in read_all(&paths, side, channels).into_iter().enumerate() {
        match picture {
            Ok(picture) => {
                pixels.extend(picture.pixels);
                kept.push(row);
            }
            Err(error) if section.broken == Broken::Skip => skipped.push(error),
            Err(error) => return Err(error),
        }
    }
    let images = Images::new(side, side, channels, pixels)?;
    let (labels, classes) = numbered(kept.iter().map(|&row| rows.labels[row].as_str()));
    let mut dataset = Dataset::new(images, labels, classes)?;
    for (name, columns) in &rows.conditions {
        dataset = dataset.with_condition(name, condition(columns).select(&kept))?;
    }
    let is_test = rows.is_test.map(|tests| kept.iter().map(|&row| tests[row]).collect());
    Ok(Table { dataset, is_test, skipped })
}

/// The columns that are asked for.
struct Rows {
    files: Vec<String>,
    labels: Vec<String>,
    is_test: Option<Vec<bool>>,
    /// Columns of each condition, and their values from first to last row.
    conditions: Vec<(String, Vec<Vec<String>>)>,
}

impl Rows {
    fn read(section: &TableSection, folder: &Path) -> Result<Self> {
        let path = folder.join(&section.csv);
        let fail = |reason: String| DataError::Table { path: path.clone(), reason };
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_path(&path)
            .map_err(|error| fail(error.to_string()))?;
        let header = reader.headers().map_err(|error| fail(error.to_string()))?.clone();
        let records: Vec<csv::StringRecord> =
            reader.records().collect::<Result<_, _>>().map_err(|error| fail(error.to_string()))?;
        let column = |name: &str| -> Result<Vec<String>> {
            let at = header.iter().position(|column| column == name).ok_or_else(|| {
                let known: Vec<&str> = header.iter().collect();
                fail(format!("there is no column `{name}`; there are: {}", known.join(", ")))
            })?;
            let value = |record: &csv::StringRecord| {
                let value = record.get(at).filter(|value| !value.is_empty());
                value.map(String::from).ok_or_else(|| {
                    let line = record.position().map_or(0, csv::Position::line);
                    fail(format!("line {line}: column `{name}` is empty"))
                })
            };
            records.iter().map(value).collect()
        };

        if records.is_empty() {
            return Err(fail("there is no row under the header".into()));
        }
        let is_test = section.split.as_deref().map(|name| {
            let lines = records.iter().map(|record| record.position().map_or(0, csv::Position::line));
            let read = |(value, line): (String, u64)| match value.as_str() {
                "train" => Ok(false),
                "test" => Ok(true),
                other => Err(fail(format!(
                    "line {line}: column `{name}` is `{other}`, expected `train` or `test`"
                ))),
            };
            column(name)?.into_iter().zip(lines).map(read).collect::<Result<Vec<bool>>>()
        });
        let conditions = section.conditions.iter().map(|(name, columns)| {
            let columns = columns.iter().map(|name| column(name)).collect::<Result<Vec<_>>>()?;
            if columns.is_empty() {
                return Err(fail(format!("the condition `{name}` names no column")));
            }
            if columns.len() > 1 && numbers(&columns).is_none() {
                return Err(fail(format!(
                    "the condition `{name}` has several columns, so all of their values must be numbers"
                )));
            }
            Ok((name.clone(), columns))
        });
        Ok(Self {
            files: column(&section.file)?,
            labels: column(&section.label)?,
            is_test: is_test.transpose()?,
            conditions: conditions.collect::<Result<_>>()?,
        })
    }
}

/// The pictures in the order of their paths, read on all processors.
fn read_all(paths: &[PathBuf], side: usize, channels: usize) -> Vec<Result<Images>> {
    let workers = thread::available_parallelism().map_or(1, |count| count.get());
    let part = paths.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let read = |paths: &[PathBuf]| -> Vec<Result<Images>> {
            paths.iter().map(|path| read_picture(path, side, channels)).collect()
        };
        let workers: Vec<_> =
            paths.chunks(part).map(|paths| (paths, scope.spawn(move || read(paths)))).collect();
        let pictures = workers.into_iter().flat_map(|(paths, worker)| {
            // A decoder that panics spoils its part, and says of which picture it was one.
            worker
                .join()
                .unwrap_or_else(|_| paths.iter().map(|path| Err(DataError::Decoder(path.clone()))).collect())
        });
        pictures.collect()
    })
}

/// Values as indices into their sorted names.
fn numbered<'a>(values: impl Iterator<Item = &'a str>) -> (Vec<usize>, Vec<String>) {
    let values: Vec<&str> = values.collect();
    let mut names: Vec<&str> = values.clone();
    names.sort_unstable();
    names.dedup();
    let index = |value: &&str| names.binary_search(value).unwrap_or_default();
    (values.iter().map(index).collect(), names.into_iter().map(String::from).collect())
}

fn condition(columns: &[Vec<String>]) -> Condition {
    match (numbers(columns), columns) {
        (None, [values]) => {
            let (values, names) = numbered(values.iter().map(String::as_str));
            Condition::Categorical { values, names }
        }
        (numbers, _) => Condition::Numeric(numbers.unwrap_or_else(|| Matrix::zeros(0, 0))),
    }
}

/// One row a picture, if every value is a finite number.
fn numbers(columns: &[Vec<String>]) -> Option<Matrix> {
    let parse = |value: &String| value.parse::<f64>().ok().filter(|value| value.is_finite());
    let columns: Vec<Vec<f64>> = columns
        .iter()
        .map(|values| values.iter().map(parse).collect::<Option<Vec<f64>>>())
        .collect::<Option<_>>()?;
    let rows = columns.first().map_or(0, Vec::len);
    Some(Matrix::from_fn(rows, columns.len(), |row, column| columns[column][row]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    const TABLE: &str = "\
        file,label,split,site,red,green\n\
        a.png,dog,train,north,1,2\n\
        b.png,cat,train,south,3,4\n\
        in/c.png,dog,test,north,5,6.5\n";

    fn folder(table: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        for (name, grey) in [("a.png", 10), ("b.png", 20), ("in/c.png", 30)] {
            image::RgbImage::from_pixel(20, 12, image::Rgb([grey; 3]))
                .save(folder.path().join(name))
                .unwrap();
        }
        fs::write(folder.path().join("images.csv"), table).unwrap();
        folder
    }

    fn section(settings: &str) -> TableSection {
        let conditions = "conditions = { site = [\"site\"], colour = [\"red\", \"green\"], red = [\"red\"] }";
        toml::from_str(&format!("csv = \"images.csv\"\nsplit = \"split\"\n{conditions}\n{settings}")).unwrap()
    }

    fn complaint(table: &str, settings: &str) -> String {
        let folder = folder(table);
        load_table(&section(settings), folder.path(), 8, 3).unwrap_err().to_string()
    }

    #[test]
    fn columns_become_classes_splits_and_conditions() {
        let folder = folder(TABLE);
        let Table { dataset, is_test, skipped } = load_table(&section(""), folder.path(), 8, 3).unwrap();
        assert_eq!((dataset.images.height, dataset.images.width, dataset.images.channels), (8, 8, 3));
        assert_eq!([0, 1, 2].map(|i| dataset.images.image(i)[0]), [10, 20, 30]);
        assert_eq!((dataset.labels, dataset.classes), (vec![1, 0, 1], vec!["cat".into(), "dog".into()]));
        assert_eq!(is_test, Some(vec![false, false, true]));
        assert!(skipped.is_empty());
        let site =
            Condition::Categorical { values: vec![0, 1, 0], names: vec!["north".into(), "south".into()] };
        assert_eq!(dataset.conditions["site"], site);
        let colour =
            Condition::Numeric(Matrix::from_fn(3, 2, |i, j| [[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]][i][j]));
        assert_eq!(dataset.conditions["colour"], colour);
        assert!(matches!(&dataset.conditions["red"], Condition::Numeric(red) if red.columns() == 1));
    }

    #[test]
    fn a_broken_picture_is_refused_or_left_out() {
        let folder = folder(TABLE);
        fs::write(folder.path().join("b.png"), b"\x89PNG\r\n\x1a\nbroken").unwrap();
        let refused = load_table(&section(""), folder.path(), 8, 3).unwrap_err().to_string();
        assert!(refused.contains("b.png"), "{refused}");
        let table = load_table(&section("broken = \"skip\""), folder.path(), 8, 3).unwrap();
        assert_eq!((table.dataset.len(), table.skipped.len()), (2, 1));
        assert_eq!(table.dataset.classes, ["dog"]);
        assert_eq!(table.dataset.conditions["colour"].to_matrix().row(1), [5.0, 6.5]);
        assert_eq!(table.is_test, Some(vec![false, true]));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said_by_line_and_column() {
        let wrong_split = complaint(&TABLE.replace("test", "tset"), "");
        assert!(wrong_split.contains("line 4") && wrong_split.contains("`tset`"), "{wrong_split}");
        let no_column = complaint(TABLE, "label = \"klass\"");
        assert!(no_column.contains("`klass`") && no_column.contains("file, label, split"), "{no_column}");
        let empty = complaint(&TABLE.replace("cat", ""), "");
        assert!(empty.contains("line 3") && empty.contains("`label`"), "{empty}");
        let mixed = complaint(&TABLE.replace("6.5", "pale"), "");
        assert!(mixed.contains("`colour`") && mixed.contains("must be numbers"), "{mixed}");
        assert!(complaint("file,label,split,site,red,green\n", "").contains("no row"));
        assert!(complaint(&TABLE.replace("in/c.png", "in/d.png"), "").contains("d.png"));
    }
}
