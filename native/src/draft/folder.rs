//! The contents of a folder of pictures: a CSV file beside them, or a folder for each class.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use csv::StringRecord;
use simile_core::data::{Catalogue, Split};

use super::OwnPictureOptions;
use super::place::check_place;
use super::sizes::Sizes;
use crate::columns::kind::{Column, ColumnKind, no_number};
use crate::columns::names::{FILES, named};
use crate::columns::roles::Roles;
use crate::columns::split::SplitColumn;
use crate::columns::table::UserTable;
use crate::config::explain::suggestion;
use crate::console::line;
use crate::data::{DataSection, DatasetName, is_picture};
use crate::exit::usage;
use crate::run_folder::folder::entries;
use crate::shell::quoted;
use crate::words::counted;

/// Pictures whose size is looked at.
const LOOKED_AT: usize = 64;

/// The contents of a folder.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) layout: Layout,
    pub(super) pictures: usize,
    /// Those of them that have a value in every column that is used.
    pub(super) usable: usize,
    /// The classes with their numbers of pictures.
    pub(super) classes: Vec<(String, usize)>,
    /// The sizes of some pictures.
    pub(super) sizes: Sizes,
}

/// The arrangement of pictures and classes.
#[derive(Debug)]
pub(super) enum Layout {
    Table(Table),
    /// A folder for each class; `split` if there are folders for training and test above them.
    Folders {
        split: bool,
    },
}

/// A CSV file and the meaning of its columns.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) csv: PathBuf,
    pub(super) file: String,
    pub(super) label: String,
    pub(super) split: Option<SplitColumn>,
    /// The column of the subjects, which is an attribute too if it can be one.
    pub(super) subject: Option<String>,
    /// The other columns that can be attributes.
    pub(super) attributes: Vec<Column>,
    /// The other columns that cannot.
    others: Vec<Column>,
    /// Empty cells of file, label and split.
    pub(super) missing: usize,
}

impl Table {
    /// True for a column that is an attribute without being asked for. One with empty cells would cost rows, and of the subject a probe
    /// could name none of those that are held out.
    pub(super) fn offers(&self, column: &Column) -> bool {
        column.missing == 0 && self.subject.as_ref() != Some(&column.name)
    }

    /// The role of a column, in words; `None` if it is an attribute.
    fn role_of(&self, column: &str) -> Option<&'static str> {
        let split = self.split.as_ref().map(|split| split.column.as_str());
        [
            (Some(self.file.as_str()), "the file of a picture"),
            (Some(self.label.as_str()), "the class"),
            (split, "the split"),
        ]
        .into_iter()
        .find_map(|(name, role)| (name == Some(column)).then_some(role))
    }
}

impl Contents {
    /// Looks into a folder.
    ///
    /// # Errors
    /// A usage error if it holds no pictures, or a column cannot be told; a failure if a file cannot be read.
    pub(super) fn of(folder: &Path, options: OwnPictureOptions<'_>) -> Result<Self> {
        let tables = [".csv", ".tsv"].map(|ending| tables(folder, ending));
        let tables = tables.into_iter().find(|tables| !tables.is_empty()).unwrap_or_default();
        match (options.csv, tables.as_slice()) {
            (Some(csv), _) => Self::from_table(folder, csv.to_owned(), options),
            (None, [one]) => Self::from_table(folder, one.into(), options),
            (None, []) => Self::from_folders(folder, options),
            (None, several) => Err(usage(format_args!(
                "{} holds several tables; name the one of the pictures with --csv: {}",
                folder.display(),
                several.join(", ")
            ))),
        }
    }

