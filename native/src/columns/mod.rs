//! The columns of a user's table: which one names the picture, the class, the split and the subject, and the type of the others.

pub(crate) mod split;
pub(crate) mod subject;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result};
use csv::StringRecord;

use crate::console::line;
use crate::data::is_unusable;
use crate::data::sheet::Sheet;
use crate::exit::usage;

/// Usual names of the column of files, for [`named`].
pub(crate) const FILES: [&str; 7] = ["file", "filename", "path", "filepath", "image", "picture", "img"];
/// Usual names of the column of classes, for [`named`].
pub(crate) const LABELS: [&str; 7] = ["label", "class", "target", "category", "diagnosis", "labels", "y"];

/// Integers with at most this many different values are codes of categories.
const MOST_CODES: usize = 10;
/// Integers may be codes of categories if on average at least this many rows share each.
const ROWS_OF_CODE: usize = 5;
/// A category of more values than this share of the rows is a name of each row.
const MOST_NAMES: f64 = 0.5;

/// A column that can be a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Number of cells without a value: empty ones, and in a column of numbers unusable ones such as `NaN`.
    pub(crate) missing: usize,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Numbers {
        low: f64,
        high: f64,
        deviation: f64,
        /// The count of different values, if they may be codes of categories all the same: integers that several rows share.
        codes: Option<usize>,
    },
    /// The values with their counts, the most frequent first; codes are integers that name categories.
    Categories { values: Vec<(String, usize)>, are_codes: bool },
    /// A value of its own for most rows, such as a path or an identity.
    Names {
        distinct: usize,
        /// A cell that is no number, where most are numbers.
        word: Option<String>,
    },
}

/// The part of a message about a word among numbers.
pub(crate) fn no_number(word: &str) -> String {
    format!("; `{word}` is not a number: leave such cells empty to make the column numeric")
}

impl Column {
    /// The type of the cells of a column.
    pub(crate) fn of<'a>(name: &str, cells: impl Iterator<Item = &'a str> + Clone) -> Self {
        let has_words = cells.clone().any(|cell| !cell.is_empty() && cell.parse::<f64>().is_err());
        let filled = cells.clone().filter(move |cell| !cell.is_empty() && (has_words || !is_unusable(cell)));
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        filled.clone().for_each(|cell| *counts.entry(cell).or_default() += 1);
        let rows = filled.clone().count();
        let numbers: Option<Vec<f64>> =
            filled.clone().map(|cell| cell.parse().ok().filter(|number: &f64| number.is_finite())).collect();
        let are_codes = counts.len() <= MOST_CODES && counts.keys().all(|cell| is_whole(cell));
        let kind = match numbers.filter(|numbers| !numbers.is_empty() && !are_codes) {
            Some(numbers) => numeric_kind(&numbers),
            None if rows > MOST_CODES && counts.len() as f64 > MOST_NAMES * rows as f64 => {
                let words = || filled.clone().filter(|cell| cell.parse::<f64>().is_err());
                let word = words().next().filter(|_| 2 * words().count() < rows);
                Kind::Names { distinct: counts.len(), word: word.map(str::to_owned) }
            }
            None => {
                let mut values: Vec<(String, usize)> =
                    counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect();
                values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                Kind::Categories { values, are_codes }
            }
        };
        Self { name: name.into(), kind, missing: cells.count() - rows }
    }

    /// True if it can be conditioned on: it has at least two values, which rows share.
    pub(crate) fn is_attribute(&self) -> bool {
        match &self.kind {
            Kind::Numbers { deviation, .. } => *deviation > 0.0,
            Kind::Categories { values, .. } => values.len() > 1,
            Kind::Names { .. } => false,
        }
    }

    /// The reason why it is left out, in a sentence, if it is no attribute.
    fn left_out(&self, rows: usize) -> Option<String> {
        if self.is_attribute() {
            return None;
        }
        let filled = rows.saturating_sub(self.missing);
        let reason = match &self.kind {
            Kind::Names { distinct, word } => format!(
                "{distinct} different values in {filled} rows can be neither hidden nor kept{}",
                word.as_deref().map(no_number).unwrap_or_default()
            ),
            _ if filled == 0 => "it has no value".into(),
            _ => "it has one value".into(),
        };
        Some(format!("`{}` is left out: {reason}", self.name))
    }

    /// A sentence on numbers that may name categories: a probe of an order that they do not have finds little of them.
    pub(crate) fn doubt(&self) -> Option<String> {
        let Kind::Numbers { codes: Some(codes), .. } = self.kind else { return None };
        Some(format!(
            "`{name}` is read as a quantity: it has {codes} different whole numbers, more than {MOST_CODES}; if they name categories, write \
             words, such as {name}-1",
            name = self.name
        ))
    }

    /// The kernel that fits its type, as TOML.
    pub(crate) fn kernel(&self) -> String {
        match &self.kind {
            Kind::Numbers { deviation, .. } => {
                format!("{{ name = \"rbf\", sigma = {} }}", rounded(*deviation))
            }
            _ => "{ name = \"exact-match\" }".into(),
        }
    }

    /// The reason for its kernel.
    pub(crate) fn kernel_reason(&self) -> &'static str {
        match self.kind {
            Kind::Numbers { .. } => "a number: values one standard deviation apart have similarity exp(-1/2)",
            _ => "a category: similarity 1 if equal, else 0",
        }
    }
}

