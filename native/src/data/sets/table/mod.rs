//! A folder of pictures with a CSV file of their annotations: a user's own data.
//!
//! ```csv
//! file,label,split,hospital,age
//! scans/0001.png,healthy,train,north,61
//! ```
//!
//! A condition of several columns, or of one whose values are all numbers, is numeric; any other is categorical. Among
//! numbers a cell such as `NaN` is refused, or left out like an empty one, and a word is reported: see [`cells`] and [`gaps`].

mod cells;
mod gaps;
mod repeated;
mod rows;
mod section;
mod unlisted;

use std::path::Path;

use simile_core::data::catalogue::numbered;
use simile_core::data::{Catalogue, Split};

pub(crate) use self::cells::is_unusable;
pub(crate) use self::gaps::missing_cells;
pub(crate) use self::repeated::in_several_splits;
use self::rows::Rows;
pub(crate) use self::section::TableSection;
use self::unlisted::unlisted;
use crate::data::error::{DataError, Result};
use crate::data::keys::Refused;
use crate::data::keys::of_dataset::{OptionType, ReadOptions};
use crate::data::pictures::annotations::Annotations;
use crate::data::source::{About, Medium, PictureFiles, Shape, Source};

/// Seed of the pictures that are held out of a table without a split.
const HOLD_OUT_SEED: u64 = 0;

pub(super) struct Table;

static ABOUT: About = About {
    name: "table",
    files: "your pictures and a CSV file, whose columns the recipe names in [data.table]",
    classes: "a column; splits by another column, else held out",
    attributes: "any columns",
    ..About::NOTHING
};

impl Source for Table {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn medium(&self) -> Medium<'_> {
        Medium::Pictures(self)
    }

    fn shape(&self) -> Shape {
        Shape { side: 32, channels: 3 }
    }

    fn options(&self) -> &'static [OptionType] {
        const { &[OptionType::of::<TableSection>()] }
    }

    fn check(&self, options: &ReadOptions) -> Result<(), Refused> {
        match options.get::<TableSection>() {
            None => Err(Refused::new("dataset", NO_SECTION)),
            Some(table) if table.split.is_none() && options.test.is_none() => {
                let reason = "without `data.table.split`, `data.test` must say how many to hold out";
                Err(Refused::new("table", reason))
            }
            Some(_) => Ok(()),
        }
    }
}

const NO_SECTION: &str = "a `table` needs [data.table], which names its CSV file and columns";

impl PictureFiles for Table {
    fn annotate(&self, options: &ReadOptions, folder: &Path) -> Result<Annotations> {
        let no_section = || DataError::Table { path: folder.into(), reason: NO_SECTION.into() };
        let section = options.get().ok_or_else(no_section)?;
        let ReadTable { mut catalogue, has_split, left_out, mut notes } = read_table(section, folder)?;
        if let Some(note) = unlisted(folder, catalogue.files.iter().chain(&left_out)) {
            notes.push(format!("{}: {note}", folder.join(&section.csv).display()));
        }
        if has_split {
            check_trained(&catalogue, &section.csv, folder)?;
        }
        if let Some(count) = options.test.filter(|_| !has_split) {
            if catalogue.len() == 1 {
                let reason =
                    "its only picture cannot be both trained and tested on; add more pictures".into();
                return Err(DataError::Table { path: folder.join(&section.csv), reason });
            }
            catalogue = hold_out(catalogue, count)?;
            let whole = catalogue.of(Split::Test).len();
            if whole != count {
                notes
                    .push(format!("`data.test` is {count}: {whole} pictures of whole subjects are held out"));
            }
        }
        Ok(Annotations { root: folder.into(), catalogue, notes })
    }

    fn holds_out(&self, options: &ReadOptions) -> bool {
        options.get::<TableSection>().is_some_and(|table| table.split.is_none())
    }
}

/// The catalogue with so many pictures to test on.
///
/// # Errors
/// Names `data.test`, if it leaves none to train on.
fn hold_out(catalogue: Catalogue, count: usize) -> Result<Catalogue> {
    let divided = catalogue.hold_out(Split::Train, Split::Test, count, HOLD_OUT_SEED);
    Ok(divided.map_err(|error| error.with_name("data.test"))?)
}