    fn from_table(folder: &Path, csv: PathBuf, options: OwnPictureOptions<'_>) -> Result<Self> {
        let table = UserTable::read(&folder.join(&csv))?;
        let known = table.header.join(", ");
        let wrong =
            |reason: String| usage(format_args!("{}: {reason}; its columns: {known}", table.path.display()));
        let is_empty = table.rows.is_empty();
        let holds_files = |name: &&String| !is_empty && table.cells(name).take(3).all(is_picture);
        let file = named(&table.header, &FILES)
            .or_else(|| table.header.iter().find(holds_files))
            .ok_or_else(|| wrong(without_files(options.csv)))?;
        if options.label == Some(file.as_str()) {
            return Err(wrong(no_class(file)));
        }
        let label = table.class(options.label)?;
        let is_asked = |name: &str| options.hide.iter().chain(options.keep).any(|asked| asked == name);
        let Roles { split, subject, columns, classes, on_subject, on_classes } =
            Roles::of(&table, Some(file), label, is_asked, "picture")?;
        on_subject.iter().for_each(line);
        let Some(first) = table.cells(file).find(|cell| !cell.is_empty()) else {
            return Err(wrong("it has no row with a picture".into()));
        };
        check_place(folder, &table.path, file, first)?;
        let (attributes, others): (Vec<Column>, Vec<Column>) =
            columns.into_iter().partition(Column::is_attribute);
        others.iter().filter_map(|column| column.left_out(table.rows.len())).for_each(line);
        on_classes.iter().for_each(line);
        let needed = [Some(file), Some(label), split.as_ref().map(|split| &split.column)];
        let gaps = |name: &String| table.cells(name).filter(|cell| cell.is_empty()).count();
        let missing = needed.into_iter().flatten().map(gaps).sum();
        let asked = table.header.iter().filter(|name| is_asked(name));
        let used: Vec<usize> =
            needed.into_iter().flatten().chain(asked).filter_map(|name| table.place(name)).collect();
        let usable = table.rows.iter().filter(|row| has_values(row, &used)).count();
        let paths: Vec<&str> = table.cells(file).collect();
        let sizes = Sizes::of(spread(paths.len()).filter_map(|at| Some(folder.join(paths.get(at)?))));
        let (file, label) = (file.clone(), label.clone());
        let pictures = table.rows.len();
        let table = Table { csv, file, label, split, subject, attributes, others, missing };
        Ok(Self { pictures, usable, classes, sizes, layout: Layout::Table(table) })
    }

    fn from_folders(folder: &Path, options: OwnPictureOptions<'_>) -> Result<Self> {
        if let Some(column) = options.hide.first().or(options.keep.first()) {
            return Err(usage(format_args!(
                "{} has no CSV file, so nothing says the `{column}` of a picture; put one beside the pictures with \
                 the columns file,label,{column}",
                folder.display()
            )));
        }
        if let Some(label) = options.label {
            return Err(usage(format_args!(
                "{} has no CSV file, so there is no column `{label}`; without --label a folder is a class",
                folder.display()
            )));
        }
        let section = DataSection::of(DatasetName::find("folders").context("`folders` is a data set")?);
        let catalogue = section.catalogue(folder).map_err(usage)?;
        let labels = catalogue.labels.iter().filter_map(|&label| catalogue.classes.get(label));
        let sample = spread(catalogue.len()).filter_map(|at| Some(folder.join(catalogue.files.get(at)?)));
        Ok(Self {
            pictures: catalogue.len(),
            usable: catalogue.len(),
            classes: counted(labels.map(String::as_str)),
            sizes: Sizes::of(sample),
            layout: Layout::Folders { split: has_splits(&catalogue) },
        })
    }

