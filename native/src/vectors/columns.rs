//! The class, the split and the attributes of vectors, from the columns of Parquet files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use simile_core::data::catalogue::numbered;
use simile_core::data::{Catalogue, Condition, Split};
use simile_core::numeric::matrix::Matrix;

use crate::columns::attributes::{Attributes, without_values};
use crate::columns::class;
use crate::columns::kind::{Column, ColumnKind};
use crate::columns::subject::{self, SubjectColumn};
use crate::console::line;
use crate::data::in_several_splits;
use crate::exit::usage;
use crate::export::vectors::Format;
use crate::parquet::{self, Cells, Unread, UnreadReason, VECTOR};
use crate::words::counted;

/// The column in which `simile embed` numbers the rows.
const INDEX: &str = "index";
/// The columns of the places on the plane that `simile embed` adds.
const PLANE: [&str; 2] = ["x", "y"];
/// The remedy where `class` is not the class.
const NAME_THE_CLASS: &str = "name a CSV file that has it with --table";

/// The class, the attributes and the split of each row.
pub(super) struct Labels {
    pub(super) catalogue: Catalogue,
    pub(super) has_split: bool,
}

/// Reads the annotations that Parquet files hold beside their vectors: `class`, `split` if it exists, and all other columns except
/// those that `simile embed` adds. As in a CSV file, columns that say nothing are left out and said, but for `wanted`.
///
/// # Errors
/// A usage error if a file is of another format, or has no `class` of several values, if `wanted` is of a type that is not read, or
/// if a cell of `wanted`, `class` or `split` is empty; if the files differ in their columns.
pub(super) fn read(parts: &[PathBuf], wanted: Option<&str>) -> Result<Labels> {
    let mut whole: Option<Vec<(String, Cells)>> = None;
    let mut left_out = Vec::new();
    for part in parts {
        if Format::of(part)? != Format::Parquet {
            return Err(usage(format_args!(
                "{} says no class; name a CSV file with a row for each vector with --table",
                part.display()
            )));
        }
        let reading = || format!("cannot read {}", part.display());
        let file = File::open(part).with_context(reading)?;
        let mut part_columns = None;
        let keep = |mut columns: Vec<(String, Cells)>| {
            columns.retain(|(name, _)| name != VECTOR);
            append(&mut part_columns, columns)
        };
        let unread = parquet::each_group(file, keep).with_context(reading)?;
        leave_out(unread, &mut left_out, part, wanted)?;
        // A column that is empty in one file is left out of all.
        for columns in [&mut whole, &mut part_columns].into_iter().flatten() {
            columns.retain(|(name, _)| !left_out.iter().any(|other| has_gaps(other, name)));
        }
        if let Some(columns) = part_columns {
            append(&mut whole, columns).with_context(reading)?;
        }
    }
    notes(&left_out).iter().for_each(line);
    let origin = parts.first().map_or_else(String::new, |part| part.display().to_string());
    from_columns(&whole.unwrap_or_default(), &origin, wanted, line)
}