/// A parsed table.
#[derive(Debug)]
pub(crate) struct ReadTable {
    pub(crate) catalogue: Catalogue,
    /// True if a column gives the split; otherwise all pictures are for training.
    pub(crate) has_split: bool,
    /// The files of the rows that are left out for want of a value.
    pub(crate) left_out: Vec<String>,
    /// Notes on suspicious cells.
    pub(crate) notes: Vec<String>,
}

/// Reads a table.
///
/// # Errors
/// Names the file, the line and the column of a missing or unreadable cell.
pub(crate) fn read_table(section: &TableSection, folder: &Path) -> Result<ReadTable> {
    let rows = Rows::read(section, folder)?;
    let origin = folder.join(&section.csv).display().to_string();
    let (labels, classes) = numbered(rows.labels.iter().map(String::as_str));
    let splits = match &rows.splits {
        Some(splits) => splits.clone(),
        None => vec![Split::Train; labels.len()],
    };
    let mut catalogue = Catalogue::new(&origin, rows.files, splits, labels, classes)?;
    for (name, condition) in rows.conditions {
        catalogue = catalogue.with_condition(&name, condition)?;
    }
    let mut notes = rows.notes;
    if let Some(subjects) = &rows.subjects {
        let (numbers, names) = numbered(subjects.iter().map(String::as_str));
        notes.extend(rows.splits.as_ref().and_then(|splits| in_several_splits(&numbers, &names, splits)));
        catalogue = catalogue.with_subjects(numbers)?;
    }
    let notes = notes.iter().map(|note| format!("{origin}: {note}")).collect();
    Ok(ReadTable { catalogue, has_split: rows.splits.is_some(), left_out: rows.left_out, notes })
}