/// True for an integer, also as `2.0`: pandas writes integers so once a cell of their column is empty.
fn is_whole(cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(|number| number.is_finite() && number.fract() == 0.0)
}

fn numeric_kind(numbers: &[f64]) -> Kind {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // The mean of equal numbers may differ from them by its rounding.
    let deviation = if low < high { variance.sqrt() } else { 0.0 };
    let distinct: BTreeSet<u64> = numbers.iter().map(|number| number.to_bits()).collect();
    let may_be_codes =
        numbers.iter().all(|number| number.fract() == 0.0) && distinct.len() * ROWS_OF_CODE <= numbers.len();
    Kind::Numbers { low, high, deviation, codes: may_be_codes.then_some(distinct.len()) }
}

/// A number with two significant digits, as a TOML float.
fn rounded(number: f64) -> String {
    let digits = 1 - number.abs().log10().floor().clamp(-300.0, 300.0) as i32;
    let scale = 10_f64.powi(digits);
    let rounded = if scale.is_finite() && scale > 0.0 { (number * scale).round() / scale } else { number };
    format!("{rounded:?}")
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers { low, high, deviation, .. } => {
                write!(f, "numbers from {low} to {high}, standard deviation {}", rounded(*deviation))
            }
            Self::Categories { values, .. } => {
                let named: Vec<String> =
                    values.iter().map(|(value, count)| format!("{value} {count}")).collect();
                write!(f, "{} values: {}", values.len(), some(&named))
            }
            Self::Names { distinct, .. } => write!(f, "{distinct} different values"),
        }
    }
}

/// The header and the rows of a CSV file.
///
/// # Errors
/// A usage error if the header is of no use; a failure if the file cannot be read.
pub(crate) fn read(csv: &Path) -> Result<(Vec<String>, Vec<StringRecord>)> {
    let reading = || format!("cannot read {}", csv.display());
    let sheet = Sheet::read(csv).with_context(reading)?;
    let header: Vec<String> = sheet.header().with_context(reading)?.iter().map(String::from).collect();
    if let Some(fault) = header_fault(&header) {
        return Err(usage(format_args!("{} {fault}", csv.display())));
    }
    Ok((header, sheet.rows().with_context(reading)?.records))
}

/// The fault of a header, as the end of a sentence about its file.
fn header_fault(header: &[String]) -> Option<String> {
    if header.is_empty() {
        return Some("is empty".into());
    }
    let mut seen = BTreeSet::new();
    let twice = header.iter().find(|name| !name.is_empty() && !seen.insert(name.as_str()))?;
    Some(format!("has two columns `{twice}`; rename one"))
}

/// The columns that may be attributes: those with a name, but for some that have another role. One without a name, such as the
/// index that pandas writes, could not be asked for.
pub(crate) fn candidates<'h>(header: &'h [String], roles: &[Option<&String>]) -> Vec<&'h String> {
    header.iter().filter(|name| !name.is_empty() && !roles.contains(&Some(*name))).collect()
}