    /// The columns of some names, which an option has asked for.
    ///
    /// # Errors
    /// A usage error if one is not there, or says nothing.
    pub(super) fn columns(&self, folder: &Path, option: &str, names: &[String]) -> Result<Vec<Column>> {
        let Layout::Table(table) = &self.layout else { return Ok(Vec::new()) };
        let path = folder.join(&table.csv);
        let find = |name: &String| {
            let has_name = |column: &&Column| column.name == *name;
            if let Some(column) = table.attributes.iter().find(has_name) {
                return Ok(column.clone());
            }
            if let Some(Column { kind, missing, .. }) = table.others.iter().find(has_name) {
                let only = |value: &str| {
                    let rows = if *missing > 0 { "all rows that have a value" } else { "all rows" };
                    format!("is `{value}` in {rows}, so there is nothing to hide or to keep")
                };
                let is = match kind {
                    ColumnKind::Names { word, .. } => format!(
                        "has {kind}: its values are shared by few rows, so it can be neither hidden nor kept{}",
                        word.as_deref().map(no_number).unwrap_or_default()
                    ),
                    ColumnKind::Categories { values, .. } => {
                        values.first().map_or_else(|| "is empty".into(), |(value, _)| only(value))
                    }
                    ColumnKind::Numbers { low, .. } => only(&low.to_string()),
                };
                return Err(usage(format_args!("{}: column `{name}` {is}", path.display())));
            }
            if let Some(role) = table.role_of(name) {
                return Err(usage(format_args!(
                    "{}: column `{name}` says {role}, so it can be neither hidden nor kept",
                    path.display()
                )));
            }
            let known = || table.attributes.iter().map(|column| column.name.as_str());
            let hint = once_for_each(option, name, known).unwrap_or_else(|| suggestion(name, known()));
            Err(usage(format_args!("{} has no attribute `{name}`{hint}", path.display())))
        };
        names.iter().map(find).collect()
    }
}

/// The end of the error about a name that is several attributes with commas between them.
fn once_for_each<'t, I: Iterator<Item = &'t str>>(
    option: &str,
    name: &str,
    known: impl Fn() -> I,
) -> Option<String> {
    let parts: Vec<&str> = name.split(',').map(str::trim).collect();
    let are_several = parts.len() > 1 && parts.iter().all(|part| known().any(|attribute| attribute == *part));
    let each = || parts.iter().map(|part| format!("{option} {}", quoted(part))).collect::<Vec<_>>().join(" ");
    are_several.then(|| format!("; give {option} once for each: {}", each()))
}

/// The reason against the column of the files as the class: each class would have one picture.
fn no_class(column: &str) -> String {
    format!("`{column}` is the file of a picture, which can be no class; name another column with --label")
}

/// The fault of a table in which no column names files. One that the user did not name may be about something else.
fn without_files(csv: Option<&Path>) -> String {
    let or = match csv {
        Some(_) => "",
        None => ". If it is not a table of the pictures, move it away: a folder is then a class",
    };
    format!("no column names the files of the pictures; call it `{}`{or}", FILES[0])
}

/// True if a row has a value in each of some columns.
fn has_values(row: &StringRecord, columns: &[usize]) -> bool {
    columns.iter().all(|at| row.get(*at).is_some_and(|cell| !cell.is_empty()))
}

/// The files in a folder with an ending. A hidden one is a file of the system: macOS puts `._images.csv` beside `images.csv` on disks of
/// others.
fn tables(folder: &Path, ending: &str) -> Vec<String> {
    let is_table = |name: &String| {
        !name.starts_with('.') && name.to_ascii_lowercase().ends_with(ending) && folder.join(name).is_file()
    };
    let mut tables: Vec<String> = entries(folder).into_iter().filter(is_table).collect();
    tables.sort();
    tables
}

/// True if the folders say which pictures are not for training. Otherwise the reader has held some out: of the folders of the
/// classes, or of those in `train`.
fn has_splits(catalogue: &Catalogue) -> bool {
    (0..catalogue.len()).any(|at| {
        let top = catalogue.files.get(at).and_then(|file| file.split('/').next());
        let class = catalogue.labels.get(at).and_then(|&label| catalogue.classes.get(label));
        catalogue.splits.get(at) != Some(&Split::Train)
            && top != Some("train")
            && top != class.map(String::as_str)
    })
}