/// The class, the split and the attributes out of the columns of all files; `note` gets the notes.
fn from_columns(
    columns: &[(String, Cells)],
    origin: &str,
    wanted: Option<&str>,
    mut note: impl FnMut(String),
) -> Result<Labels> {
    let text = |wanted: &str| match columns.iter().find(|(name, _)| name == wanted) {
        Some((_, Cells::Text(cells))) => Some(cells),
        _ => None,
    };
    let (split, files) = (text("split"), text("path"));
    let class = columns.iter().find(|(name, _)| name == "class").map(|(_, cells)| words(cells));
    let class = class.ok_or_else(|| {
        usage(format_args!("{origin} has no column `class`; name a CSV file with one with --table"))
    })?;
    let is_number =
        |name: &str| columns.iter().any(|(own, cells)| own == name && matches!(cells, Cells::Number(_)));
    // Those of another program are attributes.
    let is_on_the_plane = columns.iter().any(|(name, _)| name == INDEX) && PLANE.into_iter().all(is_number);
    let has_role = |name: &str| match name {
        "class" | INDEX => true,
        name if PLANE.contains(&name) => is_on_the_plane,
        "split" => split.is_some(),
        "path" => files.is_some(),
        _ => false,
    };
    let mut attributes: Vec<(&str, &Cells)> = columns
        .iter()
        .filter(|(name, _)| !has_role(name))
        .map(|(name, cells)| (name.as_str(), cells))
        .collect();

    class::check("class", &class, origin)?;
    let (labels, classes) = numbered(class.iter().map(String::as_str));
    let splits: Vec<Split> = match split {
        Some(cells) => cells.iter().map(|cell| split_of(cell, origin)).collect::<Result<_>>()?,
        None => vec![Split::Train; labels.len()],
    };
    let files = files.cloned().unwrap_or_else(|| vec![String::new(); labels.len()]);
    let mut catalogue = Catalogue::new(origin, files, splits.clone(), labels, classes)?;
    if let Some((column, subjects)) = subjects(&attributes, wanted, split.is_some(), &mut note) {
        let (numbers, names) = numbered(subjects.iter().map(String::as_str));
        split.and_then(|_| in_several_splits(&numbers, &names, &splits)).into_iter().for_each(&mut note);
        catalogue = catalogue.with_subjects(numbers)?;
        let held_out = subject::held_out(Some(&column), split.is_some());
        attributes.retain(|(name, _)| held_out != Some(*name));
    }
    for (name, condition) in conditions(&attributes, wanted, &mut note) {
        catalogue = catalogue.with_condition(&name, condition)?;
    }
    let counts = counted(class.iter().map(String::as_str));
    class::mostly_single_row_classes("class", &counts, "row", NAME_THE_CLASS).into_iter().for_each(&mut note);
    Ok(Labels { catalogue, has_split: split.is_some() })
}

/// Adds the columns that are left out of a file to those of the files before, each once, with all of its empty cells.
///
/// # Errors
/// A usage error if `wanted` is one of them, or if cells of the class or the split are empty.
fn leave_out(
    unread: Vec<Unread>,
    left_out: &mut Vec<Unread>,
    part: &Path,
    wanted: Option<&str>,
) -> Result<()> {
    for column in unread {
        let Unread { name, reason } = &column;
        let is_wanted = wanted == Some(name.as_str());
        match reason {
            UnreadReason::Type(kind) if is_wanted => {
                return Err(usage(format_args!(
                    "--condition {name}: in {} this column has the type {kind}, which is not read; write it as text, or as \
                     numbers of the type DOUBLE",
                    part.display()
                )));
            }
            UnreadReason::Empty(cells) if is_wanted || ["class", "split"].contains(&name.as_str()) => {
                return Err(usage(format_args!(
                    "{}: the column `{name}` is needed, and {cells} of its cells have no value; fill them, or leave their rows \
                     out",
                    part.display()
                )));
            }
            UnreadReason::Type(_) | UnreadReason::Empty(_) => {}
        }
        let before = left_out.iter_mut().find(|other| match reason {
            UnreadReason::Type(_) => **other == column,
            UnreadReason::Empty(_) => has_gaps(other, name),
        });
        let Some(before) = before else {
            left_out.push(column);
            continue;
        };
        if let (UnreadReason::Empty(before), UnreadReason::Empty(cells)) = (&mut before.reason, reason) {
            *before += cells;
        }
    }
    Ok(())
}

/// True if a column is left out because of empty cells, and has this name.
fn has_gaps(column: &Unread, name: &str) -> bool {
    column.name == name && matches!(column.reason, UnreadReason::Empty(_))
}