/// The columns of a table of so many rows that are attributes of vectors. A line names each of the others: those that are no
/// attributes, and those that lack values, unless they are `wanted`.
pub(crate) fn attributes(
    columns: impl Iterator<Item = Column>,
    wanted: Option<&str>,
    rows: usize,
) -> Vec<Column> {
    let is_wanted = |column: &Column| wanted == Some(column.name.as_str());
    let (useful, useless): (Vec<Column>, Vec<Column>) =
        columns.partition(|column| column.is_attribute() || is_wanted(column));
    print_left_out(&useless, rows);
    let (whole, incomplete): (Vec<Column>, Vec<Column>) =
        useful.into_iter().partition(|column| column.missing == 0 || is_wanted(column));
    for column in incomplete {
        line(format_args!("`{}` is left out: {} of its cells have no value", column.name, column.missing));
    }
    whole.iter().filter_map(Column::doubt).for_each(line);
    whole
}

/// Prints the columns that cannot be attributes, of a table of so many rows.
pub(crate) fn print_left_out(columns: &[Column], rows: usize) {
    columns.iter().filter_map(|column| column.left_out(rows)).for_each(line);
}

/// Prints a line if most rows are alone in their class. A class is a column with these numbers of rows, each of which is a `thing`.
pub(crate) fn print_lonely_classes(label: &str, classes: &[(String, usize)], thing: &str) {
    lonely(label, classes, thing).into_iter().for_each(line);
}

fn lonely(label: &str, classes: &[(String, usize)], thing: &str) -> Option<String> {
    let rows: usize = classes.iter().map(|(_, count)| count).sum();
    let alone = classes.iter().filter(|(_, count)| *count == 1).count();
    (classes.len() > 2 && 2 * alone > rows).then(|| {
        format!(
            "most of the {} classes have one {thing}: does `{label}` hold numbers? a class column holds names",
            classes.len()
        )
    })
}

/// Checks that the cells of the column of the class have several values.
///
/// # Errors
/// A usage error names the file, the column and the only value.
pub(crate) fn check_classes<S: AsRef<str>>(column: &str, cells: &[S], origin: &str) -> Result<()> {
    let Some((first, others)) = cells.split_first() else { return Ok(()) };
    if others.is_empty() || others.iter().any(|cell| cell.as_ref() != first.as_ref()) {
        return Ok(());
    }
    Err(usage(format_args!(
        "{origin}: the column of the class, `{column}`, is `{}` in all {} rows; a classifier needs at least two classes",
        first.as_ref(),
        cells.len()
    )))
}

/// Values with their counts, sorted by name.
pub(crate) fn counted<'a>(values: impl Iterator<Item = &'a str>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect()
}

/// The first column whose name is one of the known ones, in the order of these. Neither its case nor spaces, hyphens and underscores
/// in it count: `Patient ID` is `patientid`.
pub(crate) fn named<'a>(header: &'a [String], known: &[&str]) -> Option<&'a String> {
    let plain = |name: &str| {
        name.chars().filter(|c| !" -_".contains(*c)).map(|c| c.to_ascii_lowercase()).collect::<String>()
    };
    known.iter().find_map(|name| header.iter().find(|column| plain(column) == **name))
}

