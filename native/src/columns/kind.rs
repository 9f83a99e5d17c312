//! The type of a column, by its cells.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::data::is_unusable;
use crate::extremes::extremes;
use crate::words::some;

/// Integers with at most this many different values are codes of categories.
const MOST_CODES: usize = 10;
/// Integers may be codes of categories if on average at least this many rows share each.
const ROWS_OF_CODE: usize = 5;
/// A category of more values than this share of the rows is a name of each row.
const MOST_NAMES: f64 = 0.5;

/// A column that can be an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    /// Number of cells without a value: empty ones, and in a column of numbers unusable ones such as `NaN`.
    pub(crate) missing: usize,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnKind {
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
                ColumnKind::Names { distinct: counts.len(), word: word.map(str::to_owned) }
            }
            None => {
                let mut values: Vec<(String, usize)> =
                    counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect();
                values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                ColumnKind::Categories { values, are_codes }
            }
        };
        Self { name: name.into(), kind, missing: cells.count() - rows }
    }

    /// True if it can be conditioned on: it has at least two values, which rows share.
    pub(crate) fn is_attribute(&self) -> bool {
        match &self.kind {
            ColumnKind::Numbers { deviation, .. } => *deviation > 0.0,
            ColumnKind::Categories { values, .. } => values.len() > 1,
            ColumnKind::Names { .. } => false,
        }
    }

    /// The reason why it is left out, in a sentence, if it is no attribute.
    pub(crate) fn left_out(&self, rows: usize) -> Option<String> {
        if self.is_attribute() {
            return None;
        }
        let filled = rows.saturating_sub(self.missing);
        let reason = match &self.kind {
            ColumnKind::Names { distinct, word } => format!(
                "{distinct} different values in {filled} rows can be neither hidden nor kept{}",
                word.as_deref().map(no_number).unwrap_or_default()
            ),
            _ if filled == 0 => "it has no value".into(),
            _ => "it has one value".into(),
        };
        Some(format!("`{}` is left out: {reason}", self.name))
    }

    /// A sentence on numbers that may name categories: a probe of an order that they do not have finds little of them.
    pub(crate) fn numeric_code_warning(&self) -> Option<String> {
        let ColumnKind::Numbers { codes: Some(codes), .. } = self.kind else { return None };
        Some(format!(
            "`{name}` is read as a quantity: it has {codes} different whole numbers, more than {MOST_CODES}; if they name categories, write \
             words, such as {name}-1",
            name = self.name
        ))
    }

    /// The kernel that fits its type, as TOML.
    pub(crate) fn kernel(&self) -> String {
        match &self.kind {
            ColumnKind::Numbers { deviation, .. } => {
                format!("{{ name = \"rbf\", sigma = {} }}", rounded(*deviation))
            }
            _ => "{ name = \"exact-match\" }".into(),
        }
    }

    /// The reason for its kernel.
    pub(crate) fn kernel_reason(&self) -> &'static str {
        match self.kind {
            ColumnKind::Numbers { .. } => {
                "a number: values one standard deviation apart have similarity exp(-1/2)"
            }
            _ => "a category: similarity 1 if equal, else 0",
        }
    }
}

/// True for an integer, also as `2.0`: pandas writes integers so once a cell of their column is empty.
fn is_whole(cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(|number| number.is_finite() && number.fract() == 0.0)
}

fn numeric_kind(numbers: &[f64]) -> ColumnKind {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
    let (low, high) = extremes(numbers.iter().copied());
    // The mean of equal numbers may differ from them by its rounding.
    let deviation = if low < high { variance.sqrt() } else { 0.0 };
    let distinct: BTreeSet<u64> = numbers.iter().map(|number| number.to_bits()).collect();
    let may_be_codes =
        numbers.iter().all(|number| number.fract() == 0.0) && distinct.len() * ROWS_OF_CODE <= numbers.len();
    ColumnKind::Numbers { low, high, deviation, codes: may_be_codes.then_some(distinct.len()) }
}

/// A number with two significant digits, as a TOML float.
fn rounded(number: f64) -> String {
    let digits = 1 - number.abs().log10().floor().clamp(-300.0, 300.0) as i32;
    let scale = 10_f64.powi(digits);
    let rounded = if scale.is_finite() && scale > 0.0 { (number * scale).round() / scale } else { number };
    format!("{rounded:?}")
}

impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers { low, high, deviation, .. } => {
                let deviation = rounded(*deviation);
                // A digit after these two would be taken for a known one.
                let whole = deviation.strip_suffix(".0").filter(|whole| whole.len() > 1);
                let deviation = whole.unwrap_or(&deviation);
                write!(f, "numbers from {low} to {high}, standard deviation {deviation}")
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
            matches!(ages.kind, ColumnKind::Numbers { low: 20.0, high: 50.0, .. }) && ages.missing == 1,
            "{ages:?}"
        );
        assert_eq!(ages.kernel(), "{ name = \"rbf\", sigma = 11.0 }");
        assert_eq!(ages.kind.to_string(), "numbers from 20 to 50, standard deviation 11");
        assert_eq!(of(&["0.1", "0.2"]).kind.to_string(), "numbers from 0.1 to 0.2, standard deviation 0.05");
        assert_eq!(of(&["1", "5.08"]).kind.to_string(), "numbers from 1 to 5.08, standard deviation 2.0");
        let sites = of(&["north", "south", "north"]);
        assert_eq!(sites.kind.to_string(), "2 values: north 2, south 1");
        assert_eq!(sites.kernel(), "{ name = \"exact-match\" }");
        for codes in [["1", "0", "1"], ["1.0", "2.0", "1.0"]] {
            assert!(matches!(of(&codes).kind, ColumnKind::Categories { are_codes: true, .. }), "{codes:?}");
        }
        assert!(matches!(of(&["1.5", "2.0", "1.5"]).kind, ColumnKind::Numbers { .. }));
        let paths: Vec<String> = (0..20).map(|i| format!("{i}.png")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert!(!of(&paths).is_attribute() && !of(&["a", "a"]).is_attribute() && sites.is_attribute());
    }

    #[test]
    fn whole_numbers_that_rows_share_may_be_codes_and_are_doubted() {
        let cells = |distinct: usize, rows: usize| {
            (0..rows).map(|row| (row % distinct).to_string()).collect::<Vec<_>>()
        };
        let warning =
            |cells: &[String]| Column::of("site", cells.iter().map(String::as_str)).numeric_code_warning();
        let said = warning(&cells(12, 60)).unwrap();
        assert!(
            said.starts_with("`site` is read as a quantity: it has 12 different whole numbers"),
            "{said}"
        );
        assert!(said.ends_with("write words, such as site-1"), "{said}");
        assert_eq!(warning(&cells(12, 59)), None, "few rows share a number");
        assert_eq!(warning(&cells(10, 60)), None, "they are read as categories");
        let halves: Vec<String> = (0..60).map(|row| format!("{}.5", row % 12)).collect();
        assert_eq!(warning(&halves), None);
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
        assert!(matches!(ages.kind, ColumnKind::Numbers { high: 40.5, .. }) && ages.missing == 3, "{ages:?}");
        let codes = of(&["1", "0", "NaN", "1"]);
        assert!(
            matches!(codes.kind, ColumnKind::Categories { are_codes: true, .. }) && codes.missing == 1,
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
    fn numbers_are_rounded_to_two_digits() {
        assert_eq!([0.01234, 17.36, 1234.0].map(rounded), ["0.012", "17.0", "1200.0"]);
    }
}