/// Notes on the columns that are left out, and on the one among them that would have said the subjects.
fn notes(left_out: &[Unread]) -> Vec<String> {
    let note = |Unread { name, reason }: &Unread| match reason {
        UnreadReason::Type(kind) => format!("`{name}` is left out: columns of the type {kind} are not read"),
        UnreadReason::Empty(cells) => without_values(name, *cells),
    };
    let incomplete: Vec<String> = left_out
        .iter()
        .filter(|column| matches!(column.reason, UnreadReason::Empty(_)))
        .map(|column| column.name.clone())
        .collect();
    let subject_gaps = subject::named(&incomplete).map(|name| subject::with_gaps(name));
    left_out.iter().map(note).chain(subject_gaps).collect()
}

fn append(whole: &mut Option<Vec<(String, Cells)>>, columns: Vec<(String, Cells)>) -> Result<()> {
    let Some(whole) = whole else {
        *whole = Some(columns);
        return Ok(());
    };
    anyhow::ensure!(whole.len() == columns.len(), "it has other columns than the files before");
    for ((name, column), (other, cells)) in whole.iter_mut().zip(columns) {
        let same = *name == other && column.append(cells);
        anyhow::ensure!(same, "its column `{other}` is not like `{name}` of the files before");
    }
    Ok(())
}

/// The column that says the subject of each row with its cells, if there is one and it is not `wanted` as an attribute. `note` gets a note
/// on it.
fn subjects(
    columns: &[(&str, &Cells)],
    wanted: Option<&str>,
    has_split: bool,
    note: impl FnMut(String),
) -> Option<(String, Vec<String>)> {
    let header: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let name = subject::named(&header)?;
    let cells = words(columns.iter().find(|(column, _)| column == name)?.1);
    let words: Vec<&str> = cells.iter().map(String::as_str).collect();
    let column = SubjectColumn::of(name, &words, wanted == Some(name.as_str()))?;
    column.note(has_split, "row").into_iter().for_each(note);
    column.subject().map(|name| (name, cells))
}

/// The attributes: all lists, and the other columns as those of a CSV file. A column of floats holds numbers, whatever their values,
/// because the type of a Parquet column says so. `note` gets notes on those that are left out.
fn conditions(
    columns: &[(&str, &Cells)],
    wanted: Option<&str>,
    note: impl FnMut(String),
) -> BTreeMap<String, Condition> {
    let kinds =
        columns.iter().filter(|(_, cells)| !matches!(cells, Cells::List { .. })).map(|(name, cells)| {
            let words = words(cells);
            Column::of(name, words.iter().map(String::as_str))
        });
    let rows = columns.first().map_or(0, |(_, cells)| cells.rows());
    let Attributes { columns: attributes, notes } = Attributes::of(kinds, wanted, rows);
    notes.into_iter().for_each(note);
    let kind = |name: &str| attributes.iter().find(|column| column.name == name).map(|column| &column.kind);
    let condition = |(name, cells): &(&str, &Cells)| {
        let condition = match (cells, kind(name)) {
            (Cells::List { length, values }, _) => {
                let rows = values.len().checked_div(*length).unwrap_or(0);
                let value = |row: usize, at: usize| f64::from(values[row * length + at]);
                Condition::Numeric(Matrix::from_fn(rows, *length, value).into())
            }
            (_, None) => return None,
            (Cells::Number(cells), _) => Condition::Numeric(Matrix::column(cells).into()),
            (Cells::Whole(cells), Some(ColumnKind::Numbers { .. })) => {
                Condition::Numeric(Matrix::from_fn(cells.len(), 1, |row, _| cells[row] as f64).into())
            }
            (cells, _) => {
                let (values, names) = numbered(words(cells).iter().map(String::as_str));
                Condition::Categorical { values, names }
            }
        };
        Some(((*name).to_owned(), condition))
    };
    columns.iter().filter_map(condition).collect()
}

fn words(cells: &Cells) -> Vec<String> {
    match cells {
        Cells::Text(cells) => cells.clone(),
        Cells::Whole(cells) => cells.iter().map(ToString::to_string).collect(),
        Cells::Number(cells) => cells.iter().map(ToString::to_string).collect(),
        Cells::List { length, values } => {
            values.chunks((*length).max(1)).map(|list| format!("{list:?}")).collect()
        }
    }
}