/// The first of some words.
pub(crate) fn some(words: &[String]) -> String {
    const SHOWN: usize = 8;
    let more =
        if words.len() > SHOWN { format!(", and {} more", words.len() - SHOWN) } else { String::new() };
    words.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ") + &more
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(cells: &[&str]) -> Column {
        Column::of("x", cells.iter().copied())
    }

    #[test]
    fn a_column_has_the_type_of_its_cells() {
        let ages = of(&["20", "30", "40.5", "", "50"]);
        assert!(
            matches!(ages.kind, Kind::Numbers { low: 20.0, high: 50.0, .. }) && ages.missing == 1,
            "{ages:?}"
        );
        assert_eq!(ages.kernel(), "{ name = \"rbf\", sigma = 11.0 }");
        let sites = of(&["north", "south", "north"]);
        assert_eq!(sites.kind.to_string(), "2 values: north 2, south 1");
        assert_eq!(sites.kernel(), "{ name = \"exact-match\" }");
        for codes in [["1", "0", "1"], ["1.0", "2.0", "1.0"]] {
            assert!(matches!(of(&codes).kind, Kind::Categories { are_codes: true, .. }), "{codes:?}");
        }
        assert!(matches!(of(&["1.5", "2.0", "1.5"]).kind, Kind::Numbers { .. }));
        let paths: Vec<String> = (0..20).map(|i| format!("{i}.png")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert!(!of(&paths).is_attribute() && !of(&["a", "a"]).is_attribute() && sites.is_attribute());
    }

    #[test]
    fn whole_numbers_that_rows_share_may_be_codes_and_are_doubted() {
        let cells = |distinct: usize, rows: usize| {
            (0..rows).map(|row| (row % distinct).to_string()).collect::<Vec<_>>()
        };
        let doubt = |cells: &[String]| Column::of("site", cells.iter().map(String::as_str)).doubt();
        let said = doubt(&cells(12, 60)).unwrap();
        assert!(
            said.starts_with("`site` is read as a quantity: it has 12 different whole numbers"),
            "{said}"
        );
        assert!(said.ends_with("write words, such as site-1"), "{said}");
        assert_eq!(doubt(&cells(12, 59)), None, "few rows share a number");
        assert_eq!(doubt(&cells(10, 60)), None, "they are read as categories");
        let halves: Vec<String> = (0..60).map(|row| format!("{}.5", row % 12)).collect();
        assert_eq!(doubt(&halves), None);
    }

    /// The mean of thirty times 0.1 is not 0.1 to the last digit.
    #[test]
    fn one_number_in_every_row_has_no_deviation() {
        let doses = of(&["0.1"; 30]);
        assert!(!doses.is_attribute(), "{doses:?}");
    }

    #[test]
    fn a_number_to_reckon_with_is_missing_where_there_is_none() {
        let ages = of(&["20", "nan", "40.5", "inf", ""]);
        assert!(matches!(ages.kind, Kind::Numbers { high: 40.5, .. }) && ages.missing == 3, "{ages:?}");
        let codes = of(&["1", "0", "NaN", "1"]);
        assert!(
            matches!(codes.kind, Kind::Categories { are_codes: true, .. }) && codes.missing == 1,
            "{codes:?}"
        );
        // Among words `NaN` is a word, as for the reader of tables.
        assert_eq!(of(&["north", "NaN", "south"]).missing, 0);
        assert!(!of(&["NaN", "NaN"]).is_attribute());
    }

    #[test]
    fn a_column_that_is_left_out_says_why() {
        let patients: Vec<String> = (0..20).map(|at| format!("p{at}")).collect();
        let patients: Vec<&str> = patients.iter().map(String::as_str).collect();
        let why = "`x` is left out: 20 different values in 20 rows can be neither hidden nor kept";
        assert_eq!(of(&patients).left_out(20).as_deref(), Some(why));
        assert_eq!(of(&["a", "", "a"]).left_out(3).as_deref(), Some("`x` is left out: it has one value"));
        assert_eq!(of(&["", ""]).left_out(2).as_deref(), Some("`x` is left out: it has no value"));
        assert_eq!(of(&["a", "b", "a"]).left_out(3), None);
    }

    #[test]
    fn a_header_of_no_use_is_refused() {
        let fault = |header: &[&str]| {
            let header: Vec<String> = header.iter().map(ToString::to_string).collect();
            header_fault(&header)
        };
        assert_eq!(fault(&["file", "h", "h"]).as_deref(), Some("has two columns `h`; rename one"));
        assert_eq!(fault(&[]).as_deref(), Some("is empty"));
        for fine in [["file", "label", "h"], ["file", "", ""]] {
            assert_eq!(fault(&fine), None, "{fine:?}");
        }
    }

    #[test]
    fn classes_of_one_row_each_are_said() {
        let of = |cells: &[&str]| lonely("label", &counted(cells.iter().copied()), "picture");
        let note =
            "most of the 4 classes have one picture: does `label` hold numbers? a class column holds names";
        assert_eq!(of(&["61", "62", "63.5", "70", "70"]).as_deref(), Some(note));
        assert_eq!(of(&["cat", "dog", "cat", "dog", "eel", "eel", "owl"]), None);
    }

    #[test]
    fn numbers_are_rounded_to_two_digits() {
        assert_eq!([0.01234, 17.36, 1234.0].map(rounded), ["0.012", "17.0", "1200.0"]);
    }
}