/// Checks that each class has a picture to train on.
fn check_trained(catalogue: &Catalogue, csv: &Path, folder: &Path) -> Result<()> {
    match catalogue.untrained().first() {
        None => Ok(()),
        Some(class) => Err(DataError::Table {
            path: folder.join(csv),
            reason: format!(
                "the class `{class}` has no training picture, so none of its pictures can be classified; give it some, \
                 or leave its rows out"
            ),
        }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use simile_core::data::Condition;
    use simile_core::numeric::matrix::Matrix;
    use std::fs;

    const TABLE: &str = "\
        file,label,split,site,red,green\n\
        a.png,dog,train,north,1,2\n\
        b.png,cat,train,south,3,4\n\
        in/c.png,dog,test,north,5,6.5\n";

    fn folder(table: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("images.csv"), table).unwrap();
        folder
    }

    fn section(settings: &str) -> TableSection {
        let conditions = "conditions = { site = [\"site\"], colour = [\"red\", \"green\"], red = [\"red\"] }";
        toml::from_str(&format!("csv = \"images.csv\"\nsplit = \"split\"\n{conditions}\n{settings}")).unwrap()
    }

    fn complaint(table: &str, settings: &str) -> String {
        let folder = folder(table);
        read_table(&section(settings), folder.path()).unwrap_err().to_string()
    }

    #[test]
    fn subjects_stay_together_and_those_in_several_splits_are_named() {
        let held = |rows: &str| {
            let folder = folder(rows);
            let section: TableSection = toml::from_str("csv = \"images.csv\"\nsubject = \"who\"").unwrap();
            let ReadTable { catalogue, .. } = read_table(&section, folder.path()).unwrap();
            catalogue.hold_out(Split::Train, Split::Test, 2, 0).unwrap().splits
        };
        let splits = held("file,label,who\na.png,x,p\nb.png,y,q\nc.png,x,p\nd.png,y,q\n");
        assert!(splits[0] == splits[2] && splits[1] == splits[3] && splits[0] != splits[1]);
        let folder = folder(
            "file,label,split,site,red,green,who\na.png,x,train,n,1,1,p\nb.png,x,test,n,1,1,p\nc.png,x,test,n,1,1,q\n",
        );
        let read = read_table(&section("subject = \"who\""), folder.path()).unwrap();
        assert!(read.notes[0].contains("`p` has pictures in more than one split"), "{:?}", read.notes);
        assert_eq!(read.catalogue.subjects, Some(vec![0, 0, 1]));
        let text = read_table(&section("subject = \"whom\""), folder.path()).unwrap_err().to_string();
        assert!(text.contains("there is no column `whom`"), "{text}");
    }

    #[test]
    fn a_number_that_cannot_be_held_out_is_named_by_its_key() {
        let complaint = |rows: &str, settings: &str, count| {
            let folder = folder(rows);
            let section: TableSection = toml::from_str(&format!("csv = \"images.csv\"\n{settings}")).unwrap();
            let read = read_table(&section, folder.path()).unwrap();
            hold_out(read.catalogue, count).unwrap_err().to_string()
        };
        let text = complaint("file,label\na.png,x\nb.png,y\n", "", 200);
        assert_eq!(text, "`data.test` is 200, expected 1 to 1 of 2 pictures");
        let text = complaint("file,label,who\na.png,x,p\nb.png,y,p\n", "subject = \"who\"", 1);
        assert!(text.starts_with("`data.test` is 1, all pictures are of one subject"), "{text}");
    }

    /// The number to hold out was refused, which is none of the user's where the program chose it.
    #[test]
    fn one_picture_is_too_few() {
        let folder = folder("file,label\na.png,x\n");
        let section: TableSection = toml::from_str("csv = \"images.csv\"").unwrap();
        let options = ReadOptions { test: Some(1), ..ReadOptions::with(section) };
        let text = Table.annotate(&options, folder.path()).unwrap_err().to_string();
        assert!(
            text.ends_with("its only picture cannot be both trained and tested on; add more pictures"),
            "{text}"
        );
    }

    #[test]
    fn columns_become_classes_splits_and_conditions() {
        let folder = folder(TABLE);
        let ReadTable { catalogue, has_split, notes, .. } = read_table(&section(""), folder.path()).unwrap();
        assert!(has_split && notes.is_empty());
        assert_eq!(catalogue.files, ["a.png", "b.png", "in/c.png"]);
        assert_eq!((catalogue.labels, catalogue.classes), (vec![1, 0, 1], vec!["cat".into(), "dog".into()]));
        assert_eq!(catalogue.splits, [Split::Train, Split::Train, Split::Test]);
        let site =
            Condition::Categorical { values: vec![0, 1, 0], names: vec!["north".into(), "south".into()] };
        assert_eq!(catalogue.conditions["site"], site);
        let colour = Matrix::from_fn(3, 2, |i, j| [[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]][i][j]);
        assert_eq!(catalogue.conditions["colour"], Condition::Numeric(colour.into()));
        assert!(matches!(&catalogue.conditions["red"], Condition::Numeric(red) if red.columns() == 1));
    }

    /// A table whose copy ended early trained on the pictures of its first rows, without a word.
    #[test]
    fn pictures_that_no_row_names_are_noted() {
        let notes = |table: &str| {
            let folder = folder(table);
            fs::create_dir(folder.path().join("in")).unwrap();
            for file in ["a.png", "b.png", "in/c.png"] {
                fs::write(folder.path().join(file), "").unwrap();
            }
            let options = ReadOptions::with(section("missing = \"skip\""));
            Table.annotate(&options, folder.path()).unwrap().notes
        };
        assert!(notes(TABLE).is_empty(), "{:?}", notes(TABLE));
        let cut = notes(&TABLE.lines().take(3).map(|line| format!("{line}\n")).collect::<String>());
        assert!(cut.len() == 1 && cut[0].contains("images.csv: the picture in/c.png"), "{cut:?}");
        // A row that is left out on purpose names its picture.
        let skipped = notes(&TABLE.replace("dog,test,north", "dog,test,"));
        assert!(skipped.len() == 1 && skipped[0].contains("1 of 3 rows is left out"), "{skipped:?}");
    }

    #[test]
    fn rows_without_a_value_are_left_out_on_request_and_said() {
        let folder = folder(&TABLE.replace("cat", "").replace(",north,5", ",,5"));
        let table = read_table(&section("missing = \"skip\""), folder.path()).unwrap();
        assert_eq!(table.catalogue.files, ["a.png"]);
        let note = &table.notes[0];
        assert!(
            note.contains("2 of 3 rows are left out") && note.contains("line 3: column `label`"),
            "{note}"
        );
        assert!(note.contains("line 4: column `site` is empty"), "{note}");
    }

    #[test]
    fn numbers_that_are_none_are_left_out_on_request_like_empty_cells() {
        let table = TABLE.replace("north", "1").replace("south", "NaN").replace("6.5", "inf");
        let settings = "categories = [\"site\"]\n";
        let of = |missing: &str| {
            let folder = folder(&table);
            let section = section(&format!("{settings}missing = \"{missing}\""));
            let cells = missing_cells(&section, folder.path()).unwrap();
            (read_table(&section, folder.path()), cells)
        };
        let (read, cells) = of("skip");
        let read = read.unwrap();
        assert_eq!(read.catalogue.files, ["a.png"]);
        assert!(
            read.notes[0].contains("line 3: column `site` is `NaN`, which is not a usable number"),
            "{:?}",
            read.notes
        );
        assert!(read.notes[0].contains("line 4: column `green` is `inf`"), "{:?}", read.notes);
        assert_eq!((cells["site"], cells["colour"], cells["red"]), (1, 1, 0));
        let (refused, _) = of("refuse");
        assert!(refused.unwrap_err().to_string().contains("line 4: column `green` is `inf`"));
        // Among words it is one of them.
        let folder = folder(&TABLE.replace("south", "NaN"));
        let read = read_table(&section("missing = \"skip\""), folder.path()).unwrap();
        assert_eq!((read.catalogue.files.len(), read.notes.len()), (3, 0));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said_by_line_and_column() {
        let wrong_split = complaint(&TABLE.replace("test", "tset"), "");
        assert!(wrong_split.contains("line 4") && wrong_split.contains("`tset`"), "{wrong_split}");
        let no_column = complaint(TABLE, "label = \"klass\"");
        assert!(no_column.contains("`klass`") && no_column.contains("file, label, split"), "{no_column}");
        let empty = complaint(&TABLE.replace("cat", ""), "");
        assert!(empty.contains("line 3") && empty.contains("`label`"), "{empty}");
        let twice = complaint(&TABLE.replace("dog", ""), "");
        assert!(twice.contains("line 2: column `label` is empty (and in another row)"), "{twice}");
        let both = complaint(&TABLE.replace("cat", "").replace(",north,1", ",,1"), "");
        assert!(
            both.contains("line 2: column `site` is empty") && both.contains("missing = \"skip\""),
            "{both}"
        );
        let mixed = complaint(&TABLE.replace("6.5", "pale"), "");
        assert!(mixed.contains("`colour`") && mixed.contains("must be numbers"), "{mixed}");
        assert!(mixed.contains("add a column that writes the categories as numbers"), "{mixed}");
        assert!(mixed.contains("line 4: column `green` is `pale`"), "{mixed}");
        assert!(complaint("file,label,split,site,red,green\n", "").contains("no row"));
        let infinite = complaint(&TABLE.replace(",3,4", ",inf,4"), "");
        assert!(infinite.contains("images.csv: line 3: column `red` is `inf`"), "{infinite}");
        for (from, to) in [(",3,4", ",inf,4"), ("cat", ""), ("south", "")] {
            let crlf = complaint(&TABLE.replace(from, to).replace('\n', "\r\n"), "");
            assert!(crlf.contains("images.csv: line 3: column"), "{crlf}");
        }
        let folder = folder(&TABLE.replace(",5,6.5", ",5,6.5\nd.png,dog,test,two,7,8").replace("north", "1"));
        let table = read_table(&section(""), folder.path()).unwrap();
        assert!(table.notes.is_empty(), "{:?}", table.notes);
    }
}