/// Some indices below `count`, evenly spread.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by((count / LOOKED_AT).max(1))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Changes;
    use crate::data::keys::values::JudgedBy;
    use crate::draft::Draft;
    use crate::draft::testing::{drafted, pictures, scans};

    #[test]
    fn a_column_of_splits_is_taken_or_refused() {
        let rows = ["train,a", "train,b", "validation,b", "validation,a"];
        let folder = scans("split,site", rows);
        let (text, recipe) = drafted(folder.path(), &["site"], &[]);
        assert_eq!(recipe.data.judged_by, JudgedBy::Validation);
        assert!(text.contains("split = \"split\"") && !text.contains("test ="), "{text}");
        let folder = scans("split,site", ["train,a", "test,b", ",b", "train,a"]);
        let (text, recipe) = drafted(folder.path(), &["site"], &[]);
        assert_eq!(recipe.data.judged_by, JudgedBy::Test);
        assert!(text.contains("split = \"split\"") && text.contains("missing = \"skip\""), "{text}");
        let folder = scans("split,site", ["Train,a", "Test,b", "Train,b", "Test,a"]);
        let error = Draft::new(folder.path(), OwnPictureOptions::default(), false).unwrap_err().to_string();
        assert!(error.contains("images.csv: line 2: column `split` is `Train`"), "{error}");
    }

    #[test]
    fn the_role_of_a_column_that_is_no_attribute_is_said() {
        let folder = scans("split,site", ["train,a", "train,b", "test,b", "test,a"]);
        for (column, role) in
            [("label", "the class"), ("file", "the file of a picture"), ("split", "the split")]
        {
            let hide = [column.to_owned()];
            let options = OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() };
            let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
            assert!(
                error.contains(&format!("column `{column}` says {role}, so it can be neither")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_column_of_one_value_names_it() {
        for (rows, is) in [
            (["a,0.5", "a,0.5", "a,0.5", "a,0.5"], ["`a` in all rows,", "`0.5` in all rows,"]),
            (
                ["a,", "a,0.5", ",0.5", "a,0.5"],
                ["`a` in all rows that have a value", "`0.5` in all rows that have a value"],
            ),
        ] {
            let folder = scans("site,dose", rows);
            for (column, is) in ["site", "dose"].into_iter().zip(is) {
                let hide = [column.to_owned()];
                let options = OwnPictureOptions { hide: &hide, ..OwnPictureOptions::default() };
                let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
                assert!(error.contains(&format!("column `{column}` is {is}")), "{error}");
                assert!(error.ends_with("so there is nothing to hide or to keep"), "{error}");
            }
        }
    }

    #[test]
    fn the_file_of_a_picture_is_no_class() {
        let folder = scans("split,site", ["train,a", "train,b", "test,b", "test,a"]);
        let options = OwnPictureOptions { label: Some("file"), ..OwnPictureOptions::default() };
        let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
        assert!(error.contains("`file` is the file of a picture, which can be no class"), "{error}");
    }

    /// No column was suggested, although `evaluate --vectors` did it.
    #[test]
    fn a_class_that_is_no_column_is_refused_with_the_nearest_one() {
        let folder = scans("split,site", ["train,a", "train,b", "test,b", "test,a"]);
        let options = OwnPictureOptions { label: Some("lable"), ..OwnPictureOptions::default() };
        let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
        let hint = "no column `lable`; did you mean `label`? known: file, label, split, site";
        assert!(error.contains("images.csv has ") && error.ends_with(hint), "{error}");
    }

    #[test]
    fn columns_without_a_name_are_no_attributes() {
        let folder = scans(",,site", ["0,a,x", "1,b,y", "2,a,x", "3,b,y"]);
        let (text, _) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("\"site\" = [\"site\"]") && !text.contains("\"\" = "), "{text}");
        let all = Draft::with_all(folder.path(), OwnPictureOptions::default()).unwrap();
        let data = all.load(&Changes::default()).unwrap().data;
        assert_eq!(data.catalogue(folder.path()).unwrap().conditions.len(), 1);
    }

    #[test]
    fn a_hidden_table_is_passed_over() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        fs::write(folder.path().join("._images.csv"), [0, 5, 22, 7]).unwrap();
        let (text, _) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("csv = \"images.csv\""), "{text}");
    }

    #[test]
    fn a_table_with_tabs_is_taken_where_there_is_none_with_commas() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        let [csv, tsv] = ["images.csv", "images.TSV"].map(|name| folder.path().join(name));
        fs::write(&tsv, fs::read_to_string(&csv).unwrap().replace(',', "\t")).unwrap();
        assert!(drafted(folder.path(), &["site"], &[]).0.contains("csv = \"images.csv\""));
        fs::remove_file(csv).unwrap();
        let (text, recipe) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("csv = \"images.TSV\""), "{text}");
        assert_eq!(recipe.data.catalogue(folder.path()).unwrap().len(), 4);
    }

    /// The first picture was lost, and the cells of its row became the names of the columns.
    #[test]
    fn a_table_without_the_names_of_its_columns_is_refused() {
        let folder = scans("site", ["a", "b", "b", "a"]);
        let csv = folder.path().join("images.csv");
        let table = fs::read_to_string(&csv).unwrap();
        fs::write(&csv, table.split_once('\n').unwrap().1).unwrap();
        for label in [None, Some("ill")] {
            let options = OwnPictureOptions { label, ..OwnPictureOptions::default() };
            let error = Draft::new(folder.path(), options, false).unwrap_err().to_string();
            assert!(
                error.contains("images.csv begins with the picture 0.png and not with the names"),
                "{error}"
            );
        }
    }

    #[test]
    fn attributes_with_commas_between_them_are_asked_for_one_by_one() {
        let folder = scans("site,the age", ["a,1", "b,2", "b,1", "a,2"]);
        let refused = |hide: &[String], keep: &[String]| {
            let options = OwnPictureOptions { hide, keep, ..OwnPictureOptions::default() };
            Draft::new(folder.path(), options, false).unwrap_err().to_string()
        };
        let both = ["site, the age".to_owned()];
        let error = refused(&both, &[]);
        assert!(error.ends_with("; give --hide once for each: --hide site --hide 'the age'"), "{error}");
        let error = refused(&[], &both);
        assert!(error.ends_with("; give --keep once for each: --keep site --keep 'the age'"), "{error}");
        let error = refused(&["site,agee".to_owned()], &[]);
        assert!(!error.contains("once for each"), "{error}");
    }

    #[test]
    fn a_column_with_a_number_that_is_none_is_left_alone() {
        let folder = scans("site,age", ["a,61", "b,NaN", "a,47", "b,50"]);
        let (text, _) = drafted(folder.path(), &["site"], &[]);
        assert!(text.contains("\"site\"") && !text.contains("\"age\""), "{text}");
    }

    #[test]
    fn folders_that_say_the_splits_are_not_split_again() {
        let of = |files: &[&str]| drafted(pictures(files).path(), &[], &[]).0;
        for split in ["val", "valid", "validation", "test"] {
            let held_out = ["a", "b"].map(|class| format!("{split}/{class}/2.png"));
            let text = of(&["train/a/0.png", "train/b/1.png", &held_out[0], &held_out[1]]);
            assert!(!text.contains("[data.split]"), "{split}: {text}");
        }
        let in_train: Vec<String> =
            (0..8).map(|at| format!("train/{}/{at}.png", ["a", "b"][at % 2])).collect();
        let in_train: Vec<&str> = in_train.iter().map(String::as_str).collect();
        let flat: Vec<&str> = in_train.iter().filter_map(|file| file.strip_prefix("train/")).collect();
        for files in [in_train.as_slice(), &flat] {
            assert!(of(files).contains("[data.split]"), "{files:?}");
        }
    }
}