fn split_of(cell: &str, origin: &str) -> Result<Split> {
    Split::named(cell).map_err(|reason| usage(format_args!("{origin}: column `split` {reason}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ROWS: usize = 24;

    /// The columns of a file, beside a class: two patients of each class, whole numbers and words.
    fn columns() -> Vec<(String, Cells)> {
        let text = |of: &dyn Fn(usize) -> String| Cells::Text((0..ROWS).map(of).collect());
        let whole = |of: &dyn Fn(usize) -> i64| Cells::Whole((0..ROWS).map(of).collect());
        let named = |name: &str, cells| (name.to_owned(), cells);
        vec![
            named("index", whole(&|row| row as i64)),
            named("class", text(&|row| ["cat", "dog"][row % 2].into())),
            named("patient", text(&|row| format!("p{}", row % 8))),
            named("site", whole(&|row| (row / 3 % 3) as i64)),
            named("age", whole(&|row| 40 + row as i64)),
            named("dose", Cells::Number((0..ROWS).map(|row| (row % 2) as f64).collect())),
            named("note", text(&|row| format!("seen on day {row}"))),
            named("scanner", text(&|_| "one".into())),
            named("colour", Cells::List { length: 2, values: (0..2 * ROWS).map(|at| at as f32).collect() }),
        ]
    }

    fn read(columns: &[(String, Cells)], wanted: Option<&str>) -> Catalogue {
        from_columns(columns, "a.parquet", wanted, drop).unwrap().catalogue
    }

    #[test]
    fn columns_of_a_file_are_what_those_of_a_table_are() {
        let catalogue = read(&columns(), None);
        let names: Vec<&str> = catalogue.conditions.keys().map(String::as_str).collect();
        assert_eq!(names, ["age", "colour", "dose", "site"], "a note and a constant say nothing");
        assert!(read(&columns(), Some("patient")).conditions.contains_key("patient"), "it is asked for");
        assert!(
            matches!(&catalogue.conditions["site"], Condition::Categorical { names, .. } if names == &["0", "1", "2"])
        );
        assert!(matches!(&catalogue.conditions["age"], Condition::Numeric(ages) if ages[(3, 0)] == 43.0));
        assert!(
            matches!(&catalogue.conditions["dose"], Condition::Numeric(_)),
            "a column of floats holds numbers"
        );
    }

    /// Its leak was no longer measured, without a word.
    #[test]
    fn the_column_of_the_patients_is_an_attribute_where_a_column_says_the_splits() {
        let mut columns = columns();
        let split = |row: usize| if row < ROWS / 2 { "train" } else { "test" }.to_owned();
        columns.push(("split".into(), Cells::Text((0..ROWS).map(split).collect())));
        let catalogue = read(&columns, None);
        assert!(catalogue.conditions.contains_key("patient") && catalogue.subjects.is_some());
    }

    #[test]
    fn a_place_on_the_plane_is_no_attribute_and_a_column_of_that_name_is() {
        let place = || Cells::Number((0..ROWS).map(|row| row as f64 / 7.0).collect());
        let names =
            |columns: &[(String, Cells)]| read(columns, None).conditions.into_keys().collect::<Vec<_>>();
        let mut own = columns();
        own.extend(PLANE.map(|name| (name.to_owned(), place())));
        assert_eq!(names(&own), ["age", "colour", "dose", "site"]);
        own.retain(|(name, _)| name != "y");
        assert_eq!(names(&own), ["age", "colour", "dose", "site", "x"]);
    }

    #[test]
    fn a_column_of_a_type_that_is_not_read_is_said_once_and_refused_if_it_is_wanted() {
        let unread = |name: &str| Unread { name: name.into(), reason: UnreadReason::Type("DECIMAL".into()) };
        let part = Path::new("b.parquet");
        let mut left_out = Vec::new();
        leave_out(vec![unread("dose")], &mut left_out, part, Some("age")).unwrap();
        leave_out(vec![unread("dose"), unread("price")], &mut left_out, part, None).unwrap();
        assert_eq!(left_out, [unread("dose"), unread("price")]);
        let error =
            leave_out(vec![unread("dose")], &mut left_out, part, Some("dose")).unwrap_err().to_string();
        assert!(error.contains("--condition dose") && error.contains("b.parquet"), "{error}");
        assert!(error.contains("the type DECIMAL, which is not read"), "{error}");
    }

    #[test]
    fn empty_cells_are_counted_over_all_files_and_refused_where_they_are_needed() {
        let gap = |name: &str, cells: usize| Unread { name: name.into(), reason: UnreadReason::Empty(cells) };
        let part = Path::new("b.parquet");
        let mut left_out = Vec::new();
        leave_out(vec![gap("notes", 3)], &mut left_out, part, Some("age")).unwrap();
        leave_out(vec![gap("notes", 4), gap("path", 1)], &mut left_out, part, Some("age")).unwrap();
        assert_eq!(left_out, [gap("notes", 7), gap("path", 1)]);
        for needed in ["class", "split", "age"] {
            let error =
                leave_out(vec![gap(needed, 2)], &mut left_out, part, Some("age")).unwrap_err().to_string();
            let expected =
                format!("b.parquet: the column `{needed}` is needed, and 2 of its cells have no value");
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn a_column_of_subjects_with_empty_cells_is_said_as_of_a_table() {
        let gap = |name: &str| Unread { name: name.into(), reason: UnreadReason::Empty(2) };
        let said = notes(&[gap("site"), gap("Patient ID")]);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[1].contains("`Patient ID` is left out: 2 of its cells have no value"), "{said:?}");
        assert!(said[2].contains("rows of one Patient ID may be in both splits"), "{said:?}");
        let of_type = Unread { name: "patient".into(), reason: UnreadReason::Type("DECIMAL".into()) };
        assert_eq!(notes(&[gap("site"), of_type]).len(), 2);
    }

    #[test]
    fn a_class_of_one_value_is_refused_with_its_column() {
        let mut columns = columns();
        columns[1].1 = Cells::Text(vec!["cat".into(); ROWS]);
        let error = from_columns(&columns, "a.parquet", None, drop).err().unwrap().to_string();
        assert!(
            error.contains("a.parquet: the column of the class, `class`, is `cat` in all 24 rows"),
            "{error}"
        );
    }

    /// It was said of a table only.
    #[test]
    fn classes_of_one_row_each_are_said_as_of_a_table() {
        let said = |columns: &[(String, Cells)]| {
            let mut notes = Vec::new();
            from_columns(columns, "a.parquet", None, |note| notes.push(note)).unwrap();
            notes.join("\n")
        };
        let mut columns = columns();
        assert!(!said(&columns).contains("most of the"));
        columns[1].1 = Cells::Text((0..ROWS).map(|row| format!("seen on day {row}")).collect());
        let notes = said(&columns);
        let expected = "most of the 24 classes of `class` have one row; if `class` is not the class, name a CSV file that has it with \
                        --table";
        assert!(notes.ends_with(expected), "{notes}");
        assert!(notes.starts_with("rows of one `patient` are held out together\n"), "{notes}");
    }

    #[test]
    fn rows_of_one_patient_are_held_out_together() {
        let catalogue = read(&columns(), None);
        let held_out = catalogue.hold_out(Split::Train, Split::Test, 6, 0).unwrap();
        let splits =
            |patient: usize| (0..ROWS).filter(move |row| row % 8 == patient).map(|row| held_out.splits[row]);
        assert!((0..8).all(|patient| splits(patient).all(|split| Some(split) == splits(patient).next())));
        assert!(held_out.splits.contains(&Split::Test));
        assert_eq!(read(&columns(), Some("patient")).subjects, None, "it is asked for as an attribute");
    }
}
